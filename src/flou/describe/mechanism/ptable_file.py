"""Perturbation tables as the R package ptable writes them (Enderle 2023), out and in.

Out: one line a transition, i, j, p, v = j - i, the interval of keys in [0, 1) and the type `all`, with every digit, so
that cellKey and ckm draw the same noise from the same keys. In: that form, or a transition matrix with one line a count
and one column a published count. A matrix of another author is taken as it is, its bias kept and shown, once it is
a set of distributions at all: what does not add up, moves zeros, or has gaps is refused, never mended. Tables for
magnitudes (steps below 1, types `even` and `odd`) are no transition matrices of counts.
"""

from __future__ import annotations

from os import PathLike
from typing import NoReturn

import numpy as np
import polars as pl
from numpy.typing import NDArray

from flou.describe.mechanism.matrix_parameters import LARGEST_REACH, SMALLEST_V
from flou.engine import native
from flou.engine.errors import DataError, listed
from flou.engine.output import checked_path, written_whole
from flou.engine.values import whole_number

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

#: How far the sum of a row, or the end of an interval, may lie from what it should be: files hold eight decimals.
_TOLERANCE = 1e-6
#: Closer than this a sum is 1 but for rounding, and the chances are kept to the bit.
_EXACT = 1e-12
_COLUMNS = ("i", "j", "p")


def write_ptable(frame: pl.DataFrame, path: str | PathLike[str] | None, *, overwrite: bool) -> pl.DataFrame:
    """The table with ptable's column `type`; written as CSV where a path is given."""
    table = frame.with_columns(type=pl.lit("all"))
    if path is not None:
        with written_whole(path, overwrite=overwrite) as file:
            table.write_csv(file)
    return table


def read_chances(source: object) -> Floats:
    """One row a count, one column a deviation, from a file or a frame of either form."""
    table = _read(source) if isinstance(source, str | PathLike) else native.collect(native.enter(source).frame)
    return _chances(_long(table))


def _read(path: str | PathLike[str]) -> pl.DataFrame:
    found = checked_path(path, "A perturbation table", DataError)
    try:
        text = found.read_text(encoding="utf-8-sig")
        separator = max(",;\t", key=text.partition("\n")[0].count)
        # R's write.csv2 has semicolons and decimal commas
        commas = separator != "," and "," in text
        table = pl.read_csv(text.encode(), separator=separator, decimal_comma=commas, infer_schema_length=None)
    except OSError as error:
        raise DataError(f"The perturbation table {str(path)!r} cannot be read ({error.strerror}).") from None
    except (UnicodeError, pl.exceptions.PolarsError, pl.exceptions.PanicException):
        raise DataError(
            f"{str(path)!r} is not a CSV file that can be read; write the table with ptable or Flou."
        ) from None
    if not table.width or table.columns[0] != "":
        return table
    # R writes row names below an empty heading: of a matrix they are the counts, else they number the lines
    return table.drop("") if "i" in table.columns else table.rename({"": "i"})


def _long(table: pl.DataFrame) -> pl.DataFrame:
    """Columns i, j, p and whatever else stands beside them."""
    if table.is_empty():
        _refuse("it is empty")
    if "p" not in table.columns and "p_ij" in table.columns:
        table = table.rename({"p_ij": "p"})
    if "j" in table.columns:
        missing = [c for c in _COLUMNS if c not in table.columns]
        if missing:
            _refuse(f"it has no column {listed(missing)}; there are: {listed(table.columns)}")
    else:
        targets = [c for c in table.columns if c != "i"]
        if "i" not in table.columns or not targets or not all(whole_number(t) is not None for t in targets):
            _refuse(
                "it needs the columns i, j and p, or a column i and one column a published count (0, 3, 4, …); "
                f"there are: {listed(table.columns)}"
            )
        wrong = [c for c in targets if not table[c].dtype.is_numeric()]
        if wrong:
            _refuse(f"the columns {listed(wrong)} hold no numbers")
        table = table.unpivot(index="i", on=targets, variable_name="j", value_name="p").with_columns(
            pl.col("j").cast(pl.Int64), pl.col("p").cast(pl.Float64)
        )
    if "type" in table.columns and set(table["type"].unique().to_list()) != {"all"}:
        _refuse("its column type is not `all`: tables for magnitudes are not transition matrices of counts")
    return table.with_columns(_numbers(table, c) for c in _COLUMNS)


