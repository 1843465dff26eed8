"""Ways by which suppressed tables once gave cells away, or audits were wrong: none of them may come back."""

from __future__ import annotations

import itertools
import json
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from tests.protect.table.intruder import Intruder

import flou
from flou.describe.table.apriori import Apriori
from flou.describe.table.cells import Published
from flou.describe.table.equations import table_equations
from flou.describe.table.subtables import Subtables
from flou.describe.table.suppression import State
from flou.engine.errors import DataError, FlouError
from flou.risk.table.bounds.audit import audit
from flou.risk.table.bounds.sides import make_sides
from flou.risk.table.primary_rule import Sensitive

FIVE = [flou.risk.Threshold(n=5)]


def _safe(table, dims, key, n=5, **options):
    """Refused, or no closer than n."""
    try:
        data = flou.protect.CellSuppression(FIVE, **options).protect(table).data
    except FlouError:
        return True
    return Intruder(data.public().to_frame().to_dicts(), dims, "count", least=1.0).bounds(key)[1] >= n


def test_zonings_without_margins():
    f = pl.DataFrame({"region": ["a"] * 2 + ["b"] * 9 + ["c"] * 9, "area": ["x"] * 10 + ["y"] * 10})
    table = flou.Microdata(f, keys=["region", "area"]).tabulate(["region|area"], margins=False)
    assert _safe(table, [[["region"], ["area"]]], (("a", "Total"),))


def test_a_level_that_is_not_listed():
    f = pl.DataFrame(
        {"r": ["Total", "A", "A", "B", "B"], "d": ["Total", "a1", "a2", "b1", "b2"], "count": [42, 2, 20, 10, 10]}
    )
    assert _safe(flou.Table.from_frame(f, ["r>d"]), [[["r", "d"]]], (("A", "a1"),))


def test_margins_that_are_not_listed():
    rows = [("Total", "Total", 62), ("a", "x", 2), ("a", "y", 20), ("b", "x", 20), ("b", "y", 20)]
    f = pl.DataFrame(rows, schema=["r", "s", "count"], orient="row")
    assert _safe(flou.Table.from_frame(f, ["r", "s"]), [[["r"]], [["s"]]], (("a",), ("x",)))


def test_zonings_that_nest_in_fact():
    f = pl.DataFrame({"area": ["a1"] * 12 + ["a2"] * 12, "zone": ["b1"] * 2 + ["b2"] * 10 + ["b3"] * 6 + ["b4"] * 6})
    try:
        release = flou.protect.CellSuppression(FIVE).protect(
            flou.Microdata(f, keys=["area", "zone"]).tabulate(["area|zone"])
        )
    except FlouError:
        return
    shown = {(r["area"], r["zone"]): r["count"] for r in release.data.to_frame().to_dicts()}
    warned = any("zoning" in str(note) for step in release.steps for note in step.notes)
    assert warned or shown["a1", "Total"] is None or shown["Total", "b2"] is None


def test_counts_in_three_dimensions():
    rng = np.random.default_rng(1)
    f = pl.DataFrame({c: rng.choice(list(w), 400) for c, w in (("a", "abcdefgh"), ("b", "uvwxyz"), ("c", "rst"))})
    flou.protect.CellSuppression(FIVE).protect(flou.Microdata(f, keys=["a", "b", "c"]).tabulate(["a", "b", "c"]))


def test_bounds_add_to_what_is_known():
    table = flou.Table.from_frame(pl.DataFrame({"g": ["Total", "a", "b", "c"], "count": [24, 3, 2, 19]}), ["g"])
    said = [("b", "safe"), ("c", "keep"), ("Total", "keep")]
    said = ({"g": "b", "action": "bounds", "first": 0}, *({"g": g, "action": a} for g, a in said))
    assert _safe(table, [[["g"]]], (("a",),), apriori=said)


def test_a_list_is_a_list():
    flou.protect.CellSuppression(FIVE, apriori=[{"g": "c", "action": "keep"}])


