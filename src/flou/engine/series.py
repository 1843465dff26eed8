"""Which release of which series a plan makes: what noise and samples hang on besides the secret.

A series is what is published again and again about the same people, such as a yearly file. Noise of a value that did
not change is the same in each of its releases; samples are drawn for each period anew.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from flou.engine.errors import PlanError


@dataclass(frozen=True)
class Series:
    """`[release]`: the series, the period of this release, and the folder of the one before it."""

    series: str = ""
    period: str | None = None
    since: str | None = None
    #: Columns that had another name in the release before, each with that name; an empty one says that it is new.
    renamed: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in ("series", "period", "since"):
            held = getattr(self, name)
            if held == ("" if name == "series" else None):
                continue
            if not isinstance(held, str) or not held.strip() or not _is_writable(held):
                raise PlanError(f"[release] {name} = {held!r} should be a text that is not empty.")
            if name != "since":  # blanks around a name make no other series
                object.__setattr__(self, name, held.strip())
        texts = [*self.renamed, *self.renamed.values()] if isinstance(self.renamed, Mapping) else [None]
        if not all(isinstance(text, str) for text in texts):
            raise PlanError(
                f"[release] renamed = {self.renamed!r} should say what columns were called in the former release: "
                'renamed = { salary = "pay" }, or renamed = { salary = "" } for one that is new.'
            )


def _is_writable(text: str) -> bool:
    """Whether a text can stand in a file: half a character, as a terminal may pass it, cannot."""
    return text.isascii() or not any("\ud800" <= c <= "\udfff" for c in text)


#: A release that stands alone.
NO_SERIES = Series()
