"""PostgreSQL as a source and as a sink, through its Arrow driver.

A table is read once, in one snapshot, batch by batch into a spool that is then scanned like a file. A
table is written in one transaction: all of it is there, or nothing, and a former table stays until the
new one is whole. A password is used and never shown.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import closing
from pathlib import Path

import polars as pl

from flou.describe.sources.database_session import Session, session
from flou.describe.sources.database_types import COLUMNS, Column, select_list, written_types
from flou.engine.database_uri import TableName, has_password, is_database, quoted, without_password
from flou.engine.errors import DataError, OutputError, did_you_mean, listed
from flou.engine.spool import spooled

__all__ = ["has_password", "is_database", "read_table", "without_password", "write_table"]

#: A part of the spool: rows, or bytes where rows are wide.
_ROWS, _BYTES = 1 << 18, 1 << 27
#: PostgreSQL cuts longer names without a word.
_LONGEST_NAME = 63

_FIND = """
SELECT c.oid::int8, n.nspname::text, c.relkind::text
FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE c.relname = $1::text AND (n.nspname = $2::text OR ($2::text = '' AND pg_catalog.pg_table_is_visible(c.oid)))
"""
_TABLES = """
SELECT CASE WHEN pg_catalog.pg_table_is_visible(c.oid) THEN '' ELSE n.nspname::text END, c.relname::text
FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'v', 'm', 'f', 'p') AND n.nspname <> 'information_schema' AND n.nspname NOT LIKE 'pg\\_%'
  AND pg_catalog.has_schema_privilege(n.oid, 'USAGE')
