"""The records that are screened, as they are released beside what they were in the plan's input.

Of a large file some 20,000 records are taken, half of them with preference for records that show a null: what was
nulled is rare. They are chosen by a hash of their ids, so that neither the engine nor the order of rows matters.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import narwhals as nw
import numpy as np
import polars as pl
from numpy.typing import NDArray

from flou.describe.microdata import Microdata
from flou.engine import native
from flou.engine.randomness import keyed_hash
from flou.engine.unshown import ORIGINAL
from flou.risk.micro.inferable.codes import Codes, alone, in_pairs
from flou.risk.micro.inferable.predict import SUPPORTS

LIMIT = 20_000
#: An identifier is looked at where so many records could be predicted from others.
_SHARED = 10
_UNIT = f"{native.RESERVED}screened"
_GAP = f"{native.RESERVED}gap"
_KEY = b"what is screened"


@dataclass(frozen=True)
class Screen:
    """Records in memory: `shown` are the released columns, `was` those of the plan's input, row by row."""

    data: Microdata
    shown: pl.DataFrame
    was: pl.DataFrame

    #: Columns as they are looked at, coded once for all that is hidden.
    _coded: dict[str, tuple[list[Codes], Codes]] = field(default_factory=dict)

    def __len__(self) -> int:
        return self.shown.height

    def coded(self, column: str) -> tuple[list[Codes], Codes]:
        """How a released column is looked at by itself, and beside another one."""
        if column not in self._coded:
            self._coded[column] = alone(self.shown[column]), in_pairs(self.shown[column])
        return self._coded[column]


def screened(data: Microdata) -> Screen:
    """Records of a release beside their original values, in an order that does not depend on the file's."""
    columns = list(data.public().columns)
    copies = [c for c in data.frame.collect_schema().names() if c.startswith(ORIGINAL)]
    if copies:
        rows = _some_rows(data.frame.select(*columns, *copies)).sort(columns, nulls_last=True)
        secret = _secret(data)
        was = rows.select(*(pl.col(f"{ORIGINAL}{c}").alias(c) for c in secret if f"{ORIGINAL}{c}" in copies))
        return Screen(data, rows.select(columns), _without_own(data, was))
    held, original = data.numbered(), data.kin.original
    unit = held.unit_column
    # what is released keeps its names, so the unit is taken under another one
    read = held.frame.select(nw.col(unit).alias(_UNIT), *columns)
    if data.n_records > LIMIT:
        read = native.match_keys(read, pl.DataFrame({_UNIT: _chosen(read, columns)}), [_UNIT], "semi")
    rows = native.collect(read).sort(_UNIT)
    source = original.frame.select(nw.col(original.unit_column).alias(_UNIT), *_secret(data))
    was = native.collect(native.match_keys(source, rows.select(_UNIT), [_UNIT], "semi"))
    was = rows.select(_UNIT).join(was, on=_UNIT, how="left", maintain_order="left")
    return Screen(data, rows.drop(_UNIT), _without_own(data, was.drop(_UNIT)))


def _secret(data: Microdata) -> list[str]:
    """The columns of the plan's input that may hold what a release hides, be it by a step or by a role.

    Numbers of units and households mean nothing by themselves; the weight says how a sample was drawn.
    """
    original: Microdata = data.kin.original
    schema = original.schema
    return [c for c in original.columns if c not in (schema.id, schema.household, schema.weight)]


def _without_own(data: Microdata, was: pl.DataFrame) -> pl.DataFrame:
    """The columns without identifiers that hardly two records share: nobody teaches what only one person has."""
    own = [c for c in data.kin.original.schema.identifiers if c in was.columns and _n_shared(was[c]) < _SHARED]
    return was.drop(own)


def _n_shared(column: pl.Series) -> int:
    """In how many records a value stands that enough others show to be predicted from them."""
    counts = column.drop_nulls().value_counts(name=_GAP)[_GAP]
    return int(counts.filter(counts > int(SUPPORTS[0])).sum())


def _chosen(frame: native.Frame, columns: Sequence[str]) -> pl.Series:
    """The units to screen: half of them among those that show a null."""
    rows = native.collect(frame.select(_UNIT, _gaps(columns)))
    return rows[_UNIT].gather(_places(keyed_hash(rows[_UNIT].to_numpy(), _KEY), rows[_GAP].to_numpy().astype(np.bool_)))


def _gaps(columns: Sequence[str]) -> nw.Expr:
    return nw.any_horizontal(*(nw.col(c).is_null() for c in columns), ignore_nulls=True).alias(_GAP)


def _places(hashes: NDArray[np.uint64], gap: NDArray[np.bool_]) -> NDArray[np.intp]:
    order = np.argsort(hashes, kind="stable")
    first = order[gap[order]][: LIMIT // 2]
    rest = order[~np.isin(order, first)][: LIMIT - len(first)]
    return np.concatenate([first, rest])


def _some_rows(frame: native.Frame) -> pl.DataFrame:
    """Rows by a hash of what they hold, half of them with a null; the whole file passes by once."""
    kept: pl.DataFrame | None = None
    names = frame.collect_schema().names()
    shown = [c for c in names if not c.startswith(ORIGINAL)]
    for batch in native.batches(frame):
        here = batch.with_columns(
            pl.any_horizontal(pl.col(shown).is_null()).alias(_GAP), batch.hash_rows().alias(_UNIT)
        )
        kept = here if kept is None else pl.concat([kept, here])
        if kept.height > LIMIT:
            kept = kept[_places(kept[_UNIT].to_numpy(), kept[_GAP].to_numpy().astype(np.bool_))]
    assert kept is not None
    return kept.select(names)
