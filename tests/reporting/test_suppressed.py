"""Reports on suppressed tables: what the office and the public read of them, in both languages."""

from __future__ import annotations

from typing import Any

import pytest
from tests.describe.table.suppressed import REASONS, audit, firms, suppress
from tests.reporting.test_report import _Page
from tests.reporting.test_tables import words_of

import flou
from flou.describe.table.suppression import Audit
from flou.engine.words import LANGUAGES
from flou.protect.table.protection import TableProtection

SECRET = flou.Secret(bytes(range(32)))
LABELS = {"sector": {"en": "Branch", "fr": "Branche"}, "turnover": {"en": "Turnover", "fr": "Chiffre d’affaires"}}


class _ByHand(TableProtection):
    """The pattern by hand."""

    title = "suppression by hand"
    show: str = "both"
    n_narrow: int = 0
    single: int = 4

    def _protected(self, table: flou.Table, draw: Any) -> flou.Table:
        found = Audit(2, 0, self.n_narrow, 1 + self.single, 41, audit().findings)
        return suppress(table, show=self.show, found=found, released=False)


def made(*, cells: str = "occupied", **options: Any) -> flou.Report:
    data = firms(labels=LABELS)
    table = {"name": "firms", "dims": ["region>department", "sector"], "value": "turnover", "cells": cells}
    release = flou.Plan([_ByHand(**options)], tables=[table]).protect(data, secret=SECRET)
    result = flou.utility.WithinDistance(2).compare(release.data.kin.original, release)
    policy = flou.Policy(rules=[{"method": "within_distance", "settings": {"d": 2}, "at_least": {"release": 0.0}}])
    return flou.Report(data, release, results=[result], verdict=policy.judge(result, release))


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("audience", ["internal", "public"])
@pytest.mark.parametrize("show", ["both", "value", "count"])
@pytest.mark.parametrize("cells", ["occupied", "all"])
def test_well_formed(language: str, audience: Any, show: str, cells: str) -> None:
    html = made(show=show, cells=cells).html(language=language, audience=audience)
    assert not _Page(html).open
    assert "<script" not in html
    assert html.count('class="flou-drawn') == 1


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_office_reads_states_reasons_and_the_audit(language: str) -> None:
    html = made(show="value", cells="all").html(language=language)
    text = words_of(html)
    said = {
        "en": (
            "primary suppression 2 secondary suppression 8 kept 1 published 10 zero 3",
            "Audited: 0 of 2 primary cells are disclosed to an outsider or to one of 4 contributors who are alone in "
            "a cell (41 linear programs).",
            "10 of 24 cells suppressed",
            "Internal: true figures, not for publication",
            "sums of Turnover",
        ),
        "fr": (
            "secret primaire 2 secret secondaire 8 conservée à la demande 1 publiée 10 nulle 3",
            "Audit\u00a0: 0 cases en secret primaire sur 2 sont dévoilées à un tiers ou à l’un des 4 contributeurs "
            "seuls dans leur case (41 programmes linéaires).",
            "10 cases masquées sur 24",
            "Document interne\u00a0: chiffres vrais, à ne pas diffuser",
            "sommes de Chiffre d’affaires",
        ),
    }[language]
    for part in said:
        assert " ".join(part.split()) in text
    assert "threshold (3), p% (10)" in html
    assert {"en": "780.750", "fr": "780,750"}[language] in text
    assert {"en": "Branch", "fr": "Branche"}[language] in text


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("cells", ["occupied", "all"])
def test_the_public_reads_that_cells_are_suppressed(language: str, cells: str) -> None:
    html = made(show="both", cells=cells).html(language=language, audience="public")
    text = words_of(html)
    said = {
        "en": (
            "cells suppressed for statistical confidentiality 10 cells with their figure",
            "Audited: no suppressed cell can be computed more closely than the rules allow.",
            "The audit speaks of each table by itself.",
        ),
        "fr": (
            "cases masquées pour secret statistique 10",
            "Audit\u00a0: aucune case masquée ne peut être recalculée plus précisément que les règles ne l’admettent.",
            "L’audit porte sur chaque tableau pris isolément.",
        ),
    }[language]
    for part in said:
        assert " ".join(part.split()) in text
    told = (*REASONS, "primary suppression", "secondary", "secret primaire", "secret secondaire", "780", "991", "41 lin",
            "41 pro", "alone in", "seuls dans", "protects", "protège", "kept", "conservée")  # fmt: skip
    for word in told:
        assert word not in text, word
    body = html[html.index("</style>") :]
    for word in ('class="primary"', 'class="secondary"', 'class="kept"', *REASONS):
        assert word not in body


def test_what_nobody_audited_is_not_published() -> None:
    report = made(n_narrow=1)
    assert "Audited: 1 of 2 primary cells" in words_of(report.html())
    with pytest.raises(flou.FlouError, match="withheld"):
        report.html(audience="public")
    assert "no audit has shown" in words_of(report.html())
    assert "aucun audit n’a établi" in words_of(report.html(language="fr"))


def test_an_outsider_alone_was_tried() -> None:
    text = words_of(made(single=0).html())
    assert "Audited: 0 of 2 primary cells are disclosed to an outsider (41 linear programs)." in text


def test_zeros_of_a_suppressed_table_are_true() -> None:
    text = words_of(made().html(audience="public"))
    assert "empty, or shown as zero" not in text
    assert "empty cells are not listed" in text
    assert "Figures that are shown are the true ones." in text
    assert "counts changed" not in text


def test_large_tables_are_shown_in_part(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("flou.reporting.sections.suppressed._MOST_ROWS", 3)
    html = made().html(audience="public")
    assert 'class="flou-drawn' not in html[html.index("</style>") :]
    assert "firms: an extract, 8 of 21 cells" in words_of(html)
    assert "s: cell suppressed for statistical confidentiality" in words_of(html)
