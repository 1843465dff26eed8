"""What every parameter object has in common: frozen, strict, no unknown names, readable errors.

Methods, schemas and policies are declared once as pydantic models; the plan file, its JSON Schema
and the command line are made from the declaration.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, TypeVar

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainSerializer,
    ValidationError,
    WithJsonSchema,
)
from pydantic_core import ErrorDetails

from flou.engine.errors import FlouError, ParameterError, did_you_mean
from flou.engine.values import text_of

#: One value of a categorical variable, as TOML and JSON can write it.
Scalar = bool | int | float | str


def _as_tuple(value: object) -> object:
    if isinstance(value, str):
        return (value,)
    if isinstance(value, list | set | frozenset):
        return tuple(value)
    return value


def _items(value: object) -> object:
    """Keys as text, the only kind that a TOML table has; values are matched by their text."""
    return tuple((text_of(k), v) for k, v in value.items()) if isinstance(value, Mapping) else value


def _plain_dict(value: tuple[tuple[Any, Any], ...]) -> dict[Any, Any]:
    return dict(value)


#: One or several column names; a single string is one name.
Columns = Annotated[tuple[str, ...], BeforeValidator(_as_tuple), Field(min_length=1)]

#: A share of something, in [0, 1].
Share = Annotated[float, Field(ge=0.0, le=1.0)]

#: Scalars, in order.
Scalars = Annotated[tuple[Scalar, ...], BeforeValidator(_as_tuple)]

#: A mapping of scalars, stored as a tuple of pairs so that methods stay hashable.
Pairs = Annotated[
    tuple[tuple[str, Scalar], ...],
    BeforeValidator(_items),
    PlainSerializer(_plain_dict),
    WithJsonSchema({"type": "object"}),
]

Self = TypeVar("Self", bound="Parameters")


class Parameters(BaseModel):
    """A frozen set of named parameters, checked when it is made."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, arbitrary_types_allowed=True)

    def __init__(self, *args: object, **kwargs: object) -> None:
        cls = type(self)
        names = list(cls.model_fields)
        if len(args) > 1 or (args and not names):
            raise ParameterError(
                f"{cls.__name__} takes one positional argument at most; name the others: {', '.join(names)}."
            )
        if args:
            if names[0] in kwargs:
                raise ParameterError(f"{cls.__name__}: {names[0]!r} is given twice.")
            kwargs[names[0]] = args[0]
        try:
            super().__init__(**kwargs)
        except ValidationError as error:
            raise ParameterError(explain(cls, error)) from None

    def shown_settings(self) -> dict[str, Any]:
        """The parameters as plain values, secret ones masked."""
        plain = self.model_dump(mode="python", exclude_none=True)
        for name, field in type(self).model_fields.items():
            extra = field.json_schema_extra
            if name in plain and isinstance(extra, dict) and extra.get("secret"):
                plain[name] = "hidden"
        return plain

    def __repr_args__(self) -> list[tuple[str | None, Any]]:
        """Only what differs from the default, so that a repr can be read; secret parameters never."""
        shown, fields = self.shown_settings(), type(self).model_fields
        changed = [n for n in shown if getattr(self, n) != fields[n].default]
        return [(n, shown[n] if shown[n] == "hidden" else getattr(self, n)) for n in changed]


def explain(cls: type[Parameters], error: ValidationError) -> str:
    """pydantic's complaints as one readable paragraph about `cls`."""
    return f"{cls.__name__}: " + " ".join(_explain_one(cls, detail) for detail in _distinct(error))


def _distinct(error: ValidationError) -> list[ErrorDetails]:
    """One complaint a parameter: a union reports each of its members, and the first says enough."""
    seen: dict[object, ErrorDetails] = {}
    for detail in error.errors():
        seen.setdefault(detail["loc"][:1], detail)
    return list(seen.values())


def _explain_one(cls: type[Parameters], detail: ErrorDetails) -> str:
    location = ".".join(str(part) for part in detail["loc"][:1]) or "parameters"
    kind, given = detail["type"], detail["input"]
    if kind == "extra_forbidden":
        return f"no parameter {location!r}.{did_you_mean(location, cls.model_fields)}"
    if kind == "missing":
        return f"the parameter {location!r} is required{_described(cls, location)}."
    cause = detail.get("ctx", {}).get("error")
    if isinstance(cause, FlouError | ValueError):
        return str(cause)
    wanted = detail["msg"].removeprefix("Input should be ").rstrip(".")
    return f"{location} = {given!r} is not allowed: it should be {wanted}{_described(cls, location)}."


def _described(cls: type[Parameters], name: str) -> str:
    field = cls.model_fields.get(name)
    return f" ({field.description})" if field is not None and field.description else ""
