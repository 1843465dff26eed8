"""`flou.read_argus` and `flou.write_argus`: every file of τ-ARGUS by its ending and what its description says.

Reading gives what the file holds; writing takes what Flou has, and makes the description and the hierarchies beside it.
All of these files are for an office's own work: none is a publication.
"""

from __future__ import annotations

import re
from os import PathLike
from pathlib import Path
from typing import Any

from flou.describe.hierarchy import Hierarchy
from flou.describe.microdata import Microdata
from flou.describe.table.apriori import Apriori
from flou.describe.table.apriori_rows import read_text
from flou.describe.table.argus.apriori_file import read_hst, write_hst
from flou.describe.table.argus.hrc import hierarchy_from_hrc, write_hrc
from flou.describe.table.argus.microdata import read_argus_microdata, write_argus_microdata
from flou.describe.table.argus.rda import describes
from flou.describe.table.argus.tab_file import ArgusTable, read_tab
from flou.describe.table.argus.tab_writing import write_tab
from flou.describe.table.table import Table
from flou.engine.calls import in_words
from flou.engine.errors import DataError, ParameterError, listed
from flou.engine.output import checked_path
from flou.engine.release import Release

#: Files of τ-ARGUS that hold no data.
_NO_DATA = {
    ".arb": "a batch file of τ-ARGUS, which says what is done and holds no data",
    ".cdl": "a list of labels for codes; give them to the schema, labels=",
}
_OPENED = re.compile(r"<OPEN(?:MICRO|TABLE)DATA>\s*\"([^\"]*)\"", re.IGNORECASE)


@in_words("flou.read_argus")
def read_argus(
    path: str | PathLike[str], *, rda: str | PathLike[str] | None = None, table: Table | None = None, **options: Any
) -> ArgusTable | Microdata | Hierarchy | Apriori:
    """Read a file of τ-ARGUS.

    A table (`.tab`) gives its `.table`, `.apriori` and `.secondary` cells; records (`.asc`, or what the description
    says has widths) give `Microdata`; a `.hrc` a `Hierarchy`; a `.hst` what it says of the cells of `table`. The
    description is the `.rda` beside the file unless `rda` names another. `options` are those of `read_tab`,
    `read_argus_microdata`, `hierarchy_from_hrc` and `read_hst`.
    """
    file = checked_path(path, "A file of τ-ARGUS", DataError)
    suffix = file.suffix.lower()
    if suffix in _NO_DATA:
        raise ParameterError(f"{str(path)!r} is {_NO_DATA[suffix]}{_named_in(file) if suffix == '.arb' else '.'}")
    if suffix == ".hrc":
        return hierarchy_from_hrc(file, **options)
    if suffix == ".hst":
        if table is None:
            raise ParameterError("An a-priori list (.hst) names cells of a table: give it, table=.")
        return read_hst(file, table, **options)
    if suffix == ".rda":
        raise ParameterError(f"{str(path)!r} describes another file: name that one, such as {file.stem}.tab.")
    described = file.with_suffix(".rda") if rda is None else checked_path(rda, "A description", DataError)
    kind = "table" if suffix == ".tab" else describes(described, encoding=options.get("encoding", "utf-8"))
    if kind == "table":
        return read_tab(file, described, **options)
    return read_argus_microdata(file, described, **options)


def _named_in(batch: Path) -> str:
    """The files of data that a batch file opens."""
    text = read_text(batch, "A batch file", "latin-1")
    opened = [name.strip() for name in _OPENED.findall(text)]
    return f": name the file that it opens, {listed(opened)}." if opened else ": name the file of data."


@in_words("flou.write_argus")
def write_argus(
    what: Table | Microdata | Release | Hierarchy | Apriori,
    path: str | PathLike[str],
    *,
    table: Table | None = None,
    unprotected: bool = False,
    overwrite: bool = False,
    **options: Any,
) -> list[Path]:
    """Write a table, records, a hierarchy, or what is said beforehand of a `table`, for τ-ARGUS; the files made.

    Tables and records are written with their true figures, for the office alone, where `unprotected` says so.
    """
    inner: Any = what.data if isinstance(what, Release) else what
    if isinstance(inner, Table):
        return write_tab(inner, path, unprotected=unprotected, overwrite=overwrite, **options)
    if isinstance(inner, Microdata):
        return write_argus_microdata(inner, path, unprotected=unprotected, overwrite=overwrite, **options)
    if isinstance(inner, Hierarchy):
        write_hrc(inner, path, overwrite=overwrite, **options)
    elif isinstance(inner, Apriori):
        if table is None:
            raise ParameterError("What is said beforehand speaks of the cells of a table: give it, table=.")
        write_hst(inner, table, path, overwrite=overwrite, **options)
    else:
        raise ParameterError(
            f"flou.write_argus takes a table, Microdata, a Release of these, a Hierarchy or an a-priori list, not "
            f"{type(what).__name__}."
        )
    return [Path(path)]
