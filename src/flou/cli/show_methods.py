"""List methods by stage, kind of data and attack, or explain one, within 80 columns."""

from __future__ import annotations

import inspect
import re
import textwrap
from collections.abc import Iterable

from flou.cli.show import console, hanging, lines_of
from flou.engine import registry
from flou.engine.errors import ParameterError, PlanError, did_you_mean, listed
from flou.engine.method import Method
from flou.engine.method_facts import summary_of, told_answer, told_of
from flou.engine.taxonomy import ANSWERS, EVERY_ATTACK

_KINDS = ("microdata", "table", "table set", "mechanism")


def show_methods(*, stage: str | None = None, data: str | None = None, answers: str | None = None) -> None:
    """List the methods of each stage, filtered by kind of data and by attack."""
    _require_known("stage", stage, registry.STAGES)
    _require_known("data", data, _KINDS)
    _require_known("answers", answers, [attack.name for attack in EVERY_ATTACK])
    out, shown = console(), False
    for section in registry.STAGES:
        found = [] if stage not in (None, section) else [registry.find(section, n) for n in registry.names(section)]
        found = [m for m in found if data in (None, *m.takes) and (answers is None or m.answers_to(answers))]
        if found:
            shown = True
            out.print(section, style="bold")
            out.print(_lines(found, answers))
    if not shown:
        out.print("No method is of this kind.")
    elif answers is not None:
        meaning = next(attack.meaning for attack in EVERY_ATTACK if attack.name == answers)
        hanging(out, "", f"{answers}: the intruder learns {meaning}. {_MEANINGS}")
    out.print("Explain one: flou methods NAME")


_MEANINGS = (
    "A method closes an attack when it flags nobody, or keeps its guarantee; others make the attack harder, or say how "
    "far it reaches."
)


def _lines(methods: Iterable[type[Method]], attack: str | None) -> object:
    """One line per method; of an attack what it does about it, those first that close it."""
    table = lines_of("", "", *(() if attack is None else ("",)))
    table.show_header = False
    if attack is None:
        for method in methods:
            table.add_row(f"  {method.name()}", _summary(method))
        return table
    for method in sorted(methods, key=lambda m: min(map(ANSWERS.index, m.answers_to(attack).values()))):
        table.add_row(f"  {method.name()}", told_answer(method, attack), _summary(method))
    return table


def _summary(method: type[Method]) -> str:
    return summary_of(method).partition(": `")[0]


def _require_known(option: str, given: str | None, known: Iterable[str]) -> None:
    names = list(known)
    if given is not None and given not in names:
        raise ParameterError(
            f"--{option} {given!r} is not known.{did_you_mean(given, names)} There are: {listed(names)}."
        )


def _filled(paragraph: str) -> list[str]:
    """A paragraph in 78 columns; items of a list each on lines of their own, formulas as they are."""
    if any(line.startswith("    ") for line in paragraph.splitlines()):
        return paragraph.splitlines()
    first, *items = re.split(r"^- ", paragraph, flags=re.MULTILINE)
    lines = textwrap.wrap(" ".join(first.split()), 78)
    for item in items:
        lines += textwrap.wrap(" ".join(item.split()), 78, initial_indent="- ", subsequent_indent="  ")
    return lines


def show_method(name: str) -> None:
    """One method: what it does, its parameters, its reference."""
    wanted = name.replace("-", "_")
    found = [(s, registry.find(s, wanted)) for s in registry.STAGES if wanted in registry.names(s)]
    if not found:
        every = [n for s in registry.STAGES for n in registry.names(s)]
        raise PlanError(f"There is no method named {name!r}.{did_you_mean(wanted, every)}")
    stage, method = found[0]
    out = console()
    out.print(f"{method.name()} ({stage})", style="bold")
    module = inspect.getmodule(method)
    for text in (method.__doc__, module.__doc__ if module else None):
        for paragraph in inspect.cleandoc(text or "").split("\n\n"):
            for line in _filled(paragraph):
                out.print(line)
            out.print()
    table = lines_of("parameter", "default", "meaning")
    described = method.model_json_schema().get("properties", {})
    for field_name, field in method.model_fields.items():
        default = "required" if field.is_required() else "" if field.default is None else str(field.default)
        choices = described[field_name].get("enum", ())
        meaning = f"{field.description or ''}{': ' if choices else ''}{', '.join(choices)}"
        table.add_row(f"--{field_name.replace('_', '-')}", default, meaning)
    out.print(table)
    out.print()
    for label, text in told_of(method):
        hanging(out, f"{label}: ", text)
    if method.reference:
        out.print(f"Reference: {method.reference} (docs/reference/bibliography.md)")
