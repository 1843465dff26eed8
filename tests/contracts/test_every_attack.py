"""One contract for every registered attack: it runs in one way, and what it finds comes from what is published."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy import sparse
from tests.contracts.table_cases import SECRET
from tests.contracts.test_every_table_attack import ALL, people, released, run

import flou
from flou.engine import registry
from flou.engine.attack import Attack
from flou.engine.randomness import Draws

ATTACKS = [method for method in registry.every() if issubclass(method, Attack)]


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.name())
def test_run_is_defined_once(attack: type) -> None:
    assert [cls for cls in attack.__mro__ if "run" in vars(cls)] == [Attack]


def find(attack: Any, table: flou.Table) -> Any:
    """What the intruder finds: the truth is asked for what he knows of it, and for nothing else."""
    draw = Draws.of_attack(SECRET, attack.name(), attack.fingerprint())
    return attack._find(attack._public(table), attack._known(people()), draw)


def spoilt(table: flou.Table) -> flou.Table:
    """The table with other true counts in the cells that it withholds."""
    assert table.published is not None
    assert table.published.hidden.any()
    return table.with_changes(
        cells=table.cells.with_changes(count=table.true_counts + 7 * table.published.hidden), suppression=None
    )


def same(one: Any, other: Any) -> bool:
    """Whether two findings are equal, array by array."""
    if type(one) is not type(other):
        return False
    if isinstance(one, np.ndarray):
        return one.dtype == other.dtype and np.array_equal(one, other, equal_nan=one.dtype.kind == "f")
    if isinstance(one, pl.DataFrame | pl.Series):
        return one.equals(other)
    if sparse.issparse(one):
        return one.shape == other.shape and (one != other).nnz == 0
    if is_dataclass(one):
        return all(same(getattr(one, f.name), getattr(other, f.name)) for f in fields(one))
    if isinstance(one, Mapping):
        return list(one) == list(other) and all(same(one[key], other[key]) for key in one)
    if isinstance(one, Sequence) and not isinstance(one, str):
        return len(one) == len(other) and all(map(same, one, other))
    return bool(one == other)


@pytest.mark.parametrize("attack", ALL)
def test_what_is_found_comes_from_published_figures(attack: Any) -> None:
    table = released().data
    found = find(attack, table)
    assert same(found, find(attack, spoilt(table)))
    assert same(found, find(attack, table.public()))


@pytest.mark.parametrize("attack", ALL)
def test_the_truth_is_seen_by_the_judge_alone(attack: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """No table that holds a true figure reaches `_find`."""
    seen: list[Any] = []
    find = type(attack)._find
    monkeypatch.setattr(type(attack), "_find", lambda self, *given: (seen.append(given[0]), find(self, *given))[1])
    run(attack, released())
    tables = tables_in(seen[0])
    assert tables
    for table in tables:
        assert table.cells.count is table.cells.value is table.suppression is None
        assert table.kin.original is None


def tables_in(public: Any) -> list[flou.Table]:
    """The tables that what is public holds, however deep."""
    if isinstance(public, flou.Table):
        return [public]
    held = [getattr(public, f.name) for f in fields(public)] if is_dataclass(public) else public
    return [table for part in held for table in tables_in(part)] if isinstance(held, list | tuple) else []
