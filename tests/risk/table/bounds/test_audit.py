"""The audit of suppressed tables against an intruder who is written independently, on patterns that are too weak."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from tests.depth import examples
from tests.protect.table.intruder import Dims, Intruder, contributions, key_of, lone_cells, others_part, text_of

import flou
from flou.describe.table.apriori import Apriori
from flou.describe.table.cells import Published
from flou.describe.table.equations import table_equations
from flou.describe.table.subtables import Subtables
from flou.describe.table.suppression import Audit
from flou.risk.table.bounds.audit import Singletons, audit
from flou.risk.table.bounds.lone import lone_contributors
from flou.risk.table.bounds.sides import Intervals, make_sides
from flou.risk.table.primary_rule import PrimaryRule

Mask = NDArray[np.bool_]
SHAPES: dict[str, Dims] = {
    "one dimension": [[["town"]]],
    "two dimensions": [[["town"]], [["sex"]]],
    "nested": [[["region", "town"]], [["sex"]]],
}


def _audited(
    table: flou.Table,
    rule: PrimaryRule,
    hidden: Mask,
    intervals: Intervals = "levels",
    singletons: Singletons = "levels",
) -> Audit:
    equations, sensitive = table_equations(table), rule.sensitive(table)
    sides = make_sides(
        table, equations, sensitive, Apriori.none(table.n_cells), show="auto", intervals=intervals, hides_zeros=False
    )
    lone = lone_contributors(table, equations)
    return audit(table, table_equations(table), sides, lone, hidden, sensitive.cells, Subtables(table), singletons)


def _public(table: flou.Table, hidden: Mask) -> list[dict[str, Any]]:
    counted = table.cells.value is None
    shown = Published(table.true_counts, table.cells.value, hidden, counted=counted)
    lines: list[dict[str, Any]] = table.with_changes(published=shown).public().to_frame().to_dicts()
    return lines


@examples(60)
@given(
    seed=st.integers(0, 10**6),
    shape=st.sampled_from(sorted(SHAPES)),
    counted=st.booleans(),
    intervals=st.sampled_from(["levels", "sliding", "exact"]),
    singletons=st.sampled_from(["levels", "off"]),
    planted=st.booleans(),
)
def test_it_finds_what_an_intruder_finds_and_nothing_else(
    seed: int, shape: str, counted: bool, intervals: Any, singletons: Any, planted: bool
) -> None:
    rng, dims = np.random.default_rng(seed), SHAPES[shape]
    n = int(rng.choice([8, 20, 40]))
    town = rng.choice(5, n, p=rng.dirichlet(np.ones(5)))
    frame = pl.DataFrame(
        {
            "region": [f"r{t % 2}" for t in town],
            "town": [f"t{t}" for t in town],
            "basin": [f"b{b}" for b in rng.integers(0, 3, n)],
            "sex": [("f", "m")[s] for s in rng.integers(0, 2, n)],
            "amount": rng.lognormal(3, 1, n).round(2),
            "number": np.arange(n),
        }
    )
    columns = sorted({c for dim in dims for zoning in dim for c in zoning})
    table = flou.Microdata(frame, keys=columns).tabulate(text_of(dims), value=None if counted else "amount")
    size = int(rng.integers(2, 7))
    rule: PrimaryRule = flou.risk.Threshold(n=size) if counted else flou.risk.PPercent(p=8 * size)
    sensitive = rule.sensitive(table)
    hidden = sensitive.cells | (rng.random(table.n_cells) < rng.random())
    if planted:
        try:
            method = flou.protect.CellSuppression([rule], intervals=intervals, singletons=singletons)
            found = method.protect(table).data.suppression
        except flou.Infeasible:
            return
        assert found is not None
        hidden = found.hidden.copy()
        secondary = np.flatnonzero(hidden & ~sensitive.cells)
        if len(secondary):
            hidden[rng.choice(secondary)] = False
    told = set(_audited(table, rule, hidden, intervals, singletons).findings["cell"].to_list())
    figure = "count" if counted else "value"
    intruder = Intruder(_public(table, hidden), dims, figure, least=1.0 if counted else 0.0)
    figures = table.true_counts.astype(float) if counted else table.true_values
    keys = [key_of(line, dims) for line in table.labels().to_dicts()]
    true = dict(zip(keys, figures.tolist(), strict=True))
    levels = sensitive.levels[figure]
    everybody: list[set[Any]] = [set()]
    inside = contributions(frame.to_dicts(), dims)
    if singletons == "levels":
        everybody += lone_cells(inside, intruder.withheld, "number")
    too_close, close = set(), set()
    for own in everybody:
        for cell in np.flatnonzero(sensitive.cells).tolist():
            key = keys[cell]
            if key in own:
                continue
            low, high = intruder.bounds(key, {k: true[k] for k in own})
            part = 1.0 if counted else others_part(inside[key], own, inside, "number")
            above, below = levels.upper[cell] * part, levels.lower[cell] * part
            if intervals == "levels":
                short, asked = max(true[key] + above - high, low - true[key] + below), max(above, below)
            else:
                asked = above + below if intervals == "sliding" else (1.0 if counted else 1e-3 * true[key] * part)
                short = asked - (high - low)
            lost = 1e-4 * asked + 1e-8 * float(np.abs(figures).max())
            if short > lost:
                too_close.add(cell)
            if short > -lost:
                close.add(cell)
    assert too_close <= told
    assert told <= close


def _square(**hidden: bool) -> tuple[flou.Table, Mask]:
    """Two rows, three columns, with their totals: 3 | 5 | 8, 6 | 20 | 30."""
    rows = {("a", "x"): 3, ("a", "y"): 5, ("a", "z"): 8, ("b", "x"): 6, ("b", "y"): 20, ("b", "z"): 30}
    cells = dict(rows)
    for r in "ab":
        cells[r, "Total"] = sum(v for (a, _), v in rows.items() if a == r)
    for s in "xyz":
        cells["Total", s] = sum(v for (_, b), v in rows.items() if b == s)
    cells["Total", "Total"] = sum(rows.values())
    table = flou.Table.from_frame(
        pl.DataFrame([(*k, v) for k, v in cells.items()], schema=["r", "s", "count"], orient="row"), ["r", "s"]
    )
    names = ["".join(row) for row in table.labels().rows()]
    return table, np.array([hidden.get(name, False) for name in names])


def test_a_square_protects_and_three_corners_do_not() -> None:
    rule = flou.risk.Threshold(n=5)
    table, hidden = _square(ax=True, ay=True, bx=True, by=True)
    found = _audited(table, rule, hidden)
    assert (found.n_primary, found.n_disclosed, found.findings.height) == (1, 0, 0)
    for left_out in ("ay", "bx", "by"):
        table, hidden = _square(**{name: name != left_out for name in ("ax", "ay", "bx", "by")})
        found = _audited(table, rule, hidden)
        assert (found.n_exact, found.n_narrow) == (1, 0)
        (line,) = found.findings.to_dicts()
        assert (line["low"], line["high"], line["by"], line["needed_high"]) == (3, 3, "an outsider", 5)


def test_bounds_that_are_too_narrow_are_told_with_what_is_needed() -> None:
    table, hidden = _square(ax=True, ay=True, bx=True, by=True)
    # a × y may fall from 5 to 1, so a × x rises to 7, and no further
    assert _audited(table, flou.risk.Threshold(n=5), hidden).n_disclosed == 0
    found = _audited(table, flou.risk.Threshold(n=9), hidden | _square(az=True)[1])
    lines = {line["cell"]: line for line in found.findings.to_dicts()}
    assert found.n_exact >= 1
    rows = table.labels().rows()
    az = rows.index(("a", "z"))
    assert lines[az]["kind"] == "exact"
    assert lines[az]["low"] == lines[az]["high"] == 8


@pytest.mark.parametrize(("others", "n_narrow"), [(9, 1), (10, 0)])
def test_a_sliding_width_is_the_sum_of_both_levels(others: int, n_narrow: int) -> None:
    """The firm of 100 asks for 10 on either side; b × y lets a × x fall by 10, and b × x lets it rise by what it has."""
    firms = {"ax": [100.0], "ay": [10.0] * 10, "bx": [1.0] * others, "by": [1.0] * 10, "cx": [9.0] * 9, "cy": [9.0] * 9}
    rows = [(*name, amount) for name, amounts in firms.items() for amount in amounts]
    frame = pl.DataFrame(rows, schema=["r", "s", "amount"], orient="row")
    table = flou.Microdata(frame, keys=["r", "s"]).tabulate(["r", "s"], value="amount")
    hidden = np.array(["".join(row) in ("ax", "ay", "bx", "by") for row in table.labels().rows()])
    found = _audited(table, flou.risk.PPercent(p=10), hidden, "sliding", "off")
    assert (found.n_primary, found.n_exact, found.n_narrow) == (1, 0, n_narrow)


def test_a_sensitive_cell_that_is_shown_is_disclosed() -> None:
    table, hidden = _square()
    found = _audited(table, flou.risk.Threshold(n=5), hidden)
    assert (found.n_exact, found.n_disclosed) == (1, 1)


def test_two_who_are_alone_compute_each_other() -> None:
    frame = pl.DataFrame({"g": ["a", "b", *"c" * 9], "v": [10.0, 20.0, *[5.0] * 9]})
    table = flou.Microdata(frame, keys=["g"]).tabulate(["g"], value="v")
    hidden = np.array([False, True, True, False])
    rule = flou.risk.PPercent(p=10)
    found = _audited(table, rule, hidden)
    assert (found.n_exact, found.n_attackers) == (2, 3)
    assert set(found.findings["by"]) == {"who is alone in a", "who is alone in b"}
    assert _audited(table, rule, hidden, singletons="exact").n_exact == 2
    assert _audited(table, rule, hidden, singletons="off").n_disclosed == 0
    assert _audited(table, rule, np.array([False, True, True, True])).n_disclosed == 0


def test_who_is_alone_in_nested_cells_is_one_person() -> None:
    frame = pl.DataFrame({"r": ["n", *"s" * 9], "t": ["n1", *["s1"] * 4, *["s2"] * 5], "v": [7.0] * 10})
    table = flou.Microdata(frame, keys=["r", "t"]).tabulate(["r>t"], value="v")
    lone = lone_contributors(table, table_equations(table))
    assert [sorted(table.labels().rows()[c] for c in cells) for cells in lone] == [[("n", "Total"), ("n", "n1")]]


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e6, 1e9])
@pytest.mark.parametrize("intervals", ["levels", "sliding", "exact"])
def test_the_unit_of_amounts_does_not_change_the_verdict(scale: float, intervals: Any) -> None:
    amounts = np.array([107.9, 12.3, 40.1, 55.5]) * scale
    frame = pl.DataFrame({"g": ["Total", "a", "b", "c"], "count": [30, 3, 10, 17], "v": amounts})
    table = flou.Table.from_frame(frame, ["g"], value="v")
    rule = flou.risk.Threshold(n=5)
    alone, two = np.array([False, True, False, False]), np.array([False, True, True, False])
    assert _audited(table, rule, alone, intervals).n_exact == 1
    assert _audited(table, rule, two, intervals).n_disclosed == 0
