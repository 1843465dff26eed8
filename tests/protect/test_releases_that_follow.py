"""Two releases of a series tell nothing together that either does not tell alone."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import flou
from flou.job.carry_out import carry_out
from flou.job.folder import write_folder

P = flou.protect
SECRET = flou.Secret(bytes(range(32)))
N = 3_000


def file(seed: int = 1) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "pid": np.arange(N),
            "sex": rng.choice(["F", "M"], N),
            "job": rng.choice(["a", "b", "c", "d"], N),
            "x": rng.lognormal(7, 0.5, N),
            "y": rng.lognormal(6, 0.4, N),
        }
    )


def released(frame: pl.DataFrame, step: P.AdditiveNoise | Any, **options: Any) -> pl.DataFrame:
    people = flou.Microdata(frame, id="pid")
    return step.protect(people, secret=SECRET, **options).to_frame(reveal=True).sort("pid")


def noise_of(frame: pl.DataFrame, step: Any, column: str = "x", **options: Any) -> np.ndarray[Any, Any]:
    return (released(frame, step, **options)[column] - frame[column]).to_numpy()


def correlation(a: Any, b: Any) -> float:
    return abs(float(np.corrcoef(a, b)[0, 1]))


NOISES = [
    P.AdditiveNoise("x"),
    P.AdditiveNoise("x", by="sex"),
    P.AdditiveNoise(["x", "y"], kind="correlated"),
    P.MultiplicativeNoise("x"),
]


@pytest.mark.parametrize("step", NOISES, ids=repr)
def test_next_years_value_has_noise_of_its_own(step: Any) -> None:
    """The attack: this year's true value gives the noise, and last year's true value with it."""
    first = file()
    second = first.with_columns(pl.col("x") * 1.03)
    one, two = noise_of(first, step), noise_of(second, step)
    known = one  # the intruder knows the first file
    guessed = released(second, step)["x"].to_numpy() - known
    right = np.mean(np.abs(guessed / second["x"].to_numpy() - 1) < 0.01)
    assert right < 0.15
    assert correlation(one, two) < 0.1


@pytest.mark.parametrize("step", NOISES, ids=repr)
def test_the_same_file_gives_the_same_release(step: Any) -> None:
    first = file()
    assert released(first, step).equals(released(first.sample(fraction=1.0, shuffle=True, seed=3), step))
    assert correlation(noise_of(first, step), noise_of(first, step, series="another")) < 0.1


def test_two_scales_cannot_be_solved_for_the_value() -> None:
    """x = x1 - λ (x1 - x2) where the draw is kept and only the scale changes; one known person gives λ."""
    first = file()
    more = pl.concat([first, file(2).with_columns(pl.col("pid") + N, pl.col("x") * 3)])
    one, two = noise_of(first, P.AdditiveNoise("x")), noise_of(more, P.AdditiveNoise("x"))[:N]
    assert correlation(one, two) < 0.1


def test_a_step_before_changes_no_draw() -> None:
    people = flou.Microdata(file(), id="pid")
    alone = P.AdditiveNoise("x").protect(people, secret=SECRET).to_frame(reveal=True)["x"]
    behind = flou.Plan([P.Recode("job", mapping=dict.fromkeys("abcd", "e")), P.AdditiveNoise("x", unit=None)])
    assert behind.protect(people, secret=SECRET).to_frame(reveal=True)["x"].equals(alone)


def test_noise_of_a_value_that_did_not_change_stays() -> None:
    first = file()
    changed = np.arange(N) % 5 == 0
    second = first.with_columns(pl.when(pl.Series(changed)).then(pl.col("x") * 1.1).otherwise(pl.col("x")).alias("x"))
    step = P.MultiplicativeNoise("x")
    assert np.array_equal(noise_of(first, step)[~changed], noise_of(second, step)[~changed])
    one, two = (noise_of(frame, step)[changed] / frame["x"].to_numpy()[changed] for frame in (first, second))
    assert correlation(one, two) < 0.15


def test_one_value_that_changes_draws_correlated_noise_anew() -> None:
    """Columns of correlated noise share draws: what was added to the one would tell of the other."""
    first = file()
    second = first.with_columns(pl.col("y") + 1.0)
    step = P.AdditiveNoise(["x", "y"], kind="correlated")
    assert correlation(noise_of(first, step), noise_of(second, step)) < 0.1


def test_pram_is_drawn_by_value_and_matrix() -> None:
    first = file()
    step = P.Pram("job", matrix={v: {w: 0.7 if v == w else 0.1 for w in "abcd"} for v in "abcd"})
    moved = first.with_columns(pl.col("job").replace({"a": "b", "b": "c", "c": "d", "d": "a"}))
    stay_1 = (released(first, step)["job"] == first["job"]).to_numpy()
    stay_2 = (released(moved, step)["job"] == moved["job"]).to_numpy()
    assert correlation(stay_1, stay_2) < 0.1
    assert released(first, step).equals(released(first, step))


def test_a_blur_of_the_same_class_is_drawn_alike_whatever_the_value() -> None:
    first = file()
    blur = P.IntervalBlur("x", given=["sex"], breaks=[0, 500, 1000, 2000, 50_000], unit=1, class_means="free")
    nudged = first.with_columns(pl.when(pl.col("x") < 490).then(pl.col("x") + 1).otherwise(pl.col("x")).alias("x"))
    assert released(first, blur)["x"].equals(released(nudged, blur)["x"])


def test_samples_are_drawn_for_a_period() -> None:
    """The attack: the same people every year, or two draws within a year."""
    sample = P.Sample(share=0.4)
    people = file()

    def drawn(frame: pl.DataFrame, period: str) -> set[int]:
        return set(released(frame, sample, period=period)["pid"].to_list())

    one, again, next_year = (
        drawn(people, "2025"),
        drawn(people.with_columns(x=pl.lit(1.0)), "2025"),
        drawn(people, "2026"),
    )
    assert one == again
    assert 0.3 < len(one & next_year) / len(one) < 0.5
    with pytest.raises(flou.FlouError, match=r'period = "2026"'):
        sample.protect(flou.Microdata(people, id="pid"), secret=SECRET)
    with pytest.raises(flou.FlouError, match="role id"):
        sample.protect(flou.Microdata(people), secret=SECRET, period="2026")


def drawn_of(frame: pl.DataFrame, sample: Any, id: str = "pid") -> set[Any]:
    release = sample.protect(flou.Microdata(frame, id=id), secret=SECRET, period="2025")
    return set(release.to_frame(reveal=True)[id].to_list())


@pytest.mark.parametrize("by", [(), ("sex", "job")], ids=["plain", "stratified"])
@pytest.mark.parametrize("change", ["added", "dropped", "corrected"])
def test_a_corrected_file_shows_the_same_people_of_the_period(change: str, by: tuple[str, ...]) -> None:
    """The attack: a file is run again in the same period; both releases together show whom either hides."""
    first, sample = file(), P.Sample(share=0.5, by=by)
    second = {
        "added": pl.concat([first.head(1).with_columns(pl.lit(-1, pl.Int64).alias("pid")), first]),
        "dropped": first.slice(1),
        "corrected": first.with_columns(job=pl.when(pl.col("pid") == 7).then(pl.lit("d")).otherwise("job")),
    }[change]
    one, two = drawn_of(first, sample), drawn_of(second, sample)
    assert len(one ^ two) <= 4, "a record or two of the strata that changed"


def test_a_unit_keeps_its_number_when_its_stratum_is_named_anew() -> None:
    first, sample = file(), P.Sample(share=0.5, by=["job"])
    renamed = first.with_columns(pl.col("job").replace({"a": "z", "b": "y"}))
    assert drawn_of(first, sample) == drawn_of(renamed, sample)


def test_a_smaller_sample_of_the_period_shows_nobody_that_the_larger_does_not() -> None:
    frame = file()
    small, large = (drawn_of(frame, P.Sample(share=share, by=["job"])) for share in (0.2, 0.5))
    assert len(small - large) <= 4


def test_a_number_and_its_text_are_one_id() -> None:
    frame, sample = file().with_columns(pl.col("pid") - 5), P.Sample(share=0.4, by=["sex"])
    as_number = drawn_of(frame, sample)
    for kind in (pl.Int16, pl.Float64, pl.String):
        drawn = drawn_of(frame.with_columns(pl.col("pid").cast(kind)), sample)
        assert {int(float(v)) for v in drawn} == as_number
    zeros = drawn_of(frame.with_columns(pl.format("0{}", "pid").alias("pid")), sample)
    assert {int(v) for v in zeros} != as_number, "01 and 1 may be two persons"


def test_two_noises_of_one_column_are_refused() -> None:
    people = flou.Microdata(file(), id="pid")
    for first, second in (
        (P.AdditiveNoise("x"), P.MultiplicativeNoise("x")),
        (P.AdditiveNoise("x"), P.AdditiveNoise("x", share=0.2)),
        (P.Pram("job"), P.Pram("job", stay=0.7)),
    ):
        with pytest.raises(flou.FlouError, match="second noise"):
            flou.Plan([first, second]).protect(people, secret=SECRET)
        release = first.protect(people, secret=SECRET)
        with pytest.raises(flou.FlouError, match="second noise"):
            second.protect(release, secret=SECRET)


PLAN = """
flou = 2
[data]
source = "people.csv"
schema = "people.schema.toml"
[secrets]
environment = "FLOU_SERIES_SECRET"
[release]
series = "people"
period = "{period}"
{since}
{steps}
"""
SCHEMA = 'flou = 2\n[columns.pid]\nrole = "id"\n[columns.sex]\n[columns.job]\n[columns.x]\n[columns.y]\n'
STEPS = '[[protect]]\nmethod = "additive_noise"\ncolumns = ["x"]\n\n[[protect]]\nmethod = "pram"\ncolumn = "job"\n'


def run(folder: Path, frame: pl.DataFrame, out: str, steps: str = STEPS, since: str = "", period: str = "1") -> Any:
    frame.write_csv(folder / "people.csv")
    (folder / "people.schema.toml").write_text(SCHEMA)
    line = f'since = "{since}"' if since else ""
    done = carry_out(flou.Plan.from_toml(PLAN.format(period=period, since=line, steps=steps), folder))
    write_folder(done, folder / out)
    return done, done.release.data.collect().to_frame(reveal=True).sort("pid")


@pytest.fixture
def office(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("FLOU_SERIES_SECRET", bytes(range(32)).hex())
    return tmp_path


def test_since_draws_with_the_former_parameters(office: Path) -> None:
    first = file().head(1_000)
    run(office, first, "one")
    grown = pl.concat([first, file(4).head(300).with_columns(pl.col("pid") + N)])
    (held, now), (alone, other) = (
        run(office, grown, out, since=s, period="2") for out, s in (("two", "one"), ("three", ""))
    )
    now, other = now.head(1_000), other.head(1_000)
    was = run(office, first, "four")[1]
    assert now.select("x", "job").equals(was.select("x", "job"))
    assert correlation((other["x"] - first["x"]).to_numpy(), (was["x"] - first["x"]).to_numpy()) < 0.1
    assert json.loads((office / "two" / "internal" / "parameters.json").read_text())["number"] == 2
    assert held.changed is not None
    assert "no former release was named" in str(alone.release.steps[0].notes)
    assert "no former release was named" not in str(held.release.steps[0].notes)


def test_another_noise_than_the_former_is_refused(office: Path) -> None:
    frame = file().head(500)
    run(office, frame, "one")
    with pytest.raises(flou.FlouError, match="another noise of 'x'"):
        run(office, frame, "two", steps=STEPS.replace('["x"]', '["x"]\nshare = 0.2'), since="one")
    with pytest.raises(flou.FlouError, match="another noise of 'x'"):
        run(office, frame, "two", steps='[[protect]]\nmethod = "multiplicative_noise"\ncolumns = ["x"]\n', since="one")


def test_since_must_be_a_run_of_the_series(office: Path) -> None:
    frame = file().head(500)
    run(office, frame, "one")
    text = (office / "one" / "internal" / "parameters.json").read_text()
    (office / "one" / "internal" / "parameters.json").write_text(text.replace('"people"', '"others"'))
    with pytest.raises(flou.FlouError, match="series 'others'"):
        run(office, frame, "two", since="one")
    (office / "one" / "internal" / "parameters.json").write_text("[]")
    with pytest.raises(flou.FlouError, match="no parameters"):
        run(office, frame, "two", since="one")


def test_a_third_partys_draws_hang_on_all_its_parameters() -> None:
    """A method that binds its draws to nothing is not taken for one that may keep them."""
    from flou.engine.randomness import Draws

    ids = np.arange(1_000)
    one, two = (Draws(SECRET, "noise", settings).normal(ids) for settings in ('{"size": 1}', '{"size": 2}'))
    assert correlation(one, two) < 0.1


def test_values_that_are_equal_have_one_draw() -> None:
    from flou.engine.randomness import Draws

    draws, ids = Draws(SECRET, "noise").bound("x"), np.arange(5)
    zero = draws.units(ids, np.zeros(5))
    assert np.array_equal(zero, draws.units(ids, -np.zeros(5)))
    assert not np.array_equal(zero, draws.units(ids, np.full(5, 0.1)))
    texts = np.array(["a", "b", "c", "d", "e"], dtype=object)
    assert len(set(draws.units(texts, np.zeros(5)).tolist())) == 5
