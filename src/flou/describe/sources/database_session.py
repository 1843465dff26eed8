"""One connection to PostgreSQL, one transaction, and its failures in plain words.

Every failure shows the server's own first line, without passwords and without values of the data.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, TypeVar

import polars as pl

from flou.describe.sources.database_types import require_in_range
from flou.engine.database_uri import TableName, for_driver, without_password, without_secrets
from flou.engine.errors import FlouError, MissingExtraError
from flou.engine.native import first_line

if TYPE_CHECKING:
    from adbc_driver_manager.dbapi import Connection, Cursor

T = TypeVar("T")

#: How long to wait behind another session's lock.
_PATIENCE = "30s"

#: What a failed connection means; the server's words may come in another language, then they stand alone.
_ADVICE = {
    r"no password supplied": "It asks for a password: set PGPASSWORD, or use a password file (~/.pgpass).",
    r"password authentication failed": "The user or the password is wrong.",
    r'(database|role) ".*" does not exist': "Check the name at the end of the URI, and the user.",
    r"translate host name|refused|time(d )?out|unreachable|no route|no such file": (
        "The server cannot be reached: check host and port, whether it runs, and whether a firewall is between."
    ),
}
#: By the code of the SQL standard: what to do next.
_NEXT = {
    "55P03": "Another session holds the table; try again when it is done.",
    "25006": "The server takes no changes: is it a standby?",
    "2BP01": "Drop or change what depends on it first, or write to another table.",
}

_VALUES = "Mend the values; a view can cast a column to another type, or leave it out."


class Session:
    """A transaction that is open; what it cannot do is raised as `failure`."""

    def __init__(self, connection: Connection, uri: str, failure: type[FlouError], driver: tuple[type[Exception], ...]):
        self._connection, self._uri, self._failure, self._driver = connection, uri, failure, driver
        # calls wait in a thread, so that Ctrl-C is heard at once and not when the server answers
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="flou-database")

    def rows(self, query: str, *values: object) -> list[tuple[Any, ...]]:
        """The rows of a small query; values are bound as $1, $2, …"""
        with self._cursor() as cursor:
            self._wait(cursor, lambda: cursor.execute(query, values or None))
            return self._wait(cursor, cursor.fetchall)

    def run(self, statement: str, *, denied: str = "") -> None:
        """Carry out a statement; `denied` says in words what the user may not do."""
        with self._cursor() as cursor:
            self._wait(cursor, lambda: cursor.execute(statement), denied)

    def stream(self, query: str, *, denied: str = "") -> Generator[pl.DataFrame]:
        """The rows of a query as they come, never all at once."""
        with self._cursor() as cursor:
            self._wait(cursor, lambda: cursor.execute(query), denied)
            reader = cursor.fetch_record_batch()
            while (batch := self._wait(cursor, lambda: next(reader, None), denied)) is not None:
                frame = pl.DataFrame(batch)
                require_in_range(frame, [column.null_count for column in batch.columns])
                yield frame

    def append(self, frame: pl.DataFrame, table: TableName) -> None:
        """Add rows to a table that this transaction made."""
        with self._cursor() as cursor:
            self._wait(
                cursor, lambda: cursor.adbc_ingest(table.name, frame, mode="append", db_schema_name=table.schema)
            )

    def commit(self) -> None:
        try:
            self._connection.commit()
        except self._driver as error:
            raise self._failure(
                f"The connection broke while the work was being concluded: look in the database whether the table is "
                f"there whole ({self._words(error)})."
            ) from None

    def close(self) -> None:
        """End the session; what was not committed is undone at once, so that no lock outlives this."""
        self._thread.shutdown()
        with suppress(*self._driver):
            self._connection.rollback()
        with suppress(*self._driver):
            self._connection.close()

    @contextmanager
    def _cursor(self) -> Iterator[Cursor]:
        cursor = self._connection.cursor()
        try:
            yield cursor
        except BaseException:
            # rows that are still on their way would otherwise be read to the end
            with suppress(*self._driver):
                cursor.adbc_cancel()
            raise
        finally:
            with suppress(*self._driver):
                cursor.close()

    def _wait(self, cursor: Cursor, call: Callable[[], T], denied: str = "") -> T:
        waiting = self._thread.submit(call)
        try:
            # in short turns: the signal of Ctrl-C may go to a thread that does not wake this one
            while not wait([waiting], timeout=0.1).done:
                pass
            return waiting.result()
        except self._driver as error:
            with suppress(*self._driver):
                cursor.close()
            raise self._failure(self._explained(error, denied)) from None
        except KeyboardInterrupt:
            # nothing may be closed under a call that still runs
            with suppress(*self._driver):
                cursor.adbc_cancel()
            wait([waiting])
            raise

    def _explained(self, error: Exception, denied: str) -> str:
        words = self._words(error)
        if not self._alive():
            return f"The connection to {without_password(self._uri)!r} was lost ({words}). Nothing was kept; try again."
        state = getattr(error, "sqlstate", None)
        if state == "42501" and denied:
            return f"{denied} (The server says: {words}.)"
        following = _VALUES if _about_values(state) else _NEXT.get(str(state), "")
        return f"The database could not do its part: {words}. {following}".rstrip()

    def _alive(self) -> bool:
        """Only a connection that lives can roll back; the words of a broken one depend on how it broke."""
        try:
            self._connection.rollback()
        except self._driver:
            return False
        return True

    def _words(self, error: Exception) -> str:
        words = _said(error)
        if _about_values(getattr(error, "sqlstate", None)):
            words = re.sub(r'"[^"]*"', "…", words)
        return without_secrets(words, self._uri)


def _about_values(state: str | None) -> bool:
    """Could this error quote a value, which may be a person's? Class 22 does; one on the way comes without a code."""
    return state is None or state.startswith("22")


