"""pandas: in and out, where NaN, None, NaT and pd.NA all mean undetermined."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from flou.engine.errors import DataError


def columns(frame: Any) -> list[str]:
    names = list(frame.columns)
    odd = [n for n in names if not isinstance(n, str)]
    if odd:
        raise DataError(f"Column names must be texts; this pandas frame has {odd[:5]!r}. Rename them first.")
    return names


def to_polars(frame: Any) -> pl.DataFrame:
    return pl.DataFrame([_series(name, frame[name]) for name in frame.columns])


def _series(name: str, column: Any) -> pl.Series:
    kind = getattr(column.dtype, "kind", "O")
    if isinstance(column.dtype, np.dtype) and kind in "iufb":
        return pl.Series(name, column.to_numpy(copy=True), nan_to_null=True)
    if isinstance(column.dtype, np.dtype) and kind == "M":
        return pl.Series(name, _finer(name, column).to_numpy(copy=True))
    _require_one_type(name, column)
    quick = _through_arrow(name, column)
    if quick is not None:
        return quick
    missing = column.isna().to_numpy()
    values = [None if m else v for v, m in zip(column.astype(object).tolist(), missing, strict=True)]
    try:
        return pl.Series(name, values, strict=True)
    except (TypeError, pl.exceptions.PolarsError):
        kinds = sorted({type(v).__name__ for v in values if v is not None})
        raise DataError(
            f"The column {name!r} mixes types ({', '.join(kinds)}). Convert it to one type, text for instance."
        ) from None


def _finer(name: str, column: Any) -> Any:
    """Moments in seconds, which Polars does not have, in microseconds; the calendar ends before these do."""
    try:
        return column.dt.as_unit("us") if column.dtype == "datetime64[s]" else column
    except ValueError:
        raise DataError(
            f"The column {name!r} has dates outside the years 1 to 9999; mend them, or make it text."
        ) from None


def _require_one_type(name: str, column: Any) -> None:
    """Objects of several types would be turned into one another: a date into a number of days, say."""
    from pandas.api.types import infer_dtype

    kind = infer_dtype(column, skipna=True) if column.dtype == object else ""
    if kind.startswith("mixed"):
        raise DataError(f"The column {name!r} mixes types ({kind}). Convert it to one type, text for instance.")


def _through_arrow(name: str, column: Any) -> pl.Series | None:
    """The fast way where PyArrow is installed and the column has one type."""
    try:
        import pyarrow as pa
    except ImportError:
        return None
    try:
        series = pl.from_arrow(pa.array(column, from_pandas=True))
    except OverflowError:
        raise DataError(f"The column {name!r} holds whole numbers beyond 64 bits. Convert it to text.") from None
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError):
        return None
    assert isinstance(series, pl.Series)
    return series.rename(name)


def from_polars(frame: pl.DataFrame) -> Any:
    import pandas as pd

    out = {}
    for series in frame.iter_columns():
        dtype = series.dtype
        if dtype.is_integer() and series.null_count():
            out[series.name] = pd.array(series.to_list(), dtype="Int64")
        elif dtype == pl.Boolean and series.null_count():
            out[series.name] = pd.array(series.to_list(), dtype="boolean")
        elif isinstance(dtype, pl.Datetime) and dtype.time_zone:
            out[series.name] = pd.Series(series.to_numpy()).dt.tz_localize("UTC")
        elif dtype.is_numeric() or dtype == pl.Boolean or dtype == pl.Datetime:
            out[series.name] = series.to_numpy()
        else:
            out[series.name] = series.to_list()
    return pd.DataFrame(out, columns=frame.columns)
