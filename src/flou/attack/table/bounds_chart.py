"""The intervals of sensitive cells as a chart: how far bounds lie from the true figure, in units of what is needed.

One line a cell, the narrowest first; ticks mark the bounds that are needed. A line that does not reach its ticks is a
cell that can be computed too closely. It shows which cells are sensitive, so it is for those who protect.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from flou.describe.table.seen import cell_name
from flou.engine.charts import ALERT, CALM, INK, PADDING, Look, in_lines, styled
from flou.engine.words import Words

if TYPE_CHECKING:
    import altair as alt

    from flou.attack.table.bounds_result import BoundsResult

#: Cells that are drawn at most, and how far the axis goes, in units of the level.
_MOST, _FAR = 40, 3.0


def draw_intervals(result: BoundsResult, look: Look) -> alt.Chart:
    """The bounds that an outsider gets of each sensitive cell, the narrowest first."""
    import altair as alt

    words = Words(look.language)
    names = [words("closer than is allowed"), words("as far as is needed")]
    rows = [{**row, "group": names[0] if row["flag"] else names[1]} for row in _rows(result)]
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


def _rows(result: BoundsResult) -> list[dict[str, Any]]:
    from flou.attack.table.bounds_result import _narrow, needed_bounds

    case, out = result._case, []
    for number, side in enumerate(case.in_units):
        found = result._intervals(number)
        needed_low, needed_high = needed_bounds(side)
        narrow = _narrow(side, found)
        for k in np.flatnonzero(np.isin(found.cells, side.needs.cells)).tolist():
            cell = int(found.cells[k])
            true = float(side.view.figures[cell])
            down, up = true - needed_low[cell], needed_high[cell] - true
            unit = float(np.nanmax([down, up]))
            low, high = (found.low[k] - true) / unit, (found.high[k] - true) / unit
            name = cell_name(case.table, cell)
            out.append(
                {
                    "cell": f"{name} ({side.figure})" if len(case.sides) > 1 else name,
                    "width": high - low,
                    "low": float(max(low, -_FAR)),
                    "high": float(min(high, _FAR)),
                    "needed_low": None if np.isnan(down) or side.sliding else float(-down / unit),
                    "needed_high": None if np.isnan(up) or side.sliding else float(up / unit),
                    "flag": bool(narrow[k]),
                }
            )
    out.sort(key=lambda row: (row["width"], row["cell"]))
    return [{k: v for k, v in row.items() if k != "width"} for row in out[:_MOST]]
