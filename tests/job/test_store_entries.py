"""Entries are for their owner alone, whole or not there, and whatever was changed in one is refused."""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.job.office import STEPS, Office, open_office

from flou.engine import claim
from flou.engine.errors import DataError
from flou.engine.secret import Secret
from flou.job.store import seal
from flou.job.store.seal import Keys, Memory, Writer

SECRET = Secret(bytes(range(32)))
NAME, OTHER = "a" * 40, "b" * 40
PARTS = {"entry.json": b"{}", "v.0.npy": b"numbers", "d0.00000.column.parquet": b"rows", "d1.0.scan.parquet": b"more"}


@pytest.fixture
def office(tmp_path: Path) -> Iterator[Office]:
    with open_office(tmp_path) as opened:
        opened.steps = STEPS[:4]
        yield opened


def write(folder: Path, parts: dict[str, bytes], name: str = NAME, secret: Secret = SECRET) -> Path:
    with seal.written(folder, name, Keys(secret), Memory()) as entry:
        for part, content in parts.items():
            entry.add(part, content)
    return folder / name


def read(folder: Path, name: str = NAME, secret: Secret = SECRET) -> dict[str, bytes] | None:
    held = seal.read(folder, name, Keys(secret), Memory())
    return None if held is None else held.files | {part: path.read_bytes() for part, path in held.scanned.items()}


def test_what_was_written_is_read(tmp_path: Path) -> None:
    write(tmp_path, PARTS)
    assert read(tmp_path) == PARTS
    assert read(tmp_path, OTHER) is None


def test_equal_parts_are_one_file(tmp_path: Path) -> None:
    path = write(tmp_path, {"v.0.npy": b"same", "v.1.npy": b"same", "entry.json": b"{}"})
    assert len(list(path.iterdir())) == 3
    assert read(tmp_path) == {"v.0.npy": b"same", "v.1.npy": b"same", "entry.json": b"{}"}


def test_a_part_that_a_former_entry_has_is_written_once(tmp_path: Path) -> None:
    memory, keys = Memory(), Keys(SECRET)
    for name in (NAME, OTHER):
        with seal.written(tmp_path, name, keys, memory) as entry:
            entry.add("v.0.npy", b"same")
    (first,) = {path.stat().st_ino for path in tmp_path.glob("*/*") if path.name != "seal"}
    assert first
    shutil.rmtree(tmp_path / NAME)
    assert read(tmp_path, OTHER) == {"v.0.npy": b"same"}


def test_a_value_is_made_once(tmp_path: Path) -> None:
    made, memory, value = [], Memory(), object()

    def make() -> bytes:
        made.append(1)
        return b"value"

    for name in (NAME, OTHER):
        with seal.written(tmp_path, name, Keys(SECRET), memory) as entry:
            entry.add_value("v.0.npy", value, make)
            entry.add_value("v.1.npy", value, make)
    assert len(made) == 1
    assert read(tmp_path, OTHER) == {"v.0.npy": b"value", "v.1.npy": b"value"}


def change_byte(file: Path) -> None:
    held = bytearray(file.read_bytes())
    held[len(held) // 2] ^= 1
    file.write_bytes(held)


def shorten(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-1])


def lengthen(file: Path) -> None:
    file.write_bytes(file.read_bytes() + b"\n")


DAMAGES = [change_byte, shorten, lengthen, Path.unlink]


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("part", [*PARTS, "seal"])
def test_what_was_changed_in_any_file_is_refused(tmp_path: Path, part: str, damage: Callable[[Path], None]) -> None:
    path = write(tmp_path, PARTS)
    file = part if part == "seal" else Keys(SECRET).of_file(PARTS[part])
    damage(path / file)
    with pytest.raises(DataError, match=f"{NAME}.*flou clean"):
        read(tmp_path)


def test_a_file_that_was_added_is_refused(tmp_path: Path) -> None:
    (write(tmp_path, PARTS) / "more").write_bytes(b"")
    with pytest.raises(DataError, match="flou clean"):
        read(tmp_path)


def test_an_entry_under_another_name_is_refused(tmp_path: Path) -> None:
    write(tmp_path, PARTS).rename(tmp_path / OTHER)
    with pytest.raises(DataError, match="flou clean"):
        read(tmp_path, OTHER)


