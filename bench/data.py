"""Key files of the size of a national survey: six keys, 120,960 possible combinations."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl

SIZES = {"sex": 2, "region": 8, "age": 12, "marital": 6, "occupation": 15, "education": 7}
KEYS = list(SIZES)


def key_file(folder: Path, n: int, nulls: float, seed: int = 1) -> Path:
    """A Parquet file of n rows and six skewed keys, a share of each null; made once."""
    path = folder / f"keys-{n}-{nulls}.parquet"
    if not path.exists():
        rng = np.random.default_rng(seed)
        columns = []
        for name, size in SIZES.items():
            weights = 1.0 / np.arange(1, size + 1) ** 0.7
            values = pl.Series(name, rng.choice(size, size=n, p=weights / weights.sum()) + 1)
            if nulls:
                values = pl.select(pl.when(pl.Series(rng.random(n) >= nulls)).then(values).alias(name))[name]
            columns.append(values)
        folder.mkdir(parents=True, exist_ok=True)
        pl.DataFrame(columns).write_parquet(path)
    return path
