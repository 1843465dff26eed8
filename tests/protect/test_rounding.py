"""Rounding to multiples: exact in decimals, halves to even, codes and types, what is refused."""

from __future__ import annotations

import datetime as dt
from decimal import ROUND_HALF_EVEN, Decimal
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import flou
from flou.engine.errors import GuaranteeBrokenError
from flou.protect.micro.multiples import nearest_multiples, nearest_whole_multiples

P = flou.protect
SECRET = flou.Secret(bytes(range(32)))
UNITS = [0.05, 0.1, 0.3, 0.25, 1.0, 2.5, 7.0, 100.0, 1000, 0.001, 12.5]


def by_decimals(value: float, unit: float) -> float:
    """The same in exact decimal arithmetic."""
    step = Decimal(repr(unit))
    return float((Decimal(repr(value)) / step).quantize(Decimal(1), rounding=ROUND_HALF_EVEN) * step)


@given(st.integers(-(10**8), 10**8), st.integers(0, 4), st.sampled_from(UNITS))
def test_decimal_values_against_decimal_arithmetic(digits: int, places: int, unit: float) -> None:
    """Values as files have them, with up to four decimals: also those that lie halfway."""
    value = float(Decimal(digits).scaleb(-places))
    assert nearest_multiples(np.array([value]), unit)[0] == by_decimals(value, unit)


@given(st.integers(-(10**6), 10**6), st.sampled_from(UNITS))
def test_halves_go_to_the_even_multiple(step: int, unit: float) -> None:
    half = float((Decimal(step) + Decimal("0.5")) * Decimal(repr(unit)))
    even = step if step % 2 == 0 else step + 1
    assert nearest_multiples(np.array([half]), unit)[0] == float(Decimal(even) * Decimal(repr(unit)))


@given(st.floats(-1e6, 1e6), st.sampled_from(UNITS))
def test_multiples_stay(value: float, unit: float) -> None:
    once = nearest_multiples(np.array([value]), unit)
    assert abs(once[0] - value) <= unit / 2 * (1 + 1e-9)
    assert np.array_equal(nearest_multiples(once, unit), once)
    assert repr(float(once[0])) == repr(float(Decimal(repr(float(once[0]))))), "what is shown is the decimal"
    assert len(repr(float(once[0]))) < 14
    assert np.signbit(once[0]) == (once[0] < 0), "no minus zero"


@given(st.integers(-(2**61), 2**61), st.integers(1, 10**6))
def test_whole_numbers_are_exact(value: int, unit: int) -> None:
    found = int(nearest_whole_multiples(np.array([value]), unit)[0])
    assert found == int((Decimal(value) / 1).__class__(round_half_even(value, unit)))


def round_half_even(value: int, unit: int) -> int:
    below, rest = divmod(value, unit)
    return (below + (2 * rest > unit or (2 * rest == unit and below % 2 == 1))) * unit


def test_totals_are_pushed_neither_up_nor_down() -> None:
    values = np.arange(0, 10_000) + 0.5
    assert nearest_multiples(values, 1.0).sum() == values.sum()


@pytest.mark.parametrize("engine", ["polars", "polars-lazy", "duckdb"])
def test_nulls_codes_and_types(engine: str) -> None:
    from tests.contracts.cases import native

    frame = pl.DataFrame(
        {
            "age": [21, 23, None, 999, 27],
            "income": [10.074, None, 10.076, 0.125, -3.0],
            "fixed": pl.Series(["1.25", "2.75", None, "3.00", "-0.25"]).cast(pl.Decimal(10, 2)),
        }
    )
    data = flou.Microdata(native(frame, engine), others=["age"], not_applicable={"age": [999]})
    release = P.Round(["age", "income"], unit=5).protect(data, secret=SECRET)
    finer = P.Round(["income", "fixed"], unit=0.5).protect(data, secret=SECRET)
    out, other = (flou.Microdata(r.data.to_frame()).collect().frame.to_polars() for r in (release, finer))
    assert sorted(out["age"].to_list(), key=str) == sorted([20, 25, None, 999, 25], key=str)
    assert sorted(out["income"].to_list(), key=str) == sorted([10.0, None, 10.0, 0.0, -5.0], key=str)
    assert [c.n_changed for c in release.steps[0].changes] == [3, 4]
    assert sorted(other["fixed"].cast(pl.Float64).to_list(), key=str) == sorted([1.0, 3.0, None, 3.0, 0.0], key=str)
    assert not release.random