@pytest.mark.parametrize("cells", [[10**9], [-1], [1.5]])
def test_numbers_of_a_state_file(cells, tmp_path):
    table = flou.Table.from_frame(pl.DataFrame({"g": ["Total", *"abc"], "count": [24, 3, 10, 11]}), ["g"])
    file = tmp_path / "s.json"
    with pytest.raises(flou.Infeasible):
        flou.protect.CellSuppression(FIVE, seconds=1e-9, state=str(file)).protect(table)
    file.write_text(json.dumps({**json.loads(file.read_text()), "suppressed": cells}))
    with pytest.raises(DataError):
        flou.protect.CellSuppression(FIVE, state=str(file)).protect(table)


def test_a_kept_cell_is_not_suppressed_by_a_state(tmp_path):
    table = flou.Table.from_frame(pl.DataFrame({"g": ["Total", *"abcd"], "count": [41, 3, 10, 11, 17]}), ["g"])
    file = tmp_path / "s.json"
    with pytest.raises(flou.Infeasible):
        flou.protect.CellSuppression(FIVE, seconds=1e-9, state=str(file)).protect(table)
    # as a search that had come further would have left it: b is suppressed
    file.write_text(json.dumps({**json.loads(file.read_text()), "suppressed": [2]}))
    try:
        data = (
            flou.protect.CellSuppression(FIVE, state=str(file), apriori=({"g": "b", "action": "keep"},))
            .protect(table)
            .data
        )
    except DataError:
        return
    assert data.status[2] == "published"


#: A way to change 17 cells of a 3 × 3 × 3 table so that all margins stay, with a 2 in it.
CIRCUIT = {
    (1, 1, 1): 1, (2, 1, 1): -1, (0, 2, 1): -1, (2, 1, 0): 1, (1, 2, 1): -1, (2, 0, 1): -1, (2, 2, 0): -1, (1, 1, 0): -1,
    (1, 0, 0): 1, (1, 2, 2): 1, (2, 2, 1): 2, (2, 0, 2): 1, (0, 0, 0): -1, (0, 2, 0): 1, (2, 2, 2): -1, (0, 0, 1): 1,
    (1, 0, 2): -1,
}  # fmt: skip


@pytest.mark.parametrize("intervals", ["sliding", "exact"])
def test_fractions_prove_nothing_of_counts(intervals):
    shape, target = (5, 5, 5), (1, 1, 1)
    counts, inner = np.full(shape, 9), np.zeros(shape, dtype=bool)
    for places in ({0: 0, 1: 1, 2: 2}, {0: 3, 1: 1, 2: 4}):  # two circuits that share the target alone
        for cell, move in CIRCUIT.items():
            at = tuple(places[i] for i in cell)
            inner[at], counts[at] = True, 1 if move < 0 else 2 if move == 2 else 9
    rows, hidden, primary = [], [], []
    for at in itertools.product(range(6), repeat=3):
        held = tuple(slice(None) if i == 5 else i for i in at)
        rows.append(
            (*("Total" if i == 5 else f"{n}{i}" for n, i in zip("abc", at, strict=True)), int(counts[held].sum()))
        )
    table = flou.Table.from_frame(pl.DataFrame(rows, schema=["a", "b", "c", "count"], orient="row"), ["a", "b", "c"])
    for labels in table.labels().rows():
        at = tuple(5 if label == "Total" else int(label[1:]) for label in labels)
        hidden.append(5 not in at and bool(inner[at]))
        primary.append(at == target)
    hidden, primary = np.array(hidden), np.array(primary)
    lines = [
        {**dict(zip("abc", labels, strict=True)), "count": int(c), "status": "suppressed" if h else "published"}
        for labels, c, h in zip(table.labels().rows(), table.true_counts, hidden, strict=True)
    ]
    intruder = Intruder(lines, [[["a"]], [["b"]], [["c"]]], "count", least=1.0)
    low, high = intruder.bounds((("a1",), ("b1",), ("c1",)))
    assert round(low) == round(high) == 9  # known exactly
    asked = Sensitive(primary, {}, ("list",), primary[:, None])
    sides = make_sides(
        table,
        table_equations(table),
        asked,
        Apriori.none(table.n_cells),
        show="auto",
        intervals=intervals,
        hides_zeros=False,
    )
    assert audit(table, table_equations(table), sides, [], hidden, primary, Subtables(table), "off").n_exact == 1


