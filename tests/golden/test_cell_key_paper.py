"""Jamme (2025), tables 1 to 3: six people, their keys, a table by commune and its noise at D = 2, V = 2."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import flou

PEOPLE = pl.DataFrame(
    {
        "person": [1, 2, 3, 4, 5, 6],
        "commune": ["Amiens", "Paris", "Marseille", "Amiens", "Marseille", "Marseille"],
        "age": [25, 20, 45, 45, 20, 20],
        "rk": [0.9177275, 0.8850062, 0.6266963, 0.1117820, 0.6496634, 0.2813433],
    }
)
#: Table 2: count and cell key.
CELLS = {
    "Amiens": (2, 0.0295095), "Marseille": (3, 0.5577030), "Paris": (1, 0.8850062), "Total": (6, 0.4722187),
}  # fmt: skip
#: What table 3 gives for these: the interval of each key.
DEVIATIONS = {"Amiens": -2, "Marseille": 0, "Paris": 1, "Total": 0}


@pytest.fixture
def keyed() -> flou.Microdata:
    return flou.record_keys(flou.Microdata(PEOPLE, id="person"), stored="rk")


def test_counts_and_cell_keys_of_table_2(keyed: flou.Microdata) -> None:
    found = keyed.tabulate(["commune"]).to_frame(reveal=True)
    held = {r["commune"]: (r["count"], r["cell_key"] / 2**32) for r in found.iter_rows(named=True)}
    assert held.keys() == CELLS.keys()
    for commune, (count, key) in CELLS.items():
        assert held[commune][0] == count
        assert held[commune][1] == pytest.approx(key, abs=1e-8)


def test_deviations_of_table_3(keyed: flou.Microdata) -> None:
    released = flou.protect.CellKey(D=2, V=2, js=0).protect(keyed.tabulate(["commune"]))
    found = released.to_frame(reveal=True)
    assert dict(zip(found["commune"], found["deviation"], strict=True)) == DEVIATIONS


def test_matrix_of_the_paper() -> None:
    matrix = flou.TransitionMatrix(D=2, V=2, js=0)
    assert np.round(matrix.row(1), 5).tolist() == [0.36649, 0.36649, 0.16757, 0.09946]
    assert matrix.row(2) == pytest.approx([0.2] * 5)


def test_a_cell_with_the_same_people_is_moved_in_the_same_way(keyed: flou.Microdata) -> None:
    """Amiens aged 45 and everybody in Amiens who is 45 are one person: table after table the figure is one."""
    protect = flou.protect.CellKey(D=2, V=2, js=0).protect
    crossed = protect(keyed.tabulate(["commune", "age"])).data
    alone = protect(keyed.tabulate(["commune"])).data
    for commune in CELLS:
        assert crossed.cell(commune=commune)["count"] == alone.cell(commune=commune)["count"]
    # one person is Paris, aged 20 in Paris and, there being no other, both in every table
    assert crossed.cell(commune="Paris")["count"] == crossed.cell(commune="Paris", age=20)["count"]
