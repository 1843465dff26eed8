"""Every cell of small random tables against plain loops over the records."""

from __future__ import annotations

import math
import tracemalloc
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock
from unittest.mock import patch

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.depth import examples
from tests.describe.table.by_hand import (
    DIMS,
    Dim,
    Record,
    cells_by_hand,
    exact,
    largest_by_hand,
    possible_by_hand,
)

import flou

REGION = {"11": "N", "12": "N", "21": "S", "31": "É"}
#: Amounts of every kind: ties, opposite signs, zeros, no dyadic ones, large ones beside small ones.
AMOUNTS = [0.0, 1.0, 1.0, -1.0, 3.0, -3.0, 0.1, 0.2, -0.3, 7.25, 1e-3, 1e6, -1e6, 123456.789, 5.0]
DYADIC = [0.0, 1.0, -1.0, 3.0, -3.0, 7.25, 0.5, 1e6, -1e6, 2.5]
WEIGHTS = [1.0, 1.0, 2.0, 1.5, 0.1, 3.7, 0.0]
ROLES: dict[str, Any] = {
    "keys": ["region", "department", "commune", "district", "age", "sex"],
    "hierarchies": {"age": flou.Hierarchy.bands(5, 10, names=["five", "decade"])},
}

record = st.fixed_dictionaries(
    {
        "department": st.sampled_from(sorted(REGION)),
        "commune": st.sampled_from(["a", "b", "c"]),
        "district": st.sampled_from(["x", "y"]),
        "age": st.sampled_from([0, 4, 5, 9, 10, 17, 23]),
        "sex": st.sampled_from(["F", "M"]),
        "amount": st.sampled_from(AMOUNTS),
        "dyadic": st.sampled_from(DYADIC),
        "w": st.sampled_from(WEIGHTS),
        "holding": st.integers(0, 4),
        "rkey": st.integers(0, 2**32 - 1),
    }
)
files = st.lists(record, min_size=1, max_size=25, unique_by=lambda r: r["rkey"]).map(
    lambda rows: [{**r, "region": REGION[r["department"]]} for r in rows]
)


@st.composite
def layouts(draw: st.DrawFn) -> tuple[list[Dim], list[bool], Any]:
    """One to three dimensions without a column in common, and which of them get margins."""
    chosen: list[Dim] = []
    for dim in draw(st.permutations(DIMS)):
        if len(chosen) < 3 and not any(set(dim.needs) & set(d.needs) for d in chosen):
            chosen.append(dim)
    chosen = chosen[: draw(st.integers(1, 3))]
    each = draw(st.one_of(st.just(True), st.just(False), st.lists(st.booleans(), min_size=3, max_size=3)))
    if isinstance(each, bool):
        return chosen, [each] * len(chosen), each
    wanted = each[: len(chosen)]
    return chosen, wanted, [d.text for d, w in zip(chosen, wanted, strict=True) if w]


@contextmanager
def margins_by(way: str) -> Iterator[None]:
    """Margins made in arrays of all cells, or from lists of cells."""
    with patch("flou.describe.table.tabulate.fits", lambda *_: way == "dense"):
        yield


ways = st.sampled_from(["dense", "sparse"])


def keyed(rows: list[Record], **roles: Any) -> flou.Microdata:
    # the keys that are tried here are not random, which is another matter
    with mock.patch("flou.describe.keyed._require_random"):
        return flou.record_keys(flou.Microdata(pl.DataFrame(rows), **{**ROLES, **roles}), stored="rkey")


def found(table: flou.Table, dims: list[Dim]) -> dict[tuple[str, ...], dict[str, Any]]:
    """The table's cells by their labels; each stands in it once."""
    shows = [c for d in dims for c in d.shows]
    assert list(table.columns) == shows
    rows = table.shown_cells(reveal=True).rows(named=True)
    cells = {tuple(r[c] for c in shows): {**r, "place": i} for i, r in enumerate(rows)}
    assert len(cells) == len(rows)
    return cells


def close(value: float, true: Any, room: float) -> bool:
    """Within the last digit of the true sum, or 2^-60 of the largest possible one."""
    return abs(value - float(true)) <= 2.0**-51 * abs(float(true)) + 2.0**-60 * room


@given(files, layouts(), ways)
@examples(150)
def test_counts_and_keys(rows: list[Record], layout: Any, way: str) -> None:
    dims, margins, asked = layout
    with margins_by(way):
        table = keyed(rows).tabulate([d.text for d in dims], margins=asked)
    expected, got = cells_by_hand(rows, dims, margins), found(table, dims)
    assert got.keys() == expected.keys()
    for labels, records in expected.items():
        assert got[labels]["count"] == len(records)
        assert got[labels]["cell_key"] == sum(r["rkey"] for r in records) % 2**32
        assert got[labels]["status"] == "published"
    assert table.n_unlisted_zeros == _n_nodes(rows, dims, margins) - len(expected)


