"""How much noise counts need for a privacy loss, by OpenDP's own maps, and the noise itself, by its measurements.

The loss is for neighbouring files that differ by one record added or removed. Such a record changes by one each figure
that it counts in, one for every combination of levels that a table lists: n figures in all have the L1 sensitivity n
and the L2 sensitivity √n (Dwork, McSherry, Nissim and Smith 2006). With delta = 0 the noise is geometric (Ghosh,
Roughgarden and Sundararajan 2012) and losses of tables add up; with delta > 0 it is discrete Gaussian (Canonne, Kamath
and Steinke 2020), losses add up as zero-concentrated ones (Bun and Steinke 2016) and are turned into (epsilon, delta)
at the end. Scales are searched for, and the sum of the losses checked, with OpenDP's privacy maps, which round against
the user. Nothing here draws by itself: OpenDP does, from the operating system. It cannot know whether a person has
several records; then the loss is that many times as large.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from math import ceil, inf, nextafter, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flou.describe.mechanism.noise import GaussianNoise, GeometricNoise
from flou.describe.table.roll_up import Digits
from flou.describe.table.table import Table
from flou.engine.errors import GuaranteeBrokenError, MissingExtraError

Ints = NDArray[np.int64]


@cache
def _opendp() -> Any:
    try:
        import opendp.prelude as dp
    except ImportError as missing:
        raise MissingExtraError("opendp", "dp") from missing
    dp.enable_features("contrib")
    return dp


def noised_cells(table: Table) -> NDArray[np.bool_]:
    """The cells that get noise: all but those that the schema alone rules out."""
    coherent = table.cells.coherent
    return np.ones(table.n_cells, dtype=np.bool_) if coherent is None else coherent


def count_queries(table: Table) -> int:
    """In how many of the figures one record counts at most: in one for each combination of levels that is listed."""
    codes = table.cells.codes[noised_cells(table)]
    if not len(codes):
        return 0
    levels = [
        np.unique(np.stack([dim.zonings, dim.reaches]), axis=1, return_inverse=True)[1].reshape(-1)[codes[:, j]]
        for j, dim in enumerate(table.dims)
    ]
    return len(np.unique(Digits(tuple(dim.n_nodes for dim in table.dims)).pack(levels)))


@dataclass(frozen=True)
class Loss:
    """The noise of each table, and what is lost by it."""

    #: How many figures of each table one record counts in.
    queries: tuple[int, ...]
    #: The scale of each table's noise.
    scales: tuple[float, ...]
    #: Epsilon that each table alone costs, at the same delta.
    by_table: tuple[float, ...]
    #: What all of them cost together.
    epsilon: float
    delta: float

    @property
    def noises(self) -> tuple[GeometricNoise | GaussianNoise, ...]:
        """What each table's figures are published by."""
        return tuple((GaussianNoise if self.delta else GeometricNoise)(scale) for scale in self.scales)

    def draw(self, table: Table, place: int) -> Ints:
        """Noisy counts of a table, below zero too; cells that cannot be stay 0."""
        noised = noised_cells(table)
        made = _gaussian(self.scales[place]) if self.delta else _laplace(self.scales[place])
        figures = np.zeros(table.n_cells, dtype=np.int64)
        figures[noised] = made(table.true_counts[noised].tolist()) if noised.any() else []
        return figures


