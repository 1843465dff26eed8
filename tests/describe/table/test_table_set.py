"""Several tables in one pass are the tables one by one."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from tests.describe.table.test_engines import RECORDS, assert_same, keyed

import flou

SPECS: list[dict[str, Any]] = [
    {"dims": ["region>department", "age@1>age", "sex"]},
    {"dims": ["region", "sex"]},  # fewer columns of the first
    {"dims": ["sex"], "margins": False},
    {"dims": ["commune|district", "sex"]},
    {"dims": ["commune|district"], "cells": "all", "total": "All"},
    {"dims": ["region", "sex"], "value": "amount", "largest": 2},
    {"dims": ["sex"], "value": "amount", "largest": 2, "margins": False},
    {"dims": ["sex"], "value": "amount", "largest": 1},
    {"dims": ["region>department"], "value": "amount", "weight": "w"},
    {"dims": ["region"], "value": "amount", "weight": "w", "largest": 5},
    {"dims": ["district", "sex"], "value": "amount", "holding": "firm"},
    {"dims": ["district"], "value": "amount", "holding": "firm"},  # a firm stands in several groups of the one above
    {"dims": ["district"], "value": "amount", "holding": "firm", "largest": 4},
    {"dims": ["holes"], "cells": "all"},
]


@pytest.mark.parametrize("engine", ["polars", "duckdb"])
def test_tables_together_are_the_tables_one_by_one(engine: str) -> None:
    data = keyed(engine)
    together = flou.tabulate_many(data, SPECS)
    assert together.names == tuple(f"table {i + 1}" for i in range(len(SPECS)))
    for spec, table in zip(SPECS, together, strict=True):
        assert_same(table, data.tabulate(**spec))


def test_what_a_set_is_asked_for() -> None:
    data = keyed("polars")
    assert flou.tabulate_many(data, [["sex"]]).names == ("table 1",)
    named = flou.tabulate_many(data, {"a": ["sex"], "b": {"dims": "region", "margins": False}}, value="amount")
    assert named.names == ("a", "b")
    assert named["a"].value_name == named["b"].value_name == "amount"
    assert named["b"].n_cells == RECORDS["region"].n_unique()
    own = flou.tabulate_many(data, {"a": {"dims": "sex", "largest": 1}}, value="amount", largest=4)
    assert own["a"].cells.largest is not None
    assert own["a"].cells.largest.shape[1] == 1  # what a table says itself comes first
    assert len(named) == 2
    assert named.n_cells == sum(t.n_cells for t in named)
    with pytest.raises(KeyError, match="no table 'c'"):
        named["c"]


@pytest.mark.parametrize(
    ("tables", "words"),
    [
        ([], "tables is a list"),
        ("sex", "tables is a list"),
        (None, "tables is a list"),
        ({"a": {"value": "amount"}}, "A table needs dims; a has"),
        ([{"dims": ["sex"], "name": "x"}, {"dims": ["region"], "name": "x"}], "called 'x'"),
        ({"a": ["sexe"]}, "'sexe'"),
    ],
)
def test_sets_that_cannot_be(tables: Any, words: str) -> None:
    with pytest.raises(flou.FlouError, match=words):
        flou.tabulate_many(keyed("polars"), tables)
    with pytest.raises(flou.FlouError, match="takes Microdata"):
        flou.tabulate_many(RECORDS, tables)  # type: ignore[arg-type]


def test_an_empty_mapping_is_no_set() -> None:
    with pytest.raises(flou.FlouError):
        flou.tabulate_many(keyed("polars"), {})


def test_histograms_are_added_up() -> None:
    tables = flou.tabulate_many(keyed("polars"), [["region", "sex"], ["commune|district"]])
    counts, n = tables.histogram()
    by_hand: dict[int, int] = {}
    for table in tables:
        for count in [*table.true_counts.tolist(), *[0] * table.n_unlisted_zeros]:
            by_hand[count] = by_hand.get(count, 0) + 1
    assert dict(zip(counts.tolist(), n.tolist(), strict=True)) == by_hand
    assert (np.diff(counts) > 0).all()


def test_a_set_is_protected_like_its_tables() -> None:
    """The cell key method moves a cell by its people: the same one in every table of the set and alone."""
    tables = flou.tabulate_many(keyed("polars"), [["region", "sex"], ["sex"]])
    method = flou.protect.CellKey(D=5, V=3, js=2)
    protected = method.protect(tables).data
    for one, many in zip(tables, protected, strict=True):
        assert (method.protect(one).data.published_counts == many.published_counts).all()
    assert protected[0].cell(sex="F")["count"] == protected[1].cell(sex="F")["count"]


def test_a_set_in_files(tmp_path: Path) -> None:
    tables = flou.tabulate_many(keyed("polars"), {"by sex": ["sex"], "by région": ["region>department"]})
    tables.write(tmp_path / "set", kind="parquet", unprotected=True)
    assert sorted(p.name for p in (tmp_path / "set").iterdir()) == ["by_région.parquet", "by_sex.parquet"]
    back = flou.Table.read(tmp_path / "set" / "by_région.parquet", "region>department")
    assert back.to_frame().equals(tables["by région"].to_frame())
    with pytest.raises(flou.FlouError, match="exist"):
        tables.write(tmp_path / "set", kind="parquet", unprotected=True)
    tables.write(tmp_path / "set.xlsx", unprotected=True)
    for name, dims in (("by sex", "sex"), ("by région", "region>department")):
        read = flou.Table.read(tmp_path / "set.xlsx", dims, sheet=name)
        assert read.to_frame().rows() == tables[name].to_frame().rows()
    with pytest.raises(flou.FlouError, match=r"kind = 'sas'"):
        tables.write(tmp_path / "other", kind="sas", unprotected=True)
    assert not (tmp_path / "other").exists()


@pytest.mark.parametrize("names", [("a" * 31 + "1", "a" * 31 + "2"), ("A", "a"), ("a/b", "a:b")])
def test_two_tables_never_share_a_sheet(names: tuple[str, str], tmp_path: Path) -> None:
    tables = flou.tabulate_many(keyed("polars"), {names[0]: ["sex"], names[1]: ["region"]})
    with pytest.raises(flou.FlouError, match="would have one sheet"):
        tables.write(tmp_path / "set.xlsx", unprotected=True)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["'quoted'", "History", "???", " "])
def test_any_name_makes_a_sheet(name: str, tmp_path: Path) -> None:
    flou.tabulate_many(keyed("polars"), {name: ["sex"], "other": ["region"]}).write(
        tmp_path / "set.xlsx", unprotected=True
    )
    assert (tmp_path / "set.xlsx").stat().st_size


def test_a_set_is_pickled() -> None:
    tables = flou.tabulate_many(keyed("polars"), [["region", "sex"], ["sex"]])
    back = pickle.loads(pickle.dumps(tables))
    for one, two in zip(tables, back, strict=True):
        assert one.has_keys
        assert not two.has_keys, "keys do not leave the process"
        assert_same(one.with_changes(cells=one.cells.with_changes(key=None)), two)
    assert repr(back) == repr(tables)
    assert isinstance(back.to_frame()["table 1"], pl.DataFrame)
