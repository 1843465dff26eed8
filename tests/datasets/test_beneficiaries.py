"""The synthetic home-care file keeps its accounting identities, its shapes and its calibration."""

from __future__ import annotations

import datetime
import time

import numpy as np
import polars as pl
import pytest

from flou.datasets.beneficiaries import apa_frame

CEILINGS = {1: 180_789, 2: 146_208, 3: 105_657, 4: 70_513}
ACTIVITIES = (
    "coherence",
    "orientation",
    "toileting",
    "dressing",
    "feeding",
    "elimination",
    "transfers",
    "indoor_moves",
)
MONEY = ("resources", "plan_amount", "notpb", "apa_amount", "human_help", "technical_help")
AGE_BOUNDS = (60, 65, 70, 73, 76, 79, 82, 85, 88, 91, 94, 97)
SCHEMA = {
    "pid": pl.Int64,
    "department": pl.String,
    "sex": pl.String,
    "couple": pl.String,
    "age": pl.Int64,
    "gir": pl.Int64,
    **dict.fromkeys(ACTIVITIES, pl.String),
    "resources": pl.Float64,
    "plan_amount": pl.Float64,
    "notpb": pl.Float64,
    "apa_amount": pl.Float64,
    "hours": pl.Float64,
    "human_help": pl.Float64,
    "technical_help": pl.Float64,
    "entitlement": pl.Date,
}


@pytest.fixture(scope="module")
def frame() -> pl.DataFrame:
    return apa_frame(20_000, np.random.default_rng(20))


def cents(frame: pl.DataFrame, column: str) -> np.ndarray:
    return np.rint(frame[column].to_numpy() * 100).astype(np.int64)


def ceilings(frame: pl.DataFrame) -> np.ndarray:
    return np.array([0, *CEILINGS.values()])[frame["gir"].to_numpy()]


def correlation(x: np.ndarray, y: np.ndarray) -> float:
    return float(np.corrcoef(x, y)[0, 1])


def skewness(x: np.ndarray) -> float:
    return float((((x - x.mean()) / x.std()) ** 3).mean())


@pytest.mark.parametrize("n", [0, 1, 7, 1000])
def test_small_sizes(n: int) -> None:
    small = apa_frame(n, np.random.default_rng(3))
    assert small.height == n
    assert dict(small.schema) == SCHEMA


def test_negative_size_is_refused() -> None:
    with pytest.raises(ValueError, match="negative"):
        apa_frame(-1, np.random.default_rng(0))


def test_schema_and_column_order(frame: pl.DataFrame) -> None:
    assert list(frame.schema.items()) == list(SCHEMA.items())


def test_same_generator_state_gives_the_same_file(frame: pl.DataFrame) -> None:
    assert apa_frame(20_000, np.random.default_rng(20)).equals(frame)
    assert not apa_frame(20_000, np.random.default_rng(21)).equals(frame)


def test_global_random_state_is_left_alone() -> None:
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    apa_frame(100, np.random.default_rng(0))
    assert np.array_equal(before, np.random.get_state()[1])  # noqa: NPY002


def test_only_couple_has_nulls(frame: pl.DataFrame) -> None:
    nulls = frame.null_count().row(0, named=True)
    assert {name for name, count in nulls.items() if count} == {"couple"}
    assert 0.001 < nulls["couple"] / frame.height < 0.02


def test_no_missing_or_infinite_number(frame: pl.DataFrame) -> None:
    for column in (*MONEY, "hours"):
        assert np.isfinite(frame[column].to_numpy()).all(), column


def test_couple_is_always_known_in_most_departments(frame: pl.DataFrame) -> None:
    with_nulls = frame.filter(pl.col("couple").is_null())["department"].n_unique()
    assert 5 <= with_nulls <= 30


def test_pid_is_unique_and_uninformative(frame: pl.DataFrame) -> None:
    pid = frame["pid"].to_numpy()
    assert np.array_equal(np.sort(pid), np.arange(1, frame.height + 1))
    assert abs(correlation(pid, np.arange(frame.height))) < 0.03
    for column in ("age", "gir", "resources", "plan_amount"):
        assert abs(correlation(pid, frame[column].to_numpy())) < 0.03, column


def test_departments_are_the_metropolitan_codes(frame: pl.DataFrame) -> None:
    expected = {f"{i:02d}" for i in range(1, 96)} - {"20"} | {"2A", "2B"}
    assert set(frame["department"]) == expected


