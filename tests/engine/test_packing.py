"""Whole-number keys are packed into one number: the same keys, counts and weights as the ordinary group-by gives."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal
from tests.depth import examples

import flou
from flou.engine import native
from flou.engine.keys import count_keys
from flou.engine.native import polars as packing

VALUES = st.one_of(
    st.none(),
    st.integers(-3, 3),
    st.sampled_from([-(2**63), 2**63 - 1, 2**40, -(2**40)]),
)


def counted(frame: pl.DataFrame, columns: list[str], weight: str | None = None) -> pl.DataFrame:
    table = count_keys(nw.from_native(frame, eager_only=True), columns, weight)
    found = table.frame.with_columns(n=pl.Series(table.counts))
    if table.weights is not None:
        found = found.with_columns(w=pl.Series(table.weights))
    return found.sort(columns, nulls_last=True)


@examples(150)
@given(st.lists(st.tuples(VALUES, VALUES, st.integers(1, 50)), min_size=1, max_size=40))
def test_packed_and_ordinary_counts_agree(rows: list[tuple[Any, ...]]) -> None:
    frame = pl.DataFrame(rows, schema={"a": pl.Int64, "b": pl.Int64, "w": pl.Int64}, orient="row")
    for weight in (None, "w"):
        ordinary = frame.with_columns(pl.col("a", "b").cast(pl.String))  # texts are never packed
        expected = counted(ordinary, ["a", "b"], weight).with_columns(pl.col("a", "b").cast(pl.Int64))
        found = counted(frame, ["a", "b"], weight)
        assert_frame_equal(found, expected.sort("a", "b", nulls_last=True))


def test_small_spans_are_packed_and_large_ones_are_not() -> None:
    small = pl.DataFrame({"a": [1, None, 3], "b": [-5, 5, 5]})
    assert native.group_integers(nw.from_native(small), ["a", "b"], "n", {}) is not None
    wide = pl.DataFrame({"a": [-(2**62), 2**62], "b": [0, 2**40]})
    assert native.group_integers(nw.from_native(wide), ["a", "b"], "n", {}) is None
    assert native.group_integers(nw.from_native(small.cast(pl.String)), ["a"], "n", {}) is None
    assert native.group_integers(nw.from_native(pl.DataFrame({"a": [None]}, {"a": pl.Int64})), ["a"], "n", {}) is None


def test_sparse_keys_are_sorted_to_the_same_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(4)
    frame = pl.DataFrame({c: rng.integers(0, 30, 5_000) for c in "abcd"}).with_columns(
        pl.when(pl.col("a") > 1).then(pl.col("a"))
    )
    by_sorting = counted(frame, list("abcd"))
    monkeypatch.setattr(packing, "_MAX_SORTED", 0)
    assert_frame_equal(by_sorting, counted(frame, list("abcd")))
    assert by_sorting["n"].sum() == 5_000


def test_rows_that_change_between_the_passes_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.parquet"
    pl.DataFrame({"a": [1, 2, 3] * 10}).write_parquet(path)
    made = packing.Packing.of

    def then_change(*args: Any) -> Any:
        found = made(*args)
        pl.DataFrame({"a": [1, 2, 7] * 10}).write_parquet(path)
        return found

    monkeypatch.setattr(packing.Packing, "of", then_change)
    with pytest.raises(flou.FlouError, match="changed"):
        flou.risk.KAnonymity(k=2).measure(flou.Microdata(pl.scan_parquet(path), keys=["a"]))


def test_csv_is_parsed_once(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("a\n1\n2\n")
    assert packing.group_packed(pl.scan_csv(path), ["a"], "n", {}) is None