def find_loss(queries: Sequence[int], epsilon: float, delta: float, shares: Sequence[Fraction] | None = None) -> Loss:
    """The least noise by which tables cost epsilon and delta together; in all alike unless they have shares."""
    dp, total = _opendp(), sum(queries)
    make, distance = (_gaussian, _root) if delta else (_laplace, int)
    # what is shared out: zCDP's rho of the Gaussian with a little left for rounding, or epsilon itself
    whole = (1 - 1e-12) / (2 * _reference(epsilon, delta) ** 2) if delta else epsilon
    if shares is None:
        scales = [dp.binary_search_param(make, d_in=distance(total), d_out=whole, T=float)] * len(queries)
    else:
        scales = [
            dp.binary_search_param(make, d_in=distance(n), d_out=_rounded_down(Fraction(whole) * share), T=float)
            for n, share in zip(queries, shares, strict=True)
        ]
    loss = spent_loss(queries, scales, delta)
    if loss.epsilon > epsilon or loss.delta > delta:
        raise GuaranteeBrokenError(
            f"The noise that was found would cost epsilon = {loss.epsilon!r}, more than the {epsilon!r} that was asked "
            "for. Nothing is drawn. Ask for a slightly different epsilon."
        )
    return loss


def spent_loss(queries: Sequence[int], scales: Sequence[float], delta: float) -> Loss:
    """What noise of these scales costs, table by table and together."""
    if not delta:
        costs = [_laplace(scale).map(n) for n, scale in zip(queries, scales, strict=True)]
        alike = len(set(scales)) == 1
        together = _laplace(scales[0]).map(sum(queries)) if alike else _rounded_up(costs)
        return Loss(tuple(queries), tuple(scales), tuple(costs), together, 0.0)
    rhos = [_gaussian(scale).map(_root(n)) for n, scale in zip(queries, scales, strict=True)]
    alike = len(set(scales)) == 1
    rho = _gaussian(scales[0]).map(_root(sum(queries))) if alike else _rounded_up(rhos)
    by_table = tuple(_epsilon_of(one, delta) for one in rhos)
    return Loss(tuple(queries), tuple(scales), by_table, _epsilon_of(rho, delta), delta)


def _laplace(scale: float) -> Any:
    """OpenDP's geometric measurement on vectors of whole numbers."""
    dp = _opendp()
    return dp.m.make_laplace(dp.vector_domain(dp.atom_domain(T="i64")), dp.l1_distance(T="i64"), scale=scale)


def _gaussian(scale: float) -> Any:
    """OpenDP's discrete Gaussian measurement on vectors of whole numbers."""
    dp = _opendp()
    return dp.m.make_gaussian(dp.vector_domain(dp.atom_domain(T="i64")), dp.l2_distance(T="f64"), scale=scale)


def _fixed(scale: float, delta: float) -> Any:
    dp = _opendp()
    return dp.c.make_fix_delta(dp.c.make_zCDP_to_approxDP(_gaussian(scale)), delta)


@cache
def _reference(epsilon: float, delta: float) -> float:
    """The least scale by which one figure costs no more than epsilon and delta."""
    scale: float = _opendp().binary_search_param(lambda s: _fixed(s, delta), d_in=1.0, d_out=(epsilon, delta), T=float)
    return scale


def _epsilon_of(rho: float, delta: float) -> float:
    """Epsilon of a zero-concentrated loss, by the map of a figure that has it: distance²/2 at scale 1."""
    distance = nextafter(sqrt(2 * rho), inf)
    epsilon: float = _fixed(1.0, delta).map(distance)[0]
    return epsilon


def _root(n: int) -> float:
    """The square root, not below the true one."""
    root = sqrt(n)
    return root if Fraction(root) ** 2 >= n else nextafter(root, inf)


def _rounded_down(value: Fraction) -> float:
    near = float(value)
    return near if Fraction(near) <= value else nextafter(near, 0.0)


def _rounded_up(parts: Sequence[float]) -> float:
    """Their sum, not below the true one."""
    exact = sum((Fraction(part) for part in parts), Fraction())
    near = float(exact)
    return near if Fraction(near) >= exact else nextafter(near, inf)


def largest_factor(epsilon: float) -> str:
    """By how much the odds of a guess may change, in words that can be read: exp(epsilon), rounded up."""
    factor = np.exp(min(epsilon, 500.0))
    return f"{ceil(factor * 100) / 100:g}" if factor < 1000 else f"{factor:.1e}"
