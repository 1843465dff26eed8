"""Inference from zeros, and groups that a table shows in one category alone."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import numpy as np
import polars as pl
import pytest

import flou

Z = flou.risk.ZeroInference
T = flou.TransitionMatrix
SECRET = flou.Secret(bytes(range(32)))


def people(n: int = 400, seed: int = 3) -> flou.Microdata:
    rng = np.random.default_rng(seed)
    frame = pl.DataFrame(
        {
            "pid": np.arange(n),
            "town": rng.choice([f"t{i}" for i in range(25)], n),
            "sex": rng.choice(["f", "m"], n),
            "job": rng.choice(["a", "b", "c", "d"], n, p=[0.7, 0.2, 0.08, 0.02]),
        }
    )
    return flou.Microdata(frame, id="pid")


def table(**options: Any) -> flou.Table:
    return flou.record_keys(people(), secret=SECRET).tabulate(["town", "sex", "job"], **options)


def test_a_published_zero_by_hand() -> None:
    matrix, counts = T(3, 2, 1), pl.DataFrame({"i": [0, 1, 2, 3, 9], "N": [50, 20, 10, 5, 15]})
    dense = matrix.dense(9)
    joint = {i: n * dense[i, 0] for i, n in zip(counts["i"], counts["N"], strict=True)}
    found = Z(categories=4).measure(matrix, counts=counts)
    assert found.value == pytest.approx(joint[0] / sum(joint.values()), abs=1e-12)
    assert found.group == pytest.approx(found.value**3)
    assert found.published == pytest.approx(sum(joint.values()) / 100)
    assert found.by_count["q_ij"].sum() == pytest.approx(1)


def test_counts_without_their_zeros_are_refused() -> None:
    """They would make every published zero look false."""
    with pytest.raises(flou.FlouError, match="i = 0"):
        Z().measure(T(3, 2, 1), counts=pl.DataFrame({"i": [1, 2], "N": [3, 4]}))


def longhand(frame: pl.DataFrame, dims: dict[str, int], shown: str) -> set[tuple[Any, ...]]:
    """Rows of a table of flat dimensions with exactly one category above zero, by going through them."""
    found = set()
    for dim, size in dims.items():
        others = [d for d in dims if d != dim]
        rows: dict[tuple[Any, ...], list[str]] = defaultdict(list)
        for line in frame.iter_rows(named=True):
            if line[dim] != "Total" and line[shown] != 0:
                rows[tuple(line[o] for o in others)].append(line[dim])
        if size >= 2:
            found |= {(dim, *row) for row, held in rows.items() if len(held) == 1}
    return found


@pytest.mark.parametrize("cells", ["occupied", "all"])
@pytest.mark.parametrize("margins", [True, False])
def test_groups_of_a_table_by_hand(cells: str, margins: bool) -> None:
    original = table(cells=cells, margins=margins)
    release = flou.protect.CellKey(D=4, V=3, js=1).protect(original)
    found = Z().measure(release)
    lines = release.data.to_frame(reveal=True)
    dims = {"town": 25, "sex": 2, "job": 4}
    shown, true = longhand(lines, dims, "count"), longhand(lines, dims, "true_count")
    assert found.n_groups == len(shown) > 0
    assert found.n_true_groups == len(shown & true) > 0
    assert found.n_true_groups < found.n_groups
    everything = original.histogram()[1].sum()
    zeros = everything - (lines["count"] != 0).sum()
    assert found.n_zeros == zeros
    assert found.true_zeros == pytest.approx(original.histogram()[1][0] / zeros)
    # what was expected of the zeros is about what was found
    assert found.value == pytest.approx(found.true_zeros, abs=0.1)


def test_without_noise_every_zero_is_true() -> None:
    found = Z().measure(table())
    assert found.value == found.true_zeros == found.group == 1
    assert found.n_groups == found.n_true_groups > 0
    assert found.measured_on == "original"


def test_a_hierarchy_has_its_own_families() -> None:
    """Departments are compared with those of their region, not with all."""
    rows = [("r1", "d1", "f"), ("r1", "d2", "f"), ("r2", "d3", "f"), ("r2", "d3", "m")]
    frame = pl.DataFrame(rows, schema=["region", "department", "sex"], orient="row")
    held = flou.Microdata(frame).tabulate(["region>department", "sex"])
    found = Z().measure(held)
    # by sex: r1, d1, d2 (all women). By place: men of all in r2. d3 is the only department of r2: it says nothing.
    assert found.n_groups == found.n_true_groups == 4


def test_structural_zeros_are_no_disclosure() -> None:
    frame = pl.DataFrame(
        {"age": ["child", "child", "adult", "adult"], "state": ["single", "single", "single", "married"]}
    )
    roles: dict[str, Any] = {
        "keys": ["age", "state"],
        "modalities": {"age": ["child", "adult"], "state": ["single", "married"]},
    }
    plain = flou.Microdata(frame, **roles).tabulate(["age", "state"], cells="all")
    ruled = flou.Microdata(frame, **roles, incoherent=[{"age": "child", "state": "married"}])
    # every child is single: a disclosure, unless nobody could be anything else; married people are all adults, too
    assert Z().measure(plain).n_groups == 2
    assert Z().measure(ruled.tabulate(["age", "state"], cells="all")).n_groups == 0


def test_sets_of_tables_are_pooled() -> None:
    keyed = flou.record_keys(people(), secret=SECRET)
    both = flou.tabulate_many(keyed, [["town", "sex"], ["town", "job"]])
    release = flou.protect.CellKey(D=4, V=3, js=1).protect(both)
    found = Z().measure(release)
    each = [Z().measure(t) for t in release.data.tables]
    assert found.n_zeros == sum(e.n_zeros for e in each)
    assert found.n_groups == sum(e.n_groups for e in each)
    assert found.measured_on == "release"
