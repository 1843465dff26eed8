"""What follows from a prior and a mechanism for two sets of counts: q_IJ, the largest q_Ij, and the lines behind."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from flou.engine.values import Proportion
from flou.risk.table.bayes import Floats, Integers, invert


@dataclass(frozen=True, eq=False)
class Conclusions:
    """q_IJ and what stands beside it."""

    value: float
    #: The largest q_Ij of a single published count, and that count; None where none of J is ever published.
    worst: float
    worst_count: int | None
    #: The share of cells that is published in J.
    published: float
    lines: pl.DataFrame

    @property
    def figures(self) -> dict[str, Any]:
        """The figures that every inference has."""
        return {
            "worst": Proportion(self.worst),
            "worst_count": self.worst_count,
            "published": Proportion(self.published),
        }


def conclude(
    true: Integers, published: Integers, chances: Floats, shares: Floats, weights: Floats, wanted: Integers
) -> Conclusions:
    """From the chances p_ij (true counts down, published ones across) and the prior, as shares and as weights."""
    posterior = invert(weights, chances, true, published)
    each, occurs = posterior.of_set(wanted), posterior.totals > 0
    worst = int(np.argmax(np.where(occurs, each, -1.0))) if occurs.any() else None
    n_true, n_shown = chances.shape
    lines = pl.DataFrame(
        {
            "i": np.repeat(true, n_shown),
            "j": np.tile(published, n_true),
            "p_ij": chances.ravel(),
            "prior": np.repeat(shares, n_shown),
            "q_ij": posterior.chances.ravel(),
            "sensitive": np.repeat(np.isin(true, wanted), n_shown),
        }
    )
    return Conclusions(
        posterior.of_sets(wanted),
        0.0 if worst is None else float(each[worst]),
        None if worst is None else int(published[worst]),
        min(float((shares @ chances).sum()), 1.0),
        lines,
    )
