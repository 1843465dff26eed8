"""What risk measures refuse: one paragraph that says what is wrong and what to do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl
import pytest

import flou
from flou.engine.errors import NotConvergedError
from flou.risk.micro import log_linear

R = flou.risk
FRAME = pl.DataFrame(
    {
        "pid": range(8),
        "hid": [1, 1, 2, 2, 3, 3, 4, 4],
        "area": ["n", "n", "n", "n", "s", "s", "s", "s"],
        "sex": ["f", "m"] * 4,
        "age": [1, 2, 3, 4, 1, 2, 3, 4],
        "illness": ["flu", "flu", "asthma", "flu", "none", "none", "flu", "asthma"],
        "band": [1, 2, 3, 4, 5, 6, 7, None],
        "income": [10.0, 12.5, 13.0, 18.0, 20.0, 22.0, 25.0, 40.0],
        "same": [1.0] * 8,
        "w": [2.0, 3.0, 2.5, 4.0, 2.0, 2.0, 3.0, 5.0],
    }
)


def people(frame: pl.DataFrame = FRAME, **roles: Any) -> flou.Microdata:
    return flou.Microdata(frame, **{"keys": ["sex", "age"], "sensitive": ["illness"], **roles})


def weights(*values: float | None) -> flou.Microdata:
    return people(FRAME.with_columns(w=pl.Series(values, dtype=pl.Float64)), weight="w")


def small(column: str, values: list[Any]) -> flou.Microdata:
    return people(FRAME.with_columns(pl.Series(column, values, strict=False)))


CASES: dict[str, tuple[Callable[[], object], str]] = {
    "weights below 1": (
        lambda: R.IndividualRisk().measure(weights(0.5, 0.9, *[2.0] * 6)),
        "below 1 in 2 records",
    ),
    "household risk with weights below 1": (
        lambda: R.HouseholdRisk().measure(
            people(FRAME.with_columns(w=pl.lit(0.2)), weight="w", household="hid"),
        ),
        "below 1 in 8 records",
    ),
    "weights below 1 for a sampling fraction": (
        lambda: R.PoissonRisk().measure(weights(0.5, *[2.0] * 7)),
        "below 1 in 1 records",
    ),
    "missing weights": (lambda: weights(None, *[2.0] * 7), "null in 1 records"),
    "no keys": (lambda: R.IndividualRisk().measure(people(keys=[])), "No keys are declared"),
    "no household": (lambda: R.HouseholdRisk().measure(people()), "No household is declared"),
    "households split over strata": (
        lambda: R.HouseholdRisk().measure(
            people(FRAME.with_columns(hid=pl.Series([1, 2, 3, 4] * 2)), household="hid", strata=["area"])
        ),
        "4 households are split over the strata of 'area'",
    ),
    "null households": (
        lambda: R.HouseholdRisk().measure(
            people(FRAME.with_columns(hid=pl.Series([1, 1, 2, 2, 3, 3, None, None])), household="hid")
        ),
        "null in 2 records",
    ),
    "no sensitive column": (lambda: R.LDiversity(2).measure(people(sensitive=[])), "No sensitive column"),
    "a sensitive column that is a key": (
        lambda: R.LDiversity(2, sensitive="sex").measure(people()),
        "'sex' is both key and sensitive",
    ),
    "t-closeness of a key": (lambda: R.TCloseness(0.2, sensitive=["age"]).measure(people()), "both key and sensitive"),
    "a sensitive column that is not there": (
        lambda: R.LDiversity(2, sensitive="ilness").measure(people()),
        "Did you mean 'illness'",
    ),
    "groups of values nobody has": (
        lambda: R.LDiversity(2, groups={"gout": "x"}).measure(people()),
        "'gout', which 'illness' never holds",
    ),
    "groups for two columns": (
        lambda: R.LDiversity(2, groups={"flu": "x"}, sensitive=["illness", "band"]).measure(people()),
        "values of one sensitive column",
    ),
    "a level without a hierarchy": (lambda: R.LDiversity(2, level=1).measure(people()), "needs a hierarchy"),
    "hierarchical distance without a hierarchy": (
        lambda: R.TCloseness(0.2, distance="hierarchical").measure(people()),
        "needs a hierarchy of 'illness'",
    ),
    "ordered distance of undetermined values": (
        lambda: R.TCloseness(0.2, distance="ordered", sensitive="band").measure(people()),
        "undetermined in 1 records",
    ),
    "sampling fraction of 0": (lambda: R.Suda(sampling_fraction=0.0), "sampling_fraction = 0.0"),
    "sampling fraction above 1": (lambda: R.PoissonRisk(sampling_fraction=1.2), "sampling_fraction = 1.2"),
    "sampling fraction below 0": (lambda: R.PopulationUniqueness(sampling_fraction=-0.1), "sampling_fraction"),
    "uniques larger than the keys": (lambda: R.Suda(3).measure(people()), "there are 2"),
    "a formula with an unknown key": (lambda: R.PoissonRisk("sex + aeg").measure(people()), "Did you mean 'age'"),
    "a formula with a hole": (lambda: R.PoissonRisk("sex + + age").measure(people()), "empty term"),
    "presence without a table": (lambda: R.Presence(low=0, high=0.5).measure(people()), "against=table"),
    "k-map by weights that are not there": (
        lambda: R.KMap(3, population="weights").measure(people()),
        "needs the role weight",
    ),
    "k-map without a table": (lambda: R.KMap(3).measure(people()), "against=table"),
    "a public table without somebody": (
        lambda: R.KMap(3).measure(people(), against=people(pl.concat([FRAME.filter(pl.col("age") < 4)] * 2))),
        "does not contain the file: 1 keys",
    ),
    "presence in a table without somebody": (
        lambda: R.Presence(low=0, high=0.5).measure(
            people(), against=people(pl.concat([FRAME.filter(pl.col("age") < 3)] * 3))
        ),
        "does not contain the file: 2 keys",
    ),
    "a public table without a key": (
        lambda: R.KMap(3).measure(people(), against=people(FRAME.drop("age"), keys=["sex"])),
        "'age', which the data do not have",
    ),
    "a public table of other values": (
        lambda: R.KMap(3).measure(people(), against=people(FRAME.with_columns(age=pl.lit("old")))),
        "does not contain the file",
    ),
    "interval risk without the original": (lambda: R.IntervalRisk().measure(people()), "against=original"),
    "interval risk of a constant column": (
        lambda: R.IntervalRisk(columns="same", pair="row").measure(people(), against=people()),
        "one value only in 'same'",
    ),
    "outliers of a constant column": (lambda: R.OutlierRisk(columns=["same"]).measure(people()), "one value only"),
    "infinite amounts": (
        lambda: R.OutlierRisk(columns="income").measure(
            people(FRAME.with_columns(income=pl.Series([float("inf"), *range(7)])))
        ),
        "infinite values",
    ),
    "amounts that nobody has": (
        lambda: R.OutlierRisk(columns="income").measure(people(FRAME.with_columns(income=pl.lit(None, pl.Float64)))),
        "no value in any record",
    ),
    "an original with text for amounts": (
        lambda: R.IntervalRisk(columns="income").measure(
            people(), against=people(FRAME.with_columns(pl.col("income").cast(pl.String)))
        ),
        "holds no numbers in 'income'",
    ),
    "an original without the sensitive column": (
        lambda: R.TCloseness(0.2).measure(people(), against=people(FRAME.drop("illness"), sensitive=[])),
        "'illness', which the data do not have",
    ),
    "an assessment of a column that is not there": (
        lambda: R.AttackMap(sensitive="ilness").measure(people()),
        "Did you mean 'illness'",
    ),
    "order among codes that are not applicable": (
        lambda: R.TCloseness(0.2, distance="ordered", sensitive="age2").measure(
            people(FRAME.with_columns(age2=pl.col("age")), sensitive=["age2"], not_applicable={"age2": [4]})
        ),
        "no place in an order",
    ),
    "interval risk of text": (
        lambda: R.IntervalRisk(columns="illness").measure(people(), against=people()),
        "holds no numbers",
    ),
    "files of different length without an id": (
        lambda: R.IntervalRisk(columns="income", pair="row").measure(people(FRAME.head(7)), against=people()),
        "7 records and the original 8",
    ),
    "files without an id": (
        lambda: R.IntervalRisk(columns="income").measure(people(), against=people()),
        "Declare the role id in both",
    ),
    "a public table with fewer people": (
        lambda: R.KMap(2).measure(people(), against=people(FRAME.head(3))),
        "it has 3 people, and the file 8 records",
    ),
    "order among texts": (
        lambda: R.TCloseness(0.2, distance="ordered").measure(people()),
        "declare its modalities in their order",
    ),
    "an original of other types": (
        lambda: R.TCloseness(0.2, sensitive="band").measure(
            people(), against=people(FRAME.with_columns(pl.col("band").cast(pl.String)))
        ),
        "cannot be compared",
    ),
    "drop by an assessment": (lambda: flou.protect.DropRecords(R.AttackMap()), "flags files, not records"),
    "drop by a quantile": (lambda: flou.protect.DropRecords(R.OutlierRisk()), "always has records beyond it"),
    "drop by a public table": (lambda: flou.protect.DropRecords(R.KMap(3)), "against a public table"),
    "drop by a comparison": (lambda: flou.protect.DropRecords(R.IntervalRisk()), "with its original"),
    "an original without the people": (
        lambda: R.IntervalRisk(columns="income").measure(people(id="pid"), against=people(FRAME.head(7), id="pid")),
        "1 records of the file are not in the original",
    ),
    "an id in one file alone": (
        lambda: R.IntervalRisk(columns="income").measure(people(id="pid"), against=people()),
        "both declare the role id",
    ),
    "no continuous column": (
        lambda: R.OutlierRisk().measure(people(FRAME.select("sex", "illness"), keys=["sex"])),
        "no continuous column",
    ),
    "columns that depend on each other": (
        lambda: R.OutlierRisk(robust=True, columns=["income", "twice"]).measure(
            people(FRAME.with_columns(twice=pl.col("income") * 2))
        ),
        "computed from the others",
    ),
    "against where it means nothing": (
        lambda: R.IndividualRisk().measure(people(), against=people()),
        "does not take against",
    ),
}


@pytest.mark.parametrize("case", list(CASES))
def test_refused(case: str) -> None:
    act, word = CASES[case]
    with pytest.raises(flou.FlouError) as caught:
        act()
    message = str(caught.value)
    assert word in message
    assert message.endswith((".", "?")) or "\n" in message


def test_a_model_that_does_not_converge_gives_its_last_deviance_and_nothing_else(monkeypatch: Any) -> None:
    monkeypatch.setattr(log_linear, "MAX_CYCLES", 2)
    rng = np.random.default_rng(1)
    frame = pl.DataFrame({c: rng.integers(0, 4, 300) for c in "abc"})
    data = flou.Microdata(frame, keys=["a", "b", "c"])
    with pytest.raises(NotConvergedError, match=r"did not converge: after 2 cycles .* deviance is [\d.,]+"):
        R.PoissonRisk("a*b + b*c + a*c", sampling_fraction=0.1).measure(data)


def test_pitmans_model_without_a_maximum_is_refused_and_dankars_rule_goes_on() -> None:
    data = flou.Microdata(pl.DataFrame({"a": range(50)}), keys=["a"])
    with pytest.raises(NotConvergedError, match="no estimate"):
        R.PopulationUniqueness("pitman", sampling_fraction=0.05).measure(data)
    assert R.PopulationUniqueness(sampling_fraction=0.05).measure(data).model == "zayatz"


def test_a_constant_key_or_sensitive_column_is_measured_and_said() -> None:
    data = small("illness", ["flu"] * 8)
    found = R.LDiversity(2).measure(data)
    assert found.value == 1
    assert "single value" in str(found.notes[0])
    assert R.TCloseness(0.1).measure(data).value == 0
    assert R.IndividualRisk().measure(small("sex", ["f"] * 8)).value == 1