def test_departments_are_uneven(frame: pl.DataFrame) -> None:
    size = dict(frame.group_by("department").len().iter_rows())
    for large in ("59", "75", "13", "33", "62"):
        for small in ("48", "90", "05", "09"):
            assert size[large] > 5 * size[small]


def test_categories(frame: pl.DataFrame) -> None:
    assert set(frame["sex"]) == {"F", "M"}
    assert set(frame["couple"]) == {"yes", "no", None}
    assert set(frame["gir"]) == {1, 2, 3, 4}
    for activity in ACTIVITIES:
        assert set(frame[activity]) == {"A", "B", "C"}, activity


def test_age_shape(frame: pl.DataFrame) -> None:
    age = frame["age"].to_numpy()
    assert age.min() >= 60
    assert 100 < age.max() <= 108
    counts = np.bincount(age)
    # Three-year sums: a single year is too noisy at this size.
    assert 84 <= int(np.convolve(counts, np.ones(3), mode="same").argmax()) <= 89
    assert skewness(age) < -0.2


def test_women_share_and_its_growth_with_age(frame: pl.DataFrame) -> None:
    woman = (frame["sex"] == "F").to_numpy()
    age = frame["age"].to_numpy()
    assert 0.71 < woman.mean() < 0.75
    assert woman[age < 70].mean() + 0.10 < woman[age >= 90].mean()


def test_couple_depends_on_sex_and_age(frame: pl.DataFrame) -> None:
    known = frame.drop_nulls("couple")
    couple = (known["couple"] == "yes").to_numpy()
    woman = (known["sex"] == "F").to_numpy()
    age = known["age"].to_numpy()
    assert couple[woman].mean() < 0.35
    assert couple[~woman].mean() > 0.55
    assert couple[woman & (age < 75)].mean() > 2 * couple[woman & (age >= 90)].mean()


def test_gir_shares(frame: pl.DataFrame) -> None:
    shares = np.bincount(frame["gir"].to_numpy(), minlength=5)[1:] / frame.height
    assert np.abs(shares - [0.025, 0.17, 0.22, 0.585]).max() < 0.015


def test_gir_is_slightly_worse_with_age(frame: pl.DataFrame) -> None:
    assert -0.25 < correlation(frame["gir"].to_numpy(), frame["age"].to_numpy()) < -0.05


@pytest.mark.parametrize("activity", ACTIVITIES)
def test_activities_follow_the_gir(frame: pl.DataFrame, activity: str) -> None:
    undone = [float((frame.filter(pl.col("gir") == g)[activity] == "C").mean()) for g in (1, 2, 3, 4)]
    assert undone[0] > 0.6
    assert undone[3] < 0.1
    assert undone == sorted(undone, reverse=True)


@pytest.mark.parametrize("column", MONEY)
def test_amounts_are_whole_cents_and_not_negative(frame: pl.DataFrame, column: str) -> None:
    amount = frame[column].to_numpy()
    assert np.array_equal(amount, cents(frame, column) / 100)
    assert amount.min() >= 0


def test_resources_shape(frame: pl.DataFrame) -> None:
    resources = frame["resources"].to_numpy()
    assert 1_150 < np.median(resources) < 1_350
    assert resources.max() > 6_000
    assert skewness(resources) > 1.5
    assert 0.01 < (cents(frame, "resources") == 101_202).mean() < 0.06


def test_resources_depend_on_couple_and_department(frame: pl.DataFrame) -> None:
    medians = dict(frame.drop_nulls("couple").group_by("couple").agg(pl.median("resources")).iter_rows())
    assert medians["yes"] > 1.1 * medians["no"]
    capital = frame.filter(pl.col("department").is_in(["75", "78", "92"]))["resources"].median()
    north = frame.filter(pl.col("department").is_in(["59", "62"]))["resources"].median()
    assert capital > 1.2 * north


def test_plans_respect_the_ceiling_of_their_gir(frame: pl.DataFrame) -> None:
    plan = cents(frame, "plan_amount")
    assert (plan > 0).all()
    assert (plan <= ceilings(frame)).all()


def test_saturated_plans(frame: pl.DataFrame) -> None:
    saturated = cents(frame, "plan_amount") == ceilings(frame)
    gir = frame["gir"].to_numpy()
    severe = saturated[gir <= 2].mean()
    assert 0.15 < severe < 0.27
    for moderate in (3, 4):
        assert 0.05 < saturated[gir == moderate].mean() < severe


