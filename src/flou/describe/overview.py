"""What a file is, in figures: one line a column, and the size of its key space."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Literal

import narwhals as nw
import polars as pl

from flou.describe.identifying.scan import scan
from flou.describe.keyspace import KeySpace
from flou.describe.microdata import Microdata
from flou.describe.public_schema import told_schema
from flou.describe.schema import ColumnType, Role, Schema
from flou.describe.spellings import spelling_notes
from flou.engine import native
from flou.engine.note import Note
from flou.engine.values import codes_in, text_of


@dataclass(frozen=True)
class LabelledValue:
    """A value that has a label, and what it means when it stands for no value."""

    value: str
    label: str
    missing: Literal["", "not applicable", "undetermined"] = ""


@dataclass(frozen=True)
class ColumnOverview:
    """One column: its role, type, and how its values are filled."""

    name: str
    roles: tuple[Role, ...]
    type: ColumnType
    n_distinct: int
    n_undetermined: int
    n_not_applicable: int
    label: str = ""
    values: tuple[LabelledValue, ...] = ()


@dataclass(frozen=True, repr=False)
class Overview:
    """A file's size, columns and keys."""

    n_records: int
    columns: tuple[ColumnOverview, ...]
    n_keys: int | None = None
    n_complete_keys: int | None = None
    n_possible_keys: int | None = None
    #: What the office should look at, with values of the file: for internal eyes.
    remarks: tuple[Note, ...] = ()

    def to_frame(self) -> pl.DataFrame:
        """One line a column."""
        rows = [asdict(c) | {"roles": ", ".join(c.roles)} for c in self.columns]
        return pl.DataFrame(rows).drop("values")

    def __repr__(self) -> str:
        width = max((len(c.name) for c in self.columns), default=0)
        lines = [f"{self.n_records:,} records, {len(self.columns)} columns"]
        for c in self.columns:
            role = ", ".join(c.roles)
            counts = f"{c.n_distinct:>9,} distinct {c.n_undetermined:>9,} undetermined"
            lines.append(f"  {c.name:{width}}  {role:12} {c.type:8} {counts}")
        if self.n_keys is not None:
            lines.append(
                f"{self.n_keys:,} distinct keys, {self.n_complete_keys:,} of them complete; "
                f"{self.n_possible_keys:,} complete ones are possible"
            )
        lines += [f"Look at this: {remark}" for remark in self.remarks]
        return "\n".join(lines)


def overview(data: Microdata) -> Overview:
    """Describe a file in two passes: one over its columns, one over its keys."""
    schema, told = data.frame.collect_schema(), told_schema(data)
    exprs: list[nw.Expr] = [nw.len().alias("n")]
    for i, name in enumerate(data.columns):
        exprs += [
            nw.col(name).is_null().cast(nw.Int64).sum().alias(f"null {i}"),
            nw.col(name).n_unique().alias(f"distinct {i}"),
        ]
        codes = codes_in(schema[name], told.not_applicable.get(name, ()))
        if codes:
            exprs.append(nw.col(name).is_in(codes).cast(nw.Int64).sum().alias(f"not applicable {i}"))
    row = native.collect(data.frame.select(*exprs)).row(0, named=True)
    columns = tuple(
        ColumnOverview(
            name=name,
            roles=told.roles(name),
            type=type_name(schema[name]),
            n_distinct=int(row[f"distinct {i}"]) - (1 if row[f"null {i}"] else 0),
            n_undetermined=int(row[f"null {i}"]),
            n_not_applicable=int(row.get(f"not applicable {i}") or 0),
            label=told.label(name) if name in told.labels else "",
            values=labelled_values(told, name),
        )
        for i, name in enumerate(data.columns)
    )
    keys, remarks = tuple(told.keys), spelling_notes(data) if row["n"] else ()
    if not keys or not row["n"]:
        return Overview(int(row["n"]), columns, remarks=remarks)
    table = data.key_table(keys)
    space = KeySpace(table, keys, (), told.declared_modalities, told.incoherent)
    complete = table.frame.drop_nulls().height
    return Overview(int(row["n"]), columns, table.n_keys, complete, space.n_possible(), remarks)


def labelled_values(schema: Schema, column: str) -> tuple[LabelledValue, ...]:
    """The values of a column that have a label or stand for no value."""
    absent: dict[str, Literal["not applicable", "undetermined"]] = {
        **{text_of(c): "not applicable" for c in schema.not_applicable.get(column, ())},
        **{text_of(c): "undetermined" for c in schema.undetermined.get(column, ())},
    }
    texts = dict.fromkeys((*schema.value_labels.get(column, {}), *absent))
    return tuple(LabelledValue(t, schema.value_label(column, t), absent.get(t, "")) for t in texts)


def type_name(dtype: nw.dtypes.DType) -> ColumnType:
    """The type of a column in the words of a schema file."""
    if dtype.is_integer():
        return "integer"
    if dtype.is_numeric():
        return "number"
    if dtype == nw.Boolean:
        return "boolean"
    if dtype.is_temporal():
        return "date"
    return "text"


def draft_schema(data: Microdata) -> Schema:
    """A schema to start from: what is declared so far, and every column with its type.

    A column that looks as if it named people is an identifier until somebody says otherwise.
    """
    types = {name: type_name(dtype) for name, dtype in data.frame.collect_schema().items() if name in data.columns}
    rest = [c for c in data.columns if c not in data.schema.declared]
    naming = {f.column for f in scan(data)} & set(rest)
    return data.schema.with_changes(
        types=types,
        identifiers=(*data.schema.identifiers, *(c for c in rest if c in naming)),
        others=(*data.schema.others, *(c for c in rest if c not in naming)),
        unlisted="refuse",
    )
