"""Odd frames come in alike on every engine: the same keys, the same rows, the same schema."""

from __future__ import annotations

import polars as pl
import pytest
from polars.testing import assert_frame_equal
from tests.contracts.cases import KEYS, ROLES, SPARK, native, people, rows

import flou

ODD = {
    "empty": rows().clear(),
    "one row": rows().head(1),
    "constant": pl.concat([rows().head(1)] * 5).with_columns(pid=pl.Series(range(5))),
    "all missing": rows().head(20).with_columns(pl.lit(None).cast(rows().schema[c]).alias(c) for c in KEYS),
    "unicode": rows().head(40).with_columns(region=pl.lit("Þórr 🦊 'x'; DROP")),
}
ENGINES = ["pandas", "pyarrow", "polars-lazy", "duckdb", SPARK]


def shown(data: flou.Microdata) -> pl.DataFrame:
    frame = data.collect().frame.to_polars() if data.is_lazy else data.frame.to_polars()
    return frame.sort("pid")


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("kind", list(ODD))
def test_odd_frames_are_the_same_on_every_engine(kind: str, engine: str) -> None:
    try:
        expected = people("polars", ODD[kind])
    except flou.FlouError as error:
        with pytest.raises(type(error)):
            people(engine, ODD[kind])
        return
    found = people(engine, ODD[kind])
    assert found.n_records == expected.n_records
    assert_frame_equal(shown(found), shown(expected), check_dtypes=kind not in ("empty", "all missing"))
    if kind == "empty":
        with pytest.raises(flou.FlouError, match="no records"):
            found.key_table(KEYS)
        return
    ours, theirs = (data.key_table(KEYS).sorted() for data in (found, expected))
    assert_frame_equal(ours.frame, theirs.frame, check_dtypes=False)
    assert ours.counts.tolist() == theirs.counts.tolist()


@pytest.mark.parametrize("engine", ENGINES)
def test_odd_names_are_declared_alike(engine: str) -> None:
    renamed = rows().head(30).rename({"region": "région d'été; --"})
    roles = {**ROLES, "keys": ["région d'été; --", "sex", "age"]}
    found = flou.Microdata(native(renamed, engine), **roles)
    assert found.key_table(found.schema.keys).counts.sum() == 30
