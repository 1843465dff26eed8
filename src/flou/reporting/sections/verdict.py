"""The verdict: what was decided, because of which rules, and what it does not say."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

from flou.decide.verdict import Decision
from flou.reporting.reader import Reader
from flou.reporting.sections.limits import limits
from flou.reporting.sections.section import Section
from flou.reporting.subject import Subject


@dataclass(frozen=True)
class Verdict(Section, anchor="verdict", link="Verdict"):
    """Each reason as the class and the name of its decision, what was found or asked for, and the office's words."""

    decision: str
    meaning: str
    policy: str
    reasons: list[tuple[str, str, str, str]]
    limits: list[str]

    @classmethod
    def of(cls, subject: Subject, reader: Reader) -> Self:
        verdict, reasons = subject.verdict, []
        assert verdict is not None
        for held in verdict.reasons:
            if not held.rule.method or reader.is_told(held.rule.method):
                because = reader.note(held.rule) if reader.public else reader.words.note(held.text)
                names = held.decision.name.lower(), _name(held.decision, reader)
                reasons.append((*names, because, reader.either(held.why)))
        named = _name(verdict.decision, reader), _meaning(verdict.decision, subject, reader)
        return cls(*named, reader.either(verdict.policy), reasons, limits(subject, reader))


def _name(decision: Decision, reader: Reader) -> str:
    text = {Decision.RELEASE: "Release", Decision.REVIEW: "Review", Decision.WITHHOLD: "Withhold"}
    return reader.words(text[decision])


def _meaning(decision: Decision, subject: Subject, reader: Reader) -> str:
    """What a decision asks of the office."""
    meaning = {
        Decision.RELEASE: "The file may be published.",
        Decision.REVIEW: "Somebody must look at it before the file is published.",
        Decision.WITHHOLD: "The file must not be published.",
    }
    if subject.tables:
        meaning = {
            Decision.RELEASE: "The tables may be published.",
            Decision.REVIEW: "Somebody must look at them before the tables are published.",
            Decision.WITHHOLD: "The tables must not be published.",
        }
    return reader.words(meaning[decision])
