"""Numbers as floats, which have 15 to 17 digits: columns whose values have more are refused, never cut in silence."""

from __future__ import annotations

from decimal import Decimal

import polars as pl

from flou.engine.errors import DataError

#: Decimals of up to 15 digits are floats, each of them. Of 16 digits some are not: whole numbers up to 2^53 are, not
#: their quotients by a power of ten.
_DIGITS = 15


def exact_floats(held: pl.Series) -> pl.Series:
    """The numbers as floats; refused where a whole number or a decimal would not be the same."""
    n = _n_lost(held)
    if n:
        raise DataError(
            f"{n:,} values of {held.name!r} have more digits than are computed with (15): they would change without "
            "being protected. Divide them by a power of ten and round them first; make them texts if they are codes."
        )
    return held.cast(pl.Float64)


def _n_lost(held: pl.Series) -> int:
    if held.dtype.is_integer():
        known = held.drop_nulls().cast(pl.Int64)
        return int(known.ne_missing(known.cast(pl.Float64).cast(pl.Int64, strict=False)).sum())
    if not held.dtype.is_decimal() or not held.drop_nulls().len():
        return 0
    scale = getattr(held.dtype, "scale", 0) or 0
    if max(abs(Decimal(held.min())), abs(Decimal(held.max()))) * 10**scale < 10**_DIGITS:  # type: ignore[arg-type]
        return 0
    found = held.drop_nulls().value_counts(name="n").with_columns(pl.col(held.name).cast(pl.Float64).alias("float"))
    lost = [Decimal(repr(near)) != value for value, near in found.select(held.name, "float").iter_rows()]
    return int(found.filter(pl.Series(lost))["n"].sum())
