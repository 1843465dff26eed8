"""What the intruder believes of a count before it is published.

`empirical`: the shares of the true counts in the table, the most that he can know of a table as a whole; `uniform`: all
counts up to a bound alike, which is to know nothing; `poisson`: a Poisson distribution with the table's mean count,
which is to know the size of the population and the number of cells. Empirical and uniform bracket what is plausible
(Jamme 2025); they are no bounds, and an intruder who knows one cell well knows more than either.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from flou.describe.count_frequencies import CountFrequencies
from flou.engine.errors import ParameterError
from flou.engine.note import Note

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
PriorKind = Literal["empirical", "uniform", "poisson"]


@dataclass(frozen=True, eq=False)
class Prior:
    """A prior on some true counts: `shares` as they are read, `weights` in proportion but never all too small."""

    shares: Floats
    weights: Floats
    notes: tuple[Note, ...] = ()


def prior_on(kind: PriorKind, true: Integers, frequencies: CountFrequencies | None, top: int) -> Prior:
    """The prior on the given true counts; a uniform one reaches from 0 to `top`."""
    if kind == "uniform":
        shares = np.where(true <= top, 1.0 / (top + 1), 0.0)
        note = Note("the uniform prior takes the true counts 0 to {top} as equally likely", {"top": top})
        return Prior(shares, shares, (note,))
    if frequencies is None:
        raise ParameterError(
            f'prior = "{kind}" needs the true counts: counts=frame with columns i and N, or prior = "uniform".'
        )
    if kind == "empirical":
        shares = frequencies.shares(true)
        return Prior(shares, shares)
    return _poisson(true, frequencies.mean)


def _poisson(true: Integers, mean: float) -> Prior:
    """Not truncated: counts out of the mechanism's reach have no part in the posterior."""
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.where(true == 0, 0.0, true * np.log(mean)) - mean - gammaln(true + 1.0)
    largest = logs.max()
    weights = np.exp(logs - largest) if np.isfinite(largest) else np.zeros(len(true))
    text = "the Poisson prior has the mean of the counts, {mean}, and is not truncated"
    note = Note(text, {"mean": round(mean, 4)}, internal=True)
    return Prior(np.exp(logs), weights, (note,))