def test_declared_values_are_rounded_too() -> None:
    frame = pl.DataFrame({"age": [21, 23, 38, 34], "sex": ["F", "M", "F", "M"]})
    data = flou.Microdata(
        frame,
        keys=["age", "sex"],
        modalities={"age": [21, 23, 34, 38, 39]},
        hierarchies={"age": flou.Hierarchy.bands(10, 20)},
        incoherent=[{"age": 39, "sex": "F"}, {"age": 38, "sex": "M"}],
    )
    release = P.Round("age", unit=10).protect(data, secret=SECRET)
    assert sorted(release.data.schema.modalities["age"]) == [20, 30, 40]
    assert not release.data.schema.incoherent
    assert flou.risk.KAnonymity(k=2).measure(release).n_records == 4
    assert P.Recode("age", level=1).protect(release, secret=SECRET).guarantees
    assert P.Round("age", unit=10).recodes == "age"


def test_the_proof_accepts_exactly_the_multiples() -> None:
    data = flou.Microdata(pl.DataFrame({"x": [0.05 * i for i in range(100)], "y": range(100)}))
    assert not all(v == round(v, 2) for v in data.to_frame()["x"]), "0.05 * 3 is not 0.15"
    release = P.Round("x", unit=0.05).protect(data, secret=SECRET)
    assert release.data.to_frame()["x"].to_list() == sorted(round(0.05 * i, 2) for i in range(100))
    check = release.guarantees[0].guarantee
    near = release.data.to_frame().with_columns(pl.col("x") + 1e-15)
    assert check.violations(flou.Microdata(near)) > 0
    with pytest.raises(GuaranteeBrokenError):
        flou.Plan([P.Round("x", unit=0.05), P.MultiplicativeNoise("x")]).protect(data, secret=SECRET)


def test_bad_input() -> None:
    frame = pl.DataFrame({"pid": [1, 2], "x": [1.5, 2.5], "n": [3, 8], "t": ["a", "b"], "w": [0.4, 3.0],
                          "d": [dt.date(2000, 1, 1)] * 2})  # fmt: skip

    def refused(method: Any, match: str, held: pl.DataFrame = frame, **roles: Any) -> None:
        with pytest.raises(flou.FlouError, match=match):
            method.protect(flou.Microdata(held, id="pid", **roles), secret=SECRET)

    refused(P.Round("t", unit=1), "numbers; 't' is String")
    refused(P.Round("d", unit=1), "numbers; 'd' is Date")
    refused(P.Round("q", unit=1), "Columns: pid")
    refused(P.Round("pid", unit=10), "never published")
    refused(P.Round("n", unit=0.5), "whole")
    refused(P.Round("w", unit=1), "weigh nothing", weight="w")
    refused(P.Round("n", unit=10), "not applicable", others=["n"], not_applicable={"n": [10]})
    refused(P.Round("x", unit=1), "infinite", frame.with_columns(x=pl.lit(float("inf"))))
    refused(P.Round("x", unit=0.05), "too large", frame.with_columns(x=pl.lit(1e15)))
    refused(P.Round("n", unit=10), "62 bits", frame.with_columns(n=pl.lit(2**63 - 1)))
    assert P.Round("w", unit=0.1).protect(flou.Microdata(frame, weight="w"), secret=SECRET).guarantees
    for unit in (0, -1, 1 / 3, "1", float("inf"), 1e-13):
        with pytest.raises(flou.FlouError, match="unit"):
            P.Round("x", unit=unit)
