"""What the records of each distinct key show instead of it: applied to the rows where they are.

Methods that choose by distinct key (generalising, local recoding, local suppression) end here: new values for each
key column, or the records dropped, and a schema that still says the truth about the columns.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np
import polars as pl
from numpy.typing import NDArray

from flou.describe.microdata import Microdata
from flou.describe.schema import Schema
from flou.engine import native
from flou.engine.errors import GuaranteeBrokenError
from flou.engine.release import Change
from flou.engine.values import distinct, text_of

Flags = NDArray[np.bool_]
_NEW = f"{native.RESERVED}new_"
_FOUND = f"{native.RESERVED}found"
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
        same = old.eq_missing(new) if old.dtype == new.dtype else as_text(old).eq_missing(as_text(new))
        changed = ~same.to_numpy() & ~self.dropped
        stays = pl.Series(~self.dropped)
        after = new.filter(stays).drop_nulls().n_unique()
        return Change(column, int(self.counts[changed].sum()), old.drop_nulls().n_unique(), after)


def as_text(values: pl.Series) -> pl.Series:
    """The canonical text of each value."""
    if values.dtype == pl.String:
        return values
    known = distinct(values)
    texts = pl.Series([text_of(v) for v in known], dtype=pl.String)
    return values.replace_strict(pl.Series(known, dtype=values.dtype), texts, default=None, return_dtype=pl.String)


def show(data: Microdata, shown: Shown, schema: Schema, frame: native.Frame | None = None) -> Microdata:
    """The rows with new values in the key columns; those of dropped keys go. `frame` may hold the group of each row."""
    rows = data.frame if frame is None else frame
    on = list(shown.keys.columns)
    new_values = [new.alias(f"{_NEW}{column}") for column, new in shown.columns.items()]
    small = shown.keys.with_columns(*new_values, pl.lit(True).alias(_FOUND))
    kept = small.filter(pl.Series(~shown.dropped))
    joined = native.match_keys(rows, small, on, "left") if kept.height == small.height else _without(rows, small, kept)
    order = [c for c in rows.collect_schema().names() if c != GROUP]
    new = [nw.col(f"{_NEW}{c}").alias(c) if c in shown.columns else nw.col(c) for c in order]
    unmatched = nw.col(_FOUND).is_null().cast(nw.Int64).sum().alias("unmatched")
    n, n_unmatched = native.collect(joined.select(nw.len().cast(nw.Int64).alias("n"), unmatched)).row(0)
    expected = int(shown.counts[~shown.dropped].sum())
    if n != expected or n_unmatched:
        raise GuaranteeBrokenError(
            f"The engine did not find the records of every key again: {n:,} instead of {expected:,}, "
            f"{n_unmatched or 0:,} of them without a key; nothing is released."
        )
    return data.with_frame(joined.select(*new), schema)


def _without(rows: native.Frame, small: pl.DataFrame, kept: pl.DataFrame) -> native.Frame:
    """The rows whose key stays, with its new values."""
    on = [c for c in small.columns if c != _FOUND and not c.startswith(_NEW)]
    gone = small.select(on).join(kept.select(on), on=on, how="anti", nulls_equal=True)
    return native.match_keys(native.match_keys(rows, gone, on, "anti"), kept, on, "left")


def mixed_schema(schema: Schema, columns: Mapping[str, pl.Series]) -> Schema:
    """What still holds when values of one column stand at several levels: no hierarchy, no rules, no labels."""
    changed = set(columns)

    def others(held: Mapping[str, object]) -> dict[str, object]:
        return {c: v for c, v in held.items() if c not in changed}

    return schema.with_changes(
        hierarchies=others(schema.hierarchies),
        types=others(schema.types),
        not_applicable=others(schema.not_applicable),
        undetermined=others(schema.undetermined),
        value_labels=others(schema.value_labels),
        incoherent=tuple(rule for rule in schema.incoherent if not changed & set(rule)),
    )


def remembering(schema: Schema, data: Microdata, shown: Shown) -> Schema:
    """The schema with the values that a null of the release may stand for: those that are shown, and those that were.

    A pessimistic count must not take a null for less than it could be because rare values are no longer seen.
    """
    modalities = dict(schema.modalities)
    for column, new in shown.columns.items():
        if new.null_count() or column in modalities:
            values = (*data.declared_modalities.get(column, ()), *distinct(shown.keys[column]), *distinct(new))
            known: dict[str, Any] = {text_of(v): v for v in values}
            if known:
                modalities[column] = tuple(known) if new.dtype == pl.String else tuple(known.values())
    return schema.with_changes(modalities=modalities)
