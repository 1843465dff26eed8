"""What a cell tells that shows no figure: it is suppressed, or the table does not list it.

Whoever attacks a table, and whoever protects it, must take the same for known; here it is said once.

- A **suppressed** count is 1 at least where no empty cell can be among those withheld: the rules find none, the table
  lists none, or the office says that it shows its zeros. The rules decide, and not whether an empty cell happens to be
  withheld, for nobody outside sees that. Of a table that others published nothing is known unless it is stated.
- A cell that is **not listed** is shown as zero in the tables that Flou makes, which list all others. Of a table that
  others published it is unknown, unless the caller says that all occupied cells are listed: printed tables leave out
  whole margins.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from flou.describe.table.table import Table

#: What a cell that is not listed tells.
Unlisted = Literal["zero", "unknown"]
#: What an office says of the empty cells of a table that it published.
Zeros = Literal["shown", "may be withheld"]


def may_hide_zeros(table: Table) -> bool:
    """Whether an empty cell may be among the suppressed ones, for all that everybody knows."""
    if table.zeros_withheld is not None:
        return table.zeros_withheld
    if table.listed == "occupied" or table.published is None:
        return False
    if table.cells.count is None:
        return True
    return bool((table.published.hidden & (table.true_counts == 0)).any())


def leaves_zeros_open(table: Table) -> bool:
    """Whether nobody has said of a table of others if empty cells are among its suppressed ones."""
    hides = table.published is not None and bool(table.published.hidden.any())
    return hides and table.unlisted == "unknown" and may_hide_zeros(table)


def least_suppressed(table: Table) -> int:
    """What a suppressed count is at least; an estimate may be less than the people in the cell."""
    return int(table.weight_name is None and not may_hide_zeros(table))
