"""The names of what a run writes, by which a former run's folder is known."""

from __future__ import annotations

import re
from pathlib import Path

from flou.engine.parsing import parsed_json

#: In `internal/`, beside the reports.
MANIFEST, PROFILE, PARAMETERS, LOG = "manifest.json", "profile.json", "parameters.json", "log.txt"
_INTERNAL = re.compile(rf"report\.[a-z]{{2}}\.html|{'|'.join(map(re.escape, (MANIFEST, PROFILE, PARAMETERS, LOG)))}")


def not_ours(out: Path) -> list[str]:
    """Files in a folder that a former run did not write; all of them when no run made it."""
    files = {p.relative_to(out) for p in out.rglob("*") if not p.is_dir()} if out.is_dir() else {Path(out.name)}
    try:
        manifest = parsed_json((out / "internal" / MANIFEST).read_text(encoding="utf-8"))
        public = {Path("public") / name for name in manifest["public"] if manifest["flou"] and manifest["verdict"]}
        beside = {
            file["name"].partition(".")[0] for file in manifest.get("files", ()) if file["audience"] == "internal"
        }
    except (OSError, ValueError, KeyError, TypeError):
        return sorted(map(str, files)) or [out.name]
    return sorted(str(p) for p in files - public if not _is_internal(p, beside))


def _is_internal(path: Path, beside: set[str]) -> bool:
    """Whether a run wrote a file into its internal folder; `beside` are those that a step made beside the data."""
    if path.parts[0] != "internal" or len(path.parts) < 2:
        return False
    own = len(path.parts) == 2 and _INTERNAL.fullmatch(path.name) is not None
    return own or path.parts[1].partition(".")[0] in beside
