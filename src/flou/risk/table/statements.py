"""What an office states of single cells: the parameter that takes a list, and how lists are read.

A list is a file, which a plan names relative to itself (a CSV file, or an `.hst` of τ-ARGUS), or stands in the plan as
one table a statement; in Python it may be what `flou.read_argus` or `read_apriori` read. What a list says is for the
office alone: it tells which cells are sensitive, so that no report or manifest shows it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import BeforeValidator

from flou.describe.table.apriori import Apriori, read_apriori, statements
from flou.describe.table.argus.apriori_file import read_hst
from flou.describe.table.table import Table
from flou.engine.parameters import Pairs
from flou.engine.places import located


def _as_pairs(value: object) -> object:
    """The statements of a list as pairs; what is null is not said."""
    value = getattr(value, "apriori", value)  # a table of τ-ARGUS comes with what its statuses say
    if isinstance(value, Apriori):
        value = _of_arrays(value)
    if not isinstance(value, list | tuple):
        return value
    for one in value:
        if not isinstance(one, Mapping | tuple) or not one:
            raise ValueError(
                f"apriori = {value!r}: each entry is a table of labels and what is said of the cell, such as "
                '{region = "North", action = "keep"}.'
            )
    return tuple({k: v for k, v in one.items() if v is not None} if isinstance(one, Mapping) else one for one in value)


def _of_arrays(said: Apriori) -> tuple[dict[str, Any], ...] | None:
    """What arrays say as statements, which name their cells."""
    if not said.n_said:
        return None
    if said.labels is None:
        raise ValueError(
            "apriori: of these arrays nobody knows which cells they speak of. Read them with read_apriori or "
            'flou.read_argus, or name the cells: [{region = "North", action = "keep"}].'
        )
    found = []
    for place, action, numbers in statements(said):
        given = {name: v for name, v in zip(("first", "second"), numbers, strict=True) if not math.isnan(v)}
        found.append({**said.labels.row(place, named=True), "action": action, **given})
    return tuple(found)


#: A file that says something of single cells, or the statements themselves.
Statements = Annotated[str | tuple[Pairs, ...] | None, BeforeValidator(_as_pairs)]


def read_statements(said: str | tuple[tuple[tuple[str, Any], ...], ...] | None, table: Table) -> Apriori:
    """What the office says beforehand of the cells of a table."""
    if said is None:
        return Apriori.none(table.n_cells)
    if not isinstance(said, str):
        return read_apriori([dict(one) for one in said], table)
    file = located(said)
    return read_hst(file, table) if file.suffix.lower() == ".hst" else read_apriori(file, table)
