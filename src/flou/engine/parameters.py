"""What every parameter object has in common: frozen, strict, no unknown names, readable errors.

Methods, schemas and policies are declared once as pydantic models; the plan file, its JSON Schema
and the command line are made from the declaration.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from decimal import Decimal
from typing import Annotated, Any, ClassVar

from pydantic import (
    AfterValidator,
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
from flou.engine.parsing import Unparsable, require_plain
from flou.engine.values import plain_scalar, text_of

#: What is shown in the place of a parameter that is not told.
HIDDEN = "hidden"

#: One value of a variable as a plan or schema can write it; null never is one.
Scalar = bool | int | float | str | dt.date

#: The same where it says what a column can hold: moments, spans of time and long decimals by their texts.
DeclaredScalar = Annotated[Scalar, BeforeValidator(plain_scalar)]


def as_tuple(value: object) -> object:
    """A list, a range of whole numbers, or a single name, as a tuple; anything else is left for the type to refuse."""
    if isinstance(value, str):
        return (value,)
    return tuple(value) if isinstance(value, list | range) else value


def _items(value: object) -> object:
    """Keys as text, the only kind that a TOML table has; values are matched by their text."""
    if not isinstance(value, Mapping | tuple):
        raise ValueError(f"{value!r} should be a table of names and values, such as {{age = 2}}.")
    if not isinstance(value, Mapping):
        return value  # pairs that were checked before
    wrong = [k for k in value if not isinstance(k, Scalar | dt.time | dt.timedelta | Decimal)]
    texts = [text_of(k) for k in value]
    if wrong or len(set(texts)) < len(texts) or not texts:
        raise ValueError(f"a mapping names each value once, and at least one, never null; given {dict(value)!r}.")
    return tuple(zip(texts, value.values(), strict=True))


def _fits_64_bits(value: Any) -> Any:
    if isinstance(value, int | float) and not isinstance(value, bool) and abs(value) >= 2**63:
        raise ValueError(f"{value!r} is too large a number: 64 bits hold less than 9.2e18.")
    return value


def _number_in_full(value: Any) -> Any:
    """A decimal as the number that it is; one of more digits would be another number."""
    number = plain_scalar(value) if isinstance(value, Decimal) else value
    if isinstance(value, Decimal) and isinstance(number, str):
        raise ValueError(f"{number} has more digits than a number has (15): give it as a text, or round it first.")
    return number


def _plain_dict(value: tuple[tuple[Any, Any], ...]) -> dict[Any, Any]:
    return dict(value)


def _distinct(names: tuple[str, ...]) -> tuple[str, ...]:
    if len(set(names)) < len(names):
        raise ValueError(f"a column is named twice: {', '.join(names)}.")
    return names


#: Column names, perhaps none; a single string is one name.
Names = Annotated[tuple[str, ...], BeforeValidator(as_tuple)]

#: One or several column names.
Columns = Annotated[Names, Field(min_length=1), AfterValidator(_distinct)]

#: A finite number.
Number = Annotated[int | float, AfterValidator(_fits_64_bits)]

#: A share of something, in [0, 1].
Share = Annotated[float, Field(ge=0.0, le=1.0)]

#: A mapping of scalars, stored as a tuple of pairs so that methods stay hashable.
Pairs = Annotated[
    tuple[tuple[str, Annotated[Scalar, BeforeValidator(_number_in_full), AfterValidator(_fits_64_bits)]], ...],
    BeforeValidator(_items),
    PlainSerializer(_plain_dict),
    WithJsonSchema({"type": "object"}),
]

#: Combinations of values, each a mapping of scalars.
Combinations = Annotated[tuple[Pairs, ...], BeforeValidator(as_tuple)]

#: Numbers by name, stored as a tuple of pairs.
Numbers = Annotated[
    tuple[tuple[str, Number], ...],
    BeforeValidator(_items),
    PlainSerializer(_plain_dict),
    WithJsonSchema({"type": "object", "additionalProperties": {"type": "number"}}),
]


def _none_negative(pairs: tuple[tuple[str, Any], ...]) -> tuple[tuple[str, Any], ...]:
    wrong = [f"{name} = {by}" for name, by in pairs if not by >= 0]
    if wrong:
        raise ValueError(f"{', '.join(wrong)} is negative; give 0 or more.")
    return pairs


#: How far numbers may differ, by column.
Tolerance = Annotated[Numbers, AfterValidator(_none_negative)]


def _listed_values(value: object) -> object:
    pairs = _items(value)
    return tuple((name, as_tuple(held)) for name, held in pairs) if isinstance(pairs, tuple) else pairs


def _each_once(value: tuple[tuple[str, tuple[Any, ...]], ...]) -> tuple[tuple[str, tuple[Any, ...]], ...]:
    for name, held in value:
        if not held or len({text_of(v) for v in held}) < len(held):
            raise ValueError(f"a list names each value once, and at least one; {name!r} has {list(held)!r}.")
    return value


def _plain_lists(value: tuple[tuple[str, tuple[Any, ...]], ...]) -> dict[str, list[Any]]:
    return {name: list(held) for name, held in value}


#: For each of some columns a list of values, stored as a tuple of pairs.
Lists = Annotated[
    tuple[tuple[str, tuple[DeclaredScalar, ...]], ...],
    BeforeValidator(_listed_values),
    AfterValidator(_each_once),
    PlainSerializer(_plain_lists),
    WithJsonSchema({"type": "object", "additionalProperties": {"type": "array"}}),
]


def _plain_tables(value: tuple[tuple[str, tuple[tuple[str, Any], ...]], ...]) -> dict[str, dict[str, Any]]:
    return {name: dict(pairs) for name, pairs in value}


#: For each of some columns, a number by category.
NumbersByColumn = Annotated[
    tuple[tuple[str, Numbers], ...],
    BeforeValidator(_items),
    PlainSerializer(_plain_tables),
    WithJsonSchema(
        {"type": "object", "additionalProperties": {"type": "object", "additionalProperties": {"type": "number"}}}
    ),
]


class Parameters(BaseModel):
    """A frozen set of named parameters, checked when it is made."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", strict=True, arbitrary_types_allowed=True, allow_inf_nan=False
    )
    #: What a wrong parameter raises.
    failure: ClassVar[type[FlouError]] = ParameterError

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
        for name, given in kwargs.items():
            try:
                require_plain(given)
            except Unparsable as error:
                raise cls.failure(f"{cls.__name__}: {name} is not allowed: {error}.") from None
        try:
            super().__init__(**kwargs)
        except ValidationError as error:
            raise cls.failure(explain(cls, error, kwargs)) from None

    def shown_settings(self) -> dict[str, Any]:
        """The parameters as plain values; secret ones masked, also those of a method inside this one."""
        plain = self.model_dump(mode="python", exclude_none=True)
        for name in plain:
            held = getattr(self, name)
            if is_secret(type(self), name):
                plain[name] = HIDDEN
            else:
                plain[name] = _shown(held, plain[name])
        return plain

    def __str__(self) -> str:
        return repr(self)

    def __repr_args__(self) -> list[tuple[str | None, Any]]:
        """Only what differs from the default, so that a repr can be read; secret parameters never.

        That those are there is always said: one left out would tell that it has its default.
        """
        shown, fields = self.shown_settings(), type(self).model_fields
        changed = [n for n in shown if getattr(self, n) != fields[n].default or is_secret(type(self), n)]
        return [(n, shown[n] if shown[n] == HIDDEN else getattr(self, n)) for n in changed]


