"""The two files side by side: the columns that can be compared, as arrays, with each file's own weights.

A column is compared as a number, as a day (days since 1970) or as a category. Values are matched by their
canonical text, as everywhere. What was recoded into another type cannot be compared, and is said to be so.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import narwhals as nw
import numpy as np
import polars as pl
from numpy.typing import NDArray

from flou.describe.microdata import Microdata
from flou.describe.schema import Schema
from flou.engine import native
from flou.engine.errors import DataError, ParameterError, listed
from flou.engine.method import require_columns
from flou.engine.note import Note
from flou.engine.values import codes_in, text_of

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]
ColumnKind = Literal["number", "date", "category"]
#: A number with so many declared modalities at most is a category.
_FEW_MODALITIES = 30
#: Beyond this squares overflow.
_LARGEST = 1e120
_DAY = 86_400_000_000  # microseconds


@dataclass(frozen=True, eq=False)
class Side:
    """One of the two files: the columns that are needed, and the weights."""

    rows: pl.DataFrame
    weights: Floats
    weighted: bool

    @property
    def n(self) -> int:
        return self.rows.height


@dataclass(frozen=True, eq=False)
class Categories:
    """One column of both files as codes: places in `levels`, whose last is null where either file has nulls."""

    levels: tuple[str | None, ...]
    original: Codes
    released: Codes

    @property
    def n(self) -> int:
        return len(self.levels)


@dataclass(frozen=True, eq=False)
class TwoFiles:
    """The original and the release, as far as they are compared."""

    original: Side
    released: Side
    schema: Schema
    kinds: Mapping[str, ColumnKind]
    _found: dict[str, Categories] = field(default_factory=dict, repr=False)

    @property
    def sides(self) -> tuple[Side, Side]:
        return self.original, self.released

    def numbers(self, name: str) -> tuple[Floats, Floats]:
        """A column of numbers or days in both files, NaN where there is no value."""
        codes = self.schema.not_applicable.get(name, ())
        first, second = (_numbers(side.rows[name], codes) for side in self.sides)
        return first, second

    def categories(self, name: str) -> Categories:
        """A column of both files as codes of common levels, found once."""
        if name not in self._found:
            self._found[name] = self._categories(name)
        return self._found[name]

    def _categories(self, name: str) -> Categories:
        texts = [_texts(side.rows[name]) for side in self.sides]
        levels = sorted({v for t in texts for v in t.unique().to_list() if v is not None}, key=_rank)
        some_null = any(t.null_count() for t in texts) or not levels
        enum = pl.Enum(levels)
        first, second = (
            t.cast(enum).to_physical().cast(pl.Int64).fill_null(len(levels)).to_numpy()
            if levels
            else np.zeros(len(t), dtype=np.int64)
            for t in texts
        )
        return Categories((*levels, None) if some_null else tuple(levels), first, second)

    def in_common(self, name: str) -> bool:
        """Whether the two files have a value of a category in common; a column without values has none to lose."""
        held = self.categories(name)
        n = sum(level is not None for level in held.levels)
        first, second = (np.bincount(c, minlength=held.n)[:n] > 0 for c in (held.original, held.released))
        return bool((first & second).any()) or not first.any() or not second.any()

    def n_values(self, name: str) -> int:
        """Distinct values of a column in the original."""
        return self.original.rows[name].drop_nulls().n_unique()


def read_files(original: Microdata, released: Microdata, columns: Iterable[str], kinds: Mapping[str, ColumnKind]) -> (
    TwoFiles
):  # fmt: skip
    """Bring the columns that are needed into memory, nothing else."""
    names = list(dict.fromkeys(columns))
    sides = []
    for data, what in ((original, "original"), (released, "release")):
        weight = data.schema.weight
        if weight is not None:
            data.lowest_weight()
        wanted = [*names, weight] if weight is not None and weight not in names else names
        rows = native.collect(data.frame.select(*wanted))
        data.require_unchanged()
        if not rows.height:
            raise DataError(f"The {what} has no records: there is nothing to compare.")
        weights = np.ones(rows.height) if weight is None else rows[weight].cast(pl.Float64).to_numpy()
        if not weights.sum() > 0:
            raise DataError(f"The weights of the {what} add up to nothing: there is nothing to compare.")
        equal = bool((weights == weights[0]).all())
        sides.append(Side(rows.select(names), weights, weighted=not equal))
    return TwoFiles(sides[0], sides[1], original.schema, kinds)


def weight_notes(original: Microdata, released: Microdata) -> tuple[Note, ...]:
    """What must be said where one file has weights and the other has none."""
    has = (original.schema.weight is not None, released.schema.weight is not None)
    if has == (True, False):
        return (Note("the original is weighted and the release has no weights: its records count once each"),)
    if has == (False, True):
        return (Note("the release is weighted and the original has no weights: its records count once each"),)
    return ()


def column_kinds(original: Microdata, released: Microdata) -> dict[str, ColumnKind]:
    """Columns that are published and can be compared, in the original's order."""
    ours, theirs = original.frame.collect_schema(), released.frame.collect_schema()
    left_out = {original.schema.weight, released.schema.weight, *original.schema.hidden}
    found: dict[str, ColumnKind] = {}
    for name in original.columns:
        if name not in theirs or name in left_out:
            continue
        kind = _kind(ours[name], name, original.schema)
        if kind == _kind(theirs[name], name, original.schema):
            found[name] = kind
    return found


