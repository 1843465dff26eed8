"""What the report says of attacks: rates of those that guess, and what those that deduce have proven.

What follows from published figures is a proof: the office reads how many cells somebody can compute, who, and how far
bounds lie from the true figures. The public reads that the table was attacked and that nothing came of it; neither how
many intruders were tried, which would tell how many contributors are alone in a cell, nor which cells are sensitive.
Averaging, reconstruction and the intruder who lacks one value are for the office: how often they are right would tell
an intruder how far to trust what he found, and how many cells somebody is in, some of them shown as zero.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from flou.attack.results.cells import CellsResult
from flou.engine.charts import to_svg
from flou.engine.comparison import ComparisonResult
from flou.engine.result import Result
from flou.engine.values import Proportion
from flou.reporting.risk_section import RiskSection, is_measure

#: Findings that a page lists, and suppressed cells up to which bounds are computed for a chart.
_MOST_FINDINGS, _MOST_DRAWN = 20, 2000


@dataclass(frozen=True)
class AttackSection(RiskSection):
    """Attacks on what would be published."""

    @property
    def others(self) -> list[Result]:
        """Results of attacks; the public is told of proofs only that nothing came of them."""
        found = [r for r in self.results if not isinstance(r, ComparisonResult) and not is_measure(r)]
        return [r for r in found if not (self.public and self._is_withheld(r))]

    def _is_withheld(self, result: Result) -> bool:
        return not self.is_told(result.method) or (isinstance(result, CellsResult) and not result.safe())

    def guess_figures(self, result: Result) -> list[tuple[str, str]]:
        """Label and value of the headline and of each figure of an attack that guesses; internal only."""
        if self.public:
            return []
        figures = (result.headline, *result.figures.held)
        return [(self.words(f.label), self._told(f.read)) for f in figures if f.value is not None]

    def _told(self, value: Any) -> str:
        if isinstance(value, Proportion):
            return self.words.share(value)
        if isinstance(value, bool):
            return self.words("yes") if value else self.words("no")
        return self.words.number(round(value, 4)) if isinstance(value, int | float) else self.words(str(value))

    def guess_chart(self, result: Result) -> str:
        """What such an attack found, beside what is found without the tables; internal only."""
        if self.public or getattr(result, "chart", None) is None:
            return ""
        drawn: Any = result
        return to_svg(drawn.plot(self.words.language))

    def is_proof(self, result: Result) -> bool:
        """Whether an attack deduces and does not guess."""
        return isinstance(result, CellsResult)

    def proof(self, result: CellsResult) -> str:
        """What an attack that deduces comes to, in a sentence."""
        if result.safe():
            return self.words("Audited: no suppressed cell can be computed more closely than the rules allow.")
        return self.words(
            "{n} of {all} sensitive cells can be computed: {exact} exactly, {narrow} more closely than is allowed.",
            n=result.n_exact + result.n_narrow,
            all=result.n_sensitive,
            exact=result.n_exact,
            narrow=result.n_narrow,
        )

    def proof_figures(self, result: CellsResult) -> Iterator[tuple[str, str]]:
        """Label and value of the headline and of each figure; internal only."""
        yield self.words(result.value_label), self.words.share(result.value)
        for figure in result.figures.held:
            yield self.words(figure.label), self._number(figure.value)

    def proof_findings(self, result: CellsResult) -> tuple[list[str], list[list[str]], int] | None:
        """The first disclosed cells: who computes what; and how many more there are. Internal only."""
        if self.public or result.case is None or result.safe():
            return None
        words, found = self.words, result.audit.findings
        header = [
            words("cell"),
            words("computed by"),
            words("least"),
            words("most"),
            words("needed"),
            words("disclosed"),
        ]
        names = result.case.table.labels()
        kinds = {"exact": words("exactly"), "narrow": words("too closely")}
        rows = [
            [
                " × ".join(map(str, names.row(row["cell"]))),
                self._by(row["by"]),
                self._number(row["low"]),
                self._number(row["high"]),
                self._needed(row["needed_low"], row["needed_high"]),
                kinds[row["kind"]],
            ]
            for row in found.head(_MOST_FINDINGS).iter_rows(named=True)
        ]
        return header, rows, max(0, found.height - _MOST_FINDINGS)

    def _number(self, value: Any) -> str:
        if not math.isfinite(value):
            return "∞" if value > 0 else "−∞"
        return self.words.number(round(value, 6))

    def _by(self, who: str) -> str:
        cell = who.removeprefix("who is alone in ")
        return self.words("an outsider") if cell == who else self.words("who is alone in {cell}", cell=cell)

    def _needed(self, low: float | None, high: float | None) -> str:
        ends = [None if end is None else self._number(end) for end in (low, high)]
        if ends[0] is None or ends[1] is None:
            return f"≥ {ends[1]}" if ends[1] is not None else f"≤ {ends[0]}"
        return f"{ends[0]} – {ends[1]}"

    def proof_chart(self, result: CellsResult) -> str:
        """The bounds of the sensitive cells, where that is no long work; internal only."""
        drawn = result.chart is not None and result.n_sensitive and result.n_suppressed <= _MOST_DRAWN
        return to_svg(result.plot(self.words.language)) if drawn and not self.public else ""
