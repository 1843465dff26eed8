"""Two curves a group: the original's distribution in blue, the release's in orange."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from flou.engine.charts import ALERT, CALM, Look, percent_axis, styled
from flou.engine.comparison import ComparisonResult
from flou.engine.words import Words

if TYPE_CHECKING:
    import altair as alt

_DAY = 86_400_000  # milliseconds


def coherence_chart(result: ComparisonResult, look: Look) -> alt.Chart:
    """A panel a group, the largest ones; bins that few records stand behind are left out."""
    import altair as alt

    words = Words(look.language)
    drawn = result.drawn
    panels = _panels(result, look)
    rows = [row for by, group, title in panels for row in _curve(result, look, by, group, title, words)]
    label = result.schema.label(drawn["column"], look.language)
    files = [words("original"), words("release")]
    x: alt.X = (
        alt.X("at:T", title=label, axis=alt.Axis(format="%Y", tickCount="year"))
        if drawn["kind"] == "date"
        else alt.X(
            "at:Q", title=label, axis=alt.Axis(tickCount=5, format="~f"), scale=alt.Scale(zero=False, nice=False)
        )
    )
    scale = alt.Scale(domain=files, range=[CALM, ALERT])
    colour = alt.Color(
        "file:N",
        scale=scale,
        legend=alt.Legend(title=None, orient="top", symbolOpacity=1),
    )
    base = alt.Chart(alt.InlineData(values=rows)).encode(
        x=x,
        y=alt.Y("share:Q", title=words("share of records"), axis=percent_axis(words), stack=None),
    )
    # two marks rather than an area with a line of its own, whose legend would be as pale as the area
    fill = base.mark_area(interpolate="step-after", opacity=0.15).encode(color=colour)
    edge = base.mark_line(interpolate="step-after", strokeWidth=1.7).encode(color=colour)
    curves = alt.layer(fill, edge)
    if len(panels) == 1:
        return styled(curves.properties(width=460, height=230))
    facet = alt.Facet("panel:N", title=None, sort=[title for *_, title in panels], header=alt.Header(labelFontSize=11))
    return styled(curves.properties(width=230, height=130).facet(facet=facet, columns=2))


def _panels(result: ComparisonResult, look: Look) -> list[tuple[str | None, str | None, str]]:
    """All records where there is one panel only, else the largest groups."""
    words = Words(look.language)
    groups = result.details["groups"].safe(look.min_count).frame
    inner = groups.filter(pl.col("by").is_not_null())
    if not inner.height:
        return [(None, None, words("all records"))]
    largest = inner.with_row_index("place").sort("records_original", descending=True, maintain_order=True)
    chosen = largest.head(int(result.drawn["panels"])).sort("place")
    out: list[tuple[str | None, str | None, str]] = []
    for by, group in chosen.select("by", "group").iter_rows():
        value = words("undetermined") if group is None else result.schema.value_label(by, group, look.language)
        out.append((by, group, f"{result.schema.label(by, look.language)}{words.colon} {value}"))
    return out


def _curve(
    result: ComparisonResult, look: Look, by: str | None, group: str | None, title: str, words: Words
) -> list[dict[str, Any]]:
    """The steps of both curves between the open ends; a bin of few records ends a step at nothing."""
    bins = result.details["bins"].frame.filter(pl.col("by").eq_missing(by) & pl.col("group").eq_missing(group))
    small = (pl.col("records_original") < look.min_count) | (pl.col("records_released") < look.min_count)
    bins = bins.with_columns(small.alias("small")).filter(pl.col("low").is_not_null() & pl.col("high").is_not_null())
    factor = _DAY if result.drawn["kind"] == "date" else 1
    out = []
    for row in bins.iter_rows(named=True):
        for share, file in ((row["original"], words("original")), (row["released"], words("release"))):
            shown = 0.0 if row["small"] and look.min_count > 1 else share
            out.append({"panel": title, "at": row["low"] * factor, "share": shown, "file": file})
    if bins.height:
        end = bins["high"][-1] * factor
        out += [{"panel": title, "at": end, "share": 0.0, "file": words(f)} for f in ("original", "release")]
    return out
