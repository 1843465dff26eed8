"""The synthetic enterprises make skewed, sparse and dominated magnitude tables."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import polars as pl
import pytest

import flou
from flou.datasets.enterprises import ACTIVITY_TREE, REGION_TREE, business_frame
from flou.engine.errors import ParameterError

AMOUNTS = ("turnover", "value_added", "investment")
SIZES = ("0-9", "10-49", "50-249", "250+")
SCHEMA = {
    "eid": pl.Int64,
    "region": pl.String,
    "activity": pl.String,
    "size": pl.String,
    "employees": pl.Int64,
    **dict.fromkeys(AMOUNTS, pl.Float64),
    "holding": pl.String,
}
held = pl.col("holding").str.starts_with("H")


@pytest.fixture(scope="module")
def data() -> flou.Microdata:
    return flou.datasets.business(rng=11)


@pytest.fixture(scope="module")
def frame(data: flou.Microdata) -> pl.DataFrame:
    return data.to_frame()


@pytest.fixture(scope="module")
def cells(frame: pl.DataFrame) -> pl.DataFrame:
    """Turnover by region and division, with the two largest contributions."""
    parts = frame.group_by("region", pl.col("activity").str.slice(0, 3), "holding").agg(
        pl.sum("turnover"), pl.len().alias("n")
    )
    return parts.group_by("region", "activity").agg(
        pl.len().alias("contributors"),
        pl.sum("n"),
        pl.sum("turnover").alias("total"),
        pl.max("turnover").alias("first"),
        pl.col("turnover").top_k(2).sum().alias("both"),
    )


def share(frame: pl.DataFrame, condition: pl.Expr) -> float:
    return float(frame.select(condition.mean()).item())


@pytest.mark.parametrize("n", [1, 2, 7, 1000])
def test_small_sizes(n: int) -> None:
    small = business_frame(n, np.random.default_rng(3))
    assert small.height == n
    assert dict(small.schema) == SCHEMA
    assert flou.datasets.business(n, rng=3).to_frame().equals(small)


@pytest.mark.parametrize("n", [0, -1, True, 1.5, "7", None])
def test_sizes_that_are_no_size_are_refused(n: Any) -> None:
    with pytest.raises(ParameterError, match="whole number of records"):
        flou.datasets.business(n)


def test_columns_and_roles(data: flou.Microdata, frame: pl.DataFrame) -> None:
    assert frame.height == 20_000
    assert list(frame.schema.items()) == list(SCHEMA.items())
    assert data.schema.keys == ("region", "activity", "size")
    assert data.schema.sensitive == ("employees", *AMOUNTS)
    assert set(data.schema.declared) == set(SCHEMA)
    assert data.marks.synthetic


def test_neither_enterprise_nor_holding_is_published(data: flou.Microdata) -> None:
    assert data.schema.identifiers == ("holding",)
    assert data.public().columns == tuple(c for c in SCHEMA if c not in ("eid", "holding"))


def test_same_seed_gives_the_same_file(frame: pl.DataFrame) -> None:
    assert flou.datasets.business(rng=11).to_frame().equals(frame)
    assert flou.datasets.business(rng=np.random.default_rng(11)).to_frame().equals(frame)
    assert not flou.datasets.business(rng=12).to_frame().equals(frame)


def test_eid_is_unique_and_uninformative(frame: pl.DataFrame) -> None:
    eid = frame["eid"].to_numpy()
    assert np.array_equal(np.sort(eid), np.arange(1, frame.height + 1))
    for other in (np.arange(frame.height), np.log1p(frame["turnover"].to_numpy())):
        assert abs(np.corrcoef(eid, other)[0, 1]) < 0.03


def test_nothing_is_null(frame: pl.DataFrame) -> None:
    assert sum(frame.null_count().row(0)) == 0


def test_an_enterprise_of_no_holding_is_its_own(frame: pl.DataFrame, data: flou.Microdata) -> None:
    alone = frame.filter(~held)
    assert (alone["holding"] == "E" + alone["eid"].cast(pl.String)).all()
    table = data.tabulate(["region"], value="turnover", holding="holding")
    assert table.cells.holdings is not None
    assert table.cells.holdings[0] == frame["holding"].n_unique() < frame.height


def test_size_follows_employees(frame: pl.DataFrame) -> None:
    assert set(frame["size"]) == set(SIZES)
    for size, low, high in (("0-9", 0, 9), ("10-49", 10, 49), ("50-249", 50, 249), ("250+", 250, 15_000)):
        assert frame.filter((pl.col("size") == size) != pl.col("employees").is_between(low, high)).is_empty(), size
    # the bounds themselves occur
    assert {0, 9, 10, 49, 50} <= set(frame["employees"])


@pytest.mark.parametrize(
    ("size", "low", "high"),
    [("0-9", 0.86, 0.91), ("10-49", 0.07, 0.11), ("50-249", 0.012, 0.03), ("250+", 0.002, 0.008)],
)
def test_size_shares(frame: pl.DataFrame, size: str, low: float, high: float) -> None:
    assert low < share(frame, pl.col("size") == size) < high


def test_employment_has_a_pareto_tail() -> None:
    employees = business_frame(500_000, np.random.default_rng(1))["employees"].to_numpy()
    beyond = [(employees >= bound).mean() for bound in (50, 500, 5_000)]
    # a power law loses about the same share each time the bound grows tenfold
    assert 0.03 < beyond[1] / beyond[0] < 0.15
    assert 0.02 < beyond[2] / beyond[1] < 0.15
    assert np.bincount(employees)[-1] < 5


@pytest.mark.parametrize("column", AMOUNTS)
def test_amounts_are_whole_and_not_negative(frame: pl.DataFrame, column: str) -> None:
    amount = frame[column].to_numpy()
    assert (amount >= 0).all()
    assert np.array_equal(amount, np.rint(amount))


def test_turnover_is_skewed(frame: pl.DataFrame) -> None:
    turnover = frame["turnover"].to_numpy()
    assert 150 < np.median(turnover) < 400
    assert (((turnover - turnover.mean()) / turnover.std()) ** 3).mean() > 10
    top = np.sort(turnover)[-frame.height // 100 :].sum() / turnover.sum()
    assert 0.5 < top < 0.9
    assert turnover.max() < 0.3 * turnover.sum()
    assert 0.005 < (turnover == 0).mean() < 0.05


def test_amounts_follow_employment_and_activity(frame: pl.DataFrame) -> None:
    logs = frame.select(pl.col("employees", *AMOUNTS).cast(pl.Float64).log1p())
    assert 0.6 < np.corrcoef(logs["employees"], logs["turnover"])[0, 1] < 0.95
    assert (frame["value_added"] <= frame["turnover"]).all()
    rate = dict(
        frame.group_by(pl.col("activity").str.slice(0, 1)).agg(pl.sum("value_added") / pl.sum("turnover")).iter_rows()
    )
    assert rate["M"] > 1.8 * rate["G"]
    a_person = pl.col("turnover") / (pl.col("employees") + 1)
    median = dict(frame.group_by(pl.col("activity").str.slice(0, 3)).agg(a_person.median()).iter_rows())
    assert median["G46"] > 4 * median["S96"]
    invests = dict(frame.group_by("size").agg((pl.col("investment") > 0).mean()).iter_rows())
    assert invests["0-9"] < 0.6
    assert invests["250+"] > 0.95


def test_region_and_activity_are_uneven(frame: pl.DataFrame) -> None:
    regions, groups = frame.group_by("region").len()["len"], frame.group_by("activity").len()["len"]
    assert regions.len() == sum(map(len, REGION_TREE.values())) == 17
    assert regions.max() > 8 * regions.min()
    assert groups.max() > 50 * groups.min()
    # regions do not all have the same mix
    trade = frame.group_by("region").agg(pl.col("activity").str.starts_with("C").mean())["activity"]
    assert trade.max() > 1.5 * trade.min()


def test_cells_are_sparse_and_dominated(cells: pl.DataFrame) -> None:
    assert 400 < cells.height <= 17 * 27
    assert 0.02 < share(cells, pl.col("contributors") < 3) < 0.15
    busy = cells.filter(pl.col("contributors") >= 5)
    assert 0.15 < share(busy, pl.col("first") > 0.5 * pl.col("total")) < 0.50
    assert share(busy, pl.col("both") > 0.8 * pl.col("total")) > 0.08
    assert share(busy, pl.col("first") < 0.2 * pl.col("total")) > 0.05


def test_holdings_are_those_of_the_large(frame: pl.DataFrame) -> None:
    assert 0.065 < share(frame, held) < 0.095
    rates = [share(frame.filter(pl.col("size") == size), held) for size in SIZES]
    assert rates == sorted(rates)
    assert rates[-1] > 8 * rates[0]


def test_holdings_span_activities_and_regions(frame: pl.DataFrame) -> None:
    holdings = frame.filter(held).group_by("holding").agg(pl.len(), pl.col("region", "activity").n_unique())
    assert holdings.height > 200
    assert share(holdings, pl.col("region") > 1) > 0.6
    assert share(holdings, pl.col("activity") > 1) > 0.6
    assert holdings["len"].max() >= 12
    # the number of a holding says nothing of its size
    number = holdings["holding"].str.slice(1).cast(pl.Int64)
    assert abs(np.corrcoef(number, holdings["len"])[0, 1]) < 0.2


def test_holdings_matter_to_cells(frame: pl.DataFrame, cells: pl.DataFrame) -> None:
    """In some cells a holding has several enterprises: counting enterprises overstates the contributors."""
    assert cells.filter(pl.col("contributors") < pl.col("n")).height > 10
    assert cells["n"].sum() == frame.height


def test_hierarchies(data: flou.Microdata, frame: pl.DataFrame) -> None:
    trees = data.schema.hierarchies
    assert trees["activity"].generalise(["C10.1"], "division") == {"C10.1": "C10"}
    assert trees["activity"].generalise(["C10.1"], "section") == {"C10.1": "C"}
    assert (trees["activity"].height, trees["region"].height) == (3, 2)
    assert trees["region"].generalise(["XA1"], "large region") == {"XA1": "XA"}
    divisions = [division for below in ACTIVITY_TREE.values() for division in below]
    assert len(divisions) == len(set(divisions)) == 27
    assert set(trees["activity"].generalise(frame["activity"].unique(), "division").values()) <= set(divisions)


def test_rare_enterprises(data: flou.Microdata) -> None:
    assert 0.02 < flou.risk.KAnonymity(k=3).measure(data).value < 0.15


def test_a_million_records_in_seconds() -> None:
    start = time.process_time()
    assert business_frame(1_000_000, np.random.default_rng(0)).height == 1_000_000
    assert time.process_time() - start < 10
