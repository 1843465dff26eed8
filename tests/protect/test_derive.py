"""What a derived column must hold, and which rules must be refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

import flou
from flou.engine.errors import DataError, FlouError, GuaranteeBrokenError, ParameterError
from flou.protect import Derive
from flou.risk.micro.inferable.inferable import inferable

ROWS: dict[str, list[Any]] = {
    "pid": [1, 2, 3, 4, 5],
    "name": ["a", "b", "c", "d", "e"],
    "n": [10, 25, None, 40, 7],
    "m": [4.0, 0.0, 2.0, None, -2.5],
    "code": [1, 2, 99, 4, 5],
    "g": ["x", "y", "x", "y", "x"],
    "w": [1.0, 1.0, 2.0, 2.0, 3.0],
}


def _data(**roles: Any) -> flou.Microdata:
    held: dict[str, Any] = {"id": "pid", "identifiers": ["name"], "others": ["code"], "not_applicable": {"code": [99]},
                            "weight": "w"}  # fmt: skip
    return flou.Microdata(pl.DataFrame(ROWS), **(held | roles))


def _derived(rules: str | list[str], column: str, **settings: Any) -> list[Any]:
    release = Derive(rules, **settings).protect(_data(), secret=1)
    return list(release.to_frame(reveal=True).sort("pid")[column].to_list())


def _refused(rules: str | list[str], match: str, error: type[FlouError] = DataError, **settings: Any) -> None:
    with pytest.raises(error, match=match):
        Derive(rules, **settings).protect(_data(), secret=1)


def test_nulls_and_not_applicable_codes_give_nulls() -> None:
    assert _derived("z = n + m", "z") == [14, 25, None, None, 4]
    assert _derived("z = min(n, 1)", "z") == [1, 1, None, 1, 1], "null is not a large number"
    assert _derived("z = n * 0", "z") == [0, 0, None, 0, 0]
    assert _derived("z = code", "z") == [1, 2, None, 4, 5]


def test_division_by_zero_is_refused_or_says_what_is_shown() -> None:
    _refused("z = n / m", r"divides by zero in 1 records.*zero_division")
    assert _derived("z = n / m", "z", zero_division="null") == [2, None, None, None, -3]
    assert _derived("z = n / m", "z", zero_division=5) == [2, 5, None, None, -3]
    assert _derived("z = min(n / m, 1)", "z", zero_division=5) == [1, 5, None, None, -3], "wherever it stands"
    assert _derived("z = n / m", "z", zero_division=-1, at_least=0) == [2, -1, None, None, 0], "a mark is no value"
    _refused("z = n / m", "multiple of unit", ParameterError, zero_division=0.5)
    _refused(["z = n", "y = n / (z - n)"], "divides by zero in 4 records")
    assert _derived("z = (m - m) / m", "z", zero_division=7) == [0, 7, 0, None, 0], "nothing over nothing as well"


def test_values_that_are_no_numbers_are_refused() -> None:
    _refused("z = log(n - 10)", "no finite value in 2 records")
    _refused("z = sqrt(m)", "no finite value in 1 records")
    _refused("z = exp(n * 1000)", "no finite value in 4 records")
    assert _derived("z = sqrt(max(m, 0))", "z") == [2, 0, 1, None, 0]


def test_bounds_hold_after_rounding() -> None:
    assert _derived("z = n", "z", at_least=8.5, at_most=24.5) == [10, 24, None, 24, 9]
    assert _derived("z = n", "z", at_least=10, at_most=30, unit=10.0) == [10, 20, None, 30, 10]
    _refused("z = n", "no multiple", ParameterError, at_least=11, at_most=19, unit=10.0)


def test_values_are_multiples_of_the_unit() -> None:
    assert _derived("z = n / 3", "z", unit=0.1) == [3.3, 8.3, None, 13.3, 2.3], "the nearest decimal numbers"
    assert _derived("z = n", "z", unit=20.0) == [0, 20, None, 40, 0], "halves to the even multiple"
    assert Derive("z = n / 3", unit=0.1).protect(_data(), secret=1).to_frame().schema["z"] == pl.Float64
    assert Derive("z = m").protect(_data(), secret=1).to_frame().schema["z"] == pl.Int64
    _refused("n = n / 3", "whole numbers", ParameterError, unit=0.1)
    _refused("g = n", "computes numbers")


def test_rules_are_carried_out_in_their_order() -> None:
    """A rule sees what was computed before it, rounded as it will be shown, and else the file as it came."""
    assert _derived(["n = n / 3", "z = n * 3"], "z", unit=1.0) == [9, 24, None, 39, 6]
    assert _derived(["z = n * 3", "n = n / 3"], "z", unit=1.0) == [30, 75, None, 120, 21]
    assert _derived(["a = 1", "b = a + 1", "a2 = b + a"], "a2") == [3] * 5
    _refused(["b = a + 1", "a = 1"], "names a, which is not in the data")


def test_new_columns_are_published_and_others_untouched() -> None:
    release = Derive("total = n + code").protect(_data(), secret=1)
    assert release.to_frame().columns[-1] == "total"
    assert release.data.schema.others == ("code", "total")
    assert release.to_frame(reveal=True).drop("total").sort("pid").equals(_data().to_frame())


def test_a_computed_value_is_no_not_applicable_code() -> None:
    release = Derive("code = n + 59").protect(_data(), secret=1)
    assert release.to_frame(reveal=True).sort("pid")["code"].to_list() == [69, 84, None, 99, 66]
    assert "code" not in release.data.schema.not_applicable


def test_columns_that_are_missing_or_hidden_are_refused() -> None:
    _refused("z = nn + 1", "names nn, which is not in the data.*'n'")
    _refused("z = original.nn / original.m * m", "original.nn, which is not in the plan's input")
    _refused("z = pid", "never published")
    _refused("z = original.pid / original.m * m", "never published")
    _refused("z = n / original.pid * original.m", "never published")
    _refused("pid = n", "never published")
    _refused("name = n", "never published")
    _refused("w = n", "is the weight")
    _refused("z = g + 1", "numbers or dates")
    _refused("__flou_unit = n", "Flou adds for itself")


@pytest.mark.parametrize(
    "rule",
    [
        "z = original.n", "z = original.n * m", "z = original.n / m", "z = m / original.n", "z = 2 * original.n / 2",
        "z = original.n / original.m", "z = original.n / original.m * 100", "z = original.n + m", "z = original.n - n",
        "z = original.n * original.m * n", "z = original.n / original.m / original.code * n", "z = abs(original.n)",
        "z = original.n / original.n * n * original.m", "z = exp(log(original.n))", "z = original.n * n / n",
        "z = min(original.n, m)", "z = floor(original.n)", "z = max(m, original.n / original.m)",
        "z = -original.n", "z = (original.n + 0) / original.m * m", "z = m / (original.m / original.n) + original.n",
        "z = sqrt(original.n / original.m * m)", "z = original.n / original.m * m + 1",
        "z = max(original.n / original.m * m, original.n / original.m * m)",
        "m = original.n / original.m * m",
    ],
)  # fmt: skip
def test_rules_that_show_the_input_in_other_shapes_are_refused(rule: str) -> None:
    with pytest.raises(ParameterError, match="ratio"):
        Derive(rule)


@pytest.mark.parametrize(
    "rule",
    [
        "z = original.n / original.m * m", "z = m / original.m * original.n", "z = m / (original.m / original.n)",
        "z = -(original.n * m / original.m)", "z = 12 * n * m * original.n / original.m",
        "z = max(0, min(original.n / original.m * m, n))", "z = floor(original.n / original.m * m)",
        "z = original.n / original.n * n", "z = n + m",
    ],
)  # fmt: skip
def test_ratios_in_any_writing_are_read(rule: str) -> None:
    assert Derive(rule).rules == (rule,)


def test_factors_that_a_later_rule_changes_are_refused() -> None:
    """An intruder knows the rules and undoes the second; the attack would look at the file alone."""
    with pytest.raises(ParameterError, match="computes anew"):
        Derive(["z = original.n / original.m * m", "m = 3.7 * m + 7"])
    assert Derive(["m = 3.7 * m + 7", "z = original.n / original.m * m"])


def test_two_rules_for_one_column_and_wrong_bounds_are_refused() -> None:
    for rules, settings in ((["z = n", "z = m"], {}), (["z = n"], {"at_least": 2, "at_most": 1})):
        with pytest.raises(ParameterError):
            Derive(rules, **settings)


def test_a_later_step_that_leaves_the_unit_breaks_the_promise() -> None:
    coarse, fine = Derive("z = n", unit=5.0), Derive("z = n / 3", unit=2.0)
    with pytest.raises(GuaranteeBrokenError, match="multiples of 5"):
        flou.Plan([coarse, fine]).protect(_data(), secret=1)
    assert flou.Plan([coarse, Derive("z = z * 2", unit=5.0)]).protect(_data(), secret=1).guarantees


@pytest.mark.parametrize("rule", ["copy = resources", "copy = 0.5 * resources", "copy = resources - notpb"])
def test_a_copy_made_before_a_later_step_hides_the_original_is_refused(rule: str) -> None:
    people = flou.datasets.apa(2_000)
    copied, blur = flou.protect.Derive(rule, unit=0.01), flou.protect.IntervalBlur("resources", given=["sex"])
    with pytest.raises(flou.FlouError, match="nothing that a later step hides stands in a derived column"):
        flou.Plan([copied, blur]).protect(people, secret=1)
    assert flou.Plan([blur, copied]).protect(people, secret=1).guarantees
    with pytest.raises(flou.FlouError, match="nothing that a later step hides"):
        flou.Plan([copied, flou.protect.TopCode("resources", quantile=0.9)]).protect(people, secret=1)


def test_a_copy_of_a_column_that_a_later_step_turns_into_text_is_refused() -> None:
    """The file shows bands of ages, and every age under another name."""
    bands = {"age": flou.Hierarchy.bands(10)}
    people = flou.Microdata(pl.DataFrame({"age": [i % 60 for i in range(300)]}), keys=["age"], hierarchies=bands)
    with pytest.raises(GuaranteeBrokenError, match="nothing that a later step hides stands in a derived column"):
        flou.Plan([Derive("copy = age"), flou.protect.Recode("age", level=1)]).protect(people, secret=1)


def share_shown(steps: list[Any], people: flou.Microdata, derived: str = "copy", hidden: str = "income") -> float:
    """The attack: the share of released records whose derived value is the hidden amount of the plan's input."""
    shown = flou.Plan(steps).protect(people, secret=1).to_frame(reveal=True)
    both = shown.join(people.to_frame().select("pid", was=hidden), on="pid")
    return float((both[derived] == both["was"]).mean())  # type: ignore[arg-type]


