"""What the report says of utility: each comparison's headline, figures, worst lines and chart.

The tables and charts hold figures of the original and are for the office alone. The public reads the headline and
the figures that compare the two files, never a figure of the original by itself. Of tables it reads what the mechanism
leads one to expect: what was observed is a count of true cells under another name.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from flou.engine.charts import to_svg
from flou.engine.comparison import MOST_LINES, ComparisonResult, Detail, Shown, number_text
from flou.engine.figure import Figure
from flou.engine.values import Proportion
from flou.reporting.table_section import TableSection, speaks_of_tables

#: Figures of tables that follow from the mechanism, and what the public is told that they are.
_EXPECTED = {
    "expected": "{figure}, expected",
    "large": "{figure}, expected for large counts",
}


@dataclass(frozen=True)
class UtilitySection(TableSection):
    """Comparisons of the release with the original."""

    @property
    def comparisons(self) -> list[ComparisonResult]:
        """Those that were made; a file of very few people is compared with nothing in public."""
        found = [r for r in self.results if isinstance(r, ComparisonResult) and self.is_told(r.method)]
        if self.public and self.tables:  # the records behind tables are not published
            told = [] if self.figures_withheld else [r for r in found if speaks_of_tables(r)]
            found = [r for r in told if any(name in r.figures for name in _EXPECTED)]
        few = min(self.original.n_records, self.n_released) < self.min_count
        return [] if self.public and few else found

    def comparison_figures(self, result: ComparisonResult) -> Iterator[tuple[str, str]]:
        """Label and value of the headline and of each figure."""
        if self.public and self.tables:
            yield from self._expected_figures(result)
            return
        for figure in (result.headline, *result.figures.held):
            if not self.public or figure.audience == "public":
                yield self.words(figure.label), self._shown_figure(figure)

    def _expected_figures(self, result: ComparisonResult) -> Iterator[tuple[str, str]]:
        """Of tables and for the public: what follows from the mechanism, with the name of the figure."""
        label = self.words(result.value_label)
        for name, text in _EXPECTED.items():
            if name in result.figures:
                yield self.words(text, figure=label), self._shown_figure(result.figures.of(name))

    def _shown_figure(self, figure: Figure) -> str:
        value = figure.read
        if value is None:
            return self.words(figure.absent)
        if isinstance(value, Proportion):
            return self.words.share(value)
        if isinstance(value, int) and not isinstance(value, bool):
            return self.count(value) if figure.unit == "count" else self.words.number(value)
        return number_text(value, "number", self.words) if isinstance(value, float) else str(value)

    def comparison_notes(self, result: ComparisonResult) -> list[str]:
        return self.notes(result.notes)

    def comparison_tables(self, result: ComparisonResult) -> Iterator[dict[str, Any]]:
        """The worst lines of each table, for the office alone."""
        for detail in () if self.public else result.details.values():
            columns, rows = detail.lines(self.words, self.original.schema, MOST_LINES)
            if not rows:  # a long table without a single deviation
                continue
            yield {"title": self._table_title(detail, len(rows)), "columns": self._titles(columns), "rows": rows}

    def _table_title(self, detail: Detail, n_shown: int) -> str:
        title = self.words(detail.title)
        if n_shown == detail.frame.height:
            return title
        return self.words("{title}: the worst {n} of {all} lines", title=title, n=n_shown, all=detail.frame.height)

    def _titles(self, columns: list[Shown]) -> list[tuple[str, bool]]:
        return [(self.words(c.title), c.is_number) for c in columns]

    def comparison_chart(self, result: ComparisonResult) -> str:
        """The chart, for the office alone: its groups and bins are the original's."""
        if self.public or result.chart is None:
            return ""
        return to_svg(result.plot(self.words.language))
