"""What noise costs: published figures, ckm's figures, cells one by one, and expectation against observation."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import flou
from flou.describe.mechanism.rounding import UnbiasedRounding
from flou.describe.table.cells import Published

U = flou.utility
T = flou.TransitionMatrix
CENSUS = pl.read_csv(Path(__file__).parents[2] / "golden" / "census_count_frequencies.csv")
SECRET = flou.Secret(bytes(range(32)))
ALL: list[Any] = [U.WithinDistance(2), U.MeanDeviation(), U.RelativeDeviation(), U.Hellinger()]


def people(n: int = 3000, seed: int = 3) -> flou.Microdata:
    rng = np.random.default_rng(seed)
    frame = pl.DataFrame(
        {
            "pid": np.arange(n),
            "town": rng.choice([f"t{i}" for i in range(40)], n),
            "sex": rng.choice(["f", "m"], n),
            "job": rng.choice(["a", "b", "c", "d"], n, p=[0.6, 0.3, 0.08, 0.02]),
        }
    )
    return flou.Microdata(frame, id="pid")


def table(**options: Any) -> flou.Table:
    return flou.record_keys(people(), secret=SECRET).tabulate(["town", "sex", "job"], **options)


def from_counts(true: list[int], published: list[int]) -> tuple[flou.Table, flou.Table]:
    """A table and a release of it with given counts."""
    frame = pl.DataFrame({"cell": [f"c{i:02}" for i in range(len(true))], "count": true})
    original = flou.Table.from_frame(frame, ["cell"])
    # cells are ordered by their names; a total is added where the table has one
    shown = dict(zip(frame["cell"], published, strict=True))
    labels = original.labels()["cell"].to_list()
    counts = np.array([shown.get(c, sum(published)) for c in labels])
    release = original.with_changes(published=Published(count=counts)).marked(released=True)
    return original, release


@pytest.mark.parametrize(("triple", "value"), [((10, 5, 2), 0.860), ((10, 10, 4), 0.760)])
def test_census_figures_of_the_paper(triple: Any, value: float) -> None:
    """Jamme (2025, 3.1): deviations below 3, over the whole table with its zeros."""
    assert U.WithinDistance(2).expect(T(*triple), counts=CENSUS).value == pytest.approx(value, abs=5e-4)


def test_for_large_counts_the_matrix_alone_decides() -> None:
    matrix = T(10, 5, 2)
    row = matrix.row(500)
    z = matrix.targets(500) - 500
    within, mean = U.WithinDistance(2), U.MeanDeviation()
    for method, expected in ((within, row[np.abs(z) <= 2].sum()), (mean, row @ np.abs(z))):
        assert method.expect(matrix, counts=CENSUS).large == pytest.approx(expected)
        alone = method.expect(matrix)
        assert alone.value == pytest.approx(expected)
        assert "large counts" in str(alone.notes[0])
    for method in (U.Hellinger(), U.RelativeDeviation()):
        with pytest.raises(flou.FlouError, match="depends on the counts"):
            method.expect(matrix)


def test_expected_figures_by_hand() -> None:
    matrix, counts = T(3, 2, 1), {0: 5, 1: 4, 2: 3, 7: 2}
    frame = pl.DataFrame({"i": list(counts), "N": list(counts.values())})
    cells = [
        (i, int(j), n * p) for i, n in counts.items() for j, p in zip(matrix.targets(i), matrix.row(i), strict=True)
    ]
    n, units = sum(counts.values()), sum(i * m for i, m in counts.items())

    def expected(method: Any) -> float:
        return float(method.expect(matrix, counts=frame).value)

    assert expected(U.WithinDistance(1)) == pytest.approx(sum(w for i, j, w in cells if abs(j - i) <= 1) / n)
    assert expected(U.MeanDeviation()) == pytest.approx(sum(w * abs(j - i) for i, j, w in cells) / n)
    assert expected(U.RelativeDeviation()) == pytest.approx(sum(w * abs(j - i) / i for i, j, w in cells if i) / (n - 5))
    squares = sum(w * (np.sqrt(i) - np.sqrt(j)) ** 2 for i, j, w in cells)
    assert expected(U.Hellinger()) == pytest.approx(np.sqrt(squares / units / 2))


def test_observed_figures_by_hand() -> None:
    """The table of ckm's probe: MAD of the non-empty cells 4/3, where ckm warns of lengths that do not fit."""
    true, shown = [0, 5, 10, 0, 20], [0, 6, 9, 0, 22]
    original, release = from_counts(true, shown)
    margins = len(original) - 5
    x = np.array([*true, *[35] * margins], dtype=float)
    y = np.array([*shown, *[37] * margins], dtype=float)
    assert U.MeanDeviation().compare(original, release).value == pytest.approx(np.abs(y - x).mean())
    assert U.WithinDistance(1).compare(original, release).value == pytest.approx((np.abs(y - x) <= 1).mean())
    held = x > 0
    relative = U.RelativeDeviation().compare(original, release)
    assert relative.value == pytest.approx((np.abs(y - x)[held] / x[held]).mean())
    gaps = np.sqrt(x / x.sum()) - np.sqrt(y / y.sum())
    assert U.Hellinger().compare(original, release).value == pytest.approx(np.sqrt((gaps**2).sum() / 2))
    assert "expected" not in relative.figures, "no mechanism is known"


