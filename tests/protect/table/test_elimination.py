"""Suppression by Gaussian elimination: against elimination over fractions, linear programs and GaussSuppression."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.optimize import linprog
from tests.depth import examples
from tests.protect.table.exact_ranks import publish_in_turn, told

import flou
from flou.describe.table.equations import Equations, table_equations
from flou.engine.errors import Infeasible
from flou.protect.table.elimination import eliminate, find_disclosed, find_empty

#: People by occupation (15) and marital status (6), drawn for runs of GaussSuppression 1.2.3 and sdcTable 0.34.
COUNTS = """
139 167 20 12 57 15   82 101 15 4 31 5   45 63 7 4 21 0   37 57 10 5 26 3   24 49 5 1 18 3
75 113 11 3 17 6   47 62 8 3 26 3   28 41 4 3 22 3   32 42 4 4 12 3   31 34 7 6 13 3
14 38 1 1 12 1   18 33 5 1 5 1   24 29 3 2 8 0   15 24 2 3 5 2   16 29 3 2 9 2
"""
#: SuppressSmallCounts(maxN = 3, protectZeros = FALSE) suppressed these beside the 23 counts from 1 to 3.
PEER_COUNTS = {"04 4", "06 6", "09 4", "10 4", "11 5", "12 3", "14 5"}

#: Turnover by industry (20, five in each of four groups) and region (8); * where the p% rule (p = 10) holds.
TURNOVER = """
119595 142483 73897.8 63050.6 95422.1 49066 315563 25820.6
180472 73626.9 26573 32366.6 21529.5 25273 2314.4 55443.9
46320.6 15439.8 5958.9 25440.3 28031.9 18186.5 1184.2 24469.4
78090.6 10651.3 18586.9 26654.3 1119.4* 6969* 2003 3618.6
46135.5 8253 7013.2 73874.6* 4341.2* 1493.5 4330.2* 1762.1
24378.5 59070.6* 1419.1 9396.1 4387.7* 7479.5 761.2 3105.4*
47423.1 22048.4* 2112.6* 1659.6 7237.8 1430.8* 611.5* 4284.4
32843.1 5193.2* 3145.8* 3525.8 280.5* 836.2 325.7 2079.2*
12410.8 4988.7 1866.3 1249.8 2038.6* 1559 963.6 1620.2*
12620.6 62185.9* 2383.8 14181.1* 2129.4 760.4* 1159.6 5856.1*
26487 6801.4 19887.4 4469* 8461.5 0 26895.5* 293.2*
7427.5 9158.5* 917.1 36.8* 2564.6* 24.5* 7648.8* 4528*
27630.8* 3019.2* 10730.7* 0 5274.2 1497.2* 1324.1* 0
20237.6* 15405.2 7436.5 1030.5* 7239.9 2577 1900.6* 953.9*
2280.6 2164.3 11017.9* 3789.5* 5220.4 487.9* 11185.8* 4747.6*
693 2424.4* 2267.3* 2623.5* 1703.4* 2269.1* 0 2502.6
6902.2* 55079.5* 0 5371.7* 3311* 3723* 0 0
6529.4 14.5* 44* 7994.6* 208.5* 15717.2* 9251* 17202.5*
4950.2* 3220.7 543.3* 13840* 1831.4* 24536.3* 25.8* 1208.6*
3828.8* 5814.1 2208.4* 1221* 0 0 0 156.3*
"""
#: SuppressDominantCells(pPercent = 10), without and with its treatment of enterprises that are alone in a cell.
PEER_TURNOVER = {"G2 3", "G2 7", "G4 3", "03 4", "03 7", "05 6", "09 4", "15 5"}
PEER_TURNOVER_SINGLETONS = PEER_TURNOVER | {"04 7"}
#: One enterprise is alone in each of these cells, the same in the two that stand together.
ALONE = [
    ["18 3"], ["16 5"], ["15 6", "16 3"], ["08 5"], ["12 8"], ["18 5"], ["13 7"], ["19 7"], ["12 6"], ["09 8"],
    ["12 4"], ["18 2"], ["05 7"], ["16 4"], ["20 8"],
]  # fmt: skip

Flags = NDArray[np.bool_]


def largest_first(table: flou.Table, figures: NDArray[Any], primary: Flags) -> NDArray[np.int64]:
    """Candidates, the largest first; of equal ones margins first."""
    cells = np.flatnonzero(~primary)
    depth = (table.cells.codes > 0).sum(axis=1)
    return cells[np.lexsort((cells, depth[cells], -figures[cells]))]


def named(table: flou.Table) -> list[str]:
    """Cells by the finest category of each dimension."""
    return [" ".join(dim.category(n) for dim, n in zip(table.dims, codes, strict=True)) for codes in table.cells.codes]


def none(table: flou.Table) -> Flags:
    return np.zeros(table.n_cells, dtype=np.bool_)


def people() -> flou.Table:
    counts = np.array(COUNTS.split(), dtype=int).reshape(15, 6)
    rows = [(f"{i + 1:02}", f"{j + 1}") for i, j in np.ndindex(15, 6) for _ in range(counts[i, j])]
    return flou.Microdata(pl.DataFrame(rows, schema=["occ", "mar"], orient="row")).tabulate(["occ", "mar"])


def businesses() -> tuple[flou.Table, Flags]:
    figures = [line.split() for line in TURNOVER.strip().splitlines()]
    rows = [
        (f"G{i // 5 + 1}", f"{i + 1:02}", f"{j + 1}", float(figures[i][j].rstrip("*")))
        for i, j in np.ndindex(20, 8)
        if figures[i][j] != "0"
    ]
    frame = pl.DataFrame(rows, schema=["group", "ind", "reg", "turnover"], orient="row")
    table = flou.Microdata(frame).tabulate(["group>ind", "reg"], value="turnover")
    starred = {f"{i + 1:02} {j + 1}" for i, j in np.ndindex(20, 8) if figures[i][j].endswith("*")} | {"G4 7"}
    return table, np.array([name in starred for name in named(table)])


def drawn(seed: int) -> tuple[flou.Table, Flags, NDArray[np.int64], Flags, list[NDArray[np.int64]]]:
    """A small table of two or three dimensions, some nested, with rare cells, kept cells and people who are alone."""
    rng = np.random.default_rng(seed)
    n_dims, n = int(rng.integers(2, 4)), int(rng.integers(8, 40))
    columns: dict[str, Any] = {"who": 2.0 ** np.arange(n)}
    dims = []
    for j in range(n_dims):
        finest = rng.integers(0, rng.integers(2, 5 if n_dims == 2 else 4), n)
        columns[f"d{j}"], columns[f"g{j}"] = finest.astype(str), (finest // 2).astype(str)
        dims.append(f"g{j}>d{j}" if rng.random() < 0.4 else f"d{j}")
    table = flou.Microdata(pl.DataFrame(columns)).tabulate(dims, value="who")
    counts = table.true_counts
    primary = counts < rng.integers(2, 4)
    published = ~primary & (rng.random(table.n_cells) < rng.choice([0, 0.1]))
    by_size = largest_first(table, counts, primary)
    candidates = by_size if rng.random() < 0.5 else rng.permutation(by_size)
    alone: dict[float, list[int]] = {}
    if rng.random() < 0.6:
        for cell in np.flatnonzero(counts == 1):  # now and then two people share what they know
            who = table.true_values[cell]
            alone.setdefault(np.log2(who) % 7 if rng.random() < 0.3 else who, []).append(int(cell))
    return table, primary, candidates, published, [np.array(cells) for cells in alone.values()]


@examples(60)
@given(seed=st.integers(0, 10**6))
def test_the_pattern_is_the_one_of_the_definition(seed: int) -> None:
    table, primary, candidates, published, known = drawn(seed)
    equations = table_equations(table)
    matrix = equations.matrix.toarray()
    wanted = publish_in_turn(matrix, primary, candidates, published, known)
    if wanted is None:
        with pytest.raises(Infeasible, match="sensitive cells"):
            eliminate(equations, primary, candidates, published, known=known)
        return
    found = eliminate(equations, primary, candidates, published, known=known)
    assert not (found & (primary | published)).any()
    assert not told(matrix, found | primary, primary, known)
    if all(len(cells) == 1 for cells in known):
        np.testing.assert_array_equal(found, wanted)


@examples(40)
@given(seed=st.integers(0, 10**6), share=st.floats(0.1, 0.9))
def test_what_follows_is_found(seed: int, share: float) -> None:
    table, _, _, _, known = drawn(seed)
    equations = table_equations(table)
    hidden = np.random.default_rng(seed).random(table.n_cells) < share
    everywhere = ~none(table)
    found = find_disclosed(equations, hidden, known=known)
    assert set(np.flatnonzero(found)) == told(equations.matrix.toarray(), hidden, everywhere, known)


def test_the_oracle_sees_what_is_told() -> None:
    # one total of two cells: hiding one tells it, hiding both does not, unless somebody knows one of them
    matrix, both = np.array([[1, -1, -1]]), np.array([False, True, True])
    assert told(matrix, np.array([False, True, False]), both, []) == {1}
    assert told(matrix, both, both, []) == set()
    assert told(matrix, both, both, [[1]]) == {2}


@pytest.mark.parametrize("seed", range(5))
def test_the_order_of_cells_in_the_equations_is_irrelevant(seed: int) -> None:
    table, primary = businesses()
    equations = table_equations(table)
    candidates = largest_first(table, table.true_values, primary)
    wanted = eliminate(equations, primary, candidates, none(table))
    # cell c becomes cell to[c]; equations and the parts of each come in another order too
    rng = np.random.default_rng(seed)
    to = rng.permutation(table.n_cells)
    turned = rng.permutation(equations.n)
    parts = [rng.permutation(to[equations.parts[equations.starts[e] : equations.starts[e + 1]]]) for e in turned]
    moved = Equations(
        n_cells=table.n_cells,
        totals=to[equations.totals[turned]],
        starts=np.cumsum([0, *map(len, parts)]),
        parts=np.concatenate(parts),
        along=equations.along[turned],
    )
    moved_primary = none(table)
    moved_primary[to] = primary
    found = eliminate(moved, moved_primary, to[candidates], none(table))
    np.testing.assert_array_equal(found[to], wanted)


def test_counts_of_gauss_suppression() -> None:
    """Four cells, which is the optimum that sdcTable proves; GaussSuppression hides these and three more."""
    table = people()
    counts, names = table.true_counts, np.array(named(table))
    primary = counts <= 3
    assert (primary.sum(), table.n_cells) == (23, 110)
    found = eliminate(table_equations(table), primary, largest_first(table, counts, primary), none(table))
    assert found.sum() == 4
    assert set(names[found]) < PEER_COUNTS


def test_a_person_who_is_alone_computes_a_count_that_gauss_suppression_hides() -> None:
    """In occupation 05 it hides a 1 and a 3: whoever is the one subtracts himself from what is missing of the total."""
    table = people()
    equations, names = table_equations(table), np.array(named(table))
    primary = table.true_counts <= 3
    known = [np.array([cell]) for cell in np.flatnonzero(table.true_counts == 1)]
    theirs = primary | np.isin(names, sorted(PEER_COUNTS))
    assert not find_disclosed(equations, theirs, primary).any()
    assert set(names[find_disclosed(equations, theirs, primary, known=known)]) == {"05 6"}
    assert set(names[theirs & np.char.startswith(names, "05 ")]) == {"05 4", "05 6"}
    ours = eliminate(equations, primary, largest_first(table, table.true_counts, primary), none(table), known=known)
    assert ours.sum() == 7
    assert not find_disclosed(equations, ours | primary, primary, known=known).any()


def test_amounts_of_gauss_suppression() -> None:
    """The same cells, with and without enterprises that are alone."""
    table, primary = businesses()
    equations, names = table_equations(table), np.array(named(table))
    assert (primary.sum(), table.n_cells) == (74, 215)
    candidates = largest_first(table, table.true_values, primary)
    found = eliminate(equations, primary, candidates, none(table))
    assert set(names[found]) == PEER_TURNOVER
    known = [np.flatnonzero(np.isin(names, cells)) for cells in ALONE]
    assert find_disclosed(equations, found | primary, primary, known=known).sum() == 1
    assert set(names[eliminate(equations, primary, candidates, none(table), known=known)]) == PEER_TURNOVER_SINGLETONS


def test_hidden_cells_that_are_not_empty_have_room_on_both_sides() -> None:
    """Figures are not negative, and that tells nothing exactly as long as no hidden cell is empty."""
    table, primary = businesses()
    equations, figures = table_equations(table), table.true_values
    hidden = primary | eliminate(equations, primary, largest_first(table, figures, primary), none(table))
    cells = np.flatnonzero(hidden)
    left = equations.matrix[:, cells]
    for cell in np.flatnonzero(primary):
        goal = (cells == cell).astype(float)
        low, high = (
            linprog(sign * goal, A_eq=left, b_eq=left @ figures[cells], bounds=(0, None), method="highs")
            for sign in (1, -1)
        )
        assert low.fun < figures[cell] * (1 - 1e-4) < figures[cell] * (1 + 1e-4) < -high.fun


def test_parts_of_an_empty_cell_are_no_help() -> None:
    # rows a and b, columns 1 and 2; column 2 of row b is hidden as sensitive, and the total of row a is shown as zero
    rows, columns = ["a", "b", "Total"], ["1", "2", "Total"]
    counts = {"r": np.repeat(rows, 3), "c": columns * 3, "count": [0, 0, 0, 5, 1, 6, 5, 1, 6]}
    table = flou.Table.from_frame(pl.DataFrame(counts), ["r", "c"])
    equations, names = table_equations(table), np.array(named(table))
    primary, empty = names == "b 2", names == "a Total"
    assert set(names[find_empty(equations, empty)]) == {"a Total", "a 1", "a 2"}
    candidates = largest_first(table, table.true_counts, primary)
    linear = eliminate(equations, primary, candidates, empty)
    assert (linear & (table.true_counts == 0)).any()  # hides zeros, which everybody knows
    found = eliminate(equations, primary, candidates, empty, zeros=empty)
    assert not (found & (table.true_counts == 0)).any()


def test_what_cannot_be_protected_is_refused() -> None:
    table, primary = businesses()
    equations = table_equations(table)
    nothing = np.zeros(0, dtype=np.int64)
    with pytest.raises(Infeasible, match="whatever else is suppressed"):
        eliminate(equations, primary, nothing, none(table))
    with pytest.raises(Infeasible, match="74 sensitive cells are published"):
        eliminate(equations, primary, largest_first(table, table.true_values, primary), primary)


def test_someone_who_is_alone_in_several_cells() -> None:
    # a row of four cells: each of the two that he knows tells nothing, both together tell the third
    frame = pl.DataFrame({"r": [*"abcd", "Total"], "count": [1, 1, 3, 9, 14]})
    table = flou.Table.from_frame(frame, ["r"])
    equations, names = table_equations(table), np.array(named(table))
    primary = table.true_counts <= 3
    candidates = largest_first(table, table.true_counts, primary)
    apart = [np.flatnonzero(names == "a"), np.flatnonzero(names == "b")]
    assert not eliminate(equations, primary, candidates, none(table), known=apart).any()
    together = [np.concatenate(apart)]
    found = eliminate(equations, primary, candidates, none(table), known=together)
    assert set(names[found]) == {"d"}


@pytest.mark.parametrize("turned", [False, True])
def test_a_cell_that_two_people_know(turned: bool) -> None:
    # a row of two cells: who knows both learns nothing, who knows the first alone learns the second
    frame = pl.DataFrame({"r": [*"abc", "Total"], "count": [1, 2, 9, 12]})
    table = flou.Table.from_frame(frame, ["r"])
    names = np.array(named(table))
    primary = table.true_counts <= 2
    known = [np.flatnonzero(names == "a"), np.flatnonzero(primary)]
    candidates = largest_first(table, table.true_counts, primary)
    found = eliminate(table_equations(table), primary, candidates, none(table), known=known[:: -1 if turned else 1])
    assert set(names[found]) == {"c"}


def test_nothing_to_protect_hides_nothing() -> None:
    table, _ = businesses()
    equations = table_equations(table)
    assert not eliminate(equations, none(table), np.arange(table.n_cells), none(table)).any()