def earners() -> flou.Microdata:
    rng = np.random.default_rng(8)
    n = 2_000
    income, other = (np.round(rng.lognormal(8, 0.6, n), 2) for _ in range(2))
    frame = pl.DataFrame({"pid": np.arange(n), "sex": rng.choice(["m", "f"], n), "income": income, "other": other})
    return flou.Microdata(frame, id="pid", keys=["sex"])


LATER = {
    "interval blur": flou.protect.IntervalBlur("income", classes=10),
    "top code": flou.protect.TopCode("income", quantile=0.5),
    "round": flou.protect.Round(columns=["income"], unit=500.0),
    "microaggregation": flou.protect.Microaggregation(columns=["income"], group_size=5),
    "noise": flou.protect.AdditiveNoise(columns=["income"], share=0.2),
    "swap": flou.protect.RandomSwap(columns=["income"], share=0.3),
}
FIRST = {
    "nothing": [],
    "top code": [flou.protect.TopCode("income", quantile=0.85)],
    "bottom code": [flou.protect.BottomCode("income", quantile=0.3)],
    "swap": [flou.protect.RandomSwap(columns=["income"], share=0.3)],
}
RULES = {
    "copy": ["copy = income"],
    "part": ["half = income / 2"],
    "sum": ["total = income + other"],
    "through another": ["first = income + 1", "copy = first - 1"],
}


