"""The figures of a reconstruction, computed once more by hand; and confidences that are right as often as they say."""

from __future__ import annotations

import math
import random
from collections import Counter
from typing import Any

import polars as pl
import pytest

import flou

DIMS = [["gender", "age5"], ["gender", "marital"], ["gender", "age"], ["gender", "age5", "marital"]]
COLUMNS = ["age", "gender", "marital"]
Person = tuple[int, str, str]


def _people(data: flou.Microdata) -> list[Person]:
    return [tuple(row) for row in pl.DataFrame(data.frame.to_native()).select(COLUMNS).rows()]


def _rebuilt(records: pl.DataFrame) -> list[Person]:
    return [person for *person, n in records.select(*COLUMNS, "count").rows() for person in [tuple(person)] * n]


def _alike(a: Person, b: Person, years: int) -> bool:
    return abs(a[0] - b[0]) <= years and a[1:] == b[1:]


def _exist(people: list[Person], others: list[Person], years: int = 0) -> float:
    return sum(any(_alike(p, o, years) for o in others) for p in people) / len(people)


def _pairs(people: list[Person], others: list[Person], years: int = 0) -> float:
    """The most pairs that can be made at once, by augmenting paths."""
    partner: dict[int, int] = {}

    def find(i: int, tried: set[int]) -> bool:
        for j, other in enumerate(others):
            if j not in tried and _alike(people[i], other, years):
                tried.add(j)
                if j not in partner or find(partner[j], tried):
                    partner[j] = i
                    return True
        return False

    return sum(find(i, set()) for i in range(len(people))) / len(people)


def _attack(town: flou.Microdata, seed: int, **settings: Any) -> Any:
    shown = flou.protect.RandomRounding(base=5).protect(flou.tabulate_many(town, DIMS), secret=seed)
    method = flou.attack.Reconstruction(tolerance={"age": 2}, certain="skip", **settings)
    controls = [flou.datasets.census(n=50, rng=100 + seed), flou.datasets.census(n=50, rng=200 + seed)]
    return method.run(shown, truth=town, control=controls, secret=5), controls


@pytest.mark.parametrize("mode", ["feasible", "likelihood", "posterior"])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_match_rates_as_counted_by_hand(mode: str, seed: int) -> None:
    town = flou.datasets.census(n=50, rng=seed)
    found, controls = _attack(town, seed, mode=mode)
    people, rebuilt = _people(town), _rebuilt(found.records)
    others = [_people(c) for c in controls]
    figures = found.figures
    assert found.value == pytest.approx(_exist(people, rebuilt))
    assert figures["multiset"] == pytest.approx(_pairs(people, rebuilt))
    assert figures["near"] == pytest.approx(_exist(people, rebuilt, 2))
    assert figures["near_multiset"] == pytest.approx(_pairs(people, rebuilt, 2))
    for name, share, years in (
        ("baseline", _exist, 0), ("baseline_multiset", _pairs, 0),
        ("baseline_near", _exist, 2), ("baseline_near_multiset", _pairs, 2),
    ):  # fmt: skip
        assert figures[name] == pytest.approx(sum(share(people, o, years) for o in others) / 2), name
    assert figures["lift"] == pytest.approx((found.value - figures["baseline"]) / (1 - figures["baseline"]))
    uniques = [p for p, n in Counter(people).items() if n == 1]
    assert (figures["n_uniques"], figures["n_unique_hits"]) == (len(uniques), sum(p in set(rebuilt) for p in uniques))
    assert (figures["n_people"], figures["n_rebuilt"]) == (50, len(rebuilt))
    if mode == "posterior":
        top = found.records.sort("confidence", descending=True)
        # ten, or more where the last of them are as confident as each other: any ten of these
        tenth = top["confidence"][9]
        sure = [tuple(r) for r in top.filter(pl.col("confidence") > tenth).select(COLUMNS).rows()]
        tied = [tuple(r) for r in top.filter(pl.col("confidence") == tenth).select(COLUMNS).rows()]
        right, ties, left = sum(p in people for p in sure), sum(p in people for p in tied), 10 - len(sure)
        low, high = right + max(0, left - (len(tied) - ties)), right + min(left, ties)
        assert low <= round(figures["precision_top"] * 10) <= high