def _n_nodes(rows: list[Record], dims: list[Dim], margins: list[bool]) -> int:
    return math.prod(
        len({node for r in rows for node in d.nodes(r, margins=m)}) for d, m in zip(dims, margins, strict=True)
    )


@given(files, layouts(), st.integers(0, 5), st.booleans(), ways)
@examples(150)
def test_sums_weights_and_largest(rows: list[Record], layout: Any, most: int, weighted: bool, way: str) -> None:
    dims, margins, asked = layout
    weight = "w" if weighted else None
    options: dict[str, Any] = {"value": "amount", "weight": weight, "margins": asked, "largest": most}
    with margins_by(way):
        table = keyed(rows).tabulate([d.text for d in dims], **options)
    expected, got = cells_by_hand(rows, dims, margins), found(table, dims)
    assert got.keys() == expected.keys()
    room = max(abs(r["amount"] * (r["w"] if weighted else 1.0)) for r in rows) * len(rows)
    for labels, records in expected.items():
        cell = got[labels]
        assert close(cell["value"], exact(r["amount"] * (r["w"] if weighted else 1.0) for r in records), room)
        assert cell["contributors" if weighted else "count"] == len(records)
        if weighted:
            assert close(cell["count"], exact(r["w"] for r in records), 4.0 * len(rows))
        parts = [(r["amount"], r["w"]) if weighted else (r["amount"],) for r in records]
        wanted = largest_by_hand(parts, most)
        if not most:
            assert table.cells.largest is None
            continue
        assert table.cells.largest is not None
        held = table.cells.largest[cell["place"]]
        assert held[: len(wanted)].tolist() == [w[0] for w in wanted]
        assert np.isnan(held[len(wanted) :]).all()
        if weighted:
            assert table.cells.largest_weights is not None
            held = table.cells.largest_weights[cell["place"]]
            assert held[: len(wanted)].tolist() == [w[1] for w in wanted]
            assert np.isnan(held[len(wanted) :]).all()


@given(files, layouts(), st.integers(0, 4))
@examples(100)
def test_holdings_are_merged_in_every_margin(rows: list[Record], layout: Any, most: int) -> None:
    dims, margins, asked = layout
    table = keyed(rows).tabulate(
        [d.text for d in dims], value="dyadic", holding="holding", margins=asked, largest=most
    )  # fmt: skip
    expected, got = cells_by_hand(rows, dims, margins), found(table, dims)
    assert got.keys() == expected.keys()
    for labels, records in expected.items():
        by_holding: dict[int, float] = defaultdict(float)
        for r in records:
            by_holding[r["holding"]] += r["dyadic"]
        assert got[labels]["holdings"] == len(by_holding)
        assert got[labels]["count"] == len(records)
        assert got[labels]["value"] == sum(by_holding.values())
        wanted = [c[0] for c in largest_by_hand([(a,) for a in by_holding.values()], most)]
        held = [got[labels][f"largest_{j + 1}"] for j in range(most)]
        assert held == wanted + [None] * (most - len(wanted))


RULES: list[dict[str, Any]] = [
    {"age": 4, "sex": "M"}, {"age": 0, "sex": "M"}, {"commune": "a", "district": "x"}, {"department": "31", "sex": "F"},
    {"department": "31", "sex": "M"}, {"sex": "F", "commune": "b", "district": "y"}, {"age": 30, "sex": "F"},
    {"age": 30, "sex": "M"},
]  # fmt: skip
DECLARED: dict[str, list[Any]] = {"age": [0, 4, 5, 9, 10, 17, 23, 30], "sex": ["M", "F", "X"]}


@given(files, layouts(), st.lists(st.sampled_from(RULES), max_size=5), ways)
@examples(150)
def test_all_cells_and_structural_zeros(rows: list[Record], layout: Any, rules: list[Any], way: str) -> None:
    dims, margins, asked = layout
    data = keyed(rows, modalities=DECLARED, incoherent=rules)
    with margins_by(way):
        table = data.tabulate([d.text for d in dims], value="dyadic", margins=asked, cells="all")
    occupied, got = cells_by_hand(rows, dims, margins), found(table, dims)
    # a rule whose columns have no declared values is passed over: it would tell who is in the file
    applied = [rule for rule in rules if set(rule) <= set(DECLARED)]
    expected = possible_by_hand(rows, dims, margins, DECLARED, applied)
    assert got.keys() == expected.keys()
    for labels, possible in expected.items():
        cell, records = got[labels], occupied.get(labels, [])
        assert cell["count"] == len(records)
        assert cell["value"] == sum(r["dyadic"] for r in records)
        assert cell["cell_key"] == sum(r["rkey"] for r in records) % 2**32
        assert cell["status"] == ("published" if records else "zero" if possible else "structural")
        wanted = [c[0] for c in largest_by_hand([(r["dyadic"],) for r in records], 3)]
        assert [cell[f"largest_{j}"] for j in (1, 2, 3)] == wanted + [None] * (3 - len(wanted))
    assert table.n_unlisted_zeros == 0


