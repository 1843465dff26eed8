"""Amounts of a household: noise is drawn once for all its members, so that there is nothing to average."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

import flou

P = flou.protect
SECRET = flou.Secret(bytes(range(32)))
SIZE = 4


def households(n: int = 300, size: int = SIZE, seed: int = 0, **roles: Any) -> flou.Microdata:
    """Households of one size with an income each, to the cent, and people with a wage each, in no order."""
    rng = np.random.default_rng(seed)
    income = np.exp(rng.normal(10, 0.6, n)).round(2)
    hid = np.repeat(np.arange(n), size)
    frame = pl.DataFrame(
        {
            "pid": rng.permutation(n * size),
            "hid": hid,
            "age": rng.integers(0, 90, n * size),
            "income": income[hid],
            "wage": np.exp(rng.normal(9, 0.5, n * size)).round(2),
        }
    ).sample(fraction=1, shuffle=True, seed=seed)
    return flou.Microdata(frame, **{"keys": ["age"], "id": "pid", "household": "hid", **roles})


def average_error(release: flou.Release, data: flou.Microdata, column: str = "income") -> tuple[float, float]:
    """The attack: the intruder takes the mean over members; his error, and that of a single member's amount."""
    after = release.data.to_frame(reveal=True).select("hid", pl.col(column).log().alias("shown"))
    truth = data.to_frame().select("hid", pl.col(column).log().alias("true"))
    means = after.group_by("hid").agg(pl.col("shown").mean()).join(truth.unique("hid"), on="hid")
    return (
        float((means["shown"] - means["true"]).std()),  # type: ignore[arg-type]
        float((after["shown"] - truth["true"]).std()),  # type: ignore[arg-type]
    )


@pytest.mark.parametrize("engine", ["polars", "polars-lazy"])
def test_the_mean_over_members_is_no_better_than_one_member(engine: str) -> None:
    data = households()
    given = flou.Microdata(data.to_frame().lazy(), data.schema).collect() if engine == "polars-lazy" else data
    release = P.MultiplicativeNoise("income", share=0.3).protect(given, secret=SECRET)
    mean, single = average_error(release, data)
    assert mean == pytest.approx(single, rel=0.02)
    assert single > 0.25
    assert "drawn once for the members who share it" in str(release.steps[0].notes[0])


def test_without_the_role_the_attack_succeeds_and_the_step_says_so() -> None:
    data = households(household=None)
    release = P.MultiplicativeNoise("income", share=0.3).protect(data, secret=SECRET)
    mean, single = average_error(release, data)
    assert mean == pytest.approx(single / np.sqrt(SIZE), rel=0.15)
    assert "a mean over members takes the noise off" in str(release.steps[0].notes[0])


def test_additive_noise_is_drawn_once_also_within_strata_and_for_several_columns() -> None:
    frame = households().to_frame()
    frame = frame.with_columns(rent=pl.col("income") * 0.3 + 1, sex=pl.Series(np.arange(frame.height) % 2))
    data = flou.Microdata(frame, keys=["age"], id="pid", household="hid")
    for method in (
        P.AdditiveNoise("income", share=0.2),
        P.AdditiveNoise(["income", "rent"], share=0.2, kind="correlated"),
        P.AdditiveNoise(["income", "rent"], share=0.2, by="sex", unit=1),
    ):
        shown = method.protect(data, secret=SECRET).data.to_frame(reveal=True)
        for column in method.columns:
            assert shown.group_by("hid").agg(pl.col(column).n_unique())[column].max() == 1
            assert (shown[column] != data.to_frame()[column]).mean() > 0.9


def test_people_without_a_household_are_drawn_by_themselves() -> None:
    frame = households().to_frame().with_columns(hid=pl.when(pl.col("hid") % 10 > 0).then("hid"))
    shown = P.MultiplicativeNoise("income").protect(
        flou.Microdata(frame, keys=["age"], id="pid", household="hid"), secret=SECRET
    )
    beside = shown.data.to_frame(reveal=True).join(frame.select("pid", was="income"), on="pid")
    alone = beside.filter(pl.col("hid").is_null()).with_columns(factor=pl.col("income") / pl.col("was"))
    assert alone["factor"].n_unique() == alone.height


