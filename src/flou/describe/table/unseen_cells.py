"""What a reader knows of cells without a figure: suppressed cells, and cells that the table does not list.

Whoever attacks a table, and whoever protects it, must take the same for known; here it is said once.

- A **suppressed** count is 1 at least where no empty cell can be among those withheld: the rules find none, the table
  lists none, or the office says that it shows its zeros. The rules decide, and not whether an empty cell happens to be
  withheld, for nobody outside sees that; where one is withheld against the rules, 1 would be false and 0 is taken. Of a
  table that others published nothing is known unless it is stated.
- A cell that is **not listed** is shown as zero in the tables that Flou makes, which list all others. Of a table that
  others published it is unknown, unless the caller says that all occupied cells are listed: printed tables leave out
  whole margins.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from flou.engine.note import Note

if TYPE_CHECKING:
    from flou.describe.table.table import Table

#: What a cell that is not listed tells.
Unlisted = Literal["zero", "unknown"]
#: What an office says of the empty cells of a table that it published.
Zeros = Literal["shown", "may be withheld"]


def may_hide_zeros(table: Table) -> bool:
    """Whether a suppressed cell may be empty, as far as a reader can tell."""
    if table.zeros_withheld:
        return True
    if table.cells.count is None:
        return table.zeros_withheld is None and table.listed == "all"
    return table.published is not None and bool((table.published.hidden & (table.true_counts == 0)).any())


def leaves_zeros_open(table: Table) -> bool:
    """Whether a table of others withholds cells, and nobody has said whether some of them are empty."""
    hides = table.published is not None and bool(table.published.hidden.any())
    return hides and table.unlisted == "unknown" and may_hide_zeros(table)


def least_suppressed(table: Table) -> int:
    """The least true count of a suppressed cell; 0 for weighted estimates."""
    return int(table.weight_name is None and not may_hide_zeros(table))


def assumed_values(columns: Sequence[str]) -> tuple[Note, ...]:
    """What to know of a result where nobody declares the values of some columns."""
    if not columns:
        return ()
    text = "the values of {columns} are taken to be those that the tables name: nothing declares them"
    return (Note(text, {"columns": ", ".join(columns)}),)
