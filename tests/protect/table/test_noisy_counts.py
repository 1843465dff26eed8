"""Differentially private counts: sensitivity, noise, what is promised, what is refused."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chi2
from tests.depth import at_depth, examples

import flou
from flou.describe.mechanism.noise import GaussianNoise, GeometricNoise
from flou.describe.table.cells import Published
from flou.engine.errors import DataError, MissingExtraError, ParameterError
from flou.protect.table import privacy_loss
from flou.protect.table.privacy_loss import count_queries, find_loss, spent_loss

NoisyCounts = flou.protect.NoisyCounts
DIMS = [["gender", "age@age5"], ["gender", "marital"], ["gender", "age"], ["gender", "age@age5", "marital"]]
#: Tables of every kind: levels, totals left out, zonings side by side.
KINDS: list[dict[str, Any]] = [
    {"dims": ["gender", "age@age10>age@age5", "marital"]},
    {"dims": ["gender", "age@age10"], "margins": False},
    {"dims": ["gender", "marital"], "margins": ["gender"]},
    {"dims": ["age@age5|age@age10", "gender"]},
    {"dims": ["area@region>area@district>area"]},
]


def town(n: int = 50) -> flou.Microdata:
    return flou.datasets.census(n, rng=1)


def tables(n: int = 50, **more: Any) -> flou.TableSet:
    return flou.tabulate_many(town(n), DIMS, cells="all", **more)


def flat(n_cells: int, count: int) -> flou.Table:
    """Cells without margins that all hold so many records."""
    frame = pl.DataFrame({"a": [f"a{i:06}" for i in range(n_cells)], "count": [count] * n_cells})
    return flou.Table.from_frame(frame, ["a"], cells="all")


# sensitivity


@pytest.mark.parametrize("kind", KINDS)
def test_one_record_changes_as_many_figures_as_are_paid_for(kind: dict[str, Any]) -> None:
    """By brute force: each record of a file is taken out, and the changed figures are counted."""
    people = town(40)
    dims = kind["dims"]
    more = {k: v for k, v in kind.items() if k != "dims"}
    whole = people.tabulate(dims, cells="all", **more)
    rows, most = people.to_frame(), 0
    for i in range(rows.height):
        fewer = flou.Microdata(rows.filter(pl.arange(pl.len()) != i), schema=people.schema).tabulate(
            dims, cells="all", **more
        )
        assert np.array_equal(fewer.cells.codes, whole.cells.codes), "the list of cells does not hang on the records"
        changes = whole.true_counts - fewer.true_counts
        assert set(changes.tolist()) <= {0, 1}
        most = max(most, int(changes.sum()))
    assert count_queries(whole) == most


@examples(30)
@given(
    st.lists(st.integers(1, 40), min_size=1, max_size=5),
    st.floats(0.01, 20.0),
    st.sampled_from([0.0, 1e-9, 1e-4]),
    st.booleans(),
)
def test_the_loss_is_what_was_asked_for_and_hardly_less(
    queries: list[int], epsilon: float, delta: float, shared: bool
) -> None:
    from fractions import Fraction

    shares = [Fraction(i + 1, sum(range(len(queries) + 1))) for i in range(len(queries))] if shared else None
    loss = find_loss(queries, epsilon, delta, shares)
    assert loss.epsilon <= epsilon
    assert loss.epsilon >= epsilon * (1 - 1e-6)
    assert loss.delta == delta
    if not delta:
        costs = [n / scale for n, scale in zip(queries, loss.scales, strict=True)]
        assert sum(costs) == pytest.approx(epsilon)
        if shares:
            assert costs == pytest.approx([epsilon * float(s) for s in shares])
    if not shared:
        assert len(set(loss.scales)) == 1
    less = [scale * 0.99 for scale in loss.scales]
    assert spent_loss(queries, less, delta).epsilon > epsilon


def test_gaussian_scale_against_the_conversion_of_bun_and_steinke() -> None:
    """Proposition 1.3: rho-zCDP gives epsilon = rho + 2 sqrt(rho log(1 / delta)); OpenDP's conversion is tighter."""
    loss = find_loss([20], 1.0, 1e-6)
    rho = 20 / (2 * loss.scales[0] ** 2)
    crude = rho + 2 * np.sqrt(rho * np.log(1e6))
    assert 1.0 < crude < 1.25


