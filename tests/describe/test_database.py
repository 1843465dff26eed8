"""PostgreSQL as source and sink, against a real server."""

from __future__ import annotations

import datetime as dt
import os
import signal
import socket
import subprocess
import sys
import tempfile
import textwrap
import threading
import time
import traceback
from collections.abc import Callable, Iterable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any
from urllib.parse import quote

import polars as pl
import pytest
from tests.postgres_server import PostgresServer

import flou
from flou.describe.sources import database
from flou.describe.sources.database import has_password, is_database, read_table, without_password, write_table
from flou.engine.database_uri import TableName, for_driver, without_secrets
from flou.engine.errors import DataError, FlouError, MissingExtraError, OutputError, ParameterError
from flou.engine.spool import scan_spool

#: With every character that must be encoded in a URI.
PASSWORD = "s3cr3t/@: %é"
N = 300_000


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresServer]:
    with PostgresServer() as running:
        running.run(
            f"CREATE ROLE reader LOGIN PASSWORD '{PASSWORD}'",
            "CREATE TABLE people AS SELECT 1 AS id, 'Ada' AS name",
            "CREATE TABLE secrets AS SELECT 1 AS id",
            "GRANT SELECT ON people TO reader",
            f"CREATE TABLE big AS SELECT g AS id, 'person ' || g AS name FROM generate_series(1, {N}) g",
        )
        yield running


@pytest.fixture(autouse=True)
def clean_place(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Variables of the developer's own shell must not decide a test; what is spooled goes to the test's folder."""
    for name in list(os.environ):
        if name.startswith("PG"):
            monkeypatch.delenv(name)
    (tmp_path / "spools").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "spools"))


@pytest.fixture
def spools(tmp_path: Path) -> Callable[[], list[Path]]:
    return lambda: [p for p in (tmp_path / "spools").glob("*/*") if p.is_dir()]


def rows(server: PostgresServer, table: str, **where: str) -> pl.DataFrame:
    return scan_spool(read_table(server.uri(**where), table)).collect()


def failed(call: Callable[[], object], kind: type[FlouError]) -> str:
    """The message of a refusal; neither it nor its traceback shows the password, as written or as meant."""
    with pytest.raises(kind) as caught:
        call()
    shown = "".join(traceback.format_exception(caught.value)) + repr(caught.value)
    for secret in (PASSWORD, "s3cr3t", "wr0ng"):
        assert secret not in shown
    return str(caught.value)


def unread(uri: str, table: str = "people") -> str:
    return failed(lambda: read_table(uri, table), DataError)


def unwritten(batches: Iterable[pl.DataFrame], uri: str, table: str = "out", *, overwrite: bool = False) -> str:
    return failed(lambda: write_table(batches, uri, table, overwrite=overwrite), OutputError)


# --- the URI and its password


@pytest.mark.parametrize(
    ("source", "yes"),
    [
        ("postgresql://host/db", True),
        ("postgres://u:p@host", True),
        ("PostgreSQL://host", True),
        ("postgresql+psycopg2://u:p@host/db", True),
        ("people.csv", False),
        ("postgresql.csv", False),
        ("see postgresql://host", False),
        (Path("postgresql:/host"), False),
        (None, False),
    ],
)
def test_a_database_is_known_by_its_scheme(source: object, yes: bool) -> None:
    assert is_database(source) is yes


@pytest.mark.parametrize(
    ("uri", "shown"),
    [
        ("postgresql://u:s3cr3t@host:5432/db", "postgresql://u@host:5432/db"),
        ("postgres://u:s3cr3t@host/db?sslmode=require", "postgresql://u@host/db?sslmode=require"),
        ("postgresql://u@host/db?password=s3cr3t&a=b", "postgresql://u@host/db?a=b"),
        ("postgresql://u@host/db?a=b&%70assword=s3cr3t", "postgresql://u@host/db?a=b"),
        ("postgresql://host/db?sslpassword=s3cr3t", "postgresql://host/db"),
        ("postgresql://:s3cr3t@host", "postgresql://host"),
        ("postgresql://u:s3%40cr3t@h1:1,[::1]:2/db", "postgresql://u@h1:1,[::1]:2/db"),
        ("postgresql+psycopg://u:s3?cr3t@host", "postgresql://u@host"),
        # what cannot be split is not shown at all
        ("postgresql://u:s3@cr3t@host/db", "postgresql://…"),
        ("postgresql://u:s3/cr3t@host/db", "postgresql://…"),
        ("postgresql://u:s3/cr?3t@host/db", "postgresql://…"),
        ("postgresql://u:s3%cr3t@host/db", "postgresql://…"),
        ("postgresql://u:s3 cr3t@host/db", "postgresql://…"),
    ],
)
def test_a_password_is_seen_and_not_shown(uri: str, shown: str) -> None:
    assert has_password(uri)
    assert without_password(uri) == shown
    assert not has_password(shown)


@pytest.mark.parametrize(
    "uri", ["postgresql://u@host/db?sslmode=require", "postgresql://host:5432", "postgresql://", "people.csv"]
)
def test_without_a_password_a_uri_stays(uri: str) -> None:
    assert not has_password(uri)
    assert without_password(uri) == uri


@pytest.mark.parametrize(
    "uri", ["postgresql://u:s3@cr3t@host/db", "postgresql://host:s3cr3t/db", "postgresql://u:%s3cr3t@h"]
)
def test_what_libpq_could_misread_is_refused_before_it_sees_it(uri: str) -> None:
    assert "percent-encoded" in unread(uri)
    assert "percent-encoded" in unwritten([pl.DataFrame({"a": [1]})], uri)


def test_messages_of_the_driver_lose_the_password() -> None:
    said = 'token "s3%40cr3t", which is s3@cr3t'
    assert without_secrets(said, "postgresql://u:s3%40cr3t@host") == 'token "***", which is ***'
    assert without_secrets("it is s3@cr3t", "postgresql://u@host?password=s3%40cr3t") == "it is ***"


def test_the_driver_gets_a_time_limit_unless_there_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "?connect_timeout=10&" in for_driver("postgres://u:p@host", DataError)
    assert for_driver("postgres://u:p@host/d?connect_timeout=3", DataError).count("connect_timeout") == 1
    monkeypatch.setenv("PGCONNECT_TIMEOUT", "3")
    assert "connect_timeout" not in for_driver("postgres://u:p@host/d", DataError)


# --- names of tables


@pytest.mark.parametrize(
    ("text", "schema", "name", "sql"),
    [
        ("people", "", "people", '"people"'),
        ("Étude.Ménages", "Étude", "Ménages", '"Étude"."Ménages"'),
        ("a.b.c", "a", "b.c", '"a"."b.c"'),
        ('"a.b".c', "a.b", "c", '"a.b"."c"'),
        ('"a.b"', "", "a.b", '"a.b"'),
        ('"say ""so"""', "", 'say "so"', '"say ""so"""'),
        ("x; DROP TABLE y", "", "x; DROP TABLE y", '"x; DROP TABLE y"'),
    ],
)
def test_names_are_split_at_the_first_dot_and_quoted(text: str, schema: str, name: str, sql: str) -> None:
    parsed = TableName.parse(text)
    assert (parsed.schema, parsed.name, parsed.sql) == (schema, name, sql)
    assert TableName.parse(str(parsed)) == parsed


