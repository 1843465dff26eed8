"""What an intruder makes of candidates: how many are left, the best guess, and what it would be without the tables.

The best guess is the value with the largest likelihood times prior; among equally good ones each is taken with the same
chance, and what that comes to is computed, not drawn. With a tolerance the guess is the value within whose reach most
of the likelihood lies. The guess without tables is the value that most other people have, among those that the
structural rules allow: what anybody who knows the others would say.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Literal

import numpy as np

from flou.attack.table.rebuild.problem import Bools
from flou.describe.table.cells import Floats, Ints

Prior = Literal["others", "uniform"]
#: Likelihoods that differ by no more than this part are equal: floats are added up in another order.
_SAME = 1e-9


@dataclass(frozen=True, eq=False)
class Guesses:
    """One line a distinct record, of one variable."""

    #: Possible values by the rules alone, and by the tables as well.
    n_candidates: Ints
    n_left: Ints
    #: The chance that the guess is right: with the tables, without them, and of a possible value taken at random.
    right: Floats
    baseline: Floats
    feasible: Floats
    #: The chance that a guess lies within the tolerance, with and without the tables.
    within: Floats
    baseline_within: Floats

    @classmethod
    def joined(cls, parts: Sequence[Guesses]) -> Guesses:
        """The lines of several blocks behind each other."""
        return cls(**{f.name: np.concatenate([getattr(p, f.name) for p in parts]) for f in fields(cls)})


def guess_values(
    candidates: Bools, possible: Bools, gains: Floats, own: Ints, held: Ints, near: Bools | None, prior: Prior
) -> Guesses:
    """Guess the value of each record: `own` is its true value, `held` how many people have each value, itself included.

    `near` tells which values lie within the tolerance of which; None asks for equality.
    """
    n, n_values = candidates.shape
    at = np.arange(n)
    others = np.repeat(held[None, :].astype(np.float64), n, axis=0)
    others[at, own] -= 1
    # one person more, spread over all values (Perks 1947): what nobody else has is not impossible
    others += 1 / n_values
    weigh = others if prior == "others" else np.ones((n, n_values))
    top = np.where(possible, gains, -np.inf).max(axis=1, initial=-np.inf, keepdims=True)
    weights = np.where(possible, np.exp(np.minimum(gains - top, 0)) * weigh, 0.0)
    without = np.where(candidates, others, 0.0)
    n_left = possible.sum(axis=1)
    right, baseline = _chance(weights, possible, own, None), _chance(without, candidates, own, None)
    return Guesses(
        n_candidates=candidates.sum(axis=1).astype(np.int64),
        n_left=n_left.astype(np.int64),
        right=right,
        baseline=baseline,
        feasible=1 / n_left,
        within=right if near is None else _chance(weights, possible, own, near),
        baseline_within=baseline if near is None else _chance(without, candidates, own, near),
    )


def _chance(weights: Floats, allowed: Bools, own: Ints, near: Bools | None) -> Floats:
    """The chance that the best guess is the true value, or near it."""
    reward = weights if near is None else weights @ near.astype(np.float64)
    reward = np.where(allowed, reward, -1.0)
    best = reward >= reward.max(axis=1, keepdims=True) * (1 - _SAME)
    hit = best[np.arange(len(own)), own] if near is None else (best & near[own]).sum(axis=1)
    chance: Floats = hit / best.sum(axis=1)
    return chance