@pytest.mark.parametrize("intervals", ["levels", "sliding", "exact"])
def test_tiny_amounts(intervals):
    amounts = np.array([107.9, 12.3, 40.1, 55.5]) * 1e-9
    f = pl.DataFrame({"g": ["Total", "a", "b", "c"], "count": [30, 3, 10, 17], "v": amounts})
    table, hidden = flou.Table.from_frame(f, ["g"], value="v"), np.array([False, True, False, False])
    asked = FIVE[0].sensitive(table)
    sides = make_sides(
        table, table_equations(table), asked, Apriori.none(4), show="auto", intervals=intervals, hides_zeros=False
    )
    assert audit(table, table_equations(table), sides, [], hidden, asked.cells, Subtables(table), "off").n_exact == 1


def test_the_order_of_a_frame():
    rng = np.random.default_rng(7)
    f = pl.DataFrame(
        {"a": rng.choice([f"a{i}" for i in range(7)], 300), "b": rng.choice([f"b{i}" for i in range(5)], 300)}
    )
    frame = flou.Microdata(f, keys=["a", "b"]).tabulate(["a", "b"]).to_frame().drop("status")
    found = set()
    for seed in range(12):
        table = flou.Table.from_frame(frame.sample(fraction=1, shuffle=True, seed=seed), ["a", "b"])
        shown = flou.protect.CellSuppression([flou.risk.Threshold(n=8)]).protect(table).data.to_frame().sort("a", "b")
        found.add(tuple(shown["status"]))
    assert len(found) == 1


def test_amounts_of_mixed_scale():
    f = pl.DataFrame(
        {
            "a": [f"a{i}" for i in (2, 2, 2, 0, 2, 0, 2, 2, 0, 0, 0, 0, 2, 2, 2)],
            "b": [f"b{i}" for i in (0, 2, 2, 1, 2, 0, 0, 1, 2, 1, 1, 2, 2, 0, 2)],
            "c": [f"c{i}" for i in (1, 0, 0, 1, 0, 0, 1, 1, 0, 0, 0, 0, 0, 1, 1)],
            "h": [4, 0, 3, 3, 2, 2, 3, 3, 2, 1, 1, 3, 0, 3, 0],
            "v": [305820085679.3507, 356514.1928760796, 1608.3783324880094, 1136507976.7225225, 5057242178.115935,
                  1722286294.8174675, 139078.96674156538, 23103.628562946924, 837410859.7084316, 26580070.47709452,
                  99647520.60322767, 898649961.8179337, 13456693.851368042, 200889429.0687635, 8581278767.713083],
        }
    )  # fmt: skip
    table = flou.Microdata(f, keys=["a", "b", "c"]).tabulate(["a", "b", "c"], value="v", holding="h")
    flou.protect.CellSuppression([flou.risk.PPercent(p=45)], singletons="off").protect(table)


def test_an_audit_speaks_of_its_own_pattern_alone():
    table = flou.Table.from_frame(pl.DataFrame({"g": ["Total", "a", "b", "c"], "count": [33, 3, 10, 20]}), ["g"])
    release = flou.protect.CellSuppression(FIVE).protect(table)
    done = release.data
    promise = release.guarantees[0].guarantee
    assert promise.violations(done) == 0
    # the secondary cell is shown again, and the old audit kept
    states = np.where(done.suppression.states == State.SECONDARY, State.PUBLISHED, done.suppression.states)
    weak = done.with_changes(
        published=Published(count=done.true_counts, suppressed=states >= State.PRIMARY),
        suppression=replace(done.suppression, states=states.astype(np.uint8)),
    )
    assert promise.violations(weak) > 0
