"""A file as the lattice sees it: its distinct keys in an order of their own, and what they are held to."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from flou.describe.microdata import Microdata
from flou.engine.errors import ParameterError, did_you_mean
from flou.engine.keys import KeyTable, pack
from flou.engine.measure import RiskMeasure
from flou.protect.micro.lattice import kernels
from flou.protect.micro.lattice.ladder import Codes, ladders
from flou.protect.micro.lattice.problem import Classes, Levels, Problem
from flou.protect.micro.lattice.requirement import Flags, Requirement
from flou.protect.micro.shown_keys import Shown
from flou.risk.micro.setting import require_keys


@dataclass(frozen=True, eq=False)
class KeyFile:
    """Distinct keys in the order of their codes, so that nothing depends on the order of rows or the engine."""

    data: Microdata
    table: KeyTable
    problem: Problem
    requirement: Requirement

    @classmethod
    def of(cls, data: Microdata, models: tuple[RiskMeasure, ...], no_hierarchy: str = "refuse") -> KeyFile:
        table = data.key_table(require_keys(data)).sorted()
        made, codes = ladders(data, table, no_hierarchy)
        problem, requirement = Problem(made, codes, table.counts), Requirement(models, data, table)
        if problem.n_records < requirement.min_size:
            raise ParameterError(
                f"k = {requirement.min_size} is larger than the file: it has {problem.n_records:,} records."
            )
        return cls(data, table, problem, requirement)

    def limit(self, share: float) -> int:
        """How many records a share of the file is."""
        return math.floor(share * self.problem.n_records + 1e-9)

    def weights(self, importance: tuple[tuple[str, object], ...] | None) -> NDArray[np.float64]:
        """What each key counts for."""
        return key_weights(self.table.columns, importance)

    def settle(self, codes: Codes) -> tuple[Flags, Flags]:
        """Which keys are suppressed and which of those cannot even be shown so, once every class was judged.

        `codes` is what each key would show, one row a column, -1 for null. Classes that fail are suppressed, until none
        does; the suppressed ones together are one more class, that of records without any key, and judged as such.
        """
        suppressed: Flags = np.asarray((codes < 0).all(axis=0))
        while not suppressed.all():
            classes, place = _classes_of(codes, self.table.counts, ~suppressed)
            failing = self.requirement.failing(classes.counts, place, lambda: codes)
            if not failing.any():
                break
            suppressed |= (place >= 0) & failing[place]
        nobody = np.zeros(len(suppressed), dtype=np.bool_)
        if not suppressed.any():
            return suppressed, nobody
        place = np.where(suppressed, 0, -1).astype(np.int32)
        total = np.array([self.table.counts[suppressed].sum()], dtype=np.int64)
        fails = self.requirement.failing(total, place, lambda: np.zeros_like(codes))[0]
        return suppressed, suppressed if fails else nobody

    def n_hidden(self, suppressed: Flags) -> int:
        """Records that lost every key; those that never had one are not counted."""
        return int(self.table.counts[suppressed & (self.table.codes >= 0).any(axis=1)].sum())

    def shown_at(self, levels: Levels, suppressed: Flags, dropped: Flags) -> Shown:
        """Every key at the levels of a node, suppressed ones as null in every column."""
        columns = {}
        for j, (ladder, level) in enumerate(zip(self.problem.ladders, levels, strict=True)):
            if level:
                place = ladder.up[level][self.problem.codes[j]]
                new = pl.Series(ladder.column, ladder.texts(level), dtype=pl.String)[place]
            else:
                new = self.table.frame[ladder.column]
            columns[ladder.column] = hide(new, suppressed)
        return Shown(self.table.frame, self.table.counts, columns, dropped)


def hide(values: pl.Series, hidden: Flags) -> pl.Series:
    """Null where hidden."""
    if not hidden.any():
        return values
    frame = pl.DataFrame({"v": values, "h": hidden})
    return frame.select(pl.when(~pl.col("h")).then(pl.col("v")).alias(values.name)).to_series()


def key_weights(columns: tuple[str, ...], importance: tuple[tuple[str, object], ...] | None) -> NDArray[np.float64]:
    """What each key counts for: 1 unless it is said otherwise."""
    given = dict(importance or ())
    for name in given:
        if name not in columns:
            hint = did_you_mean(name, columns)
            raise ParameterError(f"importance names {name!r}, which is no key.{hint} Keys: {', '.join(columns)}.")
    return np.array([float(str(given.get(c, 1.0))) for c in columns])


def _classes_of(codes: Codes, counts: NDArray[np.int64], inside: Flags) -> tuple[Classes, Codes]:
    """Keys that show the same, among those `inside`; the others have place -1."""
    rows = np.flatnonzero(inside).astype(np.int32)
    packed = pack(codes[:, rows].T, [int(c.max(initial=0)) + 1 for c in codes])
    number = np.empty(len(rows), dtype=np.int32)
    n = kernels.number(packed, 2**62, number)
    place = np.full(len(counts), -1, dtype=np.int32)
    place[rows] = number
    first = np.empty(n, dtype=np.int32)
    first[number[::-1]] = rows[::-1]
    return Classes(first, np.bincount(number, counts[rows], n).astype(np.int64)), place