@pytest.mark.parametrize("text", ["", ".", "a.", ".a", 'a"b', '"a', '""', '"a"b', "a\0b", 7, None])
def test_what_is_no_name_is_refused(text: Any) -> None:
    with pytest.raises(ParameterError, match=r"schema\.name"):
        read_table("postgresql://host", text)
    with pytest.raises(ParameterError, match=r"schema\.name"):
        write_table([], "postgresql://host", text, overwrite=False)


# --- reading


def test_every_simple_type_is_read_with_its_nulls(server: PostgresServer) -> None:
    server.run(
        "CREATE TYPE mood AS ENUM ('glad', 'très triste')",
        "CREATE DOMAIN amount AS numeric(10, 2)",
        "CREATE DOMAIN small_amount AS amount CHECK (VALUE < 100)",
        "CREATE DOMAIN code AS numeric(5, 0)",
        """CREATE TABLE kinds (i2 int2, i4 int4, i8 int8, o oid, f4 float4, f8 float8, n numeric(10, 2), whole numeric(12, 0),
           bare numeric, t text, v varchar(9), c char(5), b bool, d date, ts timestamp, tz timestamptz, h time, m mood,
           u uuid, dom small_amount, code code, cash money, "Prénom ""x"".y" text)""",
        """INSERT INTO kinds VALUES (-1, 2, 9223372036854775807, 4294967295, 0.5, 0.1, 1.25, 123456789012, 1e20, 'é€"\n', 'v', 'c',
           true, '2020-02-29', '2020-01-01 12:00:00.123456', '2020-01-01 00:00:00+02', '08:30', 'très triste',
           '123e4567-e89b-12d3-a456-426614174000', 2.5, 75001, 3.5::numeric::money, 'Zoé')""",
        "INSERT INTO kinds (i2) VALUES (NULL)",
    )
    found = rows(server, "kinds")
    utc = dt.UTC
    expected: dict[str, tuple[pl.DataType | type[pl.DataType], object]] = {
        "i2": (pl.Int64, -1),
        "i4": (pl.Int64, 2),
        "i8": (pl.Int64, 2**63 - 1),
        "o": (pl.Int64, 2**32 - 1),
        "f4": (pl.Float32, 0.5),
        "f8": (pl.Float64, 0.1),
        "n": (pl.Float64, 1.25),
        "whole": (pl.Int64, 123456789012),
        "bare": (pl.Float64, 1e20),
        "t": (pl.String, 'é€"\n'),
        "v": (pl.String, "v"),
        "c": (pl.String, "c"),
        "b": (pl.Boolean, True),
        "d": (pl.Date, dt.date(2020, 2, 29)),
        "ts": (pl.Datetime("us"), dt.datetime(2020, 1, 1, 12, 0, 0, 123456)),
        "tz": (pl.Datetime("us", "UTC"), dt.datetime(2019, 12, 31, 22, tzinfo=utc)),
        "h": (pl.Time, dt.time(8, 30)),
        "m": (pl.String, "très triste"),
        "u": (pl.String, "123e4567-e89b-12d3-a456-426614174000"),
        "dom": (pl.Float64, 2.5),
        "code": (pl.Int64, 75001),
        "cash": (pl.Float64, 3.5),
        'Prénom "x".y': (pl.String, "Zoé"),
    }
    assert dict(found.schema) == {name: dtype for name, (dtype, _) in expected.items()}
    assert found.row(0, named=True) == {name: value for name, (_, value) in expected.items()}
    assert found.row(1) == (None,) * len(expected)
    assert flou.Microdata(found, keys=["m"]).n_records == 2


