"""Hierarchy files of τ-ARGUS: depth by leading strings, ragged trees, and what cannot be a tree."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.depth import examples

import flou
from flou.describe.table.argus.hrc import HrcLine, hierarchy_from_hrc, hrc_text, lines_of_dimension, read_hrc, write_hrc
from flou.engine.errors import DataError, HierarchyError, OutputError, ParameterError


def read(tmp_path: Path, text: str, lead: str = "@") -> list[HrcLine]:
    (tmp_path / "a.hrc").write_text(text, encoding="utf-8")
    return read_hrc(tmp_path / "a.hrc", lead)


def test_depths_and_parents(tmp_path: Path) -> None:
    text = "\ufeffNorth\n@59\r\n @@ 591\n\n@62\nSouth\nÉast zone\n@13\n"
    assert read(tmp_path, text) == [
        ("North", 1, None),
        ("59", 2, "North"),
        ("591", 3, "59"),
        ("62", 2, "North"),
        ("South", 1, None),
        ("Éast zone", 1, None),
        ("13", 2, "Éast zone"),
    ]
    assert read(tmp_path, "A\n--B\n----C\n", "--")[-1] == ("C", 3, "B")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("@A\n", "line 1: 'A' lies 2 steps below the line above"),
        ("A\n@@B\n", "line 2: 'B' lies 2 steps"),
        ("A\n@\n", "line 2 has no code behind '@'"),
        ("\n", "it has no codes"),
    ],
)
def test_no_tree(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(HierarchyError, match=message):
        read(tmp_path, text)


def test_files_and_leads_that_cannot_be(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="cannot be read"):
        read_hrc(tmp_path / "none.hrc")
    with pytest.raises(ParameterError, match="lead"):
        read(tmp_path, "A\n", "")


def test_as_a_hierarchy_of_records(tmp_path: Path) -> None:
    """A ragged tree: the shorter branch repeats its code, and the table has every level."""
    read(tmp_path, "N\n@59\n@62\nS\n")
    hierarchy = hierarchy_from_hrc(tmp_path / "a.hrc")
    assert dict(hierarchy.table) == {"59": ("N", "*"), "62": ("N", "*"), "S": ("S", "*")}
    frame = pl.DataFrame({"zone": ["59", "62", "S", "S"]})
    table = flou.Microdata(frame, keys=["zone"], hierarchies={"zone": hierarchy}).tabulate(["zone@*"])
    assert table.columns == ("zone@1", "zone")
    assert table.cell(**{"zone@1": "N"})["count"] == 2
    assert table.cell(**{"zone@1": "S"})["count"] == 2
    write_hrc(hierarchy, tmp_path / "b.hrc")
    assert (tmp_path / "b.hrc").read_text(encoding="utf-8") == "N\n@59\n@62\nS\n"
    with pytest.raises(OutputError, match="exists"):
        write_hrc(hierarchy, tmp_path / "b.hrc")


def test_a_flat_file_is_a_hierarchy_of_one_level(tmp_path: Path) -> None:
    read(tmp_path, "A\nB\n")
    assert dict(hierarchy_from_hrc(tmp_path / "a.hrc").table) == {"A": ("*",), "B": ("*",)}


def test_hierarchies_that_a_file_cannot_hold(tmp_path: Path) -> None:
    with pytest.raises(HierarchyError, match="Bands and prefixes"):
        write_hrc(flou.Hierarchy.bands(5), tmp_path / "a.hrc")
    twice = flou.Hierarchy.tree({"a": ["b"], "b": ["c"]})
    with pytest.raises(HierarchyError, match="two levels: 'b'"):
        write_hrc(twice, tmp_path / "a.hrc")
    for code in ("@x", " x", 'x"', "x\ny", ""):
        with pytest.raises(HierarchyError, match="do not fit"):
            hrc_text([HrcLine(code, 1, None)])
    assert hrc_text([HrcLine("@x", 1, None)], "#") == "@x\n"


def frame_of(rows: list[tuple[str, str]]) -> pl.DataFrame:
    return pl.DataFrame(rows, schema=["a", "b"], orient="row").with_columns(count=pl.lit(1))


def test_dimensions() -> None:
    rows = [("Total", "Total"), ("N", "Total"), ("N", "59"), ("S", "Total")]
    table = flou.Table.from_frame(frame_of(rows), ["a>b"])
    assert lines_of_dimension(table.dims[0]) == [("N", 1, None), ("59", 2, "N"), ("S", 1, None)]
    with pytest.raises(HierarchyError, match="side by side"):
        lines_of_dimension(flou.Table.from_frame(frame_of([("N", "Total"), ("Total", "x")]), ["a|b"]).dims[0])
    with pytest.raises(HierarchyError, match=r"several categories, on different levels: '01'"):
        lines_of_dimension(flou.Table.from_frame(frame_of([("01", "01")]), ["a>b"]).dims[0])


code = st.text(st.characters(categories=("L", "N", "P"), exclude_characters='"@'), min_size=1, max_size=4)


@examples(80)
@given(st.lists(st.tuples(code, st.integers(1, 4)), min_size=1, max_size=12, unique_by=lambda x: x[0]))
def test_there_and_back(tmp_path_factory: pytest.TempPathFactory, drawn: list[tuple[str, int]]) -> None:
    """Any tree: its lines are read as they were written."""
    lines: list[HrcLine] = []
    above: list[str] = []
    for text, wanted in drawn:
        depth = min(wanted, len(above) + 1)
        above = [*above[: depth - 1], text]
        lines.append(HrcLine(text, depth, above[-2] if depth > 1 else None))
    path = tmp_path_factory.mktemp("hrc") / "a.hrc"
    path.write_text(hrc_text(lines), encoding="utf-8")
    assert read_hrc(path) == lines
