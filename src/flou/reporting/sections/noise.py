"""What moved the counts of tables: the chances of the noise, which everybody may know and an analyst needs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from flou.describe.mechanism.mechanism import Mechanism
from flou.describe.mechanism.transition_matrix import TransitionMatrix
from flou.engine.charts import to_svg
from flou.reporting.reader import Reader
from flou.reporting.sections.section import Charts, Rows
from flou.reporting.subject import Subject

#: True counts whose chances a page lists.
_COUNTS_SHOWN = (1, 2, 3, 5, 10, 20)


@dataclass(frozen=True)
class Noise:
    """What becomes of some true counts; the noise of a small count and of large ones, where it can be drawn."""

    rows: Rows
    charts: Charts

    @classmethod
    def of(cls, mechanism: Mechanism, reader: Reader) -> Self:
        words = reader.words
        lines, charts = [(words.number(i), i) for i in _COUNTS_SHOWN], []
        if isinstance(mechanism, TransitionMatrix):  # its last row serves every larger count
            lines = [(name, i) for name, i in lines if i < mechanism.last]
            lines.append((words("{n} and more", n=mechanism.last), mechanism.last))
            counts: tuple[Any, ...] = (1, "large")
            charts = [("", to_svg(mechanism.plot(count, language=words.language))) for count in counts]
        return cls([(name, _chances(mechanism, i, reader)) for name, i in lines], charts)


def mechanisms(subject: Subject) -> list[Mechanism]:
    """What moved the counts, each once."""
    found: list[Mechanism] = []
    for held in (table.mechanism for table in subject.tables):
        if held is not None and held.has_chances and all(held != m for m in found):
            found.append(held)
    return found


def _chances(mechanism: Mechanism, i: int, reader: Reader) -> list[str]:
    row, words = mechanism.deviation_row(i), reader.words
    deviations = np.abs(np.arange(-mechanism.reach, mechanism.reach + 1))
    shown_as_zero = float(mechanism.probability([0], [i])[0])
    return [
        words.share(float(row[mechanism.reach])),
        words.share(round(float(row[deviations <= 2].sum()), 9)),
        words.share(shown_as_zero),
        words.number(round(float(np.sqrt(mechanism.variance(i))), 2)),
    ]