@pytest.mark.parametrize("method", ALL, ids=lambda m: m.name())
@pytest.mark.parametrize("cells", ["occupied", "all"])
def test_observed_is_near_expected(method: Any, cells: str) -> None:
    original = table(cells=cells)
    release = flou.protect.CellKey(D=6, V=4, js=2).protect(original)
    found = method.compare(original, release)
    assert found.value == pytest.approx(found.expected, rel=0.08)
    # as many as the figure is the mean of: an empty cell has no relative deviation
    assert found.by_size.filter(pl.col("observed").is_not_null())["cells"].sum() == found.n_cells
    assert found.by_size["cells"].sum() == original.histogram()[1].sum()
    counts, n = original.histogram()
    expected = method.expect(T(6, 4, 2), counts=pl.DataFrame({"i": counts, "N": n}))
    assert expected.value == pytest.approx(found.expected, abs=1e-12)
    assert found.measured_on == "release"
    assert expected.measured_on == "original"


@pytest.mark.parametrize("method", ALL, ids=lambda m: m.name())
def test_nothing_changed_nothing_lost(method: Any) -> None:
    original = table()
    release = original.marked(released=True)
    assert method.compare(original, release).value == (1.0 if method.better == "high" else 0.0)


@pytest.mark.parametrize("method", ALL, ids=lambda m: m.name())
def test_listing_empty_cells_changes_nothing(method: Any) -> None:
    found = []
    for cells in ("occupied", "all"):
        original = table(cells=cells)
        found.append(method.compare(original, flou.protect.CellKey(D=6, V=4, js=2).protect(original)).value)
    assert found[0] == pytest.approx(found[1], abs=1e-12)


def test_withheld_cells() -> None:
    original = table()
    counts = original.true_counts.astype(float)
    hidden = (counts > 0) & (counts < 3)
    counts[hidden] = np.nan
    release = original.with_changes(published=Published(count=counts)).marked(released=True)
    within = U.WithinDistance(0).compare(original, release)
    n = original.histogram()[1].sum()
    assert within.value == pytest.approx(1 - hidden.sum() / n)
    assert within.n_withheld == hidden.sum()
    assert U.MeanDeviation().compare(original, release).value == 0
    assert "left out" in str(U.MeanDeviation().compare(original, release).notes[0])
    risk = flou.risk.CountInference(3).measure(release)
    assert risk.n_cells == n - hidden.sum()
    assert "withheld" in str(risk.notes[0])


def test_withholding_alone_is_no_change_of_the_distribution() -> None:
    """Large cells are withheld, all others are published as they are: shares of what is shown stay the same."""
    original = table()
    counts = original.true_counts.astype(float)
    counts[counts > 20] = np.nan
    release = original.with_changes(published=Published(count=counts)).marked(released=True)
    found = U.Hellinger().compare(original, release)
    assert found.n_withheld > 0
    assert found.value == 0


def test_what_no_mechanism_describes_is_refused_by_measures() -> None:
    _, release = from_counts([1, 2, 3], [2, 2, 3])
    with pytest.raises(flou.FlouError, match="no mechanism of single cells describes"):
        flou.risk.CountInference(3).measure(release)


def test_tables_that_do_not_belong_together() -> None:
    original = table()
    other = flou.record_keys(people(seed=9), secret=SECRET).tabulate(["town", "sex", "job"])
    release = flou.protect.CellKey(D=6, V=4, js=2).protect(other)
    with pytest.raises(flou.FlouError, match="not made from this table"):
        U.MeanDeviation().compare(original, release)
    with pytest.raises(flou.FlouError, match=r"\.expect"):
        U.MeanDeviation().compare(original, T(6, 4, 2))
    with pytest.raises(flou.FlouError, match=r"\.compare"):
        U.MeanDeviation().expect(release)


