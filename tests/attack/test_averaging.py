"""Averaging: independent noise gives way as theory says, lasting noise does not, and sums are those of hand and brute force."""

from __future__ import annotations

import itertools
import json
import math
import pickle
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np
import polars as pl
import pytest
from tests.job.test_run import call

import flou
from flou.attack.table.average_kernel import Estimate, Noise, Own, guess_counts, weighted_mean
from flou.describe.mechanism.mechanism import Floats, Integers, Mechanism
from flou.describe.mechanism.rounding import UnbiasedRounding
from flou.describe.table.cells import Published
from flou.engine.words import Words, _catalogue

SECRET = flou.Secret(bytes(range(32)))


class Anew(flou.TransitionMatrix):
    """The noise of a transition matrix, drawn anew for each figure."""

    shared_by = "nothing"


class Clamped(Mechanism):
    """Geometric noise that is cut at zero: unbounded, independent, and biased for small counts."""

    bounded: ClassVar[bool] = False
    shared_by: ClassVar[Literal["contributors", "cell", "nothing"]] = "nothing"

    def __init__(self, scale: float, reach: int) -> None:
        self._reach = reach
        z = np.arange(-reach, reach + 1)
        pure = np.exp(-np.abs(z) / scale)
        rows = []
        for count in range(reach + 1):
            row = np.where(count + z > 0, pure, 0.0)
            row[reach - count] = pure[z <= -count].sum()
            rows.append(row / pure.sum())
        self._rows = np.array(rows)

    @property
    def name(self) -> str:
        return "clamped noise"

    @property
    def chances(self) -> Floats:
        return self._rows

    def row_of(self, counts: Integers) -> Integers:
        return np.minimum(counts, self._reach)


def people(n: int = 3000, seed: int = 3) -> flou.Microdata:
    rng = np.random.default_rng(seed)
    frame = pl.DataFrame(
        {
            "pid": np.arange(n),
            "sex": rng.choice(["f", "m"], n),
            "age": rng.choice([f"{10 * i:02}" for i in range(10)], n),
            "area": rng.choice([f"a{i:02}" for i in range(20)], n, p=np.arange(1, 21) / 210),
        }
    )
    return flou.Microdata(frame, id="pid")


def drawn(tables: flou.TableSet, mechanism: Mechanism, seed: int = 0) -> flou.TableSet:
    """The tables with noise of the mechanism that is drawn anew in each of them."""
    rng, out = np.random.default_rng(seed), []
    for table in tables:
        true = table.true_counts
        cumulated = mechanism.chances[mechanism.row_of(true)].cumsum(axis=1)
        moves = (rng.random((len(true), 1)) >= cumulated[:, :-1]).sum(axis=1) - mechanism.reach
        out.append(
            table.with_changes(
                published=Published(true + moves), mechanism=mechanism, marks=table.marks.add(released=True)
            )
        )
    return tables.with_tables(out)


# independent noise


def test_independent_noise_goes_as_the_normal_law_says() -> None:
    """With V = 3 the mean of r figures is off by less than 1/2 with chance 2 Φ(√(r/12)) - 1."""
    held, shares = people(6000), []
    for repeats in (1, 5, 20, 60):
        tables = flou.tabulate_many(held, [["age", "area"]] * repeats)
        found = flou.attack.Averaging("repeats").run(drawn(tables, Anew(D=12, V=3)))
        large = found.findings.filter(pl.col("truth") >= 12)
        assert large.height > 150
        expected = math.erf(math.sqrt(repeats / 12) / math.sqrt(2))
        error = math.sqrt(expected * (1 - expected) / large.height)
        assert abs(large["right"].mean() - expected) < 4 * error + 0.02  # noise of one figure is not quite normal
        assert found.mean_estimates == repeats
        shares.append(found.value)
        assert found.value > found.baseline or repeats == 1
    assert shares[0] < 0.3 < shares[1] < 0.6 < shares[2] < 0.9 < shares[3]
    assert found.lift > 0.9
    assert found.error_after < 0.1 < found.error_before


