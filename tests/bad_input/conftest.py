"""What the tests of bad input share: the small plan to spoil, the command line, and a look at what is on disk."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from tests.contracts import cases

import flou

ROOT = Path(__file__).parents[2]
SMALL = ROOT / "tests" / "small_plan"


def on_disk(folder: Path) -> dict[str, bytes | None]:
    """Every file (its bytes) and folder (None) below a folder, hidden ones included."""
    return {str(p.relative_to(folder)): p.read_bytes() if p.is_file() else None for p in sorted(folder.rglob("*"))}


@dataclass(frozen=True)
class Ran:
    """What a command said and returned."""

    code: int
    out: str
    err: str

    @property
    def message(self) -> str:
        """The error, without the lines of progress before it."""
        lines = self.err.splitlines()
        while lines and lines[0].startswith("… "):
            lines.pop(0)
        return "\n".join(lines).strip()


@dataclass(frozen=True)
class Job:
    """A copy of the small plan that a test may spoil."""

    folder: Path

    @property
    def plan(self) -> Path:
        return self.folder / "plan.toml"

    @property
    def out(self) -> Path:
        return self.folder.parent / "out"

    def edit(self, file: str, old: str, new: str) -> Job:
        path = self.folder / file
        text = path.read_text(encoding="utf-8")
        assert old in text, f"{old!r} is not in {file}"
        path.write_text(text.replace(old, new), encoding="utf-8")
        return self

    def add(self, file: str, text: str) -> Job:
        path = self.folder / file
        path.write_text(path.read_text(encoding="utf-8") + text, encoding="utf-8")
        return self


@pytest.fixture(autouse=True)
def no_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    """Variables of the developer's own shell must not decide a test."""
    for name in ("FLOU_SECRET", "FLOU_SECRET_FILE", "FLOU_ENGINE", "FLOU_DEBUG"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def job(tmp_path: Path) -> Job:
    shutil.copytree(SMALL, tmp_path / "work" / "job")
    return Job(tmp_path / "work" / "job")


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., Ran]:
    """Run a command of `flou` in this process, as its entry point does."""

    def call(*arguments: object) -> Ran:
        from flou.cli.main import main

        monkeypatch.setattr(sys, "argv", ["flou", *map(str, arguments)])
        capsys.readouterr()
        with pytest.raises(SystemExit) as exit_:
            main()
        said = capsys.readouterr()
        code = exit_.value.code
        return Ran(code if isinstance(code, int) else 0 if code is None else 1, said.out, said.err)

    return call


@pytest.fixture
def refused(run: Callable[..., Ran], tmp_path: Path) -> Callable[..., str]:
    """Run a command that must be refused: exit code 2, one paragraph, nothing written; the paragraph is returned."""

    def call(*arguments: object) -> str:
        before = on_disk(tmp_path)
        ran = run(*arguments)
        message = ran.message
        assert ran.code == 2, f"exit code {ran.code}: {ran.err}"
        assert message.startswith("flou: "), ran.err
        assert "Traceback" not in ran.err
        assert "\n\n" not in message, "one paragraph"
        assert on_disk(tmp_path) == before, "something was written"
        return message

    return call


@pytest.fixture
def nothing_written(tmp_path: Path) -> Callable[[], AbstractContextManager[None]]:
    """A block after which the folder of the test holds exactly what it held before."""

    @contextmanager
    def block() -> Iterator[None]:
        before = on_disk(tmp_path)
        yield
        assert on_disk(tmp_path) == before, "something was written"

    return block


@pytest.fixture
def native() -> Callable[[pl.DataFrame, str], Any]:
    """A Polars frame in the type of an engine."""
    return cases.native


@pytest.fixture
def rows() -> Callable[[Any], pl.DataFrame]:
    """Any native frame as Polars rows, so that frames of every engine can be compared."""

    def collect(frame: Any) -> pl.DataFrame:
        if isinstance(frame, pl.DataFrame):
            return frame
        if isinstance(frame, pl.LazyFrame):
            return frame.collect()
        if type(frame).__name__ == "DuckDBPyRelation":
            return pl.DataFrame(frame.to_arrow_table() if hasattr(frame, "to_arrow_table") else frame.arrow())
        if type(frame).__module__.startswith("pandas"):
            return pl.from_pandas(frame)
        return pl.DataFrame(frame)

    return collect


@pytest.fixture
def people() -> flou.Microdata:
    """Ten records with every role and no undetermined key."""
    return flou.Microdata(
        pl.DataFrame(
            {
                "pid": list(range(10)),
                "name": [f"Person{i}" for i in range(10)],
                "hid": [900 + i // 2 for i in range(10)],
                "age": [31, 34, 36, 52, 58, 55, 51, 53, 35, 33],
                "sex": ["F", "F", "F", "M", "M", "M", "M", "M", "F", "F"],
                "income": [1.5, 2.5, 3.5, 4.5, 5.5, 6.5, 7.5, 8.5, 9.5, 10.5],
                "w": [1.0] * 10,
            }
        ),
        id="pid",
        identifiers=["name"],
        household="hid",
        keys=["age", "sex"],
        sensitive=["income"],
        weight="w",
        hierarchies={"age": flou.Hierarchy.bands(10, 20)},
    )
