"""Reconstruction as an office uses it: rates, what is certain, bounds, links, and what it refuses."""

from __future__ import annotations

import json
import pickle
from typing import Any

import numpy as np
import polars as pl
import pytest
from tests.depth import at_depth

import flou
from flou.describe.mechanism.rounding import UnbiasedRounding
from flou.describe.table.table_set import TableSet

DIMS = [["gender", "age5"], ["gender", "marital"], ["gender", "age"], ["gender", "age5", "marital"]]
COLUMNS = ["gender", "age", "marital"]


def town(rng: int, n: int = 50) -> flou.Microdata:
    return flou.datasets.census(n=n, rng=rng)


def tables(people: flou.Microdata, **options: Any) -> TableSet:
    return flou.tabulate_many(people, DIMS, **options)


def rounded(people: flou.Microdata, secret: int = 1) -> flou.Release:
    return flou.protect.RandomRounding(base=5).protect(tables(people), secret=secret)


def true_counts(people: flou.Microdata) -> dict[tuple[Any, ...], int]:
    frame = people.frame.to_native().group_by(COLUMNS).len()
    return {row[:-1]: row[-1] for row in frame.select(*COLUMNS, "len").rows()}


def require_true(certain: pl.DataFrame, people: flou.Microdata) -> None:
    true = true_counts(people)
    for *record, count in certain.select(*COLUMNS, "count").rows():
        assert true.get(tuple(record), 0) >= count


def test_raw_above_rounded_above_independent_and_likelihood_above_feasible() -> None:
    rates: dict[str, list[float]] = {}
    for rng in range(at_depth(2, 6)):
        people, others = town(rng), [town(100 + rng), town(200 + rng)]
        for shown, data in (("raw", tables(people)), ("rounded", rounded(people, rng))):
            for mode in ("feasible", "likelihood", "posterior"):
                attack = flou.attack.Reconstruction(mode=mode)
                found = attack.run(data, truth=people, control=others, secret=2)
                rates.setdefault(f"{shown} {mode}", []).append(found.value)
                rates.setdefault("independent", []).append(found.baseline)
                require_true(found.certain, people)
    mean = {name: float(np.mean(held)) for name, held in rates.items()}
    assert mean["raw feasible"] > mean["rounded posterior"]
    assert mean["rounded likelihood"] > mean["rounded feasible"] + 0.05
    assert mean["rounded posterior"] > mean["independent"] + 0.1
    assert mean["raw likelihood"] > 0.8
    assert mean["independent"] < 0.3


PROTECTIONS: list[Any] = [
    None,
    flou.protect.Rounding(base=3),
    flou.protect.Rounding(base=5),
    flou.protect.RandomRounding(base=3),
    flou.protect.CellKey(D=1, V=0.5),
    flou.protect.CellKey(D=3, V=2, js=2),
]


@pytest.mark.parametrize("protection", PROTECTIONS, ids=str)
def test_nothing_certain_is_false(protection: Any) -> None:
    n_certain = 0
    for rng in range(at_depth(1, 4)):
        people = town(rng, n=30)
        made = tables(flou.record_keys(people, secret=rng))
        data = made if protection is None else protection.protect(made, secret=rng)
        found = flou.attack.Reconstruction("feasible").run(data, truth=people, secret=rng)
        require_true(found.certain, people)
        assert found.n_certain == found.certain["count"].sum()
        assert found.all_proven
        n_certain += found.n_certain
    if protection is None:
        assert n_certain > at_depth(10, 40)


def test_figures_agree_with_the_records_that_are_shown() -> None:
    people = town(3)
    found = flou.attack.Reconstruction("posterior", tolerance={"age": 2}).run(rounded(people), truth=people, secret=4)
    true, held = true_counts(people), {}
    for *record, count, _, confidence in found.records.select(*COLUMNS, "count", "certain", "confidence").rows():
        held[tuple(record)] = (count, confidence)
    n = sum(true.values())
    assert found.n_people == n == 50
    assert found.n_rebuilt == sum(count for count, _ in held.values())
    assert found.value == pytest.approx(sum(c for r, c in true.items() if r in held) / n)
    assert found.multiset == pytest.approx(sum(min(c, held[r][0]) for r, c in true.items() if r in held) / n)
    near = sum(
        c for (g, a, m), c in true.items() if any(g == h and m == o and abs(a - b) <= 2 for h, b, o in held)
    )  # fmt: skip
    assert found.near == pytest.approx(near / n)
    assert found.n_uniques == sum(c == 1 for c in true.values())
    assert found.n_unique_hits == sum(c == 1 and r in held for r, c in true.items())
    top = sorted(held, key=lambda r: -held[r][1])[:10]
    assert found.precision_top == pytest.approx(sum(r in true for r in top) / 10)
    assert 0 <= found.interval.low <= found.value <= found.interval.high