def test_names_with_capitals_accents_dots_and_quotes(server: PostgresServer) -> None:
    server.run(
        'CREATE SCHEMA "Étude.1"',
        'CREATE TABLE "Étude.1"."Les ""gens""; DROP TABLE people" AS SELECT 7 AS "Âge"',
    )
    found = rows(server, '"Étude.1"."Les ""gens""; DROP TABLE people"')
    assert found.to_dict(as_series=False) == {"Âge": [7]}
    assert rows(server, "people").height == 1


def test_views_partitions_and_other_schemas_are_read(server: PostgresServer) -> None:
    server.run(
        "CREATE SCHEMA census",
        "CREATE VIEW census.ids AS SELECT id::numeric AS id FROM people",
        "CREATE MATERIALIZED VIEW census.kept AS SELECT id FROM people",
        "CREATE TABLE census.parts (y int) PARTITION BY LIST (y)",
        "CREATE TABLE census.part1 PARTITION OF census.parts FOR VALUES IN (1)",
        "INSERT INTO census.parts VALUES (1)",
    )
    for table in ("census.ids", "census.kept", "census.parts"):
        assert rows(server, table).to_series().to_list() == [1]


def test_a_database_in_latin_1_gives_the_same_text(server: PostgresServer, monkeypatch: pytest.MonkeyPatch) -> None:
    server.run("CREATE DATABASE latin ENCODING 'LATIN1' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0")
    server.run("CREATE TABLE t AS SELECT chr(233) || 't' || chr(233) AS t", database="latin")
    monkeypatch.setenv("PGCLIENTENCODING", "LATIN1")
    assert rows(server, "t", database="latin")["t"].to_list() == ["été"]


def test_many_rows_come_in_parts_of_bounded_size_in_order(server: PostgresServer) -> None:
    folder = read_table(server.uri(), "big")
    heights = [pl.scan_parquet(p).select(pl.len()).collect().item() for p in sorted(folder.iterdir())]
    assert len(heights) >= 2
    assert max(heights) <= 2 << 18
    found = scan_spool(folder).collect()
    assert found["id"].to_list() == list(range(1, N + 1))
    assert found["name"][-1] == f"person {N}"


