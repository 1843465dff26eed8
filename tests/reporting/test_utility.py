"""Utility in the report: side by side for the office, headline and figures for the public."""

from __future__ import annotations

from typing import Any

import pytest
from tests.contracts.cases import people
from tests.reporting.test_report import _Page

import flou
from flou.engine.words import LANGUAGES

SECRET = flou.Secret(bytes(range(32)))
K = flou.risk.KAnonymity
METHODS = [
    flou.utility.Summary(by="illness"),
    flou.utility.Correlations(),
    flou.utility.Regression("income", on=["sex", "illness"], classes={"illness": "values"}),
    flou.utility.Coherence("income", by="sex"),
]


def _report() -> flou.Report:
    data = people()
    release = flou.protect.TopCode("income", at=900).protect(data, secret=SECRET)
    results: list[Any] = [K(k=3).measure(release), *(m.compare(data, release) for m in METHODS)]
    rules = [{"method": "k_anonymity", "settings": {"k": 3}, "at_most": {"release": 0.0, "review": 1.0}}]
    rules.append({"method": "correlations", "at_most": {"release": 1.0}})
    verdict = flou.Policy(rules=rules).judge(*results, release)
    return flou.Report(data, release, results=results, verdict=verdict)


def _section(html: str) -> str:
    return html.partition('<section id="utility">')[2].partition("</section>")[0]


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_office_sees_both_files_side_by_side(language: str) -> None:
    html = _report().html(language=language)
    assert not _Page(html).open
    section = _section(html)
    assert section.count("<svg") == len(METHODS)
    assert section.count('class="figures compared"') == 4 + 1 + 1 + 2
    words = " ".join(_Page(section).words)
    for text in ("mean, original", "records", "overlap", "deviation", "Cramér's V", "all records"):
        assert (text in words) == (language == "en"), text


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_public_sees_headline_and_figures_alone(language: str) -> None:
    section = _section(_report().html(language=language, audience="public"))
    assert "<svg" not in section
    assert "figures compared" not in section
    words = " ".join(_Page(section).words)
    assert words.count("30") >= 2
    for hidden in ("in the original", "d’origine", "sex: F", "sex\u00a0: F", "values}"):
        assert hidden not in words.split("%", 1)[1], hidden


def test_a_comparison_of_another_release_is_refused() -> None:
    data = people()
    one, other = (flou.protect.TopCode("income", at=at).protect(data, secret=SECRET) for at in (900, 800))
    result = METHODS[0].compare(data, one)
    with pytest.raises(flou.FlouError, match="another release"):
        flou.Report(data, other, results=[result])
    policy = flou.Policy(rules=[{"method": "correlations", "at_most": {"release": 1.0}}])
    with pytest.raises(flou.FlouError, match="another one"):
        policy.judge(result, other)
