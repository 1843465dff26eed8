"""A cell and its only shown child: the same people have the same noise, so comparing the two tells of the zeros."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import polars as pl
import pytest

import flou
from flou.describe.count_frequencies import CountFrequencies
from flou.describe.mechanism.mechanism import Mechanism
from flou.describe.mechanism.rounding import UnbiasedRounding
from flou.risk.table.lone_children import LoneChildren

T = flou.TransitionMatrix
SECRET = flou.Secret(bytes(range(32)))
Interval = tuple[float, float]


def pair(parent: int, child: int, n_zeros: int) -> LoneChildren:
    one = [np.array([n]) for n in (parent, child, n_zeros)]
    return LoneChildren(*one, np.array([True]))


def counts_of(shares: list[float]) -> CountFrequencies:
    return CountFrequencies.of_frame(pl.DataFrame({"i": range(len(shares)), "N": [round(100 * s) for s in shares]}))


def in_longhand(m: Mechanism, shares: list[float], parent: int, child: int, r: int) -> float:
    """The probability that nobody is behind r zeros, each cell being moved for itself."""
    dense = m.dense(len(shares) * (r + 1))
    nobody = somebody = 0.0
    for a, *behind in product(range(len(shares)), repeat=r + 1):
        weight = shares[a] * dense[a, child] * dense[a + sum(behind), parent]
        for i in behind:
            weight *= shares[i] * dense[i, 0]
        nobody, somebody = (nobody, somebody + weight) if sum(behind) else (nobody + weight, somebody)
    return nobody / (nobody + somebody)


SHARES = [0.4, 0.2, 0.15, 0.1, 0.1, 0.05]


@pytest.mark.parametrize("r", [1, 2, 3])
def test_cells_that_are_moved_for_themselves_are_gone_through(r: int) -> None:
    mechanism = flou.protect.RandomRounding(3).mechanism
    for parent, child in [(3, 3), (6, 3), (3, 6), (6, 6)]:
        found = pair(parent, child, r).figures(mechanism, "empirical", counts_of(SHARES))
        expected = in_longhand(mechanism, SHARES, parent, child, r)
        assert found["n_told"] == (expected == 0)
        if parent == child:
            assert found["empty"] == pytest.approx(expected, abs=1e-12)


def area(part: Interval, rest: Interval, whole: Interval) -> float:
    """The chance that one key lies in `part`, another one in `rest`, and their sum modulo 1 in `whole`."""

    def below(t: float) -> float:
        corners = [(1, part[0] + rest[0]), (-1, part[1] + rest[0]), (-1, part[0] + rest[1]), (1, part[1] + rest[1])]
        return sum(sign * max(t - at, 0.0) ** 2 / 2 for sign, at in corners)

    return sum(below(whole[1] + turn) - below(whole[0] + turn) for turn in (0, 1))


@pytest.mark.parametrize("mechanism", [T(3, 2, 1), T(4, 3, 0), UnbiasedRounding(5, "contributors")], ids=str)
def test_keys_that_add_up_are_gone_through(mechanism: Mechanism) -> None:
    low, high = mechanism.key_intervals()

    def keys(count: int, published: int) -> Interval:
        row, place = mechanism.row_of(np.array([count]))[0], published - count + mechanism.reach
        return (low[row, place], high[row, place]) if 0 <= place < low.shape[1] else (0.0, 0.0)

    for shown in (3, 5):
        nobody = sum(s * mechanism.probability(shown, a) for a, s in enumerate(SHARES)) * SHARES[0]
        somebody = sum(
            SHARES[a] * SHARES[m] * area(keys(a, shown), keys(m, 0), keys(a + m, shown))
            for a, m in product(range(len(SHARES)), range(1, len(SHARES)))
        )
        if nobody > 0:
            found = pair(shown, shown, 1).figures(mechanism, "empirical", counts_of(SHARES))
            assert found["empty"] == pytest.approx(nobody / (nobody + somebody), abs=2e-4)


def census(n: int = 3_000) -> flou.Microdata:
    rng = np.random.default_rng(5)
    places = rng.choice([f"p{i:03}" for i in range(260)], n)
    frame = pl.DataFrame({"pid": np.arange(n), "place": places, "sex": rng.choice(["f", "m"], n)})
    return flou.Microdata(frame, id="pid")


@pytest.fixture(scope="module")
def release() -> Any:
    rng = np.random.default_rng(2)
    people = census().to_frame().with_columns(ages=pl.Series(rng.choice(40, 3_000)))
    table = flou.record_keys(flou.Microdata(people, id="pid"), secret=SECRET).tabulate(["place", "sex", "ages"])
    return flou.protect.CellKey(D=10, V=5, js=2).protect(table)


def test_published_unlike_proves_that_somebody_is_behind_a_zero(release: Any) -> None:
    """The attack, from the published lines alone; what it finds is checked on the true counts."""
    shown = release.data.to_frame()
    sexes = shown.filter(pl.col("sex") != "Total", pl.col("count") > 0)
    lone = sexes.group_by("place", "ages").agg(pl.col("count").first(), pl.len().alias("n")).filter(pl.col("n") == 1)
    both = lone.join(shown.filter(pl.col("sex") == "Total"), on=["place", "ages"], suffix=" of all", how="left")
    truth = release.data.to_frame(reveal=True).filter(pl.col("sex") != "Total", pl.col("true_count") > 0)
    n_sexes = truth.group_by("place", "ages").agg(pl.len().alias("sexes"))
    both = both.join(n_sexes, on=["place", "ages"]).with_columns(alike=pl.col("count") == pl.col("count of all"))
    told = both.filter(~pl.col("alike").fill_null(False))
    assert len(told) > 100
    assert told["sexes"].to_list() == [2] * len(told)
    taken = both.filter("alike")
    assert (taken["sexes"] == 1).mean() > 0.8


def test_the_measure_counts_what_the_attack_finds(release: Any) -> None:
    found = flou.risk.ZeroInference().measure(release)
    assert found.n_pairs == found.n_told + found.n_alike
    assert found.n_told > 100
    assert found.empty == pytest.approx(found.true_empty, abs=0.12)
    assert found.empty > found.value


@pytest.mark.parametrize("r", [1, 2, 3])
def test_of_drawn_pairs_as_many_are_empty_as_the_posterior_says(r: int) -> None:
    mechanism, rng, n = T(5, 4, 1), np.random.default_rng(8), 400_000
    shares = np.array([0.45, 0.2, 0.1, 0.1, 0.05, 0.05, 0.05])
    child, behind = rng.choice(7, n, p=shares), rng.choice(7, (n, r), p=shares)
    key, others = rng.integers(0, 2**32, n), rng.integers(0, 2**32, (n, r)) * (behind > 0)
    inner = child + mechanism.deviations(child, key * (child > 0))
    hidden = behind + mechanism.deviations(behind, others)
    whole = child + behind.sum(axis=1)
    outer = whole + mechanism.deviations(whole, (key * (child > 0) + others.sum(axis=1)) % 2**32)
    seen = (inner > 0) & (hidden == 0).all(axis=1)
    lone = LoneChildren(outer[seen], inner[seen], np.full(seen.sum(), r), (whole == child)[seen])
    found = lone.figures(mechanism, "empirical", counts_of(shares.tolist()))
    assert found["empty"] == pytest.approx(found["true_empty"], abs=0.008)
    assert found["n_told"] == (outer[seen] != inner[seen]).sum()


def test_without_noise_every_pair_is_alike_and_every_zero_true() -> None:
    found = flou.risk.ZeroInference().measure(census().tabulate(["place", "sex"]))
    assert found.n_told == 0
    assert found.n_alike == found.n_pairs
    if found.n_pairs:
        assert found.empty == found.worst_empty == found.true_empty == 1


def test_a_table_without_margins_has_no_pairs() -> None:
    table = flou.record_keys(census(), secret=SECRET).tabulate(["place", "sex"], margins=False)
    found = flou.risk.ZeroInference().measure(flou.protect.CellKey(D=4, V=3, js=1).protect(table))
    assert found.n_groups > 0
    assert found.n_pairs == 0
    assert "empty" not in found.figures


def test_calibration_expects_what_is_then_published() -> None:
    """Over the draws of forty secrets, on a table of two zonings and of cells that are not listed."""
    people, step = census(900), flou.protect.CellKey(D=4, V=3, js=1)
    found = flou.calibrate(
        flou.protect.CellKey,
        on=people.tabulate(["place", "sex"]),
        over={"D": [4], "V": [3], "js": [1]},
        risk=flou.risk.ZeroInference(),
        utility=flou.utility.WithinDistance(2),
    ).to_frame()
    told, alike, true = [], [], []
    for seed in range(40):
        keyed = flou.record_keys(people, secret=flou.Secret(bytes([seed]) * 32))
        seen = flou.risk.ZeroInference().measure(step.protect(keyed.tabulate(["place", "sex"])))
        told.append(seen.n_told)
        alike.append(seen.n_alike)
        true.append(seen.n_alike * seen.true_empty)
    assert found["told"].item() == pytest.approx(np.mean(told), rel=0.05)
    assert found["empty"].item() == pytest.approx(np.sum(true) / np.sum(alike), abs=0.02)


def test_a_frame_of_counts_tells_of_no_children() -> None:
    found = flou.calibrate(
        T,
        on=pl.DataFrame({"i": [0, 1, 5], "N": [5, 5, 5]}),
        over={"D": [4], "V": [3], "js": [1]},
        risk=flou.risk.ZeroInference(),
        utility=flou.utility.WithinDistance(2),
    )
    assert "told" not in found.to_frame().columns
