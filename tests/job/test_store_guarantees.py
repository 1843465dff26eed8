"""Every protection: its release is kept, read back without carrying it out again, and proven; every result is taken."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.contracts import table_cases
from tests.contracts import test_every_table_attack as every_attack
from tests.contracts.cases import EXAMPLES, measured, people
from tests.contracts.table_cases import SECRET, secret_for, tables_for
from tests.contracts.test_every_stored_guarantee import MILD, cases, counted, released
from tests.engine.test_release_files import InTwo

import flou
from flou.engine.attack import Attack
from flou.engine.measure import RiskMeasure
from flou.engine.method import Method
from flou.engine.plan import Plan
from flou.engine.protection import Protection
from flou.engine.result import Result
from flou.engine.secret import Secret
from flou.engine.series import Series
from flou.engine.steps import carry_out
from flou.engine.stored import left_out
from flou.engine.utility import Utility
from flou.job.store.keeper import BEFORE, KeepsEntries
from flou.job.store.keys import Names


@pytest.fixture(autouse=True)
def limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("FLOU_STORE")


def keeper(folder: Path, data: Any, secret: Secret, *, resume: bool) -> KeepsEntries:
    """Who keeps for a plan of one step, whatever it works on."""
    plan = Plan([MILD])
    names = Names(plan, secret, people(), None, None)
    return KeepsEntries(folder, plan, names, secret, data, resume=resume)


def require_kept(method: Protection, data: Any, secret: Any, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    secret, series = Secret.of(secret), Series("", "2026")
    first = keeper(folder, data, secret, resume=False)
    release = carry_out((method,), data, secret, series, kept=first)
    assert not first.lines
    monkeypatch.setattr(type(method), "_protect", None)
    again = carry_out((method,), data, secret, series, kept=keeper(folder, data, secret, resume=True))
    assert [*map(str, again.guarantees)] == [*map(str, release.guarantees)]
    assert counted(again, again.data) == counted(release, release.data)
    assert again.data.content_id == release.data.content_id
    assert repr(again) == repr(release)


@pytest.mark.parametrize("method", cases(EXAMPLES, Protection))
def test_a_protected_file_is_kept_and_proven_again(
    method: Protection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    require_kept(method, people(), SECRET, tmp_path, monkeypatch)


def test_files_that_a_step_made_beside_the_data_are_kept(tmp_path: Path) -> None:
    first = keeper(tmp_path, people(), SECRET, resume=False)
    release = carry_out((InTwo(),), people(), SECRET, kept=first)
    again = carry_out((InTwo(),), people(), SECRET, kept=keeper(tmp_path, people(), SECRET, resume=True))
    assert not first.lines
    assert repr(again) == repr(release)
    for name, file in release.data.kin.files.items():
        back = again.data.kin.files[name]
        assert (back.kind, back.audience) == (file.kind, file.audience)
        assert getattr(back.data, "content_id", back.data) == getattr(file.data, "content_id", file.data)


PROTECTED = [
    pytest.param(case.values[0], which, id=f"{case.id}-{which}")
    for case in cases(table_cases.EXAMPLES, Protection)
    for which in ("nested", "set")
    if which == "nested" or "one table" not in case.values[0].requires
]


@pytest.mark.parametrize(("method", "which"), PROTECTED)
def test_protected_tables_are_kept_and_proven_again(
    method: Protection, which: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    require_kept(method, tables_for(method)[which], secret_for(method), tmp_path, monkeypatch)


def require_taken(method: Method, found: Result, folder: Path, **known: Any) -> None:
    """A result is kept, and taken with all that it holds by whoever asks again."""
    taken = []
    for resume in (False, True):
        one = keeper(folder, people(), SECRET, resume=resume)
        one.knows(**known)
        taken.append(one.result(BEFORE, method, (lambda: found) if not resume else pytest.fail))
        assert not one.lines
    back = taken[1]
    assert (type(back), back.summary(), back.to_dict()) == (type(found), found.summary(), found.to_dict())
    assert [*left_out(back)] == [*left_out(found)]
    assert getattr(back, "data", None) is getattr(found, "data", None)


@pytest.mark.parametrize("method", cases(EXAMPLES, RiskMeasure))
def test_a_measure_is_taken(method: RiskMeasure, tmp_path: Path) -> None:
    release = released(MILD)
    require_taken(method, measured(method, release), tmp_path, release=release.data)


@pytest.mark.parametrize("method", cases(EXAMPLES, Utility))
def test_a_comparison_is_taken(method: Utility, tmp_path: Path) -> None:
    release = released(MILD)
    require_taken(method, method.compare(people(), release), tmp_path, release=release.data)


@pytest.mark.parametrize("method", cases(table_cases.EXAMPLES, RiskMeasure))
def test_a_measure_of_tables_is_taken(method: RiskMeasure, tmp_path: Path) -> None:
    table = table_cases.keyed().tabulate(["region", "sex"], value="income", cells="all", largest=3)
    release = flou.protect.CellKey(D=5, V=3, js=2).protect(table, secret=SECRET)
    require_taken(method, method.measure(release), tmp_path, release=release.data, made=release.data.kin.original)


@pytest.mark.parametrize("method", cases(table_cases.EXAMPLES, Utility))
def test_a_comparison_of_tables_is_taken(method: Utility, tmp_path: Path) -> None:
    table = table_cases.tables()["one"]
    release = flou.protect.CellKey(D=5, V=3, js=2).protect(table, secret=SECRET)
    require_taken(method, method.compare(table, release), tmp_path, release=release.data, made=table)


@pytest.mark.parametrize("method", cases(table_cases.EXAMPLES, Attack))
def test_an_attack_is_taken(method: Attack, tmp_path: Path) -> None:
    release, records = every_attack.released(), every_attack.people()
    found = every_attack.run(method, release, records)
    known = {"release": release.data, "made": release.data.kin.original, "behind": records}
    require_taken(method, found, tmp_path, **known)
