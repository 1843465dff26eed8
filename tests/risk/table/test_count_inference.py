"""Inference about counts: published figures, ckm's figures, simulation, and what must hold of any posterior."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.depth import examples

import flou
from flou.describe.mechanism.unchanged import Unchanged

C = flou.risk.CountInference
T = flou.TransitionMatrix
#: Counts of the 5.4 million cells of census tables that Insee published, used by Jamme (2025, section 3).
CENSUS = pl.read_csv(Path(__file__).parents[2] / "golden" / "census_count_frequencies.csv")
#: The table that ckm was run on: counts 0 to 20 exactly, all larger ones are out of reach.
CKM = pl.DataFrame(
    {
        "i": [*range(21), 1000],
        "N": [1007, 408, 239, 144, 139, 93, 75, 78, 56, 57, 35, 42, 38, 26, 30, 18, 18, 22, 21, 21, 16, 420],
    }
)


def frame(counts: dict[int, int]) -> pl.DataFrame:
    return pl.DataFrame({"i": list(counts), "N": list(counts.values())})


@pytest.mark.parametrize(
    ("triple", "value", "worst", "worst_count"),
    [((10, 5, 2), 0.787, 0.872, 3), ((10, 10, 4), 0.685, 0.685, 5)],
)
def test_census_figures_of_the_paper(
    triple: tuple[int, int, int], value: float, worst: float, worst_count: int
) -> None:
    """Jamme (2025, 3.1): 0.79 and 0.69 after rounding."""
    found = C(s=5).measure(T(*triple), counts=CENSUS)
    assert found.value == pytest.approx(value, abs=6e-4)
    assert found.worst == pytest.approx(worst, abs=6e-4)
    assert found.worst_count == worst_count
    assert C(s=5, prior="uniform").measure(T(*triple), counts=CENSUS).value < found.value


@pytest.mark.parametrize(
    ("triple", "first", "prior", "each", "value"),
    [
        ((5, 2.5, 0), 1, "empirical", (0.995376021, 0.968903277, 0.896545861, 0.756024526), 0.921459717),
        ((5, 2.5, 0), 1, "uniform", (0.984729800, 0.925578796, 0.800504535, 0.605930426), 0.816646062),
        ((5, 5, 2), 3, "empirical", (0.838323822, 0.747298628, 0.620597885, 0.478148042), 0.707477144),
        ((5, 5, 2), 3, "uniform", (0.675061210, 0.548673360, 0.399056578, 0.262391941), 0.485238891),
        ((10, 10, 4), 5, "empirical", (0.638315689, 0.539360725, 0.436864425, 0.335133374), 0.523334179),
        ((10, 10, 4), 5, "uniform", (0.405316621, 0.302010601, 0.209171231, 0.131936488), 0.278366952),
        ((10, 5, 0), 1, "empirical", (0.979197521, 0.928026950, 0.814256297, 0.674150608), 0.888332733),
        ((10, 5, 0), 1, "uniform", (0.934121831, 0.828415612, 0.653490232, 0.486899184), 0.736222846),
    ],
)
def test_figures_of_ckm(triple: Any, first: int, prior: Any, each: tuple[float, ...], value: float) -> None:
    """ckm 0.1 on the same counts with ptable's matrices; its uniform prior over 0 to 50."""
    found = C(s=5, I=[1, 2, 3, 4], J=range(first, first + 4), prior=prior).measure(T(*triple), counts=CKM)
    assert found.value == pytest.approx(value, abs=1e-6)
    sums = found.by_count.filter("sensitive").group_by("j").agg(pl.col("q_ij").sum()).sort("j")["q_ij"]
    assert sums.to_list() == pytest.approx(each, abs=1e-6)


