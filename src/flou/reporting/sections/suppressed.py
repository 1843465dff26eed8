"""A suppressed table: how many cells are withheld, what the audit found, and the table drawn.

The office reads how many cells are primary and secondary, who was tried as an intruder, and sees why each cell is
withheld. The public reads how many cells are withheld, which it can count itself, and that they were audited where that
went well; how many contributors are alone in a cell would tell of small cells, so neither the intruders nor the linear
programs are counted for it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

from flou.describe.table.drawn import Drawing, Labels
from flou.describe.table.layout import lay_out
from flou.describe.table.suppression import Audit
from flou.describe.table.table import Table
from flou.reporting.reader import Reader

#: Tables of this size at most are drawn as a whole.
_MOST_ROWS, _MOST_COLUMNS = 30, 12


@dataclass(frozen=True)
class Suppressed:
    """Numbers of cells by their state, the audit in a sentence, and a drawing."""

    name: str
    states: list[tuple[str, str]]
    audit: str
    drawing: str

    @classmethod
    def of(cls, table: Table, reader: Reader) -> Self:
        audit = None if table.suppression is None else table.suppression.audit
        states, audited = (_public_states, _public_audit) if reader.public else (_states, _audit)
        name = table.name or reader.words("table")
        return cls(name, states(table, reader), audited(audit, reader), _drawing(table, reader))


def _states(table: Table, reader: Reader) -> list[tuple[str, str]]:
    assert table.suppression is not None
    words, counted = reader.words, table.suppression.counted()
    titles = {
        "primary": words("primary suppression"),
        "secondary": words("secondary suppression"),
        "kept": words("kept"),
        "published": words("published"),
        "zero": words("zero"),
    }
    return [(name, words.number(counted[state])) for state, name in titles.items()]


def _public_states(table: Table, reader: Reader) -> list[tuple[str, str]]:
    words, status = reader.words, table.public().status
    n_hidden = int((status == "suppressed").sum())
    return [
        (words("cells suppressed for statistical confidentiality"), words.number(n_hidden)),
        (words("cells with their figure"), words.number(len(status) - n_hidden)),
    ]


def _audit(audit: Audit | None, reader: Reader) -> str:
    words = reader.words
    if audit is None:
        return words("Not audited: nothing shows that the suppressed cells cannot be computed.")
    text = "Audited: {n} of {all} primary cells are disclosed to an outsider ({programs} linear programs)."
    if audit.n_attackers > 1:
        text = (
            "Audited: {n} of {all} primary cells are disclosed to an outsider or to one of {single} contributors who "
            "are alone in a cell ({programs} linear programs)."
        )
    values = {"n": audit.n_disclosed, "all": audit.n_primary, "programs": audit.n_programs}
    return words(text, single=audit.n_attackers - 1, **values)


def _public_audit(audit: Audit | None, reader: Reader) -> str:
    if audit is None or audit.n_disclosed:
        return ""
    return reader.words("Audited: no suppressed cell can be computed more closely than the rules allow.")


def is_drawn(table: Table) -> bool:
    """Whether the table is small enough to be drawn as a whole."""
    layout = lay_out(table, _MOST_ROWS, _MOST_COLUMNS)
    return not layout.n_more_rows and not layout.n_more_columns


def _drawing(table: Table, reader: Reader) -> str:
    """The public table, or for the office the one with true figures and states; nothing of large tables."""
    seen = table.public() if reader.public else table
    if not is_drawn(seen):
        return ""
    labels = Labels(reader.label, reader.value)
    return Drawing.of(seen, language=reader.words.language, internal=not reader.public, labels=labels).html()
