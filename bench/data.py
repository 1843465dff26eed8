"""Key files of the size of a national survey or register: six keys, 120,960 possible combinations, and wider ones."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import polars as pl

SIZES = {"sex": 2, "region": 8, "age": 12, "marital": 6, "occupation": 15, "education": 7}
KEYS = list(SIZES)


#: Eight keys that span 10^10 possible combinations.
WIDE_SIZES = {
    "sex": 2, "region": 100, "age": 100, "marital": 6, "occupation": 40, "education": 10, "birthplace": 21,
    "household": 10,
}  # fmt: skip


def key_frame(n: int, nulls: float, seed: int = 1, sizes: Mapping[str, int] = SIZES) -> pl.DataFrame:
    """n rows of skewed keys, a share of each null."""
    rng = np.random.default_rng(seed)
    columns = []
    for name, size in sizes.items():
        weights = 1.0 / np.arange(1, size + 1) ** 0.7
        values = pl.Series(name, rng.choice(size, size=n, p=weights / weights.sum()) + 1)
        if nulls:
            values = pl.select(pl.when(pl.Series(rng.random(n) >= nulls)).then(values).alias(name))[name]
        columns.append(values)
    return pl.DataFrame(columns)


def key_file(folder: Path, n: int, nulls: float) -> Path:
    """A Parquet file of n rows and six keys; made once."""
    path = folder / f"keys-{n}-{nulls}.parquet"
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True)
        key_frame(n, nulls).write_parquet(path)
    return path


def key_folder(folder: Path, n: int, nulls: float, rows_per_part: int = 5_000_000) -> Path:
    """A folder of Parquet files of n rows in all; made once."""
    path = folder / f"keys-{n}-{nulls}"
    if not path.exists():
        making = folder / f".keys-{n}-{nulls}"
        making.mkdir(parents=True, exist_ok=True)
        for part in range(n // rows_per_part):
            key_frame(rows_per_part, nulls, seed=part + 1).write_parquet(making / f"part-{part:05}.parquet")
        making.rename(path)
    return path
