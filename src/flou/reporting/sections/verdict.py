"""The verdict: what was decided, because of which rules, and what it does not say."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

from flou.decide.verdict import Reason
from flou.reporting.reader import Reader
from flou.reporting.sections.limits import limits
from flou.reporting.sections.section import Section
from flou.reporting.subject import Subject


@dataclass(frozen=True)
class Verdict(Section, anchor="verdict", link="Verdict"):
    """The reasons: of a rule on what is for the office alone the public reads nothing."""

    reasons: list[Reason]
    limits: list[str]

    @classmethod
    def of(cls, subject: Subject, reader: Reader) -> Self:
        held = () if subject.verdict is None else subject.verdict.reasons
        told = [reason for reason in held if not reason.rule.method or reader.is_told(reason.rule.method)]
        return cls(told, limits(subject, reader))
