"""k-anonymity against the bare group-by of the same columns, from Parquet on disk."""

from __future__ import annotations

from pathlib import Path

import polars as pl

import flou
from bench.data import KEYS, key_file
from bench.timing import Line, alternate, publish, table
from flou.engine.sense import Missing


def bare(path: Path) -> pl.DataFrame:
    return pl.scan_parquet(path).group_by(KEYS).len().collect()


def measured(path: Path, missing: Missing) -> float:
    """What a user does: read the file, measure, look at the figures."""
    people = flou.Microdata(pl.scan_parquet(path), keys=KEYS)
    return flou.risk.KAnonymity(k=3, missing=missing).measure(people).value


def run(folder: Path) -> None:
    lines = []
    complete = key_file(folder, 10_000_000, 0.0)
    ours, reference = alternate(7, lambda: measured(complete, "pessimistic"), lambda: bare(complete))
    lines.append(Line("complete keys, 10 million rows × 6", ours, reference, 1.5))
    holes = key_file(folder, 1_000_000, 0.04)
    senses: dict[Missing, float] = {"pessimistic": 1.5, "orthodox": 2.0, "optimistic": 2.0, "conservative": 2.0}
    jobs = [lambda m=m: measured(holes, m) for m in senses]
    *times, reference = alternate(15, *jobs, lambda: bare(holes))
    for (sense, bound), spent in zip(senses.items(), times, strict=True):
        lines.append(Line(f"4% nulls on each key, 1 million rows × 6, {sense}", spent, reference, bound))
    publish("frequencies", table("k-anonymity", "bare Polars group-by", lines))
