"""The office's policy: thresholds on results, and the verdict they give, with a reason for each.

A rule whose figure was not measured on the release withholds: what nobody looked at is not safe.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import Field, model_validator

from flou.decide.inferred import inferred
from flou.decide.published import not_for_release, released_beside, released_records, released_tables
from flou.decide.rule import Rule
from flou.decide.verdict import Decision, Reason, Verdict
from flou.describe.table.table import Table
from flou.describe.table.table_set import tables_of
from flou.engine import toml
from flou.engine.comparison import ComparisonResult
from flou.engine.data import data_kind
from flou.engine.errors import FlouError, ParameterError, PlanError, did_you_mean
from flou.engine.note import Note
from flou.engine.parameters import Parameters
from flou.engine.release import Release
from flou.engine.result import Result, RiskResult
from flou.risk.table.inference_result import InferenceResult
from flou.risk.table.rule_result import RuleResult


class Policy(Parameters):
    """The office's rules. `Policy.load("office.toml")` or `Policy(rules=[Rule(…)])`."""

    rules: tuple[Rule, ...] = Field(min_length=1)
    name: dict[str, str] = Field(default_factory=dict)
    #: Public pages show no key and no count below this.
    min_count: int = Field(3, ge=1, description="smallest count that a public page may show")
    public_rules: bool = Field(
        False, description="whether public pages show the parameters of the rules on sensitive cells"
    )

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

    @model_validator(mode="after")
    def _strict_beside_wildcards(self) -> Policy:
        """Nulls that a release was given agree with what they replaced: a count in that sense judges nothing alone."""
        for rule in self.rules:
            if rule.in_wildcards and not any(other.is_strict_form_of(rule) for other in self.rules):
                raise ParameterError(
                    f"the rule on {rule.method!r} counts nulls as wildcards (missing = {rule.settings['missing']!r}): "
                    "nulls written for the sake of the count would satisfy it and hide nobody. Leave missing out, or "
                    'put the same rule with missing = "category" and bounds at least as tight beside it.'
                )
        return self

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Policy:
        """Read a policy file (TOML)."""
        return cls.from_table(toml.read(path, "policy"), f"policy {str(path)!r}")

    @classmethod
    def from_table(cls, table: Mapping[str, Any], where: str = "policy") -> Policy:
        """From the parsed TOML of a policy file, or of a plan's [policy]."""
        known = ("name", "min_count", "public_rules", "rule")
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
            if any(release.is_strange(r) for r in measured if not isinstance(r, ComparisonResult)):
                raise ParameterError("judge was given a release and the result of another one: measure this release.")
            if any(release.is_strange(r) for r in measured if isinstance(r, ComparisonResult)):
                raise ParameterError("judge was given a release and the comparison of another one: compare this one.")
        # what was expected of a mechanism has no data
        known = [r.data for r in results if isinstance(r, ComparisonResult | Release) or _is_risk(r)]
        known = [d for d in known if d is not None]
        # of a release that is no sample the frame is the release itself
        sampled = any(d.marks.frame or d.kin.frame is not None for d in known)
        reasons = [self._judge_rule(rule, measured, sampled) for rule in self.rules]
        test_only = any(r.test_only for r in results)
        if test_only:
            note = Note("made with a test seed, which anybody can guess: no policy releases it")
            reasons.append(Reason(Decision.WITHHOLD, note, note, {}))
        if any(_shows_true_counts(d) for d in known):
            note = Note("nothing protects the tables: they show the true counts, which no policy releases")
            reasons.append(Reason(Decision.WITHHOLD, note, note, {}))
        if any(_may_be_computed(d) for d in known):
            note = Note("no audit has shown that the suppressed cells cannot be computed from those that are published")
            reasons.append(Reason(Decision.WITHHOLD, note, note, {}))
        records = released_records(results)
        if records and not any(self._asks_something(rule, measured, sampled) for rule in self.rules):
            note = Note(
                "no rule on the risk was judged that asks for something: a bound that lets more than half of the "
                "records be at risk protects nobody, nor do rules on what is lost"
            )
            reasons.append(Reason(Decision.WITHHOLD, note, note, {}))
        leaving = [*records, *released_tables(results), *released_beside(results)]
        reasons += [Reason(Decision.WITHHOLD, note, public, {}) for note, public in not_for_release(leaving)]
        reasons += inferred(self.rules, results)
        reasons.sort(key=lambda r: -r.decision)
        judged = tuple(r.data for r in results if (isinstance(r, Release) or _is_risk(r)) and r.data.released)
        decision = max(r.decision for r in reasons)
        return Verdict(decision, tuple(reasons), self.name, self.min_count, judged, self.public_rules)

    def _asks_something(self, rule: Rule, results: Sequence[Result], sampled: bool) -> bool:
        """Whether a rule bounds a risk of what is judged, and a file could fail it."""
        judged = rule.on if sampled else "release"
        after = [r for r in results if r.measured_on == judged and rule.fits(r)]
        return any(rule.could_fail(r) for r in after) or (rule.bounds_risk and not after)

    def _judge_rule(self, rule: Rule, results: Sequence[Result], sampled: bool) -> Reason:
        fitting = [r for r in results if rule.fits(r)]
        judged = rule.on if sampled else "release"
        after = [r for r in fitting if r.measured_on == judged]
        if not after:
            values: dict[str, object] = {"method": rule.title, "settings": rule.settings}
            if fitting and judged == "frame":
                text = "{method} was not measured in the file that the sample was drawn from"
            elif fitting:
                text = "{method} was measured on the original only, not on the release"
            else:
                text = "{method} was not measured with what the policy asks for ({settings})"
            note = Note(text, values, method=rule.method)
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
        bounds, value = rule.at_most or rule.at_least, figure.value
        assert bounds is not None
        values: dict[str, object] = {
            "method": result.title,
            "settings": result.measured_with,
            "figure": figure.label,
            "where": " in the sample's frame" if result.measured_on == "frame" else "",
            "value": figure.read,
            "sign": "≤" if rule.at_most else "≥",
            "bound": figure.with_value(bounds.release).read,
        }
        text = "{method} ({settings}): {figure}{where} must be {sign} {bound} for release"
        asked = Note(text, values, method=rule.method)
        if isinstance(value, str | None) or value != value:
            return Reason(
                Decision.WITHHOLD,
                Note("{method} ({settings}): {figure}{where} has no value that a rule could judge", values),
                asked,
                rule.why,
            )
        decision = rule.decide(float(value))
        if decision is Decision.RELEASE:
            text = "{method} ({settings}): {figure}{where}: {value}, within the bound for release ({sign} {bound})"
        elif decision is Decision.REVIEW:
            values["review"] = figure.with_value(bounds.review).read
            text = (
                "{method} ({settings}): {figure}{where}: {value}, past the bound for release ({sign} {bound}) "
                "but within that for review ({sign} {review})"
            )
        else:
            values["last"] = figure.with_value(bounds.release if bounds.review is None else bounds.review).read
            text = "{method} ({settings}): {figure}{where}: {value}, past every bound ({sign} {last})"
        return Reason(decision, Note(text, values), asked, rule.why)


def _is_risk(result: Result | Release) -> bool:
    """Whether a result is a measure's of records or cells: it knows the data that it was measured on."""
    return isinstance(result, RiskResult) or (
        isinstance(result, InferenceResult | RuleResult) and data_kind(result.data) in ("table", "table set")
    )


def _shows_true_counts(data: Any) -> bool:
    """Whether released tables are as they were made: a mean risk may be small where single counts are certain."""
    if data_kind(data) not in ("table", "table set") or not data.released:
        return False
    return any(table.published is None for table in tables_of(data))


def _may_be_computed(data: Any) -> bool:
    """Whether released tables withhold cells and no audit found all of them out of reach."""
    if data_kind(data) not in ("table", "table set") or not data.released:
        return False
    return any(not _is_audited(table) for table in tables_of(data))


def _is_audited(table: Table) -> bool:
    suppression = table.suppression
    if suppression is None:
        return table.published is None or not table.published.hidden.any()
    audit = suppression.audit
    if audit is None or audit.n_disclosed:
        return False
    # an audit of another pattern proves nothing of this one
    return audit.hidden is None or np.array_equal(audit.hidden, suppression.hidden)
