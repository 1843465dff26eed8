"""What two releases of nearly the same people tell together, where a protection depends on the other records.

An intruder who tells the same person in both by other columns compares the two values. The pages promise nothing here:
the figures of docs/explain/releases-that-follow.md are measured by these tests.
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np
import polars as pl
import pytest
from numpy.typing import NDArray

import flou

P = flou.protect
SECRET = flou.Secret(bytes(range(32)))
N, MOVED = 3_000, 30


class Seen(NamedTuple):
    """The released values of the people who are in both files, beside the true ones."""

    one: NDArray[np.float64]
    two: NDArray[np.float64]
    true: NDArray[np.float64]

    def near(self, guess: NDArray[np.float64]) -> float:
        return float(np.mean(np.abs(guess / self.true - 1) < 0.01))


def everybody() -> pl.DataFrame:
    rng = np.random.default_rng(1)
    return pl.DataFrame(
        {
            "pid": np.arange(N),
            "pay": rng.lognormal(7, 0.5, N).round(2),
            "rent": rng.lognormal(6, 0.4, N).round(2),
            "area": rng.choice([*"abcdef"], N, p=[0.4, 0.4, 0.1, 0.04, 0.03, 0.03]),
        }
    )


def released(frame: pl.DataFrame, step: Any, **options: Any) -> pl.DataFrame:
    made = step.protect(flou.Microdata(frame, id="pid"), secret=SECRET, series="s", **options)
    return made.to_frame(reveal=True).sort("pid")


@cache
def seen(step: Any) -> Seen:
    """Thirty people leave the file, and thirty come."""
    people = everybody()
    one, two = released(people[:-MOVED], step), released(people[MOVED:], step)
    both = one.join(two, on="pid", suffix=" two").join(people.select("pid", true="pay"), on="pid")
    return Seen(*(both[c].to_numpy() for c in ("pay", "pay two", "true")))


def test_a_random_swap_is_told_by_the_values_that_changed() -> None:
    found = seen(P.RandomSwap("pay", share=0.1))
    same = found.one == found.two
    assert found.near(found.one) == pytest.approx(0.90, abs=0.01)
    assert np.mean(found.one[same] == found.true[same]) == pytest.approx(0.97, abs=0.01)
    # the same people are exchanged, with others: neither value is theirs
    assert not np.any((found.one == found.true)[~same] | (found.two == found.true)[~same])


@pytest.mark.parametrize(
    ("step", "one", "both"),
    [
        (P.RankSwap("pay", reach=0.05), 0.10, 0.19),
        (P.Microaggregation(["pay", "rent"], group_size=3), 0.52, 0.63),
        (P.MultiplicativeNoise("pay", share=0.1), 0.08, 0.08),
    ],
    ids=lambda value: type(value).__name__,
)
def test_the_mean_of_two_releases_is_nearer_where_groups_and_partners_change(
    step: Any, one: float, both: float
) -> None:
    found = seen(step)
    assert found.near(found.one) == pytest.approx(one, abs=0.015)
    assert found.near((found.one + found.two) / 2) == pytest.approx(both, abs=0.015)


def test_an_area_that_grows_gives_away_its_earlier_code() -> None:
    """Who is told in both files, with a code in one and a name in the other, was of that area before."""
    step = P.RandomCode("area", min_size=110, min_areas=3)
    people = everybody()
    settlers = [people.filter(pl.col("area") == "d").with_columns(pl.col("pid") + i * N) for i in (1, 2)]
    one, two = released(people, step), released(pl.concat([people, *settlers]), step)
    both = one.join(two, on="pid", suffix=" two")
    named = both.filter(pl.col("area").str.starts_with("R") & (pl.col("area two") == "d"))
    assert len(named) == people.filter(pl.col("area") == "d").height
