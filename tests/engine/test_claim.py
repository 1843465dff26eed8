"""What a killed process was writing is removed by the next one; what is being written, and what is not ours, stays."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from flou.engine import claim
from flou.engine.errors import OutputError
from flou.engine.output import PUBLIC, folder_written_whole, written_whole

_WRITE = """
import sys, time
from pathlib import Path
from flou.engine.output import written_whole, folder_written_whole
with {how}(Path(sys.argv[1])):
    print("ready", flush=True)
    time.sleep(60)
"""


@contextmanager
def writing(target: Path, how: str) -> Iterator[subprocess.Popen[str]]:
    """A process in the middle of writing."""
    code = _WRITE.format(how=how)
    with subprocess.Popen([sys.executable, "-c", code, target], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        try:
            yield process
        finally:
            process.kill()


@pytest.mark.parametrize("how", ["written_whole", "folder_written_whole"])
def test_what_a_killed_process_was_writing_is_removed_by_the_next(how: str, tmp_path: Path) -> None:
    with writing(tmp_path / "out", how) as process:
        process.send_signal(signal.SIGKILL)
    (left,) = tmp_path.iterdir()
    assert left.name.startswith(claim.WRITING)
    with written_whole(tmp_path / "next") as file:
        file.write(b"new")
    assert [path.name for path in tmp_path.iterdir()] == ["next"]


@pytest.mark.parametrize("how", ["written_whole", "folder_written_whole"])
def test_what_is_being_written_stays(how: str, tmp_path: Path) -> None:
    with writing(tmp_path / "out", how):
        with written_whole(tmp_path / "next"):
            pass
        assert len(list(tmp_path.glob(f"{claim.WRITING}*"))) == 1


def test_a_folder_of_somebody_else_stays(tmp_path: Path) -> None:
    for name in ("flou-spool.mine", ".flou-run", f"{claim.WRITING}mine"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "notes").write_text("mine")
    (tmp_path / "flou-spool.txt").write_text("mine")
    claim.remove_abandoned(tmp_path)
    claim.remove_abandoned(tmp_path, claim.SPOOL)
    assert len(list(tmp_path.rglob("*"))) == 7


def test_a_link_to_a_folder_of_somebody_else_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "theirs").mkdir()
    (tmp_path / "theirs" / "in-use.lock").touch()
    (tmp_path / f"{claim.WRITING}x").symlink_to(tmp_path / "theirs")
    claim.remove_abandoned(tmp_path)
    assert (tmp_path / "theirs" / "in-use.lock").exists()


def test_a_folder_is_taken_by_one_alone(tmp_path: Path) -> None:
    lock = claim.take_folder(tmp_path / "room")
    with pytest.raises(BlockingIOError):
        claim.take_folder(tmp_path / "room")
    claim.leave_folder(tmp_path / "room", lock)
    assert not (tmp_path / "room").exists()


def test_the_lock_of_a_folder_is_removed_last(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lock = claim.take_folder(tmp_path / "room")
    for i in range(20):
        (tmp_path / "room" / str(i)).touch()
    removed: list[str] = []
    unlink = os.unlink

    def note(path: str | Path, **more: int) -> None:
        removed.append(Path(path).name)
        unlink(path, **more)

    monkeypatch.setattr(os, "unlink", note)
    claim.leave_folder(tmp_path / "room", lock)
    assert removed[-1] == claim.LOCK
    assert len(removed) == 21
    assert not (tmp_path / "room").exists()


def test_without_locks_a_folder_is_taken_by_whoever_makes_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(claim, "fcntl", None)
    claim.take_folder(tmp_path / "room")
    with pytest.raises(BlockingIOError):
        claim.take_folder(tmp_path / "room")


def test_a_file_that_appears_meanwhile_is_not_overwritten(tmp_path: Path) -> None:
    target = tmp_path / "out"
    with pytest.raises(OutputError, match="meanwhile"), written_whole(target):
        target.write_text("theirs")
    assert target.read_text() == "theirs"
    assert list(tmp_path.iterdir()) == [target]


def test_a_folder_that_appears_meanwhile_is_not_overwritten(tmp_path: Path) -> None:
    target = tmp_path / "out"
    with pytest.raises(OutputError, match="could not be written"), folder_written_whole(target):
        (target / "theirs").mkdir(parents=True)
    assert [path.name for path in target.iterdir()] == ["theirs"]


def test_overwriting_writes_what_a_link_names(tmp_path: Path) -> None:
    real, link = tmp_path / "real", tmp_path / "link"
    real.write_text("old")
    link.symlink_to(real)
    with written_whole(link, overwrite=True) as file:
        file.write(b"new")
    assert link.is_symlink()
    assert real.read_text() == "new"


@pytest.mark.parametrize(("mode", "umask", "expected"), [(None, 0o022, 0o600), (PUBLIC, 0o022, 0o644), (PUBLIC, 0o027, 0o640), (PUBLIC, 0, 0o644)])  # fmt: skip
def test_files_are_private_unless_said_and_respect_the_umask(
    mode: int | None, umask: int, expected: int, tmp_path: Path
) -> None:
    former = os.umask(umask)
    try:
        with written_whole(tmp_path / "file", **({} if mode is None else {"mode": mode})):
            pass
        with folder_written_whole(tmp_path / "folder", **({} if mode is None else {"mode": mode})) as folder:
            (folder / "part").touch()
    finally:
        os.umask(former)
    assert (tmp_path / "file").stat().st_mode & 0o777 == expected
    assert (tmp_path / "folder").stat().st_mode & 0o666 == expected
    assert (tmp_path / "folder" / "part").stat().st_mode & 0o777 == expected


def test_a_private_file_that_is_overwritten_stays_private(tmp_path: Path) -> None:
    (tmp_path / "plan").touch(mode=0o600)
    with written_whole(tmp_path / "plan", overwrite=True, mode=PUBLIC):
        pass
    assert (tmp_path / "plan").stat().st_mode & 0o777 == 0o600
