"""Values that one holder alone has: whoever knows an exact amount finds the record by it.

A holder is a record, a person with all his rows, or a household whose members share the amount.
"""

from __future__ import annotations

from typing import NamedTuple

import narwhals as nw

from flou.describe.household_amounts import household_amounts, suspected_amounts
from flou.describe.microdata import Microdata
from flou.engine import native
from flou.engine.note import Note
from flou.engine.values import codes_in

_N, _KNOWN, _LOW, _HIGH = (f"{native.RESERVED}{name}" for name in ("n", "known", "low", "high"))


class Holder(NamedTuple):
    """To whom a value belongs: a column that says it, and a name for it."""

    column: str | None
    name: str


def holders_of(data: Microdata, columns: tuple[str, ...]) -> dict[str, Holder]:
    """For each column whose values they are: those of records, of persons with several rows, or of households."""
    one = Holder(data.schema.person, "person") if data.schema.person else Holder(None, "record")
    shared = household_amounts(data, columns)
    return {c: Holder(data.schema.household, "household") if c in shared else one for c in columns}


def suspicions(data: Microdata, columns: tuple[str, ...]) -> tuple[Note, ...]:
    """Amounts that look like those of households where none is declared: they find more records than are counted."""
    text = (
        "{column} looks like an amount of households, since most of its values occur a few times. Then it singles out "
        "households, which are not counted here: declare the role household."
    )
    return tuple(Note(text, {"column": c}) for c in suspected_amounts(data, columns))


def count_alone(data: Microdata, column: str, holder: str | None = None) -> int:
    """The number of records whose value of a column no other holder has; codes that are not applicable are no values.

    Without a `holder` each record is one; a record whose holder is null is one by itself.
    """
    rows = data.frame.select(column, *([holder] if holder else [])).filter(~nw.col(column).is_null())
    codes = codes_in(rows.collect_schema()[column], data.schema.not_applicable.get(column, ()))
    if codes:
        rows = rows.filter(~nw.col(column).is_in(codes))
    figures = [nw.len().cast(nw.Int64).alias(_N)]
    alone = nw.col(_N) == 1
    if holder:
        held = nw.col(holder)
        figures += [held.count().cast(nw.Int64).alias(_KNOWN), held.min().alias(_LOW), held.max().alias(_HIGH)]
        alone |= (nw.col(_KNOWN) == nw.col(_N)) & (nw.col(_LOW) == nw.col(_HIGH))
    single = rows.group_by(column).agg(*figures).filter(alone.fill_null(False))
    return int(native.collect(single.select(nw.col(_N).sum().cast(nw.Int64))).item() or 0)
