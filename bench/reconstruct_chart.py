"""The chart of the study: what is rebuilt and what is certain under each protection, beside what it costs.

Three panels share one list of protections: the share of people whose record is rebuilt, with what an independent
population has in common; records that are certain; how far published figures are from the true ones. Drawn in both
languages from the figures of the study.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from flou.engine.charts import ALERT, CALM, INK, percent_axis, styled, to_svg
from flou.engine.words import Words

if TYPE_CHECKING:
    import altair as alt

IMAGES = Path(__file__).parents[1] / "docs" / "tutorials" / "images"
_TEXTS = {
    "en": {
        "rebuilt": "people whose record is rebuilt",
        "certain": "certain records of 50",
        "lost": "mean absolute deviation",
        "attack": "attack: likeliest records, 95% interval",
        "chance": "independent population of the same country",
        "guess": "the country’s 50 commonest records, without tables",
        "withheld": "{share} of occupied cells withheld",
    },
    "fr": {
        "rebuilt": "personnes dont l’enregistrement est reconstitué",
        "certain": "enregistrements certains sur 50",
        "lost": "écart absolu moyen",
        "attack": "attaque : enregistrements les plus probables, intervalle à 95 %",
        "chance": "population indépendante du même pays",
        "guess": "les 50 enregistrements les plus courants du pays, sans tableaux",
        "withheld": "{share} des cases non vides masquées",
    },
}
_ATTACK = "posterior, prior"
_HEIGHT, _MOST_SHOWN = 20, 2.5
#: The colour of the guess without tables.
_GREY = "#7b8794"


def save_charts(found: dict[str, Any]) -> None:
    """Draw the study in both languages, as SVG."""
    IMAGES.mkdir(parents=True, exist_ok=True)
    for language in _TEXTS:
        name = "reconstruction.svg" if language == "en" else f"reconstruction.{language}.svg"
        (IMAGES / name).write_text(to_svg(draw(found, language)) + "\n", encoding="utf-8")


def draw(found: dict[str, Any], language: str) -> alt.Chart:
    """Match rate, certain records and what is lost, side by side."""
    import altair as alt

    words, texts = Words(language), _TEXTS[language]
    rows, order = [], []
    for entry in found["cases"].values():
        if entry["alone"]:
            continue
        name = entry["french"] if language == "fr" else entry["name"]
        held, off = entry["attacks"][_ATTACK], entry["deviation"]["mean"]
        withheld = entry["changed"]["mean"] if entry["group"] == "suppression" else 0.0
        told = texts["withheld"].format(share=_percent(withheld, language)) if withheld else _number(off, language, 2)
        order.append(name)
        rows.append(
            {
                "protection": name,
                "rebuilt": held["exact"]["mean"],
                "low": held["exact"]["low"],
                "high": min(held["exact"]["high"], 1.0),
                "share": _percent(held["exact"]["mean"], language),
                "certain": held["n_certain"]["mean"],
                "n": _number(held["n_certain"]["mean"], language, 1),
                "lost": min(off, _MOST_SHOWN),
                "told": told + (" →" if off > _MOST_SHOWN else ""),
                "kind": texts["attack"],
            }
        )
    base = alt.Chart(alt.InlineData(values=rows))
    y: Any = alt.Y("protection:N", sort=order, title=None)
    named = y.axis(alt.Axis(labelLimit=300, domain=False, ticks=False, labelPadding=8, grid=False))
    bare = y.axis(alt.Axis(labels=False, domain=False, ticks=False, grid=False))
    height = alt.Step(_HEIGHT)
    return styled(
        alt.hconcat(
            _rates(base, named, found["baseline"]["four tables"], words, texts).properties(width=300, height=height),
            _bars(base, bare, "certain", "n", texts["certain"], ALERT, 56).properties(width=150, height=height),
            _bars(base, bare, "lost", "told", texts["lost"], CALM, _MOST_SHOWN * 1.4).properties(
                width=200, height=height
            ),
            spacing=14,
        ).resolve_scale(color="independent")
    )


def _rates(base: alt.Chart, y: Any, baseline: dict[str, Any], words: Words, texts: dict[str, str]) -> Any:
    """Match rates with their intervals, and lines for what is found without tables."""
    import altair as alt

    kinds = [texts["attack"], texts["chance"], texts["guess"]]
    colour = alt.Color(
        "kind:N",
        scale=alt.Scale(domain=kinds, range=[ALERT, CALM, _GREY]),
        legend=alt.Legend(title=None, orient="top", direction="vertical", symbolType="circle", labelLimit=400),
    )
    x = alt.X("rebuilt:Q", title=texts["rebuilt"], axis=percent_axis(words), scale=alt.Scale(domain=[0, 1], nice=False))
    spans = base.mark_rule(strokeWidth=2).encode(y=y, x=x, color=colour)
    spans = spans.encode(x=alt.X("low:Q", title=texts["rebuilt"]), x2="high:Q")
    points = base.mark_point(filled=True, size=60, opacity=1).encode(y=y, x=x, color=colour)
    labels = base.mark_text(align="left", dx=4, fontSize=10, color=INK).encode(y=y, x="high:Q", text="share:N")
    found = [("chance", baseline["exact"]["mean"]), ("guess", baseline["exact, guess"]["mean"])]
    lines = (
        alt.Chart(alt.InlineData(values=[{"at": at, "kind": texts[name]} for name, at in found]))
        .mark_rule(strokeDash=[4, 3], strokeWidth=1.5)
        .encode(x="at:Q", color=colour)
    )
    return alt.layer(lines, spans, points, labels)


def _bars(base: alt.Chart, y: Any, value: str, text: str, title: str, colour: str, top: float) -> Any:
    import altair as alt

    ticks = alt.Axis(values=[0, 1, 2] if value == "lost" else [0, 10, 20, 30, 40, 50])
    x = alt.X(f"{value}:Q", title=title, axis=ticks, scale=alt.Scale(domain=[0, top], nice=False))
    bars = base.mark_bar(cornerRadiusEnd=2, color=colour, size=11).encode(y=y, x=x)
    return alt.layer(
        bars, base.mark_text(align="left", dx=4, fontSize=10, color=INK).encode(y=y, x=x, text=f"{text}:N")
    )


def _number(value: float, language: str, digits: int) -> str:
    shown = f"{value:.{digits}f}" if round(value, digits) else "0"
    return shown.replace(".", ",") if language == "fr" else shown


def _percent(share: float, language: str) -> str:
    return f"{share * 100:.0f}\u202f%" if language == "fr" else f"{share:.0%}"
