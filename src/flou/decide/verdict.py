"""The verdict: release, review or withhold, with a reason for each rule."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from html import escape
from typing import Any

from flou.engine.note import Note


class Decision(IntEnum):
    """What the office may do; a worse one is larger."""

    RELEASE = 0
    REVIEW = 1
    WITHHOLD = 2


@dataclass(frozen=True)
class Reason:
    """Why one rule decided as it did."""

    decision: Decision
    #: What was found; it may hold a small count, so public pages show `rule` instead.
    text: Note
    rule: Note
    why: Mapping[str, str]

    def __str__(self) -> str:
        return f"{self.decision.name}: {self.text}"


@dataclass(frozen=True, repr=False)
class Verdict:
    """The decision and its reasons, the worst first."""

    decision: Decision
    reasons: tuple[Reason, ...]
    policy: Mapping[str, str]
    #: Public pages show no key and no count below this.
    min_count: int = 3
    #: The released data that were judged, so that no page shows the verdict of another file.
    judged: tuple[object, ...] = field(default=(), repr=False, compare=False)
    #: Whether public pages show the parameters of the rules on sensitive cells.
    public_rules: bool = False

    def __str__(self) -> str:
        return "\n".join([self.decision.name, *(f"  {r}" for r in self.reasons)])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        rows = "".join(f"<tr><td>{r.decision.name}</td><td>{escape(str(r.text))}</td></tr>" for r in self.reasons)
        return f"<table><caption>{self.decision.name}</caption>{rows}</table>"

    def to_dict(self) -> dict[str, Any]:
        return {
            "decision": self.decision.name,
            "policy": dict(self.policy),
            "reasons": [{"decision": r.decision.name, "text": str(r.text), "why": dict(r.why)} for r in self.reasons],
        }
