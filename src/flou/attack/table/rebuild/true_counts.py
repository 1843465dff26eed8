"""The records that tables were made of, as counts over the attribute product, block by block.

One group-by in the engine gives the distinct combinations; people are never looked at one by one. Records that cannot
be behind the tables (a value that these know nothing of, a combination that the rules exclude, counts that a published
figure contradicts) are refused: an attack that is judged by other people's records says nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from flou.attack.table.rebuild.case import Case
from flou.attack.table.rebuild.problem import Problem
from flou.describe.microdata import Microdata
from flou.describe.table.cells import Ints
from flou.engine.errors import DataError, listed
from flou.engine.keys import count_keys
from flou.engine.release import Release


@dataclass(frozen=True, eq=False)
class TrueCounts:
    """How many people are in each cell of each block: one line an occupied cell, in the order of blocks."""

    case: Case
    block: Ints
    cell: Ints
    count: Ints

    @property
    def n_people(self) -> int:
        return int(self.count.sum())

    def blocks(self) -> Iterator[tuple[slice, Problem, Ints]]:
        """Of each block that somebody is in: its lines here, the problem that it poses, and the true counts."""
        numbers, first = np.unique(self.block, return_index=True)
        ends = [*first[1:].tolist(), len(self.block)]
        for number, start, end in zip(numbers.tolist(), first.tolist(), ends, strict=True):
            counts = np.zeros(self.case.universe.n_cells, dtype=np.int64)
            counts[self.cell[start:end]] = self.count[start:end]
            problem = self.case.figures.problem(number)
            require_behind(problem, counts, self.case.figures.blocks[number])
            yield slice(start, end), problem, counts


def true_records(given: Any, attack: str, parameter: str = "truth") -> Microdata:
    """The records that were given, as they are or as a release."""
    inner = given.data if isinstance(given, Release) else given
    if not isinstance(inner, Microdata):
        raise DataError(
            f"{attack} takes records for {parameter}=, with the columns that the tables speak of, as flou.Microdata, "
            f"not {type(inner).__name__}."
        )
    return inner


def count_truth(case: Case, people: Microdata) -> TrueCounts:
    """Count the records behind the tables of a case."""
    attributes = [*case.universe.attributes, *(() if case.block is None else (case.block,))]
    needed = [a.column for a in attributes]
    missing = [c for c in needed if c not in people.columns]
    if missing:
        raise DataError(
            f"truth= has no column {listed(missing)}, which the tables speak of. Columns: {', '.join(people.columns)}."
        )
    keys = count_keys(people.frame, needed)
    cells = case.universe.place(keys.frame, people.schema)
    blocks = np.zeros(len(cells), dtype=np.int64)
    if case.block is not None:
        blocks = case.block.place_of(keys.frame[case.block.column].to_list(), people.schema)
    require_inside(int(keys.counts[(cells < 0) | (blocks < 0)].sum()), keys.n_records)
    packed = blocks * case.universe.n_cells + cells
    distinct, place = np.unique(packed, return_inverse=True)
    counts = np.bincount(place.reshape(-1), keys.counts, len(distinct)).astype(np.int64)
    block, cell = np.divmod(distinct, case.universe.n_cells)
    return TrueCounts(case, block.astype(np.int64), cell.astype(np.int64), counts)


def require_inside(n_outside: int, n_records: int) -> None:
    """Refuse records outside of the attribute product."""
    if n_outside:
        raise DataError(
            f"{n_outside:,} of the {n_records:,} records of truth= have a value that the tables know nothing of, or a "
            "combination that the structural rules exclude: these tables were not made of these records, or domain and "
            "incoherent say too little or too much."
        )


def require_behind(problem: Problem, counts: Ints, block: str) -> None:
    """Refuse true counts that the published figures of a block rule out."""
    if problem.allows(counts):
        return
    totals = problem.totals(counts)
    inside = (totals >= problem.low) & (totals <= problem.high)
    held = problem.log_chances[problem.offsets[:-1] + np.where(inside, totals - problem.low, 0)]
    wrong = int((problem.hard & ~(inside & (held > -np.inf))).sum())
    wrong += int((totals[problem.apart[:, 1]] <= totals[problem.apart[:, 0]]).sum())
    where = f" of {block!r}" if block else ""
    raise DataError(
        f"{wrong:,} published figures{where} cannot come of the records of truth=: these tables were not made of these "
        "records, or max_total is too small. Give the records that were tabulated."
    )
