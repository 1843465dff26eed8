"""Schema: what each column is.

Roles: *identifiers* name a person directly and never leave; what is *not released* does not leave either;
*id* is the internal unit number that randomness hangs on; *keys* are the quasi-identifiers; *sensitive* is
what must not be learnt; *weight*, *household* and *strata* describe the survey; *others* may leave as they are.
A column may be key and stratum at once. What has no role was never looked at, and no policy releases it.
An id stands in one row unless `rows_per_person` says that a person may have several; then methods count persons,
or refuse.

Missing values are of two kinds (Saoud): `not_applicable` codes are categories of their own; null, and
the codes in `undetermined`, may stand for any valid value.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from functools import partial
from os import PathLike
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator, Field, InstanceOf, model_validator

from flou.describe.hierarchy import Hierarchy
from flou.engine.errors import FlouError, ParameterError, SchemaError, did_you_mean, listed, paragraphs
from flou.engine.parameters import DeclaredScalar, Names, Parameters, Scalar, as_tuple
from flou.engine.values import as_written_in, text_of

Role = Literal["identifier", "id", "key", "sensitive", "weight", "household", "stratum", "other", "not_released"]
ColumnType = Literal["integer", "number", "text", "boolean", "date"]


def _as_values(values: object) -> object:
    return values if isinstance(values, str) else as_tuple(values)


Values = Annotated[tuple[DeclaredScalar, ...], BeforeValidator(_as_values)]
Rule = Mapping[str, Scalar]


def _as_label(value: object) -> object:
    if isinstance(value, Mapping) and not set(value) <= {"en", "fr"}:
        raise ValueError(f"a label is a text, or one a language (en, fr); given {value!r}.")
    return {"en": value} if isinstance(value, str) else value


#: A text, or one a language.
Label = Annotated[dict[str, str], BeforeValidator(_as_label)]

#: Role in a schema file → field of `Schema`.
FIELD_OF_ROLE: dict[Role, str] = {
    "identifier": "identifiers", "id": "id", "key": "keys", "sensitive": "sensitive", "weight": "weight",
    "household": "household", "stratum": "strata", "other": "others",
    "not_released": "not_released",
}  # fmt: skip
#: Roles that one column at most can have, and those that many can.
SINGLE = ("id", "weight", "household")
MANY = ("identifiers", "not_released", "keys", "sensitive", "strata", "others")
#: Roles of columns that have no other role.
ALONE = ("identifiers", "not_released", *SINGLE)


class Schema(Parameters):
    """The roles and declared values of a file's columns. `Schema(keys=[…])` or `Schema.load(path)`."""

    failure: ClassVar[type[FlouError]] = SchemaError

    keys: Names = Field((), description="quasi-identifiers: what an intruder may know")
    sensitive: Names = Field((), description="what nobody should learn")
    identifiers: Names = Field((), description="columns that name a person; never published")
    id: str | None = Field(None, description="internal number of the unit; never published")
    weight: str | None = Field(None, description="sampling weight")
    household: str | None = Field(None, description="household number; never published")
    strata: Names = Field((), description="strata of the survey")
    others: Names = Field((), description="columns without a role that may be published")
    not_released: Names = Field((), description="columns that stay with the office, to measure or to protect by")
    types: dict[str, ColumnType] = Field({}, description="type of a column")
    not_applicable: dict[str, Values] = Field({}, description="codes that are categories of their own")
    undetermined: dict[str, Values] = Field({}, description="codes that mean null")
    modalities: dict[str, Values] = Field({}, description="the values a column can have")
    incoherent: tuple[dict[str, DeclaredScalar], ...] = Field((), description="combinations that cannot exist")
    hierarchies: dict[str, InstanceOf[Hierarchy]] = Field({}, description="how values are grouped")
    labels: dict[str, Label] = Field({}, description="label of a column, by language")
    value_labels: dict[str, dict[str, Label]] = Field({}, description="label of a value, by language")
    scan: dict[str, str] = Field({}, description="why a column that looks as if it named people may be released")
    title: Label = Field({}, description="what the file is, by language")
    unlisted: Literal["keep", "refuse"] = Field("keep", description="what to do with columns that are not named")
    rows_per_person: Literal["one", "several"] = Field(
        "one", description="whether each id stands in one row, or a person may have several"
    )

    @model_validator(mode="before")
    @classmethod
    def _lists(cls, values: Any) -> Any:
        if isinstance(values, dict) and isinstance(values.get("incoherent"), list):
            values = {**values, "incoherent": tuple(values["incoherent"])}
        return values

    @model_validator(mode="after")
    def _consistent(self) -> Schema:
        problems = [*self._role_problems(), *self._value_problems(), *self._rule_problems()]
        if problems:
            raise SchemaError(paragraphs("it contradicts itself:", problems))
        return self

    def _role_problems(self) -> Iterable[str]:
        for name in MANY:
            columns = getattr(self, name)
            doubled = sorted({c for c in columns if columns.count(c) > 1})
            if doubled:
                yield f"{name} lists {listed(doubled)} twice"
        for role in ALONE:
            for column in self._columns_of(role):
                others = [r for r in dict.fromkeys((*MANY, *SINGLE)) if r != role and column in self._columns_of(r)]
                if others:
                    yield f"{column!r} is {role} and also {', '.join(others)}: these roles stand alone"
        for column in self.keys:
            if column in self.sensitive:
                yield f"{column!r} is both key and sensitive: an intruder either knows it or wants to"

    def _columns_of(self, name: str) -> tuple[str, ...]:
        held = getattr(self, name)
        return () if held is None else (held,) if isinstance(held, str) else held

    def _value_problems(self) -> Iterable[str]:
        for column, codes in self.not_applicable.items():
            both = [c for c in codes if text_of(c) in {text_of(u) for u in self.undetermined.get(column, ())}]
            if both:
                yield f"{column!r}: {listed(both)} is declared both not applicable and undetermined"
        for column, values in self.modalities.items():
            texts = [text_of(v) for v in values]
            doubled = sorted(t for t, n in Counter(texts).items() if n > 1)
            if not values:
                yield f"{column!r}: the list of modalities is empty; leave it out to take the values that occur"
            if doubled:
                yield f"{column!r}: modalities list {listed(doubled)} twice"
            lost = [u for u in self.undetermined.get(column, ()) if text_of(u) in texts]
            if lost:
                yield f"{column!r}: {listed(lost)} is declared both a modality and undetermined"
        for column, reason in self.scan.items():
            if not reason.strip():
                yield f"{column!r}: scan gives no reason; say in words why the column may be released"
        for column in (*self.hierarchies, *self.modalities):
            if column not in self.declared:
                yield f"{column!r} has a hierarchy or modalities but no role"

    def _rule_problems(self) -> Iterable[str]:
        for rule in self.incoherent:
            if len(rule) < 2:
                yield f"the incoherent combination {rule!r} needs at least two columns"
            for column, value in rule.items():
                if column not in self.keys:
                    yield f"the incoherent combination {rule!r} names {column!r}, which is not a key"
                known = {text_of(v) for v in (*self.modalities.get(column, ()), *self.not_applicable.get(column, ()))}
                if column in self.modalities and text_of(value) not in known:
                    yield f"the incoherent combination {rule!r} has {column} = {value!r}, which is not a modality"

    @property
    def declared(self) -> tuple[str, ...]:
        """Every column that has a role here."""
        return tuple(dict.fromkeys(c for name in FIELD_OF_ROLE.values() for c in self._columns_of(name)))

    @property
    def person(self) -> str | None:
        """The column by which persons are counted, where they may have several rows."""
        return self.id if self.rows_per_person == "several" else None

    @property
    def declared_modalities(self) -> dict[str, tuple[Scalar, ...]]:
        """Declared modalities, not-applicable codes included: they are categories like any other."""
        out = {}
        for column, values in self.modalities.items():
            texts = {text_of(v) for v in values}
            out[column] = (*values, *(c for c in self.not_applicable.get(column, ()) if text_of(c) not in texts))
        return out

    @property
    def hidden(self) -> tuple[str, ...]:
        """Columns that are never published: direct identifiers, internal numbers and what is not released."""
        return (*self.identifiers, *self.not_released, *self._columns_of("id"), *self._columns_of("household"))

    def roles(self, column: str) -> tuple[Role, ...]:
        """The roles of a column; none for the rest."""
        return tuple(r for r, name in FIELD_OF_ROLE.items() if r != "other" and column in self._columns_of(name))

    def label(self, column: str, language: str = "en") -> str:
        """The column's label in a language, or its name."""
        found = self.labels.get(column, {})
        return found.get(language) or found.get("en") or column

    def value_label(self, column: str, value: object, language: str = "en") -> str:
        """The label of a value in a language, or the value itself."""
        found = self.value_labels.get(column, {}).get(text_of(value), {})
        return found.get(language) or found.get("en") or text_of(value)

    def with_changes(self, **changes: Any) -> Schema:
        """A schema that differs in some fields, checked again."""
        return Schema(**{**{name: getattr(self, name) for name in Schema.model_fields}, **changes})

    def fitted(self, types: Mapping[str, Any]) -> Schema:
        """The schema of a file with columns of these types: moments are declared by the texts that the file's have."""
        told = [c for c, t in types.items() if t.is_temporal()]
        changes: dict[str, Any] = {}
        for name in ("not_applicable", "undetermined", "modalities"):
            held = getattr(self, name)
            changes[name] = {c: tuple(as_written_in(types.get(c), v) for v in values) for c, values in held.items()}
        changes["value_labels"] = {
            c: {as_written_in(types.get(c), text): label for text, label in held.items()}
            for c, held in self.value_labels.items()
        }
        changes["incoherent"] = tuple(
            {c: as_written_in(types.get(c), v) for c, v in r.items()} for r in self.incoherent
        )
        changes["hierarchies"] = {
            c: h.with_values(partial(as_written_in, types[c])) if c in told else h for c, h in self.hierarchies.items()
        }
        return self.with_changes(**changes) if told else self

    def without(self, columns: Iterable[str]) -> Schema:
        """The schema of a file from which columns were dropped."""
        gone = set(columns)
        kept: dict[str, Any] = {"incoherent": tuple(r for r in self.incoherent if not gone & set(r))}
        for name in (*MANY, *SINGLE):
            left = tuple(c for c in self._columns_of(name) if c not in gone)
            kept[name] = (left[0] if left else None) if name in SINGLE else left
        for name in ("types", "not_applicable", "undetermined", "modalities", "hierarchies", "labels", "value_labels",
                     "scan"):  # fmt: skip
            kept[name] = {k: v for k, v in getattr(self, name).items() if k not in gone}
        return self.with_changes(**kept)

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Schema:
        """Read a schema file (TOML); every problem is listed at once."""
        from flou.describe.schema_file import read_schema

        return read_schema(path)

    def save(self, path: str | PathLike[str], *, overwrite: bool = False) -> None:
        """Write the schema as a TOML file; an existing one is not overwritten unless asked."""
        from flou.describe.schema_file import write_schema

        write_schema(self, path, overwrite=overwrite)


def given_schema(schema: object, roles: Mapping[str, Any]) -> Schema:
    """The schema that a user gave, whole or as roles by name."""
    if schema is None:
        known = list(Schema.model_fields)
        for name in roles:
            if name not in known:
                raise ParameterError(f"Microdata has no role {name!r}.{did_you_mean(name, known)}")
        return Schema(**roles)
    if roles:
        raise ParameterError("Give either schema= or roles by name, not both.")
    if not isinstance(schema, Schema):
        raise ParameterError(
            f"schema= takes a flou.Schema, not {type(schema).__name__}; read one with flou.Schema.load."
        )
    return schema
