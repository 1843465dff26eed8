"""Reconstruction against all populations that fit, counted out one by one: proofs, bounds, likelihoods, chances."""

from __future__ import annotations

import importlib.util
import math
import random
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from tests.depth import at_depth

import flou


def _beside(name: str) -> Any:
    """The module of this name beside the tests, which are not a package."""
    spec = importlib.util.spec_from_file_location(f"reconstruction_{name}", Path(__file__).parent / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


brute = _beside("possible_populations")
Rule, World, Possible = brute.Rule, brute.World, brute.Possible

RULES = {
    "none": Rule("none"),
    "nearest 3": Rule("nearest", 3),
    "nearest 5": Rule("nearest", 5),
    "random 3": Rule("random", 3),
    "random 5": Rule("random", 5),
    "random 3 by keys": Rule("keys", 3),
    "cell key": Rule("cellkey", matrix=(2, 1.0, 0)),
    "cell key with js": Rule("cellkey", matrix=(3, 2.0, 1)),
    "withheld": Rule("withheld"),
}
UNKEYED = ["none", "nearest 3", "nearest 5", "random 3", "random 5"]


class Drawn:
    """A random small file, its tables, what is published of them, and every population that fits."""

    def __init__(self, seed: int, rule: Any) -> None:
        rnd = random.Random(f"{seed} {rule}")
        self.world = _world(rnd)
        self.cells = rnd.choice(["occupied", "all"])
        self.rule = rule
        self.specs = [
            (_dims(rnd, self.world), rnd.random() < 0.75)
            for _ in range(1 if rule.kind == "withheld" else rnd.choice([1, 2, 3]))
        ]
        self.people = [rnd.choice(self.world.combos) for _ in range(rnd.randint(1, 7))]
        self.data = self.world.microdata(self.people, keyed=rule.keyed, secret=seed)
        asked = [{"dims": dims, "margins": margins} for dims, margins in self.specs]
        made = flou.tabulate_many(self.data, asked, cells=self.cells)
        self.release, self.tables = _published(rule, made, seed)
        self.max_total = 8 if rule.kind == "withheld" else None
        self.seen = self.world.spoken_of([dims for dims, _ in self.specs])
        self.truth = Counter(self.world.seen(person, self.seen.values) for person in self.people)

    @property
    def all_shapes_listed(self) -> bool:
        held = zip(self.specs, self.tables, strict=True)
        return self.cells == "all" or all(brute.shapes_listed(self.seen, *spec, table) for spec, table in held)

    def possible(self) -> Any | None:
        """Every population that fits; None where there are too many to count out."""
        held = zip(self.specs, self.tables, strict=True)
        cells = [cell for spec, table in held for cell in brute.published_cells(self.seen, *spec, table)]
        tops = [max((t for t in range(40) if self.rule.chance(t, c.shown) > 0), default=-1) for c in cells]
        n = len(self.seen.combos)
        most = sum(min(tops[k] for k, c in enumerate(cells) if i in c.inside) for i in range(n))
        most = min([most, self.max_total or most, *(tops[k] for k, c in enumerate(cells) if len(c.inside) == n)])
        return Possible(self.seen, cells, self.rule, most) if most <= 11 else None

    def attack(self, **settings: Any) -> Any:
        return flou.attack.Reconstruction(max_total=self.max_total, **settings).reconstruct(self.release, secret=3)

    def counts(self, frame: pl.DataFrame) -> tuple[int, ...]:
        """A frame of records as counts of each combination; none may be unknown."""
        held = {tuple(row[c] for c in self.seen.values): row["count"] for row in frame.to_dicts()}
        assert set(held) <= set(self.seen.combos)
        return tuple(held.get(combo, 0) for combo in self.seen.combos)

    @property
    def true_counts(self) -> tuple[int, ...]:
        return tuple(self.truth.get(combo, 0) for combo in self.seen.combos)


def _world(rnd: random.Random) -> Any:
    names = "uv" if rnd.random() < 0.65 else "uvw"
    sizes = {"u": rnd.choice([2, 3]), "v": rnd.choice([2, 3]) if len(names) == 2 else 2, "w": 2}
    values = {c: tuple(f"{c}{i}" for i in range(sizes[c])) for c in names}
    groups = {v: "X" if i < sizes["u"] - 1 else "Y" for i, v in enumerate(values["u"])} if rnd.random() < 0.4 else {}
    rules = ({"u": rnd.choice(values["u"]), "v": rnd.choice(values["v"])},) if rnd.random() < 0.35 else ()
    return World(values, groups, rules)


def _dims(rnd: random.Random, world: Any) -> list[str]:
    picked = [c for c in world.values if rnd.random() < 0.65] or ["v"]
    return [rnd.choice(["u", "u@big", "u@big>u"]) if c == "u" and world.groups else c for c in picked]


def _published(rule: Any, tables: Any, seed: int) -> tuple[Any, list[Any]]:
    if rule.kind == "none":
        return tables, list(tables)
    if rule.kind == "withheld":
        release = flou.protect.CellSuppression([flou.risk.Threshold(3)]).protect(tables[0])
        return release, [release.data]
    if rule.kind == "nearest":
        release = flou.protect.Rounding(rule.base).protect(tables)
    elif rule.kind == "cellkey":
        D, V, js = rule.matrix
        release = flou.protect.CellKey(D=D, V=V, js=js).protect(tables)
    else:
        release = flou.protect.RandomRounding(rule.base).protect(tables, secret=seed)
    return release, list(release.data)


def _cases(rule: str, n: int, start: int = 0) -> list[tuple[Drawn, Any]]:
    """Cases that can be counted out, of which all levels are seen to be published."""
    out = []
    for seed in range(start, start + 10 * n):
        case = Drawn(seed, RULES[rule])
        possible = case.possible() if case.all_shapes_listed else None
        if possible is not None and len(possible.populations) < 30_000:
            assert case.true_counts in possible.strict, "the count of what is possible is wrong"
            out.append((case, possible))
        if len(out) == n:
            return out
    raise AssertionError(f"{len(out)} of {n} cases can be counted out")


@pytest.mark.parametrize("rule", RULES)
def test_certain_is_the_least_count_over_all_populations_that_fit(rule: str) -> None:
    proven = 0
    for case, possible in _cases(rule, at_depth(7, 20)):
        found = case.attack(mode="feasible")
        certain = case.counts(found.certain)
        # the same people show the same: of this Flou may make use, or not of all of it
        assert all(
            low <= claimed <= high
            for low, claimed, high in zip(
                possible.least(possible.populations), certain, possible.least(possible.strict), strict=True
            )
        ), (case.specs, case.people)
        assert case.counts(found.records) in possible.populations
        proven += sum(certain)
    assert proven > 0


@pytest.mark.parametrize("rule", RULES)
def test_bounds_are_the_least_and_the_largest_count_of_a_query(rule: str) -> None:
    rnd = random.Random(rule)
    for case, possible in _cases(rule, at_depth(5, 12), start=1_000):
        found = case.attack(mode="feasible", certain="skip")
        for _ in range(3):
            values = case.seen.values
            query = {c: rnd.sample(values[c], rnd.randint(1, len(values[c]))) for c in values if rnd.random() < 0.6}
            names = list(values)
            inside = {
                i
                for i, combo in enumerate(case.seen.combos)
                if all(combo[names.index(c)] in v for c, v in query.items())
            }
            bounds = found.bounds(query)
            low, high = possible.ends(possible.populations, inside)
            least, most = possible.ends(possible.strict, inside)
            assert low <= bounds.low <= least, (case.specs, case.people, query)
            assert most <= bounds.high <= high, (case.specs, case.people, query)


@pytest.mark.parametrize("rule", UNKEYED)
def test_the_likeliest_population_is_found(rule: str) -> None:
    for case, possible in _cases(rule, at_depth(4, 10), start=2_000):
        counts = case.counts(case.attack(mode="likelihood", certain="skip").records)
        best = max(map(possible.log_likelihood, possible.populations))
        assert possible.log_likelihood(counts) == pytest.approx(best, abs=1e-9), (case.specs, case.people)


@pytest.mark.parametrize("rule", ["nearest 3", "random 3", "random 5"])
def test_confidence_is_the_posterior_under_a_uniform_prior(rule: str) -> None:
    """Attributes are drawn for each person, every number of people is as likely as any other."""
    assert _largest_error(_cases(rule, 6, start=3_000)) < 0.05


@pytest.mark.parametrize("rule", ["random 3 by keys", "cell key"])
def test_confidence_counts_the_noise_of_the_same_people_once(rule: str) -> None:
    assert _largest_error(_cases(rule, 8, start=3_000)) < 0.1


def _largest_error(cases: list[tuple[Drawn, Any]]) -> float:
    worst = 0.0
    for case, possible in cases:
        weights = [math.exp(possible.log_likelihood(p) + _log_prior(p)) for p in possible.strict]
        found = case.attack(mode="posterior", certain="skip").records
        for row in found.to_dicts():
            i = case.seen.combos.index(tuple(row[c] for c in case.seen.values))
            present = sum(w for w, p in zip(weights, possible.strict, strict=True) if p[i]) / sum(weights)
            worst = max(worst, abs(row["confidence"] - present))
    return worst


def _log_prior(counts: tuple[int, ...]) -> float:
    return math.lgamma(sum(counts) + 1) - sum(counts) * math.log(len(counts)) - sum(math.lgamma(x + 1) for x in counts)


@pytest.mark.parametrize("rule", RULES)
def test_what_is_certain_is_true(rule: str) -> None:
    """Also where populations are too many to count out, and where whole levels are shown as zero."""
    n = 0
    for seed in range(5_000, at_depth(5_010, 5_040)):
        case = Drawn(seed, RULES[rule])
        if not any(table.to_frame().height for table in case.tables):
            continue  # nothing at all is listed
        found = case.attack(mode="feasible")
        assert all(c <= t for c, t in zip(case.counts(found.certain), case.true_counts, strict=True)), case.people
        bounds = found.bounds()
        assert bounds.low <= len(case.people) <= bounds.high
        n += 1
    assert n > at_depth(5, 25)


def test_a_level_of_which_no_cell_is_listed_is_shown_as_zero() -> None:
    world = World({"u": ("a", "b"), "v": ("x", "y")})
    people = world.microdata([("a", "x"), ("b", "y"), ("a", "y")])
    shown = flou.protect.Rounding(3).protect(people.tabulate(["u", "v"]))
    assert shown.data.to_frame().height == 3  # the total, a, and y: no cell of u and v
    found = flou.attack.Reconstruction(mode="feasible").reconstruct(shown)
    assert (found.bounds(u="a", v="y").high, found.bounds(u="a").high) == (1, 2)


def test_a_table_of_which_nothing_is_listed_says_that_few_people_are_there() -> None:
    world = World({"u": ("a", "b"), "v": ("x", "y")})
    shown = flou.protect.Rounding(3).protect(world.microdata([("a", "x")]).tabulate(["u", "v"]))
    found = flou.attack.Reconstruction(mode="feasible").reconstruct(shown)
    assert found.certain.height == 0
    assert found.bounds() == type(found.bounds())(0, 1, True)
