"""The contract of risk measures: how exposed the records, or the cells of a table, are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any, ClassVar, Literal, Self, TypeVar

from pydantic import BeforeValidator, InstanceOf, PlainSerializer, WithJsonSchema

from flou.engine import native, registry
from flou.engine.data import has_several_rows
from flou.engine.errors import ParameterError
from flou.engine.figure import Figure
from flou.engine.method import Method, measured_on
from flou.engine.parameters import as_tuple
from flou.engine.result import MeasuredOn, RiskResult
from flou.engine.risk_figure import SHARE, Vacuous, asks_nothing
from flou.engine.sense import STRICT, Missing
from flou.engine.several_rows import COUNTED_BY_PERSON
from flou.engine.taxonomy import Answers, AttackName

R = TypeVar("R", bound=RiskResult)
Names = tuple[AttackName, ...]


class RiskMeasure(Method):
    """How exposed the records are. A subclass implements `_measure`."""

    stage: ClassVar[registry.Stage] = "measure"
    headline: ClassVar[Figure] = Figure("value", "share at risk", "share", SHARE)

    def measure(self, data: Any, *, against: Any = None, counts: Any = None, as_release: bool = False) -> RiskResult:
        """Measure on microdata or a release; `against` and `counts` only where the method says so.

        `as_release=True` counts nulls on an original as they are counted on a release, so that the two compare.
        """
        accepted = self._accept(data)
        if against is not None and self.compares_with is None:
            raise ParameterError(f"{type(self).__name__} does not take against=.")
        if against is None and self.needs_against:
            raise ParameterError(f"{type(self).__name__} {_AGAINST[self.compares_with]}")
        if counts is not None and "counts" not in self.uses:
            raise ParameterError(f"{type(self).__name__} does not take counts=.")
        # persons with several rows are counted in the strict sense alone
        strict = as_release or not self.has_sense or has_several_rows(accepted)
        on: MeasuredOn = "release" if strict else measured_on(accepted)
        resolved = self.resolved(on)
        with native.engine_errors():
            result = resolved._measure(accepted, None if against is None else self._accept(against), counts)
        closes, opens = resolved.attacks_shown(result)
        result = replace(result, closes=closes, opens=opens)
        return replace(result, settings=self.shown_settings(), sense=resolved.sense) if self.has_sense else result

    #: Values of parameters at which it asks for so little that it closes no attack, however few it flags.
    loose: ClassVar[Mapping[str, Vacuous]] = {}

    @property
    def is_loose(self) -> bool:
        """Whether it asks for next to nothing."""
        return asks_nothing(self.loose, {name: getattr(self, name) for name in self.loose})

    def answers(self) -> Answers:
        found = super().answers()
        return {a: "measures" if self.is_loose and answer == "closes" else answer for a, answer in found.items()}

    def attacks_shown(self, result: RiskResult) -> tuple[Names, Names]:
        """The attacks that a result shows to be closed, for it flags nobody, and those that it shows to be open."""
        named = tuple(a for a, answer in self.answers_by.get(self.variant, {}).items() if answer == "closes")
        return (() if self.is_loose else named, ()) if result.value == 0 else ((), named)

    #: Whether it has the parameter `missing`, which says what an undetermined key may stand for.
    has_sense: ClassVar[bool] = False

    @property
    def sense(self) -> Missing | None:
        """The sense in which undetermined keys are counted; None where it depends on what is measured."""
        return getattr(self, "missing") if self.has_sense else None  # noqa: B009

    @property
    def counted_sense(self) -> Missing:
        """The same for those who count: it is known on what."""
        assert self.sense is not None, "measure() resolves the sense"
        return self.sense

    def resolved(self, on: MeasuredOn) -> Self:
        """The measure with the sense in which it counts on an original or a release, where none was given.

        On an original nulls may hide any value: the worst case is counted. On a release nulls may be there for the
        sake of the count, so that only records which show the very same key count as alike.
        """
        if not self.has_sense or self.sense is not None:
            return self
        return self.model_copy(update={"missing": "pessimistic" if on == "original" else STRICT})

    #: Values of parameters at which it flags nobody, or nobody but the most exposed, and in which figures that shows:
    #: a rule of a policy with such a parameter asks for nothing. `("<=", 1)`: at 1 and below.
    vacuous: ClassVar[Mapping[str, Vacuous]] = {}
    flag_figures: ClassVar[tuple[str, ...]] = ("value", "n_at_risk", "n_keys_at_risk", "n_households_at_risk")

    @classmethod
    def flags_nobody(cls, settings: Mapping[str, Any]) -> bool:
        """Whether a measure with these settings flags nobody, or nobody but the most exposed."""
        return asks_nothing(cls.vacuous, settings)

    #: What `against=` is for this measure: the file a release was made from, or a table of the population.
    compares_with: ClassVar[Literal["original", "population"] | None] = None

    @property
    def needs_against(self) -> bool:
        """Whether it cannot be measured without `against=`."""
        return False

    @property
    def no_drop(self) -> str:
        """Why records cannot be dropped by this measure until it flags none; empty where they can."""
        if self.compares_with == "population":
            return "it is measured against a public table, which a step of a plan does not have"
        return "it compares a release with its original" if self.needs_against else ""

    def _measure(self, data: Any, against: Any, counts: Any) -> RiskResult:
        raise NotImplementedError

    def _result(self, data: Any, kind: type[R] = RiskResult, **found: Any) -> R:  # type: ignore[assignment]
        """A result with what every measure says in the same way."""
        if has_several_rows(data):
            found["notes"] = (*found.get("notes", ()), COUNTED_BY_PERSON)
        return kind(
            method=self.name(),
            title=self.title,
            settings=self.shown_settings(),
            measured_on=measured_on(data),
            test_only=data.marks.test_only,
            data=data,
            **self.described(found),
        )


#: What is missing where a measure needs `against=`.
_AGAINST = {
    "original": "compares a file with the one that it was made from: measure(release, against=original).",
    "population": "compares a file with a public table of the people it may hold: measure(file, against=table), "
    "or [population] in a plan.",
    None: "",
}


def _measure_from_table(value: object) -> object:
    return RiskMeasure.from_table(value) if isinstance(value, dict) else value


def _to_table(method: Method) -> dict[str, Any]:
    return method.to_table()


#: A measure as a parameter of another method: an object, or an inline table with `method = "…"`.
Measure = Annotated[
    InstanceOf[RiskMeasure],
    BeforeValidator(_measure_from_table),
    PlainSerializer(_to_table),
    WithJsonSchema({"type": "object", "required": ["method"], "properties": {"method": {"type": "string"}}}),
]


def _several(value: object) -> object:
    held = (value,) if isinstance(value, Method | dict) else as_tuple(value)
    for one in held if isinstance(held, tuple) else ():
        if not isinstance(one, RiskMeasure | dict):
            raise ValueError(
                f'{one!r} is no measure: write it with its parameters, [{{method = "l_diversity", l = 2}}].'
            )
    return held


#: One or several measures.
Measures = Annotated[tuple[Measure, ...], BeforeValidator(_several)]