def test_a_control_is_what_is_compared_with() -> None:
    people, other = town(3), town(11)
    found = flou.attack.Reconstruction("feasible").run(rounded(people), truth=people, control=other, secret=4)
    theirs = true_counts(other)
    assert found.baseline == pytest.approx(sum(c for r, c in true_counts(people).items() if r in theirs) / 50)
    assert any("control" in str(note) for note in found.notes)
    itself = flou.attack.Reconstruction("feasible").run(rounded(people), truth=people, control=[people], secret=4)
    assert itself.baseline == 1.0
    assert itself.lift == 0.0


def test_bounds_hold_and_are_reached_on_exact_tables() -> None:
    people = town(5)
    found = flou.attack.Reconstruction("feasible").run(tables(people), truth=people, secret=1)
    frame = people.frame.to_native()
    for query, n in (
        ({"gender": "female"}, frame.filter(pl.col("gender") == "female").height),
        ({"age": range(30, 45)}, frame.filter(pl.col("age").is_between(30, 44)).height),
        ({"age5": "30-34", "gender": "male"}, frame.filter(pl.col("age").is_between(30, 34), gender="male").height),
        ({}, 50),
    ):
        bounds = found.bounds(query)
        assert (bounds.low, bounds.high, bounds.exact) == (n, n, True)
    loose = flou.attack.Reconstruction("feasible").run(rounded(people), truth=people, secret=1)
    bounds = loose.bounds(gender="female")
    assert bounds.low <= frame.filter(pl.col("gender") == "female").height <= bounds.high
    assert bounds.low < bounds.high
    with pytest.raises(flou.FlouError, match="'sex', which the tables do not speak of"):
        found.bounds(sex="f")
    with pytest.raises(flou.FlouError, match=r"gender cannot be 'femal'.*Did you mean 'female'"):
        found.bounds(gender="femal")


def test_links_to_names_are_confirmed_by_the_true_records() -> None:
    people = town(5)
    found = flou.attack.Reconstruction("posterior").run(tables(people), truth=people, secret=1)
    frame = people.frame.to_native()
    names = flou.Microdata(frame.select("pid", "age", "gender"), id="pid", keys=["age", "gender"])
    linked = found.link(names)
    assert linked.n_external == linked.n_in_both == 50
    assert linked.n_confirmed <= linked.n_putative <= 50
    assert linked.value == linked.n_confirmed / 50
    true = {row[0]: row[1:] for row in frame.select("pid", *COLUMNS).rows()}
    findings = linked.findings
    assert findings.height == linked.n_putative > 20
    for row in findings.iter_rows(named=True):
        assert row["confirmed"] == (true[row["pid"]] == tuple(row[c] for c in COLUMNS))
    # whoever shares age and gender with another is linked only where both would be the same record
    twins = frame.filter(pl.len().over("age", "gender") > 1)
    for key, group in twins.group_by("age", "gender"):
        rebuilt = found.records.filter(pl.col("age") == key[0], pl.col("gender") == key[1])
        if rebuilt.height > 1:
            assert not set(group["pid"]) & set(findings["pid"])
    strangers = flou.Microdata(frame.select(pl.col("pid") + 1000, "age", "gender"), id="pid", keys=["age", "gender"])
    assert found.link(strangers).n_confirmed == 0
    with pytest.raises(flou.FlouError, match="nothing would be learnt"):
        found.link(people)
    with pytest.raises(flou.FlouError, match="role id"):
        found.link(flou.Microdata(frame.select("age", "gender"), keys=["age", "gender"]))