def test_small_batches_are_put_together_and_wide_ones_kept_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    def batches(*heights: int) -> list[pl.DataFrame]:
        return [pl.DataFrame({"a": range(n)}) for n in heights]

    monkeypatch.setattr(database, "_ROWS", 10)
    assert [p.height for p in database._parts(batches(4, 4, 4, 4))] == [12, 4]
    assert [p.height for p in database._parts(batches(35))] == [10, 10, 10, 5]
    monkeypatch.setattr(database, "_BYTES", 8 * 3)
    assert [p.height for p in database._parts(batches(3, 1, 1, 1, 2))] == [3, 3, 2]


def test_one_read_is_one_snapshot(server: PostgresServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows deleted after the read began are all there, in what it looks up and in what it streams."""
    server.run("CREATE TABLE changing AS SELECT * FROM big")
    look_up = database._find

    def then_delete(*arguments: Any) -> Any:
        found = look_up(*arguments)
        server.run("DELETE FROM changing WHERE id > 10")
        return found

    monkeypatch.setattr(database, "_find", then_delete)
    assert rows(server, "changing").height == N
    assert rows(server, "changing").height == 10


def test_rows_come_in_the_same_order_each_time(server: PostgresServer) -> None:
    """Neither another session's scan nor workers of the server's own may shuffle them."""
    names = ("transaction_isolation", "synchronize_seqscans", "max_parallel_workers_per_gather")
    server.run("CREATE VIEW ways AS SELECT " + ", ".join(f"current_setting('{name}') AS {name}" for name in names))
    assert rows(server, "ways").row(0) == ("repeatable read", "off", "0")


def test_reading_changes_nothing(server: PostgresServer) -> None:
    server.run(
        "CREATE FUNCTION sly() RETURNS int LANGUAGE sql AS 'INSERT INTO people VALUES (2, ''Eve'') RETURNING id'",
        "CREATE VIEW sly_view AS SELECT sly() AS id",
    )
    assert "read-only" in unread(server.uri(), "sly_view")
    assert rows(server, "people").height == 1


def test_what_holds_no_simple_value_is_named(server: PostgresServer) -> None:
    server.run(
        "CREATE TYPE pair AS (a int, b int)",
        "CREATE TABLE odd (id int, tags text[], js json, jb jsonb, raw bytea, p point, pr pair, r int4range, i interval)",
    )
    message = unread(server.uri(), "odd")
    for shown in (
        "tags (text[])",
        "js (json)",
        "jb (jsonb)",
        "raw (bytea)",
        "p (point)",
        "pr (pair)",
        "r (int4range)",
        "view",
    ):
        assert shown in message
    assert "id (" not in message


@pytest.mark.parametrize(
    "value",
    ["date 'infinity'", "date '-infinity'", "timestamp 'infinity'", "timestamptz '-infinity'", "date '0044-03-15 BC'",
     "time '24:00'"],
)  # fmt: skip
def test_dates_without_a_place_in_a_calendar_are_refused(server: PostgresServer, value: str) -> None:
    server.run("DROP VIEW IF EXISTS strange", f"CREATE VIEW strange AS SELECT {value} AS until UNION ALL SELECT NULL")
    assert "'until'" in unread(server.uri(), "strange")


def test_whole_numbers_that_do_not_fit_are_refused_and_not_rounded(server: PostgresServer) -> None:
    server.run(
        "CREATE TABLE long AS SELECT 12345678901234567890123::numeric(30, 0) AS n",
        "CREATE TABLE nan AS SELECT 'NaN'::numeric(5, 0) AS n",
    )
    assert "out of range" in unread(server.uri(), "long")
    assert rows(server, "nan")["n"].to_list() == [None]


def test_tables_without_records_or_columns(server: PostgresServer, spools: Callable[[], list[Path]]) -> None:
    server.run("CREATE TABLE empty (a int)", "CREATE TABLE bare ()")
    assert "'empty' has no records" in unread(server.uri(), "empty")
    assert "no columns" in unread(server.uri(), "bare")
    assert spools() == []


def test_an_unknown_table_names_its_neighbours(server: PostgresServer) -> None:
    server.run("CREATE SCHEMA survey", "CREATE TABLE survey.households AS SELECT 1 AS id", "CREATE SEQUENCE counter")
    assert "Did you mean 'people'?" in unread(server.uri(), "People")
    assert "Did you mean 'survey.households'?" in unread(server.uri(), "survey.household")
    assert "Did you mean 'survey.households'?" in unread(server.uri(), "households")
    assert "no table 'counter'" in unread(server.uri(), "counter")


def test_a_table_that_the_user_may_not_read(server: PostgresServer) -> None:
    uri = server.uri("reader", PASSWORD)
    message = unread(uri, "secrets")
    assert "user 'reader' may not read 'public.secrets'" in message
    assert 'GRANT SELECT ON "public"."secrets" TO "reader"' in message
    assert "USAGE" not in message
    server.run("CREATE SCHEMA closed", "CREATE TABLE closed.t AS SELECT 1 AS id")
    assert 'GRANT USAGE ON SCHEMA "closed" TO "reader"' in unread(uri, "closed.t")
    assert "closed" not in unread(uri, "nothing"), "what cannot be entered is not proposed"


def test_a_server_error_on_the_way_shows_no_value(server: PostgresServer, spools: Callable[[], list[Path]]) -> None:
    """Rows before it are not taken for the whole table, and a value in the message may be a person's."""
    server.run(f"CREATE VIEW spoilt AS SELECT (CASE WHEN id = {N} THEN 'Dupont' ELSE id::text END)::int AS id FROM big")
    message = unread(server.uri(), "spoilt")
    assert "invalid input syntax" in message
    assert "Dupont" not in message
    assert spools() == []


def terminate(server: PostgresServer, name: str) -> None:
    """Wait until the session of this name sleeps in a query, then cut it off."""
    mine = f"application_name = '{name}' AND wait_event = 'PgSleep'"
    deadline = time.monotonic() + 30
    while not server.rows(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE {mine}"):
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_a_connection_that_drops_while_reading(server: PostgresServer, spools: Callable[[], list[Path]]) -> None:
    server.run("CREATE VIEW slow AS SELECT id, CASE WHEN id = 250000 THEN pg_sleep(60)::text END AS t FROM big")
    cut = threading.Thread(target=terminate, args=(server, "cut"))
    cut.start()
    message = unread(server.uri("owner", "s3cr3t") + "?application_name=cut", "slow")
    cut.join()
    assert "was lost" in message
    assert f"owner@127.0.0.1:{server.port}" in message
    assert spools() == []


def test_a_spool_that_cannot_be_written_ends_the_query(server: PostgresServer, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(batches: Iterable[pl.DataFrame]) -> Path:
        next(iter(batches))
        raise OSError("No space left on device")

    server.run("CREATE VIEW endless AS SELECT a AS id FROM generate_series(1, 90000) a, generate_series(1, 90000) b")
    monkeypatch.setattr(database, "spooled", full)
    with pytest.raises(OSError, match="No space"):
        read_table(server.uri() + "?application_name=full", "endless")
    assert server.rows("SELECT 1 FROM pg_stat_activity WHERE application_name = 'full' AND state = 'active'") == []


def test_ctrl_c_is_heard_while_the_server_thinks(server: PostgresServer, tmp_path: Path) -> None:
    server.run("CREATE VIEW pensive AS SELECT pg_sleep(60)::text AS t")
    code = """
        import sys
        from flou.describe.sources.database import read_table
        try:
            read_table(sys.argv[1], "pensive")
        except KeyboardInterrupt:
            print("stopped")
    """
    uri = server.uri() + "?application_name=pensive"
    process = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(code), uri],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "TMPDIR": str(tmp_path)},
    )
    asleep = "SELECT 1 FROM pg_stat_activity WHERE application_name = 'pensive' AND wait_event = 'PgSleep'"
    try:
        deadline = time.monotonic() + 60
        while not server.rows(asleep):
            assert time.monotonic() < deadline
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        assert process.communicate(timeout=20)[0].strip() == "stopped"
    finally:
        process.kill()
        process.wait()
    assert server.rows(asleep) == []


