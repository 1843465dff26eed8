"""Columns that tell a hidden one because all others who share their values show the same."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from flou.risk.micro.inferable.codes import Codes, alone, in_pairs
from flou.risk.micro.inferable.control import by_chance
from flou.risk.micro.inferable.leak import Leak, Level
from flou.risk.micro.inferable.screen import Screen
from flou.risk.micro.inferable.target import Target

#: Records that a leak must reach, and the share of those that were hidden.
MIN_RECORDS, MIN_SHARE = 10, 0.01


@dataclass(frozen=True)
class _Candidate:
    by: tuple[str, ...]
    codes: Codes
    leaks: tuple[int, int]

    def permuted(self, target: Target, places: NDArray[np.int64]) -> tuple[int, int]:
        return target.asked.leaks(Codes(self.codes.values[places], self.codes.n))


def floor_of(target: Target) -> float:
    """The number of records that a leak must reach."""
    return max(MIN_RECORDS, MIN_SHARE * target.n_treated)


def leaks_by_support(screen: Screen, target: Target) -> list[Leak]:
    """What one or two released columns tell of a hidden one: no more than what fewer of them tell already."""
    found = list(_searched(screen, target))
    floor = floor_of(target)
    above = [c for c in found if max(c.leaks) >= floor]
    leaks = [_leak(c, target, "note", c.leaks[1], None) for c in found if 0 < max(c.leaks) < floor]
    if not above:
        return leaks
    chance, passed = by_chance(
        target.strata, lambda places: [c.permuted(target, places) for c in above], [c.leaks for c in above]
    )
    for i, candidate in enumerate(above):
        sure, likely = (candidate.leaks[level] >= floor and passed[level][i] for level in (0, 1))
        named: Level = "withhold" if sure else "review" if likely else "note"
        # who is nearly sure reads off more than who must be sure
        at = 1 if likely or not sure else 0
        leaks.append(_leak(candidate, target, named, candidate.leaks[at], chance[at]))
    return leaks


def _leak(candidate: _Candidate, target: Target, level: Level, recovered: int, chance: int | None) -> Leak:
    return Leak(target.column, candidate.by, recovered, target.n_treated, level, by_chance=chance)


def _searched(screen: Screen, target: Target) -> Iterator[_Candidate]:
    """The best way to look at each column, then at each pair in which neither tells by itself."""
    known = {*screen.data.schema.keys, target.column}
    columns = [c for c in screen.shown.columns if screen.shown[c].n_unique() > 1]
    telling: set[str] = set()
    for column in columns:
        if column in known:
            continue
        tried = [(target.asked.leaks(codes), codes) for codes in alone(screen.shown[column])]
        leaks, codes = max(tried, key=lambda one: (one[0][0], one[0][1]))
        if max(leaks) >= floor_of(target):
            telling.add(column)
        if max(leaks):
            yield _Candidate((column,), codes, leaks)
    codes_of = {c: in_pairs(screen.shown[c]) for c in columns if c not in telling}
    for pair in combinations(codes_of, 2):
        if known.issuperset(pair):
            continue
        both = codes_of[pair[0]].joined(codes_of[pair[1]])
        if both is None:
            continue
        leaks = target.asked.leaks(both)
        if max(leaks):
            yield _Candidate(pair, both, leaks)
