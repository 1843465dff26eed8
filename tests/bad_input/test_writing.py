"""Full disks, folders that exist, interruptions: the output is whole or not there at all."""

from __future__ import annotations

import contextlib
import errno
import os
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import flou
from flou.engine.plan import Plan
from flou.job.carry_out import carry_out
from flou.job.folder import write_folder

SECRET = flou.Secret(bytes(range(32)))
ENDINGS = ("csv", "parquet", "arrow")
WRITERS = {"csv": "sink_csv", "parquet": "sink_parquet", "arrow": "sink_ipc"}


def _full(*_: object, **__: object) -> Any:
    raise OSError(errno.ENOSPC, "No space left on device")


def _broken(*_: object, **__: object) -> Any:
    raise pl.exceptions.ComputeError("the writer failed")


def _stopped(*_: object, **__: object) -> Any:
    raise KeyboardInterrupt


# one file


@pytest.mark.parametrize("overwrite", [False, True], ids=["new", "overwrite"])
@pytest.mark.parametrize("fault", [_full, _broken], ids=["full disk", "failed writer"])
@pytest.mark.parametrize("ending", ENDINGS)
def test_a_file_is_whole_or_not_there(
    ending: str,
    fault: Any,
    overwrite: bool,
    people: flou.Microdata,
    tmp_path: Path,
    nothing_written: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    target = tmp_path / f"out.{ending}"
    if overwrite:
        target.write_bytes(b"the former file")
    monkeypatch.setattr(pl.LazyFrame, WRITERS[ending], fault)
    with nothing_written(), pytest.raises(flou.FlouError, match=f"out.{ending}"):
        flou.write(people, target, overwrite=overwrite, unprotected=True)


@pytest.mark.parametrize("name", ["replace", "chmod"])
def test_a_rename_that_fails(
    name: str, people: flou.Microdata, tmp_path: Path, nothing_written: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Path, name, _full)
    monkeypatch.setattr(os, "link", _full)
    with nothing_written(), pytest.raises(flou.FlouError):
        flou.write(people, tmp_path / "out.csv", unprotected=True)


def test_an_interruption_leaves_no_file(
    people: flou.Microdata, tmp_path: Path, nothing_written: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pl.LazyFrame, "sink_csv", _stopped)
    with nothing_written(), pytest.raises(KeyboardInterrupt):
        flou.write(people, tmp_path / "out.csv", unprotected=True)


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_file_that_exists_is_not_overwritten(
    ending: str, people: flou.Microdata, tmp_path: Path, nothing_written: Any
) -> None:
    target = tmp_path / f"out.{ending}"
    target.write_bytes(b"something else")
    with nothing_written(), pytest.raises(flou.FlouError, match="exists"):
        flou.write(people, target, unprotected=True)


TARGETS: dict[str, Any] = {
    "unknown kind": "out.xlsx",
    "no kind": "out",
    "folder not there": "none/out.csv",
    "nothing": None,
    "a number": 3,
    "a name with a zero byte": "a\0.csv",
    "a name too long": "a" * 300 + ".csv",
}


@pytest.mark.parametrize("case", list(TARGETS))
def test_targets_that_cannot_be_written(
    case: str, people: flou.Microdata, tmp_path: Path, nothing_written: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with nothing_written(), pytest.raises(flou.FlouError):
        flou.write(people, TARGETS[case], unprotected=True)


def test_a_folder_is_not_a_file_to_overwrite(people: flou.Microdata, tmp_path: Path, nothing_written: Any) -> None:
    (tmp_path / "out.csv").mkdir()
    with nothing_written(), pytest.raises(flou.FlouError):
        flou.write(people, tmp_path / "out.csv", overwrite=True, unprotected=True)


@pytest.mark.parametrize("data", [None, pl.DataFrame({"a": [1]}), "people.csv"], ids=["nothing", "frame", "text"])
def test_only_microdata_are_written(data: Any, tmp_path: Path, nothing_written: Any) -> None:
    with nothing_written(), pytest.raises(flou.FlouError, match="Microdata"):
        flou.write(data, tmp_path / "out.csv", unprotected=True)


def test_nothing_but_identifiers_is_not_written(tmp_path: Path, nothing_written: Any) -> None:
    data = flou.Microdata(pl.DataFrame({"i": [1], "n": ["x"]}), id="i", identifiers=["n"])
    with nothing_written(), pytest.raises(flou.FlouError, match="Nothing would be published"):
        flou.write(data, tmp_path / "out.csv", unprotected=True)


@pytest.mark.parametrize("column", [pl.Series([[1]]), pl.Series([b"\xff"])], ids=["list", "binary"])
def test_columns_that_csv_cannot_hold(column: pl.Series, tmp_path: Path, nothing_written: Any) -> None:
    with nothing_written(), pytest.raises(flou.FlouError):
        flou.write(flou.Microdata(pl.DataFrame({"a": column})), tmp_path / "out.csv", unprotected=True)


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("protected", [False, True], ids=["original", "release"])
def test_what_names_a_person_is_never_written(
    ending: str, protected: bool, people: flou.Microdata, tmp_path: Path
) -> None:
    data = flou.protect.Recode("age", level=1).protect(people, secret=SECRET) if protected else people
    path = flou.write(data, tmp_path / f"out.{ending}", unprotected=True)
    assert not {"pid", "name", "hid"} & set(flou.read(path).columns)
    content = path.read_bytes()
    assert b"Person3" not in content
    assert b"pid" not in content
    assert b"hid" not in content


def test_a_report_is_whole_or_not_there(
    people: flou.Microdata, tmp_path: Path, nothing_written: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    report = flou.Report(people, flou.Plan([]).protect(people, secret=SECRET))
    monkeypatch.setattr(report, "html", lambda **_: "<html>")
    (tmp_path / "old.html").write_text("something else", encoding="utf-8")
    with nothing_written():
        for target in (tmp_path / "old.html", tmp_path / "none" / "new.html"):
            with pytest.raises(flou.FlouError):
                report.save(target)
        with pytest.raises(flou.FlouError):
            report.save(tmp_path, overwrite=True)


# the folder of a run


@pytest.fixture(scope="module")
def done() -> Any:
    """A plan carried out once; its folder is written many times."""
    plan = Plan.load(Path(__file__).parents[1] / "small_plan" / "plan.toml")
    return carry_out(plan)


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Reports without their charts: what is tested is where the files go."""
    monkeypatch.setattr(flou.Report, "html", lambda self, **_: "<html></html>")


def _faults() -> Iterator[tuple[str, Any, str]]:
    yield "data", pl.LazyFrame, "sink_csv"
    yield "reports", flou.Report, "save"
    yield "manifest", flou.job.folder, "_manifest"
    yield "mode", Path, "chmod"
    yield "rename", Path, "replace"


@pytest.mark.parametrize("where", list(_faults()), ids=lambda f: f[0])
@pytest.mark.parametrize("replace", [False, True], ids=["new", "replace"])
@pytest.mark.parametrize("fault", [_full, _stopped], ids=["full disk", "interrupted"])
@pytest.mark.usefixtures("quick")
def test_a_folder_is_whole_or_not_there(
    where: tuple[str, Any, str],
    replace: bool,
    fault: Any,
    done: Any,
    tmp_path: Path,
    nothing_written: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    out = tmp_path / "out"
    if replace:
        write_folder(done, out)
        (out / "internal" / "note.txt").write_text("of the former run", encoding="utf-8")
    monkeypatch.setattr(where[1], where[2], fault)
    with nothing_written(), pytest.raises((flou.FlouError, KeyboardInterrupt)) as caught:
        write_folder(done, out, replace=replace)
    monkeypatch.undo()
    if fault is _full:
        assert isinstance(caught.value, flou.FlouError)


@pytest.mark.usefixtures("quick")
def test_the_former_run_comes_back_when_the_new_one_cannot_take_its_place(
    done: Any, tmp_path: Path, nothing_written: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second of the two renames fails, when the former folder has left its place already."""
    out = tmp_path / "out"
    write_folder(done, out)
    real = Path.replace

    def second_fails(self: Path, target: Any) -> Any:
        if target == out and self.name == "new":
            raise OSError(errno.ENOSPC, "No space left on device")
        return real(self, target)

    monkeypatch.setattr(Path, "replace", second_fails)
    with nothing_written(), pytest.raises(flou.FlouError):
        write_folder(done, out, replace=True)


@pytest.mark.usefixtures("quick")
def test_targets_of_a_run_that_are_taken(done: Any, tmp_path: Path, nothing_written: Any) -> None:
    (tmp_path / "file").write_text("something else", encoding="utf-8")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "letter.txt").write_text("something else", encoding="utf-8")
    (tmp_path / "lookalike" / "internal").mkdir(parents=True)
    (tmp_path / "lookalike" / "internal" / "letter.txt").write_text("something else", encoding="utf-8")
    (tmp_path / "site" / "internal").mkdir(parents=True)
    (tmp_path / "site" / "internal" / "manifest.json").write_text('{"name": "a web site"}', encoding="utf-8")
    with nothing_written():
        for name in ("file", "folder", "lookalike", "site"):
            with pytest.raises(flou.FlouError, match="not overwritten"):
                write_folder(done, tmp_path / name)
            with pytest.raises(flou.FlouError, match="not made by a run of Flou"):
                write_folder(done, tmp_path / name, replace=True)
        with pytest.raises(flou.FlouError):
            write_folder(done, tmp_path / "file" / "out")


@pytest.mark.usefixtures("quick")
def test_what_the_office_added_to_a_former_run_is_not_lost(done: Any, tmp_path: Path, nothing_written: Any) -> None:
    """--replace replaces what Flou made; a letter that somebody put beside it is not Flou's."""
    out = write_folder(done, tmp_path / "out")
    (out / "letter.txt").write_text("of the office", encoding="utf-8")
    with contextlib.suppress(flou.FlouError):
        write_folder(done, out, replace=True)
    assert (out / "letter.txt").is_file()


@pytest.mark.usefixtures("quick")
def test_a_link_is_not_followed_to_be_replaced(done: Any, tmp_path: Path) -> None:
    real = write_folder(done, tmp_path / "real")
    (tmp_path / "link").symlink_to(real)
    with contextlib.suppress(flou.FlouError):
        write_folder(done, tmp_path / "link", replace=True)
    assert (real / "internal" / "manifest.json").is_file()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["link", "real"]
    (tmp_path / "dangling").symlink_to(tmp_path / "none")
    with pytest.raises(flou.FlouError):
        write_folder(done, tmp_path / "dangling")


@pytest.mark.parametrize("stage", ["write data", "write reports"])
@pytest.mark.usefixtures("quick")
def test_a_callback_that_raises_while_writing(stage: str, done: Any, tmp_path: Path, nothing_written: Any) -> None:
    def stop(now: str, *_: int) -> None:
        if now == stage:
            raise RuntimeError("cancelled")

    with nothing_written(), pytest.raises(RuntimeError, match="cancelled"):
        write_folder(done, tmp_path / "out", progress=stop)


@pytest.mark.parametrize("stage", ["read", "measure before: k_anonymity", "protect: recode", "protect: verify"])
def test_a_callback_that_raises_on_the_way(stage: str, job: Any, nothing_written: Any) -> None:
    def stop(now: str, *_: int) -> None:
        if now == stage:
            raise RuntimeError("cancelled")

    with nothing_written(), pytest.raises(RuntimeError, match="cancelled"):
        carry_out(Plan.load(job.plan), progress=stop)
    heard: list[str] = []
    flou.Plan([]).protect(
        flou.Microdata(pl.DataFrame({"a": [1]})), secret=SECRET, progress=lambda now, *_: heard.append(now)
    )
    assert heard, "the next listener is not the cancelled one"


@pytest.mark.parametrize("exception", [KeyboardInterrupt, SystemExit, MemoryError])
def test_a_step_that_is_stopped(
    exception: type[BaseException], job: Any, run: Callable[..., Any], nothing_written: Any, monkeypatch: Any
) -> None:
    def stop(*_: object, **__: object) -> None:
        raise exception

    monkeypatch.setattr(flou.protect.Recode, "_protect", stop)
    with nothing_written():
        ran = run("run", job.plan, "--out", job.out)
    if exception is KeyboardInterrupt:
        assert ran.code == 130
        assert ran.message == "flou: Interrupted; nothing was written."
    assert "Traceback" not in ran.err


def test_an_interruption_while_writing_says_so(
    job: Any, run: Callable[..., Any], nothing_written: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pl.LazyFrame, "sink_csv", _stopped)
    with nothing_written():
        assert run("run", job.plan, "--out", job.out).code == 130


def test_a_fault_of_our_own_is_one_paragraph(
    job: Any, run: Callable[..., Any], nothing_written: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise KeyError("unforeseen")

    monkeypatch.setattr(flou.protect.Recode, "_protect", fail)
    with nothing_written():
        ran = run("run", job.plan, "--out", job.out)
    assert ran.code == 1
    assert ran.message.startswith("flou: ")
    assert "FLOU_DEBUG" in ran.message
    assert "Traceback" not in ran.err


def test_what_names_a_person_is_never_in_public(job: Any, run: Callable[..., Any]) -> None:
    """Without the step that drops identifiers, and with an id and a household besides."""
    job.edit("plan.toml", '[[protect]]\nmethod = "drop_identifiers"\n', "")
    lines = (job.folder / "people.csv").read_text(encoding="utf-8").splitlines()
    rows = [f"{line},{48151620 + i},{77342300 + i // 2}" for i, line in enumerate(lines[1:])]
    text = "\n".join([lines[0] + ",unit_number,home_number", *rows]) + "\n"
    (job.folder / "people.csv").write_text(text, encoding="utf-8")
    job.add("people.schema.toml", '\n[columns.unit_number]\nrole = "id"\n\n[columns.home_number]\nrole = "household"\n')
    assert run("run", job.plan, "--out", job.out).code == 0
    names = [line.split(",")[0] for line in lines[1:]]
    for file in (job.out / "public").rglob("*"):
        content = file.read_text(encoding="utf-8")
        for word in (*names, "481516", "773423"):
            assert word not in content, f"{word} in {file.name}"
    header = (job.out / "public" / "data.csv").read_text(encoding="utf-8").splitlines()[0]
    assert header == "age,sex,illness"


# a disk that is really full

_LIMITED = """
import resource, signal, sys
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
limit = int(sys.argv.pop(1))
resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
from flou.cli.main import main
main()
"""


def _limited(limit: int, *arguments: object) -> subprocess.CompletedProcess[str]:
    environment = {k: v for k, v in os.environ.items() if not k.startswith("FLOU_")}
    command = [sys.executable, "-c", textwrap.dedent(_LIMITED), str(limit), *map(str, arguments)]
    return subprocess.run(
        command, capture_output=True, text=True, encoding="utf-8", env=environment, check=False, timeout=60
    )


@pytest.mark.skipif(sys.platform == "win32", reason="no limit on the size of files")
@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_file_that_the_disk_cannot_hold(ending: str, tmp_path: Path, nothing_written: Any) -> None:
    n = 20_000
    frame = pl.DataFrame({"age": range(n), "text": [f"{i * 7919:012d}" for i in range(n)]})
    frame.write_parquet(tmp_path / "people.parquet")
    options = [
        "--method",
        "top_code",
        "--column",
        "age",
        "--at",
        "90000",
        "--unprotected",
        "--out",
        tmp_path / f"out.{ending}",
    ]
    with nothing_written():
        ran = _limited(4096, "protect", tmp_path / "people.parquet", *options)
    assert ran.returncode == 2, ran.stderr
    assert "could not be written" in ran.stderr
    assert "Traceback" not in ran.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="no limit on the size of files")
def test_a_folder_that_the_disk_cannot_hold(job: Any, nothing_written: Any) -> None:
    """The data fit, the reports do not."""
    with nothing_written():
        ran = _limited(2000, "run", job.plan, "--out", job.out)
    assert ran.returncode == 2, ran.stderr
    assert "flou: " in ran.stderr
    assert "Traceback" not in ran.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="no limit on the size of files")
def test_a_report_that_the_disk_cannot_hold(job: Any, nothing_written: Any) -> None:
    with nothing_written():
        ran = _limited(2000, "report", job.plan, "--out", job.out.with_suffix(".html"))
    assert ran.returncode == 2, ran.stderr
    assert "Traceback" not in ran.stderr
