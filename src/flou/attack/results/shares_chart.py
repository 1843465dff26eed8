"""Shares of right guesses as grouped bars: what an attack finds beside what is found without it.

A bar that is no longer than the one without the release says that the release told nothing. Shares of everybody, and no
record.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import polars as pl

from flou.engine.charts import ALERT, CALM, INK, PADDING, Look, in_lines, percent_axis, styled
from flou.engine.words import Words

if TYPE_CHECKING:
    import altair as alt

#: Colours of two bars a group, or of three.
FOUND, BESIDE, WITHOUT = ALERT, CALM, "#9aa1ab"
#: A column of shares, with the words and the colour of its bars.
Bars = Mapping[str, tuple[str, str]]


def draw_shares(frame: pl.DataFrame, bars: Bars, look: Look, *, title: str, along: str = "") -> alt.Chart:
    """One group of bars per row, named by the first column; upright where `along` names the axis of the groups."""
    import altair as alt

    words = Words(look.language)
    group, order = frame.columns[0], frame[frame.columns[0]].to_list()
    names = {column: words(label) for column, (label, _) in bars.items()}
    rows = [
        {group: row[group], "kind": name, "share": row[column]}
        | ({"order": place} if along else {"label": words.share(row[column])})
        for row in frame.iter_rows(named=True)
        for place, (column, name) in enumerate(names.items())
    ]
    kinds = list(names.values())
    colour = alt.Color(
        "kind:N",
        scale=alt.Scale(domain=kinds, range=[shade for _, shade in bars.values()]),
        legend=alt.Legend(title=None, orient="top", direction="horizontal", columnPadding=24),
    )
    axis, scale = percent_axis(words), alt.Scale(domain=[0, look.top or 1])
    base = alt.Chart(alt.InlineData(values=rows))
    if along:
        chart = base.mark_bar(cornerRadiusEnd=2).encode(
            x=alt.X(f"{group}:N", sort=order, title=words(along), axis=alt.Axis(labelAngle=0)),
            xOffset=alt.XOffset("kind:N", sort=kinds),
            y=alt.Y("share:Q", title=in_lines(words(title)), axis=axis, scale=scale),
            color=colour,
        )
        return styled(chart.properties(width=440, height=210))
    base = base.encode(
        y=alt.Y(f"{group}:N", sort=order, title=None),
        yOffset=alt.YOffset("kind:N", sort=kinds),
        x=alt.X("share:Q", title=words(title), axis=axis, scale=scale),
    )
    labels = base.mark_text(align="left", dx=4, fontSize=10, color=INK).encode(text="label:N")
    chart = alt.layer(base.mark_bar(cornerRadiusEnd=2).encode(color=colour), labels)
    return styled(chart.properties(width=400, height=alt.Step(18), padding=PADDING))
