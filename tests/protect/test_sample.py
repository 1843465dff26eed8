"""A sample: everybody has the same chance, strata have their share, promises hold in the frame."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any, ClassVar

import narwhals as nw
import numpy as np
import polars as pl
import pytest

import flou
from flou.engine.data import Kin
from flou.engine.errors import DataError, GuaranteeBrokenError, ParameterError
from flou.engine.protection import Protection
from flou.engine.randomness import Draws
from flou.engine.release import Outcome
from flou.protect import LocalSuppression, Recode, Sample
from flou.protect.micro.sample import draw_sample

K3 = flou.risk.KAnonymity(k=3, missing="category")


def _people(n: int = 97, **roles: Any) -> flou.Microdata:
    rng = np.random.default_rng(1)
    frame = pl.DataFrame(
        {
            "pid": rng.permutation(n),
            "area": rng.choice(["a", "b", None, "d"], n, p=[0.5, 0.3, 0.1, 0.1]),
            "sex": rng.choice(["F", "M"], n),
            "age": rng.integers(20, 60, n),
            "w": rng.uniform(1, 3, n).round(3),
        }
    )
    return flou.Microdata(frame, id="pid", keys=["area", "sex"], **roles)


@pytest.mark.parametrize("share", [0.5, 0.23])
def test_everybody_has_the_same_chance_and_strata_their_share(share: float) -> None:
    data = _people()
    frame = data.to_frame().sort("pid")
    drawn = np.zeros(97)
    together = 0
    sizes = frame.group_by("area", "sex").len()
    for secret in range(400):
        seen = Sample(share=share, by=["area", "sex"]).protect(data, secret=secret, period="2026").to_frame(reveal=True)
        drawn[seen["pid"].to_numpy()] += 1
        together += {0, 1} <= set(seen["pid"].to_list())
        held = sizes.join(seen.group_by("area", "sex").len(), on=["area", "sex"], how="left", nulls_equal=True)
        exact = share * held["len"].to_numpy()
        counts = held["len_right"].fill_null(0).to_numpy()
        assert ((counts == np.floor(exact)) | (counts == np.ceil(exact))).all()
    error = np.sqrt(share * (1 - share) / 400)
    assert (np.abs(drawn / 400 - share) < 5 * error).all()
    assert np.abs(drawn / 400 - share).max() / error > 0.05, "draws that never differ are no draws"
    assert abs(together / 400 - share**2) < 0.15, "two people are not drawn as one"


@pytest.mark.parametrize("share", [0.5, 0.23])
def test_a_stratum_is_a_simple_random_sample_of_its_own(share: float) -> None:
    """Chances of one unit and of two, against counting: n/N, and n(n - 1)/N(N - 1) on average over n."""
    rng, n_draws = np.random.default_rng(2), 20_000
    strata = np.repeat([0, 1, 2], [1, 3, 9])
    found = np.zeros((13, 13))
    for _ in range(n_draws):
        numbers = rng.integers(0, 2**64, 13, dtype=np.uint64)
        drawn = draw_sample(strata, numbers, rng.uniform(size=13), share).astype(float)
        found += np.outer(drawn, drawn)
    found /= n_draws
    for stratum, size in enumerate([1, 3, 9]):
        low, up = np.floor(share * size), share * size - np.floor(share * size)
        pair = ((1 - up) * low * (low - 1) + up * (low + 1) * low) / max(size * (size - 1), 1)
        own = found[np.ix_(strata == stratum, strata == stratum)]
        assert np.abs(np.diag(own) - share).max() < 0.02
        assert np.abs(own[~np.eye(size, dtype=bool)] - pair).max(initial=0.0) < 0.02
    assert np.abs(found[strata == 1][:, strata == 2] - share**2).max() < 0.02, "strata are independent"


def test_a_sample_of_a_sample_is_drawn_by_other_numbers() -> None:
    """With the same ones a unit alone in its stratum of the first would be drawn less often than the others."""
    twice, once = (
        set(flou.Plan(steps).protect(_people(1000), secret=1, period="2026").to_frame(reveal=True)["pid"])
        for steps in ([Sample(share=0.5), Sample(share=0.5)], [Sample(share=0.25)])
    )
    assert len(twice & once) < 0.7 * len(once)


def test_the_same_secret_draws_the_same_people() -> None:
    one, again, other = (
        Sample(share=0.4).protect(_people(), secret=s, period="2026").to_frame(reveal=True) for s in (1, 1, 2)
    )
    assert one.equals(again)
    assert set(one["pid"]) != set(other["pid"])
    shuffled = flou.Microdata(_people().to_frame().sample(fraction=1.0, shuffle=True, seed=3), _people().schema)
    assert set(Sample(share=0.4).protect(shuffled, secret=1, period="2026").to_frame(reveal=True)["pid"]) == set(
        one["pid"]
    )


def test_weights_are_those_that_were_there_over_the_share() -> None:
    release = Sample(share=0.4).protect(_people(), secret=1, period="2026")
    assert release.to_frame()["weight"].to_list() == [2.5] * release.data.n_records
    assert release.data.schema.weight == "weight"
    assert release.to_frame()["weight"].sum() == pytest.approx(97, abs=2.5)
    held = _people(5000, weight="w")
    seen = Sample(share=0.4, by=["area"]).protect(held, secret=1, period="2026")
    joined = seen.to_frame(reveal=True).join(held.to_frame(), on="pid")
    assert np.allclose(joined["w"] / joined["w_right"], 2.5)
    assert seen.to_frame()["w"].sum() == pytest.approx(held.to_frame()["w"].sum(), rel=0.03)
    assert "wt" in Sample(share=0.4, weight="wt").protect(_people(), secret=1, period="2026").to_frame().columns


def test_weights_that_clash_are_refused() -> None:
    clashes = (
        (Sample(weight="age"), _people()),
        (Sample(weight="x"), _people(weight="w")),
        (Sample(weight="__flou_w"), _people()),
    )
    for sample, data in clashes:
        with pytest.raises(ParameterError, match="weight"):
            sample.protect(data, secret=1, period="2026")
    with pytest.raises(DataError, match="empty"):
        Sample(share=0.001).protect(_people(5), secret=1, period="2026")
    with pytest.raises(DataError, match="Columns:"):
        Sample(by=["region"]).protect(_people(), secret=1, period="2026")


PLAN = flou.Plan([LocalSuppression(k=3), Sample(share=0.3)])
#: With it a class of the sample is smaller than k.
SEED = 2


def test_promises_made_before_are_proven_on_the_frame() -> None:
    release = PLAN.protect(_people(), secret=SEED, period="2026")
    before, own = release.guarantees
    assert before.guarantee.on_frame
    assert "the file that the sample was drawn from" in str(before)
    assert not own.guarantee.on_frame
    frame = release.data.kin.frame
    assert (frame.n_records, frame.marks.frame, release.data.marks.frame) == (97, True, False)
    of_frame, of_sample = K3.measure(frame), K3.measure(release)
    assert of_frame.k >= 3 > of_sample.k
    assert (of_frame.measured_on, of_sample.measured_on) == ("frame", "release")


def test_a_sample_of_a_sample_has_the_promises_of_the_first_frame() -> None:
    release = flou.Plan([LocalSuppression(k=3), Sample(share=0.5), Sample(share=0.5)]).protect(
        _people(200), secret=1, period="2026"
    )
    assert release.data.n_records in (49, 50, 51)
    assert [p.guarantee.on_frame for p in release.guarantees] == [True, True, False]
    assert set(release.to_frame()["weight"]) == {4.0}
    # in two plans as well
    twice = Sample(share=0.5).protect(PLAN.protect(_people(200), secret=1, period="2026"), secret=1, period="2026")
    assert [p.guarantee.on_frame for p in twice.guarantees] == [True, True, False]


class Later(Protection):
    """A step after the sample that does what it likes."""

    title: ClassVar[str] = "later"
    change: Callable[..., Any]

    def _protect(self, data: flou.Microdata, draw: Draws) -> Outcome:
        return Outcome(self.change(data))


def _with_rows(change: Callable[[pl.DataFrame], pl.DataFrame]) -> Later:
    return Later(change=lambda data: data.with_frame(nw.from_native(change(data.frame.to_native()), eager_only=True)))


@pytest.mark.parametrize(
    "step",
    [
        Recode("area", mapping={"a": "x", "b": "x", "d": "y"}),
        _with_rows(lambda rows: rows.with_columns(pl.lit(33).alias("age"))),
        _with_rows(lambda rows: rows.with_columns(pl.col("age").cast(pl.Float64))),
        _with_rows(lambda rows: rows.with_columns(age=pl.when(pl.col("pid") > 5).then("age"))),
        _with_rows(lambda rows: pl.concat([rows, rows])),
        _with_rows(lambda rows: rows.with_columns(pl.col("pid") + 1000)),
        LocalSuppression(k=3),
    ],
    ids=["recode", "values", "type", "nulls", "doubled", "strangers", "suppression"],
)
def test_a_step_that_changes_the_sampled_records_is_refused(step: Protection) -> None:
    with pytest.raises(
        (GuaranteeBrokenError, DataError), match=r"does not hold|not in the step's input|Put the sample after"
    ):
        flou.Plan([*PLAN.steps, step]).protect(_people(), secret=SEED, period="2026")


def test_steps_that_only_drop_records_or_weigh_them_are_allowed() -> None:
    drop = _with_rows(lambda rows: rows.filter(pl.col("age") > 30))
    weigh = _with_rows(lambda rows: rows.with_columns(pl.col("weight") * 1.1))
    assert len(flou.Plan([*PLAN.steps, drop, weigh]).protect(_people(), secret=1, period="2026").guarantees) == 2


def test_the_frame_stays_even_when_a_step_forgets_it() -> None:
    forget = Later(change=lambda data: data._with(kin=Kin()))
    release = flou.Plan([*PLAN.steps, forget]).protect(_people(), secret=1, period="2026")
    assert release.data.kin.frame is not None
    assert release.guarantees[0].guarantee.on_frame


def test_a_dropped_column_does_not_come_back_after_the_sample() -> None:
    """Without a sample the promise of the first step would break; it must not be weaker with one."""
    data = _people(identifiers=["age"])
    back = _with_rows(lambda rows: rows.with_columns(age=pl.lit(1)))
    for steps in ([flou.protect.DropIdentifiers(), back], [flou.protect.DropIdentifiers(), Sample(share=0.5), back]):
        with pytest.raises(GuaranteeBrokenError):
            flou.Plan(steps).protect(data, secret=1, period="2026")


def test_what_leaves_the_process_has_no_kin() -> None:
    release = PLAN.protect(_people(), secret=1, period="2026")
    assert release.data.kin.original is not None
    assert release.data.public().kin == Kin()
    copied = pickle.loads(pickle.dumps(release.data))
    assert copied.kin == Kin()
    assert copied.n_records == release.data.n_records
    with pytest.raises(DataError):
        pickle.dumps(release)


def test_a_file_without_strata_and_weight_is_sampled() -> None:
    frame = pl.DataFrame({"pid": range(40), "a": [3.0, 1.0, 2.0, 5.0] * 10, "g": [1, 2, 1, 2] * 10})
    release = flou.protect.Sample(share=0.5).protect(
        flou.Microdata(frame, id="pid", keys=["g"]), secret=1, period="2026"
    )
    assert release.data.n_records == 20
