"""The tables and the examples that the contract tests run every registered method of tables on.

A new method adds one line to `EXAMPLES` and one to `BAD_PARAMETERS`; every check of its stage then runs on it.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import polars as pl
from tests.contracts.cases import ROLES, native, rows

import flou
from flou.engine.method import Method

SECRET = flou.Secret(bytes(range(32)))
#: Nulls are categories of their own here.
TABLE_ROLES: dict[str, Any] = {**ROLES, "undetermined": {"region": ["?"], "sex": ["?"], "age": [-1]}}

#: A transition matrix that an office made elsewhere: counts of 1 and 2 go to 0 or 3, larger ones move by one at most.
_OFFICE = flou.TransitionMatrix.from_ptable(
    pl.DataFrame(
        [(0, 0, 1.0), (1, 0, 2 / 3), (1, 3, 1 / 3), (2, 0, 1 / 3), (2, 3, 2 / 3), (3, 3, 1.0), (4, 3, 0.3), (4, 4, 0.4),
         (4, 5, 0.3)], schema=["i", "j", "p"], orient="row",
    )
)  # fmt: skip

#: Method name → parameter settings worth checking.
EXAMPLES: dict[str, list[Method]] = {
    "cell_key": [
        flou.protect.CellKey(D=5, V=3, js=2),
        flou.protect.CellKey(D=3, V=1.5, stack=(6, 4.0)),
        flou.protect.CellKey(D=5, V=3, js=2, additive="repair"),
        flou.protect.CellKey(matrix=_OFFICE),
    ],
    "rounding": [flou.protect.Rounding(5), flou.protect.Rounding(4, additive="controlled")],
    "random_rounding": [flou.protect.RandomRounding(5), flou.protect.RandomRounding(3, additive="controlled")],
    "noisy_counts": [
        flou.protect.NoisyCounts(epsilon=1.0),
        flou.protect.NoisyCounts(epsilon=0.5, delta=1e-6),
        flou.protect.NoisyCounts(epsilon=2.0, additive="repair"),
    ],
    "count_inference": [
        flou.risk.CountInference(5),
        flou.risk.CountInference(3, I=[1], J=[1, 2, 4], prior="poisson"),
        flou.risk.CountInference(4, prior="uniform"),
    ],
    "difference_inference": [
        flou.risk.DifferenceInference(5),
        flou.risk.DifferenceInference(3, J=[-1, 0, 1], prior="uniform"),
    ],
    "zero_inference": [flou.risk.ZeroInference(), flou.risk.ZeroInference(4, prior="uniform")],
    "threshold": [flou.risk.Threshold(5), flou.risk.Threshold(3, zeros=True, margin=20)],
    "dominance": [flou.risk.Dominance(n=1, k=80), flou.risk.Dominance(n=2, k=90.5)],
    "p_percent": [flou.risk.PPercent(10), flou.risk.PPercent(50.5)],
    "pq": [flou.risk.PQ(p=10, q=50), flou.risk.PQ(p=5, q=100)],
    "group_disclosure": [flou.risk.GroupDisclosure("sex"), flou.risk.GroupDisclosure("sex", outsiders=2)],
    "cell_bounds": [
        flou.attack.CellBounds([flou.risk.Threshold(5)]),
        flou.attack.CellBounds([flou.risk.Threshold(3)], intervals="sliding", singletons="exact", show="count"),
        flou.attack.CellBounds(),
    ],
    "averaging": [flou.attack.Averaging(), flou.attack.Averaging("repeats")],
    "reconstruction": [
        flou.attack.Reconstruction(),
        flou.attack.Reconstruction(mode="feasible", certain="skip", max_total=1000),
        flou.attack.Reconstruction(mode="posterior", domain={"sex": ["f", "m"]}),
    ],
    "single_unknown": [
        flou.attack.SingleUnknown(),
        flou.attack.SingleUnknown(block="région", prior="uniform", tolerance={"age": 1}),
        flou.attack.SingleUnknown(
            domain={"age": ["0", "1", "2", "3", "4"], "sex": ["f", "m"]},
            incoherent=[{"age": "4", "sex": "f"}],
            max_total=500,
        ),
    ],
    "within_distance": [flou.utility.WithinDistance(2), flou.utility.WithinDistance(0)],
    "mean_deviation": [flou.utility.MeanDeviation()],
    "relative_deviation": [flou.utility.RelativeDeviation(), flou.utility.RelativeDeviation([2, 20])],
    "hellinger": [flou.utility.Hellinger()],
    "cell_suppression": [
        flou.protect.CellSuppression([flou.risk.Threshold(5)]),
        flou.protect.CellSuppression(
            [flou.risk.Threshold(4)], search="gauss", cost="cells", singletons="exact", show="count"
        ),
        flou.protect.CellSuppression(
            [flou.risk.Threshold(2), flou.risk.Threshold(5, margin=50)],
            apriori=[{"action": "keep"}, {"action": "bounds", "first": 0, "second": 1e9}],
            cost="rank",
            intervals="sliding",
            singletons="off",
            show="count",
            seconds=600,
        ),
    ],
}

#: Parameters that must be refused when the object is made.
BAD_PARAMETERS: dict[str, list[dict[str, Any]]] = {
    "cell_key": [
        {},
        {"D": 5},
        {"D": 0, "V": 3},
        {"D": 5.0, "V": 3},
        {"D": True, "V": 3},
        {"D": "5", "V": 3},
        {"D": 5, "V": 0},
        {"D": 5, "V": "3"},
        {"D": 5, "V": float("nan")},
        {"D": 5, "V": 3, "js": -1},
        {"D": 5, "V": 3, "js": 5},
        {"D": 5, "V": 3, "js": 1.5},
        {"D": 5, "V": 1.9, "js": 2},
        {"D": 5, "V": 3, "stack": 6},
        {"D": 5, "V": 3, "stack": (6,)},
        {"D": 5, "V": 3, "stack": (6, -1)},
        {"D": 5, "V": 3, "additive": True},
        {"D": 5, "V": 3, "d": 2},
        {"matrix": [[0, 0]]},
        {"matrix": [[0, 0, 1.0], [1, 0, 0.5]]},
        {"matrix": 3},
        {"D": 5, "V": 3, "matrix": _OFFICE},
    ],
    "rounding": [{}, {"base": 1}, {"base": 2.5}, {"base": "5"}, {"base": True}, {"base": 5, "additive": "repair"}],
    "random_rounding": [{}, {"base": 0}, {"base": 5.0}, {"base": -5}, {"base": 10_001}, {"base": 5, "secret": 1}],
    "noisy_counts": [
        {},
        {"epsilon": 0},
        {"epsilon": -1.0},
        {"epsilon": "1"},
        {"epsilon": True},
        {"epsilon": float("nan")},
        {"epsilon": float("inf")},
        {"epsilon": 1.0, "delta": -1e-6},
        {"epsilon": 1.0, "delta": 1.0},
        {"epsilon": 1.0, "shares": {"a": 0.7, "b": 0.31}},
        {"epsilon": 1.0, "shares": {"a": 0.0, "b": 1.0}},
        {"epsilon": 1.0, "shares": {}},
        {"epsilon": 1.0, "shares": 0.5},
        {"epsilon": 1.0, "additive": True},
        {"epsilon": 1.0, "floor": "none"},
        {"epsilon": 1.0, "budget": ""},
        {"epsilon": 1.0, "budget": 3},
        {"epsilon": 1.0, "seed": 1},
    ],
    "count_inference": [
        {},
        {"s": 1},
        {"s": 2.5},
        {"s": True},
        {"s": 5, "I": []},
        {"s": 5, "I": [-1]},
        {"s": 5, "J": [1, 1]},
        {"s": 5, "J": [1.5]},
        {"s": 5, "prior": "flat"},
    ],
    "difference_inference": [{}, {"s": 1}, {"s": 5, "I": [-1]}, {"s": 5, "J": []}, {"s": 5, "prior": "x"}],
    "zero_inference": [{"categories": 1}, {"prior": "x"}],
    "threshold": [
        {},
        {"n": 1},
        {"n": 5.0},
        {"n": True},
        {"n": "5"},
        {"n": 5, "zeros": 1},
        {"n": 5, "zeros": "all"},
        {"n": 5, "margin": 0.1},
        {"n": 5, "margin": 101},
        {"n": 5, "margin": float("nan")},
        {"n": 5, "k": 3},
    ],
    "dominance": [
        {},
        {"n": 1},
        {"k": 80},
        {"n": 0, "k": 80},
        {"n": 1.5, "k": 80},
        {"n": 101, "k": 80},
        {"n": 1, "k": 0.8},
        {"n": 1, "k": 100},
        {"n": 1, "k": "80"},
        {"n": 1, "k": True},
    ],
    "p_percent": [{}, {"p": 0}, {"p": 0.1}, {"p": 100}, {"p": -10}, {"p": "10"}, {"p": True}, {"p": float("inf")}],
    "pq": [
        {},
        {"p": 10},
        {"q": 50},
        {"p": 0.1, "q": 50},
        {"p": 10, "q": 0.5},
        {"p": 50, "q": 50},
        {"p": 60, "q": 50},
        {"p": 10, "q": 101},
    ],
    "group_disclosure": [
        {},
        {"of": ""},
        {"of": 3},
        {"of": ["sex"]},
        {"of": "sex", "outsiders": -1},
        {"of": "sex", "outsiders": 0.5},
        {"of": "sex", "outsiders": True},
    ],
    "cell_bounds": [
        {"primary": 3},
        {"primary": [{"method": "within_distance", "d": 2}]},
        {"primary": [flou.risk.CountInference(5)]},
        {"intervals": "levels "},
        {"singletons": True},
        {"show": "sums"},
        {"apriori": 3},
        {"search": "gauss"},
    ],
    "averaging": [{"using": "all"}, {"using": 1}, {"using": None}, {"repeats": 20}],
    "reconstruction": [
        {"mode": "best"},
        {"mode": None},
        {"tolerance": 2},
        {"tolerance": {"age": "2"}},
        {"block": 3},
        {"domain": ["age"]},
        {"incoherent": {"age": 1}},
        {"prior": 3},
        {"max_total": 0},
        {"max_total": 10.5},
        {"certain": True},
        {"certain": "yes"},
        {"seed": 1},
    ],
    "single_unknown": [
        {"block": 3},
        {"block": ["area"]},
        {"domain": {"age": []}},
        {"domain": {"age": [1, 1]}},
        {"domain": {"age": 3}},
        {"domain": {}},
        {"domain": [0, 1]},
        {"incoherent": {"age": 3}},
        {"incoherent": [{}]},
        {"max_total": 0},
        {"max_total": 5.5},
        {"tolerance": 2},
        {"tolerance": {"age": -1}},
        {"tolerance": {"age": "2"}},
        {"tolerance": {"age": float("inf")}},
        {"prior": "flat"},
        {"truth": None},
    ],
    "within_distance": [{}, {"d": -1}, {"d": 1.5}, {"d": "2"}],
    "mean_deviation": [{"d": 1}],
    "relative_deviation": [{"sizes": []}, {"sizes": [5, 5]}, {"sizes": [0, 5]}, {"sizes": ["a"]}],
    "hellinger": [{"kind": "x"}],
    "cell_suppression": [
        {"primary": [flou.risk.KAnonymity(3)]},
        {"primary": [flou.risk.CountInference(5)]},
        {"primary": ["threshold(5)"]},
        {"primary": [{"method": "threshold", "n": 1}]},
        {"primary": [{"method": "treshold", "n": 5}]},
        {"primary": [flou.risk.Threshold(5)], "search": "exact"},
        {"primary": [flou.risk.Threshold(5)], "cost": "cell"},
        {"primary": [flou.risk.Threshold(5)], "intervals": "narrow"},
        {"primary": [flou.risk.Threshold(5)], "singletons": True},
        {"primary": [flou.risk.Threshold(5)], "show": "all"},
        {"primary": [flou.risk.Threshold(5)], "seconds": 0},
        {"primary": [flou.risk.Threshold(5)], "seconds": -1.0},
        {"primary": [flou.risk.Threshold(5)], "seconds": "60"},
        {"primary": [flou.risk.Threshold(5)], "seconds": float("nan")},
        {"primary": [flou.risk.Threshold(5)], "apriori": 3},
        {"primary": [flou.risk.Threshold(5)], "apriori": ["keep"]},
        {"primary": [flou.risk.Threshold(5)], "state": 1},
        {"primary": [flou.risk.Threshold(5)], "rules": []},
    ],
}

#: Methods that withhold cells of one table, and show no figure that is not the true one.
WITHHOLDS = ("cell_suppression",)


def keyed(engine: str = "polars", frame: pl.DataFrame | None = None) -> flou.Microdata:
    """Records with lasting keys."""
    held = flou.Microdata(native(rows() if frame is None else frame, engine), **TABLE_ROLES)
    return flou.record_keys(held, secret=SECRET)


def tables(engine: str = "polars", frame: pl.DataFrame | None = None) -> dict[str, flou.Table | flou.TableSet]:
    """Tables of every kind that a protection may meet, by name."""
    return dict(_tables(engine)) if frame is None else _make_tables(keyed(engine, frame))


@cache
def _tables(engine: str) -> dict[str, flou.Table | flou.TableSet]:
    # tables are frozen: those of the usual rows are made once
    return _make_tables(keyed(engine))


def _make_tables(people: flou.Microdata) -> dict[str, flou.Table | flou.TableSet]:
    return {
        "one": people.tabulate(["region", "sex"]),
        "all cells": people.tabulate(["age@decade>age@five", "sex"], cells="all"),
        "nested": people.tabulate(["region", "age@*"], value="income"),
        "set": flou.tabulate_many(people, [["region", "sex"], ["sex", "illness"], ["region", "illness"]]),
    }


def tables_for(
    method: Method, engine: str = "polars", frame: pl.DataFrame | None = None
) -> dict[str, flou.Table | flou.TableSet]:
    """Tables that a method takes: those whose cells are known beforehand where their list must not tell anything."""
    if "system entropy" not in method.uses:
        return tables(engine, frame)
    known = {"region": ["A", "B", "C", "É", "?"], "sex": ["F", "M", "?"], "age": [-1, *range(20, 40)],
             "illness": ["flu", "asthma", "none"]}  # fmt: skip
    roles = {k: v for k, v in TABLE_ROLES.items() if k != "undetermined"} | {"modalities": known}
    held = (rows() if frame is None else frame).with_columns(
        pl.col("region", "sex").fill_null("?"), pl.col("age").fill_null(-1)
    )
    people = flou.Microdata(native(held, engine), **roles)
    dims = [["region", "sex"], ["sex", "illness"], ["region", "illness"]]
    return {
        "one": people.tabulate(["region", "sex"], cells="all"),
        "all cells": people.tabulate(["age@decade>age@five", "sex"], cells="all"),
        "nested": people.tabulate(["region", "age@*"], value="income", cells="all"),
        "set": flou.tabulate_many(people, dims, cells="all"),
    }


def secret_for(method: Method) -> flou.Secret | None:
    """The secret, or none for a method that takes none."""
    return None if "system entropy" in method.uses else SECRET


def weighted(engine: str = "polars", frame: pl.DataFrame | None = None) -> flou.Table:
    return keyed(engine, frame).tabulate(["region", "sex"], weight="w")


def shown(data: Any) -> pl.DataFrame:
    """What would be published of a table or a set, as one frame that can be compared whatever the engine."""
    held = data.data if isinstance(data, flou.Release) else data
    if isinstance(held, flou.TableSet):
        frames = [shown(t).with_columns(table=pl.lit(t.name)) for t in held]
        return pl.concat(frames, how="diagonal")
    seen = held.public().shown_cells()  # tables of amounts may withhold their counts
    return seen.with_columns(pl.col(name).cast(pl.Float64) for name in ("count", "value") if name in seen.columns)