#: A bound that a step promised does not outlive noise, which is refused for that reason.
PATHS = [(first, later) for first in FIRST for later in LATER if "code" not in first or later not in ("round", "noise")]


@pytest.mark.parametrize(("first", "later"), PATHS)
@pytest.mark.parametrize("rules", RULES)
def test_values_that_a_later_step_hides_are_followed_record_by_record(rules: str, first: str, later: str) -> None:
    """A step before the rule changes some values: what it left alone is carried on all the same."""
    derive = flou.protect.Derive(RULES[rules], unit=0.01)
    with pytest.raises(flou.FlouError, match="nothing that a later step hides stands in a derived column"):
        flou.Plan([*FIRST[first], derive, LATER[later]]).protect(earners(), secret=1)
    if later == "interval blur" and rules == "copy":
        assert share_shown([*FIRST[first], LATER[later], derive], earners()) < 0.01


def test_a_key_that_is_drawn_anew_or_nulled_does_not_stay_in_a_derived_column() -> None:
    rng = np.random.default_rng(8)
    frame = earners().to_frame().with_columns(
        size=pl.Series(rng.integers(1, 9, 2_000)), age=pl.Series(rng.integers(0, 90, 2_000))
    )  # fmt: skip
    people = flou.Microdata(frame, id="pid", keys=["sex", "size", "age"])
    twice = flou.protect.Derive("twice = 2 * size")
    with pytest.raises(flou.FlouError, match="twice: nothing that a later step hides"):
        flou.Plan([twice, flou.protect.Pram("size", stay=0.8)]).protect(people, secret=1)
    dear = flou.protect.LocalSuppression(k=3, importance={"size": 1, "age": 5, "sex": 5}, search="quick")
    with pytest.raises(flou.FlouError, match="'twice' tells what they were"):
        flou.Plan([twice, dear]).protect(people, secret=1)