@contextmanager
def session(uri: str, failure: type[FlouError]) -> Iterator[Session]:
    """A transaction; what was not committed is undone, whatever ends it."""
    connect, driver = _driver()
    address = for_driver(uri, failure)
    try:
        connection = connect(address)
    except driver as error:
        raise failure(_unreached(error, uri)) from None
    opened = Session(connection, uri, failure, driver)
    try:
        opened.run(f"SET LOCAL lock_timeout = '{_PATIENCE}'")
        yield opened
    finally:
        opened.close()


def _driver() -> tuple[Callable[[str], Connection], tuple[type[Exception], ...]]:
    """The driver's way to connect, and what it raises: its own errors, and those of the Arrow stream."""
    try:
        import pyarrow
        from adbc_driver_postgresql import dbapi
    except ImportError:
        raise MissingExtraError("adbc-driver-postgresql", "postgres") from None
    return dbapi.connect, (dbapi.Error, pyarrow.ArrowException, OSError, UnicodeDecodeError)


def _said(error: Exception) -> str:
    """The server's message, without the driver's words around it."""
    details: Mapping[bytes, bytes] = dict(getattr(error, "details", ()))
    primary = details.get(b"PG_DIAG_MESSAGE_PRIMARY")
    if primary:
        column = re.search(rb", (column .+)$", details.get(b"PG_DIAG_CONTEXT", b""))
        return b" in ".join([primary, column[1]] if column else [primary]).decode("utf-8", "replace")
    line = re.sub(r"^(?:[A-Z_]+: )?(?:\[libpq\] )?(?:Failed to connect: )?", "", first_line(error))
    return re.sub(r"^.*\b(?:ERROR|FATAL):\s+", "", line).rstrip(". ")


def _unreached(error: Exception, uri: str) -> str:
    words = without_secrets(_said(error), uri)
    advice = next((text for pattern, text in _ADVICE.items() if re.search(pattern, words, re.IGNORECASE)), "")
    return f"Flou cannot connect to {without_password(uri)!r}: {words}. {advice}".rstrip()
