"""Numbers of more digits than a float has: exact, or refused in words; and values at the very edge of a band."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import polars as pl
import pytest

import flou

P = flou.protect
SECRET = flou.Secret.from_seed(1)
LONG = [2**53 + 1, 2**53 + 3, 2**60 + 7, 5, 9, 12] * 5
CENTS = [Decimal(text) for text in ("12345678901234567.89", "99999999999999999.99", "0.10", "7.25", "5.05", "1.15")] * 5
SIXTEEN = [Decimal(text) for text in ("8.500000000000001", "8.500000000000002", "8.5", "7.25", "5.05", "1.15")] * 5
SHORT = [Decimal(text) for text in ("1234567.89", "99.99", "0.10", "7.25", "5.05", "1.15")] * 5

METHODS: list[Any] = [
    P.TopCode("x", at=50), P.BottomCode("x", at=6), P.Round("x", unit=1), P.Derive(["y = x"], unit=1),
    P.AdditiveNoise("x"), P.MultiplicativeNoise("x"), P.Microaggregation("x"), P.Microaggregation("x", show="mode"),
    P.Microaggregation("x", show="median"), P.RankSwap("x"), P.IntervalBlur("x", breaks=[0, 3, 10, 2_000_000], min_records=3),
]  # fmt: skip


def data(values: list[Any], **dtype: Any) -> flou.Microdata:
    frame = pl.DataFrame({"row": range(len(values)), "x": pl.Series(values, **dtype), "k": ["a", "b"] * 15})
    return flou.Microdata(frame, keys=["k"], others=["row", "x"]).marked(synthetic=True)


def protected(method: Any, held: flou.Microdata) -> tuple[flou.Release, pl.DataFrame]:
    release = method.protect(held, secret=SECRET)
    return release, pl.DataFrame(release.to_frame()).sort("row")


@pytest.mark.parametrize("method", METHODS, ids=str)
@pytest.mark.parametrize(
    "held",
    [
        data(LONG),
        data(CENTS, dtype=pl.Decimal(30, 2)),
        data(LONG, dtype=pl.Decimal(30, 0)),
        data(SIXTEEN, dtype=pl.Decimal(20, 15)),
    ],
    ids=["int", "cents", "0", "sixteen digits"],
)
def test_nothing_changes_that_is_not_counted(method: Any, held: flou.Microdata) -> None:
    """Either the column is refused, or every value is what the method makes of it to the last digit."""
    try:
        release, after = protected(method, held)
    except flou.FlouError as error:
        assert "digits" in str(error)
        return
    assert isinstance(method, P.TopCode | P.BottomCode | P.Round)  # those that reckon in whole numbers
    before = held.frame.to_native()
    column = "y" if "y" in after.columns else "x"
    moved = sum(a != b for a, b in zip(before["x"].to_list(), after[column].to_list(), strict=True))
    assert release.steps[0].changes[0].n_changed == moved
    if isinstance(method, P.TopCode):
        assert after["x"].to_list() == [min(x, 50) for x in before["x"].to_list()]
    if isinstance(method, P.Round):
        assert not moved


@pytest.mark.parametrize("method", METHODS, ids=str)
def test_ordinary_decimals_are_taken(method: Any) -> None:
    _, after = protected(method, data(SHORT, dtype=pl.Decimal(20, 2)))
    assert after.height == 30
    # many places, of which few are used
    protected(method, data(SHORT, dtype=pl.Decimal(38, 12)))


def test_whole_numbers_are_coded_and_rounded_to_the_last_digit() -> None:
    _, after = protected(P.TopCode("x", at=2**60), data(LONG))
    assert after["x"].to_list() == [min(x, 2**60) for x in LONG]
    _, after = protected(P.Round("x", unit=2), data(LONG))
    assert all(abs(a - b) <= 1 and a % 2 == 0 for a, b in zip(after["x"].to_list(), LONG, strict=True))


@pytest.mark.parametrize(
    ("value", "width", "label"),
    [
        (4.999999999, 5, "[0, 5)"), (4.9999999999999, 5, "[0, 5)"), (5.0, 5, "[5, 10)"), (-1e-12, 5, "[-5, 0)"),
        (0.3, 0.1, "[0.3, 0.4)"), (0.29999999999, 0.1, "[0.2, 0.3)"), (Decimal("0.3"), 0.1, "[0.3, 0.4)"),
        (Decimal("0.29999999999999999999"), 0.1, "[0.2, 0.3)"), (0.7, 0.1, "[0.7, 0.8)"), (2.3, 0.1, "[2.3, 2.4)"),
    ],
)  # fmt: skip
def test_a_value_at_the_edge_of_a_band_is_in_the_band_that_holds_it(value: Any, width: float, label: str) -> None:
    bands = flou.Hierarchy.bands(width)
    found = bands.generalise([value, 0.05], 1)
    assert found[value] == label


@pytest.mark.parametrize("value", [0.1, Decimal("0.1")])
def test_a_value_at_a_lower_bound_is_in_its_band(value: Any) -> None:
    assert flou.Hierarchy.bands([0.1, 0.5]).generalise([value, 0.33], 1)[value] == "[0.1, 0.5)"
