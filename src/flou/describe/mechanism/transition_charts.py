"""The noise of transition matrices drawn side by side: one panel a matrix, the bar of each deviation its chance.

For a small count the panels show what ruling out published counts does to the noise (Jamme 2025, figure 1); for large
counts, how D and V trade the chance of a small deviation against the reach (figure 3). The chance of moving by at most
a chosen number stands in each panel. Only the matrix is drawn, which is public: no cell and no key.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from flou.describe.mechanism.mechanism import checked_count
from flou.engine.charts import ALERT, CALM, INK, percent_axis, styled
from flou.engine.errors import ParameterError
from flou.engine.words import Words

if TYPE_CHECKING:
    import altair as alt

    from flou.describe.mechanism.transition_matrix import TransitionMatrix

_MOST_PANELS = 24
#: Round steps between ticks, and the room that one takes in pixels.
_STEPS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)
_TICK_ROOM = 26


def compare_matrices(
    matrices: Sequence[TransitionMatrix],
    *,
    count: int | Literal["large"] = "large",
    within: int = 2,
    language: str = "en",
) -> alt.Chart:
    """The distribution of the deviation of a count, or of large counts, under each matrix."""
    import altair as alt

    words = Words(language)
    if not 1 <= len(matrices) <= _MOST_PANELS:
        raise ParameterError(f"{len(matrices)} matrices cannot be drawn side by side; give 1 to {_MOST_PANELS}.")
    if count != "large":
        count = checked_count(count)
    within = checked_count(within)
    groups = [words("moved by {within} at most", within=within), words("moved further")]
    panels = _panel_names(matrices, words)
    rows: list[dict[str, Any]] = []
    for panel, matrix in zip(panels, matrices, strict=True):
        rows += _bars(matrix, panel, count, within, groups, words)
    low, high = min(row["z"] for row in rows) - 0.6, max(row["z"] for row in rows) + 0.6
    top = 1.2 * max(row["p"] for row in rows)  # room for the note above the bars
    n_columns = {1: 1, 2: 2, 4: 2}.get(len(panels), 3)
    width, height = (420, 220) if len(panels) == 1 else (220, 130)
    axis_title = words("deviation (published − true count)")
    x = alt.X(
        "z:Q",
        # a long title under each of several panels would run into the next
        title=axis_title if len(panels) == 1 else words("deviation"),
        scale=alt.Scale(domain=[low, high], nice=False),
        axis=alt.Axis(format="d", values=_ticks(low + 0.6, high - 0.6, width / (high - low))),
    )
    scale = alt.Scale(domain=[0, top], nice=False)
    y = alt.Y("p:Q", title=words("probability"), axis=percent_axis(words), scale=scale)
    colour = alt.Color(
        "group:N",
        scale=alt.Scale(domain=groups, range=[CALM, ALERT]),
        legend=alt.Legend(title=None, orient="top", direction="horizontal", columnPadding=24),
    )
    bars = alt.Chart().mark_bar(width=max(1.0, 0.8 * width / (high - low))).encode(x=x, y=y, color=colour)
    note = alt.Chart().mark_text(align="right", baseline="top", fontSize=11, color=INK)
    noted = note.encode(x=alt.value(width), y=alt.value(2), text="note:N")
    title = _title(count, words)
    if len(panels) > 1:
        title = f"{title}{words.colon} {axis_title}"
    header = alt.Header(
        title=None, labelColor=INK, labelFontSize=12, labelFontWeight="bold", labelExpr="split(datum.label, ' | ')"
    )
    chart = (
        alt.layer(bars, noted, data=alt.InlineData(values=rows))
        .properties(width=width, height=height)
        .facet(facet=alt.Facet("panel:N", sort=panels, header=header), columns=n_columns, spacing=24)
        .properties(title=alt.TitleParams(title, color=INK, fontWeight="normal", anchor="start"))
    )
    return styled(chart)


def _title(count: int | Literal["large"], words: Words) -> str:
    if count == "large":
        return words("Noise on large counts")
    return words("Noise on a true count of {count}", count=count)


def _ticks(lowest: float, highest: float, room: float) -> list[int]:
    """Deviations that the axis names, at round steps; the lowest as well where it has room, `room` being that of 1."""
    low, high = round(lowest), round(highest)
    step = next((s for s in _STEPS if s * room >= _TICK_ROOM), high - low or 1)
    ticks = [z for z in range(low, high + 1) if z % step == 0]
    if low not in ticks and (not ticks or (ticks[0] - low) * room >= _TICK_ROOM / 2):
        ticks = [low, *ticks]
    return ticks


def _bars(
    matrix: TransitionMatrix,
    panel: str,
    count: int | Literal["large"],
    within: int,
    groups: list[str],
    words: Words,
) -> list[dict[str, Any]]:
    """A bar a deviation that can happen; the first one carries the panel's note."""
    chances = matrix.large if count == "large" else matrix.deviation_row(count)
    deviations = np.arange(-matrix.reach, matrix.reach + 1)
    # to nine digits: chances that add up to 1 but for rounding are 100%
    near = round(float(chances[np.abs(deviations) <= within].sum()), 9)
    note = f"P(|Z| ≤ {within}) = {words.share(min(near, 1.0))}"
    rows = [
        {"panel": panel, "z": int(z), "p": float(p), "group": groups[int(abs(z) > within)], "note": ""}
        for z, p in zip(deviations, chances, strict=True)
        if p > 0
    ]
    rows[0]["note"] = note
    return rows


def _panel_names(matrices: Sequence[TransitionMatrix], words: Words) -> list[str]:
    """The parameters of each matrix; equal ones are numbered."""
    names: list[str] = []
    for matrix in matrices:
        name = words.settings({"D": matrix.D, "V": round(matrix.V, 4), "js": matrix.js})
        if matrix.stack:
            name += f" | {words.settings({'D': matrix.stack[0], 'V': round(matrix.stack[1], 4)})}"
        names.append(name if name not in names else f"{name} ({len(names) + 1})")
    return names
