"""Estimators of population uniques on populations that follow their model."""

from __future__ import annotations

import numpy as np
import pytest

from flou.risk.micro.population_models import ClassSizes, choose, estimate


def sampled(sizes: np.ndarray, fraction: float, seed: int) -> ClassSizes:
    rng = np.random.default_rng(seed)
    found = rng.binomial(sizes, fraction)
    return ClassSizes.of(found[found > 0], fraction)


@pytest.mark.parametrize(("alpha", "p"), [(0.5, 0.05), (0.2, 0.02), (1.0, 0.1)])
def test_shifted_negative_binomial(alpha: float, p: float) -> None:
    """A third of the population is enough; with less, Shlosser's number of classes is off, and the estimate with it."""
    sizes = 1 + np.random.default_rng(1).negative_binomial(alpha, p, 60_000)
    found = np.mean([estimate("snb", sampled(sizes, 0.33, seed)) for seed in range(5)])
    assert found == pytest.approx((sizes == 1).sum(), rel=0.15)


def test_the_rule_takes_the_smaller_of_two_for_large_samples_and_pitman_for_small_ones() -> None:
    sizes = 1 + np.random.default_rng(2).negative_binomial(0.5, 0.05, 20_000)
    large, small = sampled(sizes, 0.3, 3), sampled(sizes, 0.05, 3)
    assert choose(small)[0] == "pitman"
    model, found = choose(large)
    assert found == min(estimate("zayatz", large), estimate("snb", large))
    assert model in ("zayatz", "snb")


def test_a_whole_population_needs_no_estimate() -> None:
    held = ClassSizes.of(np.array([1, 1, 2, 5]), 1.0)
    assert estimate("pitman", held) == 2
