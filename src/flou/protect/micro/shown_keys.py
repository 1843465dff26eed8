"""What the records of each distinct key show instead of it: applied to the rows where they are.

Methods that choose by distinct key (generalising, local recoding, local suppression) end here: new values for each
key column, or the records dropped, and a schema that still says the truth about the columns.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import narwhals as nw
import numpy as np
import polars as pl
from numpy.typing import NDArray

from flou.describe.microdata import Microdata
from flou.describe.schema import Schema
from flou.engine import native
from flou.engine.errors import GuaranteeBrokenError
from flou.engine.release import Change

Flags = NDArray[np.bool_]
_NEW = f"{native.RESERVED}new_"
#: Which of several groups of a key's records a record belongs to.
GROUP = f"{native.RESERVED}group"


@dataclass(frozen=True, eq=False)
class Shown:
    """For each line of `keys` (distinct keys, perhaps by group) the values shown, and whether its records go."""

    keys: pl.DataFrame
    counts: NDArray[np.int64]
    columns: Mapping[str, pl.Series]
    dropped: Flags

    def changes(self) -> tuple[Change, ...]:
        """How many values of each column are not what they were, among the records that stay."""
        found = (self._change(column, new) for column, new in self.columns.items())
        return tuple(change for change in found if change.n_changed)

    def _change(self, column: str, new: pl.Series) -> Change:
        old = self.keys[column]
        same = old.eq_missing(new) if old.dtype == new.dtype else old.cast(pl.String).eq_missing(new.cast(pl.String))
        changed = ~same.to_numpy() & ~self.dropped
        stays = pl.Series(~self.dropped)
        after = new.filter(stays).drop_nulls().n_unique()
        return Change(column, int(self.counts[changed].sum()), old.drop_nulls().n_unique(), after)


def show(data: Microdata, shown: Shown, schema: Schema, frame: native.Frame | None = None) -> Microdata:
    """The rows with new values in the key columns; those of dropped keys go. `frame` may hold the group of each row."""
    rows = data.frame if frame is None else frame
    on = list(shown.keys.columns)
    small = shown.keys.with_columns(new.alias(f"{_NEW}{column}") for column, new in shown.columns.items())
    kept = small.filter(pl.Series(~shown.dropped))
    joined = native.match_keys(rows, small, on, "left") if kept.height == small.height else _without(rows, small, kept)
    order = [c for c in rows.collect_schema().names() if c != GROUP]
    new = [nw.col(f"{_NEW}{c}").alias(c) if c in shown.columns else nw.col(c) for c in order]
    made = data.with_frame(joined.select(*new), schema)
    expected = int(shown.counts[~shown.dropped].sum())
    if made.n_records != expected:
        raise GuaranteeBrokenError(
            f"The engine did not find the records of every key again: {made.n_records:,} instead of {expected:,}; "
            "nothing is released."
        )
    return made


def _without(rows: native.Frame, small: pl.DataFrame, kept: pl.DataFrame) -> native.Frame:
    """The rows whose key stays, with its new values."""
    on = [c for c in small.columns if not c.startswith(_NEW)]
    gone = small.select(on).join(kept.select(on), on=on, how="anti", nulls_equal=True)
    return native.match_keys(native.match_keys(rows, gone, on, "anti"), kept, on, "left")


def mixed_schema(schema: Schema, columns: Mapping[str, pl.Series]) -> Schema:
    """What still holds when values of one column stand at several levels: neither modalities nor a hierarchy."""
    changed = set(columns)

    def others(held: Mapping[str, object]) -> dict[str, object]:
        return {c: v for c, v in held.items() if c not in changed}

    return schema.with_changes(
        modalities=others(schema.modalities),
        hierarchies=others(schema.hierarchies),
        types=others(schema.types),
        not_applicable=others(schema.not_applicable),
        undetermined=others(schema.undetermined),
        value_labels=others(schema.value_labels),
        incoherent=tuple(rule for rule in schema.incoherent if not changed & set(rule)),
    )
