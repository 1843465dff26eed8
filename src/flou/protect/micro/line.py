"""The values of a key laid out on a line, so that they can be cut in two and what lies between two cuts be named.

Numbers stand in their order; values with a hierarchy so that every group of it is one stretch; null and codes that are
not applicable come last, each for itself.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal

import numpy as np
from numpy.typing import NDArray

from flou.describe.hierarchy import ROOT
from flou.describe.microdata import Microdata
from flou.engine.values import text_of
from flou.protect.micro.lattice.ladder import Codes, Ints, Ladder
from flou.protect.micro.lattice.problem import Problem

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Line:
    """One key. `place` is the position of each value; `groups` the ancestor of each position, level by level."""

    ladder: Ladder
    place: Ints
    #: Position → value code.
    value: Ints
    #: For each level from 0 to the root: position → group, for keys that are cut along their hierarchy.
    groups: tuple[Ints, ...]
    #: Position → number, where the key is one; nan for the others.
    numbers: Floats | None

    def width(self, place: Ints) -> float:
        """How much of the line a part takes, from 0 (one value) to 1."""
        low, high = int(place.min()), int(place.max())
        return 0.0 if low == high else self._named(low, high)[1]

    def cuts(self, place: Ints, counts: Ints, min_size: int) -> list[int]:
        """Positions before which a part can be cut with enough records on both sides, nearest to the median first."""
        low, high = int(place.min()), int(place.max())
        records = np.bincount(place - low, counts, high - low + 1)
        before = np.cumsum(records)[:-1]
        total = int(counts.sum())
        possible = (before >= min_size) & (total - before >= min_size) & self._borders(low, high)
        cuts = np.flatnonzero(possible)
        nearest = np.argsort(np.abs(2 * before[cuts] - total), kind="stable")
        return [int(cut) + low + 1 for cut in cuts[nearest]]

    def _borders(self, low: int, high: int) -> NDArray[np.bool_]:
        """Between which neighbours a stretch may be cut: of numbers any, else where groups below the common one end."""
        if self._is_range(low, high):
            return np.ones(high - low, dtype=np.bool_)
        group = self.groups[self._level(low, high) - 1]
        return np.asarray(group[low + 1 : high + 1] != group[low:high])

    def _is_range(self, low: int, high: int) -> bool:
        return self.numbers is not None and not np.isnan(self.numbers[[low, high]]).any()

    def _level(self, low: int, high: int) -> int:
        """The lowest level at which a stretch is one group."""
        return next(level for level, group in enumerate(self.groups) if group[low] == group[high])

    def shown(self, codes: Codes, parts: Ints) -> tuple[Codes, list[str], Floats]:
        """What the keys of each part show: codes, their names, and the share of the line that it stands for."""
        place = self.place[codes]
        n = int(parts.max()) + 1
        low, high = np.full(n, len(self.value)), np.zeros(n, dtype=np.int64)
        np.minimum.at(low, parts, place)
        np.maximum.at(high, parts, place)
        names: dict[str, int] = {}
        code, share = np.empty(n, dtype=np.int32), np.empty(n)
        for i, (a, b) in enumerate(zip(low.tolist(), high.tolist(), strict=True)):
            name, share[i] = self._named(a, b)
            code[i] = -1 if name is None else names.setdefault(name, len(names))
        return code[parts], list(names), share[parts]

    def _named(self, low: int, high: int) -> tuple[str | None, float]:
        """What is shown for a stretch, and how much of the line that stands for."""
        least = 1.0 / self.ladder.domain
        if low == high:
            value = self.ladder.values[self.value[low]]
            return (None if value is None else text_of(value)), least
        if self._is_range(low, high):
            assert self.numbers is not None
            part = (self.numbers[high] - self.numbers[low]) / (np.nanmax(self.numbers) - np.nanmin(self.numbers))
            ends = [text_of(self.ladder.values[self.value[p]]) for p in (low, high)]
            return (" to " if any(e.startswith("-") for e in ends) else "-").join(ends), least + (1 - least) * float(
                part
            )
        level = self._level(low, high)
        if level == len(self.groups) - 1:
            return ROOT, 1.0
        group = self.groups[level][low]
        return self.ladder.texts(level)[group], float(self.ladder.leaves[level][group] * least)


def lines(data: Microdata, problem: Problem) -> list[Line]:
    """The line of each key."""
    return [_line(data, ladder) for ladder in problem.ladders]


def _finite(value: object) -> bool:
    return not isinstance(value, float) or math.isfinite(value)


def _line(data: Microdata, ladder: Ladder) -> Line:
    apart = {text_of(v) for v in data.schema.not_applicable.get(ladder.column, ())}
    plain = [i for i, v in enumerate(ladder.values) if v is not None and text_of(v) not in apart and _finite(v)]
    others = [i for i in range(len(ladder.values)) if i not in set(plain)]
    numeric = bool(plain) and all(
        isinstance(ladder.values[i], int | float | Decimal) and not isinstance(ladder.values[i], bool) for i in plain
    )
    if numeric:
        plain.sort(key=lambda i: ladder.values[i])  # type: ignore[arg-type,return-value]
    else:
        plain.sort(key=lambda i: tuple(int(up[i]) for up in reversed(ladder.up)))
    order = np.array([*plain, *others], dtype=np.int64)
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(len(order))
    groups = tuple(up[order].astype(np.int64) for up in ladder.up)
    numbers = None
    if numeric:
        numbers = np.full(len(order), np.nan)
        numbers[: len(plain)] = [float(str(ladder.values[i])) for i in plain]
        # below the root numbers are cut where one likes, so that only what stands apart from them is a group
        groups = (
            groups[0],
            np.concatenate([np.zeros(len(plain)), np.arange(1, len(others) + 1)]).astype(np.int64),
            groups[-1],
        )
    return Line(ladder, place, order, groups, numbers)
