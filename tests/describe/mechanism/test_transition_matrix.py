"""Transition matrices: figures of the papers, shape, lookup by key, refusals."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import flou
from flou.describe.mechanism.cell_keys import KEYS, keys_from_floats
from flou.describe.mechanism.key_lookup import search_places
from flou.engine.errors import DataError, Infeasible, ParameterError

TransitionMatrix = flou.TransitionMatrix


def test_matrix_of_the_paper() -> None:
    """Jamme 2025, section 1: the matrix of D = 2 and V = 2."""
    matrix = TransitionMatrix(D=2, V=2, js=0)
    assert str(matrix.row(1).round(5)) == "[0.36649 0.36649 0.16757 0.09946]"
    assert matrix.row(0).tolist() == [1.0]
    assert matrix.row(2) == pytest.approx([0.2] * 5, abs=1e-15)
    assert matrix.targets(1).tolist() == [0, 1, 2, 3]
    assert matrix.targets(1_000_000).tolist() == [999_998, 999_999, 1_000_000, 1_000_001, 1_000_002]
    assert (matrix.reach, matrix.last, matrix.zeros_kept) == (2, 2, True)


def test_small_counts_hardly_move_without_js() -> None:
    """Jamme 2025, section 2.2: P(Z = 0 | X = 1) = 0.39 and P(|Z| <= 1 | X = 1) = 0.90 at D = 10, V = 5."""
    row = TransitionMatrix(10, 5).deviation_row(1)
    assert row[10] == pytest.approx(0.39, abs=0.005)
    assert row[9:12].sum() == pytest.approx(0.90, abs=0.005)


def test_tables_of_the_paper() -> None:
    """Jamme 2025, tables 1 to 3: Amiens, count 2 and key 0.0295095, loses 2."""
    keys = keys_from_floats([0.9177275, 0.8850062, 0.6266963, 0.1117820, 0.6496634, 0.2813433])
    cells = np.array([keys[[0, 3]].sum(), keys[[2, 4, 5]].sum(), keys[1]]) % KEYS  # Amiens, Marseille, Paris
    assert cells / KEYS == pytest.approx([0.0295095, 0.5577030, 0.8850062], abs=1e-8)
    assert TransitionMatrix(2, 2).deviations([2, 3, 1], cells).tolist() == [-2, 0, 1]


def test_no_published_count_between_zero_and_js() -> None:
    matrix = TransitionMatrix(D=5, V=7, js=4)
    assert matrix.last == 10
    for i in range(30):
        assert not set(matrix.targets(i)) & {1, 2, 3, 4}
        assert matrix.row(i).sum() == pytest.approx(1, abs=1e-14)
        assert matrix.mean(i) == pytest.approx(0, abs=1e-13)
        assert matrix.variance(i) <= 7 * (1 + 1e-12)


def test_dense_agrees_with_rows() -> None:
    matrix = TransitionMatrix(4, 3, 1)
    dense = matrix.dense(20)
    assert dense.shape == (21, 25)
    for i in range(21):
        expected = np.zeros(25)
        expected[matrix.targets(i)] = matrix.row(i)
        assert (dense[i] == expected).all()
    assert matrix.dense(0).tolist() == [[1.0, 0.0, 0.0, 0.0, 0.0]]


def test_support_and_likelihood_agree_with_dense() -> None:
    matrix = TransitionMatrix(4, 3, 2, stack=(2, 1))
    dense = matrix.dense(60)
    published = np.arange(40).reshape(2, 20)
    low, high = matrix.support(published)
    for j, first, last in zip(published.ravel(), low.ravel(), high.ravel(), strict=True):
        behind = np.flatnonzero(dense[:, j])
        assert (first, last) == ((behind[0], behind[-1]) if len(behind) else (0, -1))
    i, j = np.meshgrid(np.arange(61), np.arange(64), indexing="ij")
    with np.errstate(divide="ignore"):
        assert (matrix.log_likelihood(j, i) == np.log(dense[:, :64])).all()
    assert matrix.log_likelihood(10**9, 3) == -np.inf


def test_stack_takes_large_counts_from_another_matrix() -> None:
    small, large = TransitionMatrix(6, 5, 2), TransitionMatrix(3, 1)
    for stacked, first in ((TransitionMatrix(6, 5, 2, stack=(3, 1)), 9), (TransitionMatrix(3, 2.5, stack=(5, 4)), 5)):
        assert stacked.last == first
        assert stacked.reach == max(stacked.D, stacked.stack[0])
        assert stacked.targets(first).min() == first - stacked.stack[0]
    stacked = TransitionMatrix(6, 5, 2, stack=(3, 1))
    assert (stacked.chances[:9] == small.chances[:9]).all()
    assert (stacked.row(500) == large.row(500)).all()
    wide = TransitionMatrix(3, 5, 2, stack=(8, 20))
    assert wide.last == 11
    for i in (6, 8, 10):  # large for the small matrix, not for the large one
        assert (wide.row(i) == TransitionMatrix(3, 5, 2).row(100)).all()
    assert wide.row(11) == pytest.approx(TransitionMatrix(8, 20).row(100), abs=0)


def test_intervals_are_half_open() -> None:
    matrix = TransitionMatrix(2, 2)
    ends = matrix.thresholds[2]
    assert ends.tolist() == [round(k * KEYS / 5) for k in range(1, 6)]
    counts = np.full(6, 2)
    keys = np.array([0, ends[0] - 1, ends[0], ends[3] - 1, ends[3], KEYS - 1])
    assert matrix.deviations(counts, keys).tolist() == [-2, -2, -1, 1, 2, 2]
    assert matrix.deviations(np.zeros(3, np.int32), np.array([0, 7, KEYS - 1], np.uint32)).tolist() == [0, 0, 0]


@given(st.data())
def test_guide_table_and_search_agree_with_a_plain_loop(data: st.DataObject) -> None:
    D = data.draw(st.integers(1, 6))
    js = data.draw(st.integers(0, D - 1))
    V = data.draw(st.floats(max(0.05, (js + 1) ** 2 / 4), 40))
    matrix = TransitionMatrix(D, V, js)
    generator = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    counts = generator.integers(0, 2 * D + js + 5, 90_000)
    keys = generator.integers(0, KEYS, 90_000)
    edges = matrix.thresholds[matrix.row_of(counts)]
    near = np.take_along_axis(edges, generator.integers(0, 2 * D + 1, (90_000, 1)), 1)[:, 0]
    keys[::3] = np.clip(near + generator.integers(-1, 2, 90_000), 0, KEYS - 1)[::3]
    by_guide = matrix.deviations(counts, keys)
    assert "_guide" in matrix.__dict__ or matrix.last > 20
    by_count = (keys[:, None] >= edges).sum(axis=1) - D
    assert (by_guide == by_count).all()
    assert (search_places(matrix.thresholds, matrix.row_of(counts), keys) - D == by_count).all()
    assert (matrix.deviations(counts[:50], keys[:50]) == by_count[:50]).all()
    assert not set(np.unique(counts + by_guide)) & set(range(1, js + 1))
    assert (by_guide[counts == 0] == 0).all()


def test_drawn_shares_are_the_chances() -> None:
    matrix = TransitionMatrix(3, 2, 1)
    keys = np.arange(100_000) * KEYS // 100_000
    for i in (1, 4, 50):
        found = np.bincount(matrix.deviations(np.full(100_000, i), keys) + 3, minlength=7) / 100_000
        assert found == pytest.approx(matrix.deviation_row(i), abs=2e-5)


def test_frame_is_the_perturbation_table() -> None:
    frame = TransitionMatrix(2, 2).to_frame()
    assert frame.columns == ["i", "j", "p", "v", "p_int_lb", "p_int_ub"]
    assert frame["v"].to_list() == [0, -1, 0, 1, 2, -2, -1, 0, 1, 2]
    assert frame["p_int_ub"].round(5).to_list() == [1, 0.36649, 0.73297, 0.90054, 1, 0.2, 0.4, 0.6, 0.8, 1]
    assert frame["p_int_lb"].round(5).to_list() == [0, 0, 0.36649, 0.73297, 0.90054, 0, 0.2, 0.4, 0.6, 0.8]


def test_equal_by_content_frozen_and_printable() -> None:
    one, same, other = TransitionMatrix(10, 5, 2), TransitionMatrix(V=5.0, D=10, js=2), TransitionMatrix(10, 5, 1)
    assert one == same
    assert hash(one) == hash(same)
    assert one != other
    assert one != "TransitionMatrix(D=10, V=5, js=2)"
    assert repr(one) == "TransitionMatrix(D=10, V=5, js=2)"
    assert repr(TransitionMatrix(10, 2.5, 2, stack=(5, 3))) == "TransitionMatrix(D=10, V=2.5, js=2, stack=(5, 3))"
    assert eval(repr(one)) == one
    one.deviations([3], [5])
    for copied in (pickle.loads(pickle.dumps(one)), copy.deepcopy(one)):
        assert copied == one
        with pytest.raises(ValueError, match="read-only"):
            copied.chances[0, 0] = 1.0
    assert one._repr_html_().count("<tr>") == 15
    assert TransitionMatrix(50, 9)._repr_html_().count("<tr>") == 17
    with pytest.raises(AttributeError, match="does not change"):
        one.D = 3  # type: ignore[misc]
    with pytest.raises(ValueError, match="read-only"):
        one.chances[0, 0] = 1.0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((True, 1), "D = True must be an integer"),
        ((3.0, 1), r"D = 3\.0 must be an integer"),
        (("3", 1), "D = '3' must be an integer"),
        ((0, 1), "D = 0 must be between 1"),
        ((-2, 1), "D = -2 must be between 1"),
        ((3, 0), "V = 0 must be a finite number above 0"),
        ((3, -1), "V = -1 must be"),
        ((3, float("nan")), "V = nan must be"),
        ((3, float("inf")), "V = inf must be"),
        ((3, "2"), "V = '2' must be a number"),
        ((3, True), "V = True must be a number"),
        ((3, 1e-9), "protects nobody"),
        ((3, 2, -1), "js = -1 is negative"),
        ((3, 2, 1.0), r"js = 1\.0 must be an integer"),
        ((3, 9, 3), "js = 3 must be smaller than D = 3"),
        ((3, 9, 0, 5), "stack = 5 must be a pair"),
        ((3, 9, 0, (5,)), r"stack = \(5,\) must be a pair"),
        ((3, 9, 0, "ab"), "stack = 'ab' must be a pair"),
        ((3, 9, 0, (5.0, 2)), r"D of stack = 5\.0 must be an integer"),
        ((3, 9, 0, (5, 0)), "V of stack = 0 must be"),
    ],
)
def test_wrong_parameters_are_refused(arguments: tuple[object, ...], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        TransitionMatrix(*arguments)  # type: ignore[arg-type]


def test_a_variance_too_small_for_js_names_the_smallest() -> None:
    with pytest.raises(Infeasible, match="the smallest feasible V is 6 for js = 4"):
        TransitionMatrix(10, 5, 4)
    with pytest.raises(Infeasible, match="the smallest feasible V is 2 for js = 2"):
        TransitionMatrix(10, 1.999999, 2)


@pytest.mark.parametrize("i", [-1, 1.0, "1", True, None])
def test_a_row_of_no_count_is_refused(i: object) -> None:
    with pytest.raises(ParameterError, match="is no count"):
        TransitionMatrix(2, 2).row(i)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("counts", "keys", "message"),
    [
        ([-1], [0], "must not be negative"),
        ([1.5], [0], "counts must be integers"),
        ([1], [KEYS], "between 0 and"),
        ([1], [-1], "between 0 and"),
        ([1], [0.5], "keys_from_floats"),
        ([1, 2], [3], "each cell needs one key"),
    ],
)
def test_wrong_cells_are_refused(counts: list[float], keys: list[float], message: str) -> None:
    with pytest.raises(DataError, match=message):
        TransitionMatrix(2, 2).deviations(counts, keys)


@pytest.mark.parametrize("value", [1.0, -1e-12, float("nan"), float("inf"), "a"])
def test_float_keys_outside_the_unit_interval_are_refused(value: object) -> None:
    with pytest.raises(DataError, match=r"\[0, 1\)"):
        keys_from_floats([0.5, value])


def test_float_keys_are_scaled_down() -> None:
    assert keys_from_floats([0.0, 0.5, np.nextafter(1, 0)]).tolist() == [0, KEYS // 2, KEYS - 1]
