"""TOML both ways: read with clear errors, write what a plan or schema holds."""

from __future__ import annotations

import datetime as dt
import json
import warnings
from collections.abc import Mapping
from os import PathLike
from typing import Any

from flou.engine.errors import PlanError, did_you_mean
from flou.engine.formats import FormatWarning, as_written_now, changed_meanings
from flou.engine.output import PUBLIC, checked_path, written_whole
from flou.engine.parsing import Unparsable, parsed_toml

#: The format of plan, schema and policy files. A newer one is refused, an older one read with a warning.
FORMAT = 2


def read(path: str | PathLike[str], what: str) -> dict[str, Any]:
    """Read a Flou TOML file and check its format number."""
    file = checked_path(path, f"A {what}", PlanError)
    try:
        text = file.read_text(encoding="utf-8")
    except OSError as error:
        near = [p.name for p in file.parent.iterdir()] if file.parent.is_dir() and not file.exists() else []
        hint = did_you_mean(file.name, near) if near else ""
        raise PlanError(f"The {what} {str(path)!r} cannot be read ({error.strerror}).{hint}") from None
    except UnicodeDecodeError:
        raise PlanError(f"The {what} {str(path)!r} is not UTF-8 text.") from None
    try:
        table = parsed_toml(text)
    except Unparsable as error:
        raise PlanError(f"The {what} {str(path)!r} is not valid TOML: {error}.") from None
    check_format(table, what, f"{what} {str(path)!r}")
    return table


def check_format(table: dict[str, Any], kind: str, where: str) -> None:
    """Take the line `flou = 2` out of the table; its absence or a newer number is refused, an older one warns."""
    number = table.pop("flou", None)
    if isinstance(number, bool) or not isinstance(number, int) or number < 1:
        raise PlanError(f"The {where} must begin with the line `flou = {FORMAT}`, its format number.")
    if number > FORMAT:
        raise PlanError(f"The {where} has format {number}; this version of Flou reads up to {FORMAT}. Upgrade Flou.")
    if number < FORMAT:
        changed = changed_meanings(kind, table)
        as_written_now(kind, table)
        text = "".join(f"\n- {meaning}" for meaning in changed) or " Nothing in it means anything else now."
        warnings.warn(
            f"The {where} has format {number}. `flou migrate` rewrites it to format {FORMAT}.{text}",
            FormatWarning,
            stacklevel=2,
        )


def write(table: Mapping[str, Any]) -> str:
    """A table as TOML text, with its format number first; lists of tables become [[sections]]."""
    lines = [f"flou = {FORMAT}"]
    sections = {k: v for k, v in table.items() if _is_section(v)}
    lines += [f"{_key(k)} = {_value(v)}" for k, v in table.items() if k not in sections]
    for name, value in sections.items():
        for entry in value if isinstance(value, list) else [value]:
            header = f"[[{_key(name)}]]" if isinstance(value, list) else f"[{_key(name)}]"
            lines += ["", header, *(f"{_key(k)} = {_value(v)}" for k, v in entry.items())]
    return "\n".join(lines) + "\n"


def save(table: Mapping[str, Any], path: str | PathLike[str], *, overwrite: bool) -> None:
    """Write a table to a file; an existing one is not overwritten unless asked."""
    text = write(table)
    with written_whole(path, overwrite=overwrite, mode=PUBLIC) as file:
        file.write(text.encode())


def _is_section(value: object) -> bool:
    if isinstance(value, Mapping):
        return True
    return isinstance(value, list) and bool(value) and all(isinstance(v, Mapping) for v in value)


def _key(name: str) -> str:
    bare = name != "" and all(c.isascii() and (c.isalnum() or c in "_-") for c in name)
    return name if bare else _text(name)


def _text(value: str) -> str:
    # JSON escapes all that TOML must, but for DEL
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007F")


def _value(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, dt.date):
        return value.isoformat()
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{_key(str(k))} = {_value(v)}" for k, v in value.items()) + " }"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(_value(v) for v in value) + "]"
    raise PlanError(f"{value!r} cannot be written to a plan file; it is for use in Python alone.")