# noise


@pytest.mark.parametrize("count", [0, 3, 1000])
@pytest.mark.parametrize(
    ("method", "mechanism"),
    [
        (NoisyCounts(epsilon=0.5), GeometricNoise(2.0)),
        (NoisyCounts(epsilon=2.0), GeometricNoise(0.5)),
        (NoisyCounts(epsilon=1.0, delta=1e-5), None),
    ],
)
def test_noise_is_distributed_as_the_mechanism_says(
    method: flou.protect.NoisyCounts, mechanism: Any, count: int
) -> None:
    """Chi-square over many draws; the threshold is passed by chance once in a hundred million times."""
    n = at_depth(50_000, 200_000)
    release = method.protect(flat(n, count))
    held = release.data.mechanism
    assert held == mechanism if mechanism is not None else isinstance(held, GaussianNoise)
    shown, seen = np.unique(release.data.published_counts, return_counts=True)
    expected = n * held.probability(shown, count)
    likely = expected >= 10
    observed, wanted = np.append(seen[likely], n - seen[likely].sum()), np.append(expected[likely], 0.0)
    wanted[-1] = max(n - wanted.sum(), 1e-9)
    if wanted[-1] < 5:  # hardly any chance is left: put it to the last kept figure
        observed[-2] += observed[-1]
        wanted[-2] += wanted[-1]
        observed, wanted = observed[:-1], wanted[:-1]
    statistic = float(((observed - wanted) ** 2 / wanted).sum())
    assert statistic < chi2.isf(1e-8, len(wanted) - 1)
    # and the test can fail: a scale that is 10% larger does not pass, by hundreds
    other = type(held)(held.scale * 1.1)
    wrong = n * other.probability(shown[likely], count)
    assert float(((seen[likely] - wrong) ** 2 / wrong).sum()) > chi2.isf(1e-8, len(wrong))


def test_every_call_draws_anew_and_cells_of_two_tables_are_drawn_twice() -> None:
    data = tables()
    once, again = (NoisyCounts(epsilon=1.0).protect(data) for _ in range(2))
    assert not np.array_equal(once.data["table 4"].published_counts, again.data["table 4"].published_counts)
    twice = flou.tabulate_many(town(), [["gender", "age"], ["gender", "age"]], cells="all")
    first, second = NoisyCounts(epsilon=1.0).protect(twice).data
    assert not np.array_equal(first.published_counts, second.published_counts)


def test_structural_zeros_get_no_noise_and_empty_cells_do() -> None:
    release = NoisyCounts(epsilon=0.5).protect(tables())
    table = release.data["table 4"]
    coherent = table.cells.coherent
    assert coherent is not None
    assert (~coherent).any()
    assert (table.published_counts[~coherent] == 0).all()
    assert (table.published_counts[coherent & (table.true_counts == 0)] > 0).any(), "empty cells are moved"
    assert set(table.public().status) >= {"structural", "zero", "published"}
    assert table.public().n_cells == table.n_cells, "no cell is left out for what it shows"


def test_repair_adds_up_and_is_nearer_to_the_truth() -> None:
    data = flou.tabulate_many(town(2000), DIMS, cells="all")
    release = NoisyCounts(epsilon=1.0, additive="repair").protect(data)
    assert any("every margin is the sum of its parts" in str(p) for p in release.guarantees)
    assert release.data.mechanism is None
    figures = release.steps[0].figures
    assert figures["mean_deviation"] < figures["mean_deviation_before_repair"]  # type: ignore[operator]
    by_hand = release.data["table 2"].to_frame()
    parts = by_hand.filter((pl.col("gender") != "Total") & (pl.col("marital") != "Total"))["count"].sum()
    total = by_hand.filter((pl.col("gender") == "Total") & (pl.col("marital") == "Total"))["count"].sum()
    assert parts == total


# what is told and promised


