"""Counts as multiples of a base: the nearest one, or at random one of the two adjacent ones without bias.

Conventional rounding (halves go up) is known to everybody to the last count: a published 10 at base 5 is one of 8 to 12
for certain, and rounded parts beside their rounded total tell more. Unbiased random rounding (Nargundkar & Saveland
1972; see Willenborg & de Waal 2001) goes up with probability remainder / base, so that figures are right on average and
the true one lies within base - 1 on either side. Repeated draws would average out, so each cell has one draw for good:
its cell key where the table has keys, else a keyed hash of its coordinates and its number of contributors.

Both keep multiples of the base, and with them zeros, as they are. Rounded cell by cell, margins are not the sums of
their parts; `additive = "controlled"` chooses the multiples of all cells together so that they are (`controlled`).
They do not protect against adding up or taking apart many rounded cells, nor weighted estimates whose weights are large
beside the base. Sums of amounts are left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from flou.describe.mechanism.cell_keys import KEYS, require_random
from flou.describe.mechanism.mechanism import Mechanism
from flou.describe.mechanism.rounding import ControlledRounding, ConventionalRounding, UnbiasedRounding
from flou.describe.table.cells import Ints, Published
from flou.describe.table.coordinates import hash_coordinates
from flou.describe.table.table import Table
from flou.describe.table.table_set import tables_of
from flou.engine.errors import DataError
from flou.engine.note import Note
from flou.engine.randomness import Draws
from flou.engine.release import Outcome
from flou.engine.taxonomy import always
from flou.protect.table.additivity import require_parts
from flou.protect.table.controlled import round_together
from flou.protect.table.count_protection import AddsUp, CountProtection, NoSums, ZerosStay
from flou.protect.table.protection import TableGuarantee, require_unprotected

#: Whether each cell is rounded by itself, or all of them together so that margins add up.
Additive = Literal["no", "controlled"]
_ADDITIVE = '"controlled" rounds all cells together, so that every margin is the sum of its parts'


class _Multiples(CountProtection):
    """What both kinds share: figures are multiples of the base, true multiples stay."""

    perturbative = True
    answers_by = always(inference="reduces", differencing="reduces", reconstruction="reduces")

    base: int = Field(ge=2, le=10_000, description="counts become multiples of this")
    additive: Additive = Field("no", description=_ADDITIVE)

    def _protect(self, data: Any, draw: Draws) -> Outcome:
        return super()._protect(data, draw) if self.additive == "no" else self._rounded_together(data, draw)

    def _rounded_together(self, data: Any, draw: Draws) -> Outcome:
        """All cells of one table, or of a set, at once."""
        tables = tables_of(data)
        require_unprotected(tables)
        for table in tables:
            if table.cells.weighted is not None:
                raise DataError(
                    'additive = "controlled" makes whole counts add up, and the table shows weighted estimates. '
                    'Tabulate without weight=, or set additive = "no".'
                )
            require_parts(table)
        found = round_together(tables, self.base, self._aims(tables, draw))
        mechanism = ControlledRounding(self.base, found.within)
        done = [
            table.with_changes(published=Published(count=figures), mechanism=mechanism)
            for table, figures in zip(tables, found.figures, strict=True)
        ]
        outcome = self._outcome(data, done, self._promises_together(mechanism))
        notes = outcome.notes
        if found.within > 1:
            text = "no table of adjacent multiples adds up: cells move by less than {n} bases, the least that gives one"
            notes = (*notes, Note(text, {"n": found.within}))
        return replace(outcome, notes=notes, figures={**outcome.figures, "within": found.within})

    def _aims(self, tables: Sequence[Table], draw: Draws) -> Sequence[NDArray[np.bool_]] | None:
        """Which cells should go up; by default those whose deviation is less then."""
        return None

    def _promises_together(self, mechanism: ControlledRounding) -> Sequence[TableGuarantee]:
        near = MovedByLess(mechanism.reach + 1)
        own = (near, MultiplesStay(self.base)) if mechanism.within == 1 else (near,)
        return (AddsUp(), *own, *self._lasting_promises(), ZerosStay(), NoSums())

    def _lasting_promises(self) -> Sequence[TableGuarantee]:
        return (OnlyMultiples(self.base),)

    def _notes(self, tables: Sequence[Table]) -> Sequence[Note]:
        """A person of a weight beyond the base is not hidden by rounding to it."""
        weights = sum(float(t.cells.weighted.sum()) for t in tables if t.cells.weighted is not None)
        people = sum(int(t.true_counts.sum()) for t in tables if t.cells.weighted is not None)
        out = list(super()._notes(tables))
        if people and weights / people > self.base:
            text = (
                "a record stands for {weight} units on average, more than the base {base}: rounding does not hide "
                "whether a single record is in a cell"
            )
            out.append(Note(text, {"weight": round(weights / people, 1), "base": self.base}, internal=True))
        return out


@dataclass(frozen=True, eq=False)
class _OfRounding(TableGuarantee):
    """A promise about multiples of a base."""

    base: int


class MovedByLess(_OfRounding):
    """No figure lies as far from the true one as the base."""

    text = "no count is moved by {base} or more"

    def wrong(self, table: Table) -> int:
        return int((_deviations(table) >= self.base).sum())


class MovedByHalf(_OfRounding):
    """No figure lies further from the true one than half the base."""

    text = "no count is moved by more than {half}, half the base"

    @property
    def half(self) -> float:
        return self.base / 2 if self.base % 2 else self.base // 2

    def wrong(self, table: Table) -> int:
        return int((2 * _deviations(table) > self.base).sum())


class MultiplesStay(_OfRounding):
    """True multiples are shown."""

    text = "a multiple of {base} stays as it is"

    def wrong(self, table: Table) -> int:
        stays = np.remainder(_true(table), self.base) == 0
        return int((stays & (_deviations(table) > 0)).sum())


class OnlyMultiples(_OfRounding):
    """Every figure is a multiple."""

    text = "every count shown is a multiple of {base}"

    def wrong(self, table: Table) -> int:
        return int((np.remainder(table.published_counts, self.base) != 0).sum())


class Rounding(_Multiples):
    """Round each count to the nearest multiple of a base; halfway, upwards: `Rounding(5)`."""

    title: ClassVar[str] = "conventional rounding of counts"
    audience = "public"
    reference: ClassVar[str] = "willenborg2001"

    @cached_property
    def mechanism(self) -> ConventionalRounding:
        """How true counts become multiples: for certain."""
        return ConventionalRounding(self.base)

    def _moved(self, table: Table, draw: Draws) -> Ints:
        below, remainders = split_multiples(_true(table), self.base)
        return below + self.base * (2 * remainders >= self.base)

    def _cell_promises(self) -> Sequence[TableGuarantee]:
        return (MovedByHalf(self.base),)


class RandomRounding(_Multiples):
    """Round each count at random to an adjacent multiple of a base, without bias: `RandomRounding(5)`."""

    title: ClassVar[str] = "unbiased random rounding of counts"
    audience = "public"
    reference: ClassVar[str] = "nargundkar1972"
    uses = ("cell keys",)

    @cached_property
    def mechanism(self) -> UnbiasedRounding:
        """The chances of the two multiples."""
        return UnbiasedRounding(self.base)

    def _mechanism_of(self, table: Table) -> Mechanism | None:
        """By keys cells of the same people are rounded alike, which an intruder may make use of."""
        described = super()._mechanism_of(table)
        return described if described is None or not table.has_keys else UnbiasedRounding(self.base, "contributors")

    def _aims(self, tables: Sequence[Table], draw: Draws) -> Sequence[NDArray[np.bool_]] | None:
        """The draws of single cells, of which as many are kept as add up."""
        return [self._moved(table, draw) > _true(table) for table in tables]

    def _moved(self, table: Table, draw: Draws) -> Ints:
        below, remainders = split_multiples(_true(table), self.base)
        if table.cells.key is not None:
            require_random(table.true_counts, table.cells.key)
        keys = table.cells.key if table.cells.key is not None else draw_keys(table, draw)
        # up when key / 2^32 < remainder / base, in whole numbers where the counts are
        return below + self.base * (keys * self.base < remainders * KEYS)

    def _cell_promises(self) -> Sequence[TableGuarantee]:
        return (MovedByLess(self.base), MultiplesStay(self.base))


def split_multiples(figures: NDArray[Any], base: int) -> tuple[Ints, NDArray[Any]]:
    """The multiple at or below each figure, and what is left of it in [0, base)."""
    below = (np.floor_divide(figures, base) * base).astype(np.int64)
    return below, figures - below


def draw_keys(table: Table, draw: Draws) -> Ints:
    """A number below 2^32 for each cell, the same wherever the cell stands.

    It depends on the secret, the cell's coordinates and its number of contributors. The latter is there so that the
    cell of another year, with other people, has a draw of its own: what is learnt of one does not serve for the next.
    """
    lasting = draw.lasting("random rounding of a cell")
    cells = hash_coordinates(table, lambda texts: lasting.bits(texts, 0)) + lasting.bits(table.true_counts, 1)
    return (lasting.bits(cells.view(np.int64), 2) >> np.uint64(32)).astype(np.int64)


def _deviations(table: Table) -> NDArray[Any]:
    moved: NDArray[Any] = np.abs(table.published_counts - _true(table))
    return moved


def _true(table: Table) -> NDArray[Any]:
    return table.true_counts if table.cells.weighted is None else table.cells.weighted
