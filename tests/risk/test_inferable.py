"""Hidden values that can be read off what is released."""

from __future__ import annotations

import time
from functools import cache
from typing import Any

import numpy as np
import polars as pl
import pytest
from tests.risk.like_eusilc import Hide, like_eusilc

import flou
from flou.decide.rule import Rule
from flou.decide.verdict import Decision
from flou.engine.release import Release
from flou.risk.micro.inferable.inferable import found_before, inferable
from flou.risk.micro.inferable.leak import Leak

POLICY = flou.Policy(
    rules=[Rule(method="k_anonymity", settings={"k": 3, "missing": "category"}, at_most={"release": 0.0})]
)


def alarms(release: Release) -> list[Leak]:
    return [leak for leak in inferable(release) if leak.level != "note"]


def told_by(release: Release, column: str) -> set[str]:
    return {name for leak in alarms(release) if leak.column == column for name in leak.by}


def suppressed(people: flou.Microdata) -> Release:
    return flou.protect.LocalSuppression(k=3, search="quick").protect(people, secret=1)


@cache
def eusilc(wrong: float, weights: Any) -> Release:
    return suppressed(like_eusilc(wrong, weights))


@pytest.mark.parametrize("wrong", [0.0, 0.002])
def test_a_weight_that_tells_nulled_keys_is_found(wrong: float) -> None:
    release = eusilc(wrong, "telling")
    found = {leak.column: leak for leak in inferable(release)}
    for column in ("region", "size"):
        leak = found[column]
        assert (leak.by, leak.level, leak.by_chance) == (("weight",), "withhold", 0)
        assert leak.n_treated == release.steps[0].nulls[column]
        # a region and size that few share teaches nobody, and some regions are not rare even once they are known
        assert leak.recovered > 0.7 * leak.n_treated


def test_the_verdict_withholds_and_names_the_weight() -> None:
    release = eusilc(0.0, "telling")
    verdict = POLICY.judge(flou.risk.KAnonymity(k=3, missing="category").measure(release), release)
    assert "test seed" in str(verdict)
    assert any(
        r.decision is Decision.WITHHOLD and "region was hidden and can be read off weight" in str(r.text)
        for r in verdict.reasons
    )
    assert "Coarsen weight, null it together with region, or leave it out" in str(verdict)
    assert not any("weight" in str(r.rule) for r in verdict.reasons), "a public page names no column that tells"
    assert found_before(release.data) == inferable(release)


def test_a_weight_that_has_nothing_to_do_with_keys_raises_no_alarm() -> None:
    release = eusilc(0.0, "independent")
    assert release.steps[0].n_nulls > 500
    assert not alarms(release)


