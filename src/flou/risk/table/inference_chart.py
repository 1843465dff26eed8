"""How sure an intruder is, by published count: one bar a count, a dashed line at the mean over them all."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from flou.engine.charts import ALERT, CALM, INK, Look, in_lines, percent_axis, styled
from flou.engine.words import Words

if TYPE_CHECKING:
    import altair as alt

    from flou.risk.table.inference_result import InferenceResult

#: More bars than this cannot be told apart.
_MOST_BARS = 25
#: Where many bars are next to nothing, their figures would only run into each other.
_SMALLEST_SHOWN = 0.005
#: Up to so many bars each has its figure with a decimal, and up to so many without; of more none.
_ROOMY, _TIGHT = 7, 12
_WIDTH = 420


def by_published_count(result: InferenceResult, look: Look) -> alt.Chart:
    """The probability that the truth is in I, by published count in J; the count that tells most stands out."""
    words = Words(look.language)
    names = (words("tells most"), words("other published counts"))
    return _bars(result, names, (words("published count"), words("probability that the true count is in I")), look)


def by_published_difference(result: InferenceResult, look: Look) -> alt.Chart:
    """The same for differences of two published cells."""
    words = Words(look.language)
    names = (words("tells most"), words("other published differences"))
    titles = (words("published difference"), words("probability that the true difference is in I"))
    return _bars(result, names, titles, look)


def behind_a_zero(result: InferenceResult, look: Look) -> alt.Chart:
    """What a published zero may truly be."""
    words = Words(look.language)
    names = (words("truly zero"), words("somebody is there"))
    rows = [
        {
            "class": str(line["i"]),
            "share": line["q_ij"],
            "label": words.share(line["q_ij"]),
            "small": line["q_ij"] < _SMALLEST_SHOWN,
            "group": names[0] if line["i"] == 0 else names[1],
        }
        for line in result.counts.filter(pl.col("q_ij") > 0).head(_MOST_BARS).iter_rows(named=True)
    ]
    titles = (words("true count behind a published zero"), words("probability"))
    return styled(_drawn(rows, names, titles, look).properties(width=_WIDTH, height=210))


def _bars(result: InferenceResult, names: tuple[str, str], titles: tuple[str, str], look: Look) -> alt.Chart:
    import altair as alt

    words = Words(look.language)
    lines = result.counts.group_by("j").agg(
        share=(pl.col("q_ij") * pl.col("sensitive")).sum(), occurs=(pl.col("q_ij").sum() > 0)
    )
    rows: list[dict[str, Any]] = [
        {
            "class": str(line["j"]),
            "share": min(line["share"], 1.0),
            "label": words.share(min(line["share"], 1.0)) if line["occurs"] else "–",
            "group": names[0] if line["j"] == result.worst_count else names[1],
        }
        for line in lines.sort("j").head(_MOST_BARS).iter_rows(named=True)
    ]
    chart = _drawn(rows, names, titles, look)
    mean = [{"share": result.value, "label": f"J{words.colon} {words.share(result.value)}"}]
    rule = alt.Chart(alt.InlineData(values=mean))
    chart += rule.mark_rule(strokeDash=[5, 4], color=INK).encode(y="share:Q")
    chart += rule.mark_text(align="left", dx=8, fontSize=10, color=INK).encode(
        y="share:Q", x=alt.value(_WIDTH), text="label:N"
    )
    return styled(chart.properties(width=_WIDTH, height=210))


def _drawn(rows: list[dict[str, Any]], names: tuple[str, str], titles: tuple[str, str], look: Look) -> Any:
    """Bars in two colours, each with its figure."""
    import altair as alt

    words = Words(look.language)
    rows = [{**row, "label": _label(row, len(rows), words)} for row in rows]
    base = alt.Chart(alt.InlineData(values=rows)).encode(
        x=alt.X("class:N", sort=[r["class"] for r in rows], title=titles[0], axis=alt.Axis(labelAngle=0)),
        y=alt.Y(
            "share:Q", title=in_lines(titles[1]), axis=percent_axis(words), scale=alt.Scale(domain=[0, look.top or 1])
        ),
    )
    colour = alt.Color(
        "group:N",
        scale=alt.Scale(domain=list(names), range=[ALERT, CALM]),
        legend=alt.Legend(title=None, orient="top", direction="horizontal", columnPadding=24),
    )
    chart: Any = base.mark_bar(cornerRadiusEnd=2).encode(color=colour)
    # at the foot of a bar, where the dashed line seldom is; a short bar has its label on top
    chart += (
        base.transform_filter("datum.share > 0.12")
        .mark_text(fontSize=10, color="white")
        .encode(y=alt.value(200), text="label:N")
    )
    short = base.transform_filter("datum.share <= 0.12")
    chart += short.mark_text(dy=-6, fontSize=10, color=INK).encode(text="label:N")
    return chart


def _label(row: dict[str, Any], n_bars: int, words: Words) -> str:
    """The figure of a bar, as far as there is room for it."""
    if row.get("small"):
        return ""
    if n_bars <= _ROOMY or row["label"] == "–":
        return str(row["label"])
    return words.whole_share(row["share"]) if n_bars <= _TIGHT else ""
