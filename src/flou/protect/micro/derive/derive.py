"""Derived columns (Djiriguian, Missègue & Ricroch 2022): rules that keep the links to a blurred column.

Once an amount is blurred, the amounts tied to it follow by rules, `notpb = original.notpb /
original.apa_amount * apa_amount`, so that ratios between columns stay those of the original. An exact ratio
would give the original amounts away, so derived values are rounded to a unit, and a rational reconstruction
is tried on every record before the column is accepted, and again on the final file. Keeps the links that the
rules state, not the marginals. It does not protect what the ratios themselves tell: a price that all people
of one area share stays visible in the ratio of two derived columns.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Annotated, ClassVar, Literal

import numpy as np
import polars as pl
from pydantic import BeforeValidator, Field, model_validator

from flou.describe.microdata import Microdata
from flou.describe.schema import Schema
from flou.engine import native
from flou.engine.errors import DataError, Infeasible, ParameterError, did_you_mean
from flou.engine.guarantee import Guarantee
from flou.engine.note import Note
from flou.engine.parameters import Number, as_tuple
from flou.engine.protection import Claim, Protection
from flou.engine.randomness import Draws
from flou.engine.release import Change, Outcome
from flou.engine.taxonomy import always
from flou.protect.micro.derive.copies import Carried, carried_on, count_copies
from flou.protect.micro.derive.evaluate import Evaluation, Floats, parts_with_originals
from flou.protect.micro.derive.grammar import Column, Rule, read_rule
from flou.protect.micro.derive.ratios import Ratio, count_given_back, original_values, ratios_of
from flou.protect.micro.multiples import multiple_of
from flou.protect.micro.remembered import Remembered
from flou.protect.micro.replaced import schema_of_new_values
from flou.protect.micro.rows import Amounts, Rows, read_rows

Texts = Annotated[tuple[str, ...], BeforeValidator(as_tuple), Field(min_length=1)]


class Derive(Protection):
    """Compute columns by rules: `Derive("notpb = original.notpb / original.apa_amount * apa_amount", unit=1)`.

    A rule names columns of the file as it is at this step, columns that rules before it computed, and as
    `original.name` columns of the plan's input. Rules that use the input must be ratios of two of its columns
    times released ones, within min, max or floor where bounds are wanted.
    """

    reference: ClassVar[str] = "djiriguian2022"
    title: ClassVar[str] = "derived columns"
    audience = "public"
    perturbative = True
    answers_by = always(amounts="reduces")
    preserves: ClassVar[tuple[Claim, ...]] = ("records", "untouched columns")

    rules: Texts = Field(description="rules, each `column = expression`, carried out in their order")
    unit: float = Field(1.0, gt=1e-9, description="derived values are shown as multiples of this")
    at_least: Number | None = Field(None, description="lower bound of the derived values")
    at_most: Number | None = Field(None, description="upper bound of the derived values")
    zero_division: Number | Literal["refuse", "null"] = Field(
        "refuse", description="what a record shows where the rule divides by zero: a number, null, or an error"
    )

    @model_validator(mode="after")
    def _readable(self) -> Derive:
        targets = [rule.target for rule in self._rules]
        doubled = sorted({t for t in targets if targets.count(t) > 1})
        if doubled:
            raise ParameterError(f"two rules compute {', '.join(doubled)}: each column has one rule.")
        if self.at_least is not None and self.at_most is not None and self.at_least > self.at_most:
            raise ParameterError(f"at_least = {self.at_least} lies above at_most = {self.at_most}.")
        for i, rule in enumerate(self._rules):
            self._check_shape(rule, targets[i:])
        low, high = self._counts
        if low > high:
            raise ParameterError(f"no multiple of unit = {self.unit:g} lies from {self.at_least} to {self.at_most}.")
        if not isinstance(self.zero_division, str) and abs(round(self.zero_division / self.unit) * self.unit
                                                           - self.zero_division) > 1e-9 * self.unit:  # fmt: skip
            raise ParameterError(f"zero_division = {self.zero_division} is no multiple of unit = {self.unit:g}.")
        return self

    @property
    def _counts(self) -> tuple[float, float]:
        """The first and last multiple of the unit within the bounds."""
        low = -np.inf if self.at_least is None else np.ceil(self.at_least / self.unit - 1e-9)
        high = np.inf if self.at_most is None else np.floor(self.at_most / self.unit + 1e-9)
        return float(low), float(high)

    @cached_property
    def _rules(self) -> tuple[Rule, ...]:
        return tuple(read_rule(text) for text in self.rules)

    @cached_property
    def _ratios(self) -> tuple[Ratio, ...]:
        bounds = multiple_of(np.array([c for c in self._counts if np.isfinite(c)]), self.unit).tolist()
        return tuple(r for rule in self._rules for r in ratios_of(rule, self.unit, bounds))

    def _check_shape(self, rule: Rule, later: Sequence[str]) -> None:
        parts = parts_with_originals(rule.expression)
        changed = sorted({c.name for c in rule.columns if not c.original} & set(later)) if parts else []
        if changed:
            raise ParameterError(
                f"the rule {rule.text!r} multiplies ratios of the plan's input with {', '.join(changed)}, which it or "
                "a rule after it computes anew: the file would not show what was multiplied. Put that rule first."
            )
        if len(parts) > 1:
            raise ParameterError(
                f"the rule {rule.text!r} takes {len(parts)} ratios from the plan's input: write a rule for each."
            )
        for part in parts:
            powers = sorted(part.originals.values()) if part is not None else []
            if part is None or powers != [-1, 1] or all(c.original for c in part.powers):
                raise ParameterError(
                    f"the rule {rule.text!r} shows the plan's input in a way that gives it away or cannot be attacked. "
                    "What it takes from the input must be a ratio of two columns times released ones, "
                    "'original.x / original.y * y'."
                )

    @property
    def touches(self) -> tuple[str, ...]:
        return tuple(rule.target for rule in self._rules)

    def _protect(self, data: Microdata, draw: Draws) -> Outcome:
        named = [c for rule in self._rules for c in rule.columns]
        self._check_names(data, named)
        wanted = [c.name for c in named if not c.original and c.name in data.columns]
        rows = read_rows(data, (*wanted, *(t for t in self.touches if t in data.columns)), type(self).__name__)
        originals = original_values(data, rows.owners, [c.name for c in named if c.original])
        values: dict[Column, Floats] = {c: originals[c.name] for c in named if c.original}
        values |= {Column(name): rows.amounts(name).values for name in wanted}
        before, new = dict(values), dict[str, pl.Series]()
        n_zero = 0
        for rule in self._rules:
            column, zero = self._computed(rule, values, rows)
            n_zero += zero
            new[rule.target] = column
            values[Column(rule.target)] = column.cast(pl.Float64).fill_null(float("nan")).to_numpy()
        earlier = (r for r in data.kin.ratios if r.target not in self.touches)
        carried = carried_on(data, rows, self._rules, before, values)
        after = rows.put_back(new, self._schema(data, new)).with_kin(
            ratios=(*earlier, *self._ratios), derived={**data.kin.derived, **carried}
        )
        recovered = count_given_back(after, after.kin.ratios)
        if recovered:
            raise Infeasible(
                f"Derive gives original amounts back: an intruder computes those of {recovered:,} records or more from "
                "the released columns.",
                best=f"unit = {self.unit:g}",
                next_step="Round to a larger unit, blur the column that the rule multiplies with, or leave out a rule.",
            )
        return Outcome(
            after,
            guarantees=self._guarantees(rows, carried),
            changes=tuple(_change(rows, name, column) for name, column in new.items()),
            figures={"n_divided_by_zero": n_zero, "n_recovered": 0},
            notes=(
                (Note("no original amount is computed back from the derived columns by rational reconstruction"),)
                if self._ratios
                else ()
            ),
        )

    def _check_names(self, data: Microdata, named: Sequence[Column]) -> None:
        original: Microdata = data.kin.original
        closed = (*data.schema.hidden, *original.schema.hidden)
        computed: set[str] = set()
        for rule in self._rules:
            for column in rule.columns:
                known = original.columns if column.original else (*data.columns, *computed)
                if column.name not in known:
                    where = "the plan's input" if column.original else "the data"
                    raise DataError(
                        f"The rule {rule.text!r} names {column}, which is not in {where}."
                        f"{did_you_mean(column.name, known)}"
                    )
                if column.name in closed:
                    raise DataError(f"The rule {rule.text!r} names {column}, which is never published.")
            if rule.target.startswith(native.RESERVED):
                raise DataError(f"{rule.target!r} begins like the columns that Flou adds for itself: name another.")
            if rule.target in closed or rule.target == data.schema.weight:
                raise DataError(f"{rule.target!r} is never published or is the weight: no rule computes it.")
            computed.add(rule.target)

    def _computed(self, rule: Rule, values: Mapping[Column, Floats], rows: Rows) -> tuple[pl.Series, int]:
        """A derived column and how many of its records divided by zero."""
        evaluation = Evaluation(values, len(rows))
        found = evaluation.of(rule.expression)
        missing = np.isnan(_missing(rule, values, len(rows)))
        zero = evaluation.divided_by_zero & ~missing
        n_zero = int(zero.sum())
        if n_zero and self.zero_division == "refuse":
            raise DataError(
                f"The rule {rule.text!r} divides by zero in {n_zero:,} records. Say what they show: "
                'zero_division = 0, or "null".'
            )
        without = int((~np.isfinite(found) & ~zero & ~missing).sum())
        if without:
            raise DataError(
                f"The rule {rule.text!r} has no finite value in {without:,} records that have all its columns. Bound "
                "what it takes a log or root of, or divides by, with min or max."
            )
        found = self._rounded(found, zero)
        whole = float(self.unit).is_integer()
        if rule.target in rows.frame.columns:
            held = rows.frame[rule.target]
            if held.dtype == pl.Date or not held.dtype.is_numeric():
                raise DataError(f"{rule.target!r} is {held.dtype}; a rule computes numbers.")
            if held.dtype.is_integer() and not whole:
                raise ParameterError(f"{rule.target!r} holds whole numbers, so unit must be one; it is {self.unit}.")
            whole = held.dtype.is_integer()
        column = pl.Series(rule.target, found, nan_to_null=True)
        return (column.cast(pl.Int64) if whole else column), n_zero

    def _rounded(self, found: Floats, zero: np.ndarray) -> Floats:
        """What is shown of computed values; `zero` are those that divided by zero."""
        shown = multiple_of(np.clip(np.rint(found / self.unit), *self._counts), self.unit)
        return np.where(zero, np.nan if isinstance(self.zero_division, str) else self.zero_division, shown)

    def _shown(self, rule: Rule, values: Mapping[Column, Floats], n: int) -> Floats:
        """What a rule shows, NaN where a column that it names has no value."""
        evaluation = Evaluation(values, n)
        found = evaluation.of(rule.expression)
        missing = np.isnan(_missing(rule, values, n))
        return np.where(missing, np.nan, self._rounded(found, evaluation.divided_by_zero & ~missing))

    def _schema(self, data: Microdata, new: Mapping[str, pl.Series]) -> Schema:
        schema = data.schema
        for name, column in new.items():
            if name in data.columns:
                schema = schema_of_new_values(data.with_frame(data.frame, schema), name, column)
                # a computed value that happens to be 999 is an amount
                codes = {c: v for c, v in schema.not_applicable.items() if c != name}
                schema = schema.with_changes(not_applicable=codes)
            else:
                schema = schema.with_changes(others=(*schema.others, name))
        return schema

    def _guarantees(self, rows: Rows, carried: Mapping[str, Carried]) -> tuple[Guarantee, ...]:
        everybody = Remembered(rows.owners, np.zeros(len(rows), dtype=np.int8))
        attacked = (NothingGivenBack(self),) if self._ratios else ()
        return (DerivedMultiples(self, everybody), NoCopies(self, carried), *attacked)


@dataclass(frozen=True, eq=False)
class _OfDerived(Guarantee):
    """A promise of the columns that a step derives."""

    method: Derive

    @property
    def columns(self) -> tuple[str, ...]:
        return self.method.touches

    @property
    def unit(self) -> float:
        return self.method.unit


@dataclass(frozen=True, eq=False)
class DerivedMultiples(_OfDerived):
    """Derived columns show multiples of the unit."""

    everybody: Remembered = field(repr=False)

    text = "{columns}: shown in multiples of {unit}"

    def violations(self, data: Microdata) -> int:
        shown = [t for t in self.columns if _numeric(data, {t})]
        _, now = self.everybody.beside(data, shown)
        counts = [Amounts.of(data, now[t]).values / self.unit for t in shown]
        return int(sum((np.abs(c - np.rint(c)) > 1e-6).sum() for c in counts))


@dataclass(frozen=True, eq=False)
class NoCopies(_OfDerived):
    """Derived columns show nothing of the input that a later step hides."""

    carried: Mapping[str, Carried] = field(repr=False)

    text = "{columns}: nothing that a later step hides stands in a derived column"

    def violations(self, data: Microdata) -> int:
        return count_copies(data, self.carried, self.method._rules, self.method._shown)


class NothingGivenBack(_OfDerived):
    """Rational reconstruction recovers no original amount."""

    text = "{columns}: no original amount is computed back from the ratios"

    def violations(self, data: Microdata) -> int:
        return count_given_back(data, data.kin.ratios) if data.kin.original is not None else 0


def _missing(rule: Rule, values: Mapping[Column, Floats], n: int) -> Floats:
    """NaN where a column that the rule names has no value."""
    return np.asarray(sum((values[c] * 0.0 for c in rule.columns), np.zeros(n)), dtype=np.float64)


def _numeric(data: Microdata, names: set[str]) -> bool:
    schema = data.frame.collect_schema()
    return all(name in data.columns and schema[name].is_numeric() for name in names)


def _change(rows: Rows, name: str, column: pl.Series) -> Change:
    if name not in rows.frame.columns:
        return Change(name, len(column))
    return Change(name, int(rows.frame[name].cast(pl.Float64).ne_missing(column.cast(pl.Float64)).sum()))
