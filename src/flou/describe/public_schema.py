"""The schema of what is published: of the values that no record shows any more it says nothing.

A schema names values: their list, labels, groups and impossible combinations. Where a protection hid the last record
with a value, the schema would tell that the value was there. Codes of undetermined values are kept: they stand for no
value.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from flou.describe.hierarchy import ROOT, Hierarchy
from flou.describe.schema import Schema
from flou.engine import native
from flou.engine.values import distinct, text_of

if TYPE_CHECKING:
    from flou.describe.microdata import Microdata

#: Fields of a schema that say something of single columns.
_BY_COLUMN = ("types", "not_applicable", "undetermined", "modalities", "hierarchies", "labels", "value_labels")
#: Those that name single values.
_OF_VALUES = ("not_applicable", "modalities", "hierarchies", "value_labels")


def shown_schema(schema: Schema, frame: native.Frame) -> Schema:
    """What a schema says of the columns of these rows, and of the values that they show."""
    columns = frame.collect_schema().names()
    named = {c for field in _OF_VALUES for c in getattr(schema, field)}
    named |= {c for rule in schema.incoherent for c in rule}
    values = {c: {text_of(v) for v in _values(frame, c)} for c in columns if c in named}
    return schema_of_values(schema, columns, values)


def told_schema(data: Microdata) -> Schema:
    """The schema; of rows in an engine that would be published without the values that none of them shows."""
    is_public = data.released and data.kin.original is None  # what is published knows of no original
    if not (is_public and data.is_lazy):
        return data.schema
    with data.watched():
        return shown_schema(data.schema, data.frame)


def _values(frame: native.Frame, column: str) -> list[object]:
    return distinct(native.collect(frame.select(column).unique())[column])


def schema_of_values(schema: Schema, columns: Collection[str], values: Mapping[str, Collection[str]]) -> Schema:
    """A schema that says nothing of other columns than these, nor of other values of theirs, given as texts."""
    named = {*schema.declared, *(c for field in _BY_COLUMN for c in getattr(schema, field))}
    left = schema.without(named - set(columns))
    seen = {c: set(values.get(c, ())) for c in columns}
    codes = {c: {text_of(v) for v in held} for c, held in left.undetermined.items()}
    rules = tuple(r for r in left.incoherent if all(text_of(v) in seen[c] for c, v in r.items()))
    labels = {
        c: {text: label for text, label in held.items() if text in seen[c] | codes.get(c, set())}
        for c, held in left.value_labels.items()
    }
    return left.with_changes(
        modalities=_listed(left.modalities, seen),
        not_applicable=_listed(left.not_applicable, seen),
        hierarchies={c: h for c, held in left.hierarchies.items() if (h := _grouped(held, seen[c])) is not None},
        value_labels={c: held for c, held in labels.items() if held},
        incoherent=rules,
    )


def _listed(declared: Mapping[str, Any], seen: Mapping[str, set[str]]) -> dict[str, tuple[Any, ...]]:
    """Of each list the values that are shown; no list of which nothing is left."""
    kept = {c: tuple(v for v in held if text_of(v) in seen[c]) for c, held in declared.items()}
    return {c: held for c, held in kept.items() if held}


def _grouped(hierarchy: Hierarchy, seen: set[str]) -> Hierarchy | None:
    """The groups of the values that are shown. Bands and prefixes name no value."""
    if not hierarchy.table:
        return hierarchy
    height = hierarchy.height
    rows = tuple((leaf, (*above, ROOT)[:height]) for leaf, above in hierarchy.table if leaf in seen)
    return replace(hierarchy, table=rows) if rows else None
