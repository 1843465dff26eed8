"""The contract: base classes of every method, by stage.

A method is a frozen object that holds only parameters, checked when it is made. Data go to the verb.
A subclass implements the underscored hook; the base class checks the input, derives the draws, times
the work, verifies guarantees on the output and wraps the result.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar, Literal

from flou.engine import registry
from flou.engine.data import Data, DataKind, data_kind
from flou.engine.errors import DataError, ParameterError, did_you_mean
from flou.engine.figure import Audience, Figure, FigureValue, declared, with_values
from flou.engine.parameters import Parameters, is_secret
from flou.engine.release import Release
from flou.engine.result import MeasuredOn
from flou.engine.risk_figure import RiskFigure, Way
from flou.engine.several_rows import refuse_several_rows
from flou.engine.taxonomy import Answer, Answers, Requirement
from flou.engine.values import plain_lists


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
    #: Who may read its parameters where its results are public; "policy": the public where the policy says so.
    parameter_audience: ClassVar[Literal["public", "policy"]] = "public"
    #: Whether it counts persons where they may have several rows, or counts nobody; all others refuse such files.
    allows_several_rows: ClassVar[bool] = False

    #: What it cannot do without, beside the data and its parameters.
    requires: ClassVar[tuple[Requirement, ...]] = ()
    #: What it goes by where it is given or there.
    uses: ClassVar[tuple[Requirement, ...]] = ()
    #: What it does about each attack; one line for each `variant` where parameters decide.
    answers_by: ClassVar[Mapping[str, Answers]] = {}

    @property
    def variant(self) -> str:
        """The line of `answers_by` that its parameters ask for."""
        return ""

    def answers(self) -> Answers:
        """What it does about each attack with these parameters."""
        return self.answers_by.get(self.variant, {})

    @classmethod
    def answers_to(cls, attack: str) -> dict[str, Answer]:
        """By variant, what the method can do about an attack; empty where it says nothing of it."""
        return {v: answer for v, answers in cls.answers_by.items() for a, answer in answers.items() if a == attack}

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
