"""The figure of a comparison of counts by size of the true count: observed as bars, expected as ticks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from flou.engine.charts import ALERT, CALM, Look, in_lines, percent_axis, styled
from flou.engine.comparison import ComparisonResult, range_text
from flou.engine.words import Words

if TYPE_CHECKING:
    import altair as alt

    from flou.utility.table.count_utility import CountUtility


def by_size(method: CountUtility, result: ComparisonResult, look: Look) -> alt.Chart:
    """One bar a class of counts; classes of fewer cells than the look allows are left out."""
    import altair as alt

    words = Words(look.language)
    names = {"observed": words("observed"), "expected": words("expected")}
    lines = result.details["by_size"].safe(look.min_count).frame
    rows = [
        {"class": range_text(line["size"], words), "value": line[kind], "kind": names[kind]}
        for line in lines.iter_rows(named=True)
        for kind in ("observed", "expected")
        if line[kind] is not None
    ]
    order = [range_text(size, words) for size in lines["size"]]
    axis = percent_axis(words) if result.headline.unit == "share" else number_axis(words)
    x = alt.X("class:N", sort=order, title=words("true count"), axis=alt.Axis(labelAngle=0))
    y = alt.Y("value:Q", title=in_lines(method.axis_title(words)), axis=axis)
    base = alt.Chart(alt.InlineData(values=rows)).encode(x=x, y=y)
    if len({row["kind"] for row in rows}) < 2:
        return styled(base.mark_bar(cornerRadiusEnd=2, color=CALM).properties(width=440, height=210))
    colour = alt.Color(
        "kind:N",
        scale=alt.Scale(domain=list(names.values()), range=[CALM, ALERT]),
        legend=alt.Legend(title=None, orient="top", direction="horizontal", columnPadding=24),
    )
    both = base.encode(color=colour)
    kind = alt.datum.kind
    chart: Any = both.transform_filter(kind == names["observed"]).mark_bar(cornerRadiusEnd=2)
    chart += both.transform_filter(kind == names["expected"]).mark_tick(thickness=3, size=26, opacity=1)
    return styled(chart.properties(width=440, height=210))


def number_axis(words: Words) -> alt.Axis:
    """An axis of numbers, with the decimal comma in French."""
    import altair as alt

    number = "format(datum.value, '~r')"
    return alt.Axis(labelExpr=f"replace({number}, '.', ',')" if words.language == "fr" else number, tickCount=5)