def recoded_columns(original: Microdata, released: Microdata, kinds: Mapping[str, ColumnKind]) -> tuple[str, ...]:
    """Columns that both files have, but as values of another kind."""
    left_out = {original.schema.weight, released.schema.weight, *original.schema.hidden, *kinds}
    return tuple(c for c in original.columns if c in released.columns and c not in left_out)


def require_comparable(
    original: Microdata,
    released: Microdata,
    names: Sequence[str],
    parameter: str,
    kinds: Mapping[str, ColumnKind],
    allowed: tuple[ColumnKind, ...] = ("number", "date", "category"),
) -> None:
    """Columns that were named: a reason for each that cannot be compared."""
    require_columns(original, tuple(names), parameter)
    hidden = [c for c in names if c in original.schema.hidden]
    if hidden:
        raise ParameterError(f"{parameter} names {listed(hidden)}, which is never published.")
    for name in names:
        if name not in released.columns:
            raise DataError(
                f"{parameter} names {name!r}, which the release does not have. Columns of both files: "
                f"{', '.join(kinds) or 'none'}."
            )
        if name in (original.schema.weight, released.schema.weight):
            raise ParameterError(f"{parameter} names {name!r}, which is a weight: it counts records.")
        if name not in kinds:
            raise DataError(
                f"{parameter} names {name!r}, which was recoded: the original and the release hold values of "
                "different types in it, which cannot be compared. Leave it out, or give the original as recoded."
            )
        if kinds[name] not in allowed:
            wanted = "numbers or dates" if "number" in allowed else "categories"
            raise ParameterError(f"{parameter} names {name!r}, which does not hold {wanted}.")


def _kind(dtype: nw.dtypes.DType, name: str, schema: Schema) -> ColumnKind:
    if dtype.is_numeric():
        return "category" if 0 < len(schema.modalities.get(name, ())) <= _FEW_MODALITIES else "number"
    return "date" if isinstance(dtype, nw.Date | nw.Datetime) or dtype == nw.Date else "category"


def _numbers(held: pl.Series, codes: Sequence[object]) -> Floats:
    no_value = codes_in(nw.from_native(held, series_only=True).dtype, codes)
    if no_value:
        held = held.set(held.is_in(no_value).fill_null(False), None)
    if held.dtype == pl.Date:
        days = held.to_physical().cast(pl.Float64)
    elif isinstance(held.dtype, pl.Datetime):
        days = held.cast(pl.Datetime("us")).to_physical().cast(pl.Float64) / _DAY
    else:
        days = held.cast(pl.Float64)
    values = days.fill_null(float("nan")).to_numpy()
    if len(values) and np.nanmax(np.abs(values), initial=0.0) > _LARGEST:
        raise DataError(f"The column {held.name!r} holds infinite values, or nearly: mend them, or leave it out.")
    return values


def _texts(held: pl.Series) -> pl.Series:
    """Values as canonical texts."""
    if held.dtype == pl.String:
        return held
    values = held.drop_nulls().unique()
    return held.replace_strict(values, pl.Series([text_of(v) for v in values.to_list()], dtype=pl.String),
                               return_dtype=pl.String)  # fmt: skip


def _rank(text: str) -> tuple[int, float, str]:
    """Numbers in their order, then texts."""
    try:
        number = float(text)
    except ValueError:
        return 1, 0.0, text
    return (0, number, text) if number == number else (1, 0.0, text)
