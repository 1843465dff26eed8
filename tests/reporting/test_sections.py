"""Sections: which of them a page has, and what shows a result."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest
from tests.reporting.test_document import K3, of_records, of_tables, people

import flou
from flou.engine.figure import Figure
from flou.engine.result import Result
from flou.engine.words import Words
from flou.reporting.reader import Reader
from flou.reporting.sections import SHOWN_BY, sections_of, shown_by
from flou.reporting.sections.attacks import general
from flou.reporting.sections.risk import Risk


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Odd(Result):
    """A result that no section knows."""


def odd() -> Odd:
    headline = Figure("value", "xyzzy share", "share", audience="public", value=0.6180)
    return Odd(method="k_anonymity", title="xyzzy", settings={}, headline=headline, measured_on="release")


def anchors(report: flou.Report, *, public: bool) -> list[str]:
    subject = report._subject
    sections = sections_of(subject, Reader.of(subject, Words("en"), public=public))
    return [section.anchor for section in sections if section is not None]


@pytest.mark.parametrize("public", [True, False])
def test_a_page_of_records_has_no_tables(public: bool) -> None:
    wanted = ["verdict", "file", "risk", "steps", "parameters", "glossary"]
    assert anchors(of_records(), public=public) == wanted


def test_the_office_reads_of_the_records_behind_tables() -> None:
    told = anchors(of_tables(), public=False)
    assert told == ["limits", "tables", "file", "risk", "steps", "parameters", "glossary"]
    assert anchors(of_tables(), public=True) == [anchor for anchor in told if anchor != "file"]


def test_a_result_that_nobody_knows_is_for_the_office() -> None:
    data = people()
    release = flou.Plan().protect(data)
    report = flou.Report(data, release, results=[odd()])
    assert shown_by(odd()) is general
    assert "xyzzy share: 61.8%" in report.html()
    assert "others" not in anchors(report, public=True)


def test_a_class_that_inherits_is_shown_as_the_one_it_comes_from() -> None:
    result: Any = K3.measure(people())
    finer = type("Finer", (type(result),), {})
    assert shown_by(finer(**vars(result))) is SHOWN_BY[type(result)] is Risk
