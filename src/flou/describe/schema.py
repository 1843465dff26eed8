"""Schema: what each column is.

Roles: *identifiers* name a person directly and never leave; *id* is the internal unit number that
randomness hangs on; *keys* are the quasi-identifiers; *sensitive* is what must not be learnt;
*weight*, *household* and *strata* describe the survey. A column may be key and stratum at once.

Missing values are of two kinds (Saoud 2023): `not_applicable` codes are categories of their own;
null, and the codes in `undetermined`, may stand for any valid value.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from os import PathLike
from pathlib import Path
from typing import Any, Literal

from flou.describe.hierarchy import Hierarchy
from flou.engine import toml
from flou.engine.errors import FlouError, SchemaError, did_you_mean, listed, paragraphs
from flou.engine.parameters import Scalar
from flou.engine.values import text_of

Role = Literal["identifier", "id", "key", "sensitive", "weight", "household", "stratum", "other"]
ColumnType = Literal["integer", "number", "text", "boolean", "date"]
Label = Mapping[str, str]
Rule = Mapping[str, Scalar]

#: Role in a schema file → field of `Schema`.
_FIELD: dict[str, str] = {
    "identifier": "identifiers", "id": "id", "key": "keys", "sensitive": "sensitive", "weight": "weight",
    "household": "household", "stratum": "strata", "other": "others",
}  # fmt: skip
_COLUMN_WORDS = (
    "role",
    "type",
    "label",
    "not_applicable",
    "undetermined",
    "modalities",
    "hierarchy",
    "values",
)
_SIMPLE = (bool, int, float, str, dt.date)
_SINGLE = ("id", "weight", "household")
_TYPES = ("integer", "number", "text", "boolean", "date")


@dataclass(frozen=True, kw_only=True)
class Schema:
    """The roles and declared values of a file's columns. `Schema(keys=[…])` or `Schema.load(path)`."""

    title: Label = field(default_factory=dict)
    identifiers: Sequence[str] = ()
    id: str | None = None
    keys: Sequence[str] = ()
    sensitive: Sequence[str] = ()
    weight: str | None = None
    household: str | None = None
    strata: Sequence[str] = ()
    others: Sequence[str] = ()
    types: Mapping[str, ColumnType] = field(default_factory=dict)
    not_applicable: Mapping[str, Sequence[Scalar]] = field(default_factory=dict)
    undetermined: Mapping[str, Sequence[Scalar]] = field(default_factory=dict)
    labels: Mapping[str, Label] = field(default_factory=dict)
    value_labels: Mapping[str, Mapping[str, Label]] = field(default_factory=dict)
    hierarchies: Mapping[str, Hierarchy] = field(default_factory=dict)
    modalities: Mapping[str, Sequence[Scalar]] = field(default_factory=dict)
    incoherent: Sequence[Rule] = ()
    #: What to do with columns that are not named here: a schema file refuses them.
    unlisted: Literal["keep", "refuse"] = "keep"

    def __post_init__(self) -> None:
        for name in ("identifiers", "keys", "sensitive", "strata", "others"):
            object.__setattr__(self, name, _names(name, getattr(self, name)))
        problems = [*self._role_problems(), *self._value_problems()]
        if problems:
            raise SchemaError(paragraphs("The schema contradicts itself:", problems))

    def _role_problems(self) -> Iterable[str]:
        for name in ("keys", "sensitive", "identifiers", "strata", "others"):
            columns = getattr(self, name)
            doubled = sorted({c for c in columns if columns.count(c) > 1})
            if doubled:
                yield f"{name} lists {listed(doubled)} twice"
        alone = {
            "identifiers": self.identifiers,
            "id": (self.id,),
            "weight": (self.weight,),
            "household": (self.household,),
        }
        for role, columns in alone.items():
            for column in columns:
                others = [r for r in self._roles_of(column) if r != role] if column else []
                if others:
                    yield f"{column!r} is {role} and also {', '.join(others)}: these roles stand alone"
        for column in self.keys:
            if column in self.sensitive:
                yield f"{column!r} is both key and sensitive: an intruder either knows it or wants to"

    def _roles_of(self, column: str) -> list[str]:
        many = [n for n in ("identifiers", "keys", "sensitive", "strata", "others") if column in getattr(self, n)]
        return many + [n for n in _SINGLE if getattr(self, n) == column]

    def _value_problems(self) -> Iterable[str]:
        for column, kind in self.types.items():
            if kind not in _TYPES:
                yield f"{column!r} has type {kind!r}; known: {', '.join(_TYPES)}"
        for column, codes in self.not_applicable.items():
            both = [c for c in codes if text_of(c) in {text_of(u) for u in self.undetermined.get(column, ())}]
            if both:
                yield f"{column!r}: {listed(both)} is declared both not applicable and undetermined"
        for word in ("modalities", "not_applicable", "undetermined"):
            for column, values in getattr(self, word).items():
                if isinstance(values, str) or not all(isinstance(v, _SIMPLE) for v in values):
                    yield f"{column!r}: {word} is a list of simple values, without null; given {values!r}"
        for column, values in self.modalities.items():
            texts = [text_of(v) for v in values]
            doubled = sorted({t for t in texts if texts.count(t) > 1})
            if doubled:
                yield f"{column!r}: modalities list {listed(doubled)} twice"
            lost = [u for u in self.undetermined.get(column, ()) if text_of(u) in texts]
            if lost:
                yield f"{column!r}: {listed(lost)} is declared both a modality and undetermined"
        for rule in self.incoherent:
            if not isinstance(rule, Mapping) or len(rule) < 2:
                yield f"the incoherent combination {rule!r} needs at least two columns"
                continue
            if not all(isinstance(v, _SIMPLE) for v in rule.values()):
                yield f"the incoherent combination {dict(rule)!r} must name a value for each column, never null"
            for column in rule:
                if column not in self.keys:
                    yield f"the incoherent combination {dict(rule)!r} names {column!r}, which is not a key"
            yield from self._rule_value_problems(rule)
        for column in (*self.hierarchies, *self.modalities):
            if column not in self.declared:
                yield f"{column!r} has a hierarchy or modalities but no role"

    def _rule_value_problems(self, rule: Rule) -> Iterable[str]:
        for column, value in rule.items():
            declared = {text_of(v) for v in (*self.modalities.get(column, ()), *self.not_applicable.get(column, ()))}
            if column in self.modalities and text_of(value) not in declared:
                yield f"the incoherent combination {dict(rule)!r} has {column} = {value!r}, which is not a modality"

    @property
    def declared(self) -> tuple[str, ...]:
        """Every column that has a role here."""
        single = [c for c in (self.id, self.weight, self.household) if c is not None]
        names = [*self.identifiers, *single, *self.keys, *self.sensitive, *self.strata, *self.others]
        return tuple(dict.fromkeys(names))

    @property
    def hidden(self) -> tuple[str, ...]:
        """Columns that never appear in what is published: direct identifiers and internal numbers."""
        single = [c for c in (self.id, self.household) if c is not None]
        return (*self.identifiers, *single)

    def role(self, column: str) -> Role:
        """The first role of a column, for lists and reports."""
        for role, name in _FIELD.items():
            held = getattr(self, name)
            if column == held or (not isinstance(held, str | None) and column in held):
                return role  # type: ignore[return-value]
        return "other"

    def label(self, column: str, language: str = "en") -> str:
        """The column's label in a language, or its name."""
        found = self.labels.get(column, {})
        return found.get(language) or found.get("en") or column

    def with_changes(self, **changes: Any) -> Schema:
        return replace(self, **changes)

    def without(self, columns: Iterable[str]) -> Schema:
        """The schema of a file from which columns were dropped."""
        gone = set(columns)
        kept: dict[str, Any] = {}
        for f in fields(self):
            value = getattr(self, f.name)
            if f.name in ("title", "unlisted"):
                continue
            if f.name == "incoherent":
                kept[f.name] = tuple(r for r in value if not gone & set(r))
            elif isinstance(value, Mapping):
                kept[f.name] = {k: v for k, v in value.items() if k not in gone}
            elif isinstance(value, str):
                kept[f.name] = None if value in gone else value
            elif value is not None:
                kept[f.name] = tuple(v for v in value if v not in gone)
        return replace(self, **kept)

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Schema:
        """Read a schema file (TOML); every problem is listed at once."""
        return cls.from_table(toml.read(path, "schema"), Path(path).parent)

    @classmethod
    def from_table(cls, table: Mapping[str, Any], folder: Path = Path()) -> Schema:
        """From the parsed TOML of a schema file; hierarchies' files are relative to `folder`."""
        problems: list[str] = [
            f"unknown word {word!r}.{did_you_mean(word, ('title', 'columns', 'incoherent', 'unlisted'))}"
            for word in table
            if word not in ("title", "columns", "incoherent", "unlisted")
        ]
        columns = table.get("columns", {})
        if not isinstance(columns, dict) or not all(isinstance(c, dict) for c in columns.values()):
            raise SchemaError(
                'A schema file describes each column in a table: [columns.age] with role = "key", and so on.'
            )
        roles: dict[str, Any] = {}
        declared: dict[str, dict[str, Any]] = {w: {} for w in _COLUMN_WORDS}
        for column, described in columns.items():
            problems += [
                f"column {column!r}: unknown word {w!r}.{did_you_mean(w, _COLUMN_WORDS)}"
                for w in described
                if w not in _COLUMN_WORDS
            ]
            for word in (w for w in _COLUMN_WORDS if w in described):
                declared[word][column] = described[word]
            given = described.get("role", "other")
            for role in [given] if isinstance(given, str) else given:
                if role not in _FIELD:
                    problems.append(f"column {column!r}: unknown role {role!r}.{did_you_mean(str(role), _FIELD)}")
                else:
                    roles.setdefault(_FIELD[role], []).append(column)
        for name in _SINGLE:
            if len(roles.get(name, [])) > 1:
                problems.append(f"only one column can be the {name}; given {listed(roles[name])}")
        hierarchies = {}
        for column, given in declared["hierarchy"].items():
            try:
                hierarchies[column] = Hierarchy.from_dict(given, folder)
            except FlouError as error:
                problems.append(f"column {column!r}: {error}")
        if problems:
            raise SchemaError(paragraphs("The schema file is wrong:", problems))
        singles: dict[str, Any] = {n: roles[n][0] for n in _SINGLE if n in roles}
        return cls(
            title=_label(table.get("title", {})),
            **singles,
            **{n: c for n, c in roles.items() if n not in _SINGLE},
            types=declared["type"],
            not_applicable={c: _list(v) for c, v in declared["not_applicable"].items()},
            undetermined={c: _list(v) for c, v in declared["undetermined"].items()},
            labels={c: _label(v) for c, v in declared["label"].items()},
            value_labels={c: {t: _label(x) for t, x in v.items()} for c, v in declared["values"].items()},
            hierarchies=hierarchies,
            modalities={c: _list(v) for c, v in declared["modalities"].items()},
            incoherent=tuple(table.get("incoherent", ())),
            unlisted=table.get("unlisted", "refuse"),
        )

    def to_table(self) -> dict[str, Any]:
        """The schema as its TOML file holds it."""
        columns: dict[str, dict[str, Any]] = {}
        for column in self.declared:
            roles = [r for r, n in _FIELD.items() if column in (getattr(self, n) or ()) and n not in _SINGLE]
            roles += [n for n in _SINGLE if getattr(self, n) == column]
            entry: dict[str, Any] = {"role": roles[0] if len(roles) == 1 else roles}
            for word, held in (("type", self.types), ("label", self.labels), ("not_applicable", self.not_applicable),
                               ("undetermined", self.undetermined), ("modalities", self.modalities),
                               ("values", self.value_labels)):  # fmt: skip
                if column in held:
                    value = held[column]
                    entry[word] = (
                        dict(value)
                        if isinstance(value, Mapping)
                        else list(value)
                        if not isinstance(value, str)
                        else value
                    )
            if column in self.hierarchies:
                entry["hierarchy"] = self.hierarchies[column].to_dict()
            columns[column] = entry
        out: dict[str, Any] = {"unlisted": self.unlisted}
        if self.title:
            out["title"] = dict(self.title)
        out["columns"] = columns
        if self.incoherent:
            out["incoherent"] = [dict(r) for r in self.incoherent]
        return out

    def save(self, path: str | PathLike[str]) -> None:
        """Write the schema as a TOML file."""
        Path(path).write_text(toml.write(self.to_table()), encoding="utf-8")


def _names(role: str, value: object) -> tuple[str, ...]:
    if isinstance(value, str):
        return (value,)
    if isinstance(value, Sequence) and all(isinstance(v, str) for v in value):
        return tuple(value)
    raise SchemaError(f"{role} must be a list of column names; given {value!r}.")


def _label(value: object) -> dict[str, str]:
    if isinstance(value, str):
        return {"en": value}
    if isinstance(value, Mapping) and all(isinstance(v, str) for v in value.values()):
        return dict(value)
    raise SchemaError(f'A label is a text, or one a language: {{ en = "…", fr = "…" }}; given {value!r}.')


def _list(value: object) -> tuple[Scalar, ...]:
    return tuple(value) if isinstance(value, list | tuple) else (value,)  # type: ignore[return-value]
