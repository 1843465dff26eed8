"""The address of a database that was mistyped may hold a password: no message repeats it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import flou
from flou.engine.errors import FlouError

PASSWORD = "s3cret"
ADDRESSES = [
    "postgresql:/u:s3cret@h/db",
    "postgresql:u:s3cret@h/db",
    " postgresql://u:s3cret@h/db",
    "\tpostgres://u:s3cret@h/db",
    "postgresql ://u:s3cret@h/db",
    "postgresql//u:s3cret@h/db",
    "postgresql:\\\\u:s3cret@h\\db",
    "postgresql://u:s3cret@h@x/db",
    "'postgresql://u:s3cret@h/db'",
    "jdbc:postgresql://h/db?user=u&password=s3cret",
    "mysql://u:s3cret@h/db",
    "postgreql://u:s3cret@h/db",
    "host=h user=u password=s3cret dbname=db",
    "//u:s3cret@h/db",
    "u:s3cret@h/db",
]
#: Everything that takes the name of a file, a folder or a database.
USES: dict[str, Callable[[str], object]] = {
    "read": flou.read,
    "schema": lambda text: flou.read(__file__, schema=text),
    "write": lambda text: flou.write(flou.datasets.benschop(), text, unprotected=True),
    "write a table": lambda text: flou.write(flou.datasets.benschop(), text, table="x", unprotected=True),
    "plan": flou.Plan.load,
    "secret": flou.Secret.from_file,
    "hierarchy": flou.Hierarchy.from_csv,
    "table": lambda text: flou.Table.read(text, ["a"]),
    "argus": flou.read_argus,
    "data of a plan": lambda text: flou.Plan.from_toml(f"flou = 2\n[data]\nsource = {quoted(text)}\n"),
    "output": lambda text: flou.Plan.from_toml(
        f'flou = 2\n[data]\nsource = "x.csv"\n[output]\ntable = "x"\ndatabase = {quoted(text)}\n'
    ),
}


def quoted(text: str) -> str:
    """A text in TOML."""
    return '"' + text.replace("\\", "\\\\").replace("\t", "\\t") + '"'


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("address", ADDRESSES)
def test_a_mistyped_address_is_refused_and_not_repeated(use: str, address: str) -> None:
    with pytest.raises(FlouError) as refused:
        USES[use](address)
    assert PASSWORD not in str(refused.value)


@pytest.mark.parametrize("command", ["describe", "risk", "run", "report", "migrate"])
def test_the_command_line_does_not_repeat_it(command: str, refused: Callable[..., str]) -> None:
    more = ["--out", "out"] if command in ("run", "report") else []
    assert PASSWORD not in refused(command, ADDRESSES[0], *more)


def test_a_file_of_such_a_name_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("10:30@home.csv").write_text("a\n1\n")
    assert flou.read("10:30@home.csv").n_records == 1
