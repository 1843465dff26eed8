"""Microdata risk at national size: against the bare group-by of the same file, with memory, and SUDA in seconds."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import flou
from bench.data import KEYS, WIDE_SIZES, key_frame
from bench.timing import Line, alternate, publish, table

N = 10_000_000
_ROLES: dict[str, Any] = {"keys": KEYS, "weight": "weight", "household": "household", "sensitive": ["illness"]}


def survey_file(folder: Path, n: int = N) -> Path:
    """n people with six keys, a weight, a household of about two and an illness of eight levels; made once."""
    path = folder / f"survey-{n}.parquet"
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True)
        rng = np.random.default_rng(3)
        household = np.sort(rng.integers(0, 2 * n // 5, n))
        levels = np.arange(8, 0, -1)
        key_frame(n, 0.0).with_columns(
            household=pl.Series(rng.permutation(household)),
            weight=pl.Series(rng.integers(20, 400, n) / 10),
            illness=pl.Series(rng.choice(8, n, p=levels / levels.sum()) + 1),
        ).write_parquet(path)
    return path


def bare(path: Path) -> pl.DataFrame:
    return pl.scan_parquet(path).group_by(KEYS).len().collect()


def bare_with_sensitive(path: Path) -> pl.DataFrame:
    return pl.scan_parquet(path).group_by(*KEYS, "illness").len().collect()


def read(path: Path, *roles: str) -> flou.Microdata:
    return flou.Microdata(pl.scan_parquet(path), **{r: _ROLES[r] for r in ("keys", *roles)})


def linked(path: Path) -> list[float]:
    people = read(path, "weight", "household")
    measures = (flou.risk.IndividualRisk(), flou.risk.HouseholdRisk(), flou.risk.GlobalRisk())
    return [m.measure(people).value for m in measures]


def diverse(path: Path) -> float:
    return flou.risk.LDiversity(l=2).measure(read(path, "sensitive")).value


def close(path: Path) -> float:
    return flou.risk.TCloseness(t=0.3).measure(read(path, "sensitive")).value


def both(path: Path) -> list[float]:
    people = read(path, "sensitive")
    return [m.measure(people).value for m in (flou.risk.LDiversity(l=2), flou.risk.TCloseness(t=0.3))]


def assessed(path: Path) -> float:
    return flou.risk.AttackMap().measure(read(path, "sensitive")).value


_CHILD = """
import sys
from pathlib import Path
from typing import Any
import polars, bench.risks, flou.risk.micro.suda, flou.risk.micro.household
def resident(what):
    # the peak of this process alone: getrusage keeps that of the process it was started from
    return int(Path("/proc/self/status").read_text().partition(what)[2].split()[0]) / 1024
polars.scan_parquet(sys.argv[1]).head(1000).group_by(bench.risks.KEYS[0]).len().collect(engine="streaming")
before = resident("VmRSS:")
getattr(bench.risks, sys.argv[2])(Path(sys.argv[1]))
print(resident("VmHWM:") - before)
"""


def peak(path: Path, job: str) -> float:
    """Peak resident MB of a process that does one job, less what it had with the libraries loaded and warm."""
    done = subprocess.run([sys.executable, "-c", _CHILD, str(path), job], check=True, capture_output=True, text=True)
    return float(done.stdout)


def wide_file(folder: Path) -> Path:
    path = folder / "wide-1000000.parquet"
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True)
        key_frame(1_000_000, 0.0, sizes=WIDE_SIZES).write_parquet(path)
    return path


def suda(path: Path) -> float:
    people = flou.Microdata(pl.scan_parquet(path), keys=list(WIDE_SIZES))
    return flou.risk.Suda(max_size=3, sampling_fraction=0.1).measure(people).value


def median_seconds(repeats: int, job: Callable[[], object]) -> float:
    return alternate(repeats, job)[0]


def run(folder: Path) -> None:
    path = survey_file(folder)
    linkage, assessment, together, diversity, closeness, reference, finer = alternate(
        5,
        lambda: linked(path),
        lambda: assessed(path),
        lambda: both(path),
        lambda: diverse(path),
        lambda: close(path),
        lambda: bare(path),
        lambda: bare_with_sensitive(path),
    )
    size = f"{N // 10**6} million rows × 6 keys"
    lines = [
        Line(f"individual + household + global risk, {size}", linkage, reference, 3.0),
        Line(f"l-diversity, {size}, 8 sensitive levels", diversity, reference, 3.0),
        Line(f"t-closeness, {size}, 8 sensitive levels", closeness, reference, 3.0),
        Line("both of these on one file", together, reference, 3.0),
        Line("both, beside the group-by of keys and sensitive column", together, finer, 3.0),
        Line("the whole assessment by attack", assessment, reference, 10.0),
    ]
    publish("risks", table("Microdata risk", "bare Polars group-by", lines))
    small = key_frame(100_000, 0.0)
    spent = median_seconds(7, lambda: flou.risk.Suda(max_size=3).measure(flou.Microdata(small, keys=KEYS)))
    wide = wide_file(folder)
    started = time.perf_counter()
    suda(wide)
    large = time.perf_counter() - started
    keys = N * len(KEYS) * 8 / 2**20
    wide_keys = 1_000_000 * len(WIDE_SIZES) * 8 / 2**20
    lines = [
        Line("SUDA, 100,000 rows × 6 keys, max_size 3 (CPU s)", spent, None, 0.25, " s"),
        Line("SUDA, 1 million rows × 8 keys, max_size 3 (wall s)", large, None, 120.0, " s"),
        Line("individual + household + global: peak MB, beside the key columns", peak(path, "linked"), keys, 3.0),
        Line("l-diversity and t-closeness: peak MB, beside the key columns", peak(path, "both"), keys, 3.0),
        Line("SUDA, 1 million × 8: peak MB, beside the key columns", peak(wide, "suda"), wide_keys, 3.0),
    ]
    publish("suda", table("SUDA, and memory", "reference", lines))
