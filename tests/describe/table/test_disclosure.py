"""What a protected table gives away: nothing but what would be published."""

from __future__ import annotations

import pickle
import random
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import flou
from flou.describe.table.table_set import TableSet


def _records() -> pl.DataFrame:
    """Three common nationalities, and thirty that a single person has: most of them are shown as zero."""
    draw = random.Random(5)
    nations = [*draw.choices(["FR", "BE", "DE"], k=360), *(f"rare{i:02d}" for i in range(30))]
    return pl.DataFrame(
        {
            "pid": range(len(nations)),
            "nation": nations,
            "city": [draw.choice("abcdefgh") for _ in nations],
            "amount": [draw.random() * 1000 for _ in nations],
        }
    )


RECORDS = _records()
#: With these everybody knows which categories there are.
DECLARED = {"nation": sorted(RECORDS["nation"].unique()), "city": list("abcdefgh")}
RARE = [n for n in RECORDS["nation"].unique() if n.startswith("rare")]


def true_table(cells: Any = "occupied", **roles: Any) -> flou.Table:
    data = flou.Microdata(RECORDS, id="pid", keys=["nation", "city"], **roles)
    return flou.record_keys(data, secret=1).tabulate(["nation", "city"], value="amount", cells=cells)


def protected(cells: Any = "occupied", **roles: Any) -> flou.Table:
    table = flou.protect.CellKey(D=5, V=3, js=2).protect(true_table(cells, **roles)).data
    assert isinstance(table, flou.Table)
    return table


def hidden_nations() -> list[str]:
    """The nationalities that no cell shows."""
    table = protected()
    rows = pl.concat([table.labels(), pl.DataFrame({"n": table.published_counts})], how="horizontal")
    seen = rows.group_by("nation").agg(pl.col("n").max())
    return sorted(seen.filter(pl.col("n") == 0)["nation"].to_list())


def arrays(thing: Any, seen: set[int] | None = None) -> Iterator[np.ndarray[Any, Any]]:
    """Every array, series and sequence of numbers that can be reached from an object."""
    seen = set() if seen is None else seen
    if id(thing) in seen or isinstance(thing, str | bytes | int | float | bool | type(None) | type):
        return
    seen.add(id(thing))
    if isinstance(thing, np.ndarray):
        yield thing
    elif isinstance(thing, pl.Series):
        yield thing.to_numpy()
    elif isinstance(thing, pl.DataFrame):
        for series in thing:
            yield series.to_numpy()
    elif isinstance(thing, dict):
        for value in thing.values():
            yield from arrays(value, seen)
    elif isinstance(thing, list | tuple | set | frozenset):
        for value in thing:
            yield from arrays(value, seen)
    elif hasattr(thing, "__dict__"):
        yield from arrays(vars(thing), seen)


def test_some_cells_are_shown_as_zero() -> None:
    """What the other tests hang on."""
    table = protected()
    assert int((table.published_counts == 0).sum()) >= 10
    assert len(hidden_nations()) >= 5


def test_cells_shown_as_zero_are_not_listed() -> None:
    table = protected()
    for shown in (table.to_frame(), table.public().to_frame(), table.shown_cells()):
        assert shown.height == int((table.published_counts != 0).sum()) < table.n_cells
        assert (shown["count"] > 0).all()
        assert not set(shown["nation"]) & set(hidden_nations())
        assert set(shown["status"]) == {"published"}
    assert table.to_frame(reveal=True).height == table.n_cells


