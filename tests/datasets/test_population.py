"""The synthetic census has a plausible pyramid, plausible marital statuses and areas of very unequal sizes."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import polars as pl
import pytest

import flou
from flou.datasets.population import census_areas, census_frame, draw_category
from flou.engine.errors import DataError, ParameterError

SCHEMA = {
    "pid": pl.Int64,
    "age": pl.Int64,
    "gender": pl.String,
    "marital": pl.String,
    "area": pl.String,
    "birth": pl.String,
    "activity": pl.String,
}
STATUSES = {"single", "married", "registered partnership", "widowed", "divorced"}
woman = pl.col("gender") == "female"


@pytest.fixture(scope="module")
def data() -> flou.Microdata:
    return flou.datasets.census(rng=5)


@pytest.fixture(scope="module")
def frame(data: flou.Microdata) -> pl.DataFrame:
    return data.to_frame()


def share(frame: pl.DataFrame, condition: pl.Expr) -> float:
    return float(frame.select(condition.mean()).item())


def leaves(tree: dict[str, dict[str, list[str]]]) -> list[str]:
    return [area for districts in tree.values() for below in districts.values() for area in below]


@pytest.mark.parametrize("n", [1, 2, 7, 1000])
def test_small_sizes(n: int) -> None:
    small = census_frame(n, np.random.default_rng(3))
    assert small.height == n
    assert dict(small.schema) == SCHEMA
    assert flou.datasets.census(n, rng=3).to_frame().equals(small)


@pytest.mark.parametrize("n", [0, -1, True, 1.5, "7", None])
def test_sizes_that_are_no_size_are_refused(n: Any) -> None:
    with pytest.raises(ParameterError, match="whole number of records"):
        flou.datasets.census(n)


def test_columns_and_roles(data: flou.Microdata, frame: pl.DataFrame) -> None:
    assert frame.height == 100_000
    assert list(frame.schema.items()) == list(SCHEMA.items())
    assert data.schema.keys == ("age", "gender", "marital", "area")
    assert (data.schema.id, data.schema.sensitive) == ("pid", ("activity",))
    assert set(data.schema.declared) == set(SCHEMA)
    assert data.marks.synthetic


def test_same_seed_gives_the_same_file(frame: pl.DataFrame) -> None:
    assert flou.datasets.census(rng=5).to_frame().equals(frame)
    assert flou.datasets.census(rng=np.random.default_rng(5)).to_frame().equals(frame)
    assert not flou.datasets.census(rng=6).to_frame().equals(frame)


def test_pid_is_unique_and_uninformative(frame: pl.DataFrame) -> None:
    pid = frame["pid"].to_numpy()
    assert np.array_equal(np.sort(pid), np.arange(1, frame.height + 1))
    for other in (np.arange(frame.height), frame["age"].to_numpy()):
        assert abs(np.corrcoef(pid, other)[0, 1]) < 0.015


def test_everything_is_known(frame: pl.DataFrame) -> None:
    assert sum(frame.null_count().row(0)) == 0
    assert set(frame["marital"]) == STATUSES
    assert (frame["age"].min(), frame["age"].max() <= 104) == (0, True)


@pytest.mark.parametrize("status", sorted(STATUSES - {"single"}))
def test_nobody_under_fifteen_was_ever_married(status: str) -> None:
    children = census_frame(300_000, np.random.default_rng(8)).filter(pl.col("age") < 15)
    assert children.height > 30_000
    assert children.filter(pl.col("marital") == status).is_empty()


def test_rules_say_the_same(data: flou.Microdata, frame: pl.DataFrame) -> None:
    rules = data.schema.incoherent
    assert {(r["age"], r["marital"]) for r in rules} == {(a, s) for a in range(16) for s in STATUSES - {"single"}}
    for rule in rules:
        assert frame.filter(pl.all_horizontal(pl.col(c) == v for c, v in rule.items())).is_empty(), rule
    # the youngest who may marry are not forbidden to, and a few have
    large = census_frame(1_000_000, np.random.default_rng(8)).filter(pl.col("age").is_between(16, 17))
    assert 0 < share(large, pl.col("marital") != "single") < 0.01
    spoilt = frame.with_columns(marital=pl.when(pl.col("age") == 9).then(pl.lit("widowed")).otherwise("marital"))
    with pytest.raises(DataError, match="no coherent completion"):
        flou.risk.KAnonymity(k=2).measure(flou.Microdata(spoilt, schema=data.schema))


@pytest.mark.parametrize(
    ("condition", "low", "high"),
    [
        (woman, 0.495, 0.52),
        (pl.col("age") < 15, 0.13, 0.18),
        (pl.col("age") >= 65, 0.19, 0.25),
        (pl.col("age") >= 100, 0.0, 0.002),
        (pl.col("marital") == "single", 0.42, 0.52),
        (pl.col("marital") == "married", 0.30, 0.40),
        (pl.col("marital") == "widowed", 0.04, 0.075),
        (pl.col("marital") == "divorced", 0.07, 0.13),
        (pl.col("marital") == "registered partnership", 0.005, 0.03),
        (pl.col("birth") == "this country", 0.80, 0.90),
        (pl.col("activity") == "employed", 0.40, 0.52),
        (pl.col("activity") == "retired", 0.18, 0.27),
    ],
)
def test_marginals(frame: pl.DataFrame, condition: pl.Expr, low: float, high: float) -> None:
    assert low < share(frame, condition) < high


def test_women_outlive_men_and_are_widowed(frame: pl.DataFrame) -> None:
    assert share(frame.filter(pl.col("age") < 15), woman) < 0.50
    old = frame.filter(pl.col("age") >= 85)
    assert share(old, woman) > 0.58
    widowed = pl.col("marital") == "widowed"
    assert share(old.filter(woman), widowed) > 1.5 * share(old.filter(~woman), widowed)
    assert share(frame.filter(pl.col("age") < 40), widowed) < 0.002
    young = frame.filter(pl.col("age").is_between(20, 30))
    married = pl.col("marital") == "married"
    assert share(young.filter(woman), married) > share(young.filter(~woman), married)


def test_activity_does_not_apply_to_children(frame: pl.DataFrame) -> None:
    assert frame.filter((pl.col("age") < 15) != (pl.col("activity") == "not applicable")).is_empty()
    assert frame.filter((pl.col("age") < 50) & (pl.col("activity") == "retired")).is_empty()


def test_cities_are_younger_than_villages(frame: pl.DataFrame) -> None:
    by_area = frame.group_by("area").agg(
        pl.len().alias("n"), pl.mean("age"), (pl.col("birth") != "this country").mean()
    )
    largest, smallest = by_area.top_k(8, by="n"), by_area.filter(pl.col("n") < 150)
    assert largest["age"].mean() + 1.5 < smallest["age"].mean()
    assert largest["birth"].mean() > 2 * smallest["birth"].mean()


def test_areas_are_nested_and_uneven(data: flou.Microdata, frame: pl.DataFrame) -> None:
    areas = frame["area"].unique().to_list()
    tree = data.schema.hierarchies["area"]
    assert 250 <= len(areas) <= 400
    assert len(set(tree.generalise(areas, "district").values())) == 20
    assert len(set(tree.generalise(areas, "region").values())) == 5
    sizes = frame.group_by("area").len()["len"]
    assert sizes.max() > 50 * sizes.min()
    assert (sizes < 100).mean() > 0.3
    assert sizes.max() < 0.10 * frame.height
    ranked = np.sort(sizes.to_numpy())[::-1][10:250]
    slope = np.polyfit(np.log(np.arange(11, 251)), np.log(ranked), 1)[0]
    assert -1.3 < slope < -0.9


@pytest.mark.parametrize(
    ("n", "regions", "districts", "areas"),
    [
        (1, 1, 1, 3),
        (50, 1, 1, 3),
        (5_000, 1, 2, 16),
        (20_000, 2, 8, 66),
        (100_000, 5, 20, 333),
        (5_000_000, 5, 20, 400),
    ],
)
def test_number_of_areas_follows_the_size(n: int, regions: int, districts: int, areas: int) -> None:
    tree = census_areas(n)
    assert (len(tree), sum(map(len, tree.values())), len(set(leaves(tree)))) == (regions, districts, areas)
    assert all(below for part in tree.values() for below in part.values())


def test_toy_town_is_usable() -> None:
    town = flou.datasets.census(50, rng=1)
    frame = town.to_frame()
    assert frame["area"].n_unique() == 3
    assert frame.group_by("area").len()["len"].min() >= 5
    table = frame.group_by("gender", "marital").len()
    assert table.height >= 6
    assert table["len"].sum() == 50
    assert 0 < flou.risk.KAnonymity(k=2).measure(town).value <= 1


def test_age_bands(data: flou.Microdata) -> None:
    bands = data.schema.hierarchies["age"]
    assert bands.level_number("age5") == 1
    assert bands.generalise([0, 4, 5, 104], "age5") == {0: "0-4", 4: "0-4", 5: "5-9", 104: "100-104"}
    assert bands.generalise([14, 15], "age10") == {14: "10-19", 15: "10-19"}
    recoded = flou.protect.Recode("age", level="age5").protect(data).data
    assert {"age": "10-14", "marital": "widowed"} in [dict(rule) for rule in recoded.schema.incoherent]


def test_full_detail_is_mostly_unique(data: flou.Microdata) -> None:
    assert 0.3 < flou.risk.KAnonymity(k=3).measure(data).value < 0.8


def test_categories_are_drawn_by_the_row_of_the_table() -> None:
    shares = np.array([[0.0, 3.0, 1.0, 0.0], [1.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 2.0]])
    row = np.repeat(np.arange(3), 40_000)
    drawn = draw_category(shares, row, np.random.default_rng(0))
    counts = np.bincount(row * 4 + drawn, minlength=12).reshape(3, 4)
    assert ((counts > 0) == (shares > 0)).all()
    assert abs(counts[0, 1] / 40_000 - 0.75) < 0.01


def test_categories_at_the_ends_of_a_row() -> None:
    """The largest draw must stay in its row, also where the number of the row takes digits from it."""

    class Extreme:
        def __init__(self, value: float) -> None:
            self.value = value

        def random(self, n: int) -> np.ndarray:
            return np.full(n, self.value)

    shares = np.tile([0.0, 1.0, 1.0, 0.0], (1_000, 1))
    row = np.arange(1_000)
    assert set(draw_category(shares, row, Extreme(0.0))) == {1}  # type: ignore[arg-type]
    assert set(draw_category(shares, row, Extreme(1 - 2.0**-53))) == {2}  # type: ignore[arg-type]


def test_a_million_records_in_seconds() -> None:
    start = time.process_time()
    assert census_frame(1_000_000, np.random.default_rng(0)).height == 1_000_000
    assert time.process_time() - start < 10