def test_what_a_strong_step_left_alone_is_found_on_the_final_file() -> None:
    """Few values are left as they came, nobody knows which; a copy shows them beside the blur all the same."""
    swap = flou.protect.RandomSwap(columns=["income"], share=0.8)
    copy = flou.protect.Derive("copy = income", unit=0.01)
    steps = [swap, copy, LATER["interval blur"]]
    assert share_shown(steps, earners()) < 0.5
    worst = inferable(flou.Plan(steps).protect(earners(), secret=1))[0]
    assert (worst.by, worst.level) == (("copy",), "withhold")


def test_a_second_rule_carries_on_what_the_first_one_took() -> None:
    """The first copy is computed anew after the blur; the copy of the copy is not."""
    copy, second = (flou.protect.Derive(rule, unit=0.01) for rule in ("copy = income", "again = copy"))
    with pytest.raises(flou.FlouError, match="again: nothing that a later step hides"):
        flou.Plan([copy, second, LATER["interval blur"], copy]).protect(earners(), secret=1)
    steps = [copy, second, LATER["interval blur"], copy, second]
    assert share_shown(steps, earners(), "again") < 0.01
    assert share_shown(steps, earners()) < 0.01


def test_a_rule_that_is_computed_anew_shows_what_is_released() -> None:
    total = flou.protect.Derive("total = income + other", unit=0.01)
    steps = [total, LATER["interval blur"], total]
    shown = flou.Plan(steps).protect(earners(), secret=1).to_frame()
    assert ((shown["income"] + shown["other"] - shown["total"]).abs() < 0.006).all()


def test_a_coarse_rule_that_fits_the_blurred_amount_too_tells_nothing_of_the_original() -> None:
    """Both amounts lie on the same side of the bound in every record."""
    rule = flou.protect.Derive("rich = floor(income / 1000) - floor(income / 1000)", unit=1.0)
    assert flou.Plan([rule, LATER["interval blur"]]).protect(earners(), secret=1).guarantees


def test_values_that_a_blur_leaves_by_chance_are_not_carried_on() -> None:
    """A third of the ages in a class of three years are drawn as they were, and nobody knows which."""
    rng = np.random.default_rng(8)
    frame = pl.DataFrame(
        {"pid": np.arange(3_000), "age": rng.integers(60, 96, 3_000), "sex": rng.choice(["m", "f"], 3_000)}
    )
    people = flou.Microdata(frame, id="pid", keys=["age", "sex"], hierarchies={"age": flou.Hierarchy.bands(10)})
    blur = flou.protect.IntervalBlur("age", breaks=list(range(60, 99, 3)), scale="identity")
    steps = [blur, Derive("years = age"), flou.protect.Recode("age", level=1)]
    assert 0.2 < share_shown(steps, people, "years", "age") < 0.45


def test_a_rule_without_originals_promises_nothing_about_ratios() -> None:
    release = flou.protect.Derive("tax = 0.2 * resources", unit=1).protect(flou.datasets.apa(500), secret=1)
    assert not any("ratios" in str(proof) for proof in release.guarantees)
    assert not release.steps[0].notes
