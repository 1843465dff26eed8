"""What an intruder holds at the end: records, with what is certain about them, block by block.

Everything here follows from what is published: no true record was looked at. Blocks are solved one by one, by threads;
which thread solves which changes nothing, for each block has a seed of its own.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl

from flou.attack.table.rebuild.attribute import Attribute
from flou.attack.table.rebuild.case import Case
from flou.attack.table.rebuild.certain import prove_minimum
from flou.attack.table.rebuild.contradiction import smallest_contradiction
from flou.attack.table.rebuild.extremes import bound_total
from flou.attack.table.rebuild.figures import UNKNOWN
from flou.attack.table.rebuild.ground import lay_ground
from flou.attack.table.rebuild.problem import Problem
from flou.attack.table.rebuild.solve import Mode, Solved, solve
from flou.describe.table.cells import Floats, Ints
from flou.engine.errors import DataError, Infeasible, ParameterError, did_you_mean, listed
from flou.engine.progress import tell
from flou.engine.randomness import Draws
from flou.engine.result import unused
from flou.engine.values import text_of

#: Blocks that are handed to threads at once: enough to keep them busy, few enough to be cancelled soon.
_AT_ONCE = 64


@dataclass(frozen=True, eq=False)
class Rebuilt:
    """The rebuilt people of all blocks, and the records that are certain."""

    case: Case
    mode: Mode
    solved: tuple[Solved, ...] = field(repr=False)
    #: Whether it was asked which records are certain.
    asked: bool = True
    #: How many people would be certain if no suppressed cell were empty, -1 where the figures rule that out; None where
    #: the tables say whether some are.
    n_if_zeros_are_shown: int | None = None

    @property
    def n_people(self) -> int:
        return sum(len(s.cells) for s in self.solved)

    @property
    def n_certain(self) -> int:
        """How many people are certain, copies of a record counted."""
        return sum(int(s.least.sum()) for s in self.solved)

    @property
    def proven(self) -> bool:
        """Whether every proof came to its end."""
        return all(s.proven for s in self.solved)

    def records(self) -> pl.DataFrame:
        """One line a rebuilt record: its block and values, how many have it, how many for certain, the confidence."""
        parts = []
        for b, solved in enumerate(self.solved):
            cells, first, counts = np.unique(solved.cells, return_index=True, return_counts=True)
            # of several copies the first is the likeliest: somebody is there at all
            parts.append((np.full(len(cells), b), cells, counts, solved.least[cells], solved.confidence[first]))
        block, cells, counts, least, confidence = (np.concatenate(held) for held in zip(*parts, strict=True))
        frame = self._labelled(block, cells)
        taken = frame.columns
        more = [pl.Series(unused("count", taken), counts), pl.Series(unused("certain", taken), least)]
        if self.mode == "posterior":
            more.append(pl.Series(unused("confidence", taken), confidence))
        return frame.with_columns(more)

    def certain(self) -> pl.DataFrame:
        """One line a record that every population has that fits what is published, and how many have it at least."""
        if not self.asked:
            raise DataError('Nothing was proven: the attack was made with certain="skip". Use certain="prove".')
        block = np.concatenate([np.full(int((s.least > 0).sum()), b) for b, s in enumerate(self.solved)])
        cells = np.concatenate([np.flatnonzero(s.least > 0) for s in self.solved])
        least = np.concatenate([s.least[s.least > 0] for s in self.solved])
        frame = self._labelled(block.astype(np.int64), cells)
        return frame.with_columns(pl.Series(unused("count", frame.columns), least.astype(np.int64)))

    def bounds(self, query: Mapping[str, Any], seed: int = 0) -> tuple[int, int | None, bool]:
        """The least and the largest number of people that a query can count, and whether both are reached."""
        asked = dict(query)
        low, exact = 0, not self.case.coupled
        high: int | None = 0
        for b in self._blocks(asked):
            problem = self.case.figures.problem(b)
            found = bound_total(problem, self._cells(asked), seed=seed)
            exact &= problem.shared is None  # that the same people show the same figure may narrow it further
            low += found[0]
            high = None if high is None or found[1] is None else high + found[1]
            exact &= found[2]
        return low, high, exact

    def _labelled(self, block: Ints, cells: Ints) -> pl.DataFrame:
        frame = self.case.universe.frame(cells)
        if self.case.block is None:
            return frame
        labels = pl.Series(self.case.block.name, list(self.case.figures.blocks), dtype=pl.String)
        return frame.insert_column(0, labels.gather(block.astype(np.uint32)))

    def _blocks(self, asked: dict[str, Any]) -> list[int]:
        """The blocks that a query speaks of; it takes its words for them out of the query."""
        split, labels = self.case.block, self.case.figures.blocks
        if split is None or not set(asked) & {split.name, split.column}:
            return list(range(len(labels)))
        value = asked.pop(split.name if split.name in asked else split.column)
        wanted = {text_of(v) for v in _several(value)}
        unknown = sorted(wanted - set(labels))
        if unknown:
            raise ParameterError(f"{split.name} has no {listed(unknown)}.{did_you_mean(unknown[0], labels)}")
        return [b for b, label in enumerate(labels) if label in wanted]

    def _cells(self, asked: Mapping[str, Any]) -> Ints:
        universe = self.case.universe
        chosen = np.ones(universe.n_cells, dtype=np.bool_)
        for name, value in asked.items():
            at = [(j, a) for j, a in enumerate(universe.attributes) if a.level_called(name)]
            if not at:
                known = [shown for a in universe.attributes for shown in a.shown.values()]
                raise ParameterError(
                    f"The query names {name!r}, which the tables do not speak of.{did_you_mean(name, known)}"
                )
            j, attribute = at[0]
            labels = attribute.labels[attribute.level_called(name) or ""]
            wanted = {text_of(v) for v in _several(value)}
            unknown = sorted(wanted - set(labels))
            if unknown:
                raise ParameterError(f"{name} cannot be {listed(unknown)}.{did_you_mean(unknown[0], set(labels))}")
            chosen &= np.array([label in wanted for label in labels])[universe.codes[:, j]]
        return np.flatnonzero(chosen)


def _several(value: Any) -> list[Any]:
    return list(value) if isinstance(value, Iterable) and not isinstance(value, str | bytes) else [value]


def rebuild(case: Case, mode: Mode, draw: Draws, *, chances: Floats | None, prove: bool) -> Rebuilt:
    """Solve every block of a case."""
    seeds = draw.bits(np.arange(case.n_blocks), 0).tolist()
    first = case.figures.problem(0)
    ground = None if mode != "posterior" or len(first.apart) else lay_ground(first, case.universe.codes)

    def one(block: int) -> Solved:
        problem = case.figures.problem(block)
        here = None if len(problem.apart) else ground
        try:
            return solve(
                problem,
                case.universe.codes,
                mode=mode,
                seed=seeds[block],
                chances=chances,
                prove=prove,
                ground=here,
                n_threads=None if case.n_blocks == 1 else 1,
            )
        except Infeasible:
            raise _contradicted(case, block, problem) from None

    other = case.if_zeros_are_shown if prove else None
    n_shown = None if other is None else _n_certain(other, seeds)
    if case.n_blocks == 1:
        tell("reconstruct", 0, 1)
        return Rebuilt(case, mode, (one(0),), prove, n_shown)
    found: list[Solved] = []
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        for begin in range(0, case.n_blocks, _AT_ONCE):
            tell("reconstruct", begin, case.n_blocks)
            chosen = range(begin, min(begin + _AT_ONCE, case.n_blocks))
            found += pool.map(lambda block: copy_context().run(one, block), chosen)
    tell("reconstruct", case.n_blocks, case.n_blocks)
    return Rebuilt(case, mode, tuple(found), prove, n_shown)


def _n_certain(case: Case, seeds: Sequence[int]) -> int:
    """How many people are certain over all blocks; -1 where the figures contradict each other."""
    problems = (case.figures.problem(block) for block in range(case.n_blocks))
    try:
        return int(sum(prove_minimum(p, seed=seed)[0].sum() for p, seed in zip(problems, seeds, strict=True)))
    except Infeasible:
        return -1


def _contradicted(case: Case, block: int, problem: Problem) -> DataError:
    """An error that names the cells of a small set of figures that cannot all be right."""
    found = smallest_contradiction(problem)
    if found is None:  # each row for itself could be right: a walk found nobody whose sets of people fit
        return DataError(
            "No population was found that shows the same people by the same figure in all tables, as noise by keys "
            "does. Were all tables made with the same record keys? If not, attack them apart."
        )
    layout, published = case.figures.layout, case.figures.published(block)
    named = []
    for row in np.unique([*found.rows.tolist(), *problem.apart[found.pairs].reshape(-1).tolist()]).tolist():
        seen: set[int] = set()
        for figure in np.flatnonzero(layout.row == row).tolist():
            if published[figure] != UNKNOWN and published[figure] not in seen:
                seen.add(int(published[figure]))
                shown = "suppressed" if published[figure] < 0 else f"{published[figure]:,}"
                named.append(f"{layout.figure_name(figure, case.figures.tables)}: {shown}")
    where = f" in {case.figures.blocks[block]}" if case.block is not None else ""
    assumed = [a for a in case.universe.attributes if a.name in case.assumed]
    said = f"The tables contradict each other{where}: no population has all that they show."
    if assumed:
        said = (
            f"No population has all that the tables show{where}: they contradict each other, or there are categories "
            "that they do not name."
        )
    fewest = " These figures cannot all be right"
    if assumed:
        fewest += " if there are no others"
    if found.irreducible:
        fewest += ", and without any one of them the rest could be"
    if case.figures.max_total is not None:
        named.append(f"max_total: {case.figures.max_total:,} people at most")
    lines = "\n".join(f"  - {name}" for name in named)
    return DataError(
        f"{said}{fewest}:\n{lines}\n{_assumption(assumed)}"
        "Were they made of the same records, and does each carry the mechanism that made it?"
    )


def _assumption(attributes: Sequence[Attribute]) -> str:
    """State which categories were assumed to be complete, and how to declare others."""
    if not attributes:
        return ""
    values = "\n".join(f"  - {a.name}: {listed(a.labels[a.finest])}" for a in attributes)
    names = ", ".join(f"{a.column!r}: […]" for a in attributes)
    return f"The values that the tables name are taken to be all:\n{values}\nIf not, name all: domain={{{names}}}.\n"
