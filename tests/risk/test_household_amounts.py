"""Amounts of a household single out households: recognised with the role, suspected without it."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.contracts.cases import SPARK
from tests.contracts.cases import native as in_engine
from tests.protect.test_shared_amounts import households

import flou
from flou.describe.household_amounts import household_amounts, looks_shared, suspected_amounts
from flou.risk.micro.sole_values import count_alone

COLUMNS = ("income", "wage", "age")


def amounts_line(data: flou.Microdata) -> Any:
    return next(line for line in flou.risk.AttackMap().measure(data).lines if line.attack.name == "amounts")


def test_a_household_whose_amount_nobody_else_has_is_singled_out() -> None:
    """The attack: an income that four members share looked as if no record were alone with it."""
    data = flou.Microdata(households().to_frame().drop("wage"), keys=["age"], id="pid", household="hid")
    rows = data.to_frame()
    holders = defaultdict(set)
    for household, amount in rows.select("hid", "income").rows():
        holders[amount].add(household)
    singled_out = {h for amount, found in holders.items() if len(found) == 1 for h in found}
    line = amounts_line(data)
    assert len(singled_out) > 250
    assert line.share == rows["hid"].is_in(list(singled_out)).mean()
    assert line.measure == "values that one household alone has: income"
    assert rows["income"].is_unique().sum() == 0


def test_without_the_role_it_is_suspected() -> None:
    data = flou.Microdata(households().to_frame().drop("wage", "hid"), keys=["age"], id="pid")
    result = flou.risk.AttackMap().measure(data)
    assert "income looks like an amount of households" in " ".join(map(str, result.notes))


@pytest.mark.parametrize("engine", ["polars", "polars-lazy", "pandas", "duckdb", SPARK])
def test_household_amounts_are_recognised_on_every_engine(engine: str) -> None:
    data = households()
    moved = flou.Microdata(in_engine(data.to_frame(), engine), data.schema)
    assert household_amounts(moved, COLUMNS) == ("income",)
    assert count_alone(moved, "income", "hid") == count_alone(data, "income", "hid") > 1_000
    assert household_amounts(flou.Microdata(data.to_frame(), keys=["age"]), COLUMNS) == ()


def test_a_benefit_that_few_have_is_no_amount_of_households() -> None:
    """Nearly all households share a zero, and those that do not have one member with a benefit."""
    rng = np.random.default_rng(1)
    frame = households().to_frame()
    frame = frame.with_columns(
        benefit=pl.Series(np.where(rng.random(frame.height) < 0.02, rng.integers(1, 999, frame.height), 0))
    )
    data = flou.Microdata(frame, household="hid")
    assert household_amounts(data, ("benefit", "income")) == ("income",)


@pytest.mark.parametrize("values", [2, 3, 5])
def test_few_values_on_which_members_agree_by_chance_are_no_amounts_of_households(values: int) -> None:
    rng = np.random.default_rng(6)
    frame = households(size=2).to_frame()
    frame = frame.with_columns(kind=pl.Series(rng.integers(0, values, frame.height)))
    assert household_amounts(flou.Microdata(frame, household="hid"), ("kind", "income")) == ("income",)


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4) | st.none()), min_size=1, max_size=20))
@settings(max_examples=60)
def test_records_alone_by_household_are_those_of_the_definition(rows: list[tuple[int, int | None]]) -> None:
    frame = pl.DataFrame({"v": [v for v, _ in rows], "h": [h for _, h in rows]}, schema={"v": pl.Int64, "h": pl.Int64})
    holders = defaultdict(set)
    for i, (v, h) in enumerate(rows):
        holders[v].add(("alone", i) if h is None else h)
    expected = sum(len(holders[v]) == 1 for v, _ in rows)
    for held in (frame, frame.lazy()):
        assert count_alone(flou.Microdata(held), "v", "h") == expected


def personal(kind: str, n: int = 5_000) -> np.ndarray[Any, Any]:
    rng = np.random.default_rng(2)
    amounts = np.exp(rng.normal(9, 0.6, n))
    return {
        "cents": amounts.round(2),
        "whole numbers": amounts.round(),
        "heaped": (amounts / 100).round() * 100,
        "partly heaped": np.where(rng.random(n) < 0.5, (amounts / 500).round() * 500, amounts.round()),
        "ages": rng.integers(0, 100, n) * 1.0,
        "few values": rng.integers(0, 8, n) * 1.0,
        "months": rng.integers(0, 700, n) * 1.0,
        "one value": np.ones(n),
    }[kind]


@pytest.mark.parametrize(
    "kind", ["cents", "whole numbers", "heaped", "partly heaped", "ages", "few values", "months", "one value"]
)
def test_personal_amounts_are_not_suspected(kind: str) -> None:
    assert not looks_shared(personal(kind))


@pytest.mark.parametrize("kind", ["cents", "whole numbers"])
def test_amounts_that_members_share_are_suspected(kind: str) -> None:
    sizes = np.random.default_rng(3).integers(1, 6, 5_000)
    values = np.repeat(personal(kind), sizes)
    assert looks_shared(values)
    assert looks_shared(np.repeat(personal(kind, 150_000), 3)) == (kind == "cents")
    assert not looks_shared(personal(kind, 450_000))
    mixed = np.random.default_rng(4).permutation(values)
    assert suspected_amounts(flou.Microdata(pl.DataFrame({"v": mixed})), ("v",)) == ("v",)
    assert suspected_amounts(flou.Microdata(pl.DataFrame({"v": mixed, "h": mixed}), household="h"), ("v",)) == ()
