"""The shares of an intruder who knows all but one value as a chart: three bars a variable, and no record.

Beside what tables determine and what the best guess gets right stands the guess without tables: a bar that is no longer
than that one says that the tables told nothing. It shows shares of everybody, and protects nobody by itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from flou.engine.charts import ALERT, CALM, INK, PADDING, Look, percent_axis, styled
from flou.engine.words import Words

if TYPE_CHECKING:
    import altair as alt

    from flou.attack.table.single_result import SingleResult

#: The guess without tables.
_QUIET = "#9aa1ab"


def draw_shares(result: SingleResult, look: Look) -> alt.Chart:
    """Of each variable: the share determined, the best guess, and the guess without tables."""
    import altair as alt

    words = Words(look.language)
    names = [words("determined"), words("best guess right"), words("guess without tables")]
    rows = [
        {"variable": row["variable"], "kind": name, "share": row[column], "label": words.share(row[column])}
        for row in result.variables.iter_rows(named=True)
        for name, column in zip(names, ("determined", "right", "baseline"), strict=True)
    ]
    base = alt.Chart(alt.InlineData(values=rows)).encode(
        y=alt.Y("variable:N", sort=result.variables["variable"].to_list(), title=None),
        yOffset=alt.YOffset("kind:N", sort=names),
        x=alt.X(
            "share:Q",
            axis=percent_axis(words),
            scale=alt.Scale(domain=[0, look.top or 1]),
            title=words("share of people"),
        ),
    )
    colour = alt.Color(
        "kind:N",
        scale=alt.Scale(domain=names, range=[ALERT, CALM, _QUIET]),
        legend=alt.Legend(title=None, orient="top", direction="horizontal", columnPadding=24),
    )
    bars = base.mark_bar(cornerRadiusEnd=2).encode(color=colour)
    labels = base.mark_text(align="left", dx=4, fontSize=10, color=INK).encode(text="label:N")
    chart = alt.layer(bars, labels).properties(width=400, height=alt.Step(18), padding=PADDING)
    return styled(chart)
