"""Averaging as a chart: the share of cells whose count is hit, by the single figure and after averaging, by size.

Two bars a class of true counts. Where the second is no higher than the first, repeating questions gains nothing; small
counts, at the left, are those that noise is there for. Classes of few cells can be left out for others' eyes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from flou.engine.charts import ALERT, CALM, Look, in_lines, percent_axis, styled
from flou.engine.comparison import range_text
from flou.engine.words import Words

if TYPE_CHECKING:
    import altair as alt

    from flou.attack.table.averaging_result import AveragingResult


def draw_sizes(result: AveragingResult, look: Look) -> alt.Chart:
    """One pair of bars a class of true counts."""
    import altair as alt

    from flou.attack.table.averaging_result import class_text

    words = Words(look.language)
    names = {"single": words("by the single figure"), "averaged": words("by averaging")}
    lines = result._by_size.filter(pl.col("cells") >= look.min_count)
    order = [range_text(class_text(first), words) for first in lines["first"]]
    rows = [
        {"class": shown, "kind": names[kind], "share": line[kind], "order": place}
        for shown, line in zip(order, lines.iter_rows(named=True), strict=True)
        for place, kind in enumerate(names)
    ]
    chart = (
        alt.Chart(alt.InlineData(values=rows))
        .mark_bar(cornerRadiusEnd=2)
        .encode(
            x=alt.X("class:N", sort=order, title=words("true count"), axis=alt.Axis(labelAngle=0)),
            xOffset=alt.XOffset("kind:N", sort=list(names.values())),
            y=alt.Y(
                "share:Q",
                title=in_lines(words("share of cells whose true count is hit")),
                axis=percent_axis(words),
                scale=alt.Scale(domain=[0, look.top or 1]),
            ),
            color=alt.Color(
                "kind:N",
                scale=alt.Scale(domain=list(names.values()), range=[CALM, ALERT]),
                legend=alt.Legend(title=None, orient="top", direction="horizontal", columnPadding=24),
            ),
        )
    )
    return styled(chart.properties(width=440, height=210))
