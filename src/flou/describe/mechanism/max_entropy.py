"""The most even noise of a given size: each row of a transition matrix as a maximum of entropy.

For a true count i the published count j is drawn from targets between i - D and i + D, none negative and none in
1, …, js. Among all distributions on them that are unbiased, of variance V at most, and that do not decrease in j up to
j = i (where i is a target), the one of largest entropy is taken (Enderle, Giessing and Tent 2018; the R
package ptable solves the same program by a general optimiser, to about eight digits).

The program is solved in its dual, which has two variables: a for the mean and b <= 0 for the variance. Given them, the
best p_j is proportional to exp of the isotonic regression of eta_j = a z_j + b (z_j^2 - …), z = j - i. As eta rises and
then falls, the regression pools one block alone, which ends at z = 0 and whose level is the largest of the means of eta
over s, …, 0. The dual is convex and smooth; all rows go through one damped Newton iteration together.

The larger V, the closer a row comes to the uniform distribution and the better it hides; a V near zero hides nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from flou.engine.errors import Infeasible, NotConvergedError

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

_MOST_STEPS = 200
#: Newton stops when the last step promised less than this, relative to a dual of order 1.
_STILL = 1e-28
#: Largest error of a moment that is accepted, relative to its size.
_TOLERANCE = 1e-11


def smallest_variance(js: int) -> int:
    """The least V that leaves an unbiased distribution for every count: max of i (js + 1 - i) over i <= js."""
    return (js + 1) ** 2 // 4  # counts 1..js have no closer targets than 0 and js + 1


@lru_cache(maxsize=256)
def solve_rows(D: int, V: float, js: int) -> Floats:
    """The chances of the deviations -D, …, D of the counts 0, …, n, where n = D, or js + D + 1 when js > 0."""
    least = smallest_variance(js)
    if least > V:
        raise Infeasible(
            f"No unbiased noise of variance V = {V:g} keeps counts 1 to {js} from being published: "
            f"the smallest feasible V is {least} for js = {js}.",
            best=f"V = {least}",
            next_step=f"Set V to {least} or more, or lower js.",
        )
    n = D if js == 0 else js + D + 1
    counts = np.arange(1, n + 1)
    z = np.arange(-D, D + 1)
    published = counts[:, None] + z
    allowed = (published >= 0) & ~((published >= 1) & (published <= js))
    # the variance that no unbiased distribution on these targets goes below: zero where i itself is a target
    floor = np.where(counts <= js, counts * (js + 1 - counts), 0).astype(np.float64)
    forced = V - floor <= 1e-12 * V
    chances = np.zeros((n + 1, 2 * D + 1))
    chances[0, D] = 1.0
    for i in counts[forced]:  # V leaves 0 and js + 1 alone, and zero mean their chances
        chances[i, D - i], chances[i, D + js + 1 - i] = (js + 1 - i) / (js + 1), i / (js + 1)
    rows = _Rows.of(counts[~forced], z, allowed[~forced], js, np.minimum(V - floor[~forced], 4.0 * D * D))
    chances[1:][~forced] = _maximise(rows)
    chances[-1] = (chances[-1] + chances[-1, ::-1]) / 2  # large counts: symmetric to the last bit
    chances.flags.writeable = False
    return chances


@dataclass(frozen=True)
class _Rows:
    """Rows to be solved: features of each deviation, their means over s, …, 0, and the slack of the variance."""

    allowed: Flags
    #: z, and z^2 less the line through the two targets next to i (so that it is 0 at both): E = V - floor binds.
    first: Floats
    second: Floats
    #: Means of both features over the targets from s to 0, s = -D..0; minus infinity where no block starts.
    tail_first: Floats
    tail_second: Floats
    starts: Flags
    slack: Floats
    #: Where to start: a that balances the two targets next to i, and the second feature of the target after them.
    guess: Floats
    third: Floats

    @classmethod
    def of(cls, counts: NDArray[np.int64], z: NDArray[np.int64], allowed: Flags, js: int, slack: Floats) -> _Rows:
        i = counts[:, None].astype(np.float64)
        inside = i <= js
        first = np.broadcast_to(z.astype(np.float64), allowed.shape)
        second = np.where(inside, (first + i) * (first - (js + 1 - i)), first**2)
        half = len(z) // 2 + 1
        left = allowed[:, :half] & ~inside  # without i among the targets, nothing need rise towards it
        number = np.maximum(_from_right(left.astype(np.float64)), 1.0)
        tail_first = _from_right(np.where(left, first[:, :half], 0.0)) / number
        tail_second = _from_right(np.where(left, second[:, :half], 0.0)) / number
        odds = np.where(inside, np.log(i / np.maximum(js + 1 - i, 1)) / (js + 1), 0.0)[:, 0]
        third = np.where(inside, js + 2.0, 1.0)[:, 0]
        return cls(allowed, first, second, tail_first, tail_second, left, slack, odds, third)

    def take(self, rows: Flags) -> _Rows:
        return _Rows(*(getattr(self, name)[rows] for name in self.__dataclass_fields__))


def _from_right(values: Floats) -> Floats:
    return values[:, ::-1].cumsum(axis=1)[:, ::-1]


def _maximise(rows: _Rows) -> Floats:
    """The rows with the bound on the variance left out, then once more those that break it."""
    n = len(rows.slack)
    free = _newton(rows, rows.guess, np.zeros(n), bound=False)
    over = (free * rows.second).sum(axis=1) > rows.slack * (1 + 1e-13)
    if over.any():
        bound = rows.take(over)
        # a normal distribution of this variance, or three targets where that is narrower than the grid
        narrow = np.log(np.minimum(bound.slack / bound.third, 0.5)) / bound.third
        start = np.where(bound.slack >= 0.5 * bound.third, -0.5 / bound.slack, narrow)
        free[over] = _newton(bound, bound.guess, start, bound=True)
    return free


def _newton(rows: _Rows, a: Floats, b: Floats, *, bound: bool) -> Floats:
    """Minimise the dual log Σ exp θ - b slack over a, and over b where the variance binds."""
    a, b = a.copy(), b.copy()
    value, chances, first, second = _inner(rows, a, b)
    for _ in range(_MOST_STEPS):
        mean_1 = (chances * first).sum(axis=1)
        mean_2 = (chances * second).sum(axis=1)
        off_1, off_2 = first - mean_1[:, None], second - mean_2[:, None]
        h11 = (chances * off_1 * off_1).sum(axis=1)
        if bound:
            h12 = (chances * off_1 * off_2).sum(axis=1)
            h22 = (chances * off_2 * off_2).sum(axis=1)
            gap = mean_2 - rows.slack
            # eliminating a first keeps the small pivot exact when two targets hold nearly all
            pivot = h22 - h12 * h12 / h11
            step_b = -(gap - h12 / h11 * mean_1) / pivot
            step_a = -(mean_1 + h12 * step_b) / h11
            promised = -(mean_1 * step_a + gap * step_b)
        else:
            step_a, step_b = -mean_1 / h11, np.zeros_like(b)
            promised = -mean_1 * step_a
        if not (promised > _STILL).any():
            break
        length = np.ones_like(a)
        for _ in range(60):  # Armijo, each row its own length; near the end rounding hides the descent
            found = _inner(rows, a + length * step_a, b + length * step_b)
            short = (found[0] > value - 0.1 * length * promised) & (promised > 1e-10)
            if not short.any():
                break
            length[short] *= 0.5
        a, b = a + length * step_a, b + length * step_b
        value, chances, first, second = found
    _check(rows, chances, bound=bound)
    return chances


def _inner(rows: _Rows, a: Floats, b: Floats) -> tuple[Floats, Floats, Floats, Floats]:
    """The dual's value, the chances, and the features as the pooled block has them."""
    tails = np.where(rows.starts, a[:, None] * rows.tail_first + b[:, None] * rows.tail_second, -np.inf)
    start = tails.argmax(axis=1)
    half = tails.shape[1]
    block = np.zeros(rows.allowed.shape, dtype=bool)
    block[:, :half] = rows.starts & (np.arange(half) >= start[:, None])
    at = np.arange(len(a))
    first = np.where(block, rows.tail_first[at, start][:, None], rows.first)
    second = np.where(block, rows.tail_second[at, start][:, None], rows.second)
    theta = np.where(rows.allowed, a[:, None] * first + b[:, None] * second, -np.inf)
    top = theta.max(axis=1)
    weights = np.exp(theta - top[:, None])
    total = weights.sum(axis=1)
    return top + np.log(total) - b * rows.slack, weights / total[:, None], first, second


def _check(rows: _Rows, chances: Floats, *, bound: bool) -> None:
    """A row that is biased or of another variance is never handed out."""
    bias = np.abs((chances * rows.first).sum(axis=1))
    spread = np.maximum((chances * rows.first**2).sum(axis=1), 1e-300)
    wrong = ~(bias <= _TOLERANCE * np.sqrt(spread))
    if bound:
        wrong |= ~(np.abs((chances * rows.second).sum(axis=1) - rows.slack) <= _TOLERANCE * np.maximum(spread, 1))
    if wrong.any():
        raise NotConvergedError(
            "The transition matrix could not be solved to full precision. Try a V that is a little larger."
        )
