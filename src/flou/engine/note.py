"""A remark that a result carries: a template and its values, so that a report can say it in two languages."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from flou.engine.values import plain_text, settings_text


@dataclass(frozen=True)
class Note:
    """`text` is the English template (and the key of its translation); `values` fill it, a mapping as parameters."""

    text: str
    values: dict[str, object] = field(default_factory=dict)
    #: Whether it says something of the original that the public does not see.
    internal: bool = False
    #: The method whose parameters stand in `values["settings"]`.
    method: str = ""

    def __str__(self) -> str:
        return self.text.format(**{k: _shown(v) for k, v in self.values.items()})


def _shown(value: object) -> str:
    return settings_text(value) if isinstance(value, Mapping) else plain_text(value)