def _numbers(table: pl.DataFrame, column: str) -> pl.Series:
    """A column as numbers, whole ones for counts."""
    series = table[column]
    if not series.dtype.is_numeric():
        _refuse(f"column {column} holds no numbers but {series.dtype}")
    values = series.cast(pl.Float64)
    if values.null_count() or not values.is_finite().all():
        _refuse(f"column {column} has missing or infinite values")
    if column == "p":
        if not values.is_between(0, 1 + _TOLERANCE).all():
            _refuse("column p must lie between 0 and 1")
        return values
    if (values != values.round()).any():
        _refuse(f"column {column} has parts of units: tables for magnitudes are not transition matrices of counts")
    if (values < 0).any():
        _refuse(f"column {column} has negative counts")
    return values.cast(pl.Int64)


def _chances(table: pl.DataFrame) -> Floats:
    if table.select("i", "j").is_duplicated().any():
        _refuse("a pair of i and j stands in it twice")
    table = table.sort("i", "j")
    i, j, p = (table[c].to_numpy() for c in _COLUMNS)
    last = int(i.max())
    gaps = sorted(set(range(last + 1)) - set(i.tolist())) if last <= 4 * LARGEST_REACH else [last]
    if gaps:
        _refuse(f"its counts i must go from 0 upwards without a gap; rows are missing: {listed(gaps)}")
    reach = int(np.abs(j - i)[p > 0].max(initial=0))
    if not 1 <= reach <= LARGEST_REACH:
        _refuse(f"its largest deviation is {reach}, which must be between 1 and {LARGEST_REACH}")
    used = p > 0
    chances = np.zeros((last + 1, 2 * reach + 1))
    chances[i[used], j[used] - i[used] + reach] = p[used]
    _check_rows(chances, reach)
    _check_intervals(table, i, j, p)
    steps = np.arange(-reach, reach + 1) ** 2
    if float((chances @ steps).max()) < SMALLEST_V:
        _refuse(f"its noise has a variance below {SMALLEST_V:g}, which protects nobody")
    sums = chances.sum(axis=1, keepdims=True)
    return np.where(np.abs(sums - 1) > _EXACT, chances / sums, chances)


def _check_rows(chances: Floats, reach: int) -> None:
    sums = chances.sum(axis=1)
    wrong = np.flatnonzero(np.abs(sums - 1) > _TOLERANCE)
    if wrong.size:
        _refuse(f"the chances of count {wrong[0]} add up to {sums[wrong[0]]:.8g}, not to 1")
    if abs(chances[0, reach] - 1) > _TOLERANCE or np.count_nonzero(chances[0]) > 1:
        _refuse("a count of 0 must stay 0 with probability 1")


def _check_intervals(table: pl.DataFrame, i: Integers, j: Integers, p: Floats) -> None:
    """v and the intervals, where they are given, say the same as j and p, targets ascending."""
    if "v" in table.columns and (table["v"].cast(pl.Float64).to_numpy() != j - i).any():
        _refuse("column v is not j - i everywhere")
    total = np.cumsum(p)
    starts = np.r_[0, np.flatnonzero(np.diff(i)) + 1]
    before = (total - p)[starts]
    ends = total - np.repeat(before, np.diff(np.r_[starts, len(i)]))
    for column, expected in (("p_int_lb", ends - p), ("p_int_ub", ends)):
        if column in table.columns:
            if not table[column].dtype.is_numeric() or table[column].null_count():
                _refuse(f"column {column} has no number on some line")
            far = np.flatnonzero(np.abs(table[column].cast(pl.Float64).to_numpy() - expected) > _TOLERANCE)
            if far.size:
                _refuse(
                    f"column {column} is not the sum of the chances of count {i[far[0]]} up to {j[far[0]]}: "
                    "intervals must follow each other, published counts ascending"
                )


def _refuse(why: str) -> NoReturn:
    raise DataError(f"This perturbation table cannot be used: {why}. Export it anew with ptable, or with to_ptable.")