def test_parts_add_to_repeats() -> None:
    tables = drawn(flou.tabulate_many(people(), [["age", "area", "sex"]] * 10), Anew(D=5, V=3))
    repeats, parts = (flou.attack.Averaging(using).run(tables) for using in ("repeats", "parts"))
    assert parts.mean_estimates > 1.5 * repeats.mean_estimates
    assert parts.value > repeats.value + 0.02
    assert parts.error_after < repeats.error_after
    assert parts.baseline == repeats.baseline


def test_small_counts_are_found_behind_noise_that_is_cut_at_zero() -> None:
    """The plain mean of figures that cannot be negative is too high; what is expected of each count corrects it."""
    mechanism = Clamped(scale=3, reach=30)
    assert mechanism.mean(1) > 1
    found = flou.attack.Averaging("repeats").run(
        drawn(flou.tabulate_many(people(600), [{"dims": ["age", "area"], "cells": "all"}] * 120), mechanism)
    )
    small = found.findings.filter(pl.col("truth") == 1)
    assert small.height > 10
    assert (small["average"].round() != 1).all(), "plain rounding would miss them all"
    assert small["right"].mean() > 0.7


def test_bounded_noise_rules_counts_out() -> None:
    """Figures 0 and 10 of rounding to base 5 leave 5 alone, wherever their mean lies."""
    mechanism = UnbiasedRounding(5)
    figures = [np.array([5, 0]), np.array([10, 5]), np.array([10, 5])]
    own = [Own(f, np.ones(2, dtype=bool), mechanism) for f in figures]
    estimates = [Estimate(np.sum(figures, axis=0).astype(float), np.array([3, 3]), np.array([4.0, 4.0]), mechanism)]
    assert weighted_mean(estimates).tolist() == [25 / 3, 10 / 3]
    assert guess_counts(estimates, own).tolist() == [8, 3]
    assert guess_counts(estimates, [*own, Own(np.array([0, 0]), np.ones(2, dtype=bool), mechanism)]).tolist() == [-2, 3]
    nothing = [Estimate(np.zeros(1), np.zeros(1, dtype=np.int64), np.ones(1))]
    assert guess_counts(nothing, []).tolist() == [-1]


def test_spread_is_the_distance_of_the_counts_behind_a_figure() -> None:
    noise = Noise(UnbiasedRounding(5))
    # 0 may be 0..4 with chances 1, .8, .6, .4, .2; 5 may be 1..9
    assert noise.spread(np.array([0, 5, 3])) == pytest.approx([10 / 3, 4.0, np.nan], nan_ok=True)
    assert (noise.largest, noise.by_person) == (6.0, 4.0)
    assert noise.spread_of_sums(np.array([10.0, 10.0]), np.array([3.0, 100.0])).tolist() == [12.0, 60.0]
    assert np.isinf(Noise(Clamped(1, 5)).by_person)
    large = Noise(Anew(D=5, V=3)).spread(np.array([50]))
    assert large == pytest.approx([3.0])


# lasting noise


def test_cell_keys_resist_repeats_entirely() -> None:
    keyed = flou.record_keys(people(), secret=SECRET)
    release = flou.protect.CellKey(D=5, V=3, js=2).protect(flou.tabulate_many(keyed, [["age", "area"]] * 20))
    found = flou.attack.Averaging("repeats").run(release)
    assert found.value == found.baseline
    assert found.lift == 0
    assert found.mean_estimates == 1
    assert found.error_after == found.error_before
    assert found.small == found.baseline_small
    assert any("repeated figures tell nothing new" in str(note) for note in found.notes)
    single = flou.attack.Averaging("repeats").run(
        flou.protect.CellKey(D=5, V=3, js=2).protect(keyed.tabulate(["age", "area"]))
    )
    assert found.figures == single.figures
    # nor does printing a table again add anything to its parts
    assert (
        flou.attack.Averaging().run(release).figures
        == flou.attack.Averaging().run(release.data.with_tables(release.data.tables[:1])).figures
    )