def test_what_is_spent_is_told() -> None:
    release = NoisyCounts(epsilon=1.0).protect(tables())
    step = release.steps[0]
    assert (step.n_queries, step.epsilon, step.delta) == (20, 1.0, 0.0)
    assert step.scale == 20.0
    assert step.spending["n_queries"].to_list() == [4, 4, 4, 8]
    assert step.spending["epsilon"].to_list() == pytest.approx([0.2, 0.2, 0.2, 0.4])
    said = [str(note) for note in step.notes]
    assert any("one record added or removed changes 20 figures" in s and "2.72" in s for s in said)
    assert any("an empty cell by 10" in s for s in said)
    assert any("no budget was given" in s for s in said)


def test_shares_split_epsilon() -> None:
    shares = {"table 1": 0.1, "table 2": 0.2, "table 3": 0.3, "table 4": 0.4}
    release = NoisyCounts(epsilon=1.0, shares=shares).protect(tables())
    assert [t.mechanism.scale for t in release.data] == pytest.approx([40, 20, 40 / 3, 20])
    assert release.steps[0].scale is None
    assert release.steps[0].spending["epsilon"].to_list() == pytest.approx([0.1, 0.2, 0.3, 0.4])
    with pytest.raises(DataError, match="different mechanisms"):
        flou.risk.CountInference(3).measure(release)
    assert flou.risk.CountInference(3).measure(release.data["table 1"]).value < 0.7


def test_the_promise_finds_figures_that_were_not_paid_for() -> None:
    data = tables()
    release = NoisyCounts(epsilon=1.0).protect(data)
    promise = release.guarantees[0].guarantee
    assert promise.violations(release.data) == 0
    assert promise.violations(data) == data.n_cells
    other = release.data["table 1"].with_changes(mechanism=GeometricNoise(1.0))
    assert promise.violations(release.data.with_tables([other, *release.data.tables[1:]])) == 1
    table = release.data["table 1"]
    below = table.with_changes(published=Published(table.published_counts - 10_000))
    assert sum(p.guarantee.violations(below) > 0 for p in release.guarantees) >= 1


def test_it_takes_no_secret() -> None:
    for secret in (1, flou.Secret(bytes(range(32)))):
        with pytest.raises(ParameterError, match="NoisyCounts takes no secret"):
            NoisyCounts(epsilon=1.0).protect(tables(), secret=secret)  # type: ignore[arg-type]


def test_a_plan_with_a_secret_cannot_be_replayed_all_the_same() -> None:
    secret = flou.Secret(bytes(range(32)))
    plan = flou.Plan([NoisyCounts(epsilon=1.0)], tables=[flou.Tabulation(dims=["gender", "marital"], cells="all")])
    release = plan.protect(town(), secret=secret)
    assert (release.secret_origin, release.random, release.test_only) == ("entropy", True, False)
    assert plan.protect(town(), secret=1).test_only, "other steps may have used the seed"
    rounded = flou.Plan([flou.protect.Rounding(5)], tables=plan.tables).protect(town(), secret=secret)
    assert (rounded.secret_origin, rounded.random) == ("file", False)


# refused


def test_tables_that_hang_on_the_records_are_refused() -> None:
    people = town()
    method = NoisyCounts(epsilon=1.0)
    with pytest.raises(DataError, match=r'cells="all"'):
        method.protect(people.tabulate(["gender", "age@age5"]))
    rows = people.to_frame().select("gender", "marital")
    undeclared = flou.Microdata(rows, keys=["gender", "marital"]).tabulate(["gender", "marital"], cells="all")
    with pytest.raises(DataError, match=r"of 'gender', 'marital' that occur .* modalities="):
        method.protect(undeclared)
    codes = {"gender": ["?"]}
    values = {"gender": ["female", "male"], "marital": sorted(set(rows["marital"]))}
    nulls = flou.Microdata(rows, keys=["gender", "marital"], modalities=values, undetermined=codes)
    with pytest.raises(DataError, match=r"of 'gender' that occur"):
        method.protect(nulls.tabulate(["gender", "marital"], cells="all"))
    nested = rows.with_columns(region=pl.lit("r"), gender=pl.lit("female"))
    data = flou.Microdata(nested, keys=["region", "gender"], modalities={"region": ["r"], "gender": ["female"]})
    with pytest.raises(DataError, match="of 'region>gender' that occur"):
        method.protect(data.tabulate(["region>gender"], cells="all"))


