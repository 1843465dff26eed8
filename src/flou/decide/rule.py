"""A rule of a policy: two bounds on one figure of one method.

Within the first bound the file may be released, within the second somebody must look, beyond it is
withheld. The rule says with which parameters the method must have been run.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import Field, TypeAdapter, ValidationError, model_validator
from pydantic.fields import FieldInfo

from flou.decide.verdict import Decision
from flou.engine import registry
from flou.engine.errors import ParameterError, did_you_mean
from flou.engine.measure import RiskMeasure
from flou.engine.method import Method
from flou.engine.parameters import Parameters
from flou.engine.result import Result
from flou.engine.sense import STRICT
from flou.engine.values import plain_lists


class Bounds(Parameters):
    """Where release ends and where review ends."""

    release: int | float
    review: int | float | None = None


def _bounds(name: str, value: object) -> object:
    if isinstance(value, dict):
        return Bounds(**value)
    if value is None or isinstance(value, Bounds):
        return value
    raise ParameterError(f"{name} is a table of bounds, {{ release = 0.0, review = 0.01 }}; given {value!r}.")


class Rule(Parameters):
    """One threshold on one figure of one method."""

    method: str = Field(description="the method whose result is judged, such as k_anonymity")
    figure: str = Field("value", description="which figure of the result")
    at_most: Bounds | None = Field(
        None, description="release at or under the first bound, review at or under the second"
    )
    at_least: Bounds | None = Field(
        None, description="release at or over the first bound, review at or over the second"
    )
    on: Literal["release", "frame"] = Field(
        "release", description="the file that is judged: the release, or the frame that its sample was drawn from"
    )
    settings: dict[str, Any] = Field(
        default_factory=dict, description="the parameters the result must have been made with"
    )
    why: dict[str, str] = Field(default_factory=dict, description="the office's reason, by language")

    @model_validator(mode="before")
    @classmethod
    def _nested(cls, values: Any) -> Any:
        if isinstance(values, dict):
            values = {k: _bounds(k, v) if k in ("at_most", "at_least") else v for k, v in values.items()}
            if isinstance(values.get("why"), str):
                values["why"] = {"en": values["why"]}
        return values

    @model_validator(mode="after")
    def _one_direction(self) -> Rule:
        self._check_method()
        bounds = self.at_most or self.at_least
        if bounds is None or (self.at_most and self.at_least):
            raise ParameterError(f"the rule on {self.method!r} needs either at_most or at_least.")
        if bounds.review is not None and (
            bounds.review < bounds.release if self.at_most else bounds.review > bounds.release
        ):
            raise ParameterError(f"the rule on {self.method!r}: review must be the looser bound, release the stricter.")
        self._check_direction()
        return self

    def _check_direction(self) -> None:
        """Refuse a bound in the unsafe direction: it would release the files with the highest risk."""
        found = self._found
        safe = found.safe_direction(self.figure)
        if safe is None:
            known = [f.name for f in (found.headline, *found.figures) if f.safe is not None and "*" not in f.name]
            raise ParameterError(
                f"{self.method} has no figure {self.figure!r} that a rule can judge.{did_you_mean(self.figure, known)}"
            )
        given = "at_most" if self.at_most else "at_least"
        wanted = {"low": "at_most", "high": "at_least", "either": given}[safe]
        if given != wanted:
            raise ParameterError(
                f"the rule on {self.method!r} has {given} for {self.figure!r}, which is safe when it is {safe}: it "
                f"would release the files with the highest risk. Write {wanted} = {{ release = … }}."
            )

    def _check_method(self) -> None:
        """A misspelt method, parameter or value would withhold every file after all the work: refuse it at once."""
        fields = self._found.model_fields
        needed = [n for n, f in fields.items() if f.is_required() and n not in self.settings]
        if needed:
            raise ParameterError(
                f"the rule on {self.method!r} must say with which {', '.join(needed)} it is measured: "
                f"settings = {{ {needed[0]} = … }}."
            )
        for name, value in self.settings.items():
            if name not in fields:
                raise ParameterError(f"{self.method} has no parameter {name!r}.{did_you_mean(name, fields)}")
            field = fields[name]
            try:
                _typed(field, value)
            except ValidationError as error:
                wanted = error.errors()[0]["msg"].removeprefix("Input should be ")
                raise ParameterError(f"{self.method} cannot have {name} = {value!r}: it should be {wanted}.") from None

    @property
    def title(self) -> str:
        """What people call the method."""
        return self._found.title or self.method

    @property
    def _found(self) -> type[Method]:
        known = {name: stage for stage in registry.STAGES for name in registry.names(stage)}
        if self.method not in known:
            raise ParameterError(f"there is no method {self.method!r} to judge.{did_you_mean(self.method, known)}")
        return registry.find(known[self.method], self.method)

    def fits(self, result: Result) -> bool:
        """Whether a result is the one this rule speaks of."""
        return result.method == self.method and self.met_by(result.settings)

    def met_by(self, settings: Mapping[str, Any]) -> bool:
        """Whether a method with these settings is the one this rule speaks of; what it does not name is the default."""
        return not self.unmet(settings)

    def unmet(self, settings: Mapping[str, Any]) -> list[str]:
        """The settings in which a method is not the one this rule speaks of."""
        found = []
        for name, wanted in self._values.items():
            given = plain_lists(settings.get(name))
            if name == "missing":  # where neither names a sense, a release is counted in the strict one
                given, wanted = given or STRICT, wanted or STRICT
            if given != wanted:
                found.append(name)
        return found

    @property
    def bounds_risk(self) -> bool:
        """Whether the figure is safe in one direction alone: it measures a risk, or an intruder's success."""
        return self._found.safe_direction(self.figure) in ("low", "high")

    def could_fail(self, result: Result) -> bool:
        """Whether the figure measures a risk, and the rule asks for more than the worst files give."""
        found, figure, bounds = self._found, self._found.risk_figure(self.figure), self.at_most or self.at_least
        assert bounds is not None
        if figure is None or (self.figure == "value" and result.headline.unit != "share"):
            return False
        if issubclass(found, RiskMeasure) and self.figure in found.flag_figures and found.flags_nobody(result.settings):
            return False
        return figure.asks(bounds.release, result.figures)

    @property
    def in_wildcards(self) -> bool:
        """Whether it judges a count in which nulls agree with values."""
        found = self._found
        counted = issubclass(found, RiskMeasure) and found.has_sense
        return counted and self.settings.get("missing", STRICT) not in (None, STRICT)

    def is_strict_form_of(self, rule: Rule) -> bool:
        """Whether it asks the same of nulls as a category, by bounds that are at least as tight."""
        if self.in_wildcards or self._question != rule._question:
            return False
        return all(self._tight(bound) >= rule._tight(bound) for bound in ("release", "review"))

    @property
    def _question(self) -> tuple[object, ...]:
        """What is asked of which file, whatever the sense."""
        values = {name: value for name, value in self._values.items() if name != "missing"}
        return self.method, self.figure, self.on, values

    @property
    def _values(self) -> dict[str, Any]:
        """Every setting as the method would hold it."""
        fields = self._found.model_fields
        named = {n: _typed(fields[n], v) for n, v in self.settings.items()}
        return {n: plain_lists(named.get(n, f.get_default())) for n, f in fields.items()}

    def _tight(self, bound: Literal["release", "review"]) -> float:
        """A bound as a number that is larger the tighter it is."""
        bounds = self.at_most or self.at_least
        assert bounds is not None
        held = bounds.release if bound == "release" or bounds.review is None else bounds.review
        return -held if self.at_most else held

    def decide(self, value: float) -> Decision:
        bounds = self.at_most or self.at_least
        assert bounds is not None
        sign = 1 if self.at_most else -1
        if sign * value <= sign * bounds.release:
            return Decision.RELEASE
        if bounds.review is not None and sign * value <= sign * bounds.review:
            return Decision.REVIEW
        return Decision.WITHHOLD


def _typed(field: FieldInfo, value: object) -> Any:
    """A setting as the method would hold it: one name is a list of one."""
    wanted: Any = Annotated[field.annotation, field]
    adapter: TypeAdapter[Any] = TypeAdapter(wanted)
    return adapter.dump_python(adapter.validate_python(value, strict=True))