# --- writing

MIXED = pl.DataFrame(
    {
        "Âge \"x\".y": [1, None],
        "f": [0.1, None],
        "s": ['é€"\n\\N', None],
        "b": [True, None],
        "d": [dt.date(2020, 2, 29), None],
        "ts": [dt.datetime(2020, 1, 1, 12, 0, 0, 123456), None],
        "tz": pl.Series([dt.datetime(2020, 1, 1, tzinfo=dt.UTC), None], dtype=pl.Datetime("us", "UTC")),
        "h": [dt.time(8, 30), None],
        "r": pl.Series([0.5, None], dtype=pl.Float32),
    }
)  # fmt: skip


def test_every_type_makes_the_round_trip(server: PostgresServer) -> None:
    write_table([MIXED, MIXED.clear(), MIXED], server.uri(), '"Tout ""ça"".x"', overwrite=False)
    assert rows(server, '"Tout ""ça"".x"').equals(pl.concat([MIXED, MIXED]))
    kinds = server.rows(
        "SELECT format_type(atttypid, atttypmod) FROM pg_attribute WHERE attnum > 0 "
        """AND attrelid = '"Tout ""ça"".x"'::regclass ORDER BY attnum"""
    )
    assert [kind for (kind,) in kinds] == [
        "bigint", "double precision", "text", "boolean", "date", "timestamp without time zone",
        "timestamp with time zone", "time without time zone", "real",
    ]  # fmt: skip


