"""What a measure of published counts works on: a mechanism, the true counts, and how the data are marked.

It comes from a protected table (its mechanism and its true counts), from a table that nobody protected (every count is
published as it is), from a set of tables (their cells pooled), or from a mechanism alone with `counts=` beside it. A
table that was changed in a way that no mechanism describes is refused: any figure for it would be a guess.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flou.describe.count_frequencies import CountFrequencies, Integers
from flou.describe.mechanism.mechanism import Mechanism
from flou.describe.mechanism.unchanged import Unchanged
from flou.describe.table.table_set import tables_of
from flou.engine import native
from flou.engine.data import Marks, data_kind
from flou.engine.errors import DataError
from flou.engine.note import Note
from flou.engine.result import MeasuredOn


@dataclass(frozen=True, eq=False)
class Setting:
    """The mechanism, the true counts where they are known, and what the result says of its data."""

    mechanism: Mechanism
    frequencies: CountFrequencies | None
    tables: tuple[Any, ...] = ()
    native_kind: native.Kind = "polars"
    measured_on: MeasuredOn = "original"
    test_only: bool = False
    notes: tuple[Note, ...] = ()


def read_setting(data: Any) -> Setting:
    """From a table or a set of tables; a mechanism has no counts of its own."""
    if data_kind(data) == "mechanism":
        return Setting(data, None)
    tables = tables_of(data)
    if not tables:
        raise DataError("The set holds no table: there is no count to speak of.")
    found = [mechanism_of(t) for t in tables]
    if any(m != found[0] for m in found[1:]):
        raise DataError(
            "The tables of the set were published by different mechanisms. Measure those of one mechanism at a time."
        )
    marks: list[Marks] = [t.marks for t in tables]
    held = [_published(t) for t in tables]
    n_withheld = sum(n for _, n in held)
    text = "{n} cells are withheld: what can be inferred of them is not part of these figures"
    return Setting(
        found[0],
        CountFrequencies.of([counts for counts, _ in held]),
        tables,
        tables[0].native_kind,
        "frame" if any(m.frame for m in marks) else "release" if all(t.released for t in tables) else "original",
        any(m.test_only for m in marks),
        (Note(text, {"n": n_withheld}),) if n_withheld else (),
    )


def mechanism_of(table: Any) -> Mechanism:
    """How the counts of a table were published; as they are, where nobody changed them."""
    if table.mechanism is not None and table.mechanism.has_chances:
        held: Mechanism = table.mechanism
        return held
    if table.released:
        shown = np.asarray(table.published_counts, dtype=np.float64)
        if not np.array_equal(shown[~np.isnan(shown)], np.asarray(table.true_counts)[~np.isnan(shown)]):
            if table.mechanism is not None:
                raise DataError(table.mechanism.without_chances)
            raise DataError(
                "The table's counts were changed in a way that no mechanism of single cells describes, so nothing can "
                'be said of what they give away. Figures that additive = "repair" made add up are such: measure with '
                'additive = "no".'
            )
    return Unchanged()


def counted_cells(table: Any) -> NDArray[np.bool_]:
    """The listed cells that somebody can be in: structural zeros tell and lose nothing."""
    if table.cells.weighted is not None:
        raise DataError(
            "The table shows weighted estimates, not counts: what a count gives away is not defined for it. "
            "Tabulate without weight=."
        )
    possible = table.cells.possible
    return np.ones(table.n_cells, dtype=np.bool_) if possible is None else np.asarray(possible)


def _published(table: Any) -> tuple[tuple[Integers, Integers], int]:
    """Counts and numbers of the cells that are published, and how many are withheld."""
    counted = counted_cells(table)
    counts, cells = table.histogram()
    hidden = np.isnan(np.asarray(table.published_counts, dtype=np.float64)) & counted
    if not hidden.any():
        return (counts, cells), 0
    lost, n_lost = np.unique(table.true_counts[hidden], return_counts=True)
    left = np.asarray(cells, dtype=np.int64).copy()
    left[np.searchsorted(counts, lost)] -= n_lost
    return (counts, left), int(hidden.sum())