def test_hidden_categories_are_nowhere_in_what_leaves(tmp_path: Path) -> None:
    table, hidden = protected(), [n.encode() for n in hidden_nations()]
    table.write(tmp_path / "t.csv")
    table.write(tmp_path / "t.parquet")
    table.write(tmp_path / "t.arrow")
    table.write(tmp_path / "t.xlsx")
    TableSet.of([table]).write(tmp_path / "set")
    leaving = [pickle.dumps(table), pickle.dumps(table.public()), pickle.dumps(TableSet.of([table]))]
    leaving += [pickle.dumps(table.to_frame()), repr(table).encode(), table._repr_html_().encode()]
    leaving += [p.read_bytes() for p in tmp_path.rglob("*.*") if p.suffix != ".xlsx" and p.is_file()]
    with zipfile.ZipFile(tmp_path / "t.xlsx") as book:
        leaving += [book.read(name) for name in book.namelist()]
    arrow = table.to_frame().to_arrow()
    leaving += [
        buffer.to_pybytes()
        for column in arrow.columns
        for chunk in column.chunks
        for buffer in chunk.buffers()
        if buffer
    ]
    assert any(b"FR" in held for held in leaving)
    for held in leaving:
        for nation in hidden:
            assert nation not in held


def _as_bytes(figures: Any) -> list[bytes]:
    """Runs of figures as memory holds them."""
    return [figures[i : i + 4].tobytes() for i in range(0, len(figures) - 4, 3)]


@pytest.mark.parametrize("cells", ["occupied", "all"])
def test_true_figures_do_not_leave(cells: Any, tmp_path: Path) -> None:
    true, table = true_table(cells), protected(cells)
    assert true.cells.key is not None
    assert true.cells.largest is not None
    assert true.cells.value is not None
    moved = np.flatnonzero((table.published_counts != true.true_counts) & (true.true_counts > 0))
    assert len(moved) > 10
    runs = _as_bytes(true.true_counts[moved]) + _as_bytes(true.cells.value[true.cells.value != 0])
    runs += [k.tobytes() for k in true.cells.key[true.cells.key > 2**24]]  # a key alone is 8 bytes
    runs += [x.tobytes() for x in true.cells.largest[true.cells.largest > 0]]
    table.write(tmp_path / "t.arrow")
    back = pickle.loads(pickle.dumps(table))
    for held in (
        pickle.dumps(table),
        pickle.dumps(table.public()),
        (tmp_path / "t.arrow").read_bytes(),
        pickle.dumps(back),
    ):
        assert not [run for run in runs if run in held]
    assert back.to_frame().equals(table.to_frame())
    with pytest.raises(flou.FlouError, match="its true counts are not known"):
        _ = back.true_counts
    with pytest.raises(flou.FlouError, match="not known"):
        back.to_frame(reveal=True)


@pytest.mark.parametrize("cells", ["occupied", "all"])
def test_public_tables_hold_no_true_figures(cells: Any) -> None:
    true, public = true_table(cells), protected(cells).public()
    assert public.cells.count is None
    assert public.cells.key is None
    assert public.kin.original is None
    secret = {int(k) for k in true.cells.key if k > 2**24}  # type: ignore[union-attr]
    amounts = {float(x) for x in true.cells.value if x}  # type: ignore[union-attr]
    for held in arrays(public):
        if held.dtype.kind in "iuf":
            found = {x for x in held.ravel().tolist() if x == x}
            assert not secret & found
            assert not amounts & found
    assert public.public() is public
    assert public.published_values is None


def test_the_status_goes_by_what_is_shown() -> None:
    """A zero that is true and one that is not look the same."""
    table = protected("all", modalities=DECLARED)
    shown = table.to_frame(reveal=True)
    zeros = shown.filter(pl.col("count") == 0)
    assert set(zeros["status"]) == {"zero"}
    assert zeros.filter(pl.col("true_count") > 0).height > 5
    assert zeros.filter(pl.col("true_count") == 0).height > 5
    seen = table.to_frame().filter(pl.col("count") == 0)
    assert set(seen["status"]) == {"zero"}
    assert table.to_frame().height == table.n_cells