def test_narrow_and_other_types_are_widened(server: PostgresServer) -> None:
    frame = pl.DataFrame(
        {
            "i": pl.Series([1, None], dtype=pl.UInt8),
            "cat": pl.Series(["x", None], dtype=pl.Categorical),
            "enum": pl.Series(["x", None], dtype=pl.Enum(["x"])),
            "null": [None, None],
            "ms": pl.Series([dt.datetime(2020, 1, 1), None], dtype=pl.Datetime("ms")),
            "dec": pl.Series([Decimal("1.25"), None], dtype=pl.Decimal(10, 2)),
        }
    )
    write_table([frame], server.uri(), "widened", overwrite=False)
    found = rows(server, "widened")
    assert found.row(0) == (1, "x", "x", None, dt.datetime(2020, 1, 1), 1.25)
    assert found.row(1) == (None,) * 6
    assert server.rows("SELECT dec::text FROM widened WHERE i = 1") == [("1.25",)]


def test_many_batches_are_one_table(server: PostgresServer) -> None:
    big = pl.DataFrame({"id": range(N), "name": [f"é{i}" for i in range(N)]})
    write_table(big.iter_slices(40_000), server.uri(), "many", overwrite=False)
    assert rows(server, "many").equals(big)


def test_an_existing_table_is_kept_unless_told(server: PostgresServer) -> None:
    old, new = pl.DataFrame({"a": [1]}), pl.DataFrame({"b": ["x"]})
    write_table([old], server.uri(), "kept", overwrite=False)
    asked: list[int] = []
    message = unwritten((asked.append(1) or new for _ in range(1)), server.uri(), "kept")
    assert "'public.kept' exists" in message
    assert asked == [], "refused before any work is done"
    assert rows(server, "kept").equals(old)
    write_table([new], server.uri(), "kept", overwrite=True)
    assert rows(server, "kept").equals(new)
    write_table([new], server.uri(), "fresh", overwrite=True)
    assert rows(server, "fresh").equals(new)


class BrokenError(Exception):
    pass


@pytest.mark.parametrize("error", [BrokenError("no more"), KeyboardInterrupt(), OSError("disk"), DataError("bad")])
@pytest.mark.parametrize("before", [0, 2])
def test_a_failure_of_the_rows_leaves_the_former_table(
    server: PostgresServer, error: BaseException, before: int
) -> None:
    def batches() -> Iterator[pl.DataFrame]:
        for _ in range(before):
            yield pl.DataFrame({"b": range(1000)})
        raise error

    old = pl.DataFrame({"a": [1]})
    write_table([old], server.uri(), "former", overwrite=True)
    for table in ("former", "never"):
        with pytest.raises(type(error)) as caught:
            write_table(batches(), server.uri(), table, overwrite=True)
        assert caught.value is error, "the caller's own errors pass as they are"
    assert rows(server, "former").equals(old)
    assert "no table 'never'" in unread(server.uri(), "never")


def test_a_connection_that_drops_while_writing(server: PostgresServer) -> None:
    def batches() -> Iterator[pl.DataFrame]:
        yield pl.DataFrame({"b": [1]})
        server.run("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'cut'")
        yield pl.DataFrame({"b": [2]})

    write_table([pl.DataFrame({"a": [1]})], server.uri(), "dropped", overwrite=True)
    uri = server.uri("owner", "s3cr3t") + "?application_name=cut"
    assert "was lost" in unwritten(batches(), uri, "dropped", overwrite=True)
    assert rows(server, "dropped").columns == ["a"]


def test_a_connection_that_drops_before_the_commit(server: PostgresServer) -> None:
    def batches() -> Iterator[pl.DataFrame]:
        yield pl.DataFrame({"b": [1]})
        server.run("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'late'")

    message = unwritten(batches(), server.uri("owner", "s3cr3t") + "?application_name=late", "late")
    assert "look in the database" in message
    assert "no table 'late'" in unread(server.uri(), "late")


