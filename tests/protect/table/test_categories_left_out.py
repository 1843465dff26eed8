"""Categories that only zeros show are left out of tables of all cells: the office is told, the public is not."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest
from tests.contracts.table_cases import SECRET

import flou

#: y holds three people, one in each column.
PEOPLE = [("x", "u")] * 9 + [("x", "v")] * 8 + [("x", "w")] * 9 + [("y", "u"), ("y", "v"), ("y", "w")]
ALWAYS_DOWN = flou.TransitionMatrix.from_ptable(
    pl.DataFrame(
        [(0, 0, 1.0), (1, 0, 1.0), (2, 0, 1.0), (3, 0, 1.0), (4, 4, 1.0)], schema=["i", "j", "p"], orient="row"
    )
)
METHODS = [
    flou.protect.Rounding(7),
    flou.protect.Rounding(7, additive="controlled"),
    flou.protect.RandomRounding(10_000),
    flou.protect.CellKey(matrix=ALWAYS_DOWN),
    flou.protect.CellKey(matrix=ALWAYS_DOWN, additive="repair"),
]


def people(**options: Any) -> flou.Microdata:
    rows = pl.DataFrame(PEOPLE, schema=["a", "b"], orient="row").with_row_index("id")
    return flou.record_keys(flou.Microdata(rows, keys=["a", "b"], id="id", **options), secret=SECRET)


def told(release: flou.Release) -> list[str]:
    return [str(note) for note in release.steps[0].notes if "only zeros show" in str(note)]


@pytest.mark.parametrize("method", METHODS, ids=str)
def test_a_step_says_how_many_categories_and_cells_are_left_out(method: Any) -> None:
    table = people().tabulate(["a", "b"], cells="all")
    release = method.protect(table)
    seen = release.data.public()
    gone = sum(len(set(table.labels()[c]) - set(seen.labels()[c])) for c in ("a", "b"))
    assert gone
    (note,) = told(release)
    assert note.startswith(f"{gone} categories that only zeros show are left out, with {table.n_cells - seen.n_cells} ")
    assert "declare them as modalities of a" in note


def test_what_is_left_out_is_said_to_the_office_alone() -> None:
    release = flou.protect.Rounding(7).protect(people().tabulate(["a", "b"], cells="all"))
    assert [note.internal for note in release.steps[0].notes] == [True]


def test_declared_categories_are_shown_and_nothing_is_said() -> None:
    table = people(modalities={"a": ["x", "y"]}).tabulate(["a", "b"], cells="all")
    release = flou.protect.Rounding(7).protect(table)
    assert "y" in release.data.to_frame()["a"].to_list()
    assert not told(release)


def test_a_category_of_two_tables_is_left_out_once() -> None:
    tables = flou.tabulate_many(people(), [["a"], ["a", "b"]], cells="all")
    (note,) = told(flou.protect.Rounding(7).protect(tables))
    assert note.startswith("1 categories that only zeros show are left out, with 5 cells")


def test_categories_of_several_levels_cannot_be_declared() -> None:
    areas = flou.Hierarchy.tree({"west": ["x"], "east": ["y"]}, names=["region"])
    table = people(hierarchies={"a": areas}).tabulate(["a@region>a", "b"], cells="all")
    (note,) = told(flou.protect.Rounding(7).protect(table))
    assert note == "2 categories that only zeros show are left out, with 8 cells"
