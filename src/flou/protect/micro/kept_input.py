"""What a step was given and what it made of it, kept by unit, to be compared with the final file.

A perturbation promises that values were changed, so its proof needs the former ones. They stay in the
guarantee: inside the process, like the plan's own input. Rows are compared by place where the
final file still has them in the same order, by unit otherwise; records that were dropped since are left out,
and a column that was dropped or turned into another type since is no longer compared.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import polars as pl

from flou.describe.microdata import Microdata
from flou.engine import native
from flou.protect.micro.rows import Rows

_BEFORE, _MADE, _BESIDE = (f"{native.RESERVED}{name}" for name in ("before", "made", "beside"))


@dataclass(frozen=True)
class Compared:
    """One column of the records that are still there: as the step got it, as it left it, as it is."""

    before: pl.Series
    made: pl.Series
    after: pl.Series
    #: What the step knew of each record, where it kept that.
    beside: pl.Series | None
    #: Whether every record is still there.
    complete: bool

    @property
    def untouched(self) -> bool:
        """Whether the column is as the step left it."""
        return self.complete and self.after.equals(self.made)


@dataclass(frozen=True, eq=False, repr=False)
class KeptInput:
    """Columns of all records before and after a step."""

    units: pl.Series
    before: Mapping[str, pl.Series]
    made: Mapping[str, pl.Series]
    beside: Mapping[str, pl.Series]

    @classmethod
    def of(
        cls,
        rows: Rows,
        released: Microdata,
        made: Mapping[str, pl.Series],
        beside: Mapping[str, pl.Series] | None = None,
    ) -> KeptInput:
        """What a step read (`rows`), made of columns (in that order, and put back), and knows of their records."""
        data, extra = rows.data, dict(beside or {})
        if data.is_lazy:
            units = pl.Series(data.unit_column, rows.ids)
            return cls(units, {c: rows.frame[c] for c in made}, dict(made), extra)
        # in the order of the file, in which it will be compared
        name = data.unit_column
        held = native.collect(data.numbered().frame.select(name, *made))
        return cls(
            held[name],
            {c: held[c] for c in made},
            {c: native.collect(released.frame.select(c))[c] for c in made},
            {c: rows.in_place(values) for c, values in extra.items()},
        )

    def compared(self, data: Microdata, column: str) -> Compared | None:
        """The column beside what it was; None where it was dropped or is of another type since."""
        if column not in data.columns:
            return None
        name = self.units.name
        after = native.collect(data.numbered().frame.select(name, column))
        before, made, beside = self.before[column], self.made[column], self.beside.get(column)
        if after.schema[column] != made.dtype and not _alike(after.schema[column], made.dtype):
            return None
        if len(after) == len(before) and after[name].equals(self.units):
            return Compared(before, made, after[column], beside, complete=True)
        kept = {name: self.units, _BEFORE: before, _MADE: made}
        if beside is not None:
            kept[_BESIDE] = beside
        both = after.join(pl.DataFrame(kept), on=name, how="inner")
        complete = len(both) == len(before)
        held = both[_BESIDE] if beside is not None else None
        return Compared(both[_BEFORE], both[_MADE], both[column], held, complete)


def _alike(one: pl.DataType, other: pl.DataType) -> bool:
    return one.is_numeric() and other.is_numeric()
