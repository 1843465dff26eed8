"""Match rates of a reconstruction as a chart: what was rebuilt beside what an independent population has in common."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flou.engine.charts import ALERT, CALM, INK, PADDING, Look, percent_axis, styled
from flou.engine.words import Words

if TYPE_CHECKING:
    import altair as alt

    from flou.attack.table.reconstruction_result import ReconstructionResult

_KINDS = (
    ("value", "baseline", "same values"),
    ("multiset", "baseline_multiset", "same values, one to one"),
    ("near", "baseline_near", "within the tolerance"),
    ("near_multiset", "baseline_near_multiset", "within the tolerance, one to one"),
)


def draw_matches(result: ReconstructionResult, look: Look) -> alt.Chart:
    """Bars for each kind of match, the attack above the independent population."""
    import altair as alt

    words = Words(look.language)
    names = [words("rebuilt from the tables"), words("independent population")]
    rows, order = [], []
    for own, other, label in _KINDS:
        if own != "value" and own not in result.figures:
            continue
        order.append(words(label))
        for name, share in zip(names, (result.figure(own), result.figure(other)), strict=True):
            assert isinstance(share, float)
            rows.append({"kind": words(label), "group": name, "share": share, "label": words.share(share)})
    base = alt.Chart(alt.InlineData(values=rows)).encode(
        y=alt.Y("kind:N", sort=order, title=None, axis=alt.Axis(labelLimit=260)),
        yOffset=alt.YOffset("group:N", sort=names),
        x=alt.X("share:Q", title=words("share of people"), axis=percent_axis(words), scale=alt.Scale(domain=[0, 1])),
    )
    colour = alt.Color(
        "group:N",
        scale=alt.Scale(domain=names, range=[ALERT, CALM]),
        legend=alt.Legend(title=None, orient="top", direction="horizontal", columnPadding=24),
    )
    bars = base.mark_bar(cornerRadiusEnd=2).encode(color=colour)
    text = base.mark_text(align="left", dx=4, fontSize=10, color=INK).encode(text="label:N")
    return styled((bars + text).properties(width=360, height=alt.Step(18), padding=PADDING))