def test_no_true_record_leaves_with_a_copy() -> None:
    people = town(5)
    found = flou.attack.Reconstruction("feasible").run(rounded(people), truth=people, secret=1)
    copied = pickle.loads(pickle.dumps(found))
    assert copied.truth is None
    assert copied.data is None
    assert copied.to_dict() == found.to_dict()
    assert copied.certain.equals(found.certain)
    with pytest.raises(flou.FlouError, match="not part of a copied result"):
        copied.link(people)


def test_same_secret_same_result_in_any_order_of_records() -> None:
    people = town(7)
    frame = people.frame.to_native().sample(fraction=1.0, shuffle=True, seed=1)
    shuffled = flou.Microdata(frame, schema=people.schema)
    for mode in ("feasible", "likelihood", "posterior"):
        attack = flou.attack.Reconstruction(mode)
        one, two = (
            attack.run(rounded(people), truth=people, secret=5),
            attack.run(rounded(shuffled), truth=shuffled, secret=5),
        )
        assert one.to_dict() == two.to_dict()
        assert one.records.equals(two.records)


def test_areas_one_by_one() -> None:
    people = flou.datasets.census(n=2_000, rng=1)
    dims = [["area", "gender", "age5"], ["area", "gender", "marital"], ["gender", "birth"]]
    made = flou.tabulate_many(people, dims)
    told: list[tuple[str, int, int]] = []
    attack = flou.attack.Reconstruction("likelihood", block="area", certain="skip")
    found = attack.run(made, truth=people, secret=1)
    assert found.n_blocks == people.frame.to_native()["area"].n_unique()
    assert found.records.columns[0] == "area"
    assert found.records["count"].sum() == found.n_rebuilt == 2_000
    assert any("left out: table 3" in str(note) for note in found.notes)
    assert any("other blocks" in str(note) for note in found.notes)
    with pytest.raises(flou.FlouError, match='certain="prove"'):
        _ = found.certain
    from flou.engine.progress import listening

    with listening(lambda *said: told.append(said)):
        attack.reconstruct(made, secret=1)
    assert ("reconstruct", found.n_blocks, found.n_blocks) in told
    area = people.frame.to_native()["area"][0]
    by_area = flou.attack.Reconstruction("feasible", block="area").run(made, truth=people, secret=1)
    n = people.frame.to_native().filter(area=area, gender="female").height
    assert (by_area.bounds(area=area, gender="female").low, by_area.bounds(area=area, gender="female").high) == (n, n)


def test_what_an_intruder_has_without_the_truth() -> None:
    people = town(5)
    held = flou.attack.Reconstruction("likelihood").reconstruct(tables(people).public(), secret=1)
    require_true(held.certain, people)
    assert held.records["count"].sum() == 50
    assert "for certain" in repr(held)


def test_no_truth_is_an_error_that_says_what_to_do() -> None:
    with pytest.raises(flou.FlouError, match=r"needs truth=.*\.reconstruct\(release\)"):
        flou.attack.Reconstruction().run(rounded(town(1)))
    with pytest.raises(flou.FlouError, match=r"takes records for truth=.*not TableSet"):
        flou.attack.Reconstruction().run(rounded(town(1)), truth=tables(town(1)))
    with pytest.raises(flou.FlouError, match="not made of these records"):
        flou.attack.Reconstruction("feasible").run(tables(town(1)), truth=town(2), secret=1)


def test_tables_that_contradict_each_other_are_named_by_few_cells() -> None:
    schema = town(1).schema
    by_gender = pl.DataFrame({"gender": ["Total", "female", "male"], "count": [30, 15, 15]})
    by_marital = pl.DataFrame({"marital": ["Total", "single", "married"], "count": [45, 20, 25]})
    mechanism = UnbiasedRounding(5)
    wrong = TableSet.of(
        [
            flou.Table.from_published(by_gender, ["gender"], mechanism=mechanism, schema=schema, name="by gender"),
            flou.Table.from_published(by_marital, ["marital"], mechanism=mechanism, schema=schema, name="by marital"),
        ]
    )
    for mode in ("feasible", "likelihood"):
        with pytest.raises(flou.FlouError, match="contradict each other") as caught:
            flou.attack.Reconstruction(mode).reconstruct(wrong)
        lines = [line for line in str(caught.value).splitlines() if line.startswith("  - ")]
        assert lines == ["  - the total of 'by gender': 30", "  - the total of 'by marital': 45"]


