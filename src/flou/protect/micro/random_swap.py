"""Random swapping: pairs of records exchange their values (Dalenius & Reiss 1982).

Pairs are drawn at random within groups and exchange the values of some columns together, so that the joint
distribution of these columns, in the file and within each group, is exactly what it was; links to all other
columns weaken with the share. Nobody can be sure that a value belongs to its record, as long as the share
stays secret. It does not protect those who were not drawn if the share is small, nor values that a whole
group has in common.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from flou.describe.microdata import Microdata
from flou.engine.errors import DataError
from flou.engine.parameters import Columns, Names
from flou.engine.protection import Claim, Protection
from flou.engine.randomness import Draws
from flou.engine.release import Change, Outcome
from flou.engine.taxonomy import always
from flou.protect.micro.kept_input import KeptInput
from flou.protect.micro.perturbable import require_perturbable, schema_of_perturbed
from flou.protect.micro.rows import read_rows
from flou.protect.micro.swapped import Swapped, refuse_groups_of_one


class RandomSwap(Protection):
    """Exchange values between random pairs of records: `RandomSwap(["income", "job"], share=0.1, by="region")`."""

    reference: ClassVar[str] = "dalenius1982"
    title: ClassVar[str] = "random swapping"
    audience = "public"
    perturbative = True
    answers_by = always(identity="reduces", homogeneity="reduces")
    preserves: ClassVar[tuple[Claim, ...]] = ("records", "untouched columns", "marginal")

    columns: Columns = Field(description="columns whose values are exchanged, together")
    share: float = Field(
        0.05, gt=0.0, le=1.0, description="share of records that are exchanged", json_schema_extra={"secret": True}
    )
    by: Names = Field((), description="pairs are drawn within groups of these columns")

    def _protect(self, data: Microdata, draw: Draws) -> Outcome:
        what = type(self).__name__
        require_perturbable(data, self.columns, what, self.by)
        rows = read_rows(data, [*self.columns, *self.by], what)
        groups = rows.strata(self.by)
        sizes = np.bincount(groups)
        refuse_groups_of_one(int((sizes == 1).sum()), what)
        # one draw a group, by the first of its units, says whether a broken number of pairs is rounded up
        first = np.unique(groups, return_index=True)[1]
        n_pairs = count_pairs(sizes, self.share, draw.uniform(rows.ids[first], 1))
        partner = pair_at_random(groups, sizes, n_pairs, draw.bits(rows.ids, 0))
        new = {c: rows.frame[c].gather(partner) for c in self.columns}
        moved = {c: rows.frame[c].ne_missing(new[c]) for c in self.columns}
        if not any(m.any() for m in moved.values()):
            raise DataError(
                f"{what} changed nothing: no pair was drawn, or all that were have the same values. Raise share, or "
                "use fewer columns in by."
            )
        released = rows.put_back(new, schema_of_perturbed(data.schema, self.columns, (*self.columns, *self.by)))
        kept = KeptInput.of(rows, released, new, moved)
        return Outcome(
            released,
            guarantees=(Swapped(self.columns, kept),),
            changes=tuple(Change(c, None) for c in self.columns),
            details={"n_exchanged": int(2 * n_pairs.sum()), "n_changed": {c: int(m.sum()) for c, m in moved.items()}},
        )


def count_pairs(sizes: NDArray[np.int64], share: float, draws: NDArray[np.float64]) -> NDArray[np.int64]:
    """Pairs of each group: half the share of its records, a broken number rounded up as often as its fraction says."""
    wanted = np.floor(0.5 * share * sizes + draws).astype(np.int64)
    return np.minimum(wanted, sizes // 2)


def pair_at_random(
    groups: NDArray[np.int64], sizes: NDArray[np.int64], n_pairs: NDArray[np.int64], bits: NDArray[np.uint64]
) -> NDArray[np.int64]:
    """With whom each record exchanges, itself where it does not: neighbours in a random order of each group."""
    order = np.argsort(bits, kind="stable")
    if len(sizes) > 1:
        order = order[np.argsort(groups[order], kind="stable")]
    starts = np.cumsum(sizes) - sizes
    place = np.arange(len(order)) - np.repeat(starts, sizes)
    drawn = order[place < np.repeat(2 * n_pairs, sizes)]
    partner = np.arange(len(order))
    partner[drawn[0::2]], partner[drawn[1::2]] = drawn[1::2], drawn[0::2]
    return partner
