"""Noise as a mechanism, against its definition summed up by hand, and far out in the tails."""

from __future__ import annotations

from math import exp, fsum, isfinite, log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import laplace
from tests.depth import examples

from flou.describe.mechanism.noise import GaussianNoise, GeometricNoise, Noise, RoundedLaplace
from flou.engine.errors import DataError, ParameterError

KINDS = (GeometricNoise, GaussianNoise, RoundedLaplace)


def weights(noise: Noise, n: int) -> dict[int, float]:
    """P(z) for |z| up to n by the definition of each kind, no tail cut."""
    z = range(-n, n + 1)
    if isinstance(noise, RoundedLaplace):
        return {k: float(laplace.cdf(k + 0.5, scale=noise.scale) - laplace.cdf(k - 0.5, scale=noise.scale)) for k in z}
    if isinstance(noise, GeometricNoise):
        raw = {k: exp(-abs(k) / noise.scale) for k in z}
    else:
        raw = {k: exp(-(k**2) / (2 * noise.scale**2)) for k in z}
    total = fsum(raw.values())
    return {k: w / total for k, w in raw.items()}


@examples(40)
@given(st.sampled_from(KINDS), st.floats(0.1, 12.0), st.integers(0, 30))
def test_chances_are_those_of_the_definition(kind: type[Noise], scale: float, i: int) -> None:
    noise = kind(scale)
    known = weights(noise, 600)
    expected = [fsum(p for z, p in known.items() if i + z <= 0), *(known[j - i] for j in range(1, 80))]
    found = noise.probability(np.arange(80), i)
    assert found == pytest.approx(np.array(expected), rel=1e-9, abs=1e-15)
    assert noise.dense(40)[min(i, 40), :41] == pytest.approx(found[:41] if i <= 40 else None, rel=1e-9, abs=1e-16)
    row = noise.deviation_row(i)
    assert row.sum() == pytest.approx(1, abs=1e-13)
    assert noise.mean(i) == pytest.approx(sum(p * max(z, -i) for z, p in known.items()), abs=1e-9)
    assert np.array_equal(noise.rows(noise.row_of(np.array([i])))[0], row)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("scale", [0.1, 1.0, 30.0, 1000.0])
def test_likelihoods_are_finite_and_right_however_unlikely(kind: type[Noise], scale: float) -> None:
    noise = kind(scale)
    shown, true = np.array([0, 1_000_000, 0, 7]), np.array([1_000_000, 0, 10**9, 10**9])
    logs = noise.log_likelihood(shown, true)
    assert np.isfinite(logs).all()
    assert (logs < 0).all()
    # the chance of zero is that of the last deviation and a little more
    first = noise._log_mass(np.array([1e6]))[0]
    assert first <= logs[0] <= first + log(10 * scale + 10)
    if kind is GeometricNoise:
        assert logs[1] == pytest.approx(-1e6 / scale + log(np.tanh(1 / (2 * scale))))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("scale", [0.1, 2.5, 300.0])
def test_support_is_where_twelve_digits_lie(kind: type[Noise], scale: float) -> None:
    noise = kind(scale)
    assert not noise.bounded
    assert noise.shared_by == "nothing"
    assert not noise.zeros_kept
    for shown in (0, 1, 5, 10_000_000):
        low, high = (int(end[()]) for end in noise.support(np.array(shown)))
        peak = noise.log_likelihood(shown, shown)[()]
        assert noise.log_likelihood(shown, high)[()] - peak >= log(1e-12) > noise.log_likelihood(shown, high + 1) - peak
        assert low == 0 or noise.log_likelihood(shown, low)[()] - peak >= log(1e-12)
        assert low == 0 or noise.log_likelihood(shown, low - 1)[()] - peak < log(1e-12)
        assert low == max(0, 2 * shown - high) if shown else low == 0


def test_bias_is_that_of_an_empty_cell() -> None:
    noise = GeometricNoise(2.0)
    ratio = exp(-0.5)
    # E max(Z, 0) of the geometric distribution: ratio / (1 - ratio^2)
    assert noise.mean(0) == noise.bias == pytest.approx(ratio / (1 - ratio**2))
    assert abs(noise.mean(noise.last)) < 1e-12
    assert noise.variance(noise.last) == pytest.approx(2 * ratio / (1 - ratio) ** 2)
    assert GaussianNoise(5.0).variance(200) == pytest.approx(25, rel=1e-9)


def test_wide_noise_holds_no_large_array() -> None:
    noise = GeometricNoise(1000.0)
    assert noise.reach > 30_000
    assert noise.deviation_row(3).sum() == pytest.approx(1)
    assert isfinite(float(noise.log_likelihood(5, 100_000)[()]))
    assert noise.dense(20).shape == (21, 21 + noise.reach)
    with pytest.raises(DataError, match="too wide for this"):
        _ = noise.chances


@pytest.mark.parametrize("scale", [0, -1, float("nan"), float("inf"), 1e9, "2", True, None])
def test_wrong_scales_are_refused(scale: object) -> None:
    with pytest.raises(ParameterError, match="scale = "):
        GeometricNoise(scale)  # type: ignore[arg-type]


def test_equal_by_kind_and_scale() -> None:
    assert GeometricNoise(2) == GeometricNoise(2.0) != GeometricNoise(2.1)
    assert GeometricNoise(2.0) != RoundedLaplace(2.0) != GaussianNoise(2.0)
    assert len({GaussianNoise(1.0), GaussianNoise(1.0), GeometricNoise(1.0)}) == 2
    assert "scale 2" in GaussianNoise(2.0).name
