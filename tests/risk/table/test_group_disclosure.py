"""Group disclosure: found by going through the groups, and hidden, by listing every table that fits what is published."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from tests.depth import examples

import flou
from flou.engine.errors import DataError

Rule = flou.risk.GroupDisclosure
Labels = list[tuple[str, ...]]


def table_of(counts: NDArray[Any], towns: str = "pq", health: str = "xyz", **options: Any) -> flou.Table:
    """A table of towns by states of health with these counts, all cells listed."""
    rows = [(t, h) for i, t in enumerate(towns) for j, h in enumerate(health) for _ in range(int(counts[i, j]))]
    data = flou.Microdata(
        pl.DataFrame(rows, schema=["town", "health"], orient="row"),
        keys=["town", "health"],
        modalities={"town": list(towns), "health": list(health)},
        **options,
    )
    return data.tabulate(["town", "health"], cells="all")


def asked(rule: Rule, table: flou.Table) -> dict[tuple[str, ...], tuple[float, float]]:
    """The levels of the sensitive cells, below and above, by label."""
    found = rule.sensitive(table)
    held = found.levels["count"]
    return {
        label: (float(held.lower[i]), float(held.upper[i]))
        for i, label in enumerate(table.labels().iter_rows())
        if found.cells[i]
    }


def test_everybody_has_one_state_of_health() -> None:
    table = table_of(np.array([[0, 7, 0], [3, 2, 4]]))
    assert asked(Rule("health"), table) == {("p", "y"): (1, 0), ("p", "x"): (0, 1)}
    # and the other way round: whoever is x, or z, lives in q
    assert asked(Rule("town"), table) == {
        ("q", "x"): (1, 0),
        ("p", "x"): (0, 1),
        ("q", "z"): (1, 0),
        ("p", "z"): (0, 1),
    }
    assert asked(Rule("health", outsiders=1), table) == {("p", "y"): (2, 0), ("p", "x"): (0, 2)}


def test_all_but_one() -> None:
    """The one who is elsewhere knows of everybody else."""
    table = table_of(np.array([[0, 7, 1], [3, 2, 4]]))
    assert asked(Rule("health"), table) == {}
    assert asked(Rule("health", outsiders=1), table) == {("p", "y"): (1, 0), ("p", "x"): (0, 2)}
    full = table_of(np.array([[7, 1], [3, 4]]), health="xy")
    # without an empty cell beside it, the outsiders' own cell must be able to rise
    assert asked(Rule("health", outsiders=1), full) == {("p", "x"): (1, 0), ("p", "y"): (0, 1)}


def test_a_group_no_larger_than_the_outsiders() -> None:
    """More outsiders than there are people cannot be: that all may be elsewhere is enough."""
    table = table_of(np.array([[0, 1, 0], [3, 2, 4]]))
    assert asked(Rule("health", outsiders=3), table) == {("p", "y"): (1, 0), ("p", "x"): (0, 1)}
    both = table_of(np.array([[1, 1], [9, 9]]), health="xy")
    assert asked(Rule("health", outsiders=1), both) == {("p", "x"): (1, 1), ("p", "y"): (1, 1)}


@examples(60)
@given(counts=st.lists(st.integers(0, 3), min_size=6, max_size=6).filter(any), outsiders=st.integers(0, 3))
def test_more_outsiders_never_free_a_cell(counts: list[int], outsiders: int) -> None:
    table = table_of(np.array(counts).reshape(2, 3))
    few, many = Rule("health", outsiders=outsiders), Rule("health", outsiders=outsiders + 1)
    fewer, more = asked(few, table), asked(many, table)
    assert {c for c, (low, _) in fewer.items() if low} <= {c for c, (low, _) in more.items() if low}


@examples(60)
@given(counts=st.lists(st.integers(0, 4), min_size=6, max_size=6).filter(any), outsiders=st.integers(0, 2))
def test_groups_one_by_one(counts: list[int], outsiders: int) -> None:
    held = np.array(counts).reshape(2, 3)
    expected = set()
    for town, row in (("p", held[0]), ("q", held[1]), ("Total", held.sum(axis=0))):
        expected |= {(town, h) for h, c in zip("xyz", row, strict=True) if c and row.sum() - c <= outsiders}
    found = asked(Rule("health", outsiders=outsiders), table_of(held))
    assert {cell for cell, (low, _) in found.items() if low} == expected
    towns = [town for town, _ in expected]
    assert {cell[0] for cell, (_, high) in found.items() if high} == set(towns), "each has one beside it that can rise"


def test_structural_zeros_tell_nothing() -> None:
    counts = np.array([[7, 0, 0], [3, 2, 4]])
    nowhere_else = [{"town": "p", "health": "y"}, {"town": "p", "health": "z"}]
    assert asked(Rule("health"), table_of(counts, incoherent=nowhere_else)) == {}
    assert asked(Rule("health"), table_of(counts, incoherent=nowhere_else[:1])) == {
        ("p", "x"): (1, 0),
        ("p", "z"): (0, 1),
    }


def test_levels_of_a_nomenclature() -> None:
    """Inside a chapter everybody has one illness; below a chapter that nobody is in, one illness must rise with it."""
    codes = [("C1", "a"), ("C1", "b"), ("C2", "c"), ("C2", "d")]
    rows = [("p", *codes[0])] * 4 + [("q", *codes[i % 4]) for i in range(8)]
    frame = pl.DataFrame(rows, schema=["town", "chapter", "illness"], orient="row")
    table = flou.Microdata(frame).tabulate(["town", "chapter>illness"], cells="all")
    # of a table from records the cells of chapters and illnesses that do not go together are not there
    found = asked(Rule("illness"), table)
    assert found[("p", "C1", "Total")] == (1, 0)
    assert found[("p", "C1", "a")] == (1, 0)
    assert found[("p", "C1", "b")] == (0, 1)
    assert found[("p", "C2", "Total")] == (0, 1)
    assert found[("p", "C2", "c")] == (0, 1), "an empty chapter rises only with one of its illnesses"
    assert len(found) == 5
    assert asked(Rule("chapter"), table) == found
    with pytest.raises(DataError, match="margins=True"):
        Rule("illness").sensitive(flou.Microdata(frame).tabulate(["town", "chapter>illness"], margins=False))


def test_amounts_need_as_much_as_the_people() -> None:
    frame = pl.DataFrame({"town": ["p"] * 4 + ["q"] * 2, "health": [*"xxxx", *"xy"], "v": [10.0] * 4 + [30.0, 30.0]})
    table = flou.Microdata(frame).tabulate(["town", "health"], cells="all", value="v")
    found = Rule("health").sensitive(table)
    labels = list(table.labels().iter_rows())
    assert found.levels["value"].lower[labels.index(("p", "x"))] == 10
    assert found.levels["value"].upper[labels.index(("p", "y"))] == pytest.approx(100 / 6), "one of the table's mean"


def test_what_cannot_be_hidden_is_refused() -> None:
    frame = pl.DataFrame({"town": [*"ppq"], "health": [*"xxy"], "w": [1.0, 2.0, 3.0]})
    data = flou.Microdata(frame)
    with pytest.raises(DataError, match=r'2 groups .* cells="all"'):
        Rule("health").measure(data.tabulate(["town", "health"]))
    with pytest.raises(DataError, match="sample"):
        Rule("health").measure(data.tabulate(["town", "health"], cells="all", weight="w"))
    with pytest.raises(DataError, match="Did you mean 'health'"):
        Rule("helth").measure(data.tabulate(["town", "health"], cells="all"))
    # where every cell is occupied there is nothing to list
    assert Rule("health").measure(data.tabulate(["health"])).n_sensitive == 0


# Every table that fits: two towns by three states of health, at most seven people.

INNER = np.array([c for c in product(range(8), repeat=6) if sum(c) <= 7]).reshape(-1, 2, 3)


def with_margins(inner: NDArray[Any]) -> NDArray[Any]:
    """Towns p, q and the total, by x, y, z and the total."""
    rows = np.concatenate([inner, inner.sum(axis=-2, keepdims=True)], axis=-2)
    return np.concatenate([rows, rows.sum(axis=-1, keepdims=True)], axis=-1)


EVERY = with_margins(INNER)
PLACE = {(t, h): (i, j) for i, t in enumerate(["p", "q", "Total"]) for j, h in enumerate(["x", "y", "z", "Total"])}


def fitting(true: NDArray[Any], hidden: NDArray[np.bool_]) -> NDArray[Any]:
    """All tables that agree with what is shown."""
    return EVERY[(hidden | (true == EVERY)).all(axis=(1, 2))]


def holds_levels(fits: NDArray[Any], true: NDArray[Any], levels: dict[Any, tuple[float, float]]) -> bool:
    for cell, (lower, upper) in levels.items():
        at = PLACE[cell]
        seen = fits[:, at[0], at[1]]
        if seen.min() > true[at] - lower or seen.max() < true[at] + upper:
            return False
    return True


def is_disclosed(fits: NDArray[Any], true: NDArray[Any], cell: tuple[str, ...], outsiders: int) -> bool:
    """Whether all that fit have the group in this category, but for as few as makes no difference."""
    i, j = PLACE[cell]  # type: ignore[index]
    most = min(outsiders + 1, int(true[i, 3]))
    return bool((fits[:, i, 3] - fits[:, i, j] < most).all())


def test_a_pattern_by_hand() -> None:
    true = with_margins(np.array([[0, 3, 0], [1, 2, 1]]))
    levels = asked(Rule("health"), table_of(true[:2, :3]))
    assert levels == {("p", "y"): (1, 0), ("p", "x"): (0, 1)}
    rectangle = np.zeros((3, 4), dtype=np.bool_)
    for cell in (("p", "x"), ("p", "y"), ("q", "x"), ("q", "y")):
        rectangle[PLACE[cell]] = True
    fits = fitting(true, rectangle)
    assert holds_levels(fits, true, levels)
    assert not is_disclosed(fits, true, ("p", "y"), 0)
    # to withhold the cell with its margins hides how many they are, not that all of them are alike
    margins = np.zeros((3, 4), dtype=np.bool_)
    for cell in (("p", "y"), ("p", "Total"), ("q", "y"), ("q", "Total")):
        margins[PLACE[cell]] = True
    fits = fitting(true, margins)
    assert len(fits) > 1
    assert is_disclosed(fits, true, ("p", "y"), 0)
    assert not holds_levels(fits, true, levels), "the levels refuse what does not protect"


@pytest.mark.parametrize("outsiders", [0, 1])
def test_levels_that_hold_leave_no_group_disclosed(outsiders: int) -> None:
    """Patterns at random: wherever the levels of all sensitive cells hold, nobody can tell of a whole group."""
    rng = np.random.default_rng(outsiders)
    n_held = n_leaks = 0
    for _ in range(400):
        inner = rng.multinomial(rng.integers(2, 5), np.array([0.02, 0.45, 0.03, 0.25, 0.2, 0.05])).reshape(2, 3)
        true = with_margins(inner)
        levels = asked(Rule("health", outsiders=outsiders), table_of(inner))
        disclosing = [cell for cell, (lower, _) in levels.items() if lower]
        if not disclosing:
            continue
        hidden = rng.random((3, 4)) < rng.choice([0.3, 0.75])
        for cell in levels:
            hidden[PLACE[cell]] = True  # type: ignore[index]
        fits = fitting(true, hidden)
        if holds_levels(fits, true, levels):
            n_held += 1
            assert not any(is_disclosed(fits, true, cell, outsiders) for cell in disclosing)
        else:
            n_leaks += any(is_disclosed(fits, true, cell, outsiders) for cell in disclosing)
    assert n_held > 20, "the check was made"
    assert n_leaks > 20, "and could have failed"
