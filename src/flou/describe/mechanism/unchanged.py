"""Counts published as they are: the mechanism of a table that nobody protected.

Every other mechanism is measured against it. It hides nothing: whoever reads a count knows it (the row of every count
has one target, the count itself), so inference about small counts is certain wherever they are shown. Publishing so is
what the threshold rule forbids (Hundepool et al. 2012).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from flou.describe.mechanism.mechanism import Floats, Integers, Mechanism


@dataclass(frozen=True)
class Unchanged(Mechanism):
    """Each count is published as it is."""

    @property
    def name(self) -> str:
        """How texts call it."""
        return "counts as they are"

    @property
    def chances(self) -> Floats:
        """One row, one target."""
        return np.ones((1, 1))

    def row_of(self, counts: Integers) -> Integers:
        """Every count has the same row."""
        return np.zeros_like(counts)
