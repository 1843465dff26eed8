"""A null protects only where no other published column says what it was."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from flou.protect.micro.giveaways import columns_that_tell

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


def test_years_tell_their_class_and_nothing_else_does() -> None:
    assert columns_that_tell(people(), "age") == ["years"]
    assert columns_that_tell(people(), "region") == []
    # one exception among many is enough for doubt; a stray value that few share is none
    assert (
        columns_that_tell(people(years=pl.when(pl.col("pid") < 200).then(70).otherwise(pl.col("years"))), "age") == []
    )


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
    assert columns_that_tell(gaps, "age") == ["years"]
