"""What the report says of suppressed tables: how many cells are withheld, what the audit found, and the tables drawn.

The office reads how many cells are primary and secondary, who was tried as an intruder, and sees why each cell is
withheld. The public reads how many cells are withheld, which it can count itself, and that they were audited where that
went well; how many contributors are alone in a cell would tell of small cells, so neither the intruders nor the linear
programs are counted for it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from flou.describe.table.drawn import Drawing, Labels
from flou.describe.table.layout import lay_out
from flou.describe.table.suppression import Audit
from flou.describe.table.table import Table
from flou.reporting.table_listing import TableListing

#: Tables of this size at most are drawn as a whole.
_MOST_ROWS, _MOST_COLUMNS = 30, 12


@dataclass(frozen=True)
class SuppressedTables(TableListing):
    """The tables of a release that withhold cells by a suppression."""

    @property
    def suppressed(self) -> bool:
        """Whether a suppression protects the tables, all of them."""
        return bool(self.tables) and all(table.suppression is not None for table in self.tables)

    def suppressions(self) -> Iterator[dict[str, Any]]:
        """Of each suppressed table: how many cells are in which state, what the audit found, and its drawing."""
        for table in self.tables:
            if table.suppression is not None:
                yield {
                    "name": table.name or self.words("table"),
                    "states": self._public_states(table) if self.public else self._states(table),
                    "audit": self._public_audit(table) if self.public else self._audit(table.suppression.audit),
                    "drawing": self._drawing(table),
                }

    def _states(self, table: Table) -> list[tuple[str, str]]:
        assert table.suppression is not None
        words, counted = self.words, table.suppression.counted()
        titles = {
            "primary": words("primary suppression"),
            "secondary": words("secondary suppression"),
            "kept": words("kept"),
            "published": words("published"),
            "zero": words("zero"),
        }
        return [(name, words.number(counted[state])) for state, name in titles.items()]

    def _public_states(self, table: Table) -> list[tuple[str, str]]:
        words, status = self.words, table.public().status
        n_hidden = int((status == "suppressed").sum())
        return [
            (words("cells suppressed for statistical confidentiality"), words.number(n_hidden)),
            (words("cells with their figure"), words.number(len(status) - n_hidden)),
        ]

    def _audit(self, audit: Audit | None) -> str:
        words = self.words
        if audit is None:
            return words("Not audited: nothing shows that the suppressed cells cannot be computed.")
        values = {"n": audit.n_disclosed, "all": audit.n_primary, "programs": audit.n_programs}
        if audit.n_attackers <= 1:
            text = "Audited: {n} of {all} primary cells are disclosed to an outsider ({programs} linear programs)."
            return words(text, **values)
        text = (
            "Audited: {n} of {all} primary cells are disclosed to an outsider or to one of {single} contributors who "
            "are alone in a cell ({programs} linear programs)."
        )
        return words(text, single=audit.n_attackers - 1, **values)

    def _public_audit(self, table: Table) -> str:
        audit = None if table.suppression is None else table.suppression.audit
        if audit is None or audit.n_disclosed:
            return ""
        return self.words("Audited: no suppressed cell can be computed more closely than the rules allow.")

    def is_drawn(self, table: Table) -> bool:
        """Whether the table is small enough to be drawn as a whole."""
        layout = lay_out(table, _MOST_ROWS, _MOST_COLUMNS)
        return not layout.n_more_rows and not layout.n_more_columns

    def _drawing(self, table: Table) -> str:
        """The public table, or for the office the one with true figures and states; nothing of large tables."""
        seen = table.public() if self.public else table
        if not self.is_drawn(seen):
            return ""
        labels = Labels(self.column_label, self._category)
        return Drawing.of(seen, language=self.words.language, internal=not self.public, labels=labels).html()

    def _category(self, column: str, value: str) -> str:
        if column not in self.original.columns:
            return value
        return str(self.original.schema.value_label(column, value, self.words.language))
