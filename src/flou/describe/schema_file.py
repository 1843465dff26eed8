"""Schema files: TOML, one table a column.

flou = 2
[columns.age]
role = "key"
hierarchy = { bands = [5, 10] }
"""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import Any

from flou.describe.hierarchy import Hierarchy
from flou.describe.schema import FIELD_OF_ROLE, SINGLE, Schema
from flou.engine import toml
from flou.engine.errors import FlouError, SchemaError, did_you_mean, listed, paragraphs

#: Word in a column's table → field of `Schema` that holds it.
_WORDS = {
    "type": "types", "label": "labels", "not_applicable": "not_applicable", "undetermined": "undetermined",
    "modalities": "modalities", "values": "value_labels", "hierarchy": "hierarchies",
    "scan": "scan",
}  # fmt: skip
_SECTIONS = ("title", "columns", "incoherent", "unlisted", "rows_per_person")


def read_schema(path: str | PathLike[str]) -> Schema:
    """Read a schema file; hierarchies' files are relative to it."""
    table = toml.read(path, "schema")
    try:
        return _from_table(table, Path(path).parent)
    except FlouError as error:
        raise SchemaError(f"The schema {str(path)!r} is wrong. {error}") from None


def _from_table(table: dict[str, Any], folder: Path) -> Schema:
    columns = table.get("columns", {})
    if not isinstance(columns, dict) or not all(isinstance(c, dict) for c in columns.values()):
        raise SchemaError('Each column is described in a table: [columns.age] with role = "key", and so on.')
    problems = [f"unknown word {w!r}.{did_you_mean(w, _SECTIONS)}" for w in table if w not in _SECTIONS]
    fields: dict[str, Any] = {}
    for column, described in columns.items():
        for word, value in described.items():
            if word in _WORDS:
                fields.setdefault(_WORDS[word], {})[column] = value
            elif word != "role":
                problems.append(f"column {column!r}: unknown word {word!r}.{did_you_mean(word, ('role', *_WORDS))}")
        _add_roles(column, described.get("role", "other"), fields, problems)
    for name in SINGLE:
        if len(fields.get(name, ())) > 1:
            problems.append(f"only one column can be the {name}; given {listed(fields[name])}")
    for column, given in fields.get("hierarchies", {}).items():
        try:
            fields["hierarchies"][column] = Hierarchy.from_dict(given, folder)
        except FlouError as error:
            problems.append(f"column {column!r}: {error}")
    if problems:
        raise SchemaError(paragraphs("Problems:", problems))
    fields.update({n: fields[n][0] for n in SINGLE if n in fields})
    rest = {w: table[w] for w in ("title", "incoherent", "rows_per_person") if w in table}
    # what the file does not name was never looked at, so it is refused unless the file says otherwise
    return Schema(**fields, **rest, unlisted=table.get("unlisted", "refuse"))


def _add_roles(column: str, given: object, fields: dict[str, Any], problems: list[str]) -> None:
    roles = given if isinstance(given, list) else [given]
    for role in roles:
        if not isinstance(role, str) or role not in FIELD_OF_ROLE:
            problems.append(f"column {column!r}: unknown role {role!r}.{did_you_mean(str(role), FIELD_OF_ROLE)}")
        else:
            fields.setdefault(FIELD_OF_ROLE[role], []).append(column)


def write_schema(schema: Schema, path: str | PathLike[str], *, overwrite: bool) -> None:
    """Write a schema as a file that reads back equal."""
    columns: dict[str, dict[str, Any]] = {}
    for column in schema.declared:
        roles = [role for role, name in FIELD_OF_ROLE.items() if column in schema._columns_of(name)]
        columns[column] = {"role": roles[0] if len(roles) == 1 else roles}
        for word, name in _WORDS.items():
            value = getattr(schema, name).get(column)
            if value is not None:
                columns[column][word] = value.to_dict() if isinstance(value, Hierarchy) else _plain(value)
    table: dict[str, Any] = {"unlisted": schema.unlisted}
    if schema.title:
        table["title"] = dict(schema.title)
    if schema.rows_per_person == "several":
        table["rows_per_person"] = "several"
    table["columns"] = columns
    if schema.incoherent:
        table["incoherent"] = [dict(r) for r in schema.incoherent]
    toml.save(table, path, overwrite=overwrite)


def _plain(value: object) -> object:
    if isinstance(value, Mapping):
        return dict(value)
    return list(value) if isinstance(value, tuple) else value
