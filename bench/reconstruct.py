"""Reconstruction: one small population, and thousands of small areas.

`python -m bench reconstruct [--populations 30] [--areas 500]`. One population of 50 people is attacked in this process,
warm: medians of CPU seconds over populations, tables read, encoded and solved, without the comparison with the truth.
Areas are attacked in a process of their own, for wall clock and memory: people of the census generator, shuffled into
areas of 50. 10,000 areas are the full run. Beside it stands the encoding by person of Garfinkel, Abowd and Martindale
(2019) and Abado and Stefan (2024), on one population.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import flou
from bench.reconstruct_cases import DIMS
from bench.timing import Line, publish, table
from flou.attack.table.rebuild.certain import prove_minimum
from flou.attack.table.rebuild.feasible import find_counts
from flou.attack.table.rebuild.ground import most_people
from flou.attack.table.rebuild.per_person import find_people
from flou.attack.table.rebuild.solve import Mode

#: CPU seconds of CP-SAT on the encoding by person, in earlier trials on a like machine.
_TRIALS = {"tables as they are": "10–15 s", "random rounding, base 5": "75–91 s"}
#: Work that the encoding by person may take, in units of CP-SAT's deterministic time.
_WORK = 60.0
MODES: tuple[Mode, ...] = ("feasible", "likelihood", "posterior")
_ASKED = {"raw": 0.1, "rounded": 0.5, "proof": 2.0}


def timed(shown: Any, seed: int) -> dict[str, float]:
    """CPU seconds of each attack on published tables, and of the proof alone."""
    found: dict[str, float] = {}
    for mode in MODES:
        attack = flou.attack.Reconstruction(mode=mode, certain="skip")
        started = time.process_time()
        held = attack.reconstruct(shown, secret=seed)
        found[mode] = time.process_time() - started
    problem = held.found.case.figures.problem(0)
    started = time.process_time()
    prove_minimum(problem, seed=seed)
    found["proof"] = time.process_time() - started
    return found


def small(n_populations: int) -> list[Line]:
    """One population of 50 people: any solution, the likeliest, the posterior, and the proof of what is certain."""
    spent: dict[tuple[str, str], list[float]] = {}
    for number in range(n_populations + 1):
        tables = flou.tabulate_many(flou.datasets.census(n=50, rng=number + 1), DIMS)
        rounded = flou.protect.RandomRounding(base=5).protect(tables, secret=number).data
        for kind, shown in (("raw", tables), ("rounded", rounded)):
            for what, seconds in timed(shown, number).items():
                if number:  # the first one warms up
                    spent.setdefault((kind, what), []).append(seconds)
    lines = []
    for (kind, what), measured in spent.items():
        asked = _ASKED["proof"] if what == "proof" else _ASKED[kind] if what == "feasible" else 2.0
        name = {"raw": "tables as they are", "rounded": "random rounding, base 5"}[kind]
        worst = f"slowest of {len(measured)}: {max(measured):.2f} s"
        lines.append(Line(f"50 people, {name}: {what} ({worst})", statistics.median(measured), None, asked, " s"))
    return lines


def by_person() -> list[str]:
    """The encoding by person beside that by counts, on the first population: CPU seconds, once."""
    told = []
    tables = flou.tabulate_many(flou.datasets.census(n=50, rng=1), DIMS)
    rounded = flou.protect.RandomRounding(base=5).protect(tables, secret=0).data
    for kind, shown in (("tables as they are", tables), ("random rounding, base 5", rounded)):
        case = flou.attack.Reconstruction(mode="feasible", certain="skip").reconstruct(shown, secret=0).found.case
        problem, universe = case.figures.problem(0), case.universe
        started = time.process_time()
        find_counts(problem, seed=0)
        counts = time.process_time() - started
        started = time.process_time()
        try:
            find_people(problem, universe.codes, universe.sizes, max_people=most_people(problem), work=_WORK)
            spent = f"{time.process_time() - started:.1f} s"
        except flou.FlouError:
            spent = f"none found in {time.process_time() - started:.0f} s"
        told.append(f"- any solution, {kind}: by counts {counts:.2f} s, by person {spent} (trials: {_TRIALS[kind]}).")
    return told


def areas(n_areas: int, certain: str, mode: str = "likelihood") -> dict[str, Any]:
    """Areas of 50 people attacked one by one, from the records to the match rate."""
    command = [sys.executable, "-m", "bench.reconstruct_areas", str(n_areas), certain, mode]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def many(n_areas: int) -> tuple[list[Line], list[str]]:
    """All areas without proofs, and up to 500 of them with proofs: minutes that 10,000 take at that speed."""
    lines, told = [], []
    for n, certain in ((n_areas, "skip"), (min(n_areas, 500), "prove")):
        found = areas(n, certain)
        minutes = found["attack"] / 60 * 10_000 / n
        words = "with proofs" if certain == "prove" else "without proofs"
        job = (
            f"{n:,} areas of 50 people, likelihood, {words}: {found['attack']:,.0f} s wall, "
            f"{found['attack_cpu']:,.0f} s CPU, {found['memory']:,.0f} MB; minutes for 10,000"
        )
        lines.append(Line(job, minutes, None, 30.0, " min"))
        sure = f", {found['n_certain']:,} certain records" if certain == "prove" else ""
        told.append(
            f"- {n:,} areas, {words}: {found['value']:.0%} of people rebuilt, {found['near']:.0%} within two years "
            f"(other areas: {found['baseline']:.0%}){sure}; tabulating {found['tabulate']:.1f} s, rounding "
            f"{found['protect']:.1f} s."
        )
    return lines, told


def run(folder: Path, n_populations: int = 30, n_areas: int = 500) -> None:
    lines = small(n_populations)
    more, told = many(n_areas)
    told += by_person()
    publish("reconstruct", table("Reconstruction", "reference", [*lines, *more]) + "\n" + "\n".join(told) + "\n")
