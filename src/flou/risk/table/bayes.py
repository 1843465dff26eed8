"""Bayes on counts: from the chances of publishing to the chances of the truth.

p_ij = P(X' = j | X = i) is what the mechanism says, p_i what the intruder believed before; then
q_ij = P(X = i | X' = j) = p_i p_ij / q_j with q_j = Σ_i p_i p_ij (Enderle, Giessing and Tent 2020; Jamme 2025, eq. 1).
For sets of counts, q_IJ = P(X in I | X' in J) adds both sides up before dividing. A published count that never occurs
has no posterior: everything about it is 0, and callers say so.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Posterior:
    """What a published count says: true counts down, published counts across."""

    true: Integers
    published: Integers
    #: q_ij; a column of zeros where the published count never occurs.
    chances: Floats
    #: P(X' = j) up to a common factor.
    totals: Floats

    def of_set(self, wanted: Integers) -> Floats:
        """q_Ij of each published count j, I being `wanted`."""
        inside: Floats = self.chances[np.isin(self.true, wanted)].sum(axis=0)
        return np.minimum(inside, 1.0)

    def of_sets(self, wanted: Integers) -> float:
        """q_IJ, J being all published counts here."""
        total = self.totals.sum()
        return float(min(self.of_set(wanted) @ self.totals / total, 1.0)) if total > 0 else 0.0


def invert(prior: Floats, chances: Floats, true: Integers, published: Integers) -> Posterior:
    """The posterior of each published count from a prior that need not add up to 1."""
    joint = prior[:, None] * chances
    totals: Floats = joint.sum(axis=0)
    occurs = totals > 0
    posterior = np.divide(joint, totals, out=np.zeros_like(joint), where=occurs[None, :])
    return Posterior(true, published, posterior, totals)


def reachable(published: Integers, reach: int) -> Integers:
    """The true counts that can lie behind the published ones."""
    near = np.unique(published[:, None] + np.arange(-reach, reach + 1, dtype=np.int64))
    return near[near >= 0]
