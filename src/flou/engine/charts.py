"""Charts in one look: aggregates only, never records; readable in print and by the colour-blind."""

from __future__ import annotations

import hashlib
import json
import re
import textwrap
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from flou.engine.words import Words

if TYPE_CHECKING:
    import altair as alt
    import polars as pl


@dataclass(frozen=True)
class Look:
    """How a chart is drawn: its language, the smallest count it may show, where its axis of shares ends."""

    language: str = "en"
    min_count: int = 1
    top: float | None = None


#: Flagged, quiet, ink, grid. Blue and orange stay apart for the colour-blind and in grey print.
ALERT, CALM, INK, GRID = "#c2541a", "#2f5d8a", "#2b2f36", "#e3e6ea"
#: Room at the left for long names on an axis, whose width is only guessed where a font is missing.
PADDING: Any = {"left": 56, "top": 5, "right": 5, "bottom": 5}
_FONT = "Inter, 'Segoe UI', 'Helvetica Neue', Arial, sans-serif"


def bars(
    frame: pl.DataFrame,
    *,
    category: str,
    value: str,
    flag: str,
    titles: tuple[str, str],
    flag_names: tuple[str, str],
    look: Look,
) -> alt.Chart:
    """Bars of shares by class, the flagged ones in the alert colour."""
    import altair as alt

    words = Words(look.language)
    names = [words(n) for n in flag_names]
    rows = [
        {
            "class": row[category],
            "share": row[value],
            "group": names[0] if row[flag] else names[1],
            "label": words.share(row[value]),
        }
        for row in frame.iter_rows(named=True)
    ]
    scale = alt.Scale(domain=[0, look.top]) if look.top else alt.Scale()
    # a label of several words stands on several lines
    labels = alt.Axis(labelAngle=0, labelExpr="split(datum.label, ' ')")
    base = alt.Chart(alt.InlineData(values=rows)).encode(
        x=alt.X("class:N", sort=[r["class"] for r in rows], title=words(titles[0]), axis=labels),
        y=alt.Y("share:Q", title=words(titles[1]), axis=percent_axis(words), scale=scale),
    )
    colour = alt.Color(
        "group:N",
        scale=alt.Scale(domain=names, range=[ALERT, CALM]),
        legend=alt.Legend(title=None, orient="top", direction="horizontal", columnPadding=24),
    )
    chart = base.mark_bar(cornerRadiusEnd=2).encode(color=colour) + base.mark_text(
        dy=-6, fontSize=10, color=INK
    ).encode(text="label:N")
    return styled(chart.properties(width=400, height=210))


def percent_axis(words: Words) -> alt.Axis:
    """An axis of shares, written as the language writes percentages."""
    import altair as alt

    number = "format(datum.value * 100, '~r')"
    label = f"replace({number}, '.', ',') + '\u202f%'" if words.language == "fr" else f"{number} + '%'"
    return alt.Axis(labelExpr=label, tickCount=5)


def in_lines(text: str, width: int = 28) -> list[str]:
    """A long title of an axis on several lines: on one it would be cut off where fonts are wide."""
    return textwrap.wrap(text, width, break_long_words=False, break_on_hyphens=False)


def styled(chart: Any) -> alt.Chart:
    """The common look."""
    look: alt.Chart = (
        chart.configure(font=_FONT, background="transparent")
        .configure_view(stroke=None)
        .configure_axis(
            gridColor=GRID,
            domainColor="#9aa1ab",
            tickColor="#9aa1ab",
            labelColor=INK,
            titleColor=INK,
            titleFontWeight="normal",
        )
        .configure_axisX(grid=False)
        .configure_legend(labelColor=INK)
    )
    return look


def to_svg(chart: Any) -> str:
    """A chart as SVG text, made offline; it scales with the page."""
    import vl_convert

    spec = chart.to_dict()
    svg: str = vl_convert.vegalite_to_svg(spec)
    # vl-convert numbers its clip paths through the process; ours depend on the chart alone, so that a page is
    # the same each time and two charts on it do not share a name
    prefix = hashlib.sha256(json.dumps(spec, sort_keys=True).encode()).hexdigest()[:8]
    names: dict[str, str] = {}
    return re.sub(r"\bclip\d+\b", lambda m: names.setdefault(m[0], f"clip-{prefix}-{len(names)}"), svg)
