"""The contract: base classes of every method, by stage.

A method is a frozen object that holds only parameters, checked when it is made. Data go to the verb.
A subclass implements the underscored hook; the base class checks the input, derives the draws, times
the work, verifies guarantees on the output and wraps the result.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any, ClassVar, Literal, Self, TypeVar

from pydantic import BeforeValidator, InstanceOf, PlainSerializer, WithJsonSchema

from flou.engine import native, registry
from flou.engine.data import Data, DataKind, data_kind, has_several_rows
from flou.engine.errors import DataError, ParameterError, did_you_mean
from flou.engine.figure import Audience, Figure, FigureValue, declared, with_values
from flou.engine.parameters import Parameters, as_tuple, is_secret
from flou.engine.randomness import Draws
from flou.engine.release import Outcome, Release
from flou.engine.result import MeasuredOn, RiskResult
from flou.engine.risk_figure import SHARE, RiskFigure, Vacuous, Way, asks_nothing
from flou.engine.secret import Secret
from flou.engine.sense import STRICT, Missing
from flou.engine.series import Series
from flou.engine.several_rows import COUNTED_BY_PERSON, refuse_several_rows
from flou.engine.values import plain_lists

R = TypeVar("R", bound=RiskResult)


class Method(Parameters):
    """What the four kinds of method share."""

    #: Which section of a plan it stands in.
    stage: ClassVar[registry.Stage]
    #: Key of the publication in docs/reference/bibliography.md.
    reference: ClassVar[str] = ""
    #: Short name for people, in English; translated by the report.
    title: ClassVar[str] = ""
    #: Who may see its results: nothing of a method stands on a public page unless its own class says so.
    audience: ClassVar[Audience] = "internal"
    #: What its results find, in one figure, and in others; a rule of a policy can bound these alone.
    headline: ClassVar[Figure] = Figure("value", "value", safe=None)
    figures: ClassVar[tuple[Figure, ...]] = ()
    #: Parameters that name a file to read, which is found beside the plan.
    reads: ClassVar[tuple[str, ...]] = ()
    #: Kinds of data it accepts.
    takes: ClassVar[tuple[DataKind, ...]] = ("microdata",)
    #: Whether its parameters give closer bounds on suppressed cells: the public reads them where the policy says so.
    sensitivity_rule: ClassVar[bool] = False
    #: Whether it counts persons where they may have several rows, or counts nobody; all others refuse such files.
    allows_several_rows: ClassVar[bool] = False

    @classmethod
    def name(cls) -> str:
        """The name in plan files and on the command line."""
        return registry.method_name(cls.__name__)

    @classmethod
    def figure(cls, name: str) -> Figure | None:
        """What it declares of the headline, `value`, or of one of its figures."""
        return declared((cls.headline, *cls.figures), name)

    @classmethod
    def called(cls, name: str, label: str, value: FigureValue) -> Figure:
        """A figure of a result whose label depends on the parameters or the data."""
        return replace(cls.figure(name) or Figure(name, safe=None), name=name, label=label).with_value(value)

    @classmethod
    def safe_direction(cls, figure: str) -> Way | None:
        """Direction in which a figure is safe; None if no rule can judge it."""
        safe = None if (found := cls.figure(figure)) is None else found.safe
        return safe.way if isinstance(safe, RiskFigure) else safe

    @classmethod
    def risk_figure(cls, figure: str) -> RiskFigure | None:
        """What is known of a figure that measures risk; None where no bound on it counts as a rule on the risk."""
        safe = None if (found := cls.figure(figure)) is None else found.safe
        return safe if isinstance(safe, RiskFigure) else None

    def described(self, found: Mapping[str, Any]) -> dict[str, Any]:
        """What a result is made of, its `value` and `figures` with all that the class says of them."""
        value = found["value"]
        return {
            **{name: held for name, held in found.items() if name != "value"},
            "headline": value if isinstance(value, Figure) else self.headline.with_value(value),
            "figures": with_values(self.figures, found.get("figures", {})),
        }

    @classmethod
    def from_table(cls, table: dict[str, Any], stage: registry.Stage | None = None) -> Method:
        """A method from a plan's table: `method` names it, the rest are its parameters."""
        rest = dict(table)
        name = rest.pop("method", None)
        if not isinstance(name, str):
            raise ParameterError(f'A method in a plan needs a line `method = "…"`; this one has {sorted(table)!r}.')
        return registry.find(stage or cls.stage, name)(**rest)

    def to_table(self, *, masked: bool = False) -> dict[str, Any]:
        """The plan's table of this method: what differs from the defaults, as plain values, secrets masked if asked."""
        fields, plain = type(self).model_fields, self.model_dump(mode="python", exclude_none=True)
        shown = self.shown_settings() if masked else plain
        changed = {n for n in plain if fields[n].is_required() or getattr(self, n) != fields[n].get_default()}
        changed |= {n for n in plain if masked and is_secret(type(self), n)}  # left out it would tell its default
        return {"method": self.name(), **{n: plain_lists(shown[n]) for n in plain if n in changed}}

    def fingerprint(self) -> str:
        """All of its parameters as one text, for deriving draws; never shown."""
        return json.dumps(self.to_table(), sort_keys=True, default=str)

    def _accept(self, data: object) -> Any:
        """Take the data out of a release and check their kind."""
        inner = data.data if isinstance(data, Release) else data
        if data_kind(inner) not in self.takes:
            hint = "Wrap a frame first: flou.Microdata(frame, keys=[…])."
            if "microdata" not in self.takes:
                hint = 'Make a table first: people.tabulate(["region", "sex"]), flou table, or [[tabulate]] in a plan.'
            raise DataError(
                f"{type(self).__name__} works on {' or '.join(self.takes)}, not on {type(inner).__name__}. {hint}"
            )
        refuse_several_rows(inner, type(self).__name__, counts_persons=self.allows_several_rows)
        return inner


