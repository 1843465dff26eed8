"""Steps that undo each other in either order: the message says what works, and it works."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import polars as pl
import pytest

import flou
from flou.engine.errors import GuaranteeBrokenError
from flou.engine.protection import Protection

P, R = flou.protect, flou.risk
SIZED: dict[str, Callable[[], Protection]] = {
    "random code": lambda: P.RandomCode("area", min_size=48),
    "microaggregation": lambda: P.Microaggregation(["age"], group_size=4),
}
TAKING: dict[str, Callable[[], Protection]] = {
    "drop": lambda: P.DropRecords(R.KAnonymity(k=5, missing="category"), max_share=0.99),
    "drop by illness": lambda: P.DropRecords(R.LDiversity(2), max_share=0.99),
    "null": lambda: P.LocalSuppression(k=5, search="quick"),
    "recode in part": lambda: P.LocalRecode(k=3, no_hierarchy="suppress"),
}
PAIRS = [
    ("random code", "drop"),
    ("random code", "drop by illness"),
    ("random code", "null"),
    ("random code", "recode in part"),
    ("microaggregation", "drop by illness"),
]


def people() -> flou.Microdata:
    rng = np.random.default_rng(37)
    frame = pl.DataFrame(
        {
            "area": rng.choice([f"a{i}" for i in range(6)], 300),
            "sex": rng.choice(["m", "f"], 300),
            "age": rng.integers(2, 6, 300) * 10,
            "illness": rng.choice(["x", "y", "z"], 300),
        }
    )
    tens = flou.Hierarchy.bands(20, 40)
    roles = {"keys": ["area", "sex", "age"], "sensitive": ["illness"], "hierarchies": {"age": tens}}
    return flou.Microdata(frame, **roles).marked(synthetic=True)


def protect(*steps: Protection) -> flou.Release:
    return flou.Plan(list(steps)).protect(people(), secret=flou.Secret.from_seed(37))


@pytest.mark.parametrize(("sized", "taking"), PAIRS)
def test_both_orders_say_what_works(sized: str, taking: str) -> None:
    for first, second in ((SIZED[sized], TAKING[taking]), (TAKING[taking], SIZED[sized])):
        with pytest.raises(GuaranteeBrokenError, match="Where each undoes the other, recode keys in a step before"):
            protect(first(), second())


@pytest.mark.parametrize(("sized", "taking"), PAIRS)
def test_keys_of_larger_classes_let_both_hold(sized: str, taking: str) -> None:
    assert protect(P.Recode("age", level=1), SIZED[sized](), TAKING[taking]()).guarantees


def test_nulls_in_other_keys_let_a_random_code_hold() -> None:
    others = P.LocalSuppression(k=5, search="quick", importance={"area": 100})
    assert protect(SIZED["random code"](), others).guarantees


def test_where_another_order_is_enough_nothing_else_is_said() -> None:
    with pytest.raises(GuaranteeBrokenError, match=r"or leave one out\.$"):
        protect(TAKING["drop"](), P.Pram("area"))


def test_steps_applied_one_by_one_are_named_as_those_of_a_plan() -> None:
    secret = flou.Secret.from_seed(37)
    first, second, third = P.Round("age", unit=10), SIZED["random code"](), TAKING["drop"]()
    with pytest.raises(GuaranteeBrokenError) as of_plan:
        protect(first, second, third)
    release = second.protect(first.protect(people(), secret=secret), secret=secret)
    assert [proof.step for proof in release.guarantees] == [1, 2, 2]
    with pytest.raises(GuaranteeBrokenError) as one_by_one:
        third.protect(release, secret=secret)
    assert str(one_by_one.value) == str(of_plan.value)
    assert str(of_plan.value).startswith("Step 3 (drop_records) undoes what step 2 (random_code) guarantees")


def test_no_step_is_blamed_for_what_was_broken_before_it() -> None:
    secret = flou.Secret.from_seed(37)
    release = P.TopCode("age", at=30).protect(people(), secret=secret)
    raw = people().frame
    with pytest.raises(GuaranteeBrokenError, match="does not hold on the output"):
        P.Recode("area", mapping={f"a{i}": "a" for i in range(6)}).protect(release.data.with_frame(raw), secret=secret)
