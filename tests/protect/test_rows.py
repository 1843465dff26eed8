"""Rows in the order of unit ids, and back to the file."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import flou
from flou.protect.micro.rows import read_rows

rng = np.random.default_rng(0)
IDS = {
    "sorted": np.arange(50),
    "dense": rng.permutation(50) * 3 - 40,
    "sparse": rng.permutation(50) * 10**9,
    "texts": np.array([f"p{i}" for i in rng.permutation(50)]),
}


@pytest.mark.parametrize("kind", list(IDS))
def test_rows_are_sorted_by_id_and_go_back_to_their_place(kind: str) -> None:
    frame = pl.DataFrame({"pid": IDS[kind], "x": rng.normal(size=50)})
    rows = read_rows(flou.Microdata(frame, id="pid"), ["x"], "test")
    expected = frame.sort("pid")
    assert rows.ids.tolist() == expected["pid"].to_list()
    assert rows.frame["x"].to_list() == expected["x"].to_list()
    back = rows.put_back({"x": rows.frame["x"] * 2}).to_frame()
    assert back["pid"].to_list() == frame["pid"].to_list()
    assert back["x"].to_list() == (frame["x"] * 2).to_list()
    assert rows.in_place(rows.frame["x"]).to_list() == frame["x"].to_list()
