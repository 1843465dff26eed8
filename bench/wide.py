"""Undetermined values on a key space of 10^10 cells, which is searched instead of held in memory."""

from __future__ import annotations

import math
from pathlib import Path

import flou
from bench.data import WIDE_SIZES, key_frame
from bench.timing import Line, alternate, publish, table
from flou.engine.sense import Missing

N, NULLS = 1_000_000, 0.04


def run(folder: Path) -> None:
    frame = key_frame(N, NULLS, sizes=WIDE_SIZES)
    cells = math.prod(WIDE_SIZES.values())

    def measured(missing: Missing) -> float:
        return flou.risk.KAnonymity(k=3, missing=missing).measure(flou.Microdata(frame, keys=list(WIDE_SIZES))).value

    senses: tuple[Missing, ...] = ("pessimistic", "optimistic", "orthodox", "conservative")
    times = alternate(3, *(lambda m=m: measured(m) for m in senses))
    lines = [
        Line(f"{cells:.1e} cells, 4% nulls on each of 8 keys, 1 million rows, {sense}", spent, None, 60.0, " s")
        for sense, spent in zip(senses, times, strict=True)
    ]
    publish("wide", table("A key space that does not fit in memory", "", lines))
