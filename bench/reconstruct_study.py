"""How much an intruder rebuilds from tables under each protection: the study of the tutorial on reconstruction.

`python -m bench reconstruct_study --populations 30`: the protocol of Abado and Stefan (2024), then the same attack on
other protections. Attacks that were made are kept in `--data` and not made again: delete reconstruct_study.jsonl to
begin anew. Every record that is said to be certain is looked up in the file; the run ends where one is not there.
Noise that pays a privacy budget cannot be drawn again: its figures differ a little from run to run.
"""

from __future__ import annotations

import json
import multiprocessing
import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
import polars as pl
from scipy import stats

import flou
from bench.reconstruct_cases import (
    TOLERANCE,
    Case,
    cases,
    columns,
    commonest,
    counted,
    population,
    published,
    shared,
    similar,
)
from bench.reconstruct_chart import save_charts
from bench.reconstruct_report import BINS, EVERYWHERE, written
from bench.timing import RESULTS, publish
from flou.attack.table.rebuild.solve import Mode

#: Attack → mode and whether it knows a similar population.
ATTACKS: dict[str, tuple[Mode, bool]] = {
    "feasible": ("feasible", False),
    "likelihood": ("likelihood", False),
    "posterior": ("posterior", False),
    "posterior, prior": ("posterior", True),
}
#: What the paper has too is attacked in every way.
_PAPER = ("raw", "random5")


def lost(case: Case, number: int, release: Any) -> dict[str, Any]:
    """Mean absolute deviation of the figures shown, and the share of occupied cells that are moved or withheld."""
    if case.code.endswith("raw"):
        return {"deviation": 0.0, "changed": 0.0, "withheld": 0.0}
    tables = release.data if isinstance(release, flou.Release) else release
    off = np.zeros(0)
    true, hidden = np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.bool_)
    for table in tables if isinstance(tables, flou.TableSet) else [tables]:
        held = table.published
        assert held is not None
        off = np.concatenate([off, np.where(held.hidden, 0, held.count - table.true_counts)])
        true, hidden = np.concatenate([true, table.true_counts]), np.concatenate([hidden, held.hidden])
    occupied = true > 0
    return {
        "deviation": float(np.abs(off[~hidden]).mean()),
        "changed": float(((off != 0) | hidden)[occupied].mean()),
        "withheld": float(hidden.mean()),
    }


def attacked(job: tuple[str, int, int]) -> dict[str, Any]:
    """Every attack on one protected population."""
    code, number, n_populations = job
    case = cases()[code]
    try:
        listing: Literal["occupied", "all"] = "occupied" if case.group == "suppression" else "all"
        release = case.protect(published(number, case.alone, case.keyed, listing), number)
    except flou.Infeasible as refused:
        return {"case": code, "population": number, "refused": str(refused)}
    out: dict[str, Any] = {"case": code, "population": number, **lost(case, number, release), "attacks": {}}
    others = [population(i) for i in range(1, n_populations + 1) if i != number]
    truth = counted(number, case.alone)
    for name, (mode, knows) in ATTACKS.items():
        if code not in _PAPER and name not in EVERYWHERE:
            continue
        method = flou.attack.Reconstruction(
            mode=mode,
            tolerance=None if case.alone else TOLERANCE,  # type: ignore[arg-type]
            prior=similar() if knows else None,
        )
        found = method.run(release, truth=population(number), control=others, secret=number)
        out["attacks"][name] = {"exact": found.value, **_figures(found), **_checked(found, truth, case)}
    return out


def _figures(found: Any) -> dict[str, Any]:
    wanted = ("near", "multiset", "near_multiset", "baseline", "baseline_near", "n_certain", "all_proven", "n_rebuilt",
              "n_uniques", "n_unique_hits", "precision_top", "converged")  # fmt: skip
    return {name: found.figures[name] for name in wanted if name in found.figures}


def _checked(found: Any, truth: dict[tuple[Any, ...], int], case: Case) -> dict[str, Any]:
    """Certain records that are false, of which there must be none; and how often confidence is right."""
    by = columns(case.alone)
    sure = pl.DataFrame(found.certain).select(*(pl.col(c).cast(pl.String) for c in by), "count")
    false = [row for row in sure.iter_rows() if truth.get(tuple(row[:-1]), 0) < row[-1]]
    assert not false, f"said to be certain, and not true: {case.code}, {false}"
    records = pl.DataFrame(found.records)
    if "confidence" not in records.columns:
        return {}
    said = records["confidence"].to_numpy()
    true = np.array([tuple(row) in truth for row in records.select(pl.col(by).cast(pl.String)).iter_rows()])
    at = np.digitize(said, BINS) - 1
    bins = [[int((at == b).sum()), float(said[at == b].sum()), int(true[at == b].sum())] for b in range(len(BINS) - 1)]
    return {"bins": bins}