def test_personal_amounts_are_drawn_for_each_person() -> None:
    data = households()
    release = P.MultiplicativeNoise(["income", "wage"], share=0.3).protect(data, secret=SECRET)
    assert [note.values["column"] for note in release.steps[0].notes if "column" in note.values] == ["income"]
    factor = release.data.to_frame(reveal=True)["wage"] / data.to_frame()["wage"]
    assert factor.n_unique() > 0.99 * len(factor)
    notes = P.AdditiveNoise("wage").protect(households(household=None), secret=SECRET).steps[0].notes
    assert not [note for note in notes if "amount of households" in note.text]


def test_members_who_report_another_amount_have_noise_of_their_own() -> None:
    """Noise shared by members with different amounts would publish their difference."""
    data = households()
    odd = data.to_frame().with_columns(
        pl.when(pl.int_range(pl.len()) < 3).then(777.77).otherwise("income").alias("income")
    )
    data = flou.Microdata(odd, data.schema)
    shown = P.AdditiveNoise("income", share=0.2).protect(data, secret=SECRET).data.to_frame(reveal=True)
    moved = (shown["income"] - odd["income"]).round(6)
    hid = odd["hid"][0]
    here = moved.filter(odd["hid"] == hid)
    assert here.n_unique() == 2


def test_the_proof_does_not_count_one_draw_several_times() -> None:
    """A file where only one household in two hundred has noise shows its squares for each of its members."""
    data = households(n=40, size=30)
    release = P.AdditiveNoise("income", share=0.3).protect(data, secret=SECRET)
    proof = release.guarantees[0].guarantee
    assert proof.violations(release.data) == 0
    assert proof.violations(data) > 0


def test_right_releases_are_not_refused_by_chance() -> None:
    data = households(n=12, size=20)
    for seed in range(60):
        secret = flou.Secret(bytes([seed]) * 32)
        P.AdditiveNoise("income", share=0.3).protect(data, secret=secret)
        P.MultiplicativeNoise("income", share=0.3).protect(data, secret=secret)


def test_the_order_of_rows_changes_nothing() -> None:
    data = households()
    mixed = flou.Microdata(data.to_frame().sample(fraction=1, shuffle=True, seed=9), data.schema)
    one, two = (P.AdditiveNoise("income").protect(d, secret=SECRET).data.to_frame(reveal=True) for d in (data, mixed))
    assert one.sort("pid").equals(two.sort("pid"))


def test_blurred_amounts_are_drawn_once() -> None:
    data = households()
    release = P.IntervalBlur("income", classes=3, given=["age"]).protect(data, secret=SECRET)
    shown = release.data.to_frame(reveal=True)
    assert shown.group_by("hid").agg(pl.col("income").n_unique())["income"].max() == 1
    assert any("drawn once" in str(note) for note in release.steps[0].notes)


@pytest.mark.parametrize("share", [0.02, 0.1])
def test_households_that_deviate_do_not_undo_the_others(share: float) -> None:
    """With 2% of the records in error, members were drawn one by one: their mean had half of the noise."""
    data = households()
    wrong = np.random.default_rng(5).random(data.n_records) < share
    odd = data.to_frame().with_columns(
        pl.when(pl.Series(wrong)).then(pl.col("income") * 1.1 + 0.01).otherwise("income").round(2).alias("income")
    )
    people = flou.Microdata(odd, data.schema)
    release = P.MultiplicativeNoise("income", share=0.3).protect(people, secret=SECRET)
    alike = odd.group_by("hid").agg(pl.col("income").n_unique() == 1).filter("income").select("hid")
    kept = flou.Microdata(odd.join(alike, on="hid"), data.schema)
    shown = release.data.to_frame(reveal=True).join(alike, on="hid")
    assert shown.group_by("hid").agg(pl.col("income").n_unique())["income"].max() == 1
    assert kept.n_records > 0.5 * data.n_records
    assert f"in {1 - alike.height / 300:.1%} of the households" in str(release.steps[0].notes[1])


def test_the_attack_map_singles_out_households_although_some_deviate() -> None:
    data = households()
    wrong = pl.Series(np.random.default_rng(5).random(data.n_records) < 0.02)
    odd = data.to_frame().drop("wage").with_columns(pl.when(wrong).then(1.0).otherwise("income").alias("income"))
    assert flou.risk.AttackMap().measure(flou.Microdata(odd, data.schema)).figures["amounts"] > 0.9
