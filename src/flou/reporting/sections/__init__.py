"""The sections of a report in their order, and which of them shows a result."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from flou.attack.results.cells import CellsResult
from flou.engine.attack import AttackResult
from flou.engine.comparison import ComparisonResult
from flou.engine.result import Result, RiskResult
from flou.reporting.reader import Reader
from flou.reporting.sections.attacks import Attacks, general, guesses
from flou.reporting.sections.file import Changed, File
from flou.reporting.sections.files import Files
from flou.reporting.sections.glossary import Glossary
from flou.reporting.sections.limits import Limits, limits
from flou.reporting.sections.parameters import Parameters
from flou.reporting.sections.proof import proof
from flou.reporting.sections.risk import Risk
from flou.reporting.sections.section import Section
from flou.reporting.sections.senses import Senses
from flou.reporting.sections.steps import Steps
from flou.reporting.sections.tables import Tables
from flou.reporting.sections.utility import Utility
from flou.reporting.sections.verdict import Verdict
from flou.reporting.subject import Subject
from flou.risk.micro.senses import SensesResult
from flou.risk.table.inference_result import InferenceResult
from flou.risk.table.rule_result import RuleResult

#: What shows a result, by its class: a new shape of answer brings a module and a line here.
SHOWN_BY: dict[type[Result], Any] = {
    RiskResult: Risk,
    RuleResult: Risk,
    InferenceResult: Risk,
    SensesResult: Senses,
    ComparisonResult: Utility,
    CellsResult: proof,
    AttackResult: guesses,
    Result: guesses,
}


def shown_by(result: Result) -> Any:
    """The section that shows a result, or what makes the answer of an attack from it."""
    kind = type(result)
    return next((SHOWN_BY[c] for c in kind.__mro__ if c in SHOWN_BY and (c is kind or c is not Result)), general)


def sections_of(subject: Subject, reader: Reader) -> list[Section | None]:
    """What the page says to this reader, in its order; None stands for a section that has nothing to say."""
    shown = [(shown_by(result), result) for result in subject.results]
    risk = Risk.of(subject, reader, [result for by, result in shown if by is Risk])
    steps = Steps.of(subject, reader)
    answers = [by(result, reader) for by, result in shown if by not in (Risk, Senses, Utility)]
    answers = [answer for answer in answers if answer is not None]
    return [
        *_of_release(subject, reader),
        risk,
        steps,
        Attacks(answers) if answers else None,
        Utility.of(subject, reader, [r for r in subject.results if isinstance(r, ComparisonResult)]),
        Parameters.of(subject, reader, steps, risk),
        Glossary.of(subject, reader, risk),
    ]


def _of_release(subject: Subject, reader: Reader) -> Iterator[Section | None]:
    """What was decided and what is released; the public sees no file beside tables."""
    if subject.verdict is not None:
        yield Verdict.of(subject, reader)
    elif subject.tables:
        yield Limits(limits(subject, reader))
    if subject.tables:
        yield Tables.of(subject, reader)
    if not (subject.tables and reader.public):
        yield File((subject.released_overview if reader.public else None) or subject.original_overview)
        if (files := Files.of(subject, reader)) is not None:
            yield files
        yield None if reader.public or subject.changed is None else Changed(reader.notes(subject.changed))
