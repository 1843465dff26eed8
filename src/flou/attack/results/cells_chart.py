"""The intervals of sensitive cells as a chart: how far bounds lie from the true figure, in units of what is needed.

One line a cell, the narrowest first; ticks mark the bounds that are needed. A line that does not reach its ticks is a
cell that can be computed too closely. The chart shows which cells are sensitive, so it is internal.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from flou.engine.charts import ALERT, CALM, INK, PADDING, Look, in_lines, styled
from flou.engine.words import Words

if TYPE_CHECKING:
    import altair as alt

#: Cells that are drawn at most, and how far the axis goes, in units of the level.
_MOST, _FAR = 40, 3.0


def draw_intervals(distances: pl.DataFrame, look: Look) -> alt.Chart:
    """The bounds that an outsider gets of each sensitive cell, the narrowest first."""
    import altair as alt

    words = Words(look.language)
    names = [words("closer than is allowed"), words("as far as is needed")]
    drawn = (
        distances.sort("width", "cell", maintain_order=True)
        .head(_MOST)
        .with_columns(pl.col("low", "high").clip(-_FAR, _FAR))
    )
    rows = [
        {**row, "group": names[0] if row["flag"] else names[1]} for row in drawn.drop("width").iter_rows(named=True)
    ]
    order = [row["cell"] for row in rows]
    y = alt.Y("cell:N", sort=order, title=None, axis=alt.Axis(labelLimit=260))
    x = alt.X(
        "low:Q",
        scale=alt.Scale(domain=[-_FAR, _FAR]),
        title=in_lines(words("distance from the true figure, in units of the protection level"), 70),
    )
    colour = alt.Color(
        "group:N",
        scale=alt.Scale(domain=names, range=[ALERT, CALM]),
        legend=alt.Legend(title=None, orient="top", direction="horizontal", columnPadding=24),
    )
    base = alt.Chart(alt.InlineData(values=rows)).encode(y=y)
    lines = base.mark_bar(height=7, cornerRadius=2).encode(x=x, x2="high:Q", color=colour)
    # the ends, so that a cell that is known exactly is seen too
    ends = [base.mark_tick(thickness=3, size=9).encode(x=f"{end}:Q", color=colour) for end in ("low", "high")]
    ticks = [
        base.transform_filter(f"isValid(datum.{end})").mark_tick(color=INK, thickness=2, size=13).encode(x=f"{end}:Q")
        for end in ("needed_low", "needed_high")
    ]
    true = alt.Chart(alt.InlineData(values=[{"zero": 0}])).mark_rule(color=INK, strokeDash=[2, 3]).encode(x="zero:Q")
    chart = alt.layer(true, lines, *ends, *ticks).properties(width=360, height=alt.Step(16), padding=PADDING)
    return styled(chart)