def test_a_count_that_the_table_lacks_is_no_obstacle() -> None:
    """ckm gives NA for J = 5 and 6 here, since no cell has a count of 5 to 8."""
    counts = frame({0: 50, 1: 20, 2: 10, 3: 10, 4: 5, 9: 3, 40: 2})
    matrix = T(5, 5, 2)
    found = C(s=5, J=[3, 4, 5, 6]).measure(matrix, counts=counts)
    lines = {(line["i"], line["j"]): line["q_ij"] for line in found.by_count.iter_rows(named=True)}
    assert lines[1, 3] == pytest.approx(0.300172921, abs=1e-6)
    assert lines[1, 4] == pytest.approx(0.253623318, abs=1e-6)
    assert lines[4, 4] == pytest.approx(0.196475140, abs=1e-6)
    # the others by adding up joint probabilities
    dense = matrix.dense(40)
    joint = {(i, j): n * dense[i, j] for i, n in zip(counts["i"], counts["N"], strict=True) for j in (3, 4, 5, 6)}
    small = sum(p for (i, _), p in joint.items() if 1 <= i <= 4)
    assert found.value == pytest.approx(small / sum(joint.values()), abs=1e-12)
    for j in (5, 6):
        expected = joint[1, j] / sum(p for (_, k), p in joint.items() if k == j)
        assert lines[1, j] == pytest.approx(expected, abs=1e-12)


def test_simulated_cells_agree() -> None:
    rng = np.random.default_rng(11)
    matrix, counts = T(4, 3, 1), {0: 30, 1: 25, 2: 20, 3: 10, 4: 8, 5: 5, 7: 4, 30: 3}
    hit = total = 0
    for i, n in counts.items():
        shown = rng.choice(matrix.targets(i), n * 20_000, p=matrix.row(i))
        inside = int(np.isin(shown, [1, 2, 3]).sum())
        total += inside
        hit += inside if i in (1, 2) else 0
    assert C(s=3).measure(matrix, counts=frame(counts)).value == pytest.approx(hit / total, abs=0.003)


def test_poisson_prior_follows_from_the_mean() -> None:
    matrix = T(3, 2)
    found = C(s=3, prior="poisson").measure(matrix, counts=frame({1: 3, 4: 1, 6: 2}))
    mean = (3 + 4 + 12) / 6
    prior = np.array([np.exp(-mean) * mean**i / np.prod(np.arange(1, i + 1)) for i in range(7)])
    joint = prior[:, None] * matrix.dense(6)[:, 1:4]
    assert found.value == pytest.approx(joint[1:3].sum() / joint.sum(), abs=1e-12)
    # a mean so large that the probabilities of small counts underflow still has a posterior
    far = C(s=3, prior="poisson").measure(matrix, counts=frame({5000: 3}))
    assert 0 < far.value < 1
    empty = C(s=3, prior="poisson").measure(matrix, counts=frame({0: 3}))
    assert empty.value == 0
    assert "nothing to infer from" in str(empty.notes[-1])


def test_uniform_prior_needs_no_counts_and_says_how_far_it_reaches() -> None:
    found = C(s=5, prior="uniform").measure(T(10, 5, 2))
    assert found.value == pytest.approx(C(s=5, prior="uniform").measure(T(10, 5, 2), counts=CENSUS).value)
    assert "0 to 25" in str(found.notes[1])
    assert found.n_cells is None
    # J beyond s moves the bound, so that nothing behind J is cut off
    assert "0 to 32" in str(C(s=5, J=[12], prior="uniform").measure(T(10, 5, 2)).notes[1])


@given(
    counts=st.dictionaries(st.integers(0, 40), st.integers(0, 1000), min_size=1).filter(lambda d: sum(d.values()) > 0),
    triple=st.sampled_from([(3, 2.0, 0), (5, 5.0, 2), (6, 8.0, 4)]),
    s=st.integers(2, 9),
    prior=st.sampled_from(["empirical", "uniform", "poisson"]),
)
@examples(60)
def test_a_posterior_is_a_distribution(counts: dict[int, int], triple: Any, s: int, prior: Any) -> None:
    found = C(s=s, prior=prior).measure(T(*triple), counts=frame(counts))
    assert 0 <= found.value <= 1
    assert found.value <= found.worst + 1e-12
    sums = found.by_count.group_by("j").agg(pl.col("q_ij").sum(), (pl.col("prior") * pl.col("p_ij")).sum().alias("q"))
    for line in sums.iter_rows(named=True):
        assert line["q_ij"] == pytest.approx(1.0 if line["q_ij"] else 0.0, abs=1e-9)
    assert found.by_count["q_ij"].is_between(0, 1 + 1e-12).all()


def test_nothing_hidden_nothing_doubted() -> None:
    found = C(s=5).measure(Unchanged(), counts=CKM)
    assert found.worst == 1
    assert found.value == pytest.approx((408 + 239 + 144 + 139) / (408 + 239 + 144 + 139 + 93))
    assert C(s=5, J=[1, 2]).measure(Unchanged(), counts=CKM).value == 1


