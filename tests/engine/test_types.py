"""Every simple type of column is counted, joined and written alike on every engine."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from pathlib import Path

import polars as pl
import pytest
from tests.contracts.cases import SPARK, native

import flou
from flou.engine import native as engines

COLUMNS = {
    "integer": pl.Series([3, 1, None, 3], dtype=pl.Int32),
    "number": pl.Series([0.1, -0.0, None, 0.1]),
    "text": pl.Series(["é", "a'b\\", None, "é"]),
    "boolean": pl.Series([True, False, None, True]),
    "date": pl.Series([dt.date(2024, 2, 29), dt.date(1600, 1, 1), None, dt.date(2024, 2, 29)]),
    "time": pl.Series(
        [
            dt.datetime(2024, 3, 31, 2, 30, 0, 123456),
            dt.datetime(1969, 1, 1),
            None,
            dt.datetime(2024, 3, 31, 2, 30, 0, 123456),
        ]
    ),
    "decimal": pl.Series([Decimal("1.10"), Decimal("-2.50"), None, Decimal("1.10")], dtype=pl.Decimal(12, 2)),
}


@pytest.mark.parametrize("engine", ["polars", "polars-lazy", "pyarrow", "duckdb", SPARK])
@pytest.mark.parametrize("name", COLUMNS)
def test_a_key_of_any_type(name: str, engine: str, tmp_path: Path) -> None:
    frame = pl.DataFrame({"key": COLUMNS[name], "other": [1, 2, 3, 4]})
    if engine == "spark":  # from a file, where a timestamp has no zone
        frame.write_parquet(tmp_path / "in.parquet")
        data = flou.read(tmp_path / "in.parquet", keys=["key"], engine="spark")
    else:
        data = flou.Microdata(native(frame, engine), keys=["key"])
    result = flou.risk.KAnonymity(k=2, missing="category").measure(data)
    assert result.n_at_risk == 2
    assert result.n_keys == 3
    joined = engines.collect(flou.Microdata(result.joined()).frame).sort("other")
    assert joined["k_anonymity"].to_list() == [2, 1, 1, 2]
    assert joined["key"].to_list() == frame["key"].to_list()
    kept = flou.protect.DropRecords(flou.risk.KAnonymity(k=2, missing="category"), max_share=1.0).protect(
        data, secret=1
    )
    assert kept.data.n_records == 2
    for made, of in ((data, "ours"), (flou.Microdata(frame, keys=["key"]), "polars")):
        flou.write(made, tmp_path / f"{of}.parquet", unprotected=True)
    assert (tmp_path / "ours.parquet").read_bytes() == (tmp_path / "polars.parquet").read_bytes()
