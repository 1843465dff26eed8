"""What methods say of themselves: kind of data, whether they perturb, who reads of them, what they need and answer."""

from __future__ import annotations

import pytest
from tests.contracts import cases, table_cases

import flou
from flou.engine import registry
from flou.engine.method import Method
from flou.engine.method_facts import facts_of
from flou.engine.plan_schema import plan_schema
from flou.engine.protection import Protection
from flou.engine.taxonomy import ANSWERS, EVERY_ATTACK

EVERY = registry.every()
EXAMPLES = [
    pytest.param(method, id=f"{name}-{i}")
    for examples in (cases.EXAMPLES, table_cases.EXAMPLES)
    for name, methods in examples.items()
    for i, method in enumerate(methods)
]


@pytest.mark.parametrize("method", EXAMPLES)
def test_an_object_answers_no_more_than_its_class_says(method: Method) -> None:
    said = type(method).answers_by.get(method.variant, {}) if type(method).answers_by else {}
    for attack, answer in method.answers().items():
        assert ANSWERS.index(answer) >= ANSWERS.index(said[attack])


@pytest.mark.parametrize("method", EVERY, ids=lambda m: m.name())
def test_a_class_names_attacks_of_the_taxonomy(method: type[Method]) -> None:
    known = {attack.name for attack in EVERY_ATTACK}
    assert all(set(answers) <= known for answers in method.answers_by.values())


@pytest.mark.parametrize("method", [m for m in EVERY if issubclass(m, Protection)], ids=lambda m: m.name())
def test_a_protection_says_whether_it_perturbs(method: type[Protection]) -> None:
    assert method.perturbative is not None


@pytest.mark.parametrize("method", EVERY, ids=lambda m: m.name())
def test_the_json_schema_of_plans_holds_what_a_class_says(method: type[Method]) -> None:
    held = plan_schema()["$defs"][f"{method.stage}.{method.name()}"]["x-flou"]
    assert held == facts_of(method)
    assert held["data"] == list(method.takes)


def test_a_protection_by_models_closes_what_its_models_close() -> None:
    step = flou.protect.Generalise(k=3, models=[flou.risk.LDiversity(2), flou.risk.TCloseness(0.9)])
    assert step.answers() == {"identity": "closes", "homogeneity": "closes"}


def test_a_model_that_asks_for_next_to_nothing_only_measures() -> None:
    assert flou.risk.TCloseness(0.3).answers()["skewness"] == "closes"
    assert flou.risk.TCloseness(0.9).answers()["skewness"] == "measures"
    assert flou.risk.KAnonymity(k=3, missing="orthodox").answers() == {"identity": "measures"}
    assert flou.risk.KAnonymity(k=3, subsets=2).answers() == {"identity": "measures"}


def test_dropping_closes_what_its_measure_closes() -> None:
    assert flou.protect.DropRecords(flou.risk.KAnonymity(k=3)).answers() == {"identity": "closes"}
    assert flou.protect.DropRecords(flou.risk.IndividualRisk(threshold=0.1)).answers() == {}
