"""The few things that differ from one engine to another; nothing else touches native frames.

Two kinds of frame live inside Flou, both behind narwhals: an in-memory Polars frame, and a lazy one
(a Polars scan, a DuckDB relation, a Spark frame) whose rows stay in their engine. pandas and PyArrow
input becomes Polars on entry and goes back to its own type on the way out.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import narwhals as nw
import polars as pl

from flou.engine.errors import DataError, FlouError, did_you_mean, listed
from flou.engine.native import arrow, duckdb, pandas, polars, spark
from flou.engine.native.source import Source
from flou.engine.spool import scan_spool, spooled
from flou.engine.values import text_of

#: What went in, so that the same type comes out.
Kind = Literal["polars", "polars-lazy", "pandas", "pyarrow", "duckdb", "spark"]
#: Engines that a file can be read with; a Spark cluster is named by its master, `spark://host:port`.
ENGINES = ("polars", "duckdb", "spark")
Frame = nw.DataFrame[Any] | nw.LazyFrame[Any]
Match = Literal["semi", "anti", "left"]


@dataclass(frozen=True)
class Entered:
    """A frame behind narwhals, the kind it came as, and where its rows are read from."""

    frame: Frame
    kind: Kind
    source: Source | None = None
    #: The order of the categories of columns whose type has one: Enum, and ordered categoricals.
    orders: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def with_frame(self, frame: Frame) -> Entered:
        return replace(self, frame=frame)


def require_engine(engine: object, failure: type[FlouError], where: str = "") -> str:
    """An engine's name, or an error that names those there are."""
    if isinstance(engine, str) and (engine in ENGINES or spark.is_master(engine)):
        return engine
    raise failure(
        f"{where}engine = {engine!r} is not known.{did_you_mean(str(engine), ENGINES)} "
        "A Spark cluster is named by its master: spark://HOST:PORT."
    )


#: Names that begin like this are used by Flou itself.
RESERVED = "__flou_"


def enter(frame: object) -> Entered:
    """Take a native (or narwhals) frame in, its types made the same for every engine, once for all."""
    native = nw.to_native(frame, pass_through=True)
    kind = _kind_of(native)
    with engine_errors():
        engines = {"pandas": pandas, "pyarrow": arrow, "duckdb": duckdb, "spark": spark}
        names = engines.get(kind, polars).columns(native)
        _check_names(names, kind)
        inner: Frame
        if kind == "pandas":
            inner = nw.from_native(pandas.to_polars(native))
        elif kind == "pyarrow":
            inner = nw.from_native(arrow.to_polars(native))
        elif isinstance(native, pl.DataFrame):
            inner = nw.from_native(native.clone())  # what the caller does to his own afterwards changes nothing
        else:
            inner = nw.from_native(native)
        return Entered(_normalised(inner), kind, orders=arrow.orders(native) if kind == "pyarrow" else _orders(native))


def _orders(native: Any) -> dict[str, tuple[str, ...]]:
    """The categories in order, as texts, of each column whose type orders them."""
    schema = nw.from_native(native).collect_schema()
    return {name: tuple(map(text_of, t.categories)) for name, t in schema.items() if isinstance(t, nw.Enum)}


#: Every pass over the rows names every column: beyond this engines plan for longer than they work.
MOST_COLUMNS = 10_000


def too_wide(what: str, n: int) -> str:
    """What is said of a frame or file with more columns than that."""
    return f"{what} has {n:,} columns; {MOST_COLUMNS:,} are allowed. Leave out what is not needed, or split it."


def refuse_patterns(names: Iterable[str], *, paths: bool = False) -> None:
    """Refuse names that would mean other columns, or none, wherever a column is asked for."""
    odd = [
        n for n in names if n in ("", "*") or n.startswith("^") or "\0" in n or (paths and ("." in n or n != n.strip()))
    ]
    if odd:
        raise DataError(f"The engine takes these column names for patterns or paths: {listed(odd)}. Rename them.")


def _check_names(names: list[str], kind: Kind) -> None:
    if len(names) > MOST_COLUMNS:
        raise DataError(too_wide("The frame", len(names)))
    # engines do not agree on whether spaces around a name count
    times = Counter(name.strip() for name in names)
    doubled = list(dict.fromkeys(name for name in names if times[name.strip()] > 1))
    if doubled:
        raise DataError(f"The frame has columns of the same name: {listed(doubled)}. Rename or drop one of each.")
    refuse_patterns(names, paths=kind == "duckdb")
    ours = [name for name in names if name.startswith(RESERVED)]
    if ours:
        raise DataError(f"Column names must not begin with {RESERVED!r}, which Flou uses itself: {listed(ours)}.")


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
    if type(native).__module__.startswith("pyspark.sql.") and name == "DataFrame":
        return "spark"
    raise DataError(
        f"A {type(native).__module__}.{name} is not a frame that Flou reads. Give a Polars frame or scan, a pandas "
        "frame, a PyArrow table, a DuckDB relation or a Spark frame, or read a file with flou.read."
    )