def require_columns(data: Data, names: tuple[str, ...], parameter: str) -> None:
    """A missing column is an error that lists the columns there are."""
    for name in names:
        if name not in data.columns:
            raise DataError(
                f"{parameter} names the column {name!r}, which the data do not have."
                f"{did_you_mean(name, data.columns)} Columns: {', '.join(data.columns)}."
            )


def measured_on(data: Data) -> MeasuredOn:
    """Which stage of a file a result speaks of."""
    return "frame" if data.marks.frame else "release" if data.released else "original"


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
        if counts is not None and not self.uses_counts:
            raise ParameterError(f"{type(self).__name__} does not take counts=.")
        # persons with several rows are counted in the strict sense alone
        strict = as_release or not self.has_sense or has_several_rows(accepted)
        on: MeasuredOn = "release" if strict else measured_on(accepted)
        resolved = self.resolved(on)
        with native.engine_errors():
            result = resolved._measure(accepted, None if against is None else self._accept(against), counts)
        return replace(result, settings=self.shown_settings(), sense=resolved.sense) if self.has_sense else result

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
    #: Whether `counts=` means something for this measure.
    uses_counts: ClassVar[bool] = False

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


#: What a protection may claim to keep: every record; each column that it does not name; of each column that it
#: does name the values with their counts (`marginal`) or the mean, exactly or on average over secrets.
Claim = Literal["records", "untouched columns", "marginal", "mean", "expected marginal", "expected mean"]


class Protection(Method):
    """What changes the data. A subclass implements `_protect` and states its guarantees."""

    stage: ClassVar[registry.Stage] = "protect"
    #: What it claims to keep unchanged; contract tests check each claim on every release.
    preserves: ClassVar[tuple[Claim, ...]] = ()

    @property
    def claims(self) -> tuple[Claim, ...]:
        """What it keeps with these parameters."""
        return self.preserves

    #: Whether its tables must carry cell keys, which come from record keys.
    needs_keys: ClassVar[bool] = False
    #: Whether it goes by the keys of records where there are some, so that a plan makes them if it can.
    uses_keys: ClassVar[bool] = False
    #: Whether it protects one table alone: several are refused, for what they share would need to be treated alike.
    one_table: ClassVar[bool] = False
    #: Whether it chooses by the file itself what keys show, so that another file cannot follow.
    chooses_keys: ClassVar[bool] = False

    #: Whether it draws noise on each value of its columns by itself: two noises of one column could be combined.
    noises: ClassVar[bool] = False
    #: Whether it draws from the operating system whatever the secret is, so that nobody can replay what it does.
    draws_from_system: ClassVar[bool] = False

    @property
    def touches(self) -> tuple[str, ...]:
        """The columns that its parameters name to be changed."""
        named = (getattr(self, "column", None), *getattr(self, "columns", ()))
        return tuple(name for name in named if name)

    @property
    def recodes(self) -> str | None:
        """The column that it maps value by value, in the same way in any file; None where it does not."""
        return None

    def protect(
        self, data: Any, *, secret: Secret | int | None = None, series: str = "", period: str | None = None
    ) -> Release:
        """Protect microdata (or go on from a release): a plan of one step.

        `series` and `period` say which release of which series it is: noise hangs on the one, samples on both.
        """
        from flou.engine.steps import carry_out

        return carry_out((self,), data, Secret.of(secret), Series(series, period))

    def _protect(self, data: Any, draw: Draws) -> Outcome:
        """The protected data, what changed, and what is promised about them."""
        raise NotImplementedError
