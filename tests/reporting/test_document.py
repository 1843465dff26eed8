"""The report measures what is missing when it is made, and nothing when it is rendered."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NoReturn

import polars as pl
import pytest
from tests.describe.table.suppressed import firms

import flou
from flou.describe.microdata import Microdata
from flou.engine.words import LANGUAGES
from flou.job.carry_out import carry_out
from flou.risk.micro.k_anonymity import KAnonymity
from flou.risk.micro.senses import SensesResult, count_ways

SECRET = flou.Secret(bytes(range(32)))
SMALL = Path(__file__).parents[1] / "small_plan" / "plan.toml"
K3 = KAnonymity(k=3, missing="category")


def people() -> Microdata:
    frame = pl.DataFrame({"age": [20 + i % 7 for i in range(300)], "sex": ["f", "m", None] * 100})
    return Microdata(frame, keys=["age", "sex"])


def of_records(*, with_ways: bool = False) -> flou.Report:
    data = people()
    release = flou.protect.TopCode("age", at=24).protect(data, secret=SECRET)
    results: list[Any] = [K3.measure(data), K3.measure(release)]
    rule = {"method": "k_anonymity", "settings": {"k": 3}, "at_most": {"release": 0.5}}
    verdict = flou.Policy(rules=[rule]).judge(*results, release)
    ways = count_ways(results, data, release) if with_ways else ()
    return flou.Report(data, release, results=[*results, *ways], verdict=verdict)


def of_tables() -> flou.Report:
    data, table = firms(), {"name": "firms", "dims": ["region", "sector"]}
    release = flou.Plan([flou.protect.Rounding(5)], tables=[table]).protect(data, secret=SECRET)
    return flou.Report(data, release, results=[flou.risk.CountInference(s=5).measure(release)])


def refuse(*arguments: Any, **options: Any) -> NoReturn:
    raise AssertionError("this measures something")


def forbid_measuring(monkeypatch: pytest.MonkeyPatch) -> None:
    for cls in (KAnonymity, flou.risk.CountInference):
        monkeypatch.setattr(cls, "_measure", refuse)
    for name in ("key_table", "describe"):
        monkeypatch.setattr(Microdata, name, refuse)


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("audience", ["internal", "public"])
def test_a_page_of_records_measures_nothing(monkeypatch: pytest.MonkeyPatch, language: str, audience: Any) -> None:
    report = of_records()
    forbid_measuring(monkeypatch)
    assert "k-anony" in report.html(language=language, audience=audience)


def test_a_page_of_tables_measures_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    report = of_tables()
    forbid_measuring(monkeypatch)
    assert "firms" in report.html()


def test_the_report_of_a_job_is_made_of_what_the_job_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    done = carry_out(flou.Plan.load(SMALL))
    monkeypatch.setattr(KAnonymity, "_measure", refuse)
    assert done.report is done.report
    assert "All five ways are shown" in done.report.html()
    assert [result.measured_on for result in done.senses] == ["original", "release"]


def test_ways_that_are_given_are_not_counted_again(monkeypatch: pytest.MonkeyPatch) -> None:
    report = of_records(with_ways=True)
    assert sum(isinstance(result, SensesResult) for result in report._subject.results) == 2
    assert report.html() == of_records().html()


def test_a_release_gets_its_ways_where_nobody_measured_the_original() -> None:
    data = people()
    release = flou.Plan().protect(data, secret=SECRET)
    page = flou.Report(data, release, results=[K3.measure(release)]).html()
    assert "Below k, after" in page
    assert "Below k, before" not in page
