"""The data and the examples that the contract tests run every registered method on.

A new method adds one line to `EXAMPLES`; every check then runs on it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from typing import Any

import jsonschema
import numpy as np
import polars as pl
import pytest
from tests.depth import DEEP

import flou
from flou.engine.measure import RiskMeasure
from flou.engine.method import Method
from flou.engine.plan_schema import plan_schema
from flou.engine.result import RiskResult
from flou.engine.sense import MISSING

KEYS = ["region", "sex", "age"]
#: Tests on Spark run in one process, so that they share one session.
SPARK = pytest.param("spark", marks=pytest.mark.xdist_group("spark"))


def crossed(examples: list[Any], engines: Sequence[Any]) -> list[Any]:
    """Examples with engines: all of them on Polars; on another engine, every day, the first example of each method.

    An engine treats all parameters alike: rows come in and go out in one place each.
    """
    out = []
    for example in examples:
        for engine in engines:
            name, marks = (engine, ()) if isinstance(engine, str) else (engine.values[0], engine.marks)
            if DEEP or name == "polars" or re.search(r"-0($|-)", example.id):
                out.append(pytest.param(*example.values, name, id=f"{example.id}-{name}", marks=marks))
    return out


_K = flou.risk.KAnonymity
_ONES = {"A": "north", "B": "north", "C": "south", "É": "south"}

#: Method name → parameter settings worth checking.
EXAMPLES: dict[str, list[Method]] = {
    "k_anonymity": [*(_K(k=3, missing=m) for m in MISSING), _K(k=2, by="sex"), _K(k=3, subsets=2)],
    "individual_risk": [flou.risk.IndividualRisk(threshold=0.05, missing=m) for m in MISSING],
    "household_risk": [flou.risk.HouseholdRisk(), flou.risk.HouseholdRisk(threshold=0.5, missing="category")],
    "global_risk": [flou.risk.GlobalRisk(), flou.risk.GlobalRisk(k=2, missing="category")],
    "poisson_risk": [
        flou.risk.PoissonRisk(),
        flou.risk.PoissonRisk("region * sex + age", sampling_fraction=0.2),
        flou.risk.PoissonRisk("search"),
    ],
    "population_uniqueness": [flou.risk.PopulationUniqueness(m) for m in ("dankar", "zayatz")],
    "attacker_risk": [
        flou.risk.AttackerRisk(),
        flou.risk.AttackerRisk("journalist"),
        flou.risk.AttackerRisk("marketer", population="weights"),
    ],
    "k_map": [flou.risk.KMap(10), flou.risk.KMap(10, population="weights")],
    "suda": [flou.risk.Suda(), flou.risk.Suda(2, sampling_fraction=0.1)],
    "l_diversity": [
        flou.risk.LDiversity(2),
        flou.risk.LDiversity(1.5, kind="entropy", missing="category"),
        flou.risk.LDiversity(2, kind="recursive", c=3, sensitive=["illness", "income"]),
        flou.risk.LDiversity(2, groups={"flu": "lungs", "asthma": "lungs"}),
    ],
    "t_closeness": [
        flou.risk.TCloseness(0.4),
        flou.risk.TCloseness(0.2, distance="ordered", sensitive=["income"]),
        flou.risk.TCloseness(0.2, sensitive=["illness", "income"]),
    ],
    "disclosure_delta": [flou.risk.DisclosureDelta(1.0)],
    "beta_likeness": [flou.risk.BetaLikeness(2), flou.risk.BetaLikeness(1.5, kind="basic")],
    "presence": [flou.risk.Presence(low=0.0, high=0.8)],
    "interval_risk": [
        flou.risk.IntervalRisk(0.3, columns="income"),
        flou.risk.IntervalRisk(robust=True, match="any", sd="masked", columns=["income", "spending"]),
    ],
    "outlier_risk": [flou.risk.OutlierRisk(), flou.risk.OutlierRisk(0.9, robust=True, tails="upper")],
    "attack_map": [flou.risk.AttackMap(), flou.risk.AttackMap(k=2, groups={"flu": "lungs", "asthma": "lungs"})],
    "recode": [
        flou.protect.Recode("age", level=1),
        flou.protect.Recode("age", level="decade"),
        flou.protect.Recode("region", mapping=_ONES),
    ],
    "top_code": [flou.protect.TopCode("income", at=2000), flou.protect.TopCode("income", quantile=0.9)],
    "bottom_code": [flou.protect.BottomCode("income", at=500, replacement=0), flou.protect.BottomCode("age", at=25)],
    "generalise": [
        flou.protect.Generalise(k=3, no_hierarchy="suppress"),
        flou.protect.Generalise(
            k=2, models=[flou.risk.LDiversity(2)], quality="precision", suppression_limit=0.3, no_hierarchy="suppress"
        ),
        flou.protect.Generalise([flou.risk.TCloseness(0.3)], importance={"age": 2}, no_hierarchy="suppress"),
    ],
    "local_recode": [
        flou.protect.LocalRecode(k=3, no_hierarchy="suppress"),
        flou.protect.LocalRecode([flou.risk.LDiversity(2)], k=2, no_hierarchy="suppress"),
    ],
    "microaggregation": [
        flou.protect.Microaggregation(["income", "spending"]),
        flou.protect.Microaggregation(["income", "age"], partition="univariate", by="sex"),
        flou.protect.Microaggregation(["illness", "age"], group_size=4, show="mode"),
        flou.protect.Microaggregation(["spending", "age"], by="illness", show="median", improve="none"),
    ],
    "mondrian": [flou.protect.Mondrian(k=3), flou.protect.Mondrian([flou.risk.LDiversity(2)], importance={"age": 3})],
    "datafly": [
        flou.protect.Datafly(3, no_hierarchy="suppress"),
        flou.protect.Datafly(2, suppression_limit=0.2, no_hierarchy="suppress"),
    ],
    "samarati": [
        flou.protect.Samarati(k=3, no_hierarchy="suppress"),
        flou.protect.Samarati([flou.risk.LDiversity(2)], quality="precision", no_hierarchy="suppress"),
    ],
    "local_suppression": [
        flou.protect.LocalSuppression(k=3, search="quick"),
        flou.protect.LocalSuppression(k=2, by="illness", importance={"age": 0.5}, search="quick"),
        flou.protect.LocalSuppression(k=3, subsets=2, search="quick"),
        flou.protect.LocalSuppression(k=3, subsets=[["region", "age"], ["sex", "age"]], search="quick"),
        flou.protect.LocalSuppression(max_risk=0.1, search="quick"),
        flou.protect.LocalSuppression(k=3, sense="orthodox"),
    ],
    "interval_blur": [
        flou.protect.IntervalBlur("income", classes=6),
        flou.protect.IntervalBlur("spending", given=["income", "sex"], classes=5, saturated=900, unit=0.5),
        flou.protect.IntervalBlur("age", scale="identity", breaks=[20, 25, 30, 35, 40], given=["region"]),
    ],
    "derive": [
        flou.protect.Derive(["spending = 2 * age", "rest = max(income - spending, 0)"], unit=5),
        flou.protect.Derive(
            ["spending = original.spending / original.income * age * 40", "income = age * 30"], unit=1, at_most=2000
        ),
    ],
    "random_code": [flou.protect.RandomCode("region", min_size=45)],
    "sample": [flou.protect.Sample(share=0.4, by=["region", "sex"]), flou.protect.Sample(share=0.5)],
    "calibrate_weights": [
        flou.protect.CalibrateWeights({"sex": {"F": 520, "M": 430, "null": 60}}),
        flou.protect.CalibrateWeights(
            {"sex": {"F": 520, "M": 430, "null": 60}, "illness": {"flu": 350, "asthma": 320, "none": 340}},
            totals={"income": 1_500_000},
            distance="logit",
            bounds=[0.4, 2.5],
        ),
        flou.protect.CalibrateWeights(
            {"region": {"A": 500, "B": 300, "C": 120, "É": 50, "null": 40}},
            totals={"spending": 480_000.5},
            distance="linear",
            weight="w",
            digits=6,
        ),
    ],
    "additive_noise": [
        flou.protect.AdditiveNoise("income"),
        flou.protect.AdditiveNoise(["income", "spending"], share=0.3, kind="correlated", unit=0.05),
        flou.protect.AdditiveNoise(["age", "income"], share=0.5, by="sex"),
        flou.protect.AdditiveNoise("income", at_least=0, unit=1),
    ],
    "multiplicative_noise": [
        flou.protect.MultiplicativeNoise(["income", "spending"]),
        flou.protect.MultiplicativeNoise(["age", "income"], share=0.2, unit=1),
    ],
    "pram": [
        flou.protect.Pram("region"),
        flou.protect.Pram("age", stay=0.6),
        flou.protect.Pram("illness", by=["sex"]),
        flou.protect.Pram("sex", matrix={"F": {"F": 0.7, "M": 0.3}, "M": {"F": 0.2, "M": 0.8}}),
    ],
    "random_swap": [
        flou.protect.RandomSwap(["income", "illness"], share=0.2, by="sex"),
        flou.protect.RandomSwap("region", share=0.3),
    ],
    "rank_swap": [
        flou.protect.RankSwap(["income", "age"], reach=0.1),
        flou.protect.RankSwap("spending", by=["sex", "illness"]),
    ],
    "round": [flou.protect.Round(["income", "w"], unit=0.05), flou.protect.Round("age", unit=5)],
    "drop_identifiers": [flou.protect.DropIdentifiers()],
    "drop_records": [
        flou.protect.DropRecords(_K(k=2, missing="category")),
        flou.protect.DropRecords(_K(k=2), max_share=0.9),
    ],
    "summary": [
        flou.utility.Summary(),
        flou.utility.Summary(
            ["income", "age", "illness"], by=["sex", "income"], classes=3, tolerance_units={"income": 50}
        ),
    ],
    "correlations": [flou.utility.Correlations(), flou.utility.Correlations(["income", "age", "illness"])],
    "regression": [
        flou.utility.Regression("income", on=["sex", "age"]),
        flou.utility.Regression(
            "income", on=["illness", "age"], scale="log", classes={"age": [25, 30]}, by="sex", level=0.9
        ),
        flou.utility.Regression("age", on=["illness", "income"], classes={"income": 3, "illness": "values"}),
    ],
    "coherence": [flou.utility.Coherence("income"), flou.utility.Coherence("age", by=["sex", "income"], bins=5)],
}

#: One wrong call a method: parameters that must be refused when the object is made.
BAD_PARAMETERS: dict[str, list[dict[str, Any]]] = {
    "k_anonymity": [
        {"k": 0},
        {"k": "3"},
        {"k": True},
        {"k": 2.5},
        {"k": 3, "missing": "x"},
        {"k": 3, "kk": 1},
        {"k": 3, "subsets": 0},
    ],
    "individual_risk": [{"threshold": 1.5}, {"missing": "x"}],
    "household_risk": [{"threshold": -0.1}],
    "global_risk": [{"k": 0}, {"k": 2.5}],
    "poisson_risk": [{"sampling_fraction": 0.0}, {"sampling_fraction": 1.5}, {"formula": 3}],
    "population_uniqueness": [{"model": "mu"}, {"sampling_fraction": -1.0}],
    "attacker_risk": [{"attacker": "spy"}, {"threshold": 2.0}],
    "k_map": [{}, {"k": 0}],
    "suda": [{"max_size": 0}, {"sampling_fraction": 1.01}],
    "l_diversity": [{}, {"l": 0}, {"l": 2.5}, {"l": 2, "c": 0}, {"l": 2, "groups": {"a": "b"}, "level": 1}],
    "t_closeness": [{}, {"t": 1.5}, {"t": 0.5, "distance": "far"}],
    "disclosure_delta": [{}, {"delta": 0}],
    "beta_likeness": [{}, {"beta": -1}, {"beta": 1, "kind": "x"}],
    "presence": [{}, {"low": 0.5}, {"low": 0.5, "high": 0.1}],
    "interval_risk": [{"width": 0.0}, {"sd": "mine"}, {"columns": []}],
    "outlier_risk": [{"quantile": 0.4}, {"quantile": 1.0}, {"tails": "left"}],
    "attack_map": [{"k": 0}, {"l": 1.5}, {"t": 2.0}],
    "recode": [{"column": "age"}, {"column": "age", "level": 1, "mapping": {}}, {"column": "age", "level": 0}],
    "top_code": [{"column": "a"}, {"column": "a", "at": 1, "quantile": 0.5}, {"column": "a", "quantile": 1.0}],
    "bottom_code": [{"column": "a", "at": "x"}, {"column": "a", "at": 5, "replacement": 6}],
    "generalise": [
        {},
        {"k": 0},
        {"k": 3, "suppression_limit": 1.2},
        {"k": 3, "quality": "nice"},
        {"k": 3, "importance": {"age": -1}},
        {"models": [_K(k=2)], "max_nodes": 0},
        {"models": [flou.risk.Presence(low=0.0, high=0.8)]},
    ],
    "local_recode": [{}, {"k": 2.5}, {"k": 3, "importance": {"age": "much"}}],
    "microaggregation": [
        {},
        {"columns": []},
        {"columns": "income", "group_size": 1},
        {"columns": "income", "by": ["income"]},
        {"columns": "income", "show": "maximum"},
    ],
    "mondrian": [{}, {"k": "3"}],
    "datafly": [{}, {"k": 0}, {"k": 2, "suppression_limit": -0.1}],
    "samarati": [{}, {"k": 2, "quality": "nice"}],
    "local_suppression": [
        {},
        {"k": 0},
        {"k": 3, "sense": "optimistic"},
        {"max_risk": 1.0},
        {"k": 3, "subsets": 0},
        {"k": 3, "sense": "orthodox", "by": "sex"},
        {"k": 3, "importance": {"age": 0}},
    ],
    "interval_blur": [
        {},
        {"column": "a", "classes": 1},
        {"column": "a", "breaks": [3, 2, 5]},
        {"column": "a", "breaks": [-1, 2, 5]},
        {"column": "a", "given": ["a"]},
        {"column": "a", "top": "open"},
        {"column": "a", "unit": 0},
    ],
    "derive": [
        {},
        {"rules": []},
        {"rules": ["a = b +"]},
        {"rules": ["a = original.b"]},
        {"rules": ["a = min(original.b / original.c * c, original.d / original.c * c)"]},
        {"rules": ["a = b", "a = c"]},
        {"rules": ["a = b"], "at_least": 2, "at_most": 1},
        {"rules": ["a = import(b)"]},
    ],
    "random_code": [{}, {"column": "a", "min_size": 0}, {"column": "a", "min_areas": 2}, {"column": "a", "prefix": ""}],
    "sample": [{"share": 1.0}, {"share": 0}, {"by": 3}],
    "calibrate_weights": [
        {},
        {"margins": {"a": {"x": -1, "y": 2}}},
        {"margins": {"a": {"x": 1}, "b": {"y": 2}}},
        {"margins": {"a": {"x": "many"}}},
        {"margins": {"a": 3}},
        {"margins": {"a": {"x": 1}}, "totals": {"a": 2}},
        {"frame": ["a"], "weight": "a"},
        {"frame": ["a"], "distance": "logit"},
        {"frame": ["a"], "bounds": [0.5, 2.0]},
        {"frame": ["a"], "distance": "logit", "bounds": [1.5, 2.0]},
        {"frame": ["a"], "distance": "chi"},
        {"frame": ["a"], "min_count": 0},
        {"frame": ["a"], "digits": 2},
    ],
    "additive_noise": [
        {},
        {"columns": []},
        {"columns": "a", "share": 0.0},
        {"columns": "a", "kind": "correlated"},
        {"columns": ["a", "b"], "kind": "partly"},
        {"columns": "a", "unit": 0},
        {"columns": "a", "at_least": 5, "at_most": 5},
    ],
    "multiplicative_noise": [{}, {"columns": "a", "share": 1.5}, {"columns": "a", "unit": -1}],
    "pram": [
        {},
        {"column": "a", "stay": 1.0},
        {"column": "a", "stay": 0.4},
        {"column": "a", "matrix": {}},
        {"column": "a", "matrix": {"x": {"x": 0.5, "y": 0.4}}},
        {"column": "a", "matrix": {"x": {"x": 1.5, "y": -0.5}}},
        {"column": "a", "matrix": {"x": {"x": 1.0}}},
        {"column": "a", "matrix": {"x": {"y": 1.0}}, "by": "b"},
        {"column": "a", "matrix": {"x": {"y": 1.0}}, "stay": 0.8},
    ],
    "random_swap": [{}, {"columns": "a", "share": 0.0}, {"columns": ["a", "a"]}],
    "rank_swap": [{}, {"columns": "a", "reach": 1.5}],
    "round": [{}, {"columns": "a"}, {"columns": "a", "unit": 0}, {"columns": "a", "unit": 0.3333333333333333}],
    "drop_identifiers": [{"columns": ["a"]}],
    "drop_records": [{}, {"measure": 3}, {"measure": _K(k=2), "max_share": 1.5}],
    "summary": [
        {"columns": []},
        {"classes": 1},
        {"tolerance": -0.1},
        {"tolerance_units": {"income": "few"}},
        {"by": ["a", "a"]},
    ],
    "correlations": [{"columns": []}, {"columns": ["a", "a"]}],
    "regression": [
        {},
        {"outcome": "a"},
        {"outcome": "a", "on": ["a"]},
        {"outcome": "a", "on": "b", "scale": "square"},
        {"outcome": "a", "on": "b", "level": 1.0},
        {"outcome": "a", "on": "b", "classes": {"c": 3}},
        {"outcome": "a", "on": "b", "classes": {"b": 1}},
        {"outcome": "a", "on": "b", "classes": {"b": [3, 2]}},
        {"outcome": "a", "on": "b", "classes": {"b": "quartiles"}},
    ],
    "coherence": [{}, {"column": "a", "bins": 1}, {"column": "a", "panels": 0}],
}


def rows(n: int = 200, seed: int = 5) -> pl.DataFrame:
    """A small file with every role, undetermined values, accents and a not-applicable code."""
    rng = np.random.default_rng(seed)
    region = rng.choice(["A", "B", "C", "É"], n, p=[0.5, 0.3, 0.15, 0.05])
    frame = pl.DataFrame(
        {
            "pid": rng.permutation(n) + 1000,
            "name": [f"person {i}" for i in range(n)],
            "hid": rng.integers(0, n // 2, n),
            "region": region,
            "sex": rng.choice(["F", "M"], n),
            "age": rng.integers(20, 40, n),
            "income": np.round(np.exp(rng.normal(7, 0.8, n)), 2),
            "spending": np.round(np.exp(rng.normal(6, 0.5, n)), 2),
            "illness": rng.choice(["flu", "asthma", "none"], n),
            "w": np.round(rng.uniform(1, 9, n), 3),
        }
    )
    holes = [pl.when(pl.Series(rng.random(n) >= 0.06)).then(pl.col(c)).alias(c) for c in KEYS]
    return frame.with_columns(holes)


ROLES: dict[str, Any] = {
    "id": "pid",
    "identifiers": ["name"],
    "household": "hid",
    "keys": KEYS,
    "sensitive": ["illness"],
    "others": ["income", "spending"],
    "weight": "w",
    "hierarchies": {"age": flou.Hierarchy.bands(5, 10, names=["five", "decade"])},
    "modalities": {"sex": ["F", "M"]},
}


def pandas_of(frame: pl.DataFrame) -> Any:
    """The rows in pandas, whole numbers with gaps as its Int64: without it they are floats, and stay so."""
    import pandas as pd

    gaps = [c for c, t in frame.schema.items() if t.is_integer() and frame[c].null_count()]
    return frame.to_pandas().assign(**{c: pd.array(frame[c].to_list(), dtype="Int64") for c in gaps})


def native(frame: pl.DataFrame, engine: str) -> object:
    """The rows in the type of an engine."""
    if engine == "polars":
        return frame
    if engine == "polars-lazy":
        return frame.lazy()
    if engine == "pandas":
        return pandas_of(frame)
    if engine == "pyarrow":
        return frame.to_arrow()
    if engine == "spark":
        from flou.engine.native import spark

        return spark.session("spark").createDataFrame(frame.to_arrow())
    assert engine == "duckdb"
    import duckdb

    connection = duckdb.connect()
    return connection.from_arrow(frame.to_arrow())


def people(engine: str = "polars", frame: pl.DataFrame | None = None) -> flou.Microdata:
    return flou.Microdata(native(rows() if frame is None else frame, engine), **ROLES)


def measured(
    method: RiskMeasure,
    data: Any,
    engine: str = "polars",
    frame: pl.DataFrame | None = None,
    *,
    as_release: bool = False,
) -> RiskResult:
    """Measure, beside what the method compares with: the file itself stands for its original or a public table."""
    against = None
    if method.compares_with == "original" and method.needs_against:
        against = people(engine, frame)
    elif method.needs_against:
        data = against = data.data if isinstance(data, flou.Release) else data
    return method.measure(data, against=against, as_release=as_release)


def published(release: flou.Release) -> pl.DataFrame:
    """What would be published, as one comparable frame, whatever the engine."""
    out = release.data.to_frame()
    if isinstance(out, pl.LazyFrame):
        out = out.collect()
    elif not isinstance(out, pl.DataFrame):
        out = flou.Microdata(out).frame
        out = out.collect("polars").to_polars() if hasattr(out, "collect") else out.to_polars()
    integers = [c for c, t in out.schema.items() if t.is_integer()]
    out = out.with_columns(pl.col(integers).cast(pl.Int64), pl.col(pl.Categorical, pl.Enum).cast(pl.String))
    # pandas has no gaps in whole numbers: there a float that holds nothing else is one
    whole = [c for c, t in out.schema.items() if t.is_float() and (out[c] == out[c].round()).all()]
    return out.with_columns(pl.col(whole).cast(pl.Int64)).sort(out.columns, nulls_last=True)


@cache
def plan_validator() -> Any:
    """Checks plan files against their JSON Schema."""
    return jsonschema.validators.validator_for(plan_schema())(plan_schema())
