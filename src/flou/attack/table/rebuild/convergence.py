"""Whether several walks agree: split R-hat and effective sample size (Gelman, Carlin et al. 2013, section 11.4).

Each walk's draws are split in halves, and the variance between the halves of all walks is compared with the variance
within them: R-hat near 1 says that the walks cannot be told apart. Draws that are the same for ever in one walk and
otherwise in another give infinity, which is what unconnected parts of the space look like. Agreement is evidence, not
proof: a part that no walk has found is missed by all of them.
"""

from __future__ import annotations

import numpy as np

from flou.describe.table.cells import Floats


def split_rhat(draws: Floats) -> float:
    """The potential scale reduction of draws with one line a walk."""
    halves = _halves(draws)
    if halves.shape[1] < 2:
        return np.inf
    within = halves.var(axis=1, ddof=1).mean()
    between = halves.mean(axis=1).var(ddof=1)
    if _is_nothing(within, halves):
        return 1.0 if _is_nothing(between, halves) else np.inf
    n = halves.shape[1]
    return float(np.sqrt((n - 1) / n + between / within))


def effective_size(draws: Floats) -> float:
    """How many independent draws are worth as much: by autocorrelations, up to the first pair whose sum is negative."""
    halves = _halves(draws)
    m, n = halves.shape
    if n < 4:
        return 0.0
    within = halves.var(axis=1, ddof=1).mean()
    spread = (n - 1) / n * within + halves.mean(axis=1).var(ddof=1)
    if _is_nothing(within, halves):
        return float(m * n) if _is_nothing(spread, halves) else 0.0
    centred = halves - halves.mean(axis=1, keepdims=True)
    size = 1 << int(2 * n - 1).bit_length()
    spectrum = np.fft.rfft(centred, size, axis=1)
    covariances = np.fft.irfft(spectrum * spectrum.conj(), size, axis=1)[:, :n].mean(axis=0) / n
    correlations = 1.0 - (within - covariances * n / (n - 1)) / spread
    pairs = correlations[1 : n - 1 : 2][: (n - 2) // 2] + correlations[2:n:2][: (n - 2) // 2]
    ends = np.flatnonzero(pairs < 0)
    total = pairs[: ends[0] if len(ends) else len(pairs)].sum()
    return float(min(m * n / max(1.0 + 2.0 * total, 1e-12), m * n))


def _halves(draws: Floats) -> Floats:
    half = draws.shape[1] // 2
    return np.concatenate([draws[:, :half], draws[:, draws.shape[1] - half :]]).astype(np.float64)


def _is_nothing(variance: float, draws: Floats) -> bool:
    """Whether a variance is no more than what sums leave in the last digits."""
    return variance <= 1e-18 * max(1.0, float(np.abs(draws).max()) ** 2)
