"""Coefficients of both files with their confidence intervals, one below the other."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from flou.engine.charts import ALERT, CALM, PADDING, Look, styled
from flou.engine.comparison import ComparisonResult, term_text
from flou.engine.words import Words

if TYPE_CHECKING:
    import altair as alt

_MOST_TERMS = 30


def forest_chart(result: ComparisonResult, look: Look) -> alt.Chart:
    """The regression on all records, its intercept left out; terms that few records stand behind are not drawn."""
    import altair as alt

    words = Words(look.language)
    frame = result.details["coefficients"].safe(look.min_count).frame
    frame = frame.filter(pl.col("by").is_null() & pl.col("column").is_not_null())
    worst = frame.with_row_index("place").sort("overlap", nulls_last=True).head(_MOST_TERMS).sort("place")
    files = [words("original"), words("release")]
    rows, order = [], []
    for line in worst.iter_rows(named=True):
        order.append(term_text(line, words, result.schema))
        for file, which in zip(files, ("original", "released"), strict=True):
            if line[which] is not None:
                rows.append({"term": order[-1], "file": file, "estimate": line[which],
                             "low": line[f"low_{which}"], "high": line[f"high_{which}"]})  # fmt: skip
    colour = alt.Color(
        "file:N",
        scale=alt.Scale(domain=files, range=[CALM, ALERT]),
        legend=alt.Legend(title=None, orient="top"),
    )
    base = alt.Chart(alt.InlineData(values=rows)).encode(
        y=alt.Y("term:N", sort=order, title=None, axis=alt.Axis(labelLimit=240)),
        yOffset=alt.YOffset("file:N", sort=files),
        color=colour,
    )
    title = words("coefficient and its confidence interval")
    rule = base.mark_rule(strokeWidth=2).encode(x=alt.X("low:Q", title=title), x2="high:Q")
    dots = base.mark_point(filled=True, size=35, opacity=1).encode(x=alt.X("estimate:Q", title=title))
    zero = alt.Chart(alt.InlineData(values=[{"zero": 0}])).mark_rule(color="#9aa1ab", strokeDash=[3, 3])
    chart = zero.encode(x=alt.X("zero:Q", title=title)) + rule + dots
    return styled(chart.properties(width=380, height=alt.Step(11), padding=PADDING))
