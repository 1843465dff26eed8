"""Reconstruction: one small population, and thousands of small areas.

`python -m bench reconstruct [--populations 30] [--areas 500]`. One population of 50 people is attacked in this process,
warm: medians of CPU seconds over populations, tables read, encoded and solved, without the comparison with the truth.
Areas are attacked in a process of their own, for wall clock and memory: people of the census generator, shuffled into
areas of 50. 10,000 areas are the full run. Figures of the encoding by person are CPU seconds of CP-SAT on the model of
Garfinkel, Abowd and Martindale (2019), measured once on a like machine.
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
from flou.attack.table.rebuild.solve import Mode

#: CPU seconds of the encoding by person: as published, and rounded.
_BY_PERSON = {"raw": 12.5, "rounded": 83.0}
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
    problem = held.rebuilt.case.figures.problem(0)
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
        peer = f"; by person: {_BY_PERSON[kind]:g} s" if what == "feasible" else ""
        worst = f"slowest of {len(measured)}: {max(measured):.2f} s"
        lines.append(Line(f"50 people, {name}: {what} ({worst}{peer})", statistics.median(measured), None, asked, " s"))
    return lines


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
    publish("reconstruct", table("Reconstruction", "reference", [*lines, *more]) + "\n" + "\n".join(told) + "\n")
