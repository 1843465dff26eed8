"""A release that names the one before it shows unchanged values alike, whatever else of the file changed."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import flou
from flou.engine.errors import DataError, PlanError
from flou.engine.former import FormerRelease, parameters_of
from flou.engine.method import Method
from flou.engine.release import Release
from flou.engine.series import Series
from flou.engine.steps import carry_out

P = flou.protect
SECRET = flou.Secret(bytes(range(32)))
N, N_NEW = 1_500, 200
#: 30% of the values of the second file are other ones.
CHANGED = np.arange(N) % 10 < 3


def file(n: int = N, seed: int = 1) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    age = rng.integers(18, 80, n)
    x = rng.lognormal(7 + age / 100, 0.5, n).round()
    return pl.DataFrame(
        {
            "pid": np.arange(n) + 100_000 * (seed - 1),
            "sex": rng.choice(["F", "M"], n),
            "job": rng.choice(["a", "b", "c", "d"], n, p=[0.4, 0.3, 0.2, 0.1]),
            "age": age,
            "x": np.where(rng.uniform(size=n) < 0.1, 0.0, x),
            "y": 0.3 * x + rng.lognormal(6, 0.4, n),
        }
    )


def next_file() -> pl.DataFrame:
    """The file a year later: values of some changed, others came, and one has a job that nobody had."""
    changed = pl.Series(CHANGED)
    stayed = file().with_columns(
        pl.when(changed).then(pl.col("x") * 1.3 + 20).otherwise("x").alias("x"),
        pl.when(changed).then(pl.col("y") * 0.8).otherwise("y").alias("y"),
        pl.when(changed).then(pl.col("job").replace({"a": "b", "b": "c", "c": "a"})).otherwise("job").alias("job"),
    )
    came = file(N_NEW, 2).with_columns(pl.col("x") * 3 + 1, job=pl.lit("e"))
    return pl.concat([stayed, came])


def released(frame: pl.DataFrame, step: Any, former: FormerRelease | None = None) -> Release:
    return carry_out((step,), flou.Microdata(frame, id="pid"), SECRET, Series("s", "1"), former)


def former_of(release: Release, folder: Path, before: FormerRelease | None = None) -> FormerRelease:
    """What a run would keep of a release, written and read again."""
    (folder / "internal").mkdir(exist_ok=True)
    (folder / "internal" / "parameters.json").write_text(parameters_of(release.steps, Series("s", "1"), before))
    return FormerRelease.load(folder)


def shown(release: Release) -> pl.DataFrame:
    return release.to_frame(reveal=True).sort("pid").filter(pl.col("pid") < N)


def alike(first: Release, second: Release, step: Any) -> float:
    """The share of unchanged values that both show alike; a job that only the later file has may be drawn."""
    one, two = (shown(release).filter(~pl.Series(CHANGED)) for release in (first, second))
    same = pl.Series([True] * one.height)
    for column in step.touches:
        same &= (one[column] == two[column]) | (two["job"] == "e" if column == "job" else False)
    return float(same.mean())


STEPS = [
    P.AdditiveNoise("x"),
    P.AdditiveNoise("x", by="sex"),
    P.AdditiveNoise(["x", "y"], kind="correlated"),
    P.AdditiveNoise(["x", "y"], kind="correlated", by="sex"),
    P.MultiplicativeNoise("x"),
    P.IntervalBlur("x"),
    P.IntervalBlur("x", by="sex", classes=8),
    P.IntervalBlur("y", given=["age", "job"], unit=10, saturated=3000, class_means="free"),
    P.IntervalBlur("y", given=["x"], breaks=[0, 500, 800, 1200, 100_000], scale="identity"),
    P.Pram("job"),
    P.Pram("job", by="sex", stay=0.7),
]


@pytest.mark.parametrize("step", STEPS, ids=repr)
def test_unchanged_values_keep_their_released_value(step: Any, tmp_path: Path) -> None:
    first = released(file(), step)
    second = released(next_file(), step, former_of(first, tmp_path))
    assert alike(first, second, step) == 1.0


@pytest.mark.parametrize("step", STEPS[:5], ids=repr)
def test_changed_values_have_noise_of_their_own(step: Any, tmp_path: Path) -> None:
    first = released(file(), step)
    second = released(next_file(), step, former_of(first, tmp_path))
    truth = [file(), next_file().head(N)]
    some = pl.Series(CHANGED) & (file()["x"] > 0)
    noises = [
        (shown(release)["x"] / held["x"]).filter(some).rank()
        for release, held in zip((first, second), truth, strict=True)
    ]
    assert abs(float(np.corrcoef(*noises)[0, 1])) < 0.2


@pytest.mark.parametrize("step", STEPS, ids=repr)
def test_a_third_release_draws_with_what_the_first_did(step: Any, tmp_path: Path) -> None:
    """Also for what the second file did not have, such as a stratum without records."""
    first = released(file(), step)
    kept = former_of(first, tmp_path)
    second = released(next_file().filter((pl.col("sex") == "F") & (pl.col("job") != "d")), step, kept)
    third = released(next_file(), step, former_of(second, tmp_path, kept))
    assert alike(first, third, step) == 1.0


def test_a_value_that_is_new_is_not_certain_where_it_is_shown(tmp_path: Path) -> None:
    """Rows of the former matrix take it in: else whoever is shown it would be sure to have it."""
    first = released(file(), P.Pram("job"))
    second = released(next_file(), P.Pram("job"), former_of(first, tmp_path))
    now = second.to_frame(reveal=True).sort("pid")["job"]
    others = shown(second)["job"] == "e"
    assert 0.02 < others.mean() < 0.10
    assert abs((now == "e").sum() - N_NEW) < 50, "frequencies are kept nearly"
    assert "1 values are new" in str(second.steps[0].notes[0])


def test_a_file_of_other_values_gets_a_matrix_of_its_own(tmp_path: Path) -> None:
    first = released(file(), P.Pram("job"))
    other = file().with_columns(pl.when(pl.col("pid") > 200).then(pl.lit("z")).otherwise("job").alias("job"))
    second = released(other, P.Pram("job"), former_of(first, tmp_path))
    assert "made anew" in str(second.steps[0].notes[0])


def test_classes_that_became_small_are_joined_and_show_others_alike(tmp_path: Path) -> None:
    step = P.IntervalBlur("y", given=["age"], classes=10, min_records=30)
    first = released(file(400), step)
    left = file(400).sort("y")[20:].sort("pid")
    second = released(left, step, former_of(first, tmp_path))
    (before,), (after,) = first.steps[0].edges, second.steps[0].edges
    assert set(after) < set(before)
    beside = shown(first).join(shown(second), on="pid").filter(pl.col("y_right") > after[1])
    assert beside["y"].equals(beside["y_right"].alias("y"))


def test_a_regression_that_lacks_a_covariate_is_fitted_anew(tmp_path: Path) -> None:
    first = released(file(), P.IntervalBlur("y"))
    second = released(file().drop("x"), P.IntervalBlur("y"), former_of(first, tmp_path))
    assert first.steps[0].edges == second.steps[0].edges
    assert "some were blurred anew" in str([str(note) for note in second.steps[0].notes])


HOUSEHOLD_STEPS = [
    P.AdditiveNoise("x", by="sex"),
    P.AdditiveNoise(["x", "y"], kind="correlated"),
    P.MultiplicativeNoise("x"),
    P.IntervalBlur("x", given=["job"]),
]


@pytest.mark.parametrize("step", HOUSEHOLD_STEPS, ids=repr)
def test_a_household_keeps_its_amount_when_its_first_member_leaves(step: Any, tmp_path: Path) -> None:
    """The attack: an amount that did not change had a second draw, whose mean with the first has less noise."""
    homes = file(400).rename({"pid": "home"})
    members = pl.concat([homes.with_columns(pid=pl.col("home") + 1_000 * i) for i in (2, 0, 1)])
    stayed = members.filter(pl.col("pid") >= pl.when(pl.col("home") % 2 == 0).then(1_000).otherwise(0))
    roles: dict[str, Any] = {"id": "pid", "household": "home"}
    first = carry_out((step,), flou.Microdata(members, **roles), SECRET, Series("s", "1"))
    kept = former_of(first, tmp_path)
    second = carry_out((step,), flou.Microdata(stayed, **roles), SECRET, Series("s", "1"), kept)
    both = first.to_frame(reveal=True).join(second.to_frame(reveal=True), on="pid")
    assert both.height == 1_000
    assert all(both[column].equals(both[f"{column}_right"].alias(column)) for column in step.touches)


@pytest.fixture
def first(tmp_path: Path) -> FormerRelease:
    """A former release with noise on x alone."""
    return former_of(released(file(), P.AdditiveNoise("x")), tmp_path)


def as_z(frame: pl.DataFrame) -> pl.DataFrame:
    return frame.rename({"x": "z"})


def test_a_renamed_column_is_refused_until_the_plan_links_it(first: FormerRelease) -> None:
    """The attack: under another name unchanged values had a second draw, and nobody was told."""
    with pytest.raises(DataError, match=r"'x'.*'z'.*renamed = \{ z = \"x\" \}"):
        released(as_z(file()), P.AdditiveNoise("z"), first)


def test_a_linked_column_is_drawn_by_its_old_name(first: FormerRelease, tmp_path: Path) -> None:
    was = shown(released(file(), P.AdditiveNoise("x")))["x"]
    linked = first.linked({"z": "x"})
    second = released(as_z(next_file()), P.AdditiveNoise("z"), linked)
    now = shown(second)["z"]
    assert (was == now).filter(~pl.Series(CHANGED)).all()
    third = released(as_z(next_file()), P.AdditiveNoise("z"), former_of(second, tmp_path, linked))
    assert shown(third)["z"].equals(now), "the next release needs no link"


@pytest.mark.parametrize("step", STEPS, ids=repr)
def test_every_noise_can_be_linked(step: Any, tmp_path: Path) -> None:
    one = released(file(), step)
    names = {"x": "x2", "y": "y2", "job": "job2", "sex": "sex2", "age": "age2"}
    table = json.loads(re.sub(r'"(x|y|job|sex|age)"', r'"\g<1>2"', json.dumps(step.to_table())))
    linked = former_of(one, tmp_path).linked({new: old for old, new in names.items()})
    two = released(next_file().rename(names), Method.from_table(table, "protect"), linked)
    back = shown(two).rename({new: old for old, new in names.items()})
    for column in step.touches:
        same = (shown(one)[column] == back[column]) | (back["job"] == "e" if column == "job" else False)
        assert same.filter(~pl.Series(CHANGED)).all()


def test_a_column_that_lost_its_noise_is_refused_while_it_is_released(first: FormerRelease) -> None:
    with pytest.raises(DataError, match="'x' had noise in the former release"):
        released(file(), P.AdditiveNoise("y"), first.linked({"y": ""}))
    left = released(file().drop("x"), P.AdditiveNoise("y"), first.linked({"y": ""}))
    assert "x" not in left.data.columns


def test_a_noise_that_pauses_goes_on_as_it_was(first: FormerRelease, tmp_path: Path) -> None:
    paused = released(file().drop("x"), P.AdditiveNoise("y"), first.linked({"y": ""}))
    both = former_of(paused, tmp_path, first)
    again = released(next_file().drop("y"), P.AdditiveNoise("x"), both)
    assert again.steps[0].reusable["sizes"] == {"x": first.steps[0]["reusable"]["sizes"]["x"]}


def test_a_column_with_noise_for_the_first_time_is_named(first: FormerRelease) -> None:
    plan = (P.AdditiveNoise("x"), P.AdditiveNoise("y"))
    release = carry_out(plan, flou.Microdata(file(), id="pid"), SECRET, Series("s", "1"), first)
    assert "y had no noise in the former release" in str([str(note) for note in release.steps[1].notes])


def test_links_name_columns_of_the_former_release(first: FormerRelease) -> None:
    with pytest.raises(DataError, match="noise on 'x', which this plan leaves out"):
        released(as_z(file()), P.AdditiveNoise("z"), first.linked({"z": "xx"}))
    with pytest.raises(PlanError, match="both"):
        first.linked({"z": "x", "w": "x"})
    with pytest.raises(DataError, match="goes by the name 'x'"):
        released(file().with_columns(z="y"), P.AdditiveNoise(["x", "z"]), first.linked({"z": "x"}))


def test_links_stand_in_the_plan_beside_since() -> None:
    text = 'flou = 2\n[release]\nsince = "one"\nrenamed = { z = "x", w = "" }\n'
    plan = flou.Plan.from_toml(text)
    assert plan.release.renamed == {"z": "x", "w": ""}
    assert flou.Plan.from_toml(plan.to_toml()) == plan
    with pytest.raises(PlanError, match="renamed goes with since"):
        flou.Plan.from_toml(text.replace('since = "one"\n', "")).protect(flou.Microdata(file(), id="pid"), secret=1)
    for wrong in ('"x"', "{ z = 1 }", '["x"]'):
        with pytest.raises(PlanError, match="renamed"):
            flou.Plan.from_toml(f"flou = 2\n[release]\nrenamed = {wrong}\n")
