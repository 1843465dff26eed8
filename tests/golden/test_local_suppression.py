"""Local suppression on the synthetic file of 2,000 records that sdcMicro 5.8.1 was run on (five keys, k = 3)."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import flou

KEYS = ["sex", "region", "age", "marital", "occ"]
#: Nulls of sdcMicro's localSuppression at k = 3, nulls counting as wildcards.
SDCMICRO = 1729


@pytest.fixture(scope="module")
def rows() -> pl.DataFrame:
    return pl.read_parquet(Path(__file__).parent / "sdcmicro_risks_2000.parquet").select(KEYS)


def fewest_nulls(rows: pl.DataFrame, k: int) -> int:
    """What no method can do without: nulls of each record after which k records of the file could look like it."""
    need = np.full(rows.height, len(KEYS))
    for kept in range(1, len(KEYS) + 1):
        for columns in combinations(KEYS, kept):
            shared = rows.select(pl.len().over(columns)).to_series().to_numpy()
            need = np.where(shared >= k, np.minimum(need, len(KEYS) - kept), need)
    return int(need.sum())


def test_the_very_same_key_needs_more_nulls_than_wildcards_do(rows: pl.DataFrame) -> None:
    assert fewest_nulls(rows, 3) == 1799 > SDCMICRO


@pytest.mark.deep("the full search on 2,000 records")
def test_nulls_in_the_sense_of_the_very_same_key(rows: pl.DataFrame) -> None:
    """An integer program has its optimum at 1,841."""
    people = flou.Microdata(rows, keys=KEYS)
    release = flou.protect.LocalSuppression(k=3).protect(people, secret=1)
    after = release.to_frame()
    assert after.group_by(KEYS).len()["len"].min() >= 3
    assert sum(after.null_count().row(0)) == release.steps[0].n_nulls <= 1900


def test_fewer_nulls_than_sdcmicro_in_its_own_sense(rows: pl.DataFrame) -> None:
    people = flou.Microdata(rows, keys=KEYS)
    release = flou.protect.LocalSuppression(k=3, sense="orthodox").protect(people, secret=1)
    assert release.steps[0].n_nulls < SDCMICRO
    assert flou.risk.KAnonymity(k=3, missing="orthodox").measure(release).n_at_risk == 0
    assert "wildcards" in str(release.steps[0].notes[1])
    assert not any(all(v is None for v in row) for row in release.to_frame().rows())


def test_three_wholly_null_records_satisfy_the_wildcard_senses_and_hide_nobody(rows: pl.DataFrame) -> None:
    decoys = pl.DataFrame({c: [None] * 3 for c in KEYS}, schema=rows.schema)
    people = flou.Microdata(pl.concat([rows[3:], decoys]), keys=KEYS)
    for missing in ("orthodox", "optimistic", "pessimistic"):
        assert flou.risk.KAnonymity(k=3, missing=missing).measure(people).n_at_risk == 0
    assert flou.risk.KAnonymity(k=3, missing="category").measure(people).value > 0.5