def gathered(folder: Path, n_populations: int) -> list[dict[str, Any]]:
    """All attacks, those of earlier runs among them."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "reconstruct_study.jsonl"
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if path.exists() else []
    known = cases()
    lines = [line for line in lines if line["case"] in known and line["population"] <= n_populations]
    done = {(line["case"], line["population"]) for line in lines}
    jobs = [
        (code, number, n_populations)
        for number in range(1, n_populations + 1)
        for code in known
        if (code, number) not in done
    ]
    jobs.sort(key=lambda job: job[0] not in _PAPER)  # what the paper has comes first
    # threads and forks do not go together
    with multiprocessing.get_context("spawn").Pool(2) as pool, path.open("a", encoding="utf-8") as kept:
        for n, line in enumerate(pool.imap_unordered(attacked, jobs), 1):
            lines.append(line)
            kept.write(json.dumps(line) + "\n")
            kept.flush()
            print(f"{n} of {len(jobs)}: {line['case']}, population {line['population']}", flush=True)
    return lines


def spread(values: Sequence[float]) -> dict[str, float]:
    """The mean of some populations, their standard deviation, and the 95% interval of the mean."""
    mean, sd = statistics.fmean(values), statistics.stdev(values) if len(values) > 1 else 0.0
    reach = float(stats.t.ppf(0.975, max(len(values) - 1, 1))) * sd / len(values) ** 0.5
    return {"mean": mean, "sd": sd, "low": mean - reach, "high": mean + reach}


def by_chance(n_populations: int, alone: bool) -> dict[str, dict[str, float]]:
    """What independent populations have in common, over all ordered pairs, counted without Flou's matching."""
    held = [counted(i, alone) for i in range(1, n_populations + 1)]
    out = {}
    for name, years in (("exact", 0),) if alone else (("exact", 0), ("near", TOLERANCE["age"])):
        at = columns(alone).index("age") if not alone else 0
        pairs = np.array([[shared(a, b, years, at) / 50 for b in held] for a in held])
        off = ~np.eye(len(held), dtype=np.bool_)
        means = [float(row[keep].mean()) for row, keep in zip(pairs, off, strict=True)]
        out[name] = {**spread(means), "sd": float(pairs[off].std(ddof=1))}
        out[f"{name}, guess"] = spread([shared(a, commonest(alone), years, at) / 50 for a in held])
    return out


def summed(lines: Sequence[dict[str, Any]], n_populations: int) -> dict[str, Any]:
    """The figures of every protection and attack."""
    chance = {"four tables": by_chance(n_populations, False), "one table": by_chance(n_populations, True)}
    found: dict[str, Any] = {"populations": n_populations, "baseline": chance, "cases": {}}
    for code, case in cases().items():
        here = sorted((x for x in lines if x["case"] == code), key=lambda x: x["population"])
        good = [x for x in here if "refused" not in x]
        if not good:
            continue
        entry: dict[str, Any] = {
            "name": case.name, "french": case.french, "group": case.group, "alone": case.alone,
            "n": len(good), "n_refused": len(here) - len(good),
            **{key: spread([x[key] for x in good]) for key in ("deviation", "changed", "withheld")},
            "attacks": {},
        }  # fmt: skip
        for name in good[0]["attacks"]:
            held = [x["attacks"][name] for x in good]
            entry["attacks"][name] = {
                key: spread([float(h[key]) for h in held])
                for key in ("exact", "near", "multiset", "near_multiset", "n_certain", "precision_top")
                if all(h.get(key) is not None for h in held)
            } | {
                "n_unproven": sum(not h["all_proven"] for h in held),
                "n_unsettled": sum(not h.get("converged", True) for h in held),
            }
            if all("bins" in h for h in held):
                entry["attacks"][name]["bins"] = np.array([h["bins"] for h in held]).sum(axis=0).tolist()
            if len(good) == n_populations:
                # counted here without Flou's matching, and there with it
                assert abs(statistics.fmean(h["baseline"] for h in held) - chance_of(chance, case)) < 1e-9
        found["cases"][code] = entry
    found["differences"] = _differences(lines)
    return found


def chance_of(chance: dict[str, Any], case: Case) -> float:
    return float(chance["one table" if case.alone else "four tables"]["exact"]["mean"])


def _differences(lines: Sequence[dict[str, Any]]) -> dict[str, dict[str, float]]:
    """Population by population: what one attack finds beyond another."""
    held = {(x["case"], x["population"]): x["attacks"] for x in lines if "attacks" in x}

    def beyond(code: str, attack: str, other: str, than: str) -> dict[str, float]:
        pairs = [(a, held.get((other, i))) for (c, i), a in held.items() if c == code]
        return spread([a[attack]["exact"] - b[than]["exact"] for a, b in pairs if b is not None])

    rounded = [(a["likelihood"]["exact"], a["likelihood"]["baseline"]) for (c, _), a in held.items() if c == "random5"]
    feasible = [(a["feasible"]["exact"], a["feasible"]["baseline"]) for (c, _), a in held.items() if c == "random5"]
    return {
        "raw, feasible − rounded, feasible": beyond("raw", "feasible", "random5", "feasible"),
        "raw, likelihood − rounded, likelihood": beyond("raw", "likelihood", "random5", "likelihood"),
        "rounded, feasible − independent population": spread([a - b for a, b in feasible]),
        "rounded, likelihood − independent population": spread([a - b for a, b in rounded]),
        "rounded, likelihood − rounded, feasible": beyond("random5", "likelihood", "random5", "feasible"),
        "rounded, posterior − rounded, likelihood": beyond("random5", "posterior", "random5", "likelihood"),
    }


def run(folder: Path, n_populations: int = 30) -> None:
    found = summed(gathered(folder, n_populations), n_populations)
    (RESULTS / "reconstruct_study.json").write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    publish("reconstruct_study", written(found))
    save_charts(found)
