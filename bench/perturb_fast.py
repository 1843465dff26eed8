"""Perturbing: noise beside one pass of NumPy, PRAM and rank swapping beside what sdcMicro takes for the same job.

Ours is the whole step: ids checked, values drawn and put back, the guarantee proven twice. The figures of the peer are
constants, CPU seconds of sdcMicro 5.8.1 (R) that were measured in a run of its own: PRAM of one variable of 1 million
records 25.7 s, rank swapping of three variables of 100,000 records at P = 5% 0.72 s.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl

import flou
from bench.timing import Line, alternate, publish, table

_PRAM, _RANK_SWAP = 25.7, 0.72
_SECRET = flou.Secret(bytes(range(32)))


def amounts(n: int, columns: str) -> flou.Microdata:
    """Skewed amounts in cents."""
    rng = np.random.default_rng(1)
    values = {c: np.round(rng.lognormal(7.0, 1.0, n), 2) for c in columns}
    return flou.Microdata(pl.DataFrame({"pid": np.arange(n), **values}), id="pid")


def categories(n: int) -> flou.Microdata:
    """Ten regions of unequal size, as text."""
    rng = np.random.default_rng(2)
    shares = np.arange(1, 11) / 55
    regions = rng.choice([f"region {i}" for i in range(10)], n, p=shares)
    return flou.Microdata(pl.DataFrame({"pid": np.arange(n), "region": regions}), id="pid")


def noise_lines() -> list[Line]:
    """Additive noise on 10 million records, beside `values + rng.normal(0, s, n)`."""
    people = amounts(10_000_000, "a")
    values = people.to_frame()["a"].to_numpy()
    rng = np.random.default_rng(3)
    size = float(np.sqrt(0.1) * values.std())
    ours, numpy = alternate(
        5,
        lambda: flou.protect.AdditiveNoise(columns=("a",)).protect(people, secret=_SECRET),
        lambda: values + rng.normal(0.0, size, len(values)),
    )
    return [Line("additive noise, 10 million records (reference: one pass of NumPy)", ours, numpy, 2.0)]


def peer_lines() -> list[Line]:
    """PRAM and rank swapping, beside sdcMicro."""
    regions, incomes = categories(1_000_000), amounts(100_000, "abc")
    pram, swap = alternate(
        5,
        lambda: flou.protect.Pram(column="region").protect(regions, secret=_SECRET),
        lambda: flou.protect.RankSwap(columns=("a", "b", "c"), reach=0.05).protect(incomes, secret=_SECRET),
    )
    return [
        Line("PRAM of one variable, 1 million records (reference: sdcMicro)", pram, _PRAM, 0.01),
        Line("rank swapping of three variables, 100,000 records (reference: sdcMicro)", swap, _RANK_SWAP, 0.1),
    ]


def run(folder: Path) -> None:
    lines = [*noise_lines(), *peer_lines()]
    publish("perturb_fast", table("Noise, PRAM and rank swapping", "reference", lines))
