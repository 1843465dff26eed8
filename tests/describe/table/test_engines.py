"""Every engine gives the same table, cell by cell and bit by bit."""

from __future__ import annotations

import datetime as dt
import random
from typing import Any

import numpy as np
import polars as pl
import pytest
from tests.contracts.cases import SPARK, native

import flou


def _records(n: int = 300) -> pl.DataFrame:
    draw = random.Random(11)
    region = {"11": "N", "12": "N", "21": "S", "31": "É"}
    rows = []
    for i in range(n):
        department = draw.choice(sorted(region))
        rows.append(
            {
                "pid": i * 7919,
                "department": department,
                "region": region[department],
                "commune": draw.choice("abc"),
                "district": draw.choice("xy"),
                "age": draw.choice([0, 4, 5, 9, 10, 17, 23]),
                "sex": draw.choice("FM"),
                "born": dt.date(2000, 1, draw.randint(1, 3)),
                "alone": draw.random() < 0.3,
                "score": draw.choice([0.5, 1.0, 1e-7, -2.25]),
                "holes": draw.choice(["u", "v", None]),
                "amount": draw.choice([0.0, 1.0, -1.0, 0.1, 0.2, -0.3, 1e6, 123456.789, draw.random(), draw.gauss(0, 1e5)]),
                "w": draw.choice([1.0, 2.0, 1.5, 0.1, 3.7]),
                "firm": draw.randint(0, 40),
            }
        )  # fmt: skip
    return pl.DataFrame(rows)


RECORDS = _records()
ROLES: dict[str, Any] = {
    "id": "pid",
    "keys": ["region", "department", "commune", "district", "age", "sex", "holes"],
    "hierarchies": {"age": flou.Hierarchy.bands(5, 10)},
    "undetermined": {"holes": ["?"]},
    "modalities": {"sex": ["F", "M", "X"]},
    "incoherent": [{"sex": "X", "department": "11"}, {"age": 0, "sex": "M"}],
}
ENGINES = ["polars-lazy", "pandas", "pyarrow", "duckdb", SPARK]
TABLES: dict[str, dict[str, Any]] = {
    "counts": {"dims": ["region>department", "age@2>age@1>age", "sex"]},
    "zonings": {"dims": ["commune|district", "holes"], "margins": ["holes"]},
    "types": {"dims": ["born", "alone", "score"]},
    "sums": {"dims": ["region>department", "sex"], "value": "amount", "largest": 4},
    "weights": {"dims": ["commune|district", "sex"], "value": "amount", "weight": "w", "largest": 2},
    "holdings": {"dims": ["region>department", "district"], "value": "amount", "holding": "firm"},
    "all": {"dims": ["age@*", "sex", "department"], "value": "amount", "cells": "all"},
}


def keyed(engine: str, frame: pl.DataFrame = RECORDS) -> flou.Microdata:
    return flou.record_keys(flou.Microdata(native(frame, engine), **ROLES), secret=1)


def assert_same(one: flou.Table, two: flou.Table) -> None:
    """The same cells in the same order, with the same figures to the last bit."""
    assert one.columns == two.columns
    assert one.labels().equals(two.labels())
    for name in ("codes", "count", "key", "weighted", "value", "holdings", "largest", "largest_weights", "possible"):
        first, second = getattr(one.cells, name), getattr(two.cells, name)
        assert (first is None) == (second is None), name
        if first is not None:
            assert first.dtype == second.dtype, name
            assert first.tobytes() == second.tobytes(), name
    assert (one.listed, one.n_unlisted_zeros) == (two.listed, two.n_unlisted_zeros)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", TABLES)
def test_every_engine_gives_the_same_table(name: str, engine: str) -> None:
    expected = keyed("polars").tabulate(**TABLES[name])
    assert expected.n_cells > 8
    assert expected.cells.key is not None
    assert_same(keyed(engine, RECORDS.sample(fraction=1, shuffle=True, seed=5)).tabulate(**TABLES[name]), expected)


@pytest.mark.parametrize("engine", ENGINES)
def test_every_engine_gives_the_same_set(engine: str) -> None:
    specs = list(TABLES.values())
    one, two = flou.tabulate_many(keyed("polars"), specs), flou.tabulate_many(keyed(engine), specs)
    for first, second in zip(one, two, strict=True):
        assert_same(first, second)


@pytest.mark.parametrize("engine", ENGINES)
def test_every_engine_publishes_the_same(engine: str) -> None:
    method = flou.protect.CellKey(D=5, V=3, js=2)
    one, two = (method.protect(keyed(e).tabulate(**TABLES["counts"])).data for e in ("polars", engine))
    assert np.array_equal(one.published_counts, two.published_counts)
    assert one.public().shown_cells().equals(two.public().shown_cells())


@pytest.mark.parametrize("engine", ["polars", *ENGINES])
def test_every_engine_says_what_is_wrong(engine: str) -> None:
    data = keyed(engine, RECORDS.with_columns(gap=pl.when(pl.col("age") > 5).then(pl.col("amount"))))
    for options, words in (
        ({"dims": "sex", "value": "gap"}, "'gap' is null in "),
        ({"dims": "gap"}, "'gap' is null in some records, and the schema does not say"),
        ({"dims": "sex", "weight": "amount"}, "is negative in"),
        ({"dims": "sex", "holding": "gap"}, "holding = 'gap' is null in some records"),
        ({"dims": "sex>region"}, "not nested"),
    ):
        with pytest.raises(flou.FlouError, match=words):
            data.tabulate(**options)


@pytest.mark.parametrize("engine", ["polars", *ENGINES])
def test_no_records_no_table(engine: str) -> None:
    if engine == "spark":
        data = flou.Microdata(native(RECORDS, engine).where("age < 0"), **ROLES)  # type: ignore[attr-defined]
    else:
        data = flou.Microdata(native(RECORDS.head(0), engine), **ROLES)
    for options in ({}, {"value": "amount"}, {"weight": "w"}, {"cells": "all"}, {"holding": "firm"}):
        with pytest.raises(flou.FlouError, match="no records: there is nothing to tabulate"):
            data.tabulate("sex", **options)
