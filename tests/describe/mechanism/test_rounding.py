"""Rounding as a mechanism, against its definition."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from flou.describe.mechanism.rounding import ConventionalRounding, UnbiasedRounding
from flou.engine.errors import ParameterError


def test_three_at_base_five() -> None:
    random, nearest = UnbiasedRounding(5), ConventionalRounding(5)
    assert random.targets(3).tolist() == [0, 5]
    assert random.row(3).tolist() == [0.4, 0.6]
    assert random.variance(3) == pytest.approx(6)
    assert nearest.targets(3).tolist() == [5]
    assert nearest.row(1_000_002).tolist() == [1.0]
    assert nearest.targets(1_000_002).tolist() == [1_000_000]
    assert ConventionalRounding(10).targets(25).tolist() == [30]
    assert (random.reach, nearest.reach, ConventionalRounding(10).reach) == (4, 2, 5)
    assert (random.last, random.zeros_kept, nearest.zeros_kept) == (4, True, True)
    assert random.bias < 1e-15
    assert ConventionalRounding(10).bias == 5


@given(st.integers(2, 30))
def test_chances_of_every_count(base: int) -> None:
    n = 4 * base
    random, nearest = UnbiasedRounding(base), ConventionalRounding(base)
    expected_random, expected_nearest = np.zeros((n + 1, n + 1 + base)), np.zeros((n + 1, n + 1 + base))
    for i in range(n + 1):
        below, rest = divmod(i, base)
        expected_random[i, below * base] += 1 - rest / base
        expected_random[i, below * base + base] += rest / base
        expected_nearest[i, base * int(i / base + 0.5)] = 1
    for mechanism, expected in ((random, expected_random), (nearest, expected_nearest)):
        dense = mechanism.dense(n)
        assert dense.shape == (n + 1, n + 1 + mechanism.reach)
        assert dense == pytest.approx(expected[:, : dense.shape[1]], abs=1e-15)
        assert (expected[:, dense.shape[1] :] == 0).all()
        published = np.arange(2 * base + 1)
        low, high = mechanism.support(published)
        for j in published:
            behind = np.flatnonzero(expected[:, j])
            assert (low[j], high[j]) == ((behind[0], behind[-1]) if len(behind) else (0, -1))
        with np.errstate(divide="ignore"):
            wanted = np.log(expected[base, : 2 * base + 1])
        assert mechanism.log_likelihood(published, base) == pytest.approx(wanted)


@pytest.mark.parametrize("base", [1, 0, -5, 5.0, "5", True, None, 10**9])
def test_wrong_bases_are_refused(base: object) -> None:
    with pytest.raises(ParameterError, match="base = "):
        UnbiasedRounding(base)  # type: ignore[arg-type]


def test_equal_by_kind_and_base() -> None:
    assert UnbiasedRounding(5) == UnbiasedRounding(np.int64(5))  # type: ignore[arg-type]
    assert hash(UnbiasedRounding(5)) == hash(UnbiasedRounding(5))
    assert UnbiasedRounding(5) != ConventionalRounding(5)
    assert UnbiasedRounding(5).name == "unbiased random rounding to base 5"
    assert repr(ConventionalRounding(3)) == "ConventionalRounding(base=3)"
