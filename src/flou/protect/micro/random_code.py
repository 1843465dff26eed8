"""Random codes for small areas (Djiriguian, Missègue & Ricroch 2022): their units get a code without meaning.

A code of its own for each small area would be undone by anybody who knows the areas' sizes, which are
published statistics: the code held by 1,510 people is the area with 1,510. So the units of all small areas are
dealt at random over codes of equal size, and neither the size of a code nor its content belongs to an area.
Keeps the areas that are large enough, and that a record is from a small one. It protects nothing where
another column tells the area (a local price, say), and one or two hidden areas would be found as the only
ones missing: at least three are hidden.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
import polars as pl
from pydantic import Field

from flou.describe.microdata import Microdata
from flou.engine import native
from flou.engine.errors import DataError, Infeasible, ParameterError
from flou.engine.guarantee import Guarantee
from flou.engine.note import Note
from flou.engine.protection import Claim, Protection
from flou.engine.randomness import Draws
from flou.engine.release import Change, Outcome
from flou.engine.taxonomy import always
from flou.engine.values import as_texts, text_of
from flou.protect.micro.promise import LARGER_CLASSES
from flou.protect.micro.remembered import Remembered
from flou.protect.micro.replaced import schema_of_new_values
from flou.protect.micro.rows import Rows, read_rows

_SIZE = f"{native.RESERVED}size"


_JOINED = (
    "{n_joined} of them are large enough and are hidden with the others, so that {least} areas or more, "
    "and units enough, share the codes"
)


class RandomCode(Protection):
    """Give the units of small areas a code without meaning: `RandomCode("department", min_size=2000)`."""

    reference: ClassVar[str] = "djiriguian2022"
    title: ClassVar[str] = "random codes of small areas"
    audience = "public"
    perturbative = False
    answers_by = always(identity="reduces")
    preserves: ClassVar[tuple[Claim, ...]] = ("records", "untouched columns")
    chooses_keys: ClassVar[bool] = True

    column: str = Field(description="the column of areas, or of other groups")
    min_size: int = Field(2000, ge=2, description="areas with fewer units than this are hidden")
    min_areas: int = Field(3, ge=3, description="how many areas are hidden at least; the smallest others join them")
    prefix: str = Field("R", min_length=1, description="what the codes begin with: R1, R2, …")

    def _protect(self, data: Microdata, draw: Draws) -> Outcome:
        rows = read_rows(data, (self.column,), type(self).__name__)
        if self.column in data.schema.hidden:
            raise DataError(f"{self.column!r} is never published, so it needs no code.")
        areas = as_texts(rows.frame[self.column])
        small = self._small(areas)
        if not small:
            note = Note("every area of {column} is large enough: nothing was hidden", {"column": self.column})
            promises = (self._shown_in_full(areas, small=(), codes=()),)
            return Outcome(data, guarantees=promises, figures=_figures(0, 0, 0), notes=(note,))
        hidden = areas.is_in(small).fill_null(False).to_numpy()
        codes = [f"{self.prefix}{i + 1}" for i in range(len(small))]
        taken = sorted(set(areas.drop_nulls().unique()) & set(codes))
        if taken:
            raise ParameterError(f"prefix = {self.prefix!r} makes codes that areas have already: {', '.join(taken)}.")
        members = np.flatnonzero(hidden)
        dealt = np.empty(len(members), dtype=np.int64)
        dealt[draw.bound(self.column).order(rows.ids[members])] = np.arange(len(members)) % len(codes)
        new = np.asarray(areas.to_numpy(), dtype=object)
        new[members] = np.array(codes, dtype=object)[dealt]
        shown = pl.Series(self.column, new.tolist(), dtype=pl.String)
        schema = schema_of_new_values(data, self.column, shown)
        schema = schema.with_changes(types={c: "text" if c == self.column else t for c, t in schema.types.items()})
        sizes = areas.value_counts(name=_SIZE)
        n_joined = sizes.filter(pl.col(self.column).is_in(small) & (pl.col(_SIZE) >= self.min_size)).height
        counts: dict[str, object] = {"column": self.column, "n_areas": len(small), "n_records": len(members)}
        notes = [Note("{n_areas} small areas of {column} are hidden, {n_records} records", counts, internal=True)]
        if n_joined:
            notes.append(Note(_JOINED, {**counts, "n_joined": n_joined, "least": self.min_areas}, internal=True))
        return Outcome(
            rows.put_back({self.column: shown}, schema),
            guarantees=(self._shown_in_full(areas, small, codes), self._unmatched(rows, areas, small)),
            changes=(Change(self.column, len(members), areas.n_unique(), shown.n_unique()),),
            figures=_figures(len(small), len(members), len(codes)),
            notes=tuple(notes),
            details={"hidden": tuple(small)},
        )

    def _small(self, areas: pl.Series) -> list[str]:
        """The areas to hide: those below the size, and the smallest others until they are enough together."""
        sizes = areas.drop_nulls().value_counts(name=_SIZE).sort([_SIZE, self.column])
        names, counts = sizes[self.column].to_list(), sizes[_SIZE].to_numpy()
        n = int((counts < self.min_size).sum())
        if n == 0:
            return []
        while n < len(names) and (n < self.min_areas or counts[:n].sum() < self.min_size):
            n += 1
        if n == len(names) or n < self.min_areas or counts[:n].sum() < self.min_size:
            raise Infeasible(
                f"RandomCode cannot hide the small areas of {self.column!r} among others: all {len(names)} areas, with "
                f"{int(counts.sum()):,} units, would have to be hidden, and none would be left.",
                best=f"{n} areas with {int(counts[:n].sum()):,} units",
                next_step="Take a smaller min_size, or recode the areas to larger ones.",
            )
        return names[:n]

    def _shown_in_full(self, areas: pl.Series, small: Sequence[str], codes: Sequence[str]) -> Guarantee:
        """No area that holds too few units, or held too few when codes were given, stands in the file."""
        sizes = areas.drop_nulls().value_counts(name=_SIZE)
        few = {*small, *sizes.filter(pl.col(_SIZE) < self.min_size)[self.column].to_list()}
        remedy = (
            f"{LARGER_CLASSES}; or let local_suppression come last and null other keys than {self.column!r} "
            f"(importance = {{{self.column} = 100}})"
        )
        return NoSmallArea(self.column, self.min_size, frozenset(few), frozenset(codes), remedy=remedy)

    def _unmatched(self, rows: Rows, areas: pl.Series, small: list[str]) -> Guarantee:
        """Codes matched with areas by their sizes find no more people than naming the largest area does."""
        number = {name: i for i, name in enumerate(small)}
        area = np.array([number.get(a, -1) for a in areas.to_list()], dtype=np.int64)
        return NotMatchedBySize(self.column, Remembered(rows.owners, area))


@dataclass(frozen=True, eq=False)
class NoSmallArea(Guarantee):
    """No area is shown that has few units, or had few when codes were given."""

    column: str
    size: int
    few: frozenset[str] = field(repr=False)
    given: frozenset[str] = field(repr=False)

    text = "no area of {column} with fewer than {size} units is shown"

    def violations(self, data: Microdata) -> int:
        if self.column not in data.columns:
            return 0
        held = data.key_table([self.column])
        shown = [None if v is None else text_of(v) for v in held.frame[self.column].to_list()]
        # a later step may have taken units of an area away
        small_now = held.counts < self.size
        named = np.array([v is not None and v not in self.given for v in shown], dtype=np.bool_)
        were_few = np.array([v in self.few for v in shown], dtype=np.bool_)
        return int(held.counts[named & (small_now | were_few)].sum())


@dataclass(frozen=True, eq=False)
class NotMatchedBySize(Guarantee):
    """Codes matched with areas by their sizes find few people."""

    column: str
    #: The number of each unit's area, -1 where it was large enough.
    area: Remembered = field(repr=False)

    text = "the codes of {column} cannot be matched to areas by size"

    def violations(self, data: Microdata) -> int:
        if self.column not in data.columns:
            return 0
        area, now = self.area.beside(data, [self.column])
        inside = area >= 0
        code = as_texts(now[self.column]).filter(pl.Series(inside)).fill_null("").to_numpy()
        return matched_by_size(area[inside], code)


def matched_by_size(area: np.ndarray, code: np.ndarray) -> int:
    """People whose area an intruder finds by matching codes to areas of like size, beyond what chance gives.

    Both are ordered by size; the first code is taken for the largest area, and so on. By chance he is right as
    often as codes and areas meet when people are dealt out, give or take five standard errors; people of the
    largest area are counted apart, or they would hide that a few of the others are found.
    """
    if not len(area):
        return 0
    codes, coded = np.unique(code, return_inverse=True)
    n_areas, n_codes = np.bincount(area), np.bincount(coded)
    by_area, by_code = np.argsort(-n_areas, kind="stable"), np.argsort(-n_codes, kind="stable")
    guess = np.full(len(codes), -1)
    n = min(len(by_area), len(by_code))
    guess[by_code[:n]] = by_area[:n]
    right = guess[coded] == area
    usual = np.where(guess >= 0, n_codes * n_areas[guess] / len(area), 0.0)
    largest = guess == by_area[0]
    for some in (largest, ~largest):
        hits, chance = int(right[some[coded]].sum()), float(usual[some].sum())
        if hits > chance + 5 * np.sqrt(chance) + 1:
            return int(right.sum())
    return 0


def _figures(n_areas: int, n_records: int, n_codes: int) -> dict[str, int]:
    return {"n_areas_hidden": n_areas, "n_records_hidden": n_records, "n_codes": n_codes}
