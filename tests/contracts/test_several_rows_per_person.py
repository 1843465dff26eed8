"""Where a person may have several rows, each method counts persons or refuses: none takes records for persons."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl
import pytest
from tests.contracts.cases import EXAMPLES, SPARK, native

import flou
from flou.engine import registry
from flou.engine.measure import RiskMeasure
from flou.engine.method import Method
from flou.engine.protection import Protection
from flou.engine.utility import Utility

SECRET = flou.Secret(bytes(range(32)))
KEYS = ["region", "sex"]
#: Methods that work on such a file; all others of microdata refuse it.
COUNT_PERSONS = {
    "k_anonymity", "l_diversity", "individual_risk", "global_risk", "attacker_risk", "k_map", "presence", "attack_map",
    "drop_records",
}  # fmt: skip
COUNT_NOBODY = {
    "recode", "top_code", "bottom_code", "round", "drop_identifiers",
    "summary", "correlations", "regression", "coherence",
}  # fmt: skip
OF_MICRODATA = [m for m in registry.every() if "microdata" in m.takes]


def several(seed: int = 0, n: int = 400, **more: Any) -> flou.Microdata:
    """Some 150 persons with one to five rows, not all of which show the same."""
    rng = np.random.default_rng(seed)
    person = rng.integers(0, 150, n) * 7 + 1_000
    frame = pl.DataFrame(
        {
            "person": person,
            "name": [f"name {p}" for p in person],
            "region": rng.choice(["A", "B", "C", "D"], n, p=[0.5, 0.3, 0.15, 0.05]),
            "sex": np.where(person % 2, "F", "M"),
            "age": rng.integers(20, 40, n),
            "illness": rng.choice(["flu", "asthma", "none"], n, p=[0.6, 0.3, 0.1]),
            "income": rng.integers(1, 60, n) * 10.0,
            "spending": rng.integers(0, 300, n) * 10.5,
            "w": 1.0 + rng.integers(0, 30, n) / 4,
        }
    )
    roles: dict[str, Any] = {
        "keys": [*KEYS, "age"], "sensitive": ["illness"], "identifiers": ["name"], "weight": "w", "id": "person", "others": ["age"] if "keys" in more else [],
        "hierarchies": {"age": flou.Hierarchy.bands(5, 10)}, "rows_per_person": "several",
    }  # fmt: skip
    return flou.Microdata(frame, **{**roles, **more})


def by_class(data: flou.Microdata, keys: Sequence[str]) -> dict[Any, dict[Any, list[dict[str, Any]]]]:
    """The rows of each person in each class, straight from the definition."""
    found: dict[Any, dict[Any, list[dict[str, Any]]]] = defaultdict(lambda: defaultdict(list))
    for row in data.to_frame(reveal=True).iter_rows(named=True):
        found[tuple(row[k] for k in keys)][row["person"]].append(row)
    return found


def persons_of_rows(data: flou.Microdata, keys: Sequence[str]) -> list[int]:
    classes = by_class(data, keys)
    return [len(classes[tuple(row[k] for k in keys)]) for row in data.to_frame(reveal=True).iter_rows(named=True)]


@pytest.mark.parametrize("method", OF_MICRODATA, ids=lambda m: m.name())
def test_each_method_says_whether_it_counts_persons(method: type[Method]) -> None:
    assert method.allows_several_rows == (method.name() in COUNT_PERSONS | COUNT_NOBODY)


@pytest.mark.parametrize("name", [m.name() for m in OF_MICRODATA if m.name() not in COUNT_PERSONS | COUNT_NOBODY])
def test_all_others_refuse(name: str) -> None:
    """They refuse before they look at anything else, whatever the data and the parameters are."""
    method = EXAMPLES[name][0]
    with pytest.raises(flou.FlouError, match="takes each record for a person"):
        put(method)


def put(method: Method) -> Any:
    """A method on a file with several rows per person."""
    if isinstance(method, RiskMeasure):
        return method.measure(several(), against=several() if method.compares_with else None)
    if isinstance(method, Protection):
        return method.protect(several(), secret=SECRET)
    assert isinstance(method, Utility)
    return method.compare(several(), flou.protect.TopCode("income", at=500).protect(several(), secret=SECRET))


@pytest.mark.parametrize("engine", ["polars", "polars-lazy", "pandas", "duckdb", SPARK])
def test_k_counts_persons(engine: str) -> None:
    data = several(keys=KEYS)
    expected = persons_of_rows(data, KEYS)
    result = flou.risk.KAnonymity(k=8).measure(flou.Microdata(native(data.to_frame(), engine), data.schema))
    weights = flou.risk.KMap(1, population="weights").measure(
        flou.Microdata(native(data.to_frame(), engine), data.schema)
    )
    assert weights.k == flou.risk.KMap(1, population="weights").measure(data).k
    classes = by_class(data, KEYS)
    by_key = {
        row[:2]: row[3]
        for row in flou.Microdata(result.by_key).frame.to_polars().select(*KEYS, "records", "persons").rows()
    }
    assert by_key == {key: len(held) for key, held in classes.items()}
    assert result.k == min(expected) < max(expected)
    assert result.value == np.mean(np.array(expected) < 8)
    assert result.n_records == 400
    assert "several rows" in str(result.notes[-1])


@pytest.mark.parametrize("seed", range(5))
def test_risks_take_each_person_once_with_his_smallest_weight(seed: int) -> None:
    from flou.risk.micro.benedetti_franconi import expected_inverse

    data = several(seed, keys=KEYS)
    classes = by_class(data, KEYS)
    f = np.array([len(held) for held in classes.values()])
    weights = np.array([sum(min(r["w"] for r in rows) for rows in held.values()) for held in classes.values()])
    risk = dict(zip(classes, expected_inverse(f, weights), strict=True))
    expected = [risk[row["region"], row["sex"]] for row in data.to_frame().iter_rows(named=True)]
    assert np.allclose(flou.risk.IndividualRisk().measure(data).units, expected)
    assert np.isclose(flou.risk.GlobalRisk().measure(data).expected, sum(expected))
    found = flou.risk.AttackerRisk("marketer", population="weights").measure(data).units
    assert np.allclose(found, expected)
    prosecutor = flou.risk.AttackerRisk().measure(data).units
    assert np.allclose(prosecutor, 1 / np.array(persons_of_rows(data, KEYS)))
    assert np.allclose(flou.risk.KMap(2, population="weights").measure(data).units.min(), weights.min())


def test_risks_without_weights_are_one_over_the_persons() -> None:
    data = several(keys=KEYS, weight=None)
    expected = 1 / np.array(persons_of_rows(data, KEYS))
    assert np.allclose(flou.risk.IndividualRisk().measure(data).units, expected)
    result = flou.risk.GlobalRisk().measure(data)
    assert np.isclose(result.expected, expected.sum())
    assert result.interval is None
    assert result.no_interval


def test_a_public_table_is_held_against_persons() -> None:
    data = several(keys=KEYS, weight=None)
    classes = by_class(data, KEYS)
    public = pl.DataFrame(
        [dict(zip(KEYS, k, strict=True)) for k, held in classes.items() for _ in range(2 * len(held))]
    )
    against = flou.Microdata(public, keys=KEYS)
    assert flou.risk.Presence(low=0, high=0.5).measure(data, against=against).highest == 0.5
    assert flou.risk.KMap(1).measure(data, against=against).units.tolist() == [
        2 * n for n in persons_of_rows(data, KEYS)
    ]


def fewest_values(persons: dict[Any, list[dict[str, Any]]], n_null: int = 0) -> int:
    counts = defaultdict(int)
    for rows in persons.values():
        for value in {row["illness"] for row in rows}:
            counts[value] += 1
    total = 0
    for n, count in enumerate(sorted(counts.values(), reverse=True), start=1):
        total += count
        if total >= len(persons):
            return n
    raise AssertionError


@pytest.mark.parametrize("seed", range(5))
def test_l_counts_persons(seed: int) -> None:
    data = several(seed)
    classes = by_class(data, data.schema.keys)
    expected = {key: fewest_values(persons) for key, persons in classes.items()}
    rows = data.to_frame().select(data.schema.keys).rows()
    assert flou.risk.LDiversity(2).measure(data).units.tolist() == [expected[row] for row in rows]


def test_of_any_choice_of_one_value_a_person_none_is_less_diverse() -> None:
    """Entropy and recursive diversity are no more than those of any way to give each person one of his values."""
    rng = np.random.default_rng(3)
    data = several(keys=KEYS)
    classes = by_class(data, KEYS)
    for kind in ("distinct", "entropy", "recursive"):
        measure = flou.risk.LDiversity(2, kind=kind)
        units = measure.measure(data).units
        found = dict(zip(data.to_frame().select(KEYS).rows(), units, strict=True))
        for _ in range(20):
            one = pl.DataFrame(
                [
                    rows[rng.integers(len(rows))] | dict(zip(KEYS, key, strict=True))
                    for key, persons in classes.items()
                    for rows in persons.values()
                ]
            )
            single = flou.Microdata(one, keys=KEYS, sensitive=["illness"])
            chosen = dict(zip(one.select(KEYS).rows(), measure.measure(single).units, strict=True))
            assert all(found[key] <= chosen[key] + 1e-9 for key in chosen)


def test_one_person_with_every_illness_is_not_diverse() -> None:
    frame = pl.DataFrame({"person": [1, 1, 1], "age": [30, 30, 30], "illness": ["flu", "asthma", "none"]})
    data = flou.Microdata(frame, keys=["age"], sensitive=["illness"], id="person", rows_per_person="several")
    for kind in ("distinct", "entropy", "recursive"):
        assert flou.risk.LDiversity(2, kind=kind).measure(data).value == 1.0
    assert flou.risk.KAnonymity(k=1).measure(data).k == 1
    with pytest.raises(flou.FlouError, match="larger than the file: it has 1 persons"):
        flou.risk.KAnonymity(k=2).measure(data)


def test_exact_amounts_are_alone_by_person() -> None:
    data = several(sensitive=["income"])
    holders = defaultdict(set)
    rows = data.to_frame()
    for person, amount in rows.select("person", "spending").rows():
        holders[amount].add(person)
    alone = sum(len(holders[amount]) == 1 for amount in rows["spending"])
    line = next(line for line in flou.risk.AttackMap().measure(data).lines if line.attack.name == "amounts")
    assert 0 < alone == pytest.approx(line.share * 400)
    assert alone >= sum(rows["spending"].is_unique())
    assert line.measure == "values that one person alone has: spending"


def test_dropped_records_leave_k_persons() -> None:
    data = several(keys=KEYS)
    release = flou.Plan([flou.protect.DropRecords(flou.risk.KAnonymity(k=12))]).protect(data, secret=SECRET)
    left = persons_of_rows(release.data, KEYS)
    assert 0 < len(left) < 400
    assert min(left) >= 12
    assert "several rows of one person is not covered" in str(release.guarantees[0])


@pytest.mark.parametrize("name", sorted(COUNT_NOBODY))
def test_what_counts_nobody_works(name: str) -> None:
    methods = [flou.protect.Recode("age", level=1)] if name == "recode" else EXAMPLES[name]
    for method in methods:
        found = put(method)
        assert found.figures if isinstance(method, Utility) else found.guarantees


def test_what_cannot_be_counted_by_persons_is_refused() -> None:
    gaps = several().to_frame().with_columns(pl.when(pl.col("age") > 25).then("age"))
    data = flou.Microdata(gaps, several().schema)
    assert flou.risk.KAnonymity(k=3).measure(data).sense == "category"
    with pytest.raises(flou.FlouError, match="would count twice with missing = 'pessimistic'"):
        flou.risk.KAnonymity(k=3, missing="pessimistic").measure(data)
    with pytest.raises(flou.FlouError, match="would count twice"):
        flou.risk.IndividualRisk(missing="orthodox").measure(data)
    with pytest.raises(flou.FlouError, match="takes each record for a person"):
        flou.risk.KAnonymity(k=3, subsets=2).measure(several())
    with pytest.raises(flou.FlouError, match="takes each record for a person"):
        flou.risk.LDiversity(2, groups={"flu": "lungs"}).measure(several())
    with pytest.raises(flou.FlouError, match="takes each record for a person"):
        several().tabulate(["region"])
    with pytest.raises(flou.FlouError, match="takes each record for a person"):
        flou.record_keys(several(), secret=SECRET)
    with pytest.raises(flou.FlouError, match="takes each record for a person"):
        several().unit_ids()


def test_what_is_published_has_no_ids_and_cannot_be_measured() -> None:
    release = flou.protect.Recode("age", level=1).protect(several(), secret=SECRET)
    assert flou.risk.KAnonymity(k=2).measure(release).k >= 1
    with pytest.raises(flou.FlouError, match="the ids by which they are counted are gone"):
        flou.risk.KAnonymity(k=2).measure(release.data.public())
