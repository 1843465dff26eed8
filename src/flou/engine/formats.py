"""Formats of plan, schema and policy files: what a file of format 1 means in format 2."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

#: Measures whose sense of undetermined keys was `pessimistic` where none was named.
_SENSES = ("attacker_risk", "global_risk", "household_risk", "individual_risk", "k_anonymity")
_ROUNDINGS = ("rounding", "random_rounding")
_NOISES = ("additive_noise", "interval_blur", "multiplicative_noise", "pram")


class FormatWarning(UserWarning):
    """A file of a former format, in which some words meant something else."""


def changed_meanings(kind: str, table: Mapping[str, Any]) -> list[str]:
    """What the words of a file of format 1 mean now, where they meant something else."""
    found = {"plan": _of_plan, "schema": _of_schema, "policy": _of_policy}[kind](table)
    return list(dict.fromkeys(found))


def as_written_now(kind: str, table: dict[str, Any]) -> None:
    """Words of format 1 that have another name, put as they are called now."""
    for step in _tables(table.get("protect", [])) if kind == "plan" else ():
        if step.get("method") in _ROUNDINGS and step.get("additive") == "repair" and isinstance(step, dict):
            step["additive"] = "controlled"


def rewritten(text: str) -> str:
    """The text of a plan of format 1 with the same words put as they are called now."""
    parts = re.split(r"(?m)^(?=\[)", text)
    named = re.compile(rf"""(?m)^method\s*=\s*["'](?:{"|".join(_ROUNDINGS)})["']""")
    repair = re.compile(r"""(?m)^(additive\s*=\s*["'])repair(?=["'])""")
    return "".join(repair.sub(r"\1controlled", part) if named.search(part) else part for part in parts)


def _tables(value: object) -> list[Mapping[str, Any]]:
    held = value if isinstance(value, list) else [value]
    return [entry for entry in held if isinstance(entry, Mapping)]


def _without_sense(entries: Iterable[Mapping[str, Any]], settings: str | None = None) -> list[str]:
    """Methods that name no sense; in a rule of a policy the settings stand in a table of their own."""
    named = []
    for entry in entries:
        held = entry if settings is None else entry.get(settings, {})
        if entry.get("method") in _SENSES and isinstance(held, Mapping) and "missing" not in held:
            named.append(str(entry["method"]))
    return named


def _of_plan(table: Mapping[str, Any]) -> Iterable[str]:
    steps = _tables(table.get("protect", []))
    held = [s["measure"] for s in steps if isinstance(s.get("measure"), Mapping)]
    for name in _without_sense([*_tables(table.get("measure", [])), *held]):
        yield (
            f"{name} without missing counts nulls of a release as a category of their own (was: pessimistic), and the "
            "original alike."
        )
    if any(s.get("method") == "sample" for s in steps):
        yield 'sample needs a period: add the section [release] with the line period = "…", such as the year.'
    noises = sorted({str(s["method"]) for s in steps if s.get("method") in _NOISES})
    if noises:
        yield f"{', '.join(noises)} draws by column, value and scale (was: by step): the same plan gives other noise."
    repaired = (s for s in steps if s.get("method") in _ROUNDINGS and s.get("additive") == "repair")
    for name in sorted({str(s["method"]) for s in repaired}):
        yield (
            f'{name} with additive = "repair" is additive = "controlled": all cells are rounded together, each to a '
            "multiple next to it (was: cells moved further until margins added up)."
        )
    if "policy" in table:
        yield from _of_policy(table["policy"] if isinstance(table["policy"], Mapping) else {})


def _of_schema(table: Mapping[str, Any]) -> Iterable[str]:
    if table.get("unlisted") == "keep":
        yield 'unlisted = "keep" keeps columns for measuring; no policy releases a file with a column that has no role.'
    columns = table.get("columns", {})
    if isinstance(columns, Mapping) and any(isinstance(c, Mapping) and c.get("role") == "id" for c in columns.values()):
        yield "the role id must be unique: it is checked when the file is read."


def _of_policy(table: Mapping[str, Any]) -> Iterable[str]:
    rules = _tables(table.get("rule", []))
    for name in _without_sense(rules, "settings"):
        yield f"a rule on {name} without missing judges the release with nulls as a category (was: pessimistic)."
    for rule in rules:
        sense = rule.get("settings", {}).get("missing") if isinstance(rule.get("settings"), Mapping) else None
        if rule.get("method") in _SENSES and sense not in (None, "category"):
            yield (
                f"a rule on {rule['method']} with missing = {sense!r} is refused unless the same rule with "
                'missing = "category" stands beside it.'
            )
    if rules:
        yield "records are released only where every column has a role, and a rule on the risk was judged."
