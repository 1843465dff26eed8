"""Charts of the report beyond those that results draw themselves."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flou.engine.charts import ALERT, CALM, INK, PADDING, percent_axis, styled
from flou.engine.words import Words

if TYPE_CHECKING:
    import altair as alt

    from flou.reporting.senses import Sense


def senses_chart(senses: list[Sense], language: str) -> alt.Chart | None:
    """Share of records below k under each way of counting, before and after."""
    import altair as alt

    words = Words(language)
    before, after = words("before"), words("after")
    rows = []
    for sense in senses:
        for when, share in ((before, sense.before), (after, sense.after)):
            if share is not None:
                rows.append({"sense": words(sense.name), "when": when, "share": share, "label": words.share(share)})
    if not rows:
        return None
    shown = [w for w in (before, after) if any(r["when"] == w for r in rows)]
    base = alt.Chart(alt.InlineData(values=rows)).encode(
        y=alt.Y("sense:N", sort=[words(s.name) for s in senses], title=None),
        yOffset=alt.YOffset("when:N", sort=shown),
        x=alt.X("share:Q", title=words("share of records below k"), axis=percent_axis(words)),
    )
    colour = alt.Color(
        "when:N",
        scale=alt.Scale(domain=shown, range=[ALERT, CALM] if len(shown) == 2 else [CALM]),
        legend=alt.Legend(title=None, orient="top"),
    )
    text = base.mark_text(align="left", dx=4, fontSize=10, color=INK).encode(text="label:N")
    return styled(
        (base.mark_bar(cornerRadiusEnd=2).encode(color=colour) + text).properties(
            width=400, height=alt.Step(15), padding=PADDING
        )
    )
