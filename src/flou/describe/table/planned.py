"""The tables of a plan, made of its protected records.

They carry cell keys where a protection asks for them: lasting ones from the role `id` and the secret, or those of a
column. As they are made nothing of them is released, whatever was done to the records: the table steps decide that.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from flou.describe.keyed import record_keys
from flou.describe.microdata import Microdata
from flou.describe.table.request import check_spec
from flou.describe.table.table import Table
from flou.describe.table.table_set import TableSet
from flou.describe.table.tabulate import tabulate_many
from flou.engine.errors import DataError
from flou.engine.secret import Secret


def planned_tables(
    records: Microdata, tables: Sequence[Mapping[str, Any]], *, secret: Secret | None, stored: str | None
) -> Table | TableSet:
    """The tables, in one pass; a single one alone, several as a set."""
    for table in tables:
        check_spec(records, **table)  # before keys are made for every record
    if secret is not None and records.schema.id is None:
        raise DataError(
            "The tables are protected by record keys, which are made from each unit's id, but no column has this role. "
            'Give it one in the schema, role = "id", or name a column of keys in the plan: [record_keys] stored = "…".'
        )
    keyed = records if secret is None and stored is None else record_keys(records, secret=secret, stored=stored)
    made = tabulate_many(keyed, list(tables))
    return made[0].with_changes(name=str(tables[0]["name"])) if len(made) == 1 else made