def test_the_largest_k_that_is_named_counts() -> None:
    """Three of a class are left once the region is known, which is enough for k = 3 and not for k = 5."""
    frame = like_eusilc(households=300).to_frame().with_columns(
        age=pl.lit("0"), sex=pl.lit("m"), region=(pl.col("pid") // 4).cast(pl.String), weight=pl.col("pid") // 4 + 1.5
    )  # fmt: skip
    people = flou.Microdata(frame.head(600), id="pid", household="hid", keys=["region", "sex"], weight="weight")
    release = flou.protect.Recode("region", mapping={str(i): "*" for i in range(150)}).protect(people, secret=1)
    assert not [leak for leak in inferable(release, 4) if leak.level != "note"]
    assert [leak.by for leak in inferable(release, 5)] == [("weight",)]
    rules = [Rule(method="k_anonymity", settings={"k": 5, "missing": "category"}, at_most={"release": 0.0})]
    assert "read off weight" in str(flou.Policy(rules=rules).judge(release))


def test_a_region_recoded_to_one_value_is_told_by_its_stratum() -> None:
    people = like_eusilc(households=2_000)
    frame = people.to_frame().drop("weight").with_columns(place=pl.col("region").str.replace("AT", "stratum "))
    schema = people.schema.without(["weight"])
    coarse = flou.protect.Recode("region", mapping={f"AT{i}": "*" for i in range(9)})
    assert told_by(coarse.protect(flou.Microdata(frame, schema), secret=1), "region") == {"place"}
    assert not told_by(coarse.protect(flou.Microdata(frame.drop("place"), schema), secret=1), "region")


def test_a_column_that_was_dropped_is_told_by_another() -> None:
    people = like_eusilc(households=2_000)
    rng = np.random.default_rng(2)
    illness = rng.integers(0, 40, people.n_records)
    frame = people.to_frame().with_columns(illness=pl.Series(illness), drug=pl.Series(illness * 7 % 40))
    release = Hide(column="illness").protect(flou.Microdata(frame, people.schema), secret=1)
    assert told_by(release, "illness") == {"drug"}
    other = flou.Microdata(frame.with_columns(drug=pl.Series(rng.integers(0, 40, len(frame)))), people.schema)
    assert not alarms(Hide(column="illness").protect(other, secret=1))


def test_what_the_keys_tell_anyway_is_no_leak() -> None:
    people = like_eusilc(households=2_000)
    frame = people.to_frame().with_columns(country=pl.col("region") + "x", place=pl.col("region") + "y").drop("weight")
    release = Hide(column="country").protect(flou.Microdata(frame, people.schema.without(["weight"])), secret=1)
    assert not alarms(release)


def test_two_columns_tell_what_neither_tells_alone() -> None:
    people = like_eusilc(households=2_000)
    region = pl.col("region").str.slice(2).cast(pl.Int64)
    frame = people.to_frame().drop("weight").with_columns(a=pl.col("pid") % 9, b=(pl.col("pid") + region) % 9)
    release = Hide(column="region", nth=7).protect(flou.Microdata(frame, people.schema.without(["weight"])), secret=1)
    assert {leak.by for leak in alarms(release)} == {("a", "b")}


AMOUNTS = {
    "s": ("income", {"copy": pl.col("income")}),
    "a * s": ("income", {"tax": pl.col("income") * 0.19}),
    "s1 + s2": ("income", {"wage": pl.col("part"), "rest": pl.col("income") - pl.col("part")}),
    "s1 - s2": ("income", {"gross": pl.col("income") + pl.col("part"), "taxes": pl.col("part")}),
    "s1 * s2": ("income", {"hours": pl.col("part"), "hourly": pl.col("income") / pl.col("part")}),
    "s1 / s2": ("income", {"product": pl.col("income") * pl.col("part"), "factor": pl.col("part")}),
}


def with_amounts(columns: dict[str, pl.Expr]) -> flou.Microdata:
    rng = np.random.default_rng(3)
    n = 3_000
    income = np.round(rng.lognormal(9, 0.7, n), 2)
    frame = pl.DataFrame(
        {
            "pid": np.arange(n),
            "sex": rng.choice(["m", "f"], n),
            "income": np.where(rng.random(n) < 0.1, 0.0, income),
            "part": np.round(rng.lognormal(7, 0.7, n), 2),
        }
    )
    return flou.Microdata(frame.with_columns(**columns).drop("part"), id="pid", keys=["sex"], sensitive=["income"])


BLURS = {
    "round": flou.protect.Round(columns=["income"], unit=5_000.0),
    "noise": flou.protect.AdditiveNoise(columns=["income"], share=0.5),
    "null": Hide(column="income", nth=7),
    "drop": Hide(column="income"),
}


@pytest.mark.parametrize("blur", BLURS)
@pytest.mark.parametrize("formula", AMOUNTS)
def test_an_amount_is_computed_from_others(formula: str, blur: str) -> None:
    _, columns = AMOUNTS[formula]
    release = BLURS[blur].protect(with_amounts(columns), secret=1)
    assert told_by(release, "income") == set(columns)
    best = inferable(release)[0]
    assert best.level == "withhold"
    # a tenth of the incomes are zeros, which are not secret
    assert best.recovered > (0.7 if blur == "round" else 0.8) * best.n_treated


def test_amounts_that_go_together_are_no_formula() -> None:
    rng = np.random.default_rng(5)
    noisy = pl.col("income") * pl.Series(np.exp(0.3 * rng.standard_normal(3_000)))
    people = with_amounts({"wealth": noisy, "debts": noisy.reverse()})
    for blur in BLURS.values():
        assert not alarms(blur.protect(people, secret=1))


def test_legal_zeros_are_not_secret() -> None:
    """Who is entitled tells who has no benefit, and nothing of what the others have."""
    rng = np.random.default_rng(6)
    n = 3_000
    has = rng.random(n) < 0.5
    frame = pl.DataFrame(
        {
            "pid": np.arange(n),
            "sex": rng.choice(["m", "f"], n),
            "benefit": np.where(has, np.round(rng.lognormal(6, 1, n), 2), 0.0),
            "entitled": np.where(has, "yes", "no"),
        }
    )
    people = flou.Microdata(frame, id="pid", keys=["sex"], sensitive=["benefit"])
    assert not inferable(Hide(column="benefit").protect(people, secret=1))


def test_a_derived_column_that_shows_the_original_is_found() -> None:
    """A column computed before the blur carries the amount on, whatever the rule promises."""
    people = with_amounts({"copy": pl.col("income") + 100})
    release = flou.protect.AdditiveNoise(columns=["income"], share=0.5).protect(people, secret=1)
    moved = flou.protect.Derive("income = income", unit=0.01).protect(release, secret=1)
    assert not [leak for leak in alarms(moved) if leak.by == ("income",)], "what a column itself shows is its promise"
    rng = np.random.default_rng(4)
    base = pl.Series(np.round(rng.lognormal(7, 1, 3_000), 2))
    people = with_amounts({"base": base, "total": pl.col("income") + base})
    release = flou.protect.AdditiveNoise(columns=["income"], share=0.5).protect(people, secret=1)
    derived = flou.protect.Derive("shown = total - base", unit=0.01).protect(release, secret=1)
    assert {"shown"} in [set(leak.by) for leak in alarms(derived)]


def test_a_release_of_nothing_hidden_tells_nothing() -> None:
    people = with_amounts({})
    assert not inferable(flou.protect.DropIdentifiers().protect(people, secret=1))
    assert not inferable(people), "data that no plan worked on hide nothing"


@pytest.mark.parametrize("in_frame", [2, 3])
def test_classes_are_counted_in_the_file_that_a_sample_was_drawn_from(in_frame: int) -> None:
    """Nobody knows who is in the sample: three of the frame protect, however few of them were drawn."""
    n = 600 * in_frame
    place = np.arange(n) // in_frame % 30
    frame = pl.DataFrame(
        {
            "pid": np.arange(n),
            "block": np.arange(n) // (30 * in_frame),
            "region": [f"R{p}" for p in place],
            "stratum": place * 7 % 30,
        }
    )
    people = flou.Microdata(frame, id="pid", keys=["region", "block"])
    coarse = flou.protect.Recode("region", mapping={f"R{i}": "*" for i in range(30)})
    release = flou.Plan([coarse, flou.protect.Sample(share=0.5)]).protect(people, secret=1, period="2026")
    assert told_by(release, "region") == ({"stratum"} if in_frame < 3 else set())


def test_a_large_file_without_an_id_passes_by_once() -> None:
    frame = like_eusilc(households=10_000).to_frame().drop("hid", "pid")
    scan = frame.with_columns(place=pl.col("region") + "x").drop("weight").lazy()
    lazy = flou.Microdata(scan, keys=["region", "size", "age", "sex"], sensitive=["income"])
    found = [
        inferable(flou.protect.Recode("region", mapping={f"AT{i}": "*" for i in range(9)}).protect(rows, secret=1))
        for rows in (lazy, flou.Microdata(scan.reverse(), lazy.schema))
    ]
    assert found[0] == found[1], "whatever the order of the rows"
    assert (found[0][0].by, found[0][0].n_treated) == (("place",), 20_000)


@pytest.mark.parametrize("engine", ["polars", "duckdb"])
def test_rows_in_an_engine_are_screened_too(engine: str) -> None:
    """With an id and without one: what a row was travels beside it and is never shown."""
    people = like_eusilc(households=2_000)
    frame = people.to_frame().with_columns(place=pl.col("region") + "x").drop("hid", "pid", "weight")
    scan: Any = frame.lazy()
    if engine == "duckdb":
        duckdb = pytest.importorskip("duckdb")
        scan = duckdb.from_arrow(frame.to_arrow())
    lazy = flou.Microdata(scan, keys=["region", "size", "age", "sex"], sensitive=["income"])
    coarse = flou.protect.Recode("region", mapping={f"AT{i}": "*" for i in range(9)}).protect(lazy, secret=1)
    assert told_by(coarse, "region") == {"place"}
    assert not any(c.startswith("__flou") for c in coarse.data.public().frame.collect_schema().names())


def test_a_large_file_is_screened_in_part_whatever_its_order() -> None:
    people = like_eusilc(households=10_000)
    assert people.n_records > 20_000
    release = Hide(column="region", nth=19).protect(people, secret=1)
    shuffled = flou.Microdata(people.to_frame().sample(fraction=1.0, shuffle=True, seed=1), people.schema)
    found = inferable(release)
    assert found == inferable(Hide(column="region", nth=19).protect(shuffled, secret=1))
    assert found[0].n_treated == -(-people.n_records // 19), "what was nulled is rare, and all of it is screened"
    assert found[0].by == ("weight",)


@pytest.mark.parametrize("column", ["region", "size"])
def test_a_survey_is_told_by_weight_stratum_and_household_type(column: str) -> None:
    people = flou.datasets.survey(10_000).collect()
    named = {"region": {"weight", "stratum"}, "size": {"weight", "stratum", "household_type"}}
    assert told_by(Hide(column=column, nth=37).protect(people, secret=1), column) >= named[column]
    gone = ["weight", "stratum", "household_type", "relation"]
    less = flou.Microdata(people.to_frame().drop(gone), people.schema.without(gone))
    assert not alarms(Hide(column=column, nth=37).protect(less, secret=1))


@pytest.mark.deep("20,000 beneficiaries through a plan of ten steps")
def test_the_example_raises_no_alarm_and_takes_seconds() -> None:
    from flou.job.example import example_plan

    plan = flou.Plan.load(example_plan("apa"))
    schema = flou.Schema.load(example_plan("apa").with_name("apa.schema.toml"))
    people = flou.Microdata(flou.datasets.apa(20_000).to_frame(), schema).marked(synthetic=True)
    smaller: dict[str, dict[str, Any]] = {"random_code": {"min_size": 65}, "drop_records": {"max_share": 0.5}}
    steps = [s.model_copy(update=smaller.get(s.name(), {})) for s in plan.steps]
    release = flou.Plan(steps).protect(people, secret=1)
    started = time.process_time()
    assert not alarms(release)
    assert time.process_time() - started < 20
