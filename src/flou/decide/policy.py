"""The office's policy: thresholds on results, and the verdict they give, with a reason for each.

A rule names a method, one of its figures and two bounds: within the first the file may be released,
within the second somebody must look, beyond it is withheld. A rule whose figure was not measured on the
release withholds: what nobody looked at is not safe.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from html import escape
from os import PathLike
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, TypeAdapter, ValidationError, model_validator

from flou.engine import registry, toml
from flou.engine.errors import FlouError, ParameterError, PlanError, did_you_mean
from flou.engine.method import Method
from flou.engine.note import Note
from flou.engine.parameters import Parameters
from flou.engine.release import Release
from flou.engine.result import Result, RiskResult
from flou.engine.values import Proportion, plain_lists, settings_text


class Decision(IntEnum):
    """What the office may do; a worse one is larger."""

    RELEASE = 0
    REVIEW = 1
    WITHHOLD = 2


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
        return self

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
                wanted_type: Any = Annotated[field.annotation, field]
                TypeAdapter(wanted_type).validate_python(value, strict=True)
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
        """Whether a method with these settings is the one this rule speaks of."""
        return all(plain_lists(settings.get(k)) == plain_lists(v) for k, v in self.settings.items())

    def decide(self, value: float) -> Decision:
        bounds = self.at_most or self.at_least
        assert bounds is not None
        sign = 1 if self.at_most else -1
        if sign * value <= sign * bounds.release:
            return Decision.RELEASE
        if bounds.review is not None and sign * value <= sign * bounds.review:
            return Decision.REVIEW
        return Decision.WITHHOLD


@dataclass(frozen=True)
class Reason:
    """Why one rule decided as it did."""

    decision: Decision
    #: What was found; it may hold a small count, so public pages show `rule` instead.
    text: Note
    rule: Note
    why: Mapping[str, str]

    def __str__(self) -> str:
        return f"{self.decision.name}: {self.text}"


@dataclass(frozen=True, repr=False)
class Verdict:
    """The decision and its reasons, the worst first."""

    decision: Decision
    reasons: tuple[Reason, ...]
    policy: Mapping[str, str]
    #: Public pages show no key and no count below this.
    min_count: int = 3

    def __str__(self) -> str:
        return "\n".join([self.decision.name, *(f"  {r}" for r in self.reasons)])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        rows = "".join(f"<tr><td>{r.decision.name}</td><td>{escape(str(r.text))}</td></tr>" for r in self.reasons)
        return f"<table><caption>{self.decision.name}</caption>{rows}</table>"

    def to_dict(self) -> dict[str, Any]:
        return {
            "decision": self.decision.name,
            "policy": dict(self.policy),
            "reasons": [{"decision": r.decision.name, "text": str(r.text), "why": dict(r.why)} for r in self.reasons],
        }


class Policy(Parameters):
    """The office's rules. `Policy.load("office.toml")` or `Policy(rules=[Rule(…)])`."""

    rules: tuple[Rule, ...] = Field(min_length=1)
    name: dict[str, str] = Field(default_factory=dict)
    #: Public pages show no key and no count below this.
    min_count: int = Field(3, ge=1, description="smallest count that a public page may show")

    @model_validator(mode="before")
    @classmethod
    def _nested(cls, values: Any) -> Any:
        if not isinstance(values, dict):
            return values
        rules = values.get("rules", ())
        if isinstance(rules, Sequence) and not isinstance(rules, str):
            rules = tuple(Rule(**r) if isinstance(r, dict) else r for r in rules)
        name = values.get("name", {})
        return {**values, "rules": rules, "name": {"en": name} if isinstance(name, str) else name}

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Policy:
        """Read a policy file (TOML)."""
        return cls.from_table(toml.read(path, "policy"), f"policy {str(path)!r}")

    @classmethod
    def from_table(cls, table: Mapping[str, Any], where: str = "policy") -> Policy:
        """From the parsed TOML of a policy file, or of a plan's [policy]."""
        known = ("name", "min_count", "rule")
        for word in table:
            if word not in known:
                raise PlanError(f"The {where} has an unknown word {word!r}.{did_you_mean(word, known)}")
        values = {("rules" if k == "rule" else k): v for k, v in table.items()}
        try:
            return cls(**values)
        except FlouError as error:
            raise PlanError(f"The {where} is wrong: {error}") from None

    @classmethod
    def of_plan(cls, table: Mapping[str, Any], folder: Path) -> Policy:
        """The policy of a plan: a file, or rules written in place."""
        if "file" in table:
            if len(table) > 1:
                raise PlanError("[policy] has either file = … or rules of its own, not both.")
            return cls.load(folder / str(table["file"]))
        return cls.from_table(table, "plan's [policy]")

    def judge(self, *results: Result | Release) -> Verdict:
        """The verdict on results measured on a release; the worst rule decides."""
        for given in results:
            if not isinstance(given, Result | Release):
                raise ParameterError(f"judge takes results and releases, one after the other; given {given!r}.")
        measured = [r for r in results if isinstance(r, Result)]
        for release in (r for r in results if isinstance(r, Release)):
            if any(r.data is not release.data for r in measured if isinstance(r, RiskResult) and r.data.released):
                raise ParameterError("judge was given a release and the result of another one: measure this release.")
        reasons = [self._judge_rule(rule, measured) for rule in self.rules]
        test_only = any(r.test_only for r in results)
        if test_only:
            note = Note("made with a test seed, which anybody can guess: no policy releases it")
            reasons.append(Reason(Decision.WITHHOLD, note, note, {}))
        reasons.sort(key=lambda r: -r.decision)
        return Verdict(max(r.decision for r in reasons), tuple(reasons), self.name, self.min_count)

    def _judge_rule(self, rule: Rule, results: Sequence[Result]) -> Reason:
        fitting = [r for r in results if rule.fits(r)]
        after = [r for r in fitting if r.measured_on == "release"]
        if not after:
            values: dict[str, object] = {"method": rule.title, "settings": settings_text(rule.settings)}
            if fitting:
                note = Note("{method} was measured on the original only, not on the release", values)
            else:
                note = Note("{method} was not measured with what the policy asks for ({settings})", values)
            return Reason(Decision.WITHHOLD, note, note, rule.why)
        return max((self._judge_result(rule, result) for result in after), key=lambda reason: reason.decision)

    def _judge_result(self, rule: Rule, result: Result) -> Reason:
        try:
            figure = result.figure(rule.figure)
        except KeyError:
            known = ["value", *result.figures]
            raise PlanError(
                f"The policy asks for the figure {rule.figure!r} of {rule.method}.{did_you_mean(rule.figure, known)}"
            ) from None
        bounds = rule.at_most or rule.at_least
        assert bounds is not None
        label = result.value_label if rule.figure == "value" else result.figure_labels.get(rule.figure, rule.figure)
        values: dict[str, object] = {
            "method": result.title,
            "settings": settings_text(result.settings),
            "figure": label,
            "value": _read(rule, figure),
            "sign": "≤" if rule.at_most else "≥",
            "bound": _read(rule, bounds.release),
        }
        asked = Note("{method} ({settings}): {figure} must be {sign} {bound} for release", values)
        if isinstance(figure, str | None) or figure != figure:
            return Reason(
                Decision.WITHHOLD,
                Note("{method} ({settings}): {figure} has no value that a rule could judge", values),
                asked,
                rule.why,
            )
        decision = rule.decide(float(figure))
        if decision is Decision.RELEASE:
            text = "{method} ({settings}): {figure}: {value}, within the bound for release ({sign} {bound})"
        elif decision is Decision.REVIEW:
            values["review"] = _read(rule, bounds.review)
            text = (
                "{method} ({settings}): {figure}: {value}, past the bound for release ({sign} {bound}) "
                "but within that for review ({sign} {review})"
            )
        else:
            values["last"] = _read(rule, bounds.release if bounds.review is None else bounds.review)
            text = "{method} ({settings}): {figure}: {value}, past every bound ({sign} {last})"
        return Reason(decision, Note(text, values), asked, rule.why)


def _read(rule: Rule, figure: object) -> object:
    """The headline value is a share, read as a percentage; other figures are read as they are."""
    return Proportion(figure) if rule.figure == "value" and isinstance(figure, int | float) else figure
