"""Numbers of more digits than a float has: exact, or refused in words; and values at the very edge of a band."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import polars as pl
import pytest

import flou
from flou.engine.values import text_of

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


# ------------------------------------------------------------------------------------------------------ declared values

EDGE = 2**53
BIG = [EDGE + 1, EDGE + 3, EDGE - 1, EDGE] * 10
NEAR = [Decimal(text) for text in ("12345678901234567.89", "12345678901234567.88", "1.00", "2.50")] * 10


def keyed(values: list[Any], dtype: Any = None, **roles: Any) -> flou.Microdata:
    frame = pl.DataFrame({"row": range(40), "x": pl.Series(values, dtype=dtype)})
    return flou.Microdata(frame, keys=["x"], others=["row"], **roles).marked(synthetic=True)


def test_no_value_beyond_the_bound_is_left_among_the_modalities() -> None:
    release = P.TopCode("x", at=EDGE).protect(keyed(BIG, modalities={"x": sorted(set(BIG))}))
    assert release.data.schema.modalities["x"] == (EDGE - 1, EDGE)


def test_a_code_of_sixteen_digits_is_that_code_alone() -> None:
    _, after = protected(P.TopCode("x", at=EDGE - 1), keyed(BIG, not_applicable={"x": [EDGE + 1]}))
    assert set(after["x"]) == {EDGE + 1, EDGE - 1}


@pytest.mark.parametrize("role", ["undetermined", "not_applicable"])
@pytest.mark.parametrize("code", [NEAR[0], str(NEAR[0])], ids=["decimal", "text"])
def test_a_declared_decimal_is_read_to_the_last_digit(role: str, code: Any) -> None:
    data = keyed(NEAR, pl.Decimal(30, 2), **{role: {"x": [code]}})
    assert data.frame.to_native()["x"].null_count() == (10 if role == "undetermined" else 0)
    assert data.schema.not_applicable.get("x", (str(NEAR[0]),)) == (str(NEAR[0]),)


@pytest.mark.parametrize("declared", [{}, {"modalities": {"x": NEAR[:4]}}], ids=["not declared", "modalities"])
def test_long_decimals_are_keys_like_others(declared: Any) -> None:
    release = P.LocalSuppression(k=11, search="quick").protect(keyed(NEAR, pl.Decimal(30, 2), **declared))
    assert set(map(text_of, release.data.schema.modalities["x"])) == set(map(text_of, NEAR))
    assert release.data.frame.to_native()["x"].null_count() == 40


def test_a_decimal_of_thirty_digits_has_all_of_them() -> None:
    long = [Decimal("1234567890123456789012345678.91"), Decimal("1234567890123456789012345678.92")] * 20
    assert keyed(long, pl.Decimal(38, 2)).tabulate(["x"], margins=False).labels()["x"].to_list() == [
        str(value) for value in long[:2]
    ]
    assert flou.Hierarchy.bands([0, 10]).generalise(long, 1)[long[0]] == "10+"


def test_a_recoding_to_a_decimal_that_no_number_is_is_refused() -> None:
    with pytest.raises(flou.FlouError, match="more digits than a number has"):
        P.Recode("x", mapping={1: NEAR[0]})
    assert P.Recode("x", mapping={1: Decimal("0.50")}).mapping == (("1", 0.5),)