def test_parts_thin_the_noise_of_cell_keys() -> None:
    """What Asghar and Kaafar found: a count split by ten other variables has ten more answers, of variance 2 V each.

    The mean of all has variance 1 / (1 / V + 10 / 2 V) = V / 6, so that it is right as often as six repeats are.
    """
    rng = np.random.default_rng(8)
    n = 10_000
    columns = {f"v{k}": rng.choice(["no", "yes"], n) for k in range(10)}
    frame = pl.DataFrame({"pid": np.arange(n), "place": rng.choice([f"p{i:03}" for i in range(200)], n), **columns})
    keyed = flou.record_keys(flou.Microdata(frame, id="pid"), secret=SECRET)
    release = flou.protect.CellKey(D=8, V=3).protect(flou.tabulate_many(keyed, [["place", f"v{k}"] for k in range(10)]))
    found = flou.attack.Averaging().run(release)
    places = found.findings.filter((pl.col("v0") == "Total") & (pl.col("place") != "Total"))
    assert places.height == 200
    assert (places["estimates"] == 11).all()
    expected = math.erf(0.5 / math.sqrt(3 / 6) / math.sqrt(2))
    error = math.sqrt(expected * (1 - expected) / 200)
    assert abs(places["right"].mean() - expected) < 3 * error
    assert (places["published"] == places["truth"]).mean() < expected - 5 * error
    # the parts themselves are not split any further by these tables, and gain nothing
    parts = found.findings.filter((pl.col("v0") == "yes") & (pl.col("place") != "Total"))
    assert (parts["guess"] == parts["published"]).all()
    assert found.value > found.baseline
    assert found.error_after < found.error_before


def test_rounding_with_a_lasting_secret_resists_repeats() -> None:
    tables = flou.tabulate_many(people(), [["age", "area"]] * 20)
    found = flou.attack.Averaging("repeats").run(flou.protect.RandomRounding(5).protect(tables, secret=SECRET))
    assert found.value == found.baseline
    assert found.mean_estimates == 1
    # with another secret for each table it does not
    apart = [flou.protect.RandomRounding(5).protect(t, secret=flou.Secret(bytes([i] * 32))).data
             for i, t in enumerate(tables)]  # fmt: skip
    weak = flou.attack.Averaging("repeats").run(flou.TableSet.of(apart))
    assert weak.mean_estimates == 20
    assert weak.value > 0.5 > 0.3 > weak.baseline
    assert any("drawn anew" in str(note) for note in weak.notes)


def test_the_same_people_count_once() -> None:
    """An area of one age only: its figure by age is the same figure, and no second opinion."""
    rows = [{"pid": i, "area": "one", "age": "old"} for i in range(7)]
    rows += [{"pid": 10 + i, "area": "two", "age": "old" if i % 2 else "young"} for i in range(20)]
    keyed = flou.record_keys(flou.Microdata(pl.DataFrame(rows), id="pid"), secret=SECRET)
    release = flou.protect.CellKey(D=3, V=2).protect(keyed.tabulate(["area", "age"]))
    cells = flou.attack.Averaging().run(release).findings
    assert cells.filter(area="one", age="Total")["estimates"].item() == 1
    assert cells.filter(area="two", age="Total")["estimates"].item() == 2
    # all people by area, by age, by both
    assert cells.filter(area="Total", age="Total")["estimates"].item() == 4


# by hand, and by brute force


def shown(counts: dict[tuple[str, str], int], mechanism: Mechanism | None, **options: Any) -> flou.Table:
    """A table with published figures by hand; its true counts are the same."""
    frame = pl.DataFrame([{"a": a, "b": b, "count": n} for (a, b), n in counts.items()])
    made = flou.Table.from_frame(frame, ["a", "b"], **options)
    return made.with_changes(published=Published(made.true_counts), mechanism=mechanism)