def test_values_that_the_database_refuses_are_not_shown(server: PostgresServer) -> None:
    ok, bad = pl.DataFrame({"a": ["x"]}), pl.DataFrame({"a": ["Dup\0ont"]})
    message = unwritten([ok, bad], server.uri(), "zero")
    assert "invalid byte sequence" in message
    assert "in column a" in message
    assert "ont" not in message.replace("connection", "")
    message = unwritten([pl.DataFrame({"n": [2**64 - 1]}, schema={"n": pl.UInt64})], server.uri(), "zero")
    assert "'n' do not fit" in message
    assert str(2**64 - 1) not in message
    assert "no table 'zero'" in unread(server.uri(), "zero")


def test_who_may_not_write_is_told(server: PostgresServer) -> None:
    uri, frame = server.uri("reader", PASSWORD), pl.DataFrame({"a": [1]})
    message = unwritten([frame], uri)
    assert "'reader' may not make tables in the schema 'public'" in message
    assert 'GRANT CREATE ON SCHEMA "public" TO "reader"' in message
    server.run("CREATE SCHEMA shared", "GRANT ALL ON SCHEMA shared TO reader", "CREATE TABLE shared.theirs (a int)")
    assert "belongs to another database user" in unwritten([frame], uri, "shared.theirs", overwrite=True)
    write_table([frame], uri, "shared.ours", overwrite=False)
    assert server.rows("SELECT a, tableowner FROM shared.ours, pg_tables WHERE tablename = 'ours'") == [(1, "reader")]


def test_targets_that_cannot_be_are_refused(server: PostgresServer) -> None:
    frame = pl.DataFrame({"a": [1]})
    server.run("CREATE TABLE base (a int)", "CREATE VIEW above AS SELECT * FROM base")
    assert "a view or the like" in unwritten([frame], server.uri(), "above", overwrite=True)
    assert "depend" in unwritten([frame], server.uri(), "base", overwrite=True)
    assert "no schema 'publik'. Did you mean 'public'?" in unwritten([frame], server.uri(), "publik.t")
    assert "63 bytes" in unwritten([frame], server.uri(), "é" * 32)
    assert "63 bytes" in unwritten([frame.rename({"a": "é" * 32})], server.uri())
    assert "no schema to write to" in unwritten([frame], server.uri() + "?options=-csearch_path%3Dnowhere")


def test_batches_that_cannot_be_a_table_are_refused(server: PostgresServer) -> None:
    frame = pl.DataFrame({"a": [1]})
    assert "same columns" in unwritten([frame, frame.rename({"a": "b"})], server.uri())
    assert "tags (List(Int64))" in unwritten([pl.DataFrame({"tags": [[1]]})], server.uri())
    assert "nothing to write" in unwritten([], server.uri())
    assert "no table 'out'" in unread(server.uri(), "out")
    write_table([frame.clear()], server.uri(), "hollow", overwrite=False)
    assert server.rows("SELECT count(*) FROM hollow") == [(0,)]


def test_a_table_in_use_is_not_waited_for_for_ever(server: PostgresServer) -> None:
    from adbc_driver_postgresql import dbapi

    server.run("CREATE TABLE busy AS SELECT 1 AS a")
    with dbapi.connect(server.uri()) as other, other.cursor() as cursor:
        cursor.execute("SELECT * FROM busy")
        cursor.fetchall()
        message = _hurried(lambda: unwritten([pl.DataFrame({"a": [1]})], server.uri(), "busy", overwrite=True))
    assert "Another session holds the table" in message
    assert rows(server, "busy").height == 1


def _hurried(call: Callable[[], str]) -> str:
    from flou.describe.sources import database_session

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(database_session, "_PATIENCE", "200ms")
        return call()


# --- connecting


