"""Top and bottom coding: values beyond a bound become one value.

Extreme values single people out; everybody beyond the bound is shown alike. The bound is given, or
taken at a quantile and then rounded to a round number: an exact quantile would itself be somebody's
value. It keeps every value on the near side. Reference: Hundepool et al. (2012).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import narwhals as nw
from pydantic import Field, model_validator

from flou.describe.microdata import Microdata
from flou.describe.schema import Schema
from flou.describe.units import count_where
from flou.engine import native
from flou.engine.errors import DataError, ParameterError
from flou.engine.guarantee import Guarantee
from flou.engine.method import require_columns
from flou.engine.note import Note
from flou.engine.parameters import Number
from flou.engine.protection import Claim, Protection
from flou.engine.randomness import Draws
from flou.engine.release import Change, Outcome
from flou.engine.taxonomy import always
from flou.engine.values import codes_in, exact_number
from flou.protect.micro.exact_floats import exact_floats
from flou.protect.micro.replaced import known_values, schema_after, value_counts


class _OneSided(Protection):
    """What top and bottom coding share; `_side` is +1 or -1."""

    reference: ClassVar[str] = "hundepool2012"
    perturbative = False
    answers_by = always(identity="reduces", amounts="reduces")
    allows_several_rows: ClassVar[bool] = True
    preserves: ClassVar[tuple[Claim, ...]] = (
        "records",
        "untouched columns",
    )
    _side: ClassVar[int]

    column: str = Field(description="the numeric column to code")
    at: Number | None = Field(None, description="the bound; values beyond it are replaced")
    quantile: float | None = Field(None, gt=0.0, lt=1.0, description="take the bound at this quantile, rounded")
    unit: float | None = Field(None, gt=1e-12, description="round a bound found by quantile to this unit")
    replacement: Number | None = Field(None, description="value shown instead; default: the bound itself")

    @model_validator(mode="after")
    def _one_bound(self) -> _OneSided:
        if (self.at is None) == (self.quantile is None):
            raise ParameterError("give either at= (a bound) or quantile=, not both and not neither.")
        if self.unit is not None and self.quantile is None:
            raise ParameterError("unit= rounds a bound found by quantile=; a bound given with at= is taken as it is.")
        if self.at is not None:
            self._shown(self.at)
        return self

    @property
    def recodes(self) -> str | None:
        return None if self.at is None else self.column

    def _shown(self, bound: float) -> float:
        """The value shown instead of those beyond the bound."""
        if self.replacement is None:
            return bound
        if self._beyond(bound, self.replacement):
            raise ParameterError(
                f"replacement = {self.replacement} lies on the near side of the bound {bound}: "
                "it would be taken for a true value."
            )
        return self.replacement

    def _beyond(self, value: float, bound: float) -> bool:
        return value > bound if self._side > 0 else value < bound

    def _bound(self, data: Microdata) -> float:
        if self.at is not None:
            return self.at
        assert self.quantile is not None
        codes = self._codes(data)
        measured = data.frame.filter(~nw.col(self.column).is_in(codes)) if codes else data.frame
        value = nw.col(self.column).quantile(self.quantile, interpolation="linear")
        found = native.collect(measured.select(value)).item()
        if found is None:
            raise DataError(f"The column {self.column!r} has no value, so it has no quantile.")
        # rounded towards the middle, so that no more than the quantile's share stays visible; the small
        # allowance keeps a quantile that is round already where it is
        whole = data.frame.collect_schema()[self.column].is_integer()
        exact = float(found)
        if not math.isfinite(exact):
            raise DataError(f"The quantile of {self.column!r} is not finite: code its infinite values first.")
        unit = self.unit or 10.0 ** (math.floor(math.log10(abs(exact))) - 1 if exact else 0)
        unit = max(unit, 1.0) if whole and self.unit is None else unit
        rounded = math.floor(exact / unit + 1e-9) if self._side > 0 else math.ceil(exact / unit - 1e-9)
        return float(f"{rounded * unit:.12g}")

    def _protect(self, data: Microdata, draw: Draws) -> Outcome:
        bound, shown = self._bounds(data)
        # fixed decimals become floats: a bound need not have as many places as the column
        dtype = data.frame.collect_schema()[self.column]
        kind = nw.Int64 if dtype.is_integer() else nw.Float64
        if dtype.is_decimal():
            for rows in native.batches(data.frame.select(self.column)):
                exact_floats(rows[self.column])
        coded = self._coded(data, bound)
        value = nw.when(coded).then(nw.lit(shown, kind)).otherwise(nw.col(self.column).cast(kind))
        n = count_where(data, coded)
        return Outcome(
            data.with_frame(data.frame.with_columns(value.alias(self.column)), self._schema(data, bound, shown)),
            guarantees=(NoneBeyond(self, bound, shown),),
            changes=(Change(self.column, n),),
            figures={"bound": bound, "replacement": shown, "n_coded": n},
        )

    def _bounds(self, data: Microdata) -> tuple[float, float]:
        """The bound and the value shown beyond it, once it is sure that the column can have them."""
        require_columns(data, (self.column,), type(self).__name__)
        dtype = data.frame.collect_schema()[self.column]
        if not dtype.is_numeric():
            raise DataError(f"{type(self).__name__} needs a numeric column; {self.column!r} is {dtype}.")
        if self.column in data.schema.hidden:
            raise DataError(f"{self.column!r} is never published, so there is nothing to code.")
        bound = self._bound(data)
        shown = self._shown(bound)
        if self.column == data.schema.weight and shown < 0:
            raise ParameterError(f"{self.column!r} is the weight, which cannot be negative; it would become {shown}.")
        if shown in self._codes(data):
            raise ParameterError(f"{shown} means not applicable in {self.column!r}: it cannot also stand for values.")
        if dtype.is_integer():
            return _whole(bound, "the bound", self.column), _whole(shown, "the replacement", self.column)
        return bound, shown

    def _schema(self, data: Microdata, bound: float, shown: float) -> Schema:
        """The schema of the coded file: of a key every value is mapped, so that its rules speak of the new values."""
        before = data.schema
        counted = self.column in (*before.keys, *before.modalities)
        values = known_values(data, self.column, value_counts(data, self.column)[0]) if counted else []
        mapping = {v: (shown if self._is_coded(data, v, bound) else v) for v in values}
        hierarchy = before.hierarchies.get(self.column)
        if hierarchy is not None and not hierarchy.covers(shown):
            hierarchy = None
        after = schema_after(before, self.column, mapping, hierarchy)
        labels = before.value_labels.get(self.column, {})
        kept = {text: label for text, label in labels.items() if not self._is_coded(data, text, bound)}
        value_labels = {**after.value_labels, **({self.column: kept} if kept else {})}
        return after.with_changes(types=before.types, value_labels=value_labels)

    def _is_coded(self, data: Microdata, value: object, bound: float) -> bool:
        """Whether a value, perhaps declared as text, lies beyond the bound."""
        number, limit = exact_number(value), exact_number(bound)
        if number is None or limit is None or number in map(exact_number, self._codes(data)):
            return False
        return number > limit if self._side > 0 else number < limit

    def _coded(self, data: Microdata, bound: float) -> nw.Expr:
        """Records to code: beyond the bound, and not a not-applicable code such as 999."""
        column = nw.col(self.column)
        beyond = column > bound if self._side > 0 else column < bound
        codes = self._codes(data)
        return beyond & ~column.is_in(codes) if codes else beyond

    def _codes(self, data: Microdata) -> list[float]:
        """Codes such as 999 that stand for "not applicable": they are neither coded nor measured."""
        dtype = data.frame.collect_schema()[self.column]
        return codes_in(dtype, data.schema.not_applicable.get(self.column, ()))


@dataclass(frozen=True, eq=False)
class NoneBeyond(Guarantee):
    """No value beyond a bound is shown, but for the one that stands for them."""

    method: _OneSided
    bound: float
    shown: float

    @property
    def promise(self) -> Note:
        text = "no value of {column} below {bound} is shown"
        if self.method._side > 0:
            text = "no value of {column} above {bound} is shown"
        return Note(text, {"column": self.method.column, "bound": self.bound})

    def violations(self, data: Microdata) -> int:
        column = self.method.column
        if column not in data.columns or not data.frame.collect_schema()[column].is_numeric():
            return 0  # dropped or recoded since: its values are no longer shown
        return count_where(data, self.method._coded(data, self.bound) & (nw.col(column) != self.shown))


def _whole(number: float, what: str, column: str) -> int:
    if not float(number).is_integer():
        raise ParameterError(f"{column!r} holds whole numbers, so {what} must be one too; it is {number}.")
    return int(number)


class TopCode(_OneSided):
    """Show every value above a bound as one value: `TopCode("age", at=95)`."""

    title: ClassVar[str] = "top coding"
    audience = "public"
    _side: ClassVar[int] = 1


class BottomCode(_OneSided):
    """Show every value below a bound as one value: `BottomCode("income", quantile=0.01)`."""

    title: ClassVar[str] = "bottom coding"
    audience = "public"
    _side: ClassVar[int] = -1
