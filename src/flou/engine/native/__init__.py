"""The few things that differ from one engine to another; nothing else touches native frames.

Two kinds of frame live inside Flou, both behind narwhals: an in-memory Polars frame, and a lazy one
(a Polars scan, a DuckDB relation) whose rows stay in their engine. pandas and PyArrow input becomes
Polars on entry and goes back to its own type on the way out.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any, Literal

import narwhals as nw
import polars as pl

from flou.engine.errors import DataError, listed
from flou.engine.native import arrow, duckdb, pandas, polars

#: What went in, so that the same type comes out.
Kind = Literal["polars", "polars-lazy", "pandas", "pyarrow", "duckdb"]
Frame = nw.DataFrame[Any] | nw.LazyFrame[Any]
Match = Literal["semi", "anti", "left"]


@dataclass(frozen=True)
class Entered:
    """A frame behind narwhals, and the kind it came as."""

    frame: Frame
    kind: Kind


def enter(frame: object) -> Entered:
    """Take a native (or narwhals) frame in. NaN becomes null and categoricals text here, once for all."""
    native = nw.to_native(frame, pass_through=True)
    kind = _kind_of(native)
    names = {"pandas": pandas, "pyarrow": arrow, "duckdb": duckdb}.get(kind, polars).columns(native)
    doubled = [name for name, n in Counter(names).items() if n > 1]
    if doubled:
        raise DataError(f"The frame has columns of the same name: {listed(doubled)}. Rename or drop one of each.")
    inner: Frame
    if kind == "pandas":
        inner = nw.from_native(pandas.to_polars(native))
    elif kind == "pyarrow":
        inner = nw.from_native(arrow.to_polars(native))
    else:
        inner = nw.from_native(native)
    return Entered(_normalised(inner), kind)


def _kind_of(native: object) -> Kind:
    module, name = type(native).__module__.split(".")[0], type(native).__name__
    if isinstance(native, pl.DataFrame):
        return "polars"
    if isinstance(native, pl.LazyFrame):
        return "polars-lazy"
    if module == "pandas" and name == "DataFrame":
        return "pandas"
    if module == "pyarrow" and name == "Table":
        return "pyarrow"
    if name == "DuckDBPyRelation":
        return "duckdb"
    raise DataError(
        f"A {type(native).__module__}.{name} is not a frame that Flou reads. Give a Polars frame or scan, a pandas "
        "frame, a PyArrow table or a DuckDB relation, or read a file with flou.read."
    )


def _normalised(frame: Frame) -> Frame:
    """NaN is null; a categorical is text, for its codes depend on the order of arrival."""
    exprs = []
    for name, dtype in frame.collect_schema().items():
        if dtype.is_float():
            exprs.append(nw.col(name).fill_nan(None))
        elif dtype in (nw.Categorical, nw.Enum):
            exprs.append(nw.col(name).cast(nw.String))
    return frame.with_columns(*exprs) if exprs else frame


def is_lazy(frame: Frame) -> bool:
    return isinstance(frame, nw.LazyFrame)


def collect(frame: Frame) -> pl.DataFrame:
    """Bring a frame into memory as Polars; an engine's failure becomes a DataError."""
    if isinstance(frame, nw.DataFrame):
        return frame.to_polars()
    try:
        collected = frame.collect("polars").to_polars()
    except pl.exceptions.PolarsError as error:
        raise DataError(f"The engine could not read the rows: {first_line(error)}") from error
    except OSError as error:
        raise DataError(f"The rows could not be read: {first_line(error)}") from error
    except Exception as error:
        if type(error).__module__.split(".")[0] in ("duckdb", "_duckdb"):
            raise DataError(f"DuckDB could not read the rows: {first_line(error)}") from error
        raise
    return polars.plain(collected)


def first_line(error: BaseException) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]


def leave(frame: Frame, kind: Kind) -> Any:
    """Give a frame back in the type it came as."""
    if isinstance(frame, nw.LazyFrame):
        return frame.to_native()
    return like(frame.to_polars(), kind)


def like(frame: pl.DataFrame, kind: Kind) -> Any:
    """An in-memory frame in the user's type; Polars for users of lazy engines."""
    if kind == "pandas":
        return pandas.from_polars(frame)
    if kind == "pyarrow":
        return frame.to_arrow()
    return frame


def match_keys(frame: Frame, keys: pl.DataFrame, on: list[str], how: Match) -> Frame:
    """Join a small key table to the rows, null matching null, row order kept where there is one."""
    if isinstance(frame, nw.DataFrame):
        return nw.from_native(polars.match_eager(frame.to_polars(), keys, on, how))
    native = frame.to_native()
    if isinstance(native, pl.LazyFrame):
        return nw.from_native(polars.match_lazy(native, keys, on, how))
    matched: Frame = nw.from_native(duckdb.match(native, keys, on, how))
    return matched