def test_estimates_by_hand() -> None:
    t = "Total"
    figures = {(t, t): 100, ("x", t): 40, ("y", t): 64, (t, "u"): 30, (t, "v"): 66,
               ("x", "u"): 12, ("x", "v"): 31, ("y", "u"): 20, ("y", "v"): 43}  # fmt: skip
    # the true counts are within reach of the figures, and add up
    true = {(t, t): 101, ("x", t): 40, ("y", t): 61, (t, "u"): 32, (t, "v"): 69,
            ("x", "u"): 11, ("x", "v"): 29, ("y", "u"): 21, ("y", "v"): 40}  # fmt: skip
    found = flou.attack.Averaging().run(shown(figures, Anew(D=5, V=3)).public(), truth=shown(true, None))
    cells = found.findings
    # own 40 of variance 3, u + v = 43 of variance 6: (40/3 + 43/6) / (1/3 + 1/6) = 41
    assert cells.filter(a="x", b=t)["average"].item() == pytest.approx(41)
    assert cells.filter(a="x", b=t)["guess"].item() == 41
    # (64/3 + 63/6) / (1/2), then the nearest whole number
    assert cells.filter(a="y", b=t)["average"].item() == pytest.approx(191 / 3)
    # 100 (3), 104 by a (6), 96 by b (6), 106 by both (12)
    mean = (100 / 3 + 104 / 6 + 96 / 6 + 106 / 12) / (1 / 3 + 2 / 6 + 1 / 12)
    total = cells.filter(a=t, b=t)
    assert total["average"].item() == pytest.approx(mean)
    assert total.select("published", "estimates", "guess", "truth", "right").row(0) == (100, 4, 101, 101, True)
    inner = cells.filter((pl.col("a") != t) & (pl.col("b") != t))
    assert (inner["estimates"] == 1).all()
    assert (inner["guess"] == inner["published"]).all()
    assert (found.n_cells, found.n_right) == (9, int((cells["guess"] == cells["truth"]).sum()))
    assert found.baseline == 1 / 9
    alone = flou.attack.Averaging("repeats").run(shown(figures, Anew(D=5, V=3)).public(), truth=shown(true, None))
    assert alone.value == alone.baseline == 1 / 9


def brute(tables: Sequence[flou.Table], spread: float, per_part: float) -> dict[frozenset[Any], tuple[int, float]]:
    """Every published grouping of every table as a split of every coarser cell, one by one."""
    lists = []
    for table in tables:
        frame = table.public().to_frame()
        flat = [dict(zip(table.columns, row, strict=True)) for row in frame.select(table.columns).rows()]
        labels = [frozenset((c, v) for c, v in line.items() if v != "Total") for line in flat]
        lists.append(list(zip(labels, frame["count"].to_list(), strict=True)))
    sizes = {c: len({v for held in lists for cell, _ in held for k, v in cell if k == c})
             for c in {k for held in lists for cell, _ in held for k, _ in cell}}  # fmt: skip
    targets = {cell for held in lists for cell, _ in held}
    out = {}
    for target in targets:
        mine = {c for c, _ in target}
        top = bottom = 0.0
        n = 0
        groupings = [(held, g) for held in lists for g in {frozenset(c for c, _ in cell) for cell, _ in held}]
        for held, grouping in groupings:
            if not mine <= grouping:
                continue
            total = sum(x for cell, x in held if {c for c, _ in cell} == grouping and target <= cell)
            parts = math.prod(sizes[c] for c in grouping - mine)
            variance = spread if grouping == mine else per_part * parts
            top, bottom, n = top + total / variance, bottom + 1 / variance, n + 1
        out[target] = (n, top / bottom)
    return out


