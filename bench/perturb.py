"""Perturbing, beside what sdcMicro takes for the same job.

The files are drawn here: skewed amounts, as many as the peer was run on. The figures of the peer are CPU seconds of
sdcMicro 5.8.1, measured once on a like machine with files of the same shape. Each method is one small function.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import polars as pl

import flou
from bench.timing import Line, alternate, publish, table

AMOUNTS = ("income", "wage", "expend")
#: CPU seconds of sdcMicro: PRAM of one variable of 1 million records; rank swapping of 100,000 × 3 at P = 5%.
_SDCMICRO_PRAM, _SDCMICRO_RANK_SWAP = 25.7, 0.72
#: CPU seconds of sdcMicro's microaggregation(method = "mdav", aggr = 3) of three variables, by number of records.
_SDCMICRO_MDAV = {5_000: 0.13, 20_000: 1.6, 50_000: 13.2}


def amounts(n: int) -> flou.Microdata:
    """Three amounts that go together, each skewed."""
    rng = np.random.default_rng(7)
    common, own = rng.normal(size=(n, 1)), rng.normal(size=(n, 3))
    held = np.round(np.exp(9 + 0.5 * common + 0.4 * own), 2)
    return flou.Microdata(pl.DataFrame({"pid": np.arange(n), **dict(zip(AMOUNTS, held.T, strict=True))}), id="pid")


def microaggregation() -> list[Line]:
    """MDAV as published and with the exchanges that follow it: released and proven, groups of 3."""
    plain = flou.protect.Microaggregation(columns=AMOUNTS, improve="none")
    better = flou.protect.Microaggregation(columns=AMOUNTS)
    lines = []
    for n, peer in _SDCMICRO_MDAV.items():
        people = amounts(n)
        spent = alternate(5, partial(plain.protect, people, secret=1), partial(better.protect, people, secret=1))
        for method, seconds in zip((plain, better), spent, strict=True):
            lost = method.protect(people, secret=1).steps[0].variance_lost
            name = f"MDAV{' and exchanges' if method is better else ''}, {n:,} × 3: variance lost {lost:.3%}"
            lines.append(Line(name, seconds, peer, 1.0 if n < 50_000 else 0.1))
    people = amounts(1_000_000)
    started = time.process_time()
    lost = better.protect(people, secret=1).steps[0].variance_lost
    name = f"MDAV and exchanges, 1 million × 3: variance lost {lost:.4%}"
    return [*lines, Line(name, time.process_time() - started, None, 300.0, " s")]


def univariate() -> list[Line]:
    """The optimal groups of each of three columns."""
    people = amounts(1_000_000)
    method = flou.protect.Microaggregation(columns=AMOUNTS, partition="univariate")
    spent = alternate(3, partial(method.protect, people, secret=1))[0]
    return [Line("optimal groups of one variable, 1 million × 3, each alone", spent, None, 6.0, " s")]


def interval_blur() -> list[Line]:
    """One amount of 618,000 people on 20 covariates, all numbers, and on 19 columns of the apa file."""
    n = 618_000
    rng = np.random.default_rng(3)
    numbers = rng.normal(size=(n, 20))
    amount = np.round(np.exp(6 + numbers @ rng.normal(0, 0.1, 20) + rng.normal(0, 0.4, n)), 2)
    names = tuple(f"x{j}" for j in range(20))
    frame = pl.DataFrame({"pid": np.arange(n), "amount": amount, **dict(zip(names, numbers.T, strict=True))})
    synthetic = flou.Microdata(frame, id="pid")
    people = flou.datasets.apa(n)
    others = tuple(c for c in people.columns if c not in ("pid", "apa_amount", "technical_help"))
    jobs = (
        partial(flou.protect.IntervalBlur(column="amount", given=names).protect, synthetic, secret=1),
        partial(flou.protect.IntervalBlur(column="apa_amount", given=others).protect, people, secret=1),
    )
    spent = alternate(3, *jobs)
    labels = ("20 numbers", f"{len(others)} columns of apa, 96 departments among them")
    return [
        Line(f"interval blur, 618,000 records, {label}", seconds, None, 10.0, " s")
        for label, seconds in zip(labels, spent, strict=True)
    ]


def noise() -> list[Line]:
    """Additive noise on 10 million records, the whole step, beside `values + rng.normal(0, s, n)`."""
    people = amounts(10_000_000)
    values = people.to_frame()["income"].to_numpy()
    rng = np.random.default_rng(3)
    size = float(np.sqrt(0.1) * values.std())
    ours, numpy = alternate(
        5,
        partial(flou.protect.AdditiveNoise(columns=("income",)).protect, people, secret=1),
        lambda: values + rng.normal(0.0, size, len(values)),
    )
    return [Line("additive noise, 10 million records (reference: one pass of NumPy)", ours, numpy, 2.0)]


def pram_and_swaps() -> list[Line]:
    """PRAM of ten regions of unequal size, and rank swapping."""
    rng = np.random.default_rng(2)
    regions = rng.choice([f"region {i}" for i in range(10)], 1_000_000, p=np.arange(1, 11) / 55)
    people = flou.Microdata(pl.DataFrame({"pid": np.arange(len(regions)), "region": regions}), id="pid")
    pram, swap = alternate(
        5,
        partial(flou.protect.Pram(column="region").protect, people, secret=1),
        partial(flou.protect.RankSwap(columns=AMOUNTS, reach=0.05).protect, amounts(100_000), secret=1),
    )
    return [
        Line("PRAM of one variable, 1 million records", pram, _SDCMICRO_PRAM, 0.01),
        Line("rank swapping, 100,000 × 3, 5%", swap, _SDCMICRO_RANK_SWAP, 0.1),
    ]


#: Each gives the lines of one method.
JOBS: tuple[Callable[[], list[Line]], ...] = (noise, pram_and_swaps, microaggregation, univariate, interval_blur)


def run(_folder: Path) -> None:
    publish("perturb", table("Perturbing", "sdcMicro 5.8.1", [line for job in JOBS for line in job()]))