def test_larger_js_tells_less() -> None:
    found = [C(s=5).measure(T(10, 10, js), counts=CENSUS).value for js in (0, 2, 4)]
    assert found == sorted(found, reverse=True)


def test_counts_that_are_never_published_tell_nothing() -> None:
    found = C(s=5).measure(T(10, 10, 5), counts=CENSUS)
    assert found.value == found.worst == found.published == 0
    assert found.worst_count is None
    assert "nothing to infer from" in str(found.notes[-1])
    assert found.plot().to_dict()["layer"]


@pytest.mark.parametrize("s", [5, 10, 13])
def test_figures_on_bars_do_not_touch(s: int) -> None:
    """Few bars have their figure with a decimal, more without, many none."""
    chart = C(s=s).measure(T(10, 5, 2), counts=CENSUS).plot("fr").to_dict()
    labels = [row["label"] for row in chart["datasets"][chart["data"]["name"]]]
    assert len(labels) == s
    assert {5: "87,2\u202f%", 10: "100\u202f%", 13: ""}[s] in labels
    assert s == 5 or not any("," in text for text in labels)


def test_a_count_far_away_needs_no_large_matrix() -> None:
    found = C(s=5, I=[10**9], J=[10**9, 3]).measure(T(10, 5, 2), counts=frame({10**9: 2, 3: 2}))
    assert found.by_count.height < 100
    assert found.worst == 1


@pytest.mark.parametrize("kind", ["pandas", "pyarrow", "polars-lazy", "duckdb"])
def test_counts_of_any_kind_of_frame(kind: str) -> None:
    frames: dict[str, Any] = {"polars-lazy": CKM.lazy, "pandas": CKM.to_pandas, "pyarrow": CKM.to_arrow}
    if kind == "duckdb":
        duckdb = pytest.importorskip("duckdb")
        given_counts: Any = duckdb.connect().from_arrow(CKM.to_arrow())
    else:
        given_counts = frames[kind]()
    assert C(5).measure(T(5, 5, 2), counts=given_counts).value == C(5).measure(T(5, 5, 2), counts=CKM).value


@pytest.mark.parametrize(
    ("counts", "said"),
    [
        (pl.DataFrame({"i": [1, 2], "p_hat": [0.5, 0.5]}), "no column N"),
        (pl.DataFrame({"count": [1]}), "column i"),
        (pl.DataFrame({"i": [1, 1], "N": [2, 3]}), "several lines"),
        (pl.DataFrame({"i": [1, None], "N": [2, 3]}), "missing"),
        (pl.DataFrame({"i": [1, 2], "N": [2, None]}), "missing"),
        (pl.DataFrame({"i": [1, -2], "N": [2, 3]}), "-2"),
        (pl.DataFrame({"i": [1, 2], "N": [2, -3]}), "-3"),
        (pl.DataFrame({"i": [1.5, 2], "N": [2, 3]}), "1.5"),
        (pl.DataFrame({"i": ["1", "2"], "N": [2, 3]}), "whole numbers"),
        (pl.DataFrame({"i": [1], "N": [0]}), "no cells"),
        (pl.DataFrame({"i": [], "N": []}, schema={"i": pl.Int64, "N": pl.Int64}), "no lines"),
        ([1, 2, 3], "frame"),
    ],
)
def test_wrong_counts_are_refused(counts: Any, said: str) -> None:
    with pytest.raises(flou.FlouError, match=said):
        C(5).measure(T(5, 5, 2), counts=counts)


def test_what_is_missing_is_said() -> None:
    with pytest.raises(flou.FlouError, match='counts=frame with columns i and N, or prior = "uniform"'):
        C(5).measure(T(5, 5, 2))
    with pytest.raises(flou.FlouError, match="against"):
        C(5).measure(T(5, 5, 2), counts=CKM, against=T(5, 5, 2))
    with pytest.raises(flou.FlouError, match="table or table set or mechanism"):
        C(5).measure(CKM)


def test_whole_numbers_may_come_as_floats() -> None:
    assert C(5).measure(T(5, 5, 2), counts=CKM.cast(pl.Float64)).value == C(5).measure(T(5, 5, 2), counts=CKM).value


def test_result_travels_without_its_data() -> None:
    found = C(5).measure(T(5, 5, 2), counts=CKM)
    again = pickle.loads(pickle.dumps(found))
    assert again.data is None
    assert again.summary() == found.summary()
