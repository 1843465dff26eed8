"""What is asked of a hidden column, and what released columns answer."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from flou.risk.micro.inferable.codes import Codes, Floats, Ints
from flou.risk.micro.inferable.kernels import predict_amounts, predict_labels, tally

Bools = NDArray[np.bool_]

#: How often a prediction must be right: to withhold, and to ask for a review.
SHARES = np.array([0.99, 0.90])
#: Others who must share the released values.
SUPPORTS = np.array([3, 10, 30], dtype=np.int64)


@dataclass(frozen=True)
class Prediction:
    """For each treated record how many others there are, which share of them agrees, and whether they are right."""

    support: Ints
    share: Floats
    right: Bools


@dataclass(frozen=True)
class Asked:
    """The hidden values, who teaches, who is asked for, and for whom a right answer tells something."""

    learn: Ints
    treated: Ints
    secret: Bools
    label: Codes | None = None
    value: Floats | None = None
    tolerance: Floats | None = None
    #: The rows in the order of their amounts.
    order: NDArray[np.intp] | None = None

    @classmethod
    def labels(cls, label: Codes, learn: NDArray[np.generic], treated: NDArray[np.generic], secret: Bools) -> Asked:
        return cls(learn.astype(np.int64), treated.astype(np.int64), secret, label=label)

    @classmethod
    def of_amounts(cls, value: Floats, tolerance: Floats, learn: Bools, treated: Bools, secret: Bools) -> Asked:
        order = np.argsort(value, kind="stable")
        near = np.where(np.isfinite(tolerance), tolerance, 0.0)
        return cls(learn.astype(np.int64), treated.astype(np.int64), secret, value=value, tolerance=near, order=order)

    def of_secret(self, secret: Bools) -> Asked:
        return replace(self, secret=secret)

    def predicted(self, group: Codes) -> Prediction:
        """What the other records of each group say."""
        n = len(self.treated)
        support, share, right = np.zeros(n, dtype=np.int64), np.zeros(n), np.zeros(n, dtype=np.bool_)
        if self.label is not None:
            predict_labels(
                group.values, group.n, self.label.values, self.label.n, self.learn, self.treated, support, share, right
            )
            return Prediction(support, share, right)
        assert self.value is not None
        assert self.tolerance is not None
        assert self.order is not None
        order = self.order
        found = support.copy(), share.copy(), right.copy()
        held = (a[order] for a in (group.values, self.value, self.learn, self.treated, self.tolerance))
        values, value, learn, treated, tolerance = (np.ascontiguousarray(a) for a in held)
        predict_amounts(values, group.n, value, learn, treated, tolerance, *found)
        for there, here in zip((support, share, right), found, strict=True):
            there[order] = here
        return Prediction(support, share, right)

    def leaks(self, group: Codes) -> tuple[int, int]:
        """Secret records read off a group: to withhold, and to ask for a review.

        A column counts only where so many of its predictions are right.
        """
        found = self.predicted(group)
        out = np.zeros((len(SHARES), len(SUPPORTS), 3), dtype=np.int64)
        tally(found.support, found.share, found.right, self.treated, self.secret, SHARES, SUPPORTS, out)
        counts = out[:, :, 1] >= SHARES[:, None] * out[:, :, 0]
        best = np.where(counts, out[:, :, 2], 0).max(axis=1)
        return int(best[0]), int(best[1])
