"""Rank swapping (Moore 1996): exchange values between records of close rank.

Each column is sorted; from the smallest value on, each one that was not swapped yet is swapped with a partner
drawn among those not swapped yet within `reach` ranks above. It keeps each marginal exactly; links to other
columns weaken as `reach` grows. Weak on extreme values when `reach` is small: the largest income goes to one of
the next largest, and everybody near the top still looks rich. Combine it with top coding.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import polars as pl
from numpy.typing import NDArray
from pydantic import Field

from flou.describe.microdata import Microdata
from flou.engine.errors import DataError
from flou.engine.parameters import Columns, Names
from flou.engine.protection import Claim, Protection
from flou.engine.randomness import Draws
from flou.engine.release import Change, Outcome
from flou.engine.taxonomy import always
from flou.engine.values import Proportion
from flou.protect.micro.kept_input import KeptInput
from flou.protect.micro.perturbable import require_numbers, require_perturbable, schema_of_perturbed
from flou.protect.micro.rows import read_rows
from flou.protect.micro.swapped import Swapped, refuse_groups_of_one

Integers = NDArray[np.int64]


class RankSwap(Protection):
    """Exchange numbers between records of close rank: `RankSwap(["income", "spending"], reach=0.05)`."""

    reference: ClassVar[str] = "moore1996"
    title: ClassVar[str] = "rank swapping"
    audience = "public"
    perturbative = True
    answers_by = always(identity="reduces", homogeneity="reduces", amounts="reduces")
    preserves: ClassVar[tuple[Claim, ...]] = ("records", "untouched columns", "marginal")

    columns: Columns = Field(description="numeric or date columns, each swapped by itself")
    reach: float = Field(
        0.05,
        gt=0.0,
        le=1.0,
        description="largest distance in rank, as a share of the records; one rank at least",
        json_schema_extra={"secret": True},
    )
    by: Names = Field((), description="values are swapped within groups of these columns")

    def _protect(self, data: Microdata, draw: Draws) -> Outcome:
        from flou.protect.micro.swap_kernels import sort_stably

        what = type(self).__name__
        require_perturbable(data, self.columns, what, self.by)
        rows = read_rows(data, [*self.columns, *self.by], what)
        groups = rows.strata(self.by)
        mixed = sort_stably(draw.bits(rows.ids, 0), np.arange(len(rows)))  # the order of records of the same value
        new: dict[str, pl.Series] = {}
        moved: dict[str, pl.Series] = {}
        guarantees, figures = [], {}
        for number, column in enumerate(self.columns):
            held = rows.amounts(column)
            require_numbers(held, what)
            some = mixed if held.known.all() else mixed[held.known[mixed]]
            ranked = _ranked(held.values, groups, some, n_groups=int(groups.max(initial=0)) + 1)
            sizes = np.bincount(groups[ranked]) if self.by else np.array([len(ranked)])
            refuse_groups_of_one(int((sizes == 1).sum()), what)
            reaches = np.maximum(1, np.floor(self.reach * sizes + 1e-9)).astype(np.int64)
            partner = _partners(sizes, reaches, draw.bits(rows.ids[ranked], number + 1))
            source = np.arange(len(rows))
            source[ranked] = ranked[partner]
            new[column] = held.held.gather(source)
            moved[column] = held.held.ne_missing(new[column])
            n_moved = int(moved[column].sum())
            if not n_moved:
                raise DataError(
                    f"{what}: no value of {column!r} changed, for near values are all the same. Raise reach."
                )
            figures[f"share_unchanged_{column}"] = Proportion(1.0 - n_moved / len(ranked))
            guarantees.append((column, _n_too_far(partner, np.repeat(reaches, sizes))))
        released = rows.put_back(new, schema_of_perturbed(data.schema, self.columns))
        kept = KeptInput.of(rows, released, new, moved)
        return Outcome(
            released,
            guarantees=tuple(SwappedNearby((column,), kept, n_far) for column, n_far in guarantees),
            changes=tuple(Change(c, int(m.sum())) for c, m in moved.items()),
            figures=figures,
        )


def _ranked(values: NDArray[np.float64], groups: Integers, some: Integers, n_groups: int) -> Integers:
    """Records in the order of group and value, those of the same value in the order in which they come."""
    from flou.protect.micro.swap_kernels import sort_stably

    order: Integers = sort_stably(_ordered_bits(values), some)
    return order if n_groups == 1 else order[np.argsort(groups[order], kind="stable")]


def _ordered_bits(values: NDArray[np.float64]) -> NDArray[np.uint64]:
    """Bits of floats that are ordered as the floats are: of negative ones all are turned, of others the sign."""
    bits = values.view(np.uint64)
    sign = np.uint64(1 << 63)
    return np.where(bits & sign, ~bits, bits | sign)


def _partners(sizes: Integers, reaches: Integers, bits: NDArray[np.uint64]) -> Integers:
    """The rank with which each rank is swapped."""
    from flou.protect.micro.swap_kernels import swap_ranks

    partner = np.full(len(bits), -1, dtype=np.int64)
    swap_ranks(np.concatenate([[0], np.cumsum(sizes)]), reaches, bits, partner)
    return partner


def _n_too_far(partner: Integers, reaches: Integers) -> int:
    """Ranks that were swapped further than they may be."""
    return int((np.abs(partner - np.arange(len(partner))) > reaches).sum())


@dataclass(frozen=True, eq=False)
class SwappedNearby(Swapped):
    """Values were exchanged between near ranks; how far they went is known from the swap itself."""

    n_too_far: int

    text = "values of {column} were exchanged between records of close rank"

    def violations(self, data: Microdata) -> int:
        return super().violations(data) + self.n_too_far
