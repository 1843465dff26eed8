"""The attack on suppressed cells: planted leaks are found, safe patterns hold, and what is told to whom."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import polars as pl
import pytest

import flou
from flou.describe.table.cells import Published

SECRET = flou.Secret(bytes(range(32)))
RULE = flou.risk.Threshold(3)


def table(counts: dict[tuple[str, str], int], **options: Any) -> flou.Table:
    rows = [{"a": a, "b": b, "amount": 10.0 + i} for (a, b), n in counts.items() for i in range(n)]
    return flou.Microdata(pl.DataFrame(rows)).tabulate(["a", "b"], **options)


COUNTS = {("x", "u"): 1, ("x", "v"): 5, ("x", "w"): 6, ("y", "u"): 9, ("y", "v"): 4, ("y", "w"): 8, ("z", "u"): 6,
          ("z", "v"): 7, ("z", "w"): 9}  # fmt: skip


def pattern(made: flou.Table, cells: list[tuple[str, str]]) -> flou.Table:
    """The table with some cells withheld by hand."""
    labels = made.labels()
    hidden = np.array([tuple(row) in cells for row in labels.rows()])
    assert hidden.sum() == len(cells)
    published = Published(made.true_counts, made.cells.value, suppressed=hidden, counted=made.cells.value is None)
    return made.with_changes(published=published, marks=made.marks.add(released=True))


def test_a_primary_alone_in_its_row_is_found() -> None:
    weak = pattern(table(COUNTS), [("x", "u"), ("y", "v"), ("y", "w")])
    found = flou.attack.CellBounds([RULE]).run(weak)
    assert found.value == 1.0
    assert not found.safe()
    assert (found.n_sensitive, found.n_exact, found.n_narrow) == (1, 1, 0)
    line = found.findings.filter(pl.col("by") == "an outsider").row(0, named=True)
    assert (line["a"], line["b"], line["kind"], line["low"], line["high"]) == ("x", "u", "exact", 1.0, 1.0)
    cells = found.bounds(reveal=True)
    assert cells.filter(a="x", b="u")["verdict"].item() == "exact"
    assert found.measured_on == "release"


def test_a_published_primary_is_found() -> None:
    found = flou.attack.CellBounds([RULE]).run(table(COUNTS))
    assert found.n_exact == 1
    assert found.findings["kind"].to_list() == ["exact"]
    assert len(found.bounds()) == 0


def test_a_square_is_safe_and_its_bounds_are_reached() -> None:
    square = [("x", "u"), ("x", "v"), ("y", "u"), ("y", "v")]
    found = flou.attack.CellBounds([RULE], singletons="off").run(pattern(table(COUNTS), square))
    assert found.safe()
    assert found.value == 0
    assert found.findings.height == 0
    cells = found.bounds(reveal=True)
    # rows hold 6 and 13, columns 10 and 9; nobody withholds an empty cell
    assert cells.select("a", "b", "low", "high").rows() == [
        ("x", "u", 1, 5),
        ("x", "v", 1, 5),
        ("y", "u", 5, 9),
        ("y", "v", 4, 8),
    ]
    assert cells["truth"].to_list() == [1, 5, 9, 4]
    assert cells["verdict"].to_list() == ["safe", "", "", ""]
    assert "truth" not in found.bounds().columns


@pytest.mark.parametrize(
    ("lower", "upper", "verdict"), [(4, 1, "safe"), (4, 2, "narrow"), (5, 1, "narrow"), (5, 2, "narrow")]
)
def test_bounds_must_be_far_enough_on_either_side(lower: int, upper: int, verdict: str) -> None:
    # the four move together: x × u may fall from 2 to 1 or rise by 4, so that x × v, of 5, is at most 6 or at least 1
    square = [("x", "u"), ("x", "v"), ("y", "u"), ("y", "v")]
    asked = [{"a": "x", "b": "v", "action": "protect", "first": lower, "second": upper}]
    weak = pattern(table({**COUNTS, ("x", "u"): 2}), square)
    cells = flou.attack.CellBounds([RULE], singletons="off", apriori=asked).run(weak).bounds(reveal=True)
    assert cells.filter(a="x", b="v").select("low", "high", "verdict").row(0) == (1, 6, verdict)


def test_who_is_alone_finds_more_than_an_outsider() -> None:
    counts = {**COUNTS, ("x", "v"): 2}
    square = [("x", "u"), ("x", "v"), ("y", "u"), ("y", "v")]
    weak = pattern(table(counts), square)
    found = flou.attack.CellBounds([RULE], intervals="exact").run(weak)
    assert found.n_attackers == 2
    assert set(found.findings["by"]) == {"who is alone in x × u"}
    assert found.findings.filter(a="x", b="v")["kind"].to_list() == ["exact"]
    outsider = flou.attack.CellBounds([RULE], intervals="exact", singletons="off").run(weak)
    assert outsider.safe()
    assert outsider.n_attackers == 1
    knowing = found.bounds(known=[{"a": "x", "b": "u"}])
    assert (knowing["low"] == knowing["high"]).all()
    assert (found.bounds()["low"] < found.bounds()["high"]).all()
    with pytest.raises(flou.FlouError, match="no suppressed cell"):
        found.bounds(known=[{"a": "z", "b": "u"}])


@pytest.mark.parametrize("value", [None, "amount"])
def test_suppressed_tables_hold(value: str | None) -> None:
    rng = np.random.default_rng(5)
    n = 1500
    frame = pl.DataFrame(
        {
            "a": rng.choice(list("abcdefg"), n),
            "b": rng.choice(list("uvwxyz"), n, p=[0.4, 0.3, 0.2, 0.06, 0.03, 0.01]),
            "c": rng.choice(["f", "m"], n),
            "amount": np.round(rng.lognormal(3, 1, n), 1),
        }
    )
    made = flou.Microdata(frame).tabulate(["a", "b", "c"], value=value)
    release = flou.protect.CellSuppression([flou.risk.Threshold(5)]).protect(made)
    found = flou.attack.CellBounds([flou.risk.Threshold(5)]).run(release)
    assert found.n_sensitive > 5
    assert found.safe()
    cells = found.bounds(reveal=True)
    assert set(cells["verdict"]) == {"safe", ""}
    assert ((cells["low"] <= cells["truth"] + 1e-9) & (cells["truth"] <= cells["high"] + 1e-9)).all()
    # without secondary cells the pattern is weak
    primary = release.data.suppression.states == 3
    weak = Published(made.true_counts, made.cells.value, suppressed=primary, counted=value is None)
    assert not flou.attack.CellBounds([flou.risk.Threshold(5)]).run(made.with_changes(published=weak)).safe()
    # what an intruder computes without true figures is the same
    seen = flou.attack.CellBounds().run(release.data.public())
    assert seen.safe()
    assert seen.n_sensitive == len(cells)
    computed = seen.bounds()
    assert np.allclose(computed["low"], cells["low"])
    assert np.allclose(computed["high"], cells["high"])


def test_a_published_table_tells_what_it_tells() -> None:
    weak = pattern(table(COUNTS), [("x", "u"), ("y", "v"), ("y", "w")]).public()
    found = flou.attack.CellBounds().run(weak)
    assert found.n_exact == 3
    assert found.bounds().select("low", "high").rows() == [(1, 1), (4, 4), (8, 8)]
    assert "needed_high" not in found.findings.columns
    assert any("true figures" in str(note) for note in found.notes)
    with pytest.raises(flou.FlouError, match="true figures"):
        found.bounds(reveal=True)
    with pytest.raises(flou.FlouError, match="true figures"):
        found.plot()
    with pytest.raises(flou.FlouError, match="Leave primary out"):
        flou.attack.CellBounds([RULE]).run(weak)


def test_figures_that_contradict_each_other() -> None:
    made = pattern(table(COUNTS), [("x", "u"), ("x", "v"), ("y", "u"), ("y", "v")]).public()
    assert made.published is not None
    counts = made.published.count.copy()
    counts[np.flatnonzero(~made.published.hidden)[0]] += 1
    wrong = made.with_changes(published=Published(counts, suppressed=made.published.hidden))
    with pytest.raises(flou.FlouError, match="No table agrees"):
        flou.attack.CellBounds().run(wrong)


def test_what_is_known_beforehand_narrows() -> None:
    square = [("x", "u"), ("x", "v"), ("y", "u"), ("y", "v")]
    weak = pattern(table(COUNTS), square)
    stated = [{"a": "y", "b": "v", "action": "bounds", "first": 4, "second": 5}]
    found = flou.attack.CellBounds([RULE], singletons="off", apriori=stated).run(weak)
    assert (found.n_exact, found.n_narrow) == (0, 1)
    assert found.bounds().filter(a="x", b="u").select("low", "high").row(0) == (1, 2)
    seen = flou.attack.CellBounds(apriori=stated).run(weak.public())
    assert seen.bounds().equals(found.bounds())


def test_unlisted_margins_bind_too() -> None:
    """Without margins nothing binds the cells; margins of the rows bind each cell that is alone in its row."""
    rows = [{"a": a, "b": b} for (a, b), n in COUNTS.items() for _ in range(n)]
    bare = flou.Microdata(pl.DataFrame(rows)).tabulate(["a", "b"], margins=False)
    hidden = [("x", "u"), ("y", "v")]
    free = flou.attack.CellBounds([RULE], singletons="off").run(pattern(bare, hidden))
    assert np.isposinf(free.bounds()["high"].to_numpy()).all()
    rows_alone = flou.Microdata(pl.DataFrame(rows)).tabulate(["a", "b"], margins=["a"])
    bound = flou.attack.CellBounds([RULE], singletons="off").run(pattern(rows_alone, hidden))
    assert bound.n_exact == 1
    assert bound.bounds().select("low", "high").rows() == [(1, 1), (4, 4)]


def test_other_tables_are_refused() -> None:
    data = flou.Microdata(
        pl.DataFrame({"pid": range(40), "a": ["x", "y"] * 20, "b": ["u"] * 15 + ["v"] * 25}), id="pid"
    )
    keyed = flou.record_keys(data, secret=SECRET)
    noisy = flou.protect.CellKey(D=5, V=3, js=2).protect(keyed.tabulate(["a", "b"]))
    with pytest.raises(flou.FlouError, match="not the true ones"):
        flou.attack.CellBounds([RULE]).run(noisy)
    with pytest.raises(flou.FlouError, match="set of 2"):
        flou.attack.CellBounds([RULE]).run(flou.tabulate_many(data, [["a"], ["b"]]))


def test_a_copy_takes_no_cells_along() -> None:
    weak = pattern(table(COUNTS), [("x", "u"), ("y", "v"), ("y", "w")])
    found = flou.attack.CellBounds([RULE]).run(weak)
    found.bounds()
    copy = pickle.loads(pickle.dumps(found))
    assert copy.summary() == found.summary()
    assert copy.data is None
    assert copy.audit.findings.height == 0
    with pytest.raises(flou.FlouError, match="left its process"):
        copy.bounds()
