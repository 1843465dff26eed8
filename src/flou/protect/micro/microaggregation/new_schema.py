"""What the schema says of a column once groups show one value.

A mean need be nobody's value: declared modalities become the values that are shown, a hierarchy that does not know
them goes, and so do labels of values. A mode is a declared value, and all of this stays. Rules of coherence that name
the column go in either case: a group may show values that no member has together.
"""

from __future__ import annotations

from typing import cast

import polars as pl

from flou.describe.hierarchy import Hierarchy
from flou.describe.schema import Schema
from flou.engine.errors import DataError
from flou.engine.parameters import Scalar
from flou.engine.values import distinct, text_of
from flou.protect.micro.microaggregation.centre import Show
from flou.protect.micro.microaggregation.variable import VALUE, Quantity, Variable


def schema_with(schema: Schema, column: str, variable: Variable, shown: pl.Series, show: Show) -> Schema:
    """The schema of the file that shows these values."""
    incoherent = tuple(rule for rule in schema.incoherent if column not in rule)
    if not isinstance(variable, Quantity) or show == "mode":
        return schema.with_changes(incoherent=incoherent)
    values = distinct(shown.filter(pl.Series(variable.aside == VALUE)))
    codes = {text_of(code) for code in schema.not_applicable.get(column, ())}
    if taken := [v for v in values if text_of(v) in codes]:
        raise DataError(
            f"A group of {column!r} would show {taken[0]}, which means not applicable there: give not applicable "
            "another code, or null, first."
        )
    modalities = {c: v for c, v in schema.modalities.items() if c != column}
    if column in schema.modalities and values:
        modalities[column] = tuple(cast(list[Scalar], values))
    labels = {t: label for t, label in schema.value_labels.get(column, {}).items() if t in codes}
    return schema.with_changes(
        incoherent=incoherent,
        modalities=modalities,
        hierarchies={c: h for c, h in schema.hierarchies.items() if c != column or _covers(h, values)},
        undetermined={c: v for c, v in schema.undetermined.items() if c != column},
        value_labels={
            **{c: v for c, v in schema.value_labels.items() if c != column},
            **({column: labels} if labels else {}),
        },
    )


def _covers(hierarchy: Hierarchy, values: list[object]) -> bool:
    return all(hierarchy.covers(value) for value in values)
