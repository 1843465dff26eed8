"""The target of a run: one run at a time, nothing of others overwritten, nothing left behind."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from flou.engine.errors import OutputError
from flou.job.target import claimed

_KILLED = """
import os, signal, sys
from pathlib import Path
from flou.job.target import claimed
with claimed(Path(sys.argv[1]), replace=True) as target:
    (target.new / "new").touch()
    if sys.argv[2] in ("between", "behind"):
        target.out.replace(target.former)
    if sys.argv[2] == "behind":
        target.new.replace(target.out)
    os.kill(os.getpid(), signal.SIGKILL)
"""


def former_run(out: Path) -> Path:
    """A folder as a run leaves it."""
    (out / "internal").mkdir(parents=True)
    (out / "public").mkdir()
    (out / "public" / "data.csv").write_text("former")
    manifest = {"public": {"data.csv": ""}, "flou": "0", "verdict": {"decision": "RELEASE"}}
    (out / "internal" / "manifest.json").write_text(json.dumps(manifest))
    return out


def fill(out: Path, *, replace: bool = False, meanwhile: Path | None = None) -> None:
    """Write a new file as a run does; `meanwhile` somebody else writes one."""
    with claimed(out, replace=replace) as target:
        (target.new / "new").touch()
        if meanwhile is not None:
            meanwhile.parent.mkdir(exist_ok=True)
            meanwhile.write_text("theirs")
        target.put_in_place()


def names(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if not path.is_dir())


def test_the_filled_folder_is_the_target_and_nothing_else_is_left(tmp_path: Path) -> None:
    fill(tmp_path / "a" / "b" / "out")
    assert names(tmp_path) == ["a/b/out/new"]
    assert [path.name for path in (tmp_path / "a" / "b").iterdir()] == ["out"]


def test_two_runs_into_one_folder_are_refused_while_one_works(tmp_path: Path) -> None:
    with claimed(tmp_path / "out") as target:
        with pytest.raises(OutputError, match="Another run is writing"):
            fill(tmp_path / "out")
        (target.new / "first").touch()
        target.put_in_place()
    assert names(tmp_path) == ["out/first"]
    with pytest.raises(OutputError, match="not overwritten"):
        fill(tmp_path / "out")


def test_a_folder_may_be_named_by_a_link(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    with claimed(tmp_path / "link"), pytest.raises(OutputError, match="Another run is writing"):
        fill(tmp_path / "real")


def test_a_run_that_fails_leaves_nothing_not_even_the_folders_above(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError), claimed(tmp_path / "a" / "b" / "out"):
        raise RuntimeError
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("replace", [False, True])
def test_a_file_that_appears_meanwhile_stays(replace: bool, tmp_path: Path) -> None:
    out = tmp_path / "out"
    with pytest.raises(OutputError, match=r"while the run worked|not made by a run"):
        fill(out, replace=replace, meanwhile=out / "note")
    assert names(tmp_path) == ["out/note"]


def test_a_file_that_appears_in_a_former_run_stays_with_it(tmp_path: Path) -> None:
    out = former_run(tmp_path / "out")
    with pytest.raises(OutputError, match="not made by a run of Flou"):
        fill(out, replace=True, meanwhile=out / "note")
    assert names(out) == ["internal/manifest.json", "note", "public/data.csv"]
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_a_former_run_gives_way(tmp_path: Path) -> None:
    out = former_run(tmp_path / "out")
    fill(out, replace=True)
    assert names(tmp_path) == ["out/new"]


@pytest.mark.parametrize("out", [".", "..", "../here", "/"])
def test_the_folder_one_is_in_is_no_target(out: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    with pytest.raises(OutputError, match="the folder you are in"):
        fill(Path(out))
    assert not list(Path().iterdir())
    assert [path.name for path in tmp_path.iterdir()] == ["here"]


@pytest.mark.parametrize("when", ["filling", "between"])
def test_what_a_killed_run_left_is_removed_and_a_former_run_comes_back(when: str, tmp_path: Path) -> None:
    out = former_run(tmp_path / "out")
    killed = subprocess.run([sys.executable, "-c", _KILLED, out, when], check=False)
    assert killed.returncode == -signal.SIGKILL
    assert (tmp_path / ".out.flou-run").exists()
    fill(tmp_path / "other")
    assert names(tmp_path) == ["other/new", "out/internal/manifest.json", "out/public/data.csv"]
    assert not (tmp_path / ".out.flou-run").exists()


def test_a_run_that_is_killed_behind_its_renames_has_replaced_the_former_one(tmp_path: Path) -> None:
    out = former_run(tmp_path / "out")
    subprocess.run([sys.executable, "-c", _KILLED, out, "behind"], check=False)
    fill(tmp_path / "other")
    assert names(tmp_path) == ["other/new", "out/new"]
    assert not (tmp_path / ".out.flou-run").exists()


def test_a_folder_whose_maker_was_killed_before_he_locked_it_is_removed(tmp_path: Path) -> None:
    (tmp_path / ".out.flou-run").mkdir(mode=0o700)
    fill(tmp_path / "other")
    assert [path.name for path in tmp_path.iterdir()] == ["other"]


def test_a_former_run_that_cannot_come_back_is_kept(tmp_path: Path) -> None:
    out = former_run(tmp_path / "out")
    subprocess.run([sys.executable, "-c", _KILLED, out, "between"], check=False)
    former_run(out)
    fill(tmp_path / "other")
    assert names(tmp_path / ".out.flou-run") == ["in-use.lock", "kept/internal/manifest.json", "kept/public/data.csv"]
    with pytest.raises(OutputError, match="holds a former run"):
        fill(tmp_path / "out", replace=True)


def test_a_folder_of_somebody_else_beside_the_target_stays(tmp_path: Path) -> None:
    (tmp_path / ".out.flou-run").mkdir()
    (tmp_path / ".out.flou-run" / "note").write_text("theirs")
    with pytest.raises(OutputError, match="holds"):
        fill(tmp_path / "out")
    assert names(tmp_path) == [".out.flou-run/note"]


@pytest.mark.parametrize("points_to", ["theirs", "nowhere"])
def test_a_link_under_the_name_of_the_folder_to_fill_is_not_followed(points_to: str, tmp_path: Path) -> None:
    (tmp_path / "theirs").mkdir()
    (tmp_path / ".out.flou-run").symlink_to(tmp_path / points_to)
    with pytest.raises(OutputError, match="is not your own"):
        fill(tmp_path / "out")
    assert not list((tmp_path / "theirs").iterdir())


def test_a_lock_that_is_a_link_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / ".out.flou-run").mkdir()
    (tmp_path / ".out.flou-run" / "in-use.lock").symlink_to(tmp_path / "nowhere")
    with pytest.raises(OutputError, match="cannot be made"):
        fill(tmp_path / "out")


@pytest.mark.skipif(os.getuid() != 0, reason="only root gives folders away")
def test_a_folder_of_another_user_is_not_filled(tmp_path: Path) -> None:
    (tmp_path / ".out.flou-run").mkdir()
    os.chown(tmp_path / ".out.flou-run", 12_345, -1)
    with pytest.raises(OutputError, match="is not your own"):
        fill(tmp_path / "out")


def test_a_mounted_disk_is_no_target() -> None:
    with pytest.raises(OutputError, match="where a disk is mounted"):
        fill(Path("/proc"))


def test_the_umask_is_respected(tmp_path: Path) -> None:
    former = os.umask(0o027)
    try:
        fill(tmp_path / "out")
    finally:
        os.umask(former)
    assert (tmp_path / "out").stat().st_mode & 0o777 == 0o750


def test_a_private_folder_that_is_replaced_stays_private(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir(mode=0o700)
    fill(tmp_path / "out")
    assert (tmp_path / "out").stat().st_mode & 0o777 == 0o700
