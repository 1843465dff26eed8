"""Calibration of a half sample of 600,000 people on six margins, and on an amount as well; and a reasoned refusal."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import flou
from bench.data import KEYS, key_frame
from bench.timing import Line, alternate, publish, table

N = 600_000
_DISTANCES: tuple[dict[str, Any], ...] = (
    {"distance": "linear"},
    {"distance": "raking"},
    {"distance": "logit", "bounds": (0.4, 3.0)},
)


def population() -> pl.DataFrame:
    rng = np.random.default_rng(5)
    frame = key_frame(N, 0.0)
    amount = np.round(np.exp(rng.normal(7.0, 0.8, N)), 2)
    chance = np.where(frame["sex"].to_numpy() == 1, 0.55, 0.45)
    return frame.with_columns(pid=pl.Series(np.arange(N)), amount=amount, drawn=pl.Series(rng.random(N) < chance))


def run(folder: Path) -> None:
    people = population()
    sample = flou.Microdata(people.filter("drawn").drop("drawn"), id="pid")
    margins = {c: dict(people[c].value_counts().iter_rows()) for c in KEYS}
    total = float(people["amount"].sum())

    def calibrated(totals: dict[str, float], **settings: Any) -> float:
        given: dict[str, Any] = {"margins": margins, **({"totals": totals} if totals else {}), **settings}
        release = flou.protect.CalibrateWeights(**given).protect(sample, secret=1)
        return float(release.steps[0].figures["design_effect"])  # type: ignore[arg-type]

    def refused() -> str:
        try:
            calibrated({"amount": 3.0 * total}, distance="logit", bounds=(0.4, 3.0))
        except flou.Infeasible as error:
            return str(error)
        raise AssertionError("the totals cannot be met")

    jobs = [(totals, settings) for totals in ({}, {"amount": total}) for settings in _DISTANCES]
    times = alternate(5, *(lambda t=t, s=s: calibrated(t, **s) for t, s in jobs))
    rows = f"{sample.n_records:,} records, 6 margins"
    lines = [
        Line(f"{rows}{' and an amount' if t else ''}, {s['distance']}", spent, None, 3.0 if t else 1.0, " s")
        for (t, s), spent in zip(jobs, times, strict=True)
    ]
    spent = alternate(1, refused)[0]
    lines.append(Line(f"{rows} and an amount out of reach: what clashes, logit", spent, None, 60.0, " s"))
    publish("calibrate", table("Calibration of weights", "", lines))