@pytest.mark.parametrize("seed", range(4))
def test_estimates_by_brute_force(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = 2000
    frame = pl.DataFrame(
        {"a": rng.choice(list("xyz"), n), "b": rng.choice(list("uv"), n), "c": rng.choice(list("pqr"), n)}
    )
    asked: list[Any] = [["a", "b"], ["b", "a", "c"], {"dims": ["c", "a"], "margins": False}, ["b"]]
    # counts are large here, so that every figure has the variance V and each part adds V
    tables = drawn(flou.tabulate_many(flou.Microdata(frame), asked), Anew(D=5, V=3), seed)
    found = flou.attack.Averaging().run(tables).findings
    expected = brute(tables.tables, 3.0, 3.0)
    assert found.height == len(expected) == 4 * 3 * 4
    for row in found.iter_rows(named=True):
        cell = frozenset((c, row[c]) for c in "abc" if row[c] not in (None, "Total"))
        assert row["estimates"] == expected[cell][0]
        assert row["average"] == pytest.approx(expected[cell][1])


def test_levels_of_a_hierarchy_split_too() -> None:
    rows = [("A", "a1", 30), ("A", "a2", 21), ("B", "b1", 40), ("A", "Total", 49), ("B", "Total", 43),
            ("Total", "Total", 95)]  # fmt: skip
    frame = pl.DataFrame(rows, schema=["region", "dept", "count"], orient="row")
    made = flou.Table.from_frame(frame, ["region>dept"])
    seen = made.with_changes(published=Published(made.true_counts), mechanism=Anew(D=8, V=6))
    cells = flou.attack.Averaging().run(seen).findings
    total = cells.filter(region="Total")
    assert total["estimates"].item() == 3
    assert total["average"].item() == pytest.approx((95 / 6 + 92 / 12 + 91 / 18) / (1 / 6 + 1 / 12 + 1 / 18))
    assert cells.filter(region="A", dept="Total")["average"].item() == pytest.approx((49 / 6 + 51 / 12) / (1 / 4))
    assert cells.filter(region="B", dept="Total")["estimates"].item() == 2


def test_paths_that_end_early_stand_for_their_parts() -> None:
    rows = [("A", "a1", 30), ("A", "a2", 21), ("B", "Total", 40), ("A", "Total", 50), ("Total", "Total", 95)]
    frame = pl.DataFrame(rows, schema=["region", "dept", "count"], orient="row")
    made = flou.Table.from_frame(frame, ["region>dept"])
    seen = made.with_changes(published=Published(made.true_counts), mechanism=Anew(D=8, V=6))
    cells = flou.attack.Averaging().run(seen).findings
    assert cells.filter(region="B")["estimates"].item() == 1
    mean = (95 / 6 + 90 / 12 + 91 / 18) / (1 / 6 + 1 / 12 + 1 / 18)
    assert cells.filter(region="Total")["average"].item() == pytest.approx(mean)


def test_figures_as_they_are_are_known_and_suppressed_ones_not() -> None:
    made = people(400).tabulate(["age", "area"])
    found = flou.attack.Averaging().run(made)
    assert found.value == found.baseline == 1
    assert found.measured_on == "original"
    release = flou.protect.CellSuppression([flou.risk.Threshold(3)]).protect(made)
    hidden = int(release.data.published.hidden.sum())
    assert hidden > 5
    for using in ("parts", "repeats"):
        held = flou.attack.Averaging(using).run(release)
        assert held.n_right == made.n_cells - hidden
        assert held.findings.filter(pl.col("guess").is_null())["published"].is_null().all()
    # a total that is withheld although its parts are shown is known
    weak = Published(made.true_counts, suppressed=np.arange(made.n_cells) == 0)
    weakly = flou.attack.Averaging().run(made.with_changes(published=weak))
    assert weakly.value == 1 > weakly.baseline


# who sees what


def test_guesses_come_from_what_is_published_alone() -> None:
    keyed = flou.record_keys(people(), secret=SECRET)
    tables = flou.tabulate_many(keyed, [["age", "area"], ["area", "sex"]])
    release = flou.protect.CellKey(D=5, V=3, js=2).protect(tables)
    seen = pickle.loads(pickle.dumps(release.data))
    assert all(t.cells.count is None for t in seen)
    expected = flou.attack.Averaging().run(release)
    assert expected.findings["published"].min() == 0, "a cell that is shown as zero is not listed, and counts"
    for truth in (tables, release, people(), keyed):
        found = flou.attack.Averaging().run(seen, truth=truth)
        assert found.to_dict() == expected.to_dict()
        assert found.findings.equals(expected.findings)
    other = flou.attack.Averaging().run(release, control=people(seed=9))
    assert other.control < other.value
    assert other.value == expected.value
    with pytest.raises(flou.FlouError, match="needs truth="):
        flou.attack.Averaging().run(seen)
    with pytest.raises(flou.FlouError, match="as it was published"):
        flou.attack.Averaging().run(seen, truth=seen)


def test_a_copy_takes_no_cells_along() -> None:
    found = flou.attack.Averaging().run(people().tabulate(["age", "sex"]))
    copy = pickle.loads(pickle.dumps(found))
    assert copy.figures == found.figures
    assert copy.chart is None
    with pytest.raises(flou.FlouError, match="left its process"):
        copy.findings  # noqa: B018


def test_chart_and_sizes() -> None:
    release = flou.protect.RandomRounding(5).protect(people().tabulate(["age", "area"]), secret=SECRET)
    found = flou.attack.Averaging().run(release)
    sizes = found.by_size
    assert sizes["cells"].sum() == found.n_cells
    assert (sizes["averaged"] * sizes["cells"]).sum() == pytest.approx(found.n_right)
    assert sizes.filter(pl.col("first") <= 4)["cells"].sum() == found.n_small
    drawn_in = [json.dumps(found.plot(language).to_dict()) for language in ("en", "fr")]
    assert "by averaging" in drawn_in[0]
    assert _catalogue("fr")["by averaging"] in drawn_in[1]
    (few,) = found.plot(min_count=30).to_dict()["datasets"].values()
    kept = sizes.filter(pl.col("cells") >= 30).height
    assert 0 < kept < sizes.height
    assert len(few) == 2 * kept
    # a dimension may be called as a column of the findings is
    named = flou.Microdata(pl.DataFrame({"truth": ["x", "y"], "guess": ["u", "v"]})).tabulate(["truth", "guess"])
    assert {"truth_", "guess_", "truth", "guess"} <= set(flou.attack.Averaging().run(named).findings.columns)


# bad input


def test_tables_that_cannot_be_averaged_are_refused() -> None:
    rng = np.random.default_rng(1)
    frame = (
        people(500)
        .to_frame()
        .with_columns(w=pl.Series(rng.uniform(1, 9, 500)), amount=pl.Series(rng.uniform(1, 9, 500)))
    )
    data = flou.Microdata(frame, id="pid")
    attack = flou.attack.Averaging()
    with pytest.raises(flou.FlouError, match="weighted estimates"):
        attack.run(data.tabulate(["age", "sex"], weight="w"))
    sums = data.tabulate(["age", "sex"], value="amount")
    no_counts = Published(sums.true_counts, sums.cells.value, counted=False)
    with pytest.raises(flou.FlouError, match="sums and no counts"):
        attack.run(sums.with_changes(published=no_counts))
    with pytest.raises(flou.FlouError, match="side by side"):
        attack.run(data.tabulate(["age|area", "sex"]))
    keyed = flou.record_keys(data, secret=SECRET)
    repaired = flou.protect.CellKey(D=5, V=3, additive="repair").protect(keyed.tabulate(["age", "area"]))
    with pytest.raises(flou.FlouError, match="made to add up"):
        attack.run(repaired)
    with pytest.raises(flou.FlouError, match="made to add up"):
        attack.run(repaired.data.public(), truth=keyed)
    assert attack.run(sums).value == 1


def test_truth_that_does_not_fit_is_refused() -> None:
    made = people().tabulate(["age", "area"])
    release = flou.protect.RandomRounding(5).protect(made, secret=SECRET)
    attack = flou.attack.Averaging()
    with pytest.raises(flou.FlouError, match="differ from those that the release holds"):
        attack.run(release, truth=people(seed=5))
    with pytest.raises(flou.FlouError, match="cannot have come from the true ones"):
        attack.run(release.data.public(), truth=people(seed=5))
    with pytest.raises(flou.FlouError, match="no counts by 'age'"):
        attack.run(release, truth=people().tabulate(["area", "sex"]))
    with pytest.raises(flou.FlouError, match="not DataFrame"):
        attack.run(release, truth=people().to_frame())


def test_contradictions_are_refused() -> None:
    mechanism = UnbiasedRounding(5)
    with pytest.raises(flou.FlouError, match="no true count gives them"):
        flou.attack.Averaging().run(shown({("Total", "Total"): 4, ("x", "u"): 4}, mechanism))
    tables = [shown({("Total", "Total"): n, ("x", "u"): n}, mechanism).with_changes(name=str(n)) for n in (5, 20)]
    with pytest.raises(flou.FlouError, match="not of the same people"):
        flou.attack.Averaging().run(flou.TableSet.of(tables))
    plain = [shown({("Total", "Total"): n, ("x", "u"): n}, None).with_changes(name=str(n)) for n in (5, 20)]
    with pytest.raises(flou.FlouError, match="show the same cell differently"):
        flou.attack.Averaging().run(flou.TableSet.of(plain))


def test_order_of_tables_and_dimensions_is_irrelevant() -> None:
    mechanism = Anew(D=5, V=3)
    held = drawn(flou.tabulate_many(people(), [["age", "area"], ["sex", "age"], ["area", "sex", "age"]]), mechanism)
    found = flou.attack.Averaging().run(held)
    for order in itertools.permutations(held.tables):
        again = flou.attack.Averaging().run(held.with_tables(order))
        assert (again.n_right, again.small, again.mean_estimates) == (found.n_right, found.small, found.mean_estimates)


PLAN = """
flou = 2

[data]
source = "people.csv"
schema = "people.schema.toml"

[secrets]
file = "office.secret"

[[protect]]
method = "cell_key"
D = 5
V = 3.0

[[tabulate]]
name = "by age"
dims = ["age", "area"]

[[tabulate]]
name = "by sex"
dims = ["area", "sex"]

[[attack]]
method = "averaging"

[policy]
min_count = 3

[[policy.rule]]
method = "averaging"
at_most = { release = 0.5 }

[output]
languages = ["en", "fr"]
"""


def test_a_plan_averages_its_tables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    people().to_frame().write_csv(tmp_path / "people.csv")
    roles = {"pid": "id", "sex": "key", "age": "key", "area": "key"}
    schema = "".join(f'[columns.{column}]\nrole = "{role}"\n' for column, role in roles.items())
    (tmp_path / "people.schema.toml").write_text(f"flou = 2\n{schema}")
    (tmp_path / "plan.toml").write_text(PLAN)
    SECRET.save(tmp_path / "office.secret")
    assert call(monkeypatch, "run", tmp_path / "plan.toml", "--out", tmp_path / "out") == 0
    manifest = json.loads((tmp_path / "out" / "internal" / "manifest.json").read_text())
    (result,) = [r for r in manifest["results"] if r["method"] == "averaging"]
    keyed = flou.record_keys(people(), secret=SECRET)
    release = flou.protect.CellKey(D=5, V=3).protect(flou.tabulate_many(keyed, [["age", "area"], ["area", "sex"]]))
    assert result["figures"] == dict(flou.attack.Averaging().run(release).figures)
    for language, title in (("en", "averaging of repeated figures"), ("fr", "moyenne de chiffres répétés")):
        office = (tmp_path / "out" / "internal" / f"report.{language}.html").read_text()
        assert title in office
        assert Words(language).share(result["value"]) in office
        # a share with its interval would tell how many cells somebody is in; the bound of the policy is public
        public = (tmp_path / "out" / "public" / f"report.{language}.html").read_text()
        assert Words(language).share(result["value"]) not in public
        assert 'id="others"' not in public
