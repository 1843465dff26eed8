"""The flags under which offices publish cells, in place of the word in `status`.

- `sdmx`: the confidentiality status of SDMX (code list CL_CONF_STATUS): `F` free, `C` confidential statistical
  information. The list also has D, secondary confidentiality, and further codes that say by which rule a cell is
  primary (A for small counts, among others). These are for exchanges between offices that may see both; published,
  they would tell an intruder which figures are small or dominated and which are not, so every suppressed cell is C.
- `eurostat`: the flags of Eurostat's tables: `c` confidential, `z` not applicable (nobody can be in the cell), nothing
  where the figure is shown.

A zero is a figure like others and free. Flags say nothing beyond `status`; they protect nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, get_args

import polars as pl

from flou.engine.errors import ParameterError

if TYPE_CHECKING:
    from flou.describe.table.table import Table

#: Which flags a file has; `status` are the words that frames show.
Flags = Literal["status", "sdmx", "eurostat"]
_CODES: dict[str, dict[str, str]] = {
    "sdmx": {"published": "F", "zero": "F", "structural": "F", "suppressed": "C"},
    "eurostat": {"published": "", "zero": "", "structural": "z", "suppressed": "c"},
}


def require_flags(flags: str) -> None:
    """Refuse flags that nobody knows."""
    if flags not in get_args(Flags):
        raise ParameterError(f"flags = {flags!r} is not known; use {', '.join(get_args(Flags))}.")


def flagged_cells(table: Table, flags: str) -> pl.DataFrame:
    """What would be published, with these flags in a column `flag`; with `status`, as frames have it."""
    require_flags(flags)
    shown = table.public().shown_cells()
    if flags == "status":
        return shown
    codes = shown["status"].replace_strict(_CODES[flags], return_dtype=pl.String).alias("flag")
    return shown.drop("status").with_columns(codes)
