"""Tables of τ-ARGUS's own tests: primary cells, published patterns attacked, optima, and published counts of cell keys.

argus_act.csv and argus_region.csv: turnover of 6,103 and 5,966 contributions by activity or region and product, one line a
cell with its holdings, the two largest, the number of the holding that is alone there, whether the p% rule with p = 10
holds the cell sensitive, and which cells τ-ARGUS withholds (sdcTools/checkTauArgus at d5dbee1, renumbered). Optima were
proven by two independent programs. The small tables are a batch example, and the minimal example of InseeFrLab/rtauargus.
The cell keys are those of sdcTools/tauargus, added up in whole numbers of 10^-8.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import flou
from flou.describe.table.cells import Published
from flou.describe.table.suppression import State, Suppression

HERE = Path(__file__).parent
RULE = flou.risk.PPercent(10)
#: The cells of the modular pattern that a holding which is alone in other cells computes.
COMPUTED = {
    ("B", "06"), ("C/14", "12"), ("C/14", "13"), ("E/38", "07"), ("F/43", "13"), ("H/50", "08"), ("K/65", "05"),
    ("L", "08"), ("L/68", "08"), ("M", "14"), ("M/69", "13"), ("M/69", "14"), ("Q/86", "04"), ("R/92", "08"),
    ("T", "Total"), ("T/97", "Total"),
}  # fmt: skip


def table_of(name: str) -> tuple[flou.Table, pl.DataFrame]:
    """A table, and what is known of its cells, line by line."""
    held = pl.read_csv(HERE / f"argus_{name}.csv", schema_overrides={name: pl.String, "product": pl.String})
    level = pl.col(name).str.split("/")
    cells = held.select(
        level.list.get(0).alias("top"),
        level.list.get(1, null_on_oob=True).fill_null("Total").alias(name),
        "product",
        "value",
        count="holdings",
    )
    table = flou.Table.from_frame(cells, [f"top>{name}", "product"], value="value")
    known = table.labels().join(
        cells.select("top", pl.col(name), "product").with_row_index("line"), on=table.columns, maintain_order="left"
    )
    lines = held[known["line"].to_list()]
    largest = lines.select("largest1", "largest2").to_numpy().astype(float)
    largest[np.arange(2) >= lines["holdings"].to_numpy()[:, None]] = np.nan
    held_cells = table.cells.with_changes(
        holdings=lines["holdings"].to_numpy(), largest=largest, sole=lines["alone"].fill_null(-1).to_numpy()
    )
    return table.with_changes(cells=held_cells), lines


def safe_by_hand(table: flou.Table) -> list[dict[str, str]]:
    """Activity 00 is that of firms whose activity is missing, and safe whatever the rules say."""
    return [
        {**labels, "action": "safe"} for labels in table.labels().iter_rows(named=True) if labels.get("top") == "00"
    ]


@pytest.mark.parametrize(("name", "n_cells", "n_primary"), [("act", 971, 283), ("region", 212, 17)])
def test_primary_cells(name: str, n_cells: int, n_primary: int) -> None:
    table, lines = table_of(name)
    found = RULE.sensitive(table).cells & (table.labels()["top"] != "00").to_numpy()
    assert (table.n_cells, int(found.sum())) == (n_cells, n_primary)
    assert found.tolist() == (lines["primary"] == 1).to_list()


@pytest.mark.parametrize(
    ("name", "pattern", "n_hidden", "n_exact", "n_narrow"),
    [("act", "test_1", 416, 0, 0), ("act", "test_2a", 357, 16, 9), ("region", "test_3b", 25, 0, 0)],
)
def test_what_published_patterns_give_away(name: str, pattern: str, n_hidden: int, n_exact: int, n_narrow: int) -> None:
    """The hypercube and the table of regions hold; of the modular one, holdings that are alone in cells compute 16."""
    table, lines = table_of(name)
    hidden, primary = (lines[pattern] == 1).to_numpy(), (lines["primary"] == 1).to_numpy()
    states = np.where(primary, State.PRIMARY, np.where(hidden, State.SECONDARY, State.PUBLISHED)).astype(np.uint8)
    seen = table.with_changes(
        published=Published(table.true_counts, table.true_values, hidden, counted=False),
        suppression=Suppression(states, ("p% (10)",), primary[:, None]),
    )
    said: Any = safe_by_hand(table) or None
    found = flou.attack.CellBounds(primary=(RULE,), apriori=said).run(seen)
    figures = found.figures
    assert (figures["n_suppressed"], figures["n_exact"], figures["n_narrow"]) == (n_hidden, n_exact, n_narrow)
    exact = found.findings.filter(pl.col("kind") == "exact").with_columns(
        code=pl.when(pl.col(name) == "Total").then(pl.col("top")).otherwise(pl.col("top") + "/" + pl.col(name))
    )
    assert set(exact["code", "product"].rows()) == (COMPUTED if n_exact else set())


@pytest.mark.parametrize(
    ("name", "singletons", "optimum", "most"),
    [
        ("act", "off", 318_551.58, 1.0132),
        ("region", "off", 5_415.65, 1.0),
        ("act", "levels", 447_541.10, 1.04),
        ("region", "levels", 9_999.89, 1.07),
    ],
)
def test_our_pattern_holds_and_costs_little_more_than_the_optimum(
    name: str, singletons: Any, optimum: float, most: float
) -> None:
    """With `levels` the optimum also protects against whoever is alone in a withheld cell. `most` is what it costs."""
    table, lines = table_of(name)
    said: Any = safe_by_hand(table) or None
    made = flou.protect.CellSuppression(primary=(RULE,), apriori=said, singletons=singletons).protect(table).data
    primary = (lines["primary"] == 1).to_numpy()
    cost = round(table.true_values[made.suppression.hidden & ~primary].sum(), 2)
    assert optimum <= cost <= most * optimum
    found = flou.attack.CellBounds(primary=(RULE,), apriori=said, singletons=singletons).run(made).figures
    assert (found["n_exact"], found["n_narrow"]) == (0, 0)


def test_one_primary_cell_of_a_batch_example() -> None:
    """τ-ARGUS, optimal: the women of A are primary with a level of 1; the rest of the rectangle is with the region C."""
    men, women = {"A": 895, "B": 753, "C": 569, "D": 540}, {"A": 137, "B": 973, "C": 486, "D": 793}
    inner = [(r, "male", n) for r, n in men.items()] + [(r, "female", n) for r, n in women.items()]
    regions = [(r, "Total", men[r] + women[r]) for r in men]
    totals = [("Total", "male", 2757), ("Total", "female", 2389), ("Total", "Total", 5146)]
    frame = pl.DataFrame([*inner, *regions, *totals], schema=["region", "sex", "count"], orient="row")
    said: Any = [{"region": "A", "sex": "female", "action": "protect", "first": 1, "second": 1}]
    table = flou.Table.from_frame(frame, ["region", "sex"])
    made = flou.protect.CellSuppression(apriori=said, singletons="off").protect(table).data
    hidden = made.labels().filter(pl.Series(made.suppression.hidden)).rows()
    assert set(hidden) == {("A", "male"), ("A", "female"), ("C", "male"), ("C", "female")}


def test_rules_of_the_minimal_example() -> None:
    """FREQ(3, 10) and NK(1, 85): A for few, B for dominated."""
    rows = [("01", "tr1", 100, 10, 20, "V"), ("01", "tr2", 50, 5, 15, "V"), ("02", "tr1", 30, 2, 20, "A"),
            ("02", "tr2", 20, 5, 10, "D"), ("06", "tr1", 60, 8, 16, "D"), ("06", "tr2", 40, 6, 38, "B")]  # fmt: skip
    frame = pl.DataFrame(
        [(a, s, float(v), n) for a, s, v, n, _, _ in rows], schema=["activity", "size", "value", "n"], orient="row"
    )
    table = flou.Table.from_frame(frame, ["activity", "size"], count="n", value="value")
    table = table.with_changes(cells=table.cells.with_changes(largest=np.array([[float(r[4])] for r in rows])))
    few, dominated = (
        flou.risk.Threshold(3).sensitive(table).cells,
        flou.risk.Dominance(n=1, k=85).sensitive(table).cells,
    )
    assert few.tolist() == [status == "A" for *_, status in rows]
    assert dominated.tolist() == [status == "B" for *_, status in rows]


#: A count, and each count that it can be published as with its chance.
CHANCES = """\
0 0:1
1 0:0.73446954 3:0.13672019 4:0.07279631 5:0.03742956 6:0.0185844
2 0:0.40880704 3:0.40664356 4:0.14762399 5:0.03231882 6:0.00426687 7:0.00033972
3 0:0.18737598 3:0.5 4:0.15629816 5:0.09081388 6:0.04324201 7:0.01687388 8:0.00539609
4 0:0.09146068 3:0.1534042 4:0.5 5:0.10745598 6:0.07288274 7:0.04296852 8:0.02201951 9:0.00980837
5 0:0.03934302 3:0.10580374 4:0.1142707 5:0.5 6:0.09122979 7:0.06743799 8:0.04393229 9:0.02522171 10:0.01276076
6 3:0.09063278 4:0.09217047 5:0.09217047 6:0.5 7:0.07126272 8:0.05759409 9:0.04378668 10:0.03131516 11:0.02106764
7 3:0.03393943 4:0.05458754 5:0.0760716 6:0.09185269 7:0.5 8:0.0871066 9:0.06841336 10:0.0465555 11:0.02744993 12:0.01402335
8 3:0.01158491 4:0.02539548 5:0.04675981 6:0.07231718 7:0.09394263 8:0.5 9:0.09394263 10:0.07231718 11:0.04675979 12:0.02539548 13:0.01158492
"""
#: Sex, age, count, cell key and published count of 4,580 persons; a dot is the total.
KEYED = """\
1 1 954 0.65646916 954
1 2 572 0.05637162 569
1 3 440 0.47372877 440
1 4 228 0.48074517 228
1 5 84 0.04536317 81
1 6 6 0.07207875 3
1 . 2284 0.78475664 2285
2 1 1015 0.60277206 1015
2 2 571 0.01263985 567
2 3 424 0.57233111 424
2 4 195 0.73617047 195
2 5 84 0.02184417 80
2 6 7 0.15851291 5
2 . 2296 0.10427057 2294
. 1 1969 0.25924122 1969
. 2 1143 0.06901147 1140
. 3 864 0.04605988 861
. 4 423 0.21691564 422
. 5 168 0.06720734 165
. 6 13 0.23059166 12
. . 4580 0.88902721 4582
"""


def test_counts_by_cell_keys() -> None:
    chances = [
        (int(i), *(float(x) for x in pair.split(":")))
        for i, *pairs in map(str.split, CHANCES.splitlines())
        for pair in pairs
    ]
    frame = pl.DataFrame(
        [(i, int(j), p) for i, j, p in chances], schema={"i": pl.Int64, "j": pl.Int64, "p_ij": pl.Float64}, orient="row"
    )
    matrix = flou.TransitionMatrix.from_ptable(frame)
    rows = [["Total" if x == "." else x for x in line.split()] for line in KEYED.splitlines()]
    cells = pl.DataFrame(rows, schema=["sex", "age", "count", "key", "published"], orient="row").with_columns(
        pl.col("count", "published").cast(pl.Int64), pl.col("key").cast(pl.Float64)
    )
    table = flou.Table.from_frame(cells.drop("published"), ["sex", "age"], key="key")
    shown = flou.protect.CellKey(matrix=matrix).protect(table).data
    expected = table.labels().join(cells, on=["sex", "age"], maintain_order="left")["published"]
    assert shown.published_counts.tolist() == expected.to_list()
