"""Suppression with its audit beside pytauargus, by elimination, and under linear programs that owe nothing to Flou.

`python -m bench suppress --peer PYTHON`: the interpreter that has pytauargus, which never runs in ours; without it Flou
is measured alone. It is asked for the same rules, with and without its protection of single contributors; on some
tables it crashes, and its pattern may differ from run to run. Its figures are CPU seconds of the search alone and of
the audit; ours are those of the whole step, which holds the audit. What its patterns leave open our audit tells.
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import Any

from bench.suppress_programs import checked
from bench.suppress_tables import BUSINESS, Instance
from bench.timing import publish

#: Many sensitive cells, and fewer, of every shape; seeds where pytauargus ends, if there are any.
INSTANCES = (
    Instance(BUSINESS),
    Instance("2-D 100 × 50", 4.0, 12, 1),
    Instance("2-D 100 × 50", 1.2, 6, 2),
    Instance("2-D nested 105 × 111", 4.0, 12, 1),
    Instance("2-D nested 105 × 111", 1.2, 6, 1),
    Instance("3-D 30 × 12 × 6", 4.0, 12, 1),
    Instance("3-D 30 × 12 × 6", 1.2, 6, 2),
    Instance("3-D nested 105 × 25 × 9", 4.0, 12, 1),
    Instance("3-D nested 105 × 25 × 9", 1.2, 6, 1),
)
LARGE = Instance("2-D nested 421 × 476", 4.0, 6, 1)
#: By our notion of singletons: how pytauargus is asked.
_ASKED = {"exact": "MOD(1,5,1,1,1)", "levels": "MOD(1,5,1,1,1)", "off": "MOD(1,5,0,0,0)"}
#: Limits: wall seconds of one of our children; CPU seconds of pytauargus's search and audit.
_OURS, _SEARCH, _AUDIT = 600, 60, 120


def child(job: dict[str, Any]) -> list[dict[str, Any]]:
    """What a child process printed, as far as it came; the last says why where it did not end."""
    command = [sys.executable, "-m", "bench.suppress_child", json.dumps(job)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_OURS)
        why = done.stderr.strip().rpartition("\n")[2] or f"ended with {done.returncode}"
        out, failed = done.stdout, why if done.returncode else ""
    except subprocess.TimeoutExpired as stopped:
        out, failed = (stopped.stdout or b"").decode(), f"more than {_OURS} s"
    return [json.loads(line) for line in out.splitlines()] + ([{"failed": failed}] if failed else [])


def ours(instance: Instance, folder: Path, **options: str) -> dict[str, Any]:
    """Our suppression in a process of its own."""
    return child({"instance": asdict(instance), "folder": str(folder), "options": options})[-1]


def _cpu(process: int) -> float:
    """CPU seconds of a running process."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def theirs(instance: Instance, folder: Path, peer: Path, asked: str) -> dict[str, Any]:
    """pytauargus's suppression and audit, and what our audit says of its pattern."""
    with tempfile.TemporaryDirectory() as where:
        place = Path(where)
        instance.write(folder, place)
        script, done = Path(__file__).with_name("suppress_peer.py"), place / "done.json"
        command = [str(peer), str(script), str(place), asked]
        running = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=place)
        searched = None
        while running.poll() is None:
            time.sleep(0.05)
            try:
                spent = _cpu(running.pid)
            except OSError:
                continue
            if searched is None and done.exists():
                searched = spent
            if spent > _SEARCH if searched is None else spent - searched > _AUDIT:
                running.kill()
        code = running.wait()
        if not done.exists():
            return {"failed": f"more than {_SEARCH} s" if code == -9 else "crashed"}
        found: dict[str, Any] = json.loads(done.read_text(encoding="utf-8"))
        job = {"instance": asdict(instance), "folder": str(folder), "pattern": str(place / "cells.csv")}
        for part in child(job):
            found |= {"unaudited": part["failed"]} if "failed" in part else part
        return found


def compared(instance: Instance, folder: Path, peer: Path) -> dict[str, dict[str, Any]]:
    """Both ways of asking pytauargus; with single contributors only where it ends without."""
    alone, plain = _ASKED["exact"], _ASKED["off"]
    found = {plain: theirs(instance, folder, peer, plain)}
    over = found[plain].get("failed", "").startswith("more than")
    found[alone] = {"failed": "not tried"} if over else theirs(instance, folder, peer, alone)
    return found


def _ratio(a: float, b: float) -> str:
    return f"{a / b:.2f}×" if b else ""


