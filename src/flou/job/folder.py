"""The output folder of a run: `public/` and `internal/`, whole or not at all.

Everything is written to a temporary folder beside the target and renamed at the end. An existing
folder is never overwritten unless asked, and then only if a former run made it. A withheld release
leaves `public/` out.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
from datetime import UTC, datetime
from pathlib import Path

import polars as pl

from flou._version import __version__
from flou.decide.verdict import Decision
from flou.describe.files import write
from flou.describe.table.table import Table
from flou.describe.table.table_set import TableSet
from flou.engine.errors import OutputError, listed
from flou.engine.former import FILE as PARAMETERS
from flou.engine.former import parameters_of
from flou.engine.native import first_line
from flou.engine.progress import Progress, listening, tell
from flou.engine.words import LANGUAGES
from flou.job.carry_out import Done

_MANIFEST, _PROFILE = "manifest.json", "profile.json"


def require_free(out: Path, *, replace: bool = False) -> None:
    """Refuse a target that would be overwritten, before any work is done."""
    if not out.exists() or (out.is_dir() and not any(out.iterdir())):
        return
    if not replace:
        raise OutputError(f"{str(out)!r} exists and is not overwritten. Choose another --out, or pass --replace.")
    foreign = _not_ours(out)
    if foreign:
        raise OutputError(
            f"{str(out)!r} holds files not made by a run of Flou ({listed(foreign)}), so it is not replaced. "
            "Choose another --out."
        )


def _not_ours(out: Path) -> list[str]:
    """Files in a folder that a former run did not write; all of them when no run made it."""
    files = {str(p.relative_to(out)) for p in out.rglob("*") if not p.is_dir()} if out.is_dir() else {out.name}
    try:
        manifest = json.loads((out / "internal" / _MANIFEST).read_text(encoding="utf-8"))
        public = {str(Path("public") / name) for name in manifest["public"] if manifest["flou"] and manifest["verdict"]}
    except (OSError, ValueError, KeyError, TypeError):
        return sorted(files) or [out.name]
    pages = {str(Path("internal") / f"report.{language}.html") for language in LANGUAGES}
    return sorted(
        files - public - pages - {str(Path("internal") / name) for name in (_MANIFEST, _PROFILE, PARAMETERS, "log.txt")}
    )


def write_folder(done: Done, out: Path, *, replace: bool = False, progress: Progress | None = None) -> Path:
    """Write the output of a run under a temporary name, then rename it to `out`."""
    require_free(out, replace=replace)
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        temporary = Path(tempfile.mkdtemp(dir=out.parent, prefix=f".{out.name}."))
    except OSError as error:
        raise OutputError(f"{str(out)!r} cannot be made ({error.strerror}).") from None
    try:
        with listening(progress):
            _fill(done, temporary)
            _fill_table(done, replace=replace)
        temporary.chmod(0o755)
        (temporary / "internal").chmod(0o700)  # for the office alone
        _put_in_place(temporary, out)
    except (OSError, pl.exceptions.PolarsError) as error:
        raise OutputError(f"{str(out)!r} could not be written: {first_line(error)}. Nothing was left behind.") from None
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    return out


def _put_in_place(temporary: Path, out: Path) -> None:
    """Rename the new folder to its place; a former one gives way, and comes back if that fails."""
    if not out.exists() or not any(out.iterdir()):
        temporary.replace(out)
        return
    former = Path(tempfile.mkdtemp(dir=out.parent, prefix=f".{out.name}.former."))
    out.replace(former / "out")
    try:
        temporary.replace(out)
    except OSError:
        (former / "out").replace(out)
        former.rmdir()
        raise
    shutil.rmtree(former, ignore_errors=True)


def _fill(done: Done, folder: Path) -> None:
    internal = folder / "internal"
    internal.mkdir()
    languages = done.plan.output.languages
    withheld = done.verdict.decision is Decision.WITHHOLD
    n_pages = len(languages) * (1 if withheld else 2)
    if not withheld:
        public = folder / "public"
        public.mkdir()
        tell("write data", 0, 1)
        _write_release(done, public)
    for i, language in enumerate(languages):
        tell("write reports", i, n_pages)
        done.report.save(internal / f"report.{language}.html", language=language, audience="internal")
        if not withheld:
            done.report.save(folder / "public" / f"report.{language}.html", language=language, audience="public")
    (internal / _MANIFEST).write_text(
        json.dumps(_manifest(done, folder), indent=2, ensure_ascii=False, default=str) + "\n", encoding="utf-8"
    )
    (internal / _PROFILE).write_text(done.profile.to_json(), encoding="utf-8")
    parameters = parameters_of(done.release.steps, done.plan.release, done.former)
    (internal / PARAMETERS).write_text(parameters, encoding="utf-8")
    (internal / "log.txt").write_text(_log(done), encoding="utf-8")


def _write_release(done: Done, public: Path) -> None:
    """The protected records; where the plan makes tables, those alone."""
    output, data = done.plan.output, done.release.data
    if isinstance(data, Table | TableSet):
        tables = TableSet.of([data.with_changes(name=data.name or "table")]) if isinstance(data, Table) else data
        tables.write(public / "tables", kind=done.plan.file_format)
    else:
        write(done.release, public / f"data.{done.plan.file_format}", rows_per_part=output.rows_per_part)


def _fill_table(done: Done, *, replace: bool) -> None:
    """Write the table that the plan names; only of a release that nobody needs to look at any more."""
    output = done.plan.output
    if output.database is not None and done.verdict.decision is Decision.RELEASE:
        write(done.release, output.database, table=output.table, overwrite=replace)


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
        "guarantees": [str(g) for g in done.release.guarantees],
        "policy": None if done.policy is None else done.policy.model_dump(mode="json"),
        "verdict": done.verdict.to_dict(),
        "public": {p.relative_to(folder / "public").as_posix(): _sha256(p) for p in public},
    }  # fmt: skip


def _drawn_by_system(done: Done) -> bool:
    """Whether a step drew what no secret repeats: the hashes of the public files are then all that can be checked."""
    return any(step.method.draws_from_system for step in done.release.steps)


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
    lines += [f"{seconds:9.3f} s  {stage}" for stage, seconds in done.timings]
    lines += [f"{s.seconds:9.3f} s  step {s.number}: {s.method.name()}" for s in done.release.steps]
    return "\n".join(lines) + "\n"