def test_weighted_tables_and_incoherent_records_are_refused_and_sums_left_out() -> None:
    rows = pl.DataFrame({"sex": ["f", "m", "m"], "job": ["a", "b", "c"], "w": [1.5, 2.0, 3.0], "pay": [1.0, 2.0, 3.0]})
    known = {"sex": ["f", "m"], "job": ["a", "b", "c"]}
    people = flou.Microdata(rows, keys=["sex", "job"], weight="w", sensitive=["pay"], modalities=known)
    with pytest.raises(DataError, match="weighted estimates"):
        NoisyCounts(epsilon=1.0).protect(people.tabulate(["sex", "job"], cells="all", weight="w"))
    release = NoisyCounts(epsilon=1.0).protect(people.tabulate(["sex", "job"], cells="all", value="pay"))
    assert release.data.published_values is None
    assert any("sums of pay are not published" in str(note) for note in release.steps[0].notes)
    strange = flou.Microdata(rows, keys=["sex", "job"], modalities=known, incoherent=[{"sex": "m", "job": "c"}])
    with pytest.raises(DataError, match=r"records in 1 cells .* incoherent"):
        NoisyCounts(epsilon=1.0).protect(strange.tabulate(["sex", "job"], cells="all"))


@pytest.mark.parametrize(
    ("shares", "match"),
    [
        ({"table 1": 0.7, "table 9": 0.3}, "table 9"),
        ({"table 1": 0.5, "table 2": 0.5}, "leaves out 'table 3', 'table 4'"),
    ],
)
def test_shares_name_every_table(shares: dict[str, float], match: str) -> None:
    with pytest.raises(ParameterError, match=match):
        NoisyCounts(epsilon=1.0, shares=shares).protect(tables())


def test_absurd_noise_is_refused() -> None:
    with pytest.raises(ParameterError, match="scale"):
        NoisyCounts(epsilon=1e-9).protect(tables())


def test_without_opendp_the_command_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    privacy_loss._opendp.cache_clear()
    monkeypatch.setitem(sys.modules, "opendp.prelude", None)
    try:
        with pytest.raises(MissingExtraError, match=r"pip install 'flou\[dp\]'"):
            NoisyCounts(epsilon=1.0).protect(tables())
    finally:
        privacy_loss._opendp.cache_clear()


def test_flou_does_not_load_opendp() -> None:
    code = "import sys, flou; flou.protect.NoisyCounts(epsilon=1.0); assert 'opendp' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


# measures and comparisons


@pytest.mark.parametrize("method", [NoisyCounts(epsilon=20.0), NoisyCounts(epsilon=20.0, delta=1e-6)])
def test_measures_and_comparisons_of_tables_work(method: flou.protect.NoisyCounts) -> None:
    data = tables(2000)
    release = method.protect(data)
    inferred = flou.risk.CountInference(3).measure(release)
    assert 0 < inferred.value < 1
    assert flou.risk.ZeroInference().measure(release).value < 1
    assert 0 <= flou.risk.DifferenceInference(3).measure(release).value < 1
    within = flou.utility.WithinDistance(2).compare(data, release)
    assert within.value == pytest.approx(within.figures["expected"], abs=0.1)
    mean = flou.utility.MeanDeviation().compare(data, release)
    assert mean.value == pytest.approx(mean.figures["expected"], rel=0.25)
    table = release.data["table 2"]
    women = table.ratio(of={"gender": "female"})
    assert women.low <= women.value <= women.high
    assert (women.least, women.most) == (0.0, 1.0), "noise without bounds makes nothing certain"
    shares = table.ratios("marital")
    assert (shares["low"] <= shares["high"]).all()
    scores = {"single": 0, "married": 1, "registered partnership": 1, "widowed": 0, "divorced": 0}
    mean_score = table.mean("marital", scores)
    assert ((mean_score["least"] == 0) & (mean_score["most"] == 1)).all()
    for result in (
        flou.utility.RelativeDeviation().compare(data, release),
        flou.utility.Hellinger().compare(data, release),
    ):
        assert result.value > 0


def test_a_repaired_release_has_no_mechanism_to_measure() -> None:
    release = NoisyCounts(epsilon=1.0, additive="repair").protect(tables())
    with pytest.raises(DataError, match="no mechanism of single cells"):
        flou.risk.CountInference(3).measure(release)
    assert flou.utility.MeanDeviation().compare(tables(), release).value > 0
