"""Tables that others have counted: there and back through frames and files, and what is wrong with some of them."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import flou

FRAME = pl.DataFrame(
    {
        "region": ["N", "N", "S", "S", "É", "N"],
        "department": ["01", "02", "2A", "2A", "31", "01"],
        "age": [3, 17, 24, 31, 3, 19],
        "sex": ["F", "M", "F", "M", "F", "F"],
        "district": ["x", "y", "y", "x", "=1+1", "-3"],
        "v": [0.1, 2.0, -3.5, 1e9, 0.0, 7.0],
        "w": [1.5, 2.0, 1.0, 2.0, 1.0, 1.0],
        "rkey": [1, 2**32 - 1, 7, 11, 13, 17],
    }
)


def made(**options: Any) -> flou.Table:
    data = flou.Microdata(FRAME, keys=["age"], hierarchies={"age": flou.Hierarchy.bands(5, 10)})
    dims = ["region>department", "age@2>age@1>age", "sex|district"]
    return flou.record_keys(data, stored="rkey").tabulate(dims, **options)


def same(one: flou.Table, two: flou.Table) -> None:
    """The same cells with the same figures; the order of categories is that of the file."""
    frames = [t.shown_cells(reveal=True).sort(one.columns) for t in (one, two)]
    common = [c for c in frames[0].columns if c in frames[1].columns]
    assert {"count", "status", *one.columns} <= set(common)
    assert frames[0].select(common).rows() == frames[1].select(common).rows()
    assert one.columns == two.columns
    assert [d.n_nodes for d in one.dims] == [d.n_nodes for d in two.dims]
    assert one.n_unlisted_zeros == two.n_unlisted_zeros


@pytest.mark.parametrize("margins", [True, False])
@pytest.mark.parametrize("cells", ["occupied", "all"])
@pytest.mark.parametrize("kind", ["polars", "polars-lazy", "pandas", "pyarrow", "duckdb"])
def test_there_and_back_through_a_frame(margins: bool, cells: Any, kind: str) -> None:
    from tests.contracts.cases import native

    table = made(value="v", margins=margins, cells=cells)
    frame = table.shown_cells(reveal=True).sample(fraction=1, shuffle=True, seed=1)
    back = flou.Table.from_frame(native(frame, kind), [d.name for d in table.dims], value="value", key="cell_key")
    same(table, back)
    assert back.listed == cells
    assert type(back.to_frame()).__module__.split(".")[0] == {"pandas": "pandas", "pyarrow": "pyarrow"}.get(
        kind, "polars"
    )


def test_there_and_back_with_weights() -> None:
    table = made(value="v", weight="w")
    frame = table.shown_cells(reveal=True)
    back = flou.Table.from_frame(
        frame, [d.name for d in table.dims], count="contributors", weighted="count", value="value", key="cell_key"
    )
    same(table, back)
    assert (back.published_counts == table.published_counts).all()


@pytest.mark.parametrize("ending", ["csv", "parquet", "arrow", "xlsx"])
@pytest.mark.parametrize("margins", [True, False])
@pytest.mark.parametrize("cells", ["occupied", "all"])
def test_there_and_back_through_a_file(tmp_path: Path, ending: str, margins: bool, cells: Any) -> None:
    table = made(value="v", margins=margins, cells=cells)
    table.write(tmp_path / f"t.{ending}", unprotected=True)
    same(table, flou.Table.read(tmp_path / f"t.{ending}", [d.name for d in table.dims], value="value"))
    with pytest.raises(flou.FlouError, match="exist"):
        table.write(tmp_path / f"t.{ending}", unprotected=True)
    first = (tmp_path / f"t.{ending}").read_bytes()
    table.write(tmp_path / f"t.{ending}", overwrite=True, unprotected=True)
    assert (tmp_path / f"t.{ending}").read_bytes() == first  # byte for byte


def test_files_that_cannot_be_written(tmp_path: Path) -> None:
    table = made()
    with pytest.raises(flou.FlouError, match="cannot be a table's file"):
        table.write(tmp_path / "t.sas7bdat", unprotected=True)
    with pytest.raises(flou.FlouError, match="does not exist"):
        table.write(tmp_path / "no" / "t.csv", unprotected=True)
    assert not list(tmp_path.iterdir())


def test_categories_are_texts_in_a_workbook(tmp_path: Path) -> None:
    """A category that looks like a formula must not be one where the file is opened."""
    import zipfile

    texts = ["=1+1", "=cmd|' /C calc'!A0", "-3", "+4", "@x", "TRUE", "http://a.b", "0012", "1e5"]
    table = flou.Microdata(pl.DataFrame({"a": texts})).tabulate("a")
    table.write(tmp_path / "t.xlsx", unprotected=True)
    with zipfile.ZipFile(tmp_path / "t.xlsx") as book:
        assert b"<f>" not in book.read("xl/worksheets/sheet1.xml")
    same(table, flou.Table.read(tmp_path / "t.xlsx", "a"))


GOOD = {"region": ["Total", "N", "N", "S", "S"], "department": ["Total", "Total", "1", "Total", "2"]}
COUNT = [3, 2, 2, 1, 1]


def frame(**changes: Any) -> pl.DataFrame:
    return pl.DataFrame({**GOOD, "count": COUNT, "k": [5, 3, 3, 2, 2], "v": [1.0] * 5, **changes}, strict=False)


def test_the_good_frame_is_good() -> None:
    table = flou.Table.from_frame(frame(), "region>department", key="k", value="v")
    assert table.true_counts.tolist() == COUNT
    assert table.cells.key is not None
    assert table.cells.key.tolist() == [5, 3, 3, 2, 2]
    assert table.listed == "occupied"
    assert flou.Table.from_frame(frame(count=[1, 1, 0, 0, 0]), "region>department").listed == "all"
    assert flou.Table.from_frame(frame(), "region>department", cells="all").n_unlisted_zeros == 0


@pytest.mark.parametrize(
    ("changes", "options", "words"),
    [
        ({"region": ["Total", "N", "N", "S", None]}, {}, "'region' is null in 1 cells"),
        ({"department": ["Total", "1", "1", "Total", "2"]}, {}, "1 cells are listed twice, such as 'N, 1'"),
        ({"region": ["Total", "N", "N", "S", "Total"]}, {}, "1 cells have a category of 'department' but 'Total' in 'region'"),
        ({"department": ["Total", "Total", "1", "Total", "1"]}, {}, "not nested: department '1' lies in several of region"),
        ({"department": ["Total"] * 5, "region": ["Total", "a", "b", "c", "d"]}, {}, "all of them are totals"),
        ({"count": [3, 2, 2, -1, 1]}, {}, "should be whole numbers, none negative"),
        ({"count": [3, 2, 2.5, 1, 1]}, {}, "should be whole numbers, none negative. Weighted counts"),
        ({"count": [3, 2, None, 1, 1]}, {}, "null in 1 cells"),
        ({"count": [3, 2, math.nan, 1, 1]}, {}, "null in 1 cells"),
        ({"count": [3, 2, math.inf, 1, 1]}, {}, "infinite"),
        ({"count": [3, 2, 1e300, 1, 1]}, {}, "as large as 2\\^62"),
        ({"count": list("abcde")}, {}, "should be whole numbers; the column is String"),
        ({"k": [5, 3, -3, 2, 2]}, {"key": "k"}, "whole numbers in \\[0, 2\\^32\\)"),
        ({"k": [5, 3, 2**32, 2, 2]}, {"key": "k"}, "whole numbers in \\[0, 2\\^32\\)"),
        ({"k": [0.5, 0.3, 1.0, 0.2, 0.2]}, {"key": "k"}, "1 of 5 keys are missing or lie outside"),
        ({"k": [0.5, None, 0.0, 0.2, 0.2]}, {"key": "k"}, "should be numbers, one for every cell"),
        ({"k": list("abcde")}, {"key": "k"}, "should be numbers, one for every cell"),
        ({"v": [1.0, None, 1.0, 1.0, 1.0]}, {"value": "v"}, "'v' should hold numbers, in every cell"),
        ({"v": [1.0, math.inf, 1.0, 1.0, 1.0]}, {"value": "v"}, "'v' holds infinite amounts"),
        ({"v": list("abcde")}, {"value": "v"}, "'v' should hold numbers, in every cell"),
        ({}, {"value": "vv"}, "no column 'vv'.*Columns: region"),
        ({}, {"count": "n"}, "no column 'n'"),
        ({}, {"key": "x"}, "no column 'x'"),
        ({}, {"weighted": "x"}, "no column 'x'"),
        ({}, {"cells": "some"}, "cells = 'some' must be"),
    ],
)  # fmt: skip
def test_frames_that_are_no_table(changes: dict[str, Any], options: dict[str, Any], words: str) -> None:
    with pytest.raises(flou.FlouError, match=words):
        flou.Table.from_frame(frame(**changes), "region>department", **options)


def test_zonings_side_by_side_do_not_cross() -> None:
    crossed = pl.DataFrame({"a": ["Total", "1", "1"], "b": ["Total", "Total", "2"], "count": [1, 1, 1]})
    with pytest.raises(flou.FlouError, match=r"two zonings that stand side by side|all of them are totals"):
        flou.Table.from_frame(crossed, "a|b")


def test_what_is_no_frame() -> None:
    with pytest.raises(flou.FlouError, match="no rows: a table needs at least one cell"):
        flou.Table.from_frame(frame().head(0), "region>department")
    with pytest.raises(flou.FlouError, match="names the column 'dep'"):
        flou.Table.from_frame(frame(), "region>dep")
    with pytest.raises(flou.FlouError, match="is not a frame that Flou reads"):
        flou.Table.from_frame({"a": [1]}, "a")


def test_keys_of_other_tools_are_scaled() -> None:
    table = flou.Table.from_frame(frame(k=[0.5, 0.25, 0.0, 1 - 2.0**-40, 0.1]), "region>department", key="k")
    assert table.cells.key is not None
    expected = [2**31, 2**30, 0, 2**32 - 1, int(0.1 * 2**32)]
    assert table.cells.key.tolist() == expected
    assert table.cells.key.dtype == np.int64


def test_another_label_of_totals() -> None:
    other = frame(region=["*", "N", "N", "S", "S"], department=["*", "*", "1", "*", "2"])
    table = flou.Table.from_frame(other, "region>department", total="*")
    assert table.cell()["count"] == 3
    assert table.cell(region="N")["count"] == 2
    assert table.cell(department="2") == {"region": "S", "department": "2", "count": 1, "status": "published"}


def test_a_protected_table_reads_back_although_parts_are_left_out() -> None:
    """A region may be shown while all of its departments are shown as zero, and so left out."""
    frame = pl.DataFrame(
        {"region": ["Total", "N", "S", "S"], "department": ["Total", "Total", "Total", "2"], "count": [9, 4, 5, 5]}
    )
    table = flou.Table.from_frame(frame, "region>department")
    assert table.to_frame().drop("status").equals(frame)
    assert table.cell(region="N")["count"] == 4
    # what a branch ends in is its finest category, as far as the table tells
    assert table.dims[0].is_finest.tolist() == [False, True, False, True]
