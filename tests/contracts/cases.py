"""The data and the examples that the contract tests run every registered method on.

A new method adds one line to `EXAMPLES`; every check then runs on it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

import flou
from flou.engine.method import Method
from flou.risk.micro.frequency import MISSING

KEYS = ["region", "sex", "age"]
#: Tests on Spark run in one process, so that they share one session.
SPARK = pytest.param("spark", marks=pytest.mark.xdist_group("spark"))

_K = flou.risk.KAnonymity
_ONES = {"A": "north", "B": "north", "C": "south", "É": "south"}

#: Method name → parameter settings worth checking.
EXAMPLES: dict[str, list[Method]] = {
    "k_anonymity": [*(_K(k=3, missing=m) for m in MISSING), _K(k=2, by="sex"), _K(k=3, subsets=2)],
    "recode": [
        flou.protect.Recode("age", level=1),
        flou.protect.Recode("age", level="decade"),
        flou.protect.Recode("region", mapping=_ONES),
    ],
    "top_code": [flou.protect.TopCode("income", at=2000), flou.protect.TopCode("income", quantile=0.9)],
    "bottom_code": [flou.protect.BottomCode("income", at=500, replacement=0), flou.protect.BottomCode("age", at=25)],
    "drop_identifiers": [flou.protect.DropIdentifiers()],
    "drop_records": [
        flou.protect.DropRecords(_K(k=2, missing="category")),
        flou.protect.DropRecords(_K(k=2), max_share=0.9),
    ],
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
    "recode": [{"column": "age"}, {"column": "age", "level": 1, "mapping": {}}, {"column": "age", "level": 0}],
    "top_code": [{"column": "a"}, {"column": "a", "at": 1, "quantile": 0.5}, {"column": "a", "quantile": 1.0}],
    "bottom_code": [{"column": "a", "at": "x"}, {"column": "a", "at": 5, "replacement": 6}],
    "drop_identifiers": [{"columns": ["a"]}],
    "drop_records": [{}, {"measure": 3}, {"measure": _K(k=2), "max_share": 1.5}],
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
    "weight": "w",
    "hierarchies": {"age": flou.Hierarchy.bands(5, 10, names=["five", "decade"])},
    "modalities": {"sex": ["F", "M"]},
}


def native(frame: pl.DataFrame, engine: str) -> object:
    """The rows in the type of an engine."""
    if engine == "polars":
        return frame
    if engine == "polars-lazy":
        return frame.lazy()
    if engine == "pandas":
        return frame.to_pandas()
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
    return out.sort(out.columns, nulls_last=True)
