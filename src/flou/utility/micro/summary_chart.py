"""The deviations of the univariate comparison in one picture: a line a column, a dot for all, ticks for groups."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from flou.engine.charts import ALERT, CALM, PADDING, Look, percent_axis, styled
from flou.engine.comparison import ComparisonResult
from flou.engine.words import Words

if TYPE_CHECKING:
    import altair as alt

#: Lines that a chart has room for; the worst are drawn.
_MOST_COLUMNS = 20
_BAND = "#eef3f8"
_NOTHING = pl.DataFrame(schema={"column": pl.String, "deviation": pl.Float64})


def deviation_chart(result: ComparisonResult, look: Look) -> alt.Chart:
    """Deviations of means over all and by group, with the tolerance as a band."""
    import altair as alt

    words = Words(look.language)
    means, groups = (_lines(result, name, look.min_count) for name in ("means", "groups"))
    if means.height:
        title = words("deviation of the mean")
    else:
        means = _moved(result, look.min_count)
        title = words("share of records that moved")
    means = means.sort(pl.col("deviation").abs(), descending=True, maintain_order=True).head(_MOST_COLUMNS)
    names = {c: result.schema.label(c, look.language) for c in means["column"]}
    overall, by_group = words("all records"), words("by group")
    rows = [
        {"column": names[c], "deviation": d, "what": what}
        for frame, what in ((groups, by_group), (means, overall))
        for c, d in frame.select("column", "deviation").iter_rows()
        if c in names
    ]
    tolerance = float(result.drawn.get("tolerance", 0.0))
    whats = [overall, by_group] if groups.height else [overall]
    y = alt.Y("column:N", sort=list(names.values()), title=None, axis=alt.Axis(labelLimit=220))
    x = alt.X("deviation:Q", title=title, axis=percent_axis(words))
    colour = alt.Color(
        "what:N",
        scale=alt.Scale(domain=whats, range=[CALM, ALERT]),
        legend=alt.Legend(title=None, orient="top") if groups.height else None,
    )
    band = (
        alt.Chart(alt.InlineData(values=[{"low": -tolerance, "high": tolerance}]))
        .mark_rect(color=_BAND)
        .encode(x=alt.X("low:Q", title=title), x2="high:Q")
    )
    base = alt.Chart(alt.InlineData(values=rows))
    ticks = base.transform_filter(alt.datum.what == by_group).mark_tick(thickness=1.5, opacity=0.75)
    dots = base.transform_filter(alt.datum.what == overall).mark_point(filled=True, size=70, opacity=1)
    chart = band + ticks.encode(x=x, y=y, color=colour) + dots.encode(x=x, y=y, color=colour)
    return styled(chart.properties(width=400, height=alt.Step(22), padding=PADDING))


def _lines(result: ComparisonResult, name: str, min_count: int) -> pl.DataFrame:
    detail = result.details.get(name)
    return _NOTHING if detail is None else detail.safe(min_count).frame.filter(pl.col("deviation").is_not_null())


def _moved(result: ComparisonResult, min_count: int) -> pl.DataFrame:
    if "shares" not in result.details:  # numbers alone, of too few records to show
        return _NOTHING
    shares = result.details["shares"].safe(min_count).frame
    return shares.group_by("column", maintain_order=True).agg(deviation=pl.col("change").abs().sum() / 2)
