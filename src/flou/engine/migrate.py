"""Rewriting a file of format 1 as format 2: the text stays as it is, but for what has to change."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from flou.engine import toml
from flou.engine.errors import PlanError
from flou.engine.formats import changed_meanings, rewritten
from flou.engine.output import PUBLIC, checked_path, written_whole
from flou.engine.parsing import Unparsable, parsed_toml
from flou.engine.series import Series
from flou.engine.toml import FORMAT


def migrate(path: str | Path, *, period: str | None = None) -> list[str]:
    """Rewrite a plan, schema or policy file in place; what its words mean now, where they meant something else."""
    file = checked_path(path, "A file to migrate", PlanError)
    try:
        text = file.read_text(encoding="utf-8")
        table = parsed_toml(text)
    except OSError as error:
        raise PlanError(f"The file {str(path)!r} cannot be read ({error.strerror}).") from None
    except (UnicodeError, Unparsable) as error:
        raise PlanError(f"The file {str(path)!r} is not valid TOML: {error}.") from None
    if table.get("flou") == FORMAT:
        return []
    if table.get("flou") != 1:
        raise PlanError(f"The file {str(path)!r} has no line `flou = 1`: plans, schemas and policies have.")
    kind = _kind(table)
    made = re.sub(r"(?m)^(flou\s*=\s*)1\b", rf"\g<1>{FORMAT}", text, count=1)
    changed = changed_meanings(kind, table)
    made = rewritten(made) if kind == "plan" else made
    if period is not None:
        if kind != "plan" or "release" in table:
            raise PlanError("--period is for a plan without a section [release].")
        section = toml.write({"release": {"period": Series(period=period).period}})
        made = made.rstrip("\n") + "\n" + section.removeprefix(f"flou = {FORMAT}\n")
        changed = [meaning for meaning in changed if "needs a period" not in meaning]
    if parsed_toml(made).get("flou") != FORMAT:
        raise PlanError(f"The line of the format in {str(path)!r} was not found: write `flou = {FORMAT}` yourself.")
    with written_whole(file, overwrite=True, mode=PUBLIC) as out:
        out.write(made.encode())
    return changed


def _kind(table: dict[str, Any]) -> str:
    """What a file is, by its sections."""
    return "schema" if "columns" in table else "policy" if "rule" in table else "plan"