def test_categories_that_occur_are_not_told_by_zeros() -> None:
    """All cells are listed, but nobody declared the categories: one that is shown as zero everywhere is left out."""
    table = protected("all")
    hidden = hidden_nations()
    assert len(hidden) > 5
    for seen in (table.to_frame(), table.public().to_frame(), pickle.loads(pickle.dumps(table)).to_frame()):
        assert not set(seen["nation"]) & set(hidden)
        assert (seen["count"] == 0).any(), "other zeros are shown"
    assert not set(table.public().dims[0].labels["nation"]) & set(hidden)
    assert set(protected("all", modalities=DECLARED).to_frame()["nation"]) == {"Total", *DECLARED["nation"]}


def test_a_structural_zero_does_not_tell_whether_somebody_is_there() -> None:
    """One record in each of many cells that the rules exclude: those shown as zero look like the empty ones."""
    rules = [{"nation": n, "city": c} for n in RARE for c in "abcdefgh"]
    table = protected("all", incoherent=rules, modalities=DECLARED)
    shown = table.to_frame(reveal=True).filter(pl.col("nation").is_in(RARE))
    zeros = shown.filter(pl.col("count") == 0)
    assert zeros.filter(pl.col("true_count") > 0).height > 10
    assert zeros.filter(pl.col("true_count") == 0).height > 10
    assert set(zeros["status"]) == {"structural"}
    seen = shown.filter(pl.col("count") > 0)
    assert seen.height > 3
    assert set(seen["status"]) == {"published"}
    public = table.public()
    assert public.status.to_list() == table.status.to_list()
    assert public.cells.possible is not None
    known = public.cells.coherent | (public.published_counts != 0)
    assert (public.cells.possible == known).all()
    # those who protect know
    assert table.cells.possible is not None
    assert table.cells.possible[table.true_counts > 0].all()


def test_texts_show_no_true_figures() -> None:
    table = protected()
    public = table.public()
    assert repr(table) == repr(public)
    assert f"{public.n_cells:,} cells" in repr(table)
    assert f"{true_table().n_cells:,} cells" not in repr(table)
    html = table._repr_html_()
    assert html == public._repr_html_()
    tables = TableSet.of([table])
    assert repr(tables) == repr(tables.public())
    assert f"{true_table().n_cells:,} cells" not in repr(tables)


def test_a_cell_that_is_left_out_is_found_as_zero() -> None:
    table = protected()
    rows = table.to_frame(reveal=True).filter((pl.col("count") == 0) & ~pl.col("nation").is_in(hidden_nations()))
    for row in rows.head(3).rows(named=True):
        found = table.cell(nation=row["nation"], city=row["city"])
        assert (found["count"], found["status"]) == (0, "zero")
        assert found == table.public().cell(nation=row["nation"], city=row["city"])
    # those who protect know the category; the public does not
    assert table.cell(nation=hidden_nations()[0])["count"] == 0
    with pytest.raises(flou.FlouError, match="is no category"):
        table.public().cell(nation=hidden_nations()[0])
    with pytest.raises(flou.FlouError, match="is no category"):
        table.cell(nation="nowhere")


def test_nobody_is_left() -> None:
    """A table all cells of which are shown as zero."""
    for pid in range(50):
        data = flou.record_keys(flou.Microdata(pl.DataFrame({"pid": [pid], "a": ["x"]}), id="pid"), secret=1)
        table = flou.protect.CellKey(D=3, V=2, js=2).protect(data.tabulate("a")).data
        if not table.published_counts.any():
            break
    assert table.to_frame().height == 0
    assert table.to_frame().columns == ["a", "count", "status"]
    assert len(pickle.loads(pickle.dumps(table))) == 0
    assert "0 cells" in repr(table)


def test_an_unprotected_table_keeps_what_it_has() -> None:
    table = true_table()
    back = pickle.loads(pickle.dumps(table))
    assert (back.true_counts == table.true_counts).all()
    assert table.public().to_frame().equals(table.to_frame())
    assert table.public().cells.key is None
    assert table.public().cells.largest is None
