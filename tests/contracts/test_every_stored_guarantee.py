"""Guarantees, steps and results survive their stored form: what is read back proves, counts and says the same."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest
from tests.contracts import table_cases, test_every_table_attack
from tests.contracts.cases import EXAMPLES, measured, people
from tests.contracts.table_cases import SECRET, secret_for, tables_for
from tests.stored_form import stored

import flou
from flou.engine.attack import Attack
from flou.engine.measure import RiskMeasure
from flou.engine.method import Method
from flou.engine.protection import Protection
from flou.engine.utility import Utility

#: Keeps the types of all columns.
MILD = flou.protect.TopCode("income", at=2000)


def cases(examples: dict[str, list[Method]], kind: type) -> list[Any]:
    return [
        pytest.param(m, id=f"{name}-{i}")
        for name, ms in examples.items()
        for i, m in enumerate(ms)
        if isinstance(m, kind)
    ]


@cache
def released(method: Protection) -> flou.Release:
    return method.protect(people(), secret=SECRET, period="2026")


@cache
def published(method: Protection) -> flou.Release:
    table = tables_for(method)["nested" if "one table" in method.requires else "set"]
    return method.protect(table, secret=secret_for(method))


def counted(release: flou.Release, data: Any) -> list[int]:
    return [proof.guarantee.count_violations(data) for proof in release.guarantees]


def again(release: flou.Release) -> flou.Release:
    return flou.Release(release.data, stored(release.trail))


@pytest.mark.parametrize("method", cases(EXAMPLES, Protection))
def test_stored_guarantees_prove_again_and_fail_alike(method: Protection) -> None:
    release = released(method)
    back, original = again(release), people()
    assert [str(proof.guarantee.prove(release.data)) for proof in back.guarantees] == [*map(str, release.guarantees)]
    assert counted(back, original) == counted(release, original) != counted(release, release.data)


@pytest.mark.parametrize("method", cases(table_cases.EXAMPLES, Protection))
def test_stored_guarantees_of_tables_prove_again_and_fail_alike(method: Protection) -> None:
    release = published(method)
    back, spoilt = again(release), flou.protect.Rounding(7).protect(release.data.kin.original, secret=SECRET).data
    assert [str(proof.guarantee.prove(release.data)) for proof in back.guarantees] == [*map(str, release.guarantees)]
    assert counted(back, spoilt) == counted(release, spoilt) != counted(release, release.data)


@pytest.mark.parametrize("method", cases(EXAMPLES, Protection) + cases(table_cases.EXAMPLES, Protection))
def test_stored_steps_are_those_that_were_carried_out(method: Protection) -> None:
    release = released(method) if "microdata" in method.takes else published(method)
    back = again(release)
    assert back.changes.equals(release.changes)
    assert [step.method for step in back.steps] == [method]
    assert [(s.figures, s.notes, s.reusable) for s in back.steps] == [
        (s.figures, s.notes, s.reusable) for s in release.steps
    ]


@pytest.mark.parametrize("method", cases(EXAMPLES, Protection))
def test_guarantees_show_nothing_that_they_remember(method: Protection) -> None:
    shown = "".join(repr(proof.guarantee) for proof in released(method).guarantees)
    assert "shape:" not in shown
    assert "array(" not in shown
    assert "Microdata(" not in shown


def test_stored_guarantees_are_proven_where_they_were() -> None:
    steps = [flou.protect.LocalSuppression(k=3, search="quick"), flou.protect.Sample(share=0.6)]
    plan = flou.Plan([*steps, steps[1], flou.protect.CellKey(D=5, V=3, js=2)], tables=[["illness"]])
    release = plan.protect(people(), secret=SECRET, period="2026")
    back = again(release)
    assert [str(proof.guarantee.prove(release.data)) for proof in back.guarantees] == [*map(str, release.guarantees)]
    assert [proof.guarantee.n_samples for proof in back.guarantees] == [2, 1, 0, 0, 0, 0, 0, 0]


def same(result: Any) -> Any:
    back = stored(result)
    assert type(back) is type(result)
    assert (back.summary(), back.to_dict()) == (result.summary(), result.to_dict())
    return back


@pytest.mark.parametrize("method", cases(EXAMPLES, RiskMeasure))
def test_stored_measures_say_and_draw_the_same(method: RiskMeasure) -> None:
    for data in (people(), released(MILD)):
        result = measured(method, data)
        back = same(result)
        assert back.by_key.equals(result.by_key)
        assert (back.units == result.units).all()
        assert back.chart is None or back.plot().to_dict() == result.plot().to_dict()


@pytest.mark.parametrize("method", cases(EXAMPLES, Utility))
def test_stored_comparisons_say_and_draw_the_same(method: Utility) -> None:
    result = method.compare(people(), released(MILD))
    assert same(result).plot().to_dict() == result.plot().to_dict()


@pytest.mark.parametrize("method", cases(table_cases.EXAMPLES, RiskMeasure))
def test_stored_measures_of_tables_say_the_same(method: RiskMeasure) -> None:
    table = table_cases.keyed().tabulate(["region", "sex"], value="income", cells="all", largest=3)
    same(method.measure(flou.protect.CellKey(D=5, V=3, js=2).protect(table, secret=SECRET)))


@pytest.mark.parametrize("method", cases(table_cases.EXAMPLES, Utility))
def test_stored_comparisons_of_tables_say_and_draw_the_same(method: Utility) -> None:
    table = table_cases.tables()["one"]
    result = method.compare(table, flou.protect.CellKey(D=5, V=3, js=2).protect(table, secret=SECRET))
    assert same(result).plot().to_dict() == result.plot().to_dict()


@pytest.mark.parametrize("method", cases(table_cases.EXAMPLES, Attack))
def test_stored_attacks_say_the_same(method: Attack) -> None:
    same(test_every_table_attack.run(method, test_every_table_attack.released()))
