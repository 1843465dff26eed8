"""A real PostgreSQL server for tests: on the loopback, on a port of its own, gone when the tests end.

    with PostgresServer() as server:
        server.run("CREATE TABLE t (a int)")
        flou.read(server.uri(), table="t")

It listens on 127.0.0.1 alone. The owner (`server.owner`) needs no password; any other role does.
"""

from __future__ import annotations

import atexit
import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from pathlib import Path
from types import TracebackType
from typing import Any
from urllib.parse import quote

import pytest

#: Seconds for the server to start or to stop.
_PATIENCE = 60


def binaries() -> Path | None:
    """The folder of initdb and postgres: on the path, else where Debian keeps them."""
    found = shutil.which("initdb")
    folders = [Path(found).resolve().parent] if found else []
    folders += sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda p: float(p.parent.name), reverse=True)
    return next((f for f in folders if (f / "initdb").exists() and (f / "postgres").exists()), None)


def server_user() -> pwd.struct_passwd | None:
    """Whom to run the server as: it refuses to be root. None: as we are, or nobody fit for it."""
    if os.geteuid() != 0:
        return None
    for name in ("postgres", "nobody"):
        try:
            return pwd.getpwnam(name)
        except KeyError:
            continue
    pytest.skip("PostgreSQL does not run as root, and there is no user postgres or nobody")


class PostgresServer:
    """A server with its own data folder; `with` starts and stops it, whatever happens between."""

    owner = "owner"

    def __init__(self) -> None:
        found = binaries()
        if found is None:
            pytest.skip("no PostgreSQL server: install the package postgresql")
        self._bin = found
        self._user = server_user()
        # another user may not enter pytest's own folder; a short path, for the name of the socket
        self._folder = Path(tempfile.mkdtemp(prefix="flou-pg-", dir="/tmp"))
        self._process: subprocess.Popen[bytes] | None = None
        self._guard: subprocess.Popen[bytes] | None = None
        self.port = _free_port()

    def __enter__(self) -> PostgresServer:
        atexit.register(self.stop)
        try:
            self._start()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.stop()

    def uri(self, user: str | None = None, password: str | None = None, database: str = "postgres") -> str:
        """Where the server is, for a role (the owner) and a database; the password is percent-encoded."""
        secret = "" if password is None else f":{quote(password, safe='')}"
        return f"postgresql://{quote(user or self.owner, safe='')}{secret}@127.0.0.1:{self.port}/{quote(database)}"

    def run(self, *statements: str, database: str = "postgres") -> None:
        """Carry out statements as the owner, each at once."""
        for statement in statements:
            self.rows(statement, database=database)

    def rows(self, query: str, *, database: str = "postgres") -> list[tuple[Any, ...]]:
        """The rows of a query, asked as the owner."""
        from adbc_driver_postgresql import dbapi

        connection = dbapi.connect(self.uri(database=database), autocommit=True)
        with connection, connection.cursor() as cursor:
            # COPY, the driver's default, takes queries alone
            cursor.adbc_statement.set_options(**{"adbc.postgresql.use_copy": "false"})
            cursor.execute(query)
            return [tuple(row) for row in cursor.fetchall()]

    def stop(self) -> None:
        """End the server and remove its folder; harmless when done before."""
        atexit.unregister(self.stop)
        if self._process is not None:
            self._process.send_signal(signal.SIGINT)  # "fast": clients are cut off
            try:
                self._process.wait(_PATIENCE)
            except subprocess.TimeoutExpired:
                self._process.send_signal(signal.SIGQUIT)
                self._process.wait(_PATIENCE)
            self._process = None
        if self._guard is not None:
            self._guard.kill()
            self._guard.communicate()
            self._guard = None
        shutil.rmtree(self._folder, ignore_errors=True)

    def _start(self) -> None:
        data, log = self._folder / "data", self._folder / "log"
        log.touch()
        if self._user is not None:
            for path in (self._folder, log):
                os.chown(path, self._user.pw_uid, self._user.pw_gid)
        initdb = ["initdb", "--pgdata", data, "--username", self.owner, "--encoding", "UTF8", "--locale", "C"]
        made = self._launch([*initdb, "--auth", "trust", "--no-sync"], log)
        if made.wait(_PATIENCE) != 0:
            raise RuntimeError(f"initdb failed:\n{log.read_text(encoding='utf-8')}")
        (data / "pg_hba.conf").write_text(
            f"host all {self.owner} 127.0.0.1/32 trust\nhost all all 127.0.0.1/32 scram-sha-256\n", encoding="utf-8"
        )
        settings = {
            "listen_addresses": "127.0.0.1",
            "port": self.port,
            "unix_socket_directories": self._folder,
            "fsync": "off",
            "full_page_writes": "off",
            "synchronous_commit": "off",
            "max_connections": 20,
            "password_encryption": "scram-sha-256",
        }
        options = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
        self._process = self._launch(["postgres", "-D", data, *options], log)
        # when this process is killed, or a driver brings it down, the pipe closes and the guard ends the server
        script = 'cat >/dev/null; kill -QUIT "$1"; sleep 1; rm -rf "$2"'
        guard = ["/bin/sh", "-c", script, "guard", str(self._process.pid), self._folder]
        self._guard = subprocess.Popen(guard, stdin=subprocess.PIPE, start_new_session=True)
        self._wait(log)

    def _launch(self, command: list[str | Path], log: Path) -> subprocess.Popen[bytes]:
        who: dict[str, Any] = {}
        if self._user is not None:
            who = {"user": self._user.pw_uid, "group": self._user.pw_gid, "extra_groups": []}
        # the developer's own PGDATA, PGHOST, … must not decide
        environment = {k: v for k, v in os.environ.items() if not k.startswith("PG")} | {"HOME": str(self._folder)}
        with log.open("ab") as out:
            return subprocess.Popen(
                [self._bin / command[0], *command[1:]],
                cwd=self._folder,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                **who,
            )

    def _wait(self, log: Path) -> None:
        """Until the server says that it takes connections: an open port alone is too early."""
        assert self._process is not None
        end = time.monotonic() + _PATIENCE
        while "ready to accept connections" not in log.read_text(encoding="utf-8"):
            if self._process.poll() is not None or time.monotonic() > end:
                raise RuntimeError(f"the server did not start:\n{log.read_text(encoding='utf-8')}")
            time.sleep(0.05)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port
