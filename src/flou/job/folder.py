"""The output folder of a run: `public/` and `internal/`, whole or not at all.

Everything is written to a folder beside the target and renamed at the end (`flou.job.target`). An
existing folder is never overwritten unless asked, and then only if a former run made it. A withheld
release leaves `public/` out.
"""

from __future__ import annotations

import hashlib
import json
import os
from datetime import UTC, datetime
from pathlib import Path

import polars as pl

from flou._version import __version__
from flou.decide.verdict import Decision
from flou.describe.files import write_beside, write_records
from flou.describe.table.table import Table
from flou.describe.table.table_set import TableSet
from flou.engine.errors import OutputError
from flou.engine.former import parameters_of
from flou.engine.native import first_line
from flou.engine.output import PRIVATE, PUBLIC, written_whole
from flou.engine.progress import Progress, listening, tell
from flou.engine.released_file import ReleasedFile
from flou.job.carry_out import Done
from flou.job.run_files import LOG, MANIFEST, PARAMETERS, PROFILE
from flou.job.target import claimed


def write_folder(done: Done, out: Path, *, replace: bool = False, progress: Progress | None = None) -> Path:
    """Write the output of a run beside its target, then rename it to `out`."""
    with claimed(out, replace=replace) as target:
        with listening(progress):
            fill(done, target.new, replace=replace)
        target.put_in_place()
    return out


def fill(done: Done, folder: Path, *, replace: bool = False) -> None:
    """Write all that a run gives into an empty folder; `replace` is for the database table that the plan names."""
    try:
        _fill(done, folder)
        _fill_table(done, replace=replace)
    except (OSError, pl.exceptions.PolarsError) as error:
        raise OutputError(f"The output could not be written: {first_line(error)}. Nothing was left behind.") from None


def _fill(done: Done, folder: Path) -> None:
    internal = folder / "internal"
    internal.mkdir(mode=0o700)  # for the office alone
    for file in done.release.data.kin.files.values():
        if not file.is_public:
            write_beside(file, internal, ending=done.plan.file_format, mode=PRIVATE, formulas=done.plan.output.formulas)
    languages = done.plan.output.languages
    withheld = done.verdict.decision is Decision.WITHHOLD
    n_pages = len(languages) * (1 if withheld else 2)
    if not withheld:
        public = folder / "public"
        public.mkdir(mode=0o755)
        tell("write data", 0, 1)
        _write_release(done, public)
    for i, language in enumerate(languages):
        tell("write reports", i, n_pages)
        done.report.save(internal / f"report.{language}.html", language=language, audience="internal")
        if not withheld:
            done.report.save(folder / "public" / f"report.{language}.html", language=language, audience="public")
    manifest = json.dumps(_manifest(done, folder), indent=2, ensure_ascii=False, default=str) + "\n"
    parameters = parameters_of(done.release.steps, done.plan.release, done.former)
    pages = {MANIFEST: manifest, PROFILE: done.profile.to_json(), PARAMETERS: parameters, LOG: _log(done)}
    for name, text in pages.items():
        with written_whole(internal / name) as file:
            file.write(text.encode())


def _write_release(done: Done, public: Path) -> None:
    """The protected records; where the plan makes tables, those alone."""
    output, data = done.plan.output, done.release.data
    if isinstance(data, Table | TableSet):
        tables = TableSet.of([data.with_changes(name=data.name or "table")]) if isinstance(data, Table) else data
        tables.write(public / "tables", kind=done.plan.file_format, formulas=output.formulas)
    else:
        target = public / f"data.{done.plan.file_format}"
        write_records(data, target, rows_per_part=output.rows_per_part, mode=PUBLIC, formulas=output.formulas)
        for file in data.kin.files.values():
            if file.is_public:
                write_beside(file, public, ending=done.plan.file_format, mode=PUBLIC, formulas=output.formulas)


def _fill_table(done: Done, *, replace: bool) -> None:
    """Write the table that the plan names; only of a release that nobody needs to look at any more."""
    output = done.plan.output
    if output.database is not None and done.release.data.kin.files:
        raise OutputError("[output] database holds one table, and this release has several files: leave it out.")
    if output.database is not None and done.verdict.decision is Decision.RELEASE:
        write_records(done.release.data, output.database, table=output.table, overwrite=replace, mode=PUBLIC)


def _manifest(done: Done, folder: Path) -> dict[str, object]:
    """What was run on what. Inputs by HMAC under the secret, so that nobody can test a guess; outputs by plain hash."""
    public = sorted(p for p in (folder / "public").rglob("*") if p.is_file())
    return {
        "flou": __version__,
        "plan": done.plan.to_public_toml(),
        "inputs": _inputs(done),
        "changed": None if done.changed is None else [str(note) for note in done.changed],
        "secret": {"origin": done.secret.origin, "replayable": done.secret.replayable and not _drawn_by_system(done)},
        "results": [r.to_dict() for r in done.results],
        "steps": [
            {"method": s.method.name(), "settings": s.method.shown_settings(), f"{s.unit}_before": s.n_records_before,
             f"{s.unit}_after": s.n_records_after, "figures": dict(s.figures)}
            for s in done.release.steps
        ],
        "files": [_listed(file) for file in done.release.files.values()],
        "guarantees": [str(g) for g in done.release.guarantees],
        "policy": None if done.policy is None else done.policy.model_dump(mode="json"),
        "verdict": done.verdict.to_dict(),
        "public": {p.relative_to(folder / "public").as_posix(): _sha256(p) for p in public},
    }  # fmt: skip


def _listed(file: ReleasedFile) -> dict[str, object]:
    """What a file of the release is."""
    columns = [] if file.kind == "text" else list(file.data.public().columns)
    return {"name": file.name, "kind": file.kind, "audience": file.audience, "columns": columns}


def _drawn_by_system(done: Done) -> bool:
    """Whether a step drew what no secret repeats: the hashes of the public files are then all that can be checked."""
    return any("system entropy" in step.method.uses for step in done.release.steps)


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _inputs(done: Done) -> dict[str, str]:
    """The data, schema and policy files and those that methods read, by their HMAC under the secret."""
    plan = done.plan
    assert plan.data is not None
    named = [plan.data.source, plan.data.schema, (plan.policy or {}).get("file")]
    methods = (*plan.steps, *plan.measures, *plan.attacks, *plan.comparisons)
    named += [getattr(method, parameter) for method in methods for parameter in method.reads]
    files: list[Path] = []
    for name in dict.fromkeys(n for n in named if isinstance(n, str)):
        path = plan.folder / name
        files += [path] if path.is_file() else sorted(path.glob("*.parquet")) if path.is_dir() else _matching(path)
    return {os.path.relpath(p, plan.folder): done.secret.identify(p) for p in files}


def _matching(pattern: Path) -> list[Path]:
    return sorted(p for p in pattern.parent.glob(pattern.name) if p.is_file()) if pattern.parent.is_dir() else []


def _log(done: Done) -> str:
    """Times and dates stand here alone, so that everything else can be compared byte for byte."""
    lines = [f"{datetime.now(UTC).isoformat(timespec='seconds')} Flou {__version__}: {done.verdict.decision.name}"]
    lines += filter(None, [done.keeper.continues, *done.keeper.lines])
    lines += [f"{seconds:9.3f} s  {stage}" for stage, seconds in done.timings]
    lines += [f"{s.seconds:9.3f} s  step {s.number}: {s.method.name()}" for s in done.release.steps]
    return "\n".join(lines) + "\n"
