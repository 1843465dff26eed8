"""Primary cells as GaussSuppression 1.2.3 and sdcTable 0.34 find them.

business_1200.csv holds 1,200 synthetic records of 675 enterprises; gausssuppression_business.csv which of the 225 cells
of industry × region are primary there: `p10` the p% rule with p = 10, `nk` dominance (1, 80) and (2, 90), `few` at most 3
contributors, each by enterprise, and `p10_records` by record. gausssuppression_counts.csv is a table of counts of 2,000
synthetic people with its cells of at most 3 (`small`), which sdcTable finds as well, and with the empty ones too.
"""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

import flou
from flou.risk.table.primary_rule import PrimaryRule, combine

HERE = Path(__file__).parent
R = flou.risk


def business(holding: str | None) -> tuple[flou.Table, pl.DataFrame]:
    """The table, and what the peer found for each of its cells."""
    records = flou.Microdata(pl.read_csv(HERE / "business_1200.csv"))
    table = records.tabulate(["indg>ind", "reg"], value="turnover", holding=holding, largest=2, cells="all")
    shown = table.labels().select(
        ind=pl.when(pl.col("ind") == "Total").then("indg").otherwise("ind"), reg=pl.col("reg")
    )
    peer = pl.read_csv(HERE / "gausssuppression_business.csv")
    assert table.n_cells == peer.height == 225
    return table, shown.join(peer, on=["ind", "reg"], how="left", maintain_order="left")


@pytest.mark.parametrize(
    ("column", "rules", "holding", "n"),
    [
        ("p10", [R.PPercent(10)], "ent", 74),
        ("p10", [R.PQ(p=10, q=100)], "ent", 74),
        ("p10_records", [R.PPercent(10)], None, 74),
        ("nk", [R.Dominance(n=1, k=80), R.Dominance(n=2, k=90)], "ent", 86),
        ("few", [R.Threshold(4)], "ent", 66),
    ],
)
def test_business(column: str, rules: list[PrimaryRule], holding: str | None, n: int) -> None:
    table, peer = business(holding)
    found = combine(rules, table)
    assert found.cells.tolist() == (peer[column] == 1).to_list()
    assert found.cells.sum() == n
    assert table.true_counts.tolist() == peer["count"].to_list()
    if holding:
        assert table.cells.holdings is not None
        assert table.cells.holdings.tolist() == peer["holdings"].to_list()


def test_an_upper_limit_of_3_is_a_threshold_of_4() -> None:
    """Peers name the largest count that is withheld (`maxN`), Flou the smallest that is shown."""
    frame = pl.read_csv(HERE / "gausssuppression_counts.csv")
    table = flou.Table.from_frame(frame, ["occc", "mar"], cells="all")
    peer = table.labels().join(frame, on=["occc", "mar"], how="left", maintain_order="left")
    small, empty = R.Threshold(4).sensitive(table), R.Threshold(4, zeros=True).sensitive(table)
    assert small.cells.tolist() == (peer["small"] == 1).to_list()
    assert empty.cells.tolist() == (peer["small_or_zero"] == 1).to_list()
    assert (small.cells.sum(), empty.cells.sum()) == (23, 25)
    assert R.Threshold(3).sensitive(table).cells.sum() == 11
