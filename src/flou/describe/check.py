"""Does a frame fit its schema? Everything that is wrong is listed at once."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import narwhals as nw

from flou.describe.schema import ColumnType, Schema
from flou.describe.unique_ids import id_problems
from flou.engine import native
from flou.engine.errors import HierarchyError, SchemaError, did_you_mean, listed, paragraphs
from flou.engine.keys import MAX_WEIGHT
from flou.engine.values import codes_in, text_of

DType = Any

_FITS: dict[ColumnType, str] = {
    "integer": "whole numbers", "number": "numbers", "text": "text", "boolean": "true/false", "date": "dates",
}  # fmt: skip


def check_frame(frame: native.Frame, schema: Schema) -> native.Frame:
    """Check names and types, without touching rows; undetermined codes become null here."""
    found = dict(frame.collect_schema())
    problems = [*_missing_columns(found, schema), *_wrong_types(found, schema)]
    if problems:
        raise SchemaError(paragraphs("The data do not fit their schema:", problems))
    exprs = [
        _undetermined(column, codes, found[column]) for column, codes in schema.undetermined.items() if column in found
    ]
    return frame.with_columns(*exprs) if exprs else frame


def _missing_columns(found: dict[str, DType], schema: Schema) -> Iterable[str]:
    for column in dict.fromkeys(
        (*schema.declared, *schema.types, *schema.undetermined, *schema.not_applicable, *schema.scan)
    ):
        if column not in found:
            yield f"the column {column!r} is missing.{did_you_mean(column, found)} Columns: {', '.join(found)}"
    if schema.unlisted == "refuse":
        unknown = [c for c in found if c not in schema.declared]
        if unknown:
            yield (
                f"the schema does not know these columns: {listed(unknown)}; give each a role "
                '(role = "other" keeps it) or drop it'
            )


def _wrong_types(found: dict[str, DType], schema: Schema) -> Iterable[str]:
    for column, wanted in schema.types.items():
        if column in found and not _fits(found[column], wanted):
            yield f"the column {column!r} should hold {_FITS[wanted]}, but it is {found[column]}"
    if schema.weight in found and not found[schema.weight].is_numeric():
        yield (
            f"the weight {schema.weight!r} should hold numbers, but it is {found[schema.weight]}"
            ' (a CSV file with decimal commas is read with decimal = ",")'
        )


def _fits(dtype: DType, wanted: ColumnType) -> bool:
    if wanted == "integer":
        return bool(dtype.is_integer())
    if wanted == "number":
        return bool(dtype.is_numeric())
    if wanted == "boolean":
        return bool(dtype == nw.Boolean)
    if wanted == "date":
        return bool(dtype.is_temporal())
    return bool(dtype == nw.String)


def _undetermined(column: str, codes: Iterable[object], dtype: DType) -> nw.Expr:
    """Null in place of the codes."""
    held = codes_in(dtype, codes)
    if not held:
        return nw.col(column)
    return nw.when(~nw.col(column).is_in(held)).then(nw.col(column)).otherwise(None).alias(column)


def check_values(frame: native.Frame, schema: Schema, problems: Iterable[str] = ()) -> None:
    """Check dates, ids, and columns with declared modalities or a hierarchy; `problems` are known ones."""
    found = frame.collect_schema().names()
    outside = list(date_problems(frame))
    if outside:  # none of the others can be shown
        raise SchemaError(paragraphs("The data do not fit their schema:", outside))
    problems = [*id_problems(frame, schema), *problems]
    for column in (c for c in dict.fromkeys((*schema.modalities, *schema.hierarchies)) if c in found):
        values = native.collect(frame.select(column).unique())[column].drop_nulls().to_list()
        problems += _value_problems(column, values, schema)
    if problems:
        raise SchemaError(paragraphs("The data do not fit their schema:", problems))


def date_problems(frame: native.Frame) -> Iterable[str]:
    """Dates and moments outside the years 1 to 9999, which engines hold and no calendar, Python's included, does."""
    outside: dict[str, nw.Expr] = {}
    for name, dtype in frame.collect_schema().items():
        if dtype == nw.Date or isinstance(dtype, nw.Datetime):
            # far outside, engines have no year either
            is_known = nw.col(name).dt.year().is_between(1, 9999).fill_null(False)
            outside[name] = (~is_known & ~nw.col(name).is_null()).cast(nw.Int64).sum()
    if not outside:
        return
    found = native.collect(frame.select(**outside)).row(0, named=True)
    for name, n in found.items():
        if n:
            yield (
                f"the column {name!r} has {n:,} dates outside the years 1 to 9999; mend them, or read the column as "
                "text"
            )


def check_weight(frame: native.Frame, weight: str) -> tuple[float, list[str]]:
    """The smallest weight, and what is wrong with them: null, negative, infinite, more than there are people."""
    held = nw.col(weight).cast(nw.Float64)
    figures = [
        held.min().alias("lowest"),
        held.max().alias("highest"),
        held.sum().alias("total"),
        held.is_null().cast(nw.Int64).sum().alias("null"),
    ]
    row = native.collect(frame.select(*figures)).row(0, named=True)
    lowest, highest, total = (float(row[name] or 0.0) for name in ("lowest", "highest", "total"))
    problems = []
    if row["null"]:
        problems.append(f"the weight {weight!r} is null in {row['null']:,} records")
    for name, met, wrong in (("negative", lowest < 0, held < 0), ("infinite", highest == math.inf, held == math.inf)):
        if met:
            n = native.collect(frame.select(wrong.fill_null(False).cast(nw.Int64).sum().alias("n"))).item()
            problems.append(f"the weight {weight!r} is {name} in {n:,} records")
    if not problems and total >= MAX_WEIGHT:
        problems.append(f"the weight {weight!r} adds up to {total:,.0f}, more than there are people")
    return lowest, problems


def _value_problems(column: str, values: list[object], schema: Schema) -> Iterable[str]:
    """Values that the schema does not foresee: no modality, or not covered by the hierarchy."""
    codes = schema.not_applicable.get(column, ())
    if column in schema.modalities:
        declared = {text_of(v) for v in (*schema.modalities[column], *codes)}
        foreign = sorted({text_of(v) for v in values} - declared)
        if foreign:
            yield f"the column {column!r} holds values that are not among its declared modalities: {listed(foreign)}"
    if column in schema.hierarchies:
        try:
            schema.hierarchies[column].generalise(values, 1, keep=codes)
        except HierarchyError as error:
            yield f"the column {column!r}: {error}"
