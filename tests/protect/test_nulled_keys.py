"""A null protects only where no other published column says what it was."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import flou


def people(**more: object) -> flou.Microdata:
    rng = np.random.default_rng(4)
    n = 400
    years = rng.integers(60, 100, n)
    frame = pl.DataFrame(
        {
            "pid": np.arange(n),
            "age": (years // 10 * 10).astype(str),
            "region": rng.choice(["a", "b", "c"], n, p=[0.6, 0.38, 0.02]),
            "years": years,
            "income": np.round(rng.lognormal(7, 1, n), 2),
            "colour": rng.choice(["red", "blue"], n),
        }
    )
    return flou.Microdata(frame.with_columns(**more), id="pid", keys=["age", "region"])


def test_local_suppression_refuses_nulls_that_can_be_read_off() -> None:
    dear = flou.protect.LocalSuppression(k=3, importance={"age": 1, "region": 1000}, search="quick")
    with pytest.raises(flou.FlouError, match=r"Nulls in 'age' would protect nobody: 'years' tells"):
        dear.protect(people(), secret=1)
    assert dear.protect(people(years=pl.lit(1)), secret=1).steps[0].nulls["age"] > 0
    cheap = flou.protect.LocalSuppression(k=3, importance={"age": 1000, "region": 1}, search="quick")
    assert cheap.protect(people(), secret=1).steps[0].nulls["age"] == 0


def test_a_null_in_the_key_does_not_hide_a_column_that_tells() -> None:
    """Where the age is missing already, the years still tell the ages that are about to be nulled."""
    gaps = people(age=pl.when(pl.col("pid") % 10 > 0).then("age"))
    dear = flou.protect.LocalSuppression(k=3, importance={"age": 1, "region": 1000}, search="quick")
    with pytest.raises(flou.FlouError, match=r"Nulls in 'age' would protect nobody: 'years' tells"):
        dear.protect(gaps, secret=1)


def test_a_column_with_gaps_tells_where_it_has_a_value() -> None:
    gaps = people(years=pl.when(pl.col("pid") % 40 > 0).then("years"))
    dear = flou.protect.LocalSuppression(k=3, importance={"age": 1, "region": 1000}, search="quick")
    with pytest.raises(flou.FlouError, match="'years' tells"):
        dear.protect(gaps, secret=1)


def test_a_column_that_tells_other_records_only_is_no_reason_to_refuse() -> None:
    """It has a value where nobody loses an age: what was taken for telling says nothing of the nulled ones."""
    dear = flou.protect.LocalSuppression(k=3, importance={"age": 1, "region": 1000}, search="quick")
    first = dear.protect(people(years=pl.lit(1)), secret=1).to_frame(reveal=True)
    nulled = first.filter(pl.col("age").is_null())["pid"].to_list()
    sparse = people(years=pl.when(~pl.col("pid").is_in(nulled)).then("years"))
    assert dear.protect(sparse, secret=1).steps[0].nulls["age"] == len(nulled)


def test_strata_tell_too() -> None:
    strata = people(years=pl.col("years") // 10, region=pl.lit("a"), sex=pl.col("pid") % 7 == 0)
    held = flou.Microdata(strata.to_frame(), id="pid", keys=["age", "region", "colour", "sex"])
    dear = {"age": 1, "region": 1000, "colour": 1000, "sex": 1000}
    with pytest.raises(flou.FlouError, match="'years' tells"):
        flou.protect.LocalSuppression(k=45, by=["years"], importance=dear, search="quick").protect(held, secret=1)


def test_the_weight_is_left_to_the_verdict() -> None:
    """A plan may still coarsen it: the check of the final file names it."""
    held = people()
    weighted = flou.Microdata(held.to_frame().rename({"years": "w"}), id="pid", keys=["age", "region"], weight="w")
    dear = flou.protect.LocalSuppression(k=3, importance={"age": 1, "region": 1000}, search="quick")
    assert dear.protect(weighted, secret=1).steps[0].nulls["age"] > 0