def test_participation_follows_the_scale(frame: pl.DataFrame) -> None:
    plan, resources, notpb = (cents(frame, c) for c in ("plan_amount", "resources", "notpb"))
    assert (notpb[resources <= 84_677] == 0).all()
    position = np.clip((resources - 84_677) / (311_829 - 84_677), 0, 1)
    # Half a cent is the rounding itself.
    assert np.abs(notpb - plan * 0.9 * position).max() <= 0.5 + 1e-6
    assert (resources < 84_677).any()
    assert (resources > 311_829).any()


def test_identities_to_the_cent(frame: pl.DataFrame) -> None:
    plan = cents(frame, "plan_amount")
    assert np.array_equal(cents(frame, "apa_amount") + cents(frame, "notpb"), plan)
    assert np.array_equal(cents(frame, "human_help") + cents(frame, "technical_help"), plan)


def test_human_help_is_most_of_the_plan(frame: pl.DataFrame) -> None:
    assert (cents(frame, "human_help") > 0).all()
    assert 0.85 < frame["human_help"].sum() / frame["plan_amount"].sum() < 0.97
    assert (frame["technical_help"] > 0).any()


def test_hours_use_one_tariff_per_department(frame: pl.DataFrame) -> None:
    # Hours are rounded to the hundredth: large amounts show the tariff best.
    large = frame.filter(pl.col("human_help") > 500).with_columns(tariff=pl.col("human_help") / pl.col("hours"))
    tariffs = large.group_by("department").agg(
        pl.median("tariff").alias("middle"),
        (pl.max("tariff") - pl.min("tariff")).alias("range"),
    )
    assert tariffs["range"].max() < 0.03
    assert 21 < tariffs["middle"].mean() < 23
    assert tariffs["middle"].std() > 0.5


@pytest.mark.parametrize(
    ("x", "y", "low", "high"),
    [
        ("gir", "plan_amount", -0.9, -0.5),
        ("resources", "notpb", 0.4, 0.95),
        ("resources", "apa_amount", -0.6, -0.15),
        ("plan_amount", "apa_amount", 0.7, 0.99),
        ("plan_amount", "hours", 0.85, 0.999),
        ("plan_amount", "notpb", 0.2, 0.8),
        ("resources", "plan_amount", -0.2, 0.0),
    ],
)
def test_correlations(frame: pl.DataFrame, x: str, y: str, low: float, high: float) -> None:
    assert low < correlation(frame[x].to_numpy(), frame[y].to_numpy()) < high


@pytest.mark.parametrize("column", ["plan_amount", "apa_amount", "notpb", "human_help", "technical_help"])
def test_amounts_are_right_skewed(frame: pl.DataFrame, column: str) -> None:
    assert skewness(frame[column].to_numpy()) > 0.5


def test_entitlement_dates(frame: pl.DataFrame) -> None:
    dates = frame["entitlement"]
    assert dates.min() >= datetime.date(2002, 1, 1)
    assert dates.max() <= datetime.date(2021, 12, 31)
    year = dates.dt.year().to_numpy()
    assert (year >= 2021 - frame["age"].to_numpy() + 60).all()
    per_period = np.bincount((year - 2002) // 5)
    assert (np.diff(per_period) > 0).all()


def test_people_aged_sixty_start_in_the_reference_year() -> None:
    young = apa_frame(100_000, np.random.default_rng(9)).filter(pl.col("age") == 60)
    assert young.height > 0
    assert set(young["entitlement"].dt.year()) == {2021}


def test_full_size_calibration() -> None:
    start = time.process_time()
    full = apa_frame(618_000, np.random.default_rng(0))
    assert time.process_time() - start < 6

    sizes = full.group_by("department").len()
    assert 5 <= sizes.filter(pl.col("len") < 2_000).height <= 9

    age_class = pl.Series("age_class", np.searchsorted(AGE_BOUNDS, full["age"].to_numpy(), side="right"))
    keys = full.with_columns(age_class).group_by("department", "sex", "couple", "age_class").len()
    rare = keys.filter(pl.col("len") < 3)
    assert 4_700 <= keys.height <= 5_300
    assert 0.035 <= rare.height / keys.height <= 0.065
    assert rare["couple"].null_count() >= rare.height * 2 / 3
