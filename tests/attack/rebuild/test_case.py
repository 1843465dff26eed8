"""Published tables as constraints: checked against tables that are made anew of other populations."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from tests.depth import at_depth

import flou
from flou.attack.table.rebuild.case import Case, read_case
from flou.describe.mechanism.rounding import ConventionalRounding, UnbiasedRounding
from flou.describe.mechanism.unchanged import Unchanged
from flou.describe.table.table_set import TableSet

DIMS: list[list[str]] = [["sex", "decade"], ["sex", "age"], ["decade", "marital"], ["area"]]
MODALITIES: dict[str, Any] = {
    "sex": ["f", "m"],
    "age": list(range(6)),
    "marital": ["single", "married", "widowed"],
    "area": ["A", "B"],
}


def people(n: int, seed: int) -> flou.Microdata:
    rng = np.random.default_rng(seed)
    age = rng.integers(0, 6, n)
    status = np.where(age < 3, "single", rng.choice(MODALITIES["marital"], n))
    frame = pl.DataFrame(
        {
            "pid": np.arange(n) + 1,
            "sex": rng.choice(["f", "m"], n),
            "age": age,
            "marital": status,
            "area": rng.choice(["A", "B"], n),
        }
    )
    incoherent = [{"age": a, "marital": s} for a in range(3) for s in ("married", "widowed")]
    return flou.Microdata(
        frame,
        id="pid",
        keys=["sex", "age", "marital", "area"],
        modalities=MODALITIES,
        incoherent=incoherent,
        hierarchies={"age": flou.Hierarchy.bands(2, names=["decade"])},
    )


def published(data: flou.Microdata, protection: Any, dims: list[list[str]] = DIMS) -> TableSet:
    keyed = isinstance(protection, flou.protect.CellKey)
    tables = flou.tabulate_many(flou.record_keys(data, secret=9) if keyed else data, dims)
    return tables if protection is None else protection.protect(tables, secret=3).data


def counts_of(case: Case, data: flou.Microdata) -> Any:
    return np.bincount(case.universe.locate(data), minlength=case.universe.n_cells)


def by_hand(shown: TableSet, other: flou.Microdata, dims: list[list[str]] = DIMS) -> float:
    """The log chance of everything shown if `other` are the true people: tables made anew, figure by figure, once."""
    total, seen = 0.0, set()
    made = flou.tabulate_many(other, dims, cells="all")
    for table, anew in zip(shown, made, strict=True):
        mechanism = table.mechanism or Unchanged()
        labels = [c for c in anew.to_frame().columns if c not in ("count", "status")]
        known = {row[:-1]: row[-1] for row in table.public().to_frame().select(*labels, "count").rows()}
        for row in anew.to_frame().select(*labels, "count").rows():
            name = tuple(sorted((c, v) for c, v in zip(labels, row[:-1], strict=True) if v != "Total"))
            if name in seen and mechanism.shared_by != "nothing":
                continue  # the same cell in another table has the same figure
            seen.add(name)
            total += float(mechanism.log_likelihood(np.array([known.get(row[:-1], 0)]), np.array([row[-1]]))[0])
    return total


PROTECTIONS = [None, flou.protect.RandomRounding(base=3), flou.protect.Rounding(base=3)]


@pytest.mark.parametrize("protection", PROTECTIONS, ids=["raw", "random", "conventional"])
@pytest.mark.parametrize("seed", range(at_depth(2, 4)))
def test_likelihood_is_that_of_tables_made_anew(protection: Any, seed: int) -> None:
    true = people(14, seed)
    shown = published(true, protection)
    case = read_case(shown)
    problem = case.figures.problem()
    finite = 0
    others = [true, *(people(14, 100 + i) for i in range(30)), *(people(n, 7) for n in (0 + 1, 13, 15))]
    # people who differ from the true ones in little are the hard case
    frame = true.frame.to_native()
    for i in range(14):
        moved = frame.with_columns(pl.when(pl.col("pid") == i + 1).then(5).otherwise(pl.col("age")).alias("age"))
        others.append(flou.Microdata(moved, schema=true.schema))
    for other in others:
        ours, expected = problem.log_likelihood(counts_of(case, other)), by_hand(shown, other)
        finite += bool(np.isfinite(expected))
        assert ours == pytest.approx(expected, abs=1e-9)
        assert problem.allows(counts_of(case, other)) == bool(np.isfinite(expected))
    assert finite >= 1


@pytest.mark.parametrize("protection", [flou.protect.CellKey(D=2, V=2), flou.protect.RandomRounding(base=3)])
def test_keys_count_a_cell_of_the_same_people_once_and_tell_others_apart(protection: Any) -> None:
    told = 0
    for seed in range(12):
        true = people(14, seed)
        tables = flou.tabulate_many(flou.record_keys(true, secret=seed), DIMS)
        shown = protection.protect(tables, secret=3).data
        case = read_case(shown)
        problem = case.figures.problem()
        assert problem.allows(counts_of(case, true))
        told += len(problem.apart)
    assert told > 0


def test_bands_follow_from_rules_on_values() -> None:
    # ages 0, 1 make a band of the single alone; 2, 3 hold an age of 3, which may be married
    case = read_case(flou.tabulate_many(people(40, 1), [["decade", "marital"]], cells="all"))
    frame = case.universe.frame(np.arange(case.universe.n_cells))
    assert frame.filter(pl.col("decade") == "0-1")["marital"].to_list() == ["single"]
    assert sorted(frame.filter(pl.col("decade") == "2-3")["marital"]) == ["married", "single", "widowed"]


def test_rules_tie_columns_of_different_tables() -> None:
    case = read_case(flou.tabulate_many(people(40, 1), [["age"], ["marital"]], cells="all"))
    frame = case.universe.frame(np.arange(case.universe.n_cells))
    assert frame.filter(pl.col("age") < 3)["marital"].unique().to_list() == ["single"]


def test_blocks_are_the_tables_of_each_area() -> None:
    true = people(40, 2)
    dims = [["area", "sex", "decade"], ["area", "sex", "age"], ["sex", "marital"]]
    shown = published(true, flou.protect.RandomRounding(base=3), dims)
    case = read_case(shown, block="area")
    assert case.figures.blocks == ("A", "B")
    assert case.left_out == ("table 3",)
    frame = true.frame.to_native()
    for b, area in enumerate(case.figures.blocks):
        here = flou.Microdata(frame.filter(pl.col("area") == area), schema=true.schema)
        problem = case.figures.problem(b)
        x = counts_of(case, here)
        assert problem.allows(x)
        # the figures of the block, read off the frame by hand
        expected, seen = 0.0, set()
        made = flou.tabulate_many(here, [["sex", "decade"], ["sex", "age"]], cells="all")
        for table, anew in zip(shown.tables[:2], made, strict=True):
            labels = [c for c in anew.to_frame().columns if c not in ("count", "status")]
            listed = table.public().to_frame().filter(pl.col("area") == area)
            known = {row[:-1]: row[-1] for row in listed.select(*labels, "count").rows()}
            for row in anew.to_frame().select(*labels, "count").rows():
                name = tuple(sorted((c, v) for c, v in zip(labels, row[:-1], strict=True) if v != "Total"))
                if name not in seen:
                    seen.add(name)
                    shown_count = np.array([known.get(row[:-1], 0)])
                    expected += float(UnbiasedRounding(3).log_likelihood(shown_count, np.array([row[-1]]))[0])
        assert problem.log_likelihood(x) == pytest.approx(expected, abs=1e-9)


def test_a_suppressed_cell_that_is_listed_holds_somebody() -> None:
    true = people(30, 3)
    release = flou.protect.CellSuppression([flou.risk.Threshold(3)]).protect(true.tabulate(["sex", "age"]))
    case = read_case(release.data)
    problem = case.figures.problem()
    assert problem.allows(counts_of(case, true))
    hidden = release.data.published.hidden
    assert hidden.any()
    assert case.figures.published(0).min() == -1
    rows = case.figures.layout.row[case.figures.published(0) == -1]
    assert (problem.low[rows] == 1).all()


def test_an_unlisted_cell_is_shown_as_zero() -> None:
    data = people(3, 5)
    case = read_case(data.tabulate(["sex", "age"]))
    problem = case.figures.problem()
    # nothing but the people themselves is possible
    assert problem.most.sum() == counts_of(case, data).sum()


def test_what_cannot_be_read_is_refused() -> None:
    true = people(30, 3)
    with pytest.raises(flou.FlouError, match=r"'are' is no attribute of the tables\. Did you mean 'area'"):
        read_case(flou.tabulate_many(true, DIMS), block="are")
    with pytest.raises(flou.FlouError, match="only dimension"):
        read_case(true.tabulate(["area"]), block="area")
    with pytest.raises(flou.FlouError, match="zonings side by side"):
        read_case(true.tabulate(["area|sex"]))
    with pytest.raises(flou.FlouError, match="domain names 'job'"):
        read_case(true.tabulate(["sex"]), domain={"job": ["a"]})
    weighted = flou.Microdata(true.frame.to_native().with_columns(w=pl.lit(2.0)), id="pid", weight="w", keys=["sex"])
    with pytest.raises(flou.FlouError, match="weighted estimates"):
        read_case(weighted.tabulate(["sex"], weight="w"))
    keyed = flou.record_keys(true, secret=flou.Secret(bytes(range(32)))).tabulate(["sex", "age"])
    repaired = flou.protect.CellKey(D=3, V=2, additive="repair").protect(keyed)
    with pytest.raises(flou.FlouError, match="not the true ones"):
        read_case(repaired.data)
    controlled = flou.protect.Rounding(3, additive="controlled").protect(true.tabulate(["sex", "age"]))
    with pytest.raises(flou.FlouError, match="chooses the figures of all cells together"):
        flou.attack.Reconstruction().reconstruct(controlled)


def test_values_must_be_known_where_figures_are_moved() -> None:
    frame = people(30, 3).frame.to_native()
    bare = flou.Microdata(frame, id="pid", keys=["sex", "age"])
    release = flou.protect.RandomRounding(base=3).protect(bare.tabulate(["sex", "age"]), secret=1)
    with pytest.raises(flou.FlouError, match=r"Which values 'sex' can have .* domain="):
        read_case(release.data)
    case = read_case(release.data, domain={"sex": ["f", "m"], "age": range(6)})
    assert case.universe.n_cells == 12
    # as they are, tables list everybody there is
    assert read_case(bare.tabulate(["sex", "age"])).universe.n_cells <= 12


def test_a_product_that_is_too_large_says_how_large() -> None:
    rng = np.random.default_rng(0)
    frame = pl.DataFrame({f"v{i}": rng.integers(0, 100, 300) for i in range(4)})
    modalities = {f"v{i}": list(range(100)) for i in range(4)}
    data = flou.Microdata(frame, keys=list(frame.columns), modalities=modalities)
    with pytest.raises(flou.FlouError, match=r"100,000,000 combinations \(v0 \(100\).*block="):
        read_case(flou.tabulate_many(data, [["v0", "v1"], ["v2", "v3"]]))


def test_a_figure_that_the_mechanism_never_publishes() -> None:
    frame = pl.DataFrame({"sex": ["Total", "f", "m"], "count": [10, 7, 5]})
    table = flou.Table.from_published(frame, ["sex"], mechanism=UnbiasedRounding(5))
    with pytest.raises(flou.FlouError, match="7 is shown at sex = f, which unbiased random rounding to base 5 never"):
        read_case(table, domain={"sex": ["f", "m"]}).figures.problem()


def test_somebody_where_the_rules_say_nobody() -> None:
    frame = pl.DataFrame({"age": ["1"], "marital": ["married"], "count": [4]})
    schema = people(3, 1).schema
    table = flou.Table.from_published(frame, ["age", "marital"], schema=schema)
    with pytest.raises(flou.FlouError, match="nobody can be"):
        read_case(table)


def test_tables_of_others_are_read_as_they_were_published() -> None:
    true = people(30, 3)
    release = flou.protect.Rounding(base=3).protect(flou.tabulate_many(true, DIMS))
    frames = release.data.to_frame()
    read = [
        flou.Table.from_published(
            f,
            [c for c in f.columns if c not in ("count", "status")],
            mechanism=ConventionalRounding(3),
            cells="occupied",
            schema=true.schema,
            name=name,
        )
        for name, f in frames.items()
    ]
    ours, theirs = read_case(release.data).figures, read_case(TableSet.of(read)).figures
    assert np.array_equal(ours.published(0), theirs.published(0))
    assert ours.problem().log_likelihood(counts_of(read_case(release.data), true)) == 0.0
    suppressed = flou.protect.CellSuppression([flou.risk.Threshold(3)]).protect(true.tabulate(["sex", "age"]))
    back = flou.Table.from_published(suppressed.data.to_frame(), ["sex", "age"], cells="occupied", schema=true.schema)
    assert np.array_equal(read_case(back).figures.published(0), read_case(suppressed.data).figures.published(0))
    with pytest.raises(flou.FlouError, match="true counts are not known"):
        _ = back.true_counts
