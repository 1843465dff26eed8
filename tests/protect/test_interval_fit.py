"""The interval-censored regression and the truncated normal draws, against naive ones written with SciPy."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.stats import norm, truncnorm

from flou.engine.errors import Infeasible
from flou.protect.micro.blur.censored import _add_up, _ratios, fit_intervals
from flou.protect.micro.blur.design import build_design
from flou.protect.micro.blur.truncated import truncated_normal

Floats = NDArray[np.float64]
OPEN = np.array([-np.inf, -1.0, 0.2, 0.9, 2.0, np.inf])
CLOSED = np.array([-9.0, -1.0, 0.2, 0.9, 2.0, 9.0])


def _simulated(n: int, seed: int) -> tuple[pl.DataFrame, Floats]:
    """Two numbers, a category of three levels, and an outcome with known coefficients."""
    rng = np.random.default_rng(seed)
    x, z, g = rng.normal(size=n), rng.normal(2, 3, n), rng.choice(["a", "b", "c"], n, p=[0.5, 0.3, 0.2])
    effect = np.select([g == "b", g == "c"], [0.5, -1.0], 0.0)
    y = 0.3 + 0.8 * x - 0.1 * z + effect + 0.6 * rng.normal(size=n)
    return pl.DataFrame({"x": x, "z": z, "g": g}), y


def _classes(y: Floats, edges: Floats) -> tuple[Floats, Floats]:
    number = np.searchsorted(edges, y, side="right") - 1
    return edges[number], edges[number + 1]


def _naive_matrix(frame: pl.DataFrame) -> Floats:
    """The design written out: constant, standardised numbers, indicators of all levels but the most frequent."""
    x, z, g = (frame[c].to_numpy() for c in ("x", "z", "g"))
    columns = [np.ones(len(x)), (x - x.mean()) / x.std(), (z - z.mean()) / z.std()]
    levels = sorted(set(g), key=lambda v: -int((g == v).sum()))[1:]
    return np.column_stack([*columns, *((g == v).astype(float) for v in levels)])


def _naive_loss(theta: Floats, matrix: Floats, low: Floats, high: Floats) -> float:
    """Minus the log-likelihood in γ and log σ."""
    mean, sigma = matrix @ theta[:-1], np.exp(theta[-1])
    mass = norm.cdf((high - mean) / sigma) - norm.cdf((low - mean) / sigma)
    return -float(np.log(np.maximum(mass, 1e-300)).sum())


@pytest.mark.parametrize("edges", [OPEN, CLOSED], ids=["open", "closed"])
@pytest.mark.parametrize("seed", [1, 2])
def test_fit_is_the_maximum_that_a_general_optimiser_finds(edges: Floats, seed: int) -> None:
    frame, y = _simulated(400, seed)
    low, high = _classes(y, edges)
    matrix = _naive_matrix(frame)
    best = minimize(_naive_loss, np.zeros(matrix.shape[1] + 1), (matrix, low, high), method="BFGS", tol=1e-8)
    design = build_design(frame, frame.height)
    fit = fit_intervals(design.numbers, design.codes, design.n_levels, low, high)
    assert np.allclose(fit.coefficients, best.x[:-1], atol=2e-4)
    assert fit.sigma == pytest.approx(np.exp(best.x[-1]), abs=2e-4)
    assert np.allclose(design.predict(fit.coefficients), matrix @ fit.coefficients)
    ours = _naive_loss(np.append(fit.coefficients, np.log(fit.sigma)), matrix, low, high)
    assert ours <= best.fun + 1e-6


def test_coefficients_of_simulated_data_come_back() -> None:
    """Within four standard errors, taken from the curvature of the naive likelihood."""
    frame, y = _simulated(6000, 3)
    low, high = _classes(y, OPEN)
    design = build_design(frame, frame.height)
    fit = fit_intervals(design.numbers, design.codes, design.n_levels, low, high)
    sd = {c: float(frame[c].std(ddof=0)) for c in ("x", "z")}  # type: ignore[arg-type]
    mean = {c: float(frame[c].mean()) for c in ("x", "z")}  # type: ignore[arg-type]
    # the reference is "a", the most frequent; then "b" and "c"
    wanted = [0.3 + 0.8 * mean["x"] - 0.1 * mean["z"], 0.8 * sd["x"], -0.1 * sd["z"], 0.5, -1.0]
    theta, matrix = np.append(fit.coefficients, np.log(fit.sigma)), _naive_matrix(frame)
    error = _standard_errors(theta, matrix, low, high)
    assert (np.abs(fit.coefficients - wanted) < 4 * error[:-1]).all()
    assert abs(np.log(fit.sigma / 0.6)) < 4 * error[-1]
    assert (error < 0.06).all(), "a test that any fit passes shows nothing"


def _standard_errors(theta: Floats, matrix: Floats, low: Floats, high: Floats) -> Floats:
    size, step = len(theta), 1e-3
    hessian = np.empty((size, size))
    for i in range(size):
        for j in range(size):
            e, f = np.eye(size)[i] * step, np.eye(size)[j] * step
            at = [_naive_loss(theta + s, matrix, low, high) for s in (e + f, e - f, -e + f, -e - f)]
            hessian[i, j] = (at[0] - at[1] - at[2] + at[3]) / (4 * step * step)
    return np.asarray(np.sqrt(np.diag(np.linalg.inv(hessian))))


@pytest.mark.parametrize("edges", [OPEN, CLOSED], ids=["open", "closed"])
def test_gradient_and_hessian_are_those_of_the_value(edges: Floats) -> None:
    frame, y = _simulated(60, 4)
    low, high = _classes(y, edges)
    design = build_design(frame, frame.height)
    places = np.array([3])
    theta = np.array([0.4, 0.9, -0.3, 0.2, -0.7, 1.4])
    size = theta.size

    def at(point: Floats) -> tuple[float, Floats, Floats]:
        gradient, hessian = np.zeros(size), np.zeros((size, size))
        value = _add_up(design.numbers, design.codes, places, low, high, 1, point, gradient, hessian)
        return value, gradient, np.tril(hessian) + np.tril(hessian, -1).T

    value, gradient, hessian = at(theta)
    matrix = _naive_matrix(frame)
    naive = _naive_loss(np.append(theta[:-1] / theta[-1], -np.log(theta[-1])), matrix, low, high)
    assert value == pytest.approx(-naive, rel=1e-12)
    step = 1e-5
    for i in range(size):
        e = np.eye(size)[i] * step
        up, down = at(theta + e), at(theta - e)
        assert gradient[i] == pytest.approx((up[0] - down[0]) / (2 * step), rel=1e-5, abs=1e-6)
        assert np.allclose(hessian[i], (up[1] - down[1]) / (2 * step), rtol=1e-5, atol=1e-5)


ENDS = [(-1.0, 2.0), (8.0, 9.0), (30.0, 30.5), (-30.5, -30.0), (8.0, np.inf), (-np.inf, -30.0), (-np.inf, np.inf),
        (-np.inf, 1.0), (4.9999, 5.0001), (37.0, 39.0), (-40.0, 40.0), (0.0, 1e-9)]  # fmt: skip


@pytest.mark.parametrize(("a", "b"), ENDS)
def test_ratios_of_an_interval_far_out(a: float, b: float) -> None:
    left, right, log_p = _ratios(a, b)
    mass = truncnorm(a, b)
    # the density of the truncated law at its ends is φ/P
    assert left == pytest.approx(mass.pdf(a) if np.isfinite(a) else 0.0, rel=1e-6, abs=1e-12)
    assert right == pytest.approx(mass.pdf(b) if np.isfinite(b) else 0.0, rel=1e-6, abs=1e-12)
    assert log_p == pytest.approx(_log_mass(a, b), rel=1e-7, abs=1e-9)


def _log_mass(a: float, b: float) -> float:
    if b - a < 1e-6:
        return float(norm.logpdf((a + b) / 2) + np.log(b - a))
    if a > 0:
        a, b = -b, -a
    upper, lower = norm.logcdf(b), norm.logcdf(a)
    return float(upper + np.log1p(-np.exp(lower - upper)))


@pytest.mark.parametrize(("a", "b"), ENDS)
def test_truncated_normal_has_the_quantiles_of_scipy(a: float, b: float) -> None:
    u = np.array([1e-12, 0.001, 0.1, 0.5, 0.9, 0.999, 1 - 1e-12])
    drawn = truncated_normal(np.full(7, a), np.full(7, b), u)
    assert (drawn >= a).all()
    assert (drawn <= b).all()
    assert (np.diff(drawn) >= 0).all()
    # SciPy's own quantiles lose digits where less than 1e-9 of the law is cut off
    assert np.allclose(drawn, truncnorm(a, b).ppf(u), rtol=1e-7, atol=1e-6)


@given(st.floats(-60, 60), st.floats(1e-6, 60), st.floats(1e-9, 1 - 1e-9))
def test_a_drawn_value_has_its_share_of_the_law_below_it(a: float, width: float, u: float) -> None:
    b = a + width
    drawn = float(truncated_normal(np.array([a]), np.array([b]), np.array([u]))[0])
    assert a <= drawn <= b
    if a < 0 < b or width < 1e-3:
        return
    # in the tail, with all masses taken relative to the nearer end
    near, far, x, share = (a, b, drawn, 1 - u) if a >= 0 else (-b, -a, -drawn, u)
    above = np.exp([norm.logsf(x) - norm.logsf(near), norm.logsf(far) - norm.logsf(near)])
    assert above[0] - above[1] == pytest.approx(share * (1 - above[1]), rel=1e-6, abs=1e-9)


def test_a_covariate_that_gives_the_class_away_is_infeasible() -> None:
    x = np.linspace(-2, 2, 200)
    low, high = _classes(x, OPEN)
    design = build_design(pl.DataFrame({"x": x}), 200)
    with pytest.raises(Infeasible, match="fewer covariates"):
        fit_intervals(design.numbers, design.codes, design.n_levels, low, high)