def test_two_parts_that_were_exchanged_are_refused(tmp_path: Path) -> None:
    path, keys = write(tmp_path, PARTS), Keys(SECRET)
    one, other = (path / keys.of_file(PARTS[part]) for part in ("entry.json", "v.0.npy"))
    held = one.read_bytes()
    one.write_bytes(other.read_bytes())
    other.write_bytes(held)
    with pytest.raises(DataError, match="flou clean"):
        read(tmp_path)


def test_a_seal_of_another_secret_is_refused(tmp_path: Path) -> None:
    write(tmp_path, PARTS, secret=Secret(bytes(32)))
    with pytest.raises(DataError, match="flou clean"):
        read(tmp_path)


def test_lines_of_another_entry_are_refused(tmp_path: Path) -> None:
    one, other = write(tmp_path, PARTS), write(tmp_path, {"entry.json": b"[]"}, OTHER)
    lines, own = ((path / "seal").read_text().splitlines() for path in (other, one))
    shutil.copy(other / lines[0].split()[0], one)
    (one / "seal").write_text("\n".join([*lines[:-1], *own]) + "\n")
    with pytest.raises(DataError, match="flou clean"):
        read(tmp_path)


def every_file(office: Office) -> list[Path]:
    return [file for entry in office.entries() for file in entry.iterdir()]


@pytest.mark.parametrize("kind", ["step", "result"])
def test_a_changed_entry_stops_the_run_and_is_not_silently_made_again(office: Office, kind: str) -> None:
    office.run()
    files = [file for file in every_file(office) if ("." in file.parent.name) == (kind == "result")]
    for file in {file.stat().st_ino: file for file in files if file.name != "seal"}.values():  # some share a file
        change_byte(file)
    with pytest.raises(DataError, match="is not what Flou wrote there"):
        office.carry_out(resume=True)
    assert not office.calls


def test_files_are_for_their_owner_alone_whatever_the_umask(office: Office) -> None:
    before = os.umask(0)
    try:
        office.stop("round")
    finally:
        os.umask(before)
    folders = [office.store, *office.entries()]
    assert {stat.S_IMODE(path.stat().st_mode) for path in folders} == {0o700}
    assert {stat.S_IMODE(path.stat().st_mode) for path in every_file(office)} == {0o600}


def test_an_entry_that_was_not_finished_is_none_and_goes_with_the_next_run(tmp_path: Path) -> None:
    lock, left = claim.new_folder(tmp_path)
    (left / "new").mkdir()
    os.close(lock)  # as the system does when the process is killed
    claim.remove_abandoned.cache_clear()
    write(tmp_path, PARTS, OTHER)
    assert [path.name for path in tmp_path.iterdir()] == [OTHER]


def test_a_run_that_fails_while_it_writes_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(TypeError), seal.written(tmp_path, NAME, Keys(SECRET), Memory()) as entry:
        entry.add("v.0.npy", None)  # type: ignore[arg-type]
    assert not list(tmp_path.iterdir())


def test_of_two_that_write_the_same_both_succeed_and_one_stands(tmp_path: Path) -> None:
    with seal.written(tmp_path, NAME, Keys(SECRET), Memory()) as entry:
        entry.add("v.0.npy", b"first")
        write(tmp_path, {"v.0.npy": b"second"})
    assert read(tmp_path) == {"v.0.npy": b"first"}
    assert [path.name for path in tmp_path.iterdir()] == [NAME]


def test_an_entry_that_is_replaced_while_it_is_read_is_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, {"v.0.npy": b"first"})
    verified, times = seal._verified, []

    def replaced(*arguments: object) -> object:
        if not times:
            times.append(1)
            write(tmp_path, {"v.0.npy": b"second"})
            return None
        return verified(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(seal, "_verified", replaced)
    assert read(tmp_path) == {"v.0.npy": b"second"}


def test_no_secret_stands_in_an_entry(office: Office) -> None:
    office.stop("round")
    secret = bytes.fromhex(office.secret)
    held = b"".join(file.read_bytes() for file in every_file(office))
    assert not any(text in held for text in (secret, office.secret.encode(), secret[:12]))


def test_what_cannot_be_written_is_not_kept_and_said(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(writer: Writer, *_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Writer, "add", full)
    files, done = office.run()
    assert not office.entries()
    assert done.keeper.lines[0] == "not kept: k_anonymity (before): it could not be written (No space left on device)"
    assert "internal/manifest.json" in files
