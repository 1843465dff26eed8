"""Sums of amounts that are the same in any order of the records and on any engine.

Floating-point sums depend on the order of their terms. An amount is therefore split into two integers,
a coarse and a fine one in units that are powers of two, and these are added up exactly. What is lost of
an amount is less than one part in 2^60 of the largest possible sum.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import narwhals as nw
import numpy as np
import polars as pl
from numpy.typing import NDArray

from flou.engine import native
from flou.engine.errors import DataError

#: How much finer the second integer is: of fewer than 2^32 records its sum fits in 63 bits.
_FINER = 2.0**-31
#: Sums of whole numbers below this are floats, each of them; a little less, for what floats lose in adding up to it.
_IN_FULL = 2.0**53 * (1 - 1e-9)


@dataclass(frozen=True)
class ExactSum:
    """How one column of amounts is added up: the unit of its coarse integers, and the names of both."""

    name: str
    unit: float
    #: Whether some amounts are negative.
    signed: bool

    @classmethod
    def of(cls, frame: native.Frame, column: str, name: str, *, in_full: bool = False) -> ExactSum:
        """Choose the units of a column by its largest amount; null and infinite amounts are refused.

        `in_full` refuses sums that floats may not have to the last digit.
        """
        held = nw.col(column).cast(nw.Float64)
        figures = native.collect(
            frame.select(
                held.abs().max().alias("top"),
                held.min().alias("low"),
                held.is_null().cast(nw.Int64).sum().alias("null"),
                held.abs().sum().alias("total"),
                nw.len().cast(nw.Int64).alias("n"),
            )
        ).row(0, named=True)
        if figures["null"]:
            raise DataError(
                f"{column!r} is null in {figures['null']:,} records: what they add to a cell is not known. Fill them, "
                "or leave these records out, before tabulating."
            )
        top = float(figures["top"] or 0.0)
        if not math.isfinite(top):
            raise DataError(f"{column!r} holds infinite amounts, which cannot be added up.")
        if in_full and float(figures["total"] or 0.0) >= _IN_FULL:
            raise DataError(
                f"{column!r} holds whole numbers or decimals that add up to 9.0e15 (2^53) or more: their sums would "
                "lose the last digits. Divide them by a power of ten first, or make them floats if 15 digits will do."
            )
        bound = max(top, 2.0**-900) * max(int(figures["n"]), 1)
        if bound > 2.0**1000:
            raise DataError(f"{column!r} holds too large amounts (up to {top:g}), which cannot be added up.")
        return cls(name, 2.0 ** (math.frexp(bound)[1] - 62), float(figures["low"] or 0.0) < 0)

    @property
    def names(self) -> tuple[str, str]:
        return f"{native.RESERVED}{self.name}_coarse", f"{native.RESERVED}{self.name}_fine"

    def split(self, amount: nw.Expr) -> list[nw.Expr]:
        """The two integers of each record."""
        held = amount.cast(nw.Float64)
        coarse = (held / self.unit).floor()
        fine = ((held - coarse * self.unit) / (self.unit * _FINER)).floor()
        return [part.cast(nw.Int64).alias(name) for part, name in zip((coarse, fine), self.names, strict=True)]

    def total(self, sums: pl.DataFrame) -> NDArray[np.float64]:
        """The sums as amounts."""
        coarse, fine = (sums[name].to_numpy().astype(np.float64) for name in self.names)
        out: NDArray[np.float64] = coarse * self.unit + fine * (self.unit * _FINER)
        return out