@given(files, layouts())
@examples(50)
def test_every_cell_is_found_by_its_labels(rows: list[Record], layout: Any) -> None:
    dims, margins, asked = layout
    table = keyed(rows).tabulate([d.text for d in dims], margins=asked)
    names = [c for d in dims for c in d.shows]
    for labels, records in cells_by_hand(rows, dims, margins).items():
        cell = table.cell(**dict(zip(names, labels, strict=True)))
        assert cell["count"] == len(records)
        assert [cell[c] for c in names] == list(labels)


@given(files, layouts(), st.randoms(use_true_random=False))
@examples(30)
def test_the_order_of_records_does_not_matter(rows: list[Record], layout: Any, random: Any) -> None:
    dims, _, asked = layout
    other = list(rows)
    random.shuffle(other)
    options = {"value": "amount", "weight": "w", "margins": asked}
    one, two = (
        keyed(r).tabulate([d.text for d in dims], **options).shown_cells(reveal=True) for r in (rows, other)
    )  # fmt: skip
    assert one.equals(two)  # to the last bit


def test_cells_stand_in_the_order_of_a_walk() -> None:
    rows = [{"region": r, "department": d, "sex": s} for d, r in REGION.items() for s in ("F", "M")]
    table = flou.Microdata(pl.DataFrame(rows)).tabulate(["region>department", "sex"])
    walked = table.labels().select("region", "department").unique(maintain_order=True).rows()
    assert walked == [
        ("Total", "Total"), ("N", "Total"), ("N", "11"), ("N", "12"), ("S", "Total"), ("S", "21"), ("É", "Total"), ("É", "31"),
    ]  # fmt: skip


def test_declared_modalities_keep_their_order_when_all_cells_are_listed() -> None:
    data = flou.Microdata(pl.DataFrame({"size": ["small", "large"]}), keys=["size"],
                          modalities={"size": ["large", "medium", "small"]})  # fmt: skip
    table = data.tabulate("size", cells="all")
    assert table.labels()["size"].to_list() == ["Total", "large", "medium", "small"]
    assert table.true_counts.tolist() == [2, 1, 0, 1]


def test_nested_columns_that_do_not_nest_are_refused() -> None:
    rows = pl.DataFrame({"region": ["N", "S"], "department": ["11", "11"]})
    with pytest.raises(
        flou.FlouError, match=r"not nested: department '11' lies in several of region.*region\|department"
    ):
        flou.Microdata(rows).tabulate("region>department")


def test_a_dimension_of_many_columns_keeps_its_largest_contributions() -> None:
    """Four columns of 65,537 values each: their combinations cannot be numbered in 62 bits."""
    n = 65_537
    place = np.arange(n)
    rows = pl.DataFrame({c: (place * step) % n for c, step in (("a", 1), ("b", 2), ("c", 3), ("d", 5))})
    rows = rows.with_columns(v=pl.Series(place.astype(np.float64) + 1))
    table = flou.Microdata(rows).tabulate("a>b>c>d", value="v", margins=False, largest=1)
    assert table.cells.largest is not None
    assert (table.cells.largest[:, 0] == table.true_values).all()


def test_many_values_in_few_bands_do_not_fill_memory() -> None:
    """20,000 values of either column, but 4 and 2 bands: an array of their combinations would take gigabytes."""
    n = 20_000
    rows = pl.DataFrame({"a": np.arange(n), "b": np.arange(n)[::-1]})
    bands = {"a": flou.Hierarchy.bands(5_000), "b": flou.Hierarchy.bands(10_000)}
    data = flou.Microdata(rows, keys=["a", "b"], hierarchies=bands)
    tracemalloc.start()
    try:
        table = data.tabulate(["a@1", "b@1"])
        assert tracemalloc.get_traced_memory()[1] < 100 * 2**20
    finally:
        tracemalloc.stop()
    assert table.cell(**{"a@1": "0-4999", "b@1": "10000-19999"})["count"] == 5_000
    assert table.n_cells == 1 + 4 + 2 + 4


def test_sums_of_amounts_of_any_size_are_exact_or_refused() -> None:
    rows = pl.DataFrame({"g": ["a", "a", "b"], "v": [1e16, -1e16, 1.0]})
    table = flou.Microdata(rows).tabulate("g", value="v")
    assert table.true_values.tolist() == [1.0, 0.0, 1.0]
    tiny = flou.Microdata(pl.DataFrame({"g": ["a", "a"], "v": [2.0**-500, 2.0**-500]})).tabulate("g", value="v")
    assert tiny.true_values.tolist() == [2.0**-499] * 2
    for amounts in ([1e308, 1e308], [1e308, -1e308], [math.inf, 1.0]):
        with pytest.raises(flou.FlouError, match=r"'v' holds (infinite|too large) amounts"):
            flou.Microdata(pl.DataFrame({"g": ["a", "b"], "v": amounts})).tabulate("g", value="v")
