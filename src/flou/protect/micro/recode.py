"""Global recoding: replace the values of a variable by coarser ones, for everybody.

To a level of the variable's hierarchy, or by a mapping. It keeps every record and the truth of each
value, at the price of detail. It does not guarantee k by itself: measure again, or drop what is left.
Reference: Hundepool et al. (2012), *Statistical Disclosure Control*.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from pydantic import Field, model_validator

from flou.describe.microdata import Microdata
from flou.engine.errors import DataError, HierarchyError, ParameterError, listed
from flou.engine.guarantee import Guarantee
from flou.engine.method import require_columns
from flou.engine.parameters import Pairs
from flou.engine.protection import Claim, Protection
from flou.engine.randomness import Draws
from flou.engine.release import Outcome
from flou.engine.taxonomy import always
from flou.engine.values import as_written_in, text_of
from flou.protect.micro.replaced import (
    known_values,
    replace_values,
    rest_of_hierarchy,
    schema_after,
    value_counts,
)


class Recode(Protection):
    """Replace a column's values by their group: `Recode("age", level=1)` or `Recode("job", mapping={…})`."""

    reference: ClassVar[str] = "hundepool2012"
    title: ClassVar[str] = "global recoding"
    audience = "public"
    perturbative = False
    answers_by = always(identity="reduces")
    allows_several_rows: ClassVar[bool] = True
    preserves: ClassVar[tuple[Claim, ...]] = (
        "records",
        "untouched columns",
    )

    column: str = Field(description="the column to recode")
    level: int | str | None = Field(None, description="level of the column's hierarchy, by number or name")
    mapping: Pairs | None = Field(None, description="new value of each value")

    @model_validator(mode="after")
    def _one_way(self) -> Recode:
        if (self.level is None) == (self.mapping is None):
            raise ParameterError(
                "give either level= (of the column's hierarchy) or mapping=, not both and not neither."
            )
        if isinstance(self.level, int) and self.level < 1:
            raise ParameterError(f"level = {self.level} changes nothing; levels begin at 1.")
        return self

    @property
    def recodes(self) -> str | None:
        return self.column

    def _protect(self, data: Microdata, draw: Draws) -> Outcome:
        require_columns(data, (self.column,), "Recode")
        if self.column == data.schema.weight or self.column in data.schema.hidden:
            roles = ", ".join(data.schema.roles(self.column))
            raise DataError(f"{self.column!r} is {roles}: it has no groups to be recoded to.")
        observed, counts = value_counts(data, self.column)
        mapping = self._mapping(data, known_values(data, self.column, observed))
        hierarchy = None if self.level is None else rest_of_hierarchy(data, self.column, self.level, mapping)
        schema = schema_after(data.schema, self.column, mapping, hierarchy)
        recoded, change = replace_values(data, self.column, mapping, counts, schema)
        targets = {text_of(v) for v in mapping.values()}
        gone = frozenset({text_of(v) for v in mapping} - targets)
        return Outcome(recoded, guarantees=(NoneLeft(self.column, gone),), changes=(change,))

    def _mapping(self, data: Microdata, values: list[object]) -> dict[object, object]:
        keep = data.schema.not_applicable.get(self.column, ())
        if self.mapping is None:
            hierarchy = data.schema.hierarchies.get(self.column)
            if hierarchy is None:
                raise HierarchyError(
                    f"The column {self.column!r} has no hierarchy, so level = {self.level!r} means nothing. "
                    "Declare one in the schema (hierarchies={…}), or give mapping=."
                )
            assert self.level is not None
            try:
                mapping = hierarchy.generalise(values, self.level, keep=keep)
            except HierarchyError as error:
                raise HierarchyError(f"Recode of {self.column!r}: {error}") from None
            return _one_type(mapping)
        dtype = data.frame.collect_schema()[self.column]
        new = {text_of(as_written_in(dtype, old)): value for old, value in self.mapping}
        if len(new) < len(self.mapping):
            raise ParameterError(f"mapping names a value of {self.column!r} twice, in two time zones: name it once.")
        kept = {text_of(v) for v in keep}
        missing = [v for v in values if text_of(v) not in new and text_of(v) not in kept]
        if missing:
            raise DataError(
                f"Recode of {self.column!r}: the mapping misses {len(missing)} values: {listed(missing)}. "
                "Map each value, to itself if it should stay."
            )
        return _one_type({v: new.get(text_of(v), v) for v in values})


@dataclass(frozen=True, eq=False)
class NoneLeft(Guarantee):
    """No record shows one of the values that were replaced."""

    column: str
    gone: frozenset[str] = field(repr=False)

    text = "no value of {column} finer than its recoding is left"

    def violations(self, data: Microdata) -> int:
        if self.column not in data.columns:
            return 0
        _, counts = value_counts(data, self.column)
        return sum(n for value, n in counts.items() if value is not None and text_of(value) in self.gone)


def _one_type(mapping: dict[object, object]) -> dict[object, object]:
    """Mixed results (a code kept beside text labels) become text, so that the column has one type."""
    kinds = {type(v) for v in mapping.values()}
    if len(kinds) <= 1:
        return mapping
    if kinds == {int, float}:
        return {old: float(new) for old, new in mapping.items()}  # type: ignore[arg-type]
    return {old: text_of(new) for old, new in mapping.items()}
