"""The study of reconstruction in words and tables, from its figures."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from typing import Any

import numpy as np

#: Attacks in the order of their strength; those that every protection meets; bounds of classes of confidence.
ATTACKS = ("feasible", "likelihood", "posterior", "posterior, prior")
EVERYWHERE = ("likelihood", "posterior, prior")
BINS = (0.0, 0.2, 0.4, 0.6, 0.8, 0.95, 1.01)


def _percent(held: dict[str, float] | None) -> str:
    if held is None:
        return ""
    return f"{held['mean']:.0%} (sd {held['sd'] * 100:.0f}; {held['low'] * 100:.0f} to {held['high'] * 100:.0f})"


def _plain(held: dict[str, float] | None, digits: int = 2) -> str:
    return "" if held is None else f"{held['mean']:.{digits}f}"


def paper(found: dict[str, Any]) -> Iterable[str]:
    """The paper's table beside ours."""
    cases_, chance = found["cases"], found["baseline"]["four tables"]
    yield "| tables | attack | same values: paper | ours | ages ± 2: paper | ours |"
    yield "|---|---|---:|---:|---:|---:|"
    said = {"raw": ("about 90%", ""), "random5": ("27% (sd 8)", "62% (sd 9)")}
    for code, (exact, near) in said.items():
        for name in ATTACKS:
            held = cases_[code]["attacks"][name]
            shown = (exact, near) if name == "feasible" else ("", "")
            tables = "as they are" if code == "raw" else "random rounding, base 5"
            ours = _percent(held["exact"]), _percent(held["near"])
            yield f"| {tables} | {name} | {shown[0]} | {ours[0]} | {shown[1]} | {ours[1]} |"
    yield (
        f"| none: an independent population | | 15% (sd 5) | {_percent(chance['exact'])} | 50% (sd 7) "
        f"| {_percent(chance['near'])} |"
    )
    guess = _percent(chance["exact, guess"]), _percent(chance["near, guess"])
    yield f"| none: the 50 commonest records of the country | | | {guess[0]} | | {guess[1]} |"


def protections(found: dict[str, Any], alone: bool) -> Iterable[str]:
    """Every protection: matches, certain records, confidence, what is lost."""
    yield (
        "| protection | likelihood | posterior | one to one | ± 2 years | certain of 50 "
        "| ten most confident | deviation | occupied cells moved or withheld |"
    )
    yield "|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|"
    for entry in found["cases"].values():
        if entry["alone"] != alone:
            continue
        by, best = entry["attacks"], entry["attacks"]["posterior, prior"]
        cells = [_percent(by[name]["exact"]) for name in EVERYWHERE]
        cells += [_percent(best["multiset"]), _percent(best.get("near")), _plain(best["n_certain"])]
        top = best.get("precision_top")
        cells += ["" if top is None else f"{top['mean']:.0%}", _plain(entry["deviation"])]
        cells.append(f"{entry['changed']['mean']:.0%}")
        yield f"| {entry['name']} | " + " | ".join(cells) + " |"


def confidence(found: dict[str, Any]) -> Iterable[str]:
    """Whether a record that is said to exist with some chance does so as often."""
    yield "| confidence | records | mean confidence | exist |"
    yield "|---|---:|---:|---:|"
    entries = [e for e in found["cases"].values() if not e["alone"]]
    held = np.array([e["attacks"]["posterior, prior"]["bins"] for e in entries]).sum(axis=0)
    for b, (low, high) in enumerate(pairwise(BINS)):
        n, said, true = held[b]
        shares = f"{said / n:.0%} | {true / n:.0%}" if n else " | "
        yield f"| {low:.0%} to {min(high, 1):.0%} | {n:,.0f} | {shares} |"


def written(found: dict[str, Any]) -> str:
    """The report."""
    unproven = sum(a["n_unproven"] for e in found["cases"].values() for a in e["attacks"].values())
    unsettled = sum(a["n_unsettled"] for e in found["cases"].values() for a in e["attacks"].values())
    runs = sum(e["n"] * len(e["attacks"]) for e in found["cases"].values())
    refused = {e["name"]: e["n_refused"] for e in found["cases"].values() if e["n_refused"]}
    sure = sum(e["attacks"]["likelihood"]["n_certain"]["mean"] * e["n"] for e in found["cases"].values())
    lines = [
        "## Reconstruction of published tables",
        "",
        f"{found['populations']} populations of 50 people, `flou.datasets.census(n=50, rng=i)`; four tables (gender by "
        "age in five years, by marital status, by age, and by age in five years and marital status), all cells with "
        "margins. The share of people whose record is rebuilt: mean over populations (standard deviation; 95% interval "
        "of the mean), in percent. The prior is 20,000 other people of the same distribution.",
        "",
        "### The paper beside ours",
        "",
        *paper(found),
        "",
        "Abado and Stefan (2024) have Canada's joint distribution, six marital states and any solution of a solver; "
        "the shape is to be compared and not the digits. Differences, population by population (95% interval "
        "of the mean):",
        "",
        *(
            f"- {name}: {d['mean'] * 100:+.0f} points ({d['low'] * 100:+.0f} to {d['high'] * 100:+.0f})"
            for name, d in found["differences"].items()
        ),
        "",
        "### Protections",
        "",
        "Likelihood without a prior, posterior with it; one to one, ± 2 years and the ten most confident are of the "
        "posterior. Deviation: mean absolute deviation of the figures shown, over all cells with the empty ones.",
        "",
        *protections(found, False),
        "",
        "Of the most detailed table alone, records of gender, age in five years and marital status (by chance "
        f"{_percent(found['baseline']['one table']['exact'])}):",
        "",
        *protections(found, True),
        "",
        "### Proofs and confidence",
        "",
        f"{sure:,.0f} records were proven certain by each attack; each was looked up, and all "
        f"are true. {unproven:,} of {runs:,} proofs were given up; the chances of {unsettled:,} posteriors did not "
        "settle. " + " ".join(f"{name}: {n} populations refused." for name, n in refused.items()),
        "",
        "Rebuilt records of all protections (four tables) by their confidence:",
        "",
        *confidence(found),
        "",
    ]
    return "\n".join(lines)