#: What is said of numbers that 64 bits with a sign do not hold.
_BEYOND = "Some columns hold whole numbers above 9.2e18 (2^63 - 1)"


def _normalised(frame: Frame) -> Frame:
    """One idea of each type: NaN is null, numbers have 64 bits, a categorical is text.

    The codes of a categorical depend on the order of arrival, and narrow integers overflow. What has no
    order or no equality (lists, structures, objects) could neither be counted nor published.
    """
    exprs, refused, beyond = [], [], []
    empty = polars.null_columns(frame)
    for name, dtype in frame.collect_schema().items():
        if dtype.is_float():
            # -0.0 becomes 0.0: engines order and group it in their own ways
            held = nw.col(name).cast(nw.Float64).fill_nan(None)
            exprs.append(nw.when(held != 0.0).then(held).otherwise(held.abs()).alias(name))
        elif dtype in (nw.Categorical, nw.Enum) or name in empty:
            exprs.append(nw.col(name).cast(nw.String))
        elif isinstance(frame, nw.DataFrame) and _is_beyond(frame[name]):
            beyond.append(name)
        elif isinstance(dtype, nw.Datetime) and (dtype.time_unit != "us" or dtype.time_zone not in (None, "UTC")):
            exprs.append(_instant(nw.col(name), dtype, frame))
        elif isinstance(dtype, nw.Duration) and dtype.time_unit != "us":
            exprs.append(nw.col(name).cast(nw.Duration("us")))  # as Python has them: finer ones would look alike
        elif dtype == nw.Time and frame.implementation.is_polars():
            exprs.append((nw.col(name).cast(nw.Int64) // 1_000 * 1_000).cast(nw.Time))
        elif dtype.is_integer() and dtype != nw.Int64:
            exprs.append(nw.col(name).cast(nw.Int64))
        elif not (dtype.is_numeric() or dtype.is_temporal() or dtype in (nw.String, nw.Boolean)):
            refused.append(f"{name} ({dtype})")
    if beyond:
        raise DataError(f"{_BEYOND}: {listed(beyond)}. Make them texts if they are codes, else divide them first.")
    if refused:
        raise DataError(f"These columns hold no simple values: {listed(refused)}. Drop them or convert them to text.")
    return frame.with_columns(*exprs) if exprs else frame


def _is_beyond(column: nw.Series[Any]) -> bool:
    """Whether whole numbers are more than 64 bits with a sign hold."""
    if column.dtype not in (nw.UInt64, nw.Int128, nw.UInt128) or column.null_count() == len(column):
        return False
    return bool(column.max() >= 2**63 or column.min() < -(2**63))


def _instant(column: nw.Expr, dtype: nw.Datetime, frame: Frame) -> nw.Expr:
    """Microseconds, and instants in UTC: a release must not depend on the time zone of the machine.

    DuckDB and Spark show instants in the zone of their session; they become UTC when they leave it.
    """
    held = column.cast(nw.Datetime("us", dtype.time_zone))
    ours = frame.implementation.is_polars() and dtype.time_zone is not None
    return held.dt.convert_time_zone("UTC") if ours else held


def is_lazy(frame: Frame) -> bool:
    return isinstance(frame, nw.LazyFrame)


#: What the engines raise; a panic of Polars is not even an Exception.
_FAILURES = (
    pl.exceptions.PolarsError,
    pl.exceptions.PanicException,
    nw.exceptions.NarwhalsError,
    OSError,
    OverflowError,
)


def _refuse_beyond(error: BaseException) -> None:
    """An engine that meets a number of more than 63 bits says so in words of its own."""
    if re.search(r"(u(int)?(64|128)|i(nt)?128)\b.*\bi(nt)?64\b", str(error), re.IGNORECASE | re.DOTALL):
        name = re.search(r"in column '([^']+)'|source column (\S+)", str(error))
        which = f": {name[1] or name[2]!r}" if name else ""
        raise DataError(f"{_BEYOND}{which}. Make them texts if they are codes, else divide them first.") from error


@contextmanager
def engine_errors() -> Iterator[None]:
    """An engine's own failure becomes a DataError with the engine's first line."""
    try:
        yield
    except _FAILURES as error:
        _refuse_beyond(error)
        raise DataError(f"The engine could not read the data: {first_line(error)}") from error
    except Exception as error:
        package = type(error).__module__.split(".")[0]
        if package in ("pyspark", "py4j"):
            raise DataError(f"Spark could not do the work: {spark.reason(error)}") from error
        if package in ("duckdb", "_duckdb", "pyarrow"):
            _refuse_beyond(error)
            raise DataError(f"The engine could not read the data: {first_line(error)}") from error
        raise


def collect(frame: Frame) -> pl.DataFrame:
    """Bring a frame into memory as Polars; an engine's failure becomes a DataError."""
    if isinstance(frame, nw.DataFrame):
        return frame.to_polars()
    with engine_errors():
        native = frame.to_native()
        rows = polars.collect(native) if isinstance(native, pl.LazyFrame) else frame.collect("polars").to_polars()
        return polars.compact(rows)


#: Rows that are in memory at a time where a whole file passes by.
BATCH = 1 << 18


def batches(frame: Frame) -> Iterator[pl.DataFrame]:
    """The rows in their order, some at a time, holding nothing but themselves; of no rows one empty batch."""
    with engine_errors():
        n = 0
        for rows in _batches(frame):
            n += rows.height
            yield polars.compact(rows)
    if not n:
        yield collect(frame.head(0))


def _batches(frame: Frame) -> Iterator[pl.DataFrame]:
    if isinstance(frame, nw.DataFrame):
        return frame.to_polars().iter_slices(BATCH)
    native = frame.to_native()
    if isinstance(native, pl.LazyFrame):
        return polars.batches(native, BATCH)
    return duckdb.batches(native, BATCH) if _kind_of(native) == "duckdb" else spark.batches(native)


def map_batches(frame: Frame, function: Callable[[pl.DataFrame], pl.DataFrame]) -> Frame:
    """Change rows one by one in Python, wherever they are.

    `function` gets some of the rows and must treat each by itself: how rows are divided is the engine's
    affair. Rows in memory are changed at once; those of a scan or of DuckDB pass by in batches into parts on
    disk, from which they are read again; those of Spark are changed where they are, on the workers.
    """
    if isinstance(frame, nw.DataFrame):
        return nw.from_native(function(frame.to_polars()), eager_only=True)
    native = frame.to_native()
    if _kind_of(native) == "spark":
        with engine_errors():
            changed: Frame = nw.from_native(spark.map_batches(native, function))
        return changed
    parts = spooled(function(rows) for rows in batches(frame))
    if isinstance(native, pl.LazyFrame):
        return nw.from_native(scan_spool(parts))
    with engine_errors():
        read_again: Frame = nw.from_native(duckdb.scan_again(native, parts))
    return read_again


def compact(frame: Frame) -> Frame:
    """The same rows in memory, holding nothing of rows that were dropped; rows in an engine stay there."""
    if isinstance(frame, nw.LazyFrame):
        return frame
    return nw.from_native(polars.compact(frame.to_polars()), eager_only=True)


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
    return frame.clone()


def group_integers(frame: Frame, names: list[str], count: str, sums: dict[str, str]) -> pl.DataFrame | None:
    """Group Polars' rows by whole numbers that span little, faster than otherwise; None where that does not apply.

    `count` names the number of rows of a group, `sums` the sums of columns.
    """
    native = frame.to_native()
    if not isinstance(native, pl.DataFrame | pl.LazyFrame):
        return None
    return polars.group_packed(native.lazy(), names, count, sums)


def look_up(frame: Frame, keys: pl.DataFrame, on: list[str]) -> Frame:
    """The rows with the other columns of a small key table beside them, in any order; each row's key is in it."""
    native = frame.to_native()
    if isinstance(native, pl.DataFrame | pl.LazyFrame):
        found = polars.look_up(native.lazy(), keys, on)
        if found is not None:
            return nw.from_native(found)
    return match_keys(frame, keys, on, "left")


def match_keys(frame: Frame, keys: pl.DataFrame, on: list[str], how: Match) -> Frame:
    """Join a small key table to the rows, null matching null, row order kept where there is one."""
    if isinstance(frame, nw.DataFrame):
        return nw.from_native(polars.match_eager(frame.to_polars(), keys, on, how))
    native = frame.to_native()
    if isinstance(native, pl.LazyFrame):
        return nw.from_native(polars.match_lazy(native, keys, on, how))
    with engine_errors():
        joined = (duckdb if _kind_of(native) == "duckdb" else spark).match(native, keys, on, how)
    matched: Frame = nw.from_native(joined)
    return matched
