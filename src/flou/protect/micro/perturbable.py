"""Which columns can be perturbed, and what a schema says once they were.

What is never published has nothing to be perturbed. The weight is refused: estimates hang on it, and noise
on it protects nobody whose values stay. Once values were drawn, rules of coherence that bind a perturbed
column to others no longer hold, and declared values may no longer be all.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from flou.describe.microdata import Microdata
from flou.describe.schema import Schema
from flou.engine.errors import DataError, ParameterError
from flou.engine.method import require_columns
from flou.protect.micro.rows import Amounts


def require_perturbable(
    data: Microdata, columns: Sequence[str], what: str, by: Sequence[str] = (), *, weights: bool = False
) -> None:
    """Refuse columns that are not there, never published or the weight (unless `weights`), and strata among them."""
    require_columns(data, (*columns, *by), what)
    schema = data.schema
    for column in columns:
        if column in schema.hidden:
            roles = ", ".join(schema.roles(column))
            raise DataError(f"{column!r} ({roles}) is never published, so {what} has nothing to perturb there.")
        if column == schema.weight and not weights:
            raise DataError(
                f"{column!r} is the weight: {what} would bias every estimate and protect no value. Round it, or drop "
                "it from the file."
            )
        if column in by:
            raise ParameterError(f"{what}: {column!r} is named in both columns and by; strata must stay as they are.")


def require_numbers(amounts: Amounts, what: str, *, dates: bool = True) -> None:
    """Refuse infinite values, columns without any value and, where they mean nothing, dates."""
    if amounts.held.dtype.is_temporal() and not dates:
        raise DataError(f"{what} needs a column of numbers; {amounts.column!r} holds dates.")
    if not amounts.known.any():
        raise DataError(f"{what}: the column {amounts.column!r} has no value at all, so there is nothing to perturb.")
    if not np.isfinite(amounts.values).all(where=amounts.known):
        raise DataError(
            f"{what}: the column {amounts.column!r} has infinite values. Top-code them first, or make them null."
        )


def schema_of_perturbed(schema: Schema, columns: Sequence[str], kept_with: Sequence[str] = ()) -> Schema:
    """The schema once values of columns were exchanged or drawn again from those that are declared.

    Rules of coherence stay where all their columns moved together (`columns` themselves, with the strata
    `kept_with`); the others go: fewer rules make the space of keys larger, which is the cautious side.
    """
    moved, bound = set(columns), {*columns, *kept_with}
    rules = tuple(r for r in schema.incoherent if not moved & set(r) or (kept_with and set(r) <= bound))
    return schema.with_changes(incoherent=rules) if len(rules) < len(schema.incoherent) else schema


def schema_of_new_numbers(schema: Schema, columns: Sequence[str]) -> Schema:
    """The schema once columns hold numbers that nobody declared: lists of values go, bands stay."""
    after = schema_of_perturbed(schema, columns)
    kept = {c: h for c, h in after.hierarchies.items() if c not in columns or not h.table}
    modalities = {c: v for c, v in after.modalities.items() if c not in columns}
    return after.with_changes(hierarchies=kept, modalities=modalities)
