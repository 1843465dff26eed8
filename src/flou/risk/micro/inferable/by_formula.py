"""Amounts that are computed from released ones: s, a * s, s1 + s2, s1 - s2, s1 * s2 and s1 / s2.

A formula needs nobody who shares a value. Amounts that merely go together come near now and then; a formula that
holds hits: it counts what lies within the tolerance beyond what the next four tolerances hold on average.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from flou.risk.micro.inferable.by_support import floor_of
from flou.risk.micro.inferable.codes import Floats, is_numeric, numbers
from flou.risk.micro.inferable.control import by_chance
from flou.risk.micro.inferable.leak import Leak, Level
from flou.risk.micro.inferable.screen import Screen
from flou.risk.micro.inferable.target import Target

#: How far beyond the tolerance the background is counted.
_AROUND = 5
#: Of how many records a pair is tried first, and what share of the floor it must reach among them.
_SOME, _NEAR_FLOOR = 2_000, 0.25


@dataclass(frozen=True)
class _Formula:
    by: tuple[str, ...]
    text: str
    guess: Floats
    hits: int


_PAIRS: tuple[tuple[str, Callable[[Floats, Floats], Floats], bool], ...] = (
    ("{0} + {1}", np.add, False),
    ("{0} - {1}", np.subtract, True),
    ("{0} * {1}", np.multiply, False),
    ("{0} / {1}", np.divide, True),
)


def leaks_by_formula(screen: Screen, target: Target) -> list[Leak]:
    """What can be computed of a hidden amount, the simplest formulas alone."""
    if target.amounts is None:
        return []
    closed = {target.column, screen.data.schema.weight}
    columns = {
        c: numbers(screen.shown[c]) for c in screen.shown.columns if c not in closed and is_numeric(screen.shown[c])
    }
    floor, rows = floor_of(target), np.flatnonzero(target.asked.secret)
    found = list(_searched(target, columns, rows, floor))
    above = [f for f in found if f.hits >= floor]
    leaks = [_leak(f, target, "note", None) for f in found if f.hits < floor]
    if above:
        (chance,), (passed,) = by_chance(
            target.strata,
            lambda places: [(_hits(target, f.guess[places][rows], rows),) for f in above],
            # what amounts that go together give by chance is large: the floor is reached beyond it
            [(f.hits - round(floor) + 1,) for f in above],
        )
        leaks += [_leak(f, target, "withhold" if ok else "note", chance) for f, ok in zip(above, passed, strict=True)]
    return leaks


def _leak(formula: _Formula, target: Target, level: Level, chance: int | None) -> Leak:
    return Leak(target.column, formula.by, formula.hits, target.n_treated, level, formula.text, chance)


def _searched(target: Target, columns: dict[str, Floats], rows: NDArray[np.intp], floor: float) -> Iterator[_Formula]:
    """The best formula of each column, and of each pair that gives more than its columns alone."""
    alone: dict[str, _Formula] = {}
    for name, values in columns.items():
        tried = [(name, values)]
        factor = _modal_factor(target, values)
        if factor is not None:
            tried.append((f"{factor:.4g} * {name}", factor * values))
        made = [_Formula((name,), text, guess, _hits(target, guess[rows], rows)) for text, guess in tried]
        alone[name] = max(made, key=lambda f: f.hits)
    surpassed: set[str] = set()
    for one, other in combinations(columns, 2):
        best = _best_of_pair(target, columns, (one, other), rows, floor)
        if best is None:
            continue
        if best.hits >= max(alone[one].hits, alone[other].hits, 0) + floor:
            surpassed |= {one, other}
            yield best
        elif best.hits > 0 and max(alone[one].hits, alone[other].hits) < floor:
            yield best
    yield from (f for name, f in alone.items() if f.hits > 0 and name not in surpassed)


def _best_of_pair(
    target: Target, columns: dict[str, Floats], names: tuple[str, str], rows: NDArray[np.intp], floor: float
) -> _Formula | None:
    """The best formula of two columns; None where a part of the records shows that none comes near the floor."""
    some = rows[:: max(1, len(rows) // _SOME)]
    enough = _NEAR_FLOOR * floor * len(some) / max(1, len(rows)) if len(some) < len(rows) else -np.inf
    best: _Formula | None = None
    for text, function, both_ways in _PAIRS:
        for one, other in (names, names[::-1])[: 2 if both_ways else 1]:
            with np.errstate(all="ignore"):
                if _hits(target, function(columns[one][some], columns[other][some]), some) < enough:
                    continue
                guess = function(columns[one], columns[other])
            hits = _hits(target, guess[rows], rows)
            if best is None or hits > best.hits:
                # what stays below the floor is named, not permuted
                best = _Formula(names, text.format(one, other), guess if hits >= floor else guess[:0], hits)
    return best


def _hits(target: Target, guess: Floats, rows: NDArray[np.intp]) -> int:
    """Secret records that are hit, beyond what lies around them anyway; `guess` are the guesses of these rows."""
    assert target.amounts is not None
    assert target.asked.tolerance is not None
    away = np.abs(guess - target.amounts[rows]) / np.maximum(target.asked.tolerance[rows], 1e-12)
    near = int((away <= 1).sum())
    around = int((away <= _AROUND).sum()) - near
    return round(near - around / (_AROUND - 1))


def _modal_factor(target: Target, values: Floats) -> float | None:
    """The factor that is seen most often between the amounts that teach and a released column."""
    assert target.amounts is not None
    with np.errstate(all="ignore"):
        ratios = target.amounts / values
    known = ratios[(target.asked.learn > 0) & np.isfinite(ratios) & (ratios != 0)]
    if not len(known):
        return None
    steps = np.rint(np.log(np.abs(known)) * 500) * np.sign(known)
    distinct, counts = np.unique(steps, return_counts=True)
    return float(np.median(known[steps == distinct[counts.argmax()]]))
