"""What the report says of hidden values that can be read off a release."""

from __future__ import annotations

from functools import cache

from tests.risk.like_eusilc import Hide, like_eusilc

import flou
from flou.decide.rule import Rule
from flou.engine.release import Release

HEADING = {"en": "What the release tells of hidden values", "fr": "Ce que le fichier diffusé révèle"}
K3 = flou.risk.KAnonymity(k=3, missing="category")
POLICY = flou.Policy(
    rules=[Rule(method="k_anonymity", settings={"k": 3, "missing": "category"}, at_most={"release": 0.5})]
)


@cache
def report(nth: int) -> tuple[flou.Report, Release]:
    people = like_eusilc(households=2_000)
    release = Hide(column="region", nth=nth).protect(people)
    results = [K3.measure(release)]
    return flou.Report(people, release, results=results, verdict=POLICY.judge(*results, release)), release


def test_the_internal_report_names_what_tells() -> None:
    page, _ = report(7)
    assert HEADING["en"] in page.html()
    assert "region was hidden and can be read off weight" in page.html()
    assert HEADING["fr"] in page.html(language="fr")
    assert "region a été masqué et se déduit de weight" in page.html(language="fr")


def test_what_is_below_the_floor_stands_in_the_internal_report_alone() -> None:
    """A few nulls are read off: too few to withhold the file, and nothing for the public."""
    page, _ = report(400)
    for language, heading in HEADING.items():
        assert heading in page.html(language=language)
        assert heading not in page.html(language=language, audience="public")
    assert "region: weight hits" in page.html()
    assert "hits" not in page.html(audience="public")


def test_a_report_without_a_verdict_looks_for_nothing() -> None:
    people = like_eusilc(households=500)
    release = Hide(column="region", nth=7).protect(people)
    assert HEADING["en"] not in flou.Report(people, release).html()
