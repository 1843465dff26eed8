"""What the report says of tables: how their counts were protected, and what may be read off them.

The public reads what is in the published files and the chances of the noise, which everybody may know; never a true
count, a key, or how many cells a step changed. The office reads that as well.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from flou.describe.mechanism.mechanism import Mechanism
from flou.describe.mechanism.transition_matrix import TransitionMatrix
from flou.describe.table.drawn import MARK
from flou.engine.charts import to_svg
from flou.engine.data import data_kind
from flou.engine.release import Step
from flou.engine.result import Result
from flou.reporting.suppressed_tables import SuppressedTables

#: True counts whose chances a page lists.
_COUNTS_SHOWN = (1, 2, 3, 5, 10, 20)


def speaks_of_tables(result: Result) -> bool:
    """Whether a result was measured on tables."""
    return data_kind(getattr(result, "data", None)) in ("table", "table set")


@dataclass(frozen=True)
class TableSection(SuppressedTables):
    """The tables of a release and their protection."""

    @property
    def mechanisms(self) -> list[Mechanism]:
        """What moved the counts, each once."""
        found: list[Mechanism] = []
        for table in self.tables:
            held = table.mechanism
            if held is not None and held.has_chances and all(table.mechanism != m for m in found):
                found.append(held)
        return found

    def chances(self, mechanism: Mechanism) -> list[list[str]]:
        """What becomes of a true count: public knowledge, and what an analyst needs."""
        lines = [(self.words.number(i), i) for i in _COUNTS_SHOWN]
        if isinstance(mechanism, TransitionMatrix):  # its last row serves every larger count
            lines = [(name, i) for name, i in lines if i < mechanism.last]
            lines.append((self.words("{n} and more", n=mechanism.last), mechanism.last))
        return [[name, *self._chances(mechanism, i)] for name, i in lines]

    def _chances(self, mechanism: Mechanism, i: int) -> Sequence[str]:
        row = mechanism.deviation_row(i)
        deviations = np.abs(np.arange(-mechanism.reach, mechanism.reach + 1))
        shown_as_zero = float(mechanism.probability([0], [i])[0])
        return (
            self.words.share(float(row[mechanism.reach])),
            self.words.share(round(float(row[deviations <= 2].sum()), 9)),
            self.words.share(shown_as_zero),
            self.words.number(round(float(np.sqrt(mechanism.variance(i))), 2)),
        )

    def noise_charts(self, mechanism: Mechanism) -> list[str]:
        """The noise of a small count and of large ones, where the mechanism can be drawn."""
        if not isinstance(mechanism, TransitionMatrix):
            return []
        counts: tuple[Any, ...] = (1, "large")
        return [to_svg(mechanism.plot(count, language=self.words.language)) for count in counts]

    def table_limits(self) -> list[str]:
        """What a verdict on tables does not say."""
        words = self.words
        text = (
            "What was measured speaks of single cells. Differences of cells, and of these tables and others of the "
            "same people, can tell more."
        )
        if any(r.method == "difference_inference" and speaks_of_tables(r) for r in self.results):
            text = (
                "What was measured speaks of single cells and of differences of two. More cells at a time, and other "
                "tables of the same people, can tell more."
            )
        if self.suppressed:
            text = (
                "The audit speaks of each table by itself. Other tables of the same people or firms, published now or "
                "before, can tell more."
            )
        if not self.public and any(r.method == "reconstruction" for r in self.results):
            text = (
                "All tables were attacked together. Other tables of the same people, and what somebody knows of them "
                "besides, can tell more."
            )
        found = [words(text)]
        if self.keyed and not self.public:
            found.append(
                words(
                    "The noise of a cell hangs on who is in it. Protect every table of these people with the same "
                    "secret and the same parameters: noise that is drawn anew can be averaged away."
                )
            )
        if not self.records.released and not self.public:
            found.append(words("The records behind the tables were not changed; they must not be published."))
        return found

    @property
    def keyed(self) -> bool:
        """Whether keys of records decided the noise: nothing was drawn, and yet nobody without them can repeat it."""
        return any("cell keys" in step.method.requires for step in self.release.steps)

    def record_keys(self) -> str:
        """Where the keys of the records came from, as far as it is known; never a key."""
        origins = {
            "file": "record keys from a secret read from a file: the same plan, data and secret give the same figures",
            "environment": "record keys from a secret read from the environment: the same plan, data and secret give "
            "the same figures",
            "test": "record keys from a test seed, which anybody can guess: for tests only",
            "demonstration": "record keys from the published demonstration secret: for synthetic data only",
            "stored": "record keys read from a stored column: the same plan, data and keys give the same figures",
            "before": "record keys made beforehand, from the office's secret or a stored column: the same data and "
            "keys give the same figures",
        }
        trail = self.release.trail
        if trail.keyed or trail.secret_origin == "test":
            return self.words(origins.get(trail.secret_origin, origins["before"]))
        # a plan makes keys of a secret, unless it names a column; tables made by hand do not tell
        return self.words(origins["before" if self.release.data.kin.records is None else "stored"])

    def table_notes(self) -> list[str]:
        """What readers of the tables should know."""
        words, found = self.words, []
        if self.mechanisms:
            found.append(
                words(
                    "Counts were moved one by one, so that cells need not add up to their totals: read each by itself."
                )
            )
        if self.suppressed:
            found.append(
                words(
                    "Figures that are shown are the true ones. Cells that would tell of people or firms are "
                    "suppressed, and others with them, so that nobody can compute the first."
                )
            )
        if self.withholds and not all(table.suppression is not None and self.is_drawn(table) for table in self.tables):
            found.append(f"{MARK}{words.colon} {words('cell suppressed for statistical confidentiality')}")
        if any(table.hides_zeros and table.suppression is None for table in self.tables):
            found.append(
                words(
                    "A cell that is not listed is empty, or shown as zero: both are left out. Figures beside it can "
                    "tell which."
                )
            )
        return found

    def changed_counts(self, step: Step) -> list[str]:
        """What a step did to the tables; how much is for the office alone."""
        words = self.words
        if self.suppressed:
            n_changed = sum(c.n_changed or 0 for c in step.changes)
            return [
                words("cells suppressed")
                if self.public
                else words("{n} of {all} cells suppressed", n=n_changed, all=step.n_records_before)
            ]
        if self.public:
            return [words("counts changed")]
        figures = step.figures
        lines = [
            words(
                "{n} of {all} cells changed", n=sum(c.n_changed or 0 for c in step.changes), all=step.n_records_before
            )
        ]
        if "mean_deviation" in figures and "largest_deviation" in figures:
            lines.append(
                words(
                    "mean absolute deviation {mean}, largest {largest}",
                    mean=round(float(figures["mean_deviation"] or 0), 2),
                    largest=figures["largest_deviation"],
                )
            )
        return lines
