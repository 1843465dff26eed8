"""What a blurred column must be: in its class, on its unit, drawn by the secret, with its means."""

from __future__ import annotations

import datetime as dt
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.typing import NDArray
from tests.depth import examples

import flou
from flou.engine.errors import DataError, ParameterError
from flou.protect import IntervalBlur

APA = flou.datasets.apa(20_000)


def _values(data: flou.Microdata | flou.Release, column: str) -> NDArray[Any]:
    """A column in the order of pid."""
    frame = data.to_frame(reveal=True) if isinstance(data, flou.Release) else data.to_frame()
    return frame.sort("pid")[column].to_numpy()


def _amounts(n: int, seed: int, **roles: Any) -> flou.Microdata:
    """Amounts in cents with zeros, a ceiling at 900, nulls, a not-applicable code, and two covariates."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n)
    amount = np.minimum(np.round(np.exp(5.5 + 0.6 * x + 0.7 * rng.normal(size=n)), 2), 900.0)
    amount[rng.random(n) < 0.1] = 0.0
    held = [None if rng.random() < 0.05 else -9.0 if rng.random() < 0.05 else float(v) for v in amount]
    frame = pl.DataFrame({"pid": rng.permutation(n), "amount": held, "x": x, "g": rng.choice(["u", "v"], n)})
    return flou.Microdata(frame, id="pid", others=["amount"], not_applicable={"amount": [-9]}, **roles)


@examples(25)
@given(
    n=st.integers(60, 300),
    seed=st.integers(0, 10**6),
    n_classes=st.integers(3, 12),
    unit=st.sampled_from([0.01, 0.1, 0.5, 1.0, 2.5, 10.0]),
    saturated=st.sampled_from([None, 900]),
    class_means=st.sampled_from(["keep", "free"]),
)
def test_every_blurred_value_stays_in_its_class(
    n: int, seed: int, n_classes: int, unit: float, saturated: int | None, class_means: Any
) -> None:
    data = _amounts(n, seed)
    blur = IntervalBlur("amount", given=["x", "g"], classes=n_classes, unit=unit, saturated=saturated,
                        class_means=class_means)  # fmt: skip
    try:
        release = blur.protect(data, secret=seed)
    except (DataError, ParameterError) as error:  # classes too narrow for the unit, in a small file
        assume("unit" not in str(error))
        raise
    before, after = _values(data, "amount"), _values(release, "amount")
    edges = np.array(release.steps[0].edges[0])
    null = np.isnan(before)
    assert (np.isnan(after) == null).all()
    code, zero = before == -9, before == 0
    assert ((after == -9) == code).all(), "not-applicable codes stay, and nobody else gets one"
    assert ((after == 0) == zero).all(), "zeros stay zeros, and nobody else becomes one"
    full = before >= 900 if saturated else np.zeros(n, dtype=bool)
    assert (after[full] == 900).all()
    drawn = ~(null | code | zero | full)
    assert np.allclose(after[drawn] / unit, np.rint(after[drawn] / unit), atol=1e-9)
    assert (after[drawn] >= edges[0]).all()
    assert (after[drawn] <= edges[-1]).all()
    inner = edges[1:-1]
    same = np.searchsorted(inner, before[drawn], side="right") == np.searchsorted(inner, after[drawn], side="right")
    assert same.all()
    if saturated:
        assert (after[drawn] < 900).all()


@pytest.mark.parametrize("top", ["closed", "open"])
def test_given_breaks_are_the_classes(top: Any) -> None:
    data = _amounts(800, 1)
    breaks = [0, 50, 100, 200, 400, 900] if top == "closed" else [0, 50, 100, 200, 400, 600]
    release = IntervalBlur("amount", given=["x"], breaks=breaks, top=top).protect(data, secret=1)
    before, after = _values(data, "amount"), _values(release, "amount")
    known = before > 0
    assert (np.digitize(before[known], breaks[1:-1]) == np.digitize(after[known], breaks[1:-1])).all()
    assert after[known].max() <= breaks[-1]
    assert (after[known] != before[known]).mean() > 0.95


def test_zeros_that_are_modelled_need_not_stay() -> None:
    data = _amounts(800, 2)
    release = IntervalBlur("amount", given=["x"], breaks=[0, 50, 200, 900], zeros="model").protect(data, secret=1)
    before, after = _values(data, "amount"), _values(release, "amount")
    zero = before == 0
    assert (after[zero] < 50).all()
    assert (after[zero] > 0).any()


def test_the_secret_decides_the_values_and_nothing_else() -> None:
    blur = IntervalBlur("amount", given=["x", "g"], classes=8)
    data = _amounts(600, 3)
    one, again, other = (blur.protect(data, secret=s) for s in (1, 1, 2))
    assert one.to_frame(reveal=True).equals(again.to_frame(reveal=True))
    assert (_values(one, "amount") != _values(other, "amount")).mean() > 0.5
    assert [str(g) for g in one.guarantees] == [str(g) for g in other.guarantees]
    assert one.steps[0].edges == other.steps[0].edges


def test_dates_are_blurred_in_days() -> None:
    release = IntervalBlur("entitlement", given=["age", "gir"], classes=10, scale="identity").protect(APA, secret=1)
    before, after = _values(APA, "entitlement"), _values(release, "entitlement")
    assert after.dtype == before.dtype
    edges = np.array(release.steps[0].edges[0])[1:-1].astype("int64").astype("datetime64[D]")
    assert (np.searchsorted(edges, before, side="right") == np.searchsorted(edges, after, side="right")).all()
    assert (before != after).mean() > 0.95
    assert abs((after - before).astype("timedelta64[D]").astype(float).mean()) < 5
    breaks = [dt.date(2000, 1, 1), dt.date(2015, 1, 1), dt.date(2022, 1, 1)]
    release = IntervalBlur("entitlement", breaks=breaks, given=["age"], scale="identity").protect(APA, secret=1)
    after = _values(release, "entitlement")
    assert ((after < np.datetime64("2015-01-01")) == (before < np.datetime64("2015-01-01"))).all()


def test_ages_stay_whole_and_in_their_band() -> None:
    breaks = [60, 65, 70, 75, 80, 85, 90, 95, 109]
    release = IntervalBlur("age", given=["sex", "gir"], breaks=breaks, scale="identity").protect(APA, secret=1)
    before, after = _values(APA, "age"), _values(release, "age")
    assert after.dtype == np.int64
    assert (np.digitize(before, breaks[1:-1]) == np.digitize(after, breaks[1:-1])).all()
    assert 0.6 < (before != after).mean() < 0.95, "in a band of five years one in five meets its own age"


@pytest.mark.parametrize("column", ["resources", "apa_amount", "hours", "notpb"])
def test_means_of_classes_and_of_the_column_are_kept(column: str) -> None:
    given = ["gir", "couple", "sex"]
    before = _values(APA, column)
    release = IntervalBlur(column, given=given, classes=25).protect(APA, secret=1)
    after = _values(release, column)
    assert after.mean() == pytest.approx(before.mean(), rel=0.01)
    edges = np.array(release.steps[0].edges[0])
    number = np.searchsorted(edges[1:-1], before, side="right")
    number[before == 0] = -1
    for c in range(len(edges) - 1):
        own = number == c
        # as near as whole euros or hours inside the class come
        wanted = min(before[own].mean(), edges[c + 1] - 1 if c + 2 < len(edges) else edges[-1])
        assert abs(after[own].mean() - wanted) <= max(0.02 * np.ptp(before[own]), 0.05), f"class {c}"
    # left to the regression, means inside the classes are free: this is what the option is for
    free = _values(IntervalBlur(column, given=given, classes=25, class_means="free").protect(APA, secret=1), column)
    gaps = [[abs(v[number == c].mean() - before[number == c].mean()) for c in range(25) if (number == c).any()]
            for v in (after, free)]  # fmt: skip
    assert sum(gaps[0]) < 0.5 * sum(gaps[1])


def test_the_mean_of_a_narrow_class_with_a_heap_is_kept() -> None:
    """Three in four stand at the lower end of a class that is narrow beside the spread of the whole."""
    rng = np.random.default_rng(0)
    amount = np.concatenate([rng.lognormal(7, 0.5, 3000), np.full(600, 1012.02), rng.uniform(1012, 1021, 200)])
    data = flou.Microdata(pl.DataFrame({"pid": np.arange(3800), "amount": amount.round(2)}), id="pid")
    release = IntervalBlur("amount", breaks=[0, 500, 1012, 1021, 2000, 9000], top="open").protect(data, secret=1)
    before, after = _values(data, "amount"), _values(release, "amount")
    own = (before >= 1012) & (before < 1021)
    assert after[own].mean() == pytest.approx(before[own].mean(), abs=0.05)


def test_the_link_to_the_covariates_is_kept() -> None:
    release = IntervalBlur("apa_amount", given=["gir", "resources"], classes=5).protect(APA, secret=1)
    gir, before, after = _values(APA, "gir"), _values(APA, "apa_amount"), _values(release, "apa_amount")
    gaps = [after[gir == g].mean() / before[gir == g].mean() - 1 for g in (1, 2, 3, 4)]
    assert max(map(abs, gaps)) < 0.12
    blind = IntervalBlur("apa_amount", given=["sex"], classes=5).protect(APA, secret=1)
    gaps_blind = [_values(blind, "apa_amount")[gir == g].mean() / before[gir == g].mean() - 1 for g in (1, 2, 3, 4)]
    assert max(map(abs, gaps)) < max(map(abs, gaps_blind)), "what is not given is not kept inside a class"


def test_a_mean_that_moves_is_said_to_the_office() -> None:
    """The ends are cut to hide the largest values, which a small file pays for with its mean."""
    moved = {}
    for n in (200, 5_000):
        rng = np.random.default_rng(4)
        frame = pl.DataFrame({"x": rng.lognormal(7, 1, n).round(), "a": rng.integers(0, 5, n)})
        people = flou.Microdata(frame, others=["x", "a"]).marked(synthetic=True)
        step = flou.protect.IntervalBlur("x", given=["a"]).protect(people, secret=flou.Secret.from_seed(4)).steps[0]
        notes = [note for note in step.notes if "its mean moves" in str(note)]
        assert all(note.internal for note in notes)
        assert len(notes) == (abs(step.mean_deviation) > 0.01)
        moved[n] = step.mean_deviation
    assert moved[200] < -0.01 < moved[5_000]


LOGNORMAL = np.random.default_rng(4).lognormal(7, 1.5, 900).round()


@pytest.mark.parametrize(
    ("settings", "reasons"),
    [
        ({"classes": 20}, {"draw nothing beyond"}),
        ({"classes": 60}, {"draw nothing beyond", "fewer than 30 records"}),
        ({"classes": 20, "class_means": "free"}, {"draw nothing beyond", "no class keeps"}),
        ({"breaks": [0, 1000, 10**6], "class_means": "free"}, {"no class keeps"}),
        ({"breaks": [0, 500, 1000, 5000], "top": "open"}, {"above the last break"}),
        ({"breaks": [0, 500, 1000, 10**6], "saturated": 5000}, {"above the ceiling"}),
    ],
)
def test_the_reasons_why_a_mean_moves_are_those_that_hold(settings: Any, reasons: set[str]) -> None:
    people = flou.Microdata(pl.DataFrame({"x": LOGNORMAL}), others=["x"]).marked(synthetic=True)
    step = IntervalBlur("x", **settings).protect(people, secret=flou.Secret.from_seed(4)).steps[0]
    told = [
        "draw nothing beyond",
        "fewer than 30 records",
        "no class keeps",
        "above the last break",
        "above the ceiling",
    ]
    assert {reason for reason in told if any(reason in str(note) for note in step.notes)} == reasons
    assert any("its mean moves by" in str(note) for note in step.notes)


def test_a_mean_of_0_that_moves_is_said() -> None:
    losses = -np.random.default_rng(4).integers(1, int(2 * LOGNORMAL.mean()), 900)
    losses[0] -= LOGNORMAL.sum() + losses.sum()
    people = flou.Microdata(pl.DataFrame({"x": [*LOGNORMAL, *losses]}), others=["x"]).marked(synthetic=True)
    step = IntervalBlur("x", scale="identity", zeros="model").protect(people, secret=1).steps[0]
    assert any(str(note).startswith("x: its mean was 0 and is -") for note in step.notes)
    assert step.mean_deviation is None
