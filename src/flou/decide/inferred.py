"""What a verdict says of hidden values that can be read off what is released."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from flou.decide.published import released_records
from flou.decide.rule import Rule
from flou.decide.verdict import Decision, Reason
from flou.describe.microdata import Microdata
from flou.engine.note import Note
from flou.engine.release import Release
from flou.engine.result import Result, RiskResult
from flou.risk.micro.inferable.inferable import inferable

#: The class that a record must not be refined below where nothing names another.
_LEAST = 3
_RULE = Note("nothing that was hidden can be read off what is released")
_DECISIONS = {"withhold": Decision.WITHHOLD, "review": Decision.REVIEW}


def inferred(rules: Sequence[Rule], results: Sequence[Result | Release]) -> Iterator[Reason]:
    """A reason for each hidden column that the released ones tell."""
    for data in released_records(results):
        for leak in inferable(data, largest_k(rules, results, data)):
            if leak.level in _DECISIONS:
                yield Reason(_DECISIONS[leak.level], leak.message, _RULE, {})


def largest_k(rules: Sequence[Rule], results: Sequence[Result | Release], data: Microdata) -> int:
    """The largest k that a rule, a measure or a step names; 3 where none does."""
    steps = () if data.trail is None else data.trail.steps
    settings: list[Any] = [rule.settings for rule in rules]
    settings += [r.settings for r in results if isinstance(r, RiskResult)]
    named = [held.get("k") for held in settings] + [getattr(step.method, "k", None) for step in steps]
    named += [getattr(getattr(step.method, "measure", None), "k", None) for step in steps]
    return max([k for k in named if isinstance(k, int) and not isinstance(k, bool)], default=_LEAST)