def test_a_password_is_used(server: PostgresServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """In the URI or by libpq's own ways; with none of them, or a wrong one, the server stays closed."""
    bare = server.uri("reader")
    encoded = server.uri("reader", PASSWORD).partition(":")[2].partition(":")[2].partition("@")[0]
    assert "%2F%40%3A%20%25" in encoded
    for uri in (server.uri("reader", PASSWORD), f"{bare}?password={encoded}"):
        assert scan_spool(read_table(uri, "people")).collect().height == 1
    assert "PGPASSWORD" in unread(bare)
    with monkeypatch.context() as patch:
        patch.setenv("PGPASSWORD", PASSWORD)
        assert scan_spool(read_table(bare, "people")).collect().height == 1
        patch.setenv("PGPASSWORD", "wr0ng")
        assert "password is wrong" in unread(bare)
    held = tmp_path / "pgpass"
    held.write_text(f"127.0.0.1:{server.port}:*:reader:{PASSWORD.replace(':', chr(92) + ':')}\n", encoding="utf-8")
    held.chmod(0o600)
    monkeypatch.setenv("PGPASSFILE", str(held))
    assert scan_spool(read_table(bare, "people")).collect().height == 1
    services = tmp_path / "services"
    services.write_text(
        f"[office]\nhost=127.0.0.1\nport={server.port}\nuser=reader\ndbname=postgres\n", encoding="utf-8"
    )
    monkeypatch.setenv("PGSERVICEFILE", str(services))
    assert scan_spool(read_table("postgresql://?service=office", "people")).collect().height == 1


@pytest.mark.parametrize(
    "refused", [unread, lambda uri: unwritten([pl.DataFrame({"a": [1]})], uri)], ids=["read", "write"]
)
def test_connections_that_fail_say_why(server: PostgresServer, refused: Callable[[str], str]) -> None:
    message = refused(server.uri("reader", "wr0ng"))
    assert "password is wrong" in message
    assert f"'postgresql://reader@127.0.0.1:{server.port}/postgres'" in message
    assert "password is wrong" in refused(f"{server.uri('reader')}?password=wr0ng")
    message = refused(server.uri("owner", "s3cr3t", database="nowhere"))
    assert 'database "nowhere" does not exist' in message
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        message = refused(f"postgresql://owner:s3cr3t@127.0.0.1:{closed.getsockname()[1]}/postgres")
    assert "cannot be reached" in message
    assert "cannot be reached" in refused("postgresql://owner:s3cr3t@no-such-host.invalid/postgres")
    message = refused("postgresql://owner:s3cr3t%00@127.0.0.1/postgres")
    assert "forbidden value" in message, "the driver quotes the password here"
    assert "sslmod" in refused("postgresql://owner:s3cr3t@127.0.0.1/postgres?sslmod=require")


def test_a_server_that_does_not_answer_is_given_up() -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        begun = time.monotonic()
        message = unread(f"postgresql://owner:s3cr3t@127.0.0.1:{silent.getsockname()[1]}/postgres?connect_timeout=2")
    assert time.monotonic() - begun < 15
    assert "cannot be reached" in message


@pytest.mark.parametrize("package", ["adbc_driver_postgresql", "pyarrow"])
def test_without_the_driver_the_extra_is_named(monkeypatch: pytest.MonkeyPatch, package: str) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    uri, frames = f"postgresql://u:{quote(PASSWORD, safe='')}@host", [pl.DataFrame({"a": [1]})]
    assert "flou[postgres]" in failed(lambda: read_table(uri, "t"), MissingExtraError)
    assert "flou[postgres]" in failed(lambda: write_table(frames, uri, "t", overwrite=False), MissingExtraError)


def test_no_session_is_left_open(server: PostgresServer) -> None:
    """Of all the tests above: a session that stays would hold a snapshot or a lock."""
    open_sessions = "SELECT 1 FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()"
    deadline = time.monotonic() + 10
    while server.rows(open_sessions):
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_the_server_goes_when_a_test_fails() -> None:
    server = PostgresServer()

    def fail() -> None:
        with server:
            assert server.rows("SELECT 1") == [(1,)]
            raise RuntimeError("on purpose")

    with pytest.raises(RuntimeError, match="on purpose"):
        fail()
    assert not server._folder.exists()
    with socket.socket() as probe:
        assert probe.connect_ex(("127.0.0.1", server.port)) != 0


def test_the_server_goes_when_the_tests_are_killed() -> None:
    code = """
        import os, signal, sys
        sys.path.insert(0, sys.argv[1])
        from tests.postgres_server import PostgresServer
        with PostgresServer() as server:
            print(server.port, server._folder, flush=True)
            os.kill(os.getpid(), signal.SIGKILL)
    """
    command = [sys.executable, "-c", textwrap.dedent(code), str(Path(__file__).parents[2])]
    port, folder = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False).stdout.split()
    deadline = time.monotonic() + 20
    while Path(folder).exists():
        assert time.monotonic() < deadline
        time.sleep(0.1)
    with socket.socket() as probe:
        assert probe.connect_ex(("127.0.0.1", int(port))) != 0
