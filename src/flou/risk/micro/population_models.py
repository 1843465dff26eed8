"""Population uniques from the class sizes of a sample: the estimators that Dankar et al. (2012) compare.

All of them see the number u_j of classes that have j records in the sample, n records from a population of N.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import least_squares, minimize
from scipy.special import expit, gammaln

from flou.engine.errors import NotConvergedError

Model = Literal["pitman", "zayatz", "snb"]
Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class ClassSizes:
    """How many classes of the sample have each size, and how much of the population the sample is."""

    sizes: Floats
    classes: Floats
    fraction: float

    @classmethod
    def of(cls, counts: NDArray[np.int64], fraction: float) -> ClassSizes:
        sizes, classes = np.unique(counts, return_counts=True)
        return cls(sizes.astype(np.float64), classes.astype(np.float64), fraction)

    @property
    def n(self) -> float:
        return float(self.sizes @ self.classes)

    @property
    def population(self) -> float:
        return self.n / self.fraction

    @property
    def n_classes(self) -> float:
        return float(self.classes.sum())

    def of_size(self, size: int) -> float:
        """The number of classes of this size."""
        return float(self.classes[self.sizes == size].sum())


def estimate(model: Model, held: ClassSizes) -> float:
    """The estimated number of people who are unique in the population, between what is possible."""
    if held.fraction >= 1 or not held.of_size(1):
        return held.of_size(1)
    found = {"pitman": _pitman, "zayatz": _zayatz, "snb": _snb}[model](held)
    return float(min(max(found, 0.0), held.population))


def choose(held: ClassSizes) -> tuple[Model, float]:
    """Dankar's rule: of small samples Pitman's model, of others the smaller of Zayatz' and the negative binomial."""
    zayatz: tuple[Model, float] = ("zayatz", estimate("zayatz", held))
    other: Model = "pitman" if held.fraction <= 0.1 else "snb"
    try:
        found: tuple[Model, float] = (other, estimate(other, held))
    except NotConvergedError:
        return zayatz
    return found if other == "pitman" or found[1] < zayatz[1] else zayatz


def _zayatz(held: ClassSizes) -> float:
    """Bayes' rule, with the class sizes of the sample for those of the population (Zayatz 1991)."""
    n, population, j = held.n, held.population, held.sizes
    # a class of j people has one of them in the sample: hypergeometric
    room = np.maximum(population - j - (n - 1), 0.0)
    one = np.log(j) + _choose(population - j, n - 1) - _choose(population, n)
    chance = np.where(room > 0, np.exp(one), 0.0)
    uniques = held.of_size(1)
    is_unique = uniques * float(chance[j == 1].sum()) / float(held.classes @ chance)
    return uniques * is_unique / held.fraction


def _choose(n: Floats | float, k: float) -> Floats:
    return np.asarray(gammaln(np.asarray(n) + 1) - gammaln(k + 1) - gammaln(np.maximum(np.asarray(n) - k, 0) + 1))


def _pitman(held: ClassSizes) -> float:
    """Pitman's sampling formula with θ and α by maximum likelihood (Hoshino 2001)."""
    n, u = held.n, held.n_classes

    def parameters(x: Floats) -> tuple[float, float]:
        alpha = float(expit(np.clip(x[0], -30.0, 16.0)))
        return alpha, float(np.exp(np.clip(x[1], -30.0, 40.0))) - alpha

    def loss(x: Floats) -> float:
        alpha, theta = parameters(x)
        classes = (u - 1) * np.log(alpha) + gammaln(theta / alpha + u) - gammaln(theta / alpha + 1)
        records = gammaln(theta + n) - gammaln(theta + 1)
        within = held.classes @ (gammaln(held.sizes - alpha) - gammaln(1 - alpha))
        return float(-(classes - records + within) / n)

    starts = [(a, b) for a in (-2.0, 0.0, 1.5) for b in (0.0, np.log(u))]
    tries = [
        minimize(loss, s, method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-13, "maxiter": 4000})
        for s in starts
    ]
    best = min(tries, key=lambda t: float(t.fun))
    alpha, theta = parameters(best.x)
    if not best.success or alpha > 1 - 1e-6 or theta > 1e3 * n:
        raise NotConvergedError(
            f"Pitman's model has no maximum here (α = {alpha:.4g}, θ = {theta:,.4g}, deviance "
            f"{2 * n * best.fun:,.4g}): there is no estimate. Nearly all classes may have one size; take another model."
        )
    population = held.population
    log_share = gammaln(theta + 1) - gammaln(theta + alpha) + gammaln(theta + alpha + population - 1)
    return float(population * np.exp(log_share - gammaln(theta + population)))


def _snb(held: ClassSizes) -> float:
    """Class sizes of one more than a negative binomial (Chen & Keller-McNulty 1998).

    Sampled with probability π, a class has no record with probability (1-π) B, one with B (π + (1-π) α x) and two
    with B (π α x + (1-π) α (α+1) x²/2), where B = (p / (1 - q (1-π)))^α and x = q π / (1 - q (1-π)). Their number
    is Shlosser's estimate; α and q are those for which one and two are met as often as they were.
    """
    pi, one, two = held.fraction, held.of_size(1), held.of_size(2)
    gone = (1 - pi) ** held.sizes
    seen = held.sizes * pi * (1 - pi) ** (held.sizes - 1)
    n_classes = held.n_classes + one * float(held.classes @ gone) / float(held.classes @ seen)
    wanted = np.array([one, two]) / n_classes

    def gap(z: Floats) -> Floats:
        alpha, q = float(np.exp(z[0])), float(expit(z[1]))
        below = 1 - q * (1 - pi)
        x = q * pi / below
        base = np.exp(alpha * (np.log1p(-q) - np.log(below)))
        met = np.array([pi + (1 - pi) * alpha * x, pi * alpha * x + (1 - pi) * alpha * (alpha + 1) * x * x / 2])
        return np.asarray((base * met - wanted) / np.maximum(wanted, 1e-12))

    starts = [(a, b) for a in (-3.0, -1.0, 1.0) for b in (-2.0, 1.0, 4.0)]
    bounds = ([-20.0, -30.0], [20.0, 30.0])
    best = min((least_squares(gap, s, bounds=bounds) for s in starts), key=lambda t: float(t.cost))
    if not two or best.cost > 1e-10:
        raise NotConvergedError(
            f"The negative binomial model does not fit these class sizes (misfit {2 * best.cost:.4g}): there is no "
            "estimate. Take another model."
        )
    alpha, q = float(np.exp(best.x[0])), float(expit(best.x[1]))
    return float(n_classes * (1 - q) ** alpha)