ORDER BY 1, 2 LIMIT 10000
"""
_SNAPSHOT = (
    "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY",
    # rows come in the same order each time, as long as the table does not change: a run can be done again
    "SET LOCAL synchronize_seqscans = off",
    "SET LOCAL max_parallel_workers_per_gather = 0",
)


def read_table(uri: str, table: str) -> Path:
    """Read a table or view into a spool, in one snapshot; the folder that holds its rows."""
    wanted = TableName.parse(table)
    with session(uri, DataError) as database:
        for setting in _SNAPSHOT:
            database.run(setting)
        oid, found = _find(database, wanted)
        columns = [Column(*row) for row in database.rows(COLUMNS, oid)]
        query = f"SELECT {select_list(columns, repr(str(wanted)))} FROM {found.sql}"
        with closing(database.stream(query, denied=_may_not_read(database, found))) as rows:
            return spooled(_some(_parts(rows), wanted))


def _find(database: Session, wanted: TableName) -> tuple[int, TableName]:
    """The object number of a table, and its name with the schema."""
    for oid, schema, kind in database.rows(_FIND, wanted.name, wanted.schema):
        if kind in "rvmfp":
            return oid, TableName(schema, wanted.name)
    known = [str(TableName(*row)) for row in database.rows(_TABLES)]
    raise DataError(f"The database has no table {str(wanted)!r}.{did_you_mean(str(wanted), known)}")


def _may_not_read(database: Session, found: TableName) -> str:
    user, enters = database.rows(
        "SELECT current_user::text, pg_catalog.has_schema_privilege($1::text, 'USAGE')", found.schema
    )[0]
    grants = [] if enters else [f"GRANT USAGE ON SCHEMA {quoted(found.schema)} TO {quoted(user)}"]
    grants.append(f"GRANT SELECT ON {found.sql} TO {quoted(user)}")
    return f"The database user {user!r} may not read {str(found)!r}. Ask for {'; '.join(grants)}."


def _parts(frames: Iterable[pl.DataFrame]) -> Iterator[pl.DataFrame]:
    """Batches as they come from the server, put together or cut into parts of a useful size."""
    held: list[pl.DataFrame] = []
    for frame in frames:
        for piece in frame.iter_slices(_ROWS):
            held.append(piece)
            if sum(p.height for p in held) >= _ROWS or sum(p.estimated_size() for p in held) >= _BYTES:
                yield pl.concat(held)
                held = []
    if held:
        yield pl.concat(held)


def _some(parts: Iterable[pl.DataFrame], table: TableName) -> Iterator[pl.DataFrame]:
    empty = True
    for part in parts:
        empty = False
        yield part
    if empty:
        raise DataError(f"The table {str(table)!r} has no records.")


def write_table(batches: Iterable[pl.DataFrame], uri: str, table: str, *, overwrite: bool) -> None:
    """Write batches of one schema as a new table, all of it or nothing.

    With `overwrite` a former table is dropped in the same transaction; rights granted on it go with it.
    """
    wanted = TableName.parse(table)
    _require_short([wanted.schema, wanted.name])
    with session(uri, OutputError) as database:
        target, exists = _room(database, wanted, overwrite=overwrite)
        first: pl.Schema | None = None
        for batch in batches:
            if first is None:
                first = batch.schema
                _create(database, target, first, replace=exists)
            elif batch.schema != first:
                raise OutputError("The batches to write do not all have the same columns; nothing was written.")
            if batch.height:
                database.append(_sent(batch), target)
        if first is None:
            raise OutputError("There is nothing to write: no rows and no columns.")
        database.commit()


def _room(database: Session, wanted: TableName, *, overwrite: bool) -> tuple[TableName, bool]:
    """Where the table goes, and whether one is there that may be replaced; asked before any work is done."""
    user, current = database.rows("SELECT current_user::text, pg_catalog.current_schema()::text")[0]
    schema = wanted.schema or current
    if schema is None:
        raise OutputError(f"The database user {user!r} has no schema to write to. Give table = 'schema.{wanted.name}'.")
    schemas = [row[0] for row in database.rows("SELECT nspname::text FROM pg_catalog.pg_namespace")]
    if schema not in schemas:
        ours = [s for s in schemas if not s.startswith("pg_")]
        raise OutputError(f"The database has no schema {schema!r}.{did_you_mean(schema, ours)}")
    target = TableName(schema, wanted.name)
    if not database.rows("SELECT pg_catalog.has_schema_privilege($1::text, 'CREATE')", schema)[0][0]:
        raise OutputError(_may_not_create(user, schema))
    kinds = [row[2] for row in database.rows(_FIND, target.name, schema)]
    if kinds and kinds[0] not in "rp":
        raise OutputError(f"{str(target)!r} is not a table but a view or the like. Choose another name.")
    if kinds and not overwrite:
        raise OutputError(f"The table {str(target)!r} exists and is not overwritten. Choose another name.")
    return target, bool(kinds)


def _may_not_create(user: str, schema: str) -> str:
    return (
        f"The database user {user!r} may not make tables in the schema {schema!r}. "
        f"Ask for GRANT CREATE ON SCHEMA {quoted(schema)} TO {quoted(user)}, or write to a schema of your own."
    )


def _create(database: Session, target: TableName, schema: pl.Schema, *, replace: bool) -> None:
    _require_short(schema.names())
    columns = ", ".join(f"{quoted(name)} {kind}" for name, (kind, _) in written_types(schema).items())
    if replace:
        database.run(f"DROP TABLE {target.sql}", denied=f"The table {str(target)!r} belongs to another database user.")
    database.run(f"CREATE TABLE {target.sql} ({columns})")


def _sent(batch: pl.DataFrame) -> pl.DataFrame:
    """The batch in the types that the driver sends; an error of the engine's own would show values."""
    columns = []
    for name, (kind, dtype) in written_types(batch.schema).items():
        try:
            columns.append(batch[name].cast(dtype))
        except pl.exceptions.PolarsError:
            raise OutputError(f"Some values of {name!r} do not fit the type {kind}; nothing was written.") from None
    return pl.DataFrame(columns)


def _require_short(names: Iterable[str]) -> None:
    long = [name for name in names if len(name.encode()) > _LONGEST_NAME]
    if long:
        raise OutputError(f"PostgreSQL cuts names after {_LONGEST_NAME} bytes; shorten these: {listed(long)}.")