def test_weighted_tables_are_refused() -> None:
    frame = people().to_frame().with_columns(w=pl.lit(2.5))
    weighted = flou.Microdata(frame, id="pid", weight="w").tabulate(["town", "sex"], weight="w")
    with pytest.raises(flou.FlouError, match="weighted"):
        flou.risk.CountInference(3).measure(weighted)


def test_sizes_of_the_classes() -> None:
    found = U.RelativeDeviation(sizes=[1, 3, 50]).expect(T(3, 2), counts=CENSUS)
    assert found.by_size["size"].to_list() == ["0", "1–2", "3–49", "≥ 50"]
    assert found.by_size["expected"][0] is None
    assert found.by_size["expected"][1] > found.by_size["expected"][2] > found.by_size["expected"][3]
    late = U.RelativeDeviation(sizes=[5]).expect(T(3, 2), counts=CENSUS)
    assert late.by_size["size"].to_list() == ["0–4", "≥ 5"]


@pytest.mark.parametrize("method", [U.WithinDistance(2), U.MeanDeviation()], ids=lambda m: m.name())
def test_the_classes_of_size_add_up_to_the_table(method: Any) -> None:
    """Each class is the mean of its cells: weighted by their number, the classes give the figure of the table."""
    found = method.expect(T(10, 5, 2), counts=CENSUS)
    classes = found.by_size
    assert found.value == pytest.approx((classes["cells"] * classes["expected"]).sum() / found.n_cells)


def test_a_table_without_units_has_no_distribution() -> None:
    with pytest.raises(flou.FlouError, match="no units"):
        U.Hellinger().expect(T(3, 2), counts=pl.DataFrame({"i": [0], "N": [4]}))
    with pytest.raises(flou.FlouError, match="no cell"):
        U.RelativeDeviation().expect(T(3, 2), counts=pl.DataFrame({"i": [0], "N": [4]}))


def test_figures_of_ckm() -> None:
    """ckm 0.1 on its own published table (D = 5, V = 5, js = 2), which has no empty cells: MAD, RMAD in percent, HD."""
    pairs = pl.read_csv(Path(__file__).parents[2] / "golden" / "ckm_published_D5_V5_js2.csv")
    true, shown = (np.repeat(pairs[c].to_numpy(), pairs["N"].to_numpy()) for c in ("true", "published"))
    frame = pl.DataFrame({"cell": [f"c{i:04}" for i in range(len(true))], "count": true})
    original = flou.Table.from_frame(frame, ["cell"])
    assert original.true_counts.tolist() == true.tolist()
    release = original.with_changes(published=Published(count=shown), mechanism=T(5, 5, 2)).marked(released=True)
    found = {type(m).__name__: m.compare(original, release) for m in ALL}
    assert found["MeanDeviation"].value == pytest.approx(1.73396793587174, abs=1e-12)
    assert found["RelativeDeviation"].value == pytest.approx(0.560370824663777, abs=1e-12)
    assert found["Hellinger"].value == pytest.approx(0.102205833403709, abs=1e-12)
    assert found["MeanDeviation"].expected == pytest.approx(1.734, abs=0.05)


def test_rounding_is_a_mechanism_too() -> None:
    counts = pl.DataFrame({"i": [0, 1, 2, 3, 4, 5, 103], "N": [4, 1, 1, 1, 1, 1, 1]})
    random = UnbiasedRounding(5)
    expected = (4 * 0 + 2 * (1 * 4 / 5 + 4 * 1 / 5) + 3 * (2 * 3 / 5 + 3 * 2 / 5) + 0) / 10
    assert U.MeanDeviation().expect(random, counts=counts).value == pytest.approx(expected)
    # large counts have every remainder alike: 0, 1.6, 2.4, 2.4, 1.6
    assert U.MeanDeviation().expect(random).value == pytest.approx(8 / 5)
    risk = flou.risk.CountInference(5).measure(random, counts=counts)
    # only 5 is published: from 1, 2, 3, 4 with probability i / 5, and from 5
    assert risk.value == pytest.approx(2 / 3)
    assert flou.risk.ZeroInference().measure(random, counts=counts).value == pytest.approx(4 / (4 + 2))
