"""Cells whose noise goes by the keys of their units: how the noise of a cell and of its parts hang together.

The key of a cell is the sum of the keys of its units modulo 1, and each deviation means an interval of keys. The keys
of a part and of the rest are independent, and the key of the whole is their sum: each two of the three tell nothing of
the third, but what is published of two of them narrows it down. The circle of keys is cut into bins; a sum of keys is
a convolution, and a product of spectra.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from flou.describe.mechanism.mechanism import Mechanism

Floats = NDArray[np.float64]
Spectra = NDArray[np.complex128]
Integers = NDArray[np.int64]

#: Bins of the circle, and how many chances are worked out at a time.
_BINS, _AT_ONCE = 1024, 1 << 14


class KeyCircle:
    """What is known of keys, for one mechanism."""

    def __init__(self, mechanism: Mechanism) -> None:
        low, high = mechanism.key_intervals()
        rows, places = np.nonzero(mechanism.chances)
        self._number = np.full(low.shape, -1, dtype=np.int64)
        self._number[rows, places] = np.arange(len(rows))
        edges = np.arange(_BINS + 1) / _BINS
        ends, starts = np.minimum(high[rows, places, None], edges[1:]), np.maximum(low[rows, places, None], edges[:-1])
        self._spectra: Spectra = np.fft.rfft(np.maximum(ends - starts, 0.0))
        # the sum of two keys anywhere in their bins lies in either of two bins
        self._spread: Spectra = np.fft.rfft([0.5, 0.5], n=_BINS)
        # the ends of a half spectrum stand once in the whole one, all others twice
        self._weights = np.full(_BINS // 2 + 1, 2.0)
        self._weights[[0, -1]] = 1.0
        self._mechanism = mechanism

    def _of(self, counts: Integers, published: Integers) -> Integers:
        """The number of what is known of the key of each cell; the chance that it is published so is not 0."""
        found = self._number[self._mechanism.row_of(counts), published - counts + self._mechanism.reach]
        return np.asarray(found)

    @cached_property
    def hidden(self) -> Spectra:
        """By count: its cell is shown as zero. Multiplied, the keys of several cells add up with one that is not."""
        counts = np.arange(self._mechanism.reach + 1)
        known = np.flatnonzero(self._mechanism.probability([0], counts))
        found = np.zeros((len(counts), len(self._spread)), dtype=np.complex128)
        found[known] = self._spectra[self._of(known, np.zeros(len(known), dtype=np.int64))] * self._spread
        found[0] = 1.0  # nobody has no key
        return found

    def joint(
        self, part: tuple[Integers, Integers], rest: Spectra, which: Integers, whole: tuple[Integers, Integers]
    ) -> Floats:
        """The chance of a part, of the rest and of the whole: counts and published counts, and what the rest shows.

        `which` says for each place which line of `rest` holds; the chances of part and whole are not 0.
        """
        places = np.stack([self._of(*part), which, self._of(*whole)])
        each, back = np.unique(places, axis=1, return_inverse=True)
        found = np.empty(each.shape[1])
        weighted = rest * self._weights
        for start in range(0, len(found), _AT_ONCE):
            i, j, k = each[:, start : start + _AT_ONCE]
            product = self._spectra[i] * weighted[j]
            found[start : start + _AT_ONCE] = np.einsum("nf,nf->n", product, self._spectra[k].conj()).real
        return np.asarray(np.maximum(found, 0.0)[back.ravel()])