def test_noise_without_a_bound_leaves_nothing_certain() -> None:
    people = town(4)
    noisy = flou.protect.NoisyCounts(epsilon=200.0).protect(tables(people, cells="all"))
    found = flou.attack.Reconstruction("posterior").run(noisy, truth=people, secret=1)
    assert found.value > 0.6  # hardly any noise
    assert found.n_certain == 0
    assert any("leaves nothing certain" in str(note) for note in found.notes)


def test_a_prior_helps_and_is_not_shown() -> None:
    people = town(4)
    similar = flou.datasets.census(n=20_000, rng=77)
    attack = flou.attack.Reconstruction("posterior", prior=similar)
    found = attack.run(rounded(people), truth=people, secret=1)
    assert found.settings["prior"] == "20,000 records"
    assert (
        found.prior_alone
        > flou.attack.Reconstruction("posterior").run(rounded(people), truth=people, secret=1).prior_alone
    )


def test_charts_in_both_languages() -> None:
    people = town(4)
    found = flou.attack.Reconstruction("feasible", tolerance={"age": 2}).run(rounded(people), truth=people, secret=1)
    drawn = [json.dumps(found.plot(language).to_dict()) for language in ("en", "fr")]
    assert drawn[0] != drawn[1]


def small_areas() -> flou.Microdata:
    rows = [("A", "a", "x"), ("A", "b", "y"), ("B", "a", "x"), ("C", "a", "x"), ("C", "a", "y"), *[("C", "b", "y")] * 3]
    frame = pl.DataFrame(rows, schema=["area", "u", "v"], orient="row").with_row_index("pid")
    modalities = {"area": ["A", "B", "C"], "u": ["a", "b"], "v": ["x", "y"]}
    return flou.Microdata(frame, id="pid", keys=["area", "u", "v"], modalities=modalities)


@pytest.mark.parametrize("cells", ["occupied", "all"])
def test_an_area_that_is_shown_as_zero_may_hold_somebody(cells: Any) -> None:
    people = small_areas()
    made = flou.tabulate_many(people, [["area", "u"], ["area", "v"], ["area", "u", "v"]], cells=cells)
    shown = flou.protect.Rounding(base=3).protect(made)
    found = flou.attack.Reconstruction("feasible", block="area").run(shown, truth=people, secret=1)
    assert (found.n_people, found.n_blocks) == (8, 3)
    for query, n in (({}, 8), ({"u": "a"}, 4), ({"area": "B"}, 1), ({"area": np.array(["A", "C"])}, 7)):
        bounds = found.bounds(query)
        assert bounds.low <= n <= bounds.high
        assert not bounds.exact  # figures over all areas are left out, and could tell more
    whole = flou.attack.Reconstruction("feasible").run(shown, truth=people, secret=1).bounds(u="a")
    assert (whole.low, whole.high, whole.exact) == (4, 4, True)


def test_a_control_of_many_is_compared_as_if_it_were_as_many() -> None:
    people = town(3)
    attack = flou.attack.Reconstruction("feasible")
    found = attack.run(rounded(people), truth=people, control=flou.datasets.census(n=2_000, rng=9), secret=4)
    assert found.baseline < 0.4


def test_a_misspelt_rule_or_domain_is_refused() -> None:
    shown = rounded(town(3))
    for wrong, message in (
        ({"incoherent": [{"age": 3, "maritl": "married"}]}, "incoherent names 'maritl'.*Did you mean 'marital'"),
        ({"incoherent": [{"age": 3, "marital": "maried"}]}, "incoherent has marital = 'maried'"),
        ({"domain": {"age": range(3)}}, "domain: 'age' lacks"),
    ):
        with pytest.raises(flou.FlouError, match=message):
            flou.attack.Reconstruction(**wrong).reconstruct(shown)
    with pytest.raises(flou.FlouError, match="age = -1 is negative"):
        flou.attack.Reconstruction(tolerance={"age": -1})


def test_only_what_is_proven_has_a_chance_of_one() -> None:
    people = town(5)
    for data in (tables(people), rounded(people)):
        records = flou.attack.Reconstruction("posterior").reconstruct(data, secret=1).records
        sure = records.filter(pl.col("confidence") == 1.0)
        assert (sure["certain"] >= 1).all()
        assert records.filter(pl.col("certain") >= 1)["confidence"].eq(1.0).all()
