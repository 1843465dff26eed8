"""The links that changed most: two dots a pair of columns, the original's and the release's."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flou.engine.charts import ALERT, CALM, PADDING, Look, styled
from flou.engine.comparison import ComparisonResult
from flou.engine.words import Words

if TYPE_CHECKING:
    import altair as alt

_MOST_PAIRS = 15


def links_chart(result: ComparisonResult, look: Look) -> alt.Chart:
    """A line a pair, from the original's link to the release's."""
    import altair as alt

    words = Words(look.language)
    original, released = words("original"), words("release")
    lines = result.details["pairs"].safe(look.min_count).ranked().head(_MOST_PAIRS)
    rows, ends = [], []
    for line in lines.iter_rows(named=True):
        names = [result.schema.label(line[c], look.language) for c in ("column", "other")]
        pair = " × ".join(names)
        ends.append({"pair": pair, "from": line["original"], "to": line["released"]})
        rows += [{"pair": pair, "link": line["original"], "file": original},
                 {"pair": pair, "link": line["released"], "file": released}]  # fmt: skip
    order = [e["pair"] for e in ends]
    title = words("link (correlation, V or ratio)")
    y = alt.Y("pair:N", sort=order, title=None, axis=alt.Axis(labelLimit=260))
    rule = alt.Chart(alt.InlineData(values=ends)).mark_rule(color="#9aa1ab")
    dots = alt.Chart(alt.InlineData(values=rows)).mark_point(filled=True, size=60, opacity=1)
    chart = rule.encode(x=alt.X("from:Q", title=title), x2="to:Q", y=y) + dots.encode(
        x=alt.X("link:Q", title=title),
        y=y,
        color=alt.Color(
            "file:N",
            scale=alt.Scale(domain=[original, released], range=[CALM, ALERT]),
            legend=alt.Legend(title=None, orient="top"),
        ),
    )
    return styled(chart.properties(width=360, height=alt.Step(20), padding=PADDING))