@pytest.mark.parametrize("seed", [1, 2, 3, 4])
def test_links_as_counted_by_hand(seed: int) -> None:
    town = flou.datasets.census(n=50, rng=seed)
    found, _ = _attack(town, seed, mode="likelihood")
    rnd = random.Random(seed)
    frame = pl.DataFrame(town.frame.to_native())
    inside = frame.filter(pl.Series([rnd.random() < 0.7 for _ in range(50)])).select("pid", "age", "gender")
    outside = pl.DataFrame(flou.datasets.census(n=20, rng=50 + seed).frame.to_native()).select("pid", "age", "gender")
    outside = outside.with_columns((pl.col("pid").cast(pl.Int64) + 10_000).cast(frame.schema["pid"]))
    names = pl.concat([inside, outside])
    external = flou.Microdata(names, id="pid", keys=["age", "gender"])
    linked = found.link(external, on=["age", "gender"])

    rebuilt, true = Counter(_rebuilt(found.records)), dict(zip(frame["pid"], _people(town), strict=True))
    asked = Counter(names.select("age", "gender").rows())
    putative, confirmed = 0, 0
    for pid, age, gender in names.rows():
        cells = [p for p in rebuilt if p[:2] == (age, gender)]
        if len(cells) == 1 and asked[age, gender] <= rebuilt[cells[0]]:
            putative += 1
            confirmed += true.get(pid) == cells[0]
    assert linked.figures["n_in_both"] == inside.height
    assert (linked.figures["n_putative"], linked.figures["n_confirmed"]) == (putative, confirmed)
    assert linked.value == pytest.approx(confirmed / inside.height)
    assert linked.findings.height == putative


@pytest.mark.deep("the posterior of 300 areas")
def test_the_confidence_of_a_record_is_how_often_it_is_true() -> None:
    """Three hundred areas from a known prior; those are looked at whose shown total no other number of people has.

    The number of people is as likely as any other from 5 to 40, and only areas with totals shown from 15 to 30 count:
    what the intruder takes for possible is then possible. Given what is shown the areas are independent; within one the
    deviations are added up as if all went the same way. 4.5 of them have a chance below 1e-5, with three records left
    for the tail of small numbers.
    """
    rnd = random.Random(11)
    values = {"u": ["a", "b", "c"], "v": ["x", "y"], "w": ["k", "l"]}
    combos = [(u, v, w) for u in "abc" for v in "xy" for w in "kl"]
    chances = [200, 20, 400, 60, 10, 600, 30, 300, 500, 40, 5, 100]
    rows = [(f"A{i:03}", *combo) for i in range(300) for combo in rnd.choices(combos, chances, k=rnd.randint(5, 40))]
    declared = {"area": sorted({r[0] for r in rows}), **values}
    people = _microdata(rows, declared)
    prior = _microdata([("A000", *c) for c, n in zip(combos, chances, strict=True) for _ in range(n)], declared)
    tables = flou.tabulate_many(people, [["area", "u", "v"], ["area", "v", "w"], ["area", "u"]], cells="all")
    shown = flou.protect.RandomRounding(5).protect(tables, secret=7)
    totals = shown.data[2].to_frame().filter((pl.col("u") == "Total") & pl.col("count").is_between(15, 30))
    kept = set(totals["area"]) - {"Total"}
    assert len(kept) > 120

    method = flou.attack.Reconstruction(mode="posterior", block="area", prior=prior, certain="skip")
    records = method.run(shown, truth=people, secret=9).records
    true = set(rows)
    for low, high in ((0.0, 1.0), (0.0, 0.5), (0.5, 0.8), (0.8, 0.95), (0.95, 1.0)):
        gap, deviations = 0.0, dict.fromkeys(kept, 0.0)
        for area, u, v, w, confidence in records.select("area", "u", "v", "w", "confidence").rows():
            if area in kept and low < confidence <= high:
                gap += ((area, u, v, w) in true) - confidence
                deviations[area] += math.sqrt(max(confidence * (1 - confidence), 0.0))
        spread = math.sqrt(sum(d * d for d in deviations.values()))
        assert spread > 0
        assert abs(gap) < 4.5 * spread + 3, (low, high, gap, spread)


def _microdata(rows: list[tuple[str, ...]], values: dict[str, list[str]]) -> flou.Microdata:
    frame = pl.DataFrame([(i, *row) for i, row in enumerate(rows)], schema=["pid", *values], orient="row")
    return flou.Microdata(frame, id="pid", keys=list(values), modalities=values)
