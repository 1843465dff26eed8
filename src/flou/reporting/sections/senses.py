"""The five ways of counting undetermined values side by side: shares of records below k, and smallest frequencies."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from flou.engine.charts import ALERT, CALM, INK, PADDING, percent_axis, styled, to_svg
from flou.engine.result import Result, RiskResult
from flou.engine.sense import MISSING, Missing
from flou.engine.words import Words
from flou.reporting.reader import Reader
from flou.reporting.sections.section import Charts
from flou.reporting.subject import Subject
from flou.risk.micro.senses import find_ways

if TYPE_CHECKING:
    import altair as alt


@dataclass(frozen=True)
class Senses:
    """A line for each way: its name, whether the measure took it, shares and smallest frequencies, before and after."""

    lines: list[tuple[str, bool, list[str], list[str]]]
    has_before: bool
    charts: Charts

    @classmethod
    def of(cls, shown: Result, subject: Subject, reader: Reader, *, has_before: bool) -> Self:
        words, lines = reader.words, []
        found = [find_ways(subject.results, shown.settings, released=released) for released in (False, True)]
        before, after = ({} if result is None else result.ways for result in found)
        for way in MISSING:
            held = [ways.get(way) for ways in ((before, after) if has_before else (after,))]
            shares = [words("cannot be counted") if r is None else reader.figure(r.headline, r) for r in held]
            smallest = ["–" if r is None else reader.figure(r.figures.of("k"), r) for r in held]
            lines.append((words(way), way == shown.sense, shares, smallest))
        drawn = None if reader.public else draw_ways({words("before"): before, words("after"): after}, words)
        caption = words("Share of records below k, by way of counting")
        return cls(lines, has_before, [] if drawn is None else [(caption, to_svg(drawn))])


def draw_ways(files: Mapping[str, Mapping[Missing, RiskResult]], words: Words) -> alt.Chart | None:
    """Share of records below k under each way of counting, in each file."""
    import altair as alt

    rows: list[dict[str, Any]] = []
    for way in MISSING:
        found = [(when, ways[way].value) for when, ways in files.items() if way in ways]
        rows += [{"sense": words(way), "when": when, "share": x, "label": words.share(x)} for when, x in found]
    if not rows:
        return None
    shown = [when for when, ways in files.items() if ways]
    base = alt.Chart(alt.InlineData(values=rows)).encode(
        y=alt.Y("sense:N", sort=[words(way) for way in MISSING], title=None),
        yOffset=alt.YOffset("when:N", sort=shown),
        x=alt.X("share:Q", title=words("share of records below k"), axis=percent_axis(words)),
    )
    scale = alt.Scale(domain=shown, range=[ALERT, CALM] if len(shown) == 2 else [CALM])
    colour = alt.Color("when:N", scale=scale, legend=alt.Legend(title=None, orient="top"))
    text = base.mark_text(align="left", dx=4, fontSize=10, color=INK).encode(text="label:N")
    bars = base.mark_bar(cornerRadiusEnd=2).encode(color=colour)
    return styled((bars + text).properties(width=400, height=alt.Step(15), padding=PADDING))