def _shown(held: Any, plain: Any) -> Any:
    """A parameter as it is shown, with what is secret in the methods that it holds masked."""
    if isinstance(held, Parameters) and isinstance(plain, dict):
        inner = held.shown_settings()
        return {k: inner.get(k, v) for k, v in plain.items()}
    if isinstance(held, tuple) and isinstance(plain, list | tuple) and len(held) == len(plain):
        return type(plain)(_shown(h, p) for h, p in zip(held, plain, strict=True))
    return plain


def is_secret(cls: type[Parameters], name: str) -> bool:
    """Whether a parameter is never shown: swap rates, sampling designs."""
    return _is_marked(cls, name, "secret")


def is_internal(cls: type[Parameters], name: str) -> bool:
    """Whether a parameter is shown inside the office and not to the public."""
    return _is_marked(cls, name, "internal")


def _is_marked(cls: type[Parameters], name: str, mark: str) -> bool:
    field = cls.model_fields.get(name)
    extra = field.json_schema_extra if field is not None else None
    return isinstance(extra, dict) and bool(extra.get(mark))


def explain(cls: type[Parameters], error: ValidationError, given: dict[str, Any]) -> str:
    """pydantic's complaints as one readable paragraph about `cls`, one sentence a parameter."""
    by_parameter: dict[object, list[ErrorDetails]] = {}
    for detail in error.errors():
        by_parameter.setdefault(detail["loc"][:1], []).append(detail)
    return f"{cls.__name__}: " + " ".join(_explain_one(cls, details, given) for details in by_parameter.values())


def _explain_one(cls: type[Parameters], details: list[ErrorDetails], parameters: dict[str, Any]) -> str:
    """What is wrong with one parameter; a union complains once for each of its members."""
    first = details[0]
    location = str(first["loc"][0]) if first["loc"] else "parameters"
    if first["type"] == "extra_forbidden":
        return f"no parameter {location!r}.{did_you_mean(location, cls.model_fields)}"
    if first["type"] == "missing":
        return f"the parameter {location!r} is required{_described(cls, location)}."
    for detail in details:
        cause = detail.get("ctx", {}).get("error")
        if isinstance(cause, FlouError | ValueError):
            return str(cause)
    path = _path(first["loc"], parameters)
    same_place = [d for d in details if _path(d["loc"], parameters) == path]
    wanted = " or ".join(dict.fromkeys(_wanted(d) for d in same_place))
    shown = "(hidden)" if is_secret(cls, location) else repr(first["input"])
    return f"{path} = {shown} is not allowed: it should be {wanted}{_described(cls, location)}."


#: What pydantic asks for, in words of ours.
_WORDS = {
    "bool_type": "true or false",
    "int_type": "a whole number",
    "float_type": "a number",
    "string_type": "a text",
    "date_type": "a date",
    "tuple_type": "a list",
    "dict_type": "a table of names and values",
    "finite_number": "a finite number",
}


def _wanted(detail: ErrorDetails) -> str:
    if detail["type"] == "too_short":
        return f"a list of at least {detail['ctx']['min_length']}"
    return _WORDS.get(detail["type"], detail["msg"].removeprefix("Input should be ").rstrip("."))


def _path(location: tuple[int | str, ...], parameters: dict[str, Any]) -> str:
    """Where in the given parameters the fault is; pydantic's own names for the members of a union are left out."""
    held: Any = parameters
    names: list[str] = []
    for part in location:
        if isinstance(held, Mapping):
            inside = part in held
        else:  # what was counted may be another form of what was given: a single name is a list of one
            inside = isinstance(held, list | tuple) and isinstance(part, int) and part < len(held)
        if not inside:
            break
        held = held[part]
        names.append(str(part))
    return ".".join(names) or str(location[0])


def _described(cls: type[Parameters], name: str) -> str:
    field = cls.model_fields.get(name)
    return f" ({field.description})" if field is not None and field.description else ""