def beside(instance: Instance, notion: str, we: dict[str, Any], they: dict[str, Any] | None) -> str:
    """One line: ours, theirs, the ratios, and what is open in theirs."""
    name = f"| {instance.name} | {notion} "
    if "failed" in we:
        line = f"{name}| | | {we['failed']} | | | |"
    else:
        line = (
            f"{name}| {we['cells']:,} | {we['primary']:,} | {we['cpu']:.2f} | {we['memory']:,.0f} "
            f"| {we['secondary']:,} | {we['value']:,.0f} |"
        )
    if they is None:
        return line + " | | | | | | | | | |"
    if "failed" in they:
        return line + f" {they['failed']} | | | | | | | | | |"
    audited = f"{they['audit']:.1f}" if "audit" in they else f"> {_AUDIT}"
    differ = f" ({they['differ']:,} primary cells differ)" if they["differ"] else ""
    line += f" {they['search']:.2f} | {audited} | {they['secondary']:,}{differ} | {they['value']:,.0f} |"
    if "failed" in we:
        line += " | | |"
    else:
        least = "" if "audit" in they else "< "
        whole = they["search"] + they.get("audit", _AUDIT)
        line += f" {least}{_ratio(we['cpu'], whole)} | {_ratio(we['secondary'], they['secondary'])} |"
        line += f" {_ratio(we['value'], they['value'])} |"
    if "unaudited" in they:
        return line + f" {they['unaudited']} | | |"
    n, value = they.get(f"mended_{notion}", (None, None))
    return line + (
        f" {they['outsider']:,} of {they['needs']:,}, {they['exact']:,} cells exactly "
        f"| {they['lone_exact']:,} / {they['lone_levels']:,} " + ("| |" if n is None else f"| {n:,}, {value:,.0f} |")
    )


def eliminated(instance: Instance, folder: Path) -> list[str]:
    """By elimination: against exact disclosure alone, and with everything that is asked by default."""
    lines = []
    small = instance is not LARGE
    for asked in (
        {"intervals": "exact", "singletons": "off"},
        *([{"intervals": "levels", "singletons": "off"}, {"intervals": "levels", "singletons": "levels"}] * small),
    ):
        found = ours(instance, folder, search="gauss", **asked)
        line = f"| {instance.name} | {asked['intervals']} | {asked['singletons']} |"
        if "failed" in found:
            lines.append(f"{line} | | {found['failed']} | | | | |")
        else:
            lines.append(
                f"{line} {found['cells']:,} | {found['primary']:,} | {found['cpu']:.2f} | {found['memory']:,.0f} "
                f"| {found['secondary']:,} | {found['value']:,.0f} | {found['disclosed']:,} |"
            )
    return lines


_HEAD = [
    "| table | singletons | cells | primary | Flou, CPU s | MB | secondary | their value | peer: search | audit "
    "| secondary | their value | CPU | cells | value | open to outsiders | to lone contributors | mended |",
    "|---|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|",
]
_GAUSS_HEAD = [
    "| table | intervals | singletons | cells | primary | CPU s | MB | secondary | their value | disclosed |",
    "|---|---|---|---:|---:|---:|---:|---:|---:|---:|",
]


def written(modular: list[str], gauss: list[str], programs: list[str], peer: str) -> str:
    """The whole report."""
    threads = len(os.sched_getaffinity(0))
    return "\n".join(
        [
            "## Suppression with its audit",
            "",
            f"CPU seconds in one run (medians of three where a run takes less than 6 s), each in a process of its own; "
            f"{platform.python_implementation()} {platform.python_version()}, HiGHS {version('highspy')}, "
            f"{platform.machine()}, {threads} threads; peer: {peer or 'none'}. p% with p = 10 and a threshold of 3 on "
            "sums; the whole step with its audit on our side, search and audit on the peer's. The ratios are ours to "
            "the peer's: CPU with audits, secondary cells, their value. Open: needs of primary cells (a bound "
            "upwards or downwards) that the peer's pattern leaves open by our audit; to lone contributors: cells "
            'that are known exactly, and with levels ("exact" / "levels"). Mended: secondary cells and their value '
            "when our search closes what the peer's pattern leaves open.",
            "",
            *_HEAD,
            *modular,
            "",
            "### By elimination (gauss)",
            "",
            *_GAUSS_HEAD,
            *gauss,
            "",
            "### Independent programs",
            "",
            *programs,
            "",
        ]
    )


def run(folder: Path, peer: Path | None = None) -> None:
    modular: list[str] = []
    gauss: list[str] = []
    named = ""
    programs = checked(20)
    for instance in INSTANCES:
        asked = {} if peer is None else compared(instance, folder, peer)
        for notion, words in _ASKED.items():
            we = ours(instance, folder, search="modular", singletons=notion)
            modular.append(beside(instance, notion, we, asked.get(words)))
        named = next((f"pytauargus {found['version']}" for found in asked.values() if "version" in found), named)
        gauss += eliminated(instance, folder)
        # a run takes long: what is known so far can be read
        publish("suppress", written(modular, gauss, programs, named))
    gauss += eliminated(LARGE, folder)
    publish("suppress", written(modular, gauss, programs, named))
