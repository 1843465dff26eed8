"""Inference about differences of nested cells: enumeration of every pair of published counts."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.depth import examples

import flou
from flou.describe.mechanism.mechanism import Mechanism
from flou.describe.mechanism.noise import GeometricNoise
from flou.describe.mechanism.rounding import UnbiasedRounding
from flou.describe.mechanism.unchanged import Unchanged

D = flou.risk.DifferenceInference
T = flou.TransitionMatrix


def pairs(*of: tuple[int, int]) -> pl.DataFrame:
    return pl.DataFrame(list(of), schema=["outer", "inner"], orient="row")


def enumerated(matrix: Mechanism, cells: list[tuple[int, int]], inside: set[int], shown: set[int]) -> float:
    """P(d in I | A' - B' in J) by going through every two published counts."""
    hit = total = 0.0
    for outer, inner in cells:
        if outer == inner and matrix.shared_by == "contributors":  # the same units, the same noise
            chance = 1.0 if 0 in shown else 0.0
        else:
            both = product(
                zip(matrix.targets(outer), matrix.row(outer), strict=True),
                zip(matrix.targets(inner), matrix.row(inner), strict=True),
            )
            chance = sum(p * q for (a, p), (b, q) in both if int(a - b) in shown)
        total += chance
        hit += chance if outer - inner in inside else 0.0
    return hit / total


@given(
    cells=st.lists(
        st.tuples(st.integers(0, 30), st.integers(0, 9)).map(lambda t: (t[0] + t[1], t[0])), min_size=1, max_size=8
    ),
    triple=st.sampled_from([(2, 2.0, 0), (3, 2.0, 1), (4, 4.0, 2)]),
    shown=st.sets(st.integers(-4, 6), min_size=1),
)
@examples(60)
def test_every_pair_enumerated(cells: list[tuple[int, int]], triple: Any, shown: set[int]) -> None:
    matrix = T(*triple)
    try:
        expected = enumerated(matrix, cells, {1, 2}, shown)
    except ZeroDivisionError:
        expected = 0.0
    found = D(s=3, J=shown).measure(matrix, counts=pairs(*cells))
    assert found.value == pytest.approx(expected, abs=1e-12)


def test_the_same_units_have_the_same_noise() -> None:
    """Whatever the noise: a difference other than 0 proves that somebody is between."""
    found = D(s=3, J=[-2, -1, 1, 2]).measure(T(5, 5, 2), counts=pairs((9, 9), (20, 20), (9, 8), (20, 18)))
    assert found.value == pytest.approx(1.0)
    assert found.by_count.filter(pl.col("i") == 0)["p_ij"].sum() == 0


@pytest.mark.parametrize("noise", [GeometricNoise(2.0), UnbiasedRounding(5)])
def test_noise_that_is_drawn_for_each_cell_does_not_prove_that_somebody_lies_between(noise: Mechanism) -> None:
    cells = [(7, 7), (22, 22), (22, 22), (20, 19), (7, 5)]
    found = D(s=3, J=[-5, -1, 1, 2, 5]).measure(noise, counts=pairs(*cells))
    assert found.value == pytest.approx(enumerated(noise, cells, {1, 2}, {-5, -1, 1, 2, 5}), abs=1e-12)
    assert found.equal == pytest.approx(enumerated(noise, cells, {0}, {0}), abs=1e-12)
    assert found.worst < 1


def test_numbers_of_pairs_weigh() -> None:
    several = pl.DataFrame({"outer": [9, 9, 30], "inner": [8, 2, 28], "N": [3, 1, 2]})
    longhand = pairs((9, 8), (9, 8), (9, 8), (9, 2), (30, 28), (30, 28))
    one, other = (D(s=4).measure(T(4, 4, 1), counts=c) for c in (several, longhand))
    assert one.value == pytest.approx(other.value, abs=1e-14)
    assert one.equal == pytest.approx(other.equal, abs=1e-14)


def test_frequencies_mean_a_large_smaller_cell() -> None:
    counts = pl.DataFrame({"i": [0, 1, 2, 5], "N": [4, 3, 2, 1]})
    matrix = T(4, 4, 1)
    large = [(1000 + d, 1000) for d, n in zip(counts["i"], counts["N"], strict=True) for _ in range(n)]
    found = D(s=3).measure(matrix, counts=counts)
    assert found.value == pytest.approx(enumerated(matrix, large, {1, 2}, {1, 2, 3}), abs=1e-12)
    assert found.equal == pytest.approx(enumerated(matrix, large, {0}, {0}), abs=1e-12)
    assert "large" in str(found.notes[-1])


def test_without_noise_a_difference_is_known() -> None:
    found = D(s=3).measure(Unchanged(), counts=pairs((5, 4), (7, 7), (9, 1)))
    assert found.value == found.equal == 1


def test_uniform_prior() -> None:
    matrix = T(2, 2)
    found = D(s=3, prior="uniform").measure(matrix)
    large = [(1000 + d, 1000) for d in range(3 + 8 + 1)]
    assert found.value == pytest.approx(enumerated(matrix, large, {1, 2}, {1, 2, 3}), abs=1e-12)


@pytest.mark.parametrize(
    ("counts", "said"),
    [
        (pairs((3, 5)), "cannot hold"),
        (pl.DataFrame({"outer": [5]}), "inner"),
        (pl.DataFrame({"inner": [5]}), "outer"),
        (pl.DataFrame({"outer": [5], "inner": [None]}, schema={"outer": pl.Int64, "inner": pl.Int64}), "missing"),
        (pl.DataFrame({"outer": [5], "inner": [4], "N": [0]}), "N is 0"),
        (pl.DataFrame({"outer": [5.5], "inner": [4.0]}), "5.5"),
    ],
)
def test_wrong_pairs_are_refused(counts: Any, said: str) -> None:
    with pytest.raises(flou.FlouError, match=said):
        D(s=3).measure(T(2, 2), counts=counts)


def test_pairs_and_another_prior_contradict() -> None:
    with pytest.raises(flou.FlouError, match="uses no pairs"):
        D(s=3, prior="uniform").measure(T(2, 2), counts=pairs((4, 3)))


def test_far_pairs_do_not_tell() -> None:
    """Pairs whose difference cannot be published in J have no part in it, and are still pairs."""
    near = D(s=3).measure(T(2, 2), counts=pairs((9, 8)))
    far = D(s=3).measure(T(2, 2), counts=pairs((9, 8), (900, 8)))
    assert far.value == near.value
    assert far.published == pytest.approx(near.published / 2)
    assert np.isclose(near.published, enumerated_share(T(2, 2)))


def enumerated_share(matrix: Mechanism) -> float:
    both = product(
        zip(matrix.targets(9), matrix.row(9), strict=True), zip(matrix.targets(8), matrix.row(8), strict=True)
    )
    return float(sum(p * q for (a, p), (b, q) in both if 1 <= a - b <= 3))
