"""Columns that tell a hidden one because all others who share their values show the same."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from flou.risk.micro.inferable.codes import Codes
from flou.risk.micro.inferable.control import by_chance
from flou.risk.micro.inferable.leak import Leak, Level
from flou.risk.micro.inferable.screen import Screen
from flou.risk.micro.inferable.target import Target

#: Records that a leak must reach, and the share of those that were hidden.
MIN_RECORDS, MIN_SHARE = 10, 0.01
#: How many times the floor a leak must lie above chance for nothing more to be asked.
_CLEARLY = 3
#: To withhold, and to ask for a review.
_LEVELS = (0, 1)


@dataclass(frozen=True)
class _Candidate:
    by: tuple[str, ...]
    #: Each column as it is looked at; what they show together is made anew, for there are many pairs.
    parts: tuple[Codes, ...]
    leaks: tuple[int, int]

    def permuted(self, target: Target, places: NDArray[np.int64]) -> tuple[int, int]:
        codes = _together(self.parts)
        assert codes is not None
        return target.asked.leaks(Codes(codes.values[places], codes.n))


def _together(parts: tuple[Codes, ...]) -> Codes | None:
    return parts[0] if len(parts) == 1 else parts[0].joined(parts[1])


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
    chance, passed = _tested(target, above, above)
    if any(
        ok and c.leaks[i] < chance[i] + _CLEARLY * floor
        for i in _LEVELS
        for c, ok in zip(above, passed[i], strict=True)
    ):
        # one of many columns that were looked at: the largest leak of all of them is what chance gives
        chance, passed = _tested(target, found, above)
    for candidate, sure, likely in zip(above, *passed, strict=True):
        named: Level = "withhold" if sure else "review" if likely else "note"
        # who is nearly sure reads off more than who must be sure
        at = 1 if likely or not sure else 0
        leaks.append(_leak(candidate, target, named, candidate.leaks[at], chance[at]))
    return leaks


def _tested(target: Target, permuted: list[_Candidate], above: list[_Candidate]) -> tuple[list[int], list[list[bool]]]:
    """What is given back by chance, and which leaks reach the floor beyond it.

    Guesses that are right nine times in ten come easily where a column has two values: they must reach it twice.
    """
    floor = floor_of(target)
    beyond = [tuple(c.leaks[i] - round((i + 1) * floor) + 1 for i in _LEVELS) for c in above]
    return by_chance(target.strata, lambda places: [c.permuted(target, places) for c in permuted], beyond)


def _leak(candidate: _Candidate, target: Target, level: Level, recovered: int, chance: int | None) -> Leak:
    return Leak(target.column, candidate.by, recovered, target.n_treated, level, by_chance=chance)


def _searched(screen: Screen, target: Target) -> Iterator[_Candidate]:
    """The best way to look at each column, then at each pair in which neither tells by itself."""
    known = {*screen.data.schema.keys, target.column}
    columns = screen.shown.columns
    telling: set[str] = set()
    for column in (c for c in columns if c not in known):
        tried = [_Candidate((column,), (codes,), target.asked.leaks(codes)) for codes in screen.coded(column)[0]]
        best = max(tried, key=lambda c: c.leaks)
        if max(best.leaks) >= floor_of(target):
            telling.add(column)
        if max(best.leaks):
            yield best
    if target.asked.secret.sum() < floor_of(target):
        return  # whatever tells them, they are too few
    codes_of = {c: screen.coded(c)[1] for c in columns if c not in telling}
    for pair in combinations(codes_of, 2):
        parts = tuple(codes_of[c] for c in pair)
        both = None if known.issuperset(pair) else _together(parts)
        if both is not None and max(leaks := target.asked.leaks(both)):
            yield _Candidate(pair, parts, leaks)
