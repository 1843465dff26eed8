"""The attack on derived columns: against a naive one on small cases, and on planted leaks."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl
import pytest
from numpy.typing import NDArray

import flou
from flou.engine.errors import Infeasible
from flou.protect import Derive, IntervalBlur
from flou.protect.micro.derive.reconstruction import RatioRule, count_recovered, grain_of

Floats = NDArray[np.float64]
CENT = Fraction(1, 100)
RATIO = "original.notpb / original.apa_amount * apa_amount"


def _whole(value: Fraction) -> int:
    """A number in parts of two million, of which all numbers here are multiples."""
    assert 2_000_000 % value.denominator == 0
    return int(value * 2_000_000)


def _naive(
    y: Fraction, near: Fraction, shown: list[Fraction], factors: list[Fraction], slack: Fraction, above: bool = False
) -> bool:
    """Whether an amount comes back: every fraction in cents that gives the shown values is written down."""
    first, last = Fraction(9, 10) * min(y, near), Fraction(11, 10) * max(y, near)
    left = []
    others = np.arange(100_000 if above else 2000)
    for count in range(1, 2000):
        guess = count * CENT
        if not (first <= guess <= last or abs(guess - y) <= 3 * CENT):
            continue
        if above:  # |guess f / x - d| <= slack for some denominator x, in whole numbers
            fits = [
                (np.abs(_whole(guess * 100 * f) - others[1:] * _whole(d)) <= others[1:] * _whole(slack)).any()
                for d, f in zip(shown, factors, strict=True)
            ]
        else:  # |x f / guess - d| <= slack for some numerator x
            fits = [
                (np.abs(others * _whole(f) - _whole(d * guess * 100)) <= _whole(slack * guess * 100)).any()
                for d, f in zip(shown, factors, strict=True)
            ]
        if all(fits):
            left.append(guess)
    return len(left) < 3 or max(left) - min(left) < y / 100


@pytest.mark.parametrize("unit", [Fraction(1, 1000), Fraction(1, 100), Fraction(3, 100), Fraction(1, 10), Fraction(1)])
@pytest.mark.parametrize("n_rules", [1, 2])
def test_the_count_is_that_of_a_naive_reconstruction(unit: Fraction, n_rules: int) -> None:
    rng = np.random.default_rng(int(1000 * unit) + n_rules)
    cases = []
    for _ in range(12):
        y, near = (Fraction(int(v), 100) for v in rng.integers(20, 250, 2))
        near = y + (near - y) / 20
        xs = [Fraction(int(v), 100) for v in rng.integers(0, int(y * 100) + 1, n_rules)]
        factors = [Fraction(int(v), 100) for v in rng.integers(20, 300, n_rules)]
        shown = [round(x / y * f / unit) * unit for x, f in zip(xs, factors, strict=True)]
        cases.append((y, near, shown, factors))
    wanted = [_naive(*case, unit / 2) for case in cases]
    for (y, near, shown, factors), back in zip(cases, wanted, strict=True):
        rules = [
            RatioRule(np.array([float(d)]), np.array([float(f)]), 0.01, float(unit) / 2)
            for d, f in zip(shown, factors, strict=True)
        ]
        found = count_recovered(np.array([float(y)]), 0.01, np.array([float(near)]), rules)
        assert found == back, (y, near, shown, factors)
    if unit == Fraction(1, 1000) and n_rules == 2:
        assert sum(wanted) > 6, "cases of which none comes back would test little"


@pytest.mark.parametrize("unit", [Fraction(1, 1000), Fraction(1, 100), Fraction(1, 10)])
def test_the_count_of_numerators_is_that_of_a_naive_reconstruction(unit: Fraction) -> None:
    rng = np.random.default_rng(int(1000 * unit))
    n_back = 0
    for _ in range(10):
        x = Fraction(int(rng.integers(20, 200)), 100)
        ys = [x + Fraction(int(v), 100) for v in rng.integers(1, 200, 3)]
        factors = [Fraction(int(v), 100) for v in rng.integers(50, 300, 3)]
        shown = [round(x / y * f / unit) * unit for y, f in zip(ys, factors, strict=True)]
        if min(shown) <= unit:
            continue
        rules = [
            RatioRule(np.array([float(d)]), np.array([float(f)]), 0.01, float(unit) / 2, numerator=True)
            for d, f in zip(shown, factors, strict=True)
        ]
        back = _naive(x, x, shown, factors, unit / 2, above=True)
        assert count_recovered(np.array([float(x)]), 0.01, np.array([float(x)]), rules) == back
        n_back += back
    assert n_back or unit > Fraction(1, 1000)


def test_grain_of_amounts() -> None:
    assert grain_of(np.array([1.25, 3.1, np.nan, 7])) == 0.01
    assert grain_of(np.array([1200.0, 300, 0])) == 100
    assert grain_of(np.random.default_rng(1).random(50)) == 0
    cents = np.round(np.random.default_rng(2).uniform(0, 900, 200), 2)
    assert grain_of(np.append(cents, 12.345678)) == 0.01, "one odd amount hides no other"


APA = flou.datasets.apa(4_000)
BLUR = IntervalBlur("apa_amount", given=["gir", "couple"])


def _given_back(*steps: Any, data: flou.Microdata = APA) -> None:
    with pytest.raises(Infeasible, match="gives original amounts back"):
        flou.Plan(steps).protect(data, secret=1)


def test_exact_ratios_are_refused_and_rounded_ones_accepted() -> None:
    _given_back(BLUR, Derive(f"notpb = {RATIO}", unit=1e-6))
    _given_back(BLUR, Derive(f"share = {RATIO}", unit=1e-6))
    release = flou.Plan([BLUR, Derive(f"notpb = {RATIO}", unit=1.0)]).protect(APA, secret=1)
    before, after = (f.sort("pid") for f in (APA.to_frame(), release.to_frame(reveal=True)))
    kept = after.filter(pl.col("apa_amount") > 200)
    joined = kept.join(before, on="pid")
    gap = joined["notpb"] / joined["apa_amount"] - joined["notpb_right"] / joined["apa_amount_right"]
    assert gap.abs().max() < 0.6 / 200, "the ratio is kept to the unit"  # type: ignore[operator]


@pytest.mark.parametrize(
    "rule",
    [
        f"z = floor({RATIO} * 1000000)",
        f"z = max(0, min({RATIO} * 1000000, 1000000000))",
        f"z = min(floor({RATIO} * 1000000), 1000000000)",
        f"z = -1000000 * {RATIO}",
    ],
)
def test_exact_ratios_in_disguise_are_refused(rule: str) -> None:
    _given_back(BLUR, Derive(rule, unit=1.0))
    _given_back(BLUR, Derive(rule, unit=0.001))


def test_the_whole_part_of_a_ratio_is_as_safe_as_a_rounded_one() -> None:
    assert flou.Plan([BLUR, Derive(f"notpb = floor({RATIO})", unit=1.0)]).protect(APA, secret=1).guarantees
    assert flou.Plan([BLUR, Derive(f"notpb = floor({RATIO})", unit=0.01)]).protect(APA, secret=1).guarantees


def test_one_odd_amount_does_not_stop_the_attack() -> None:
    odd = APA.to_frame().with_columns(notpb=pl.when(pl.col("pid") == 1).then(12.345678).otherwise("notpb"))
    _given_back(BLUR, Derive(f"notpb = {RATIO}", unit=1e-6), data=flou.Microdata(odd, APA.schema))


@pytest.mark.parametrize("name", ["notpb", "copy"])
@pytest.mark.parametrize("times", ["", " * 12"])
def test_a_factor_that_was_not_blurred_is_found(name: str, times: str) -> None:
    """The ratio times its own denominator is the numerator, under whatever name and in whatever unit."""
    _given_back(Derive(f"{name} = {RATIO}{times}"))


def _amounts(n: int, seed: int) -> flou.Microdata:
    """Amounts of some euros in cents, four parts of each, and a blurred one beside it that is no part of the plan."""
    rng = np.random.default_rng(seed)
    y = rng.integers(20_000, 60_000, n)
    held: dict[str, Any] = {f"x{i}": rng.integers(1, y) / 100 for i in range(4)}
    return flou.Microdata(pl.DataFrame({"pid": np.arange(n), "y": y / 100, **held}), id="pid")


#: Rules that say little one by one: each leaves one amount in ten.
FOUR = [f"x{i} = original.x{i} / original.y * y" for i in range(4)]
BLUR_Y = IntervalBlur("y", classes=10)


def test_rules_that_leak_together_are_found() -> None:
    data = _amounts(60, 1)
    for rule in FOUR:
        # alone, while the other amounts stand in the file
        assert flou.Plan([BLUR_Y, Derive(rule, unit=0.001)]).protect(data, secret=1).steps[-1].n_recovered == 0


def test_a_ratio_beside_an_amount_that_stands_in_the_file_gives_the_other_one_away() -> None:
    data = _amounts(60, 1)
    _given_back(BLUR_Y, Derive("z = original.x0 / original.y * y", unit=0.01), data=data)
    hidden = IntervalBlur("x0", classes=5, given=["x1"])
    assert flou.Plan([BLUR_Y, hidden, Derive("z = original.x0 / original.y * y", unit=1)]).protect(data, secret=1)


def test_all_rules_together_leak() -> None:
    data = _amounts(60, 1)
    _given_back(BLUR_Y, Derive(FOUR, unit=0.001), data=data)


def test_rules_that_leak_together_are_found_in_several_steps() -> None:
    data = _amounts(60, 1)
    _given_back(BLUR_Y, *(Derive(rule, unit=0.001) for rule in FOUR), data=data)
    first = flou.Plan([BLUR_Y, *(Derive(rule, unit=0.001) for rule in FOUR[:2])])
    rest = flou.Plan([Derive(rule, unit=0.001) for rule in FOUR[2:]])
    with pytest.raises(Infeasible, match="gives original amounts back"):
        rest.protect(first.protect(data, secret=1), secret=1)


def test_rules_that_leak_a_common_numerator_are_found() -> None:
    rng = np.random.default_rng(4)
    x = rng.integers(20_000, 60_000, 60)
    held: dict[str, Any] = {f"y{i}": (x + rng.integers(1, 40_000, 60)) / 100 for i in range(4)}
    data = flou.Microdata(pl.DataFrame({"pid": np.arange(60), "x": x / 100, **held}), id="pid")
    blurs = [IntervalBlur(f"y{i}", classes=5, given=["x"]) for i in range(4)]
    blurs.append(IntervalBlur("x", classes=5, given=["y0"]))
    rules = [f"z{i} = original.x / original.y{i} * y{i}" for i in range(4)]
    for rule in rules:
        assert flou.Plan([*blurs, Derive(rule, unit=0.001)]).protect(data, secret=1).guarantees
    _given_back(*blurs, Derive(rules, unit=0.001), data=data)


def test_a_factor_that_is_an_unblurred_copy_is_found() -> None:
    copied = Derive("y2 = apa_amount", unit=0.01)
    _given_back(copied, BLUR, Derive("n2 = original.notpb / original.apa_amount * y2"))
