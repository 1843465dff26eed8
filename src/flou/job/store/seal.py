"""Entries of the store: folders of files under a seal, an HMAC of every file's name, length and content.

An entry is written under a temporary name and moved to its place when it is whole. It is read as a whole, and given to
nobody before the seal was found to be that of these files under this name: what somebody changed is refused. Parts of
rows that stay in their engine are copied while they are looked at, so that what is read later is what was looked at.
"""

from __future__ import annotations

import errno
import hmac
import os
from collections.abc import Callable, Hashable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from flou.engine import claim
from flou.engine.errors import DataError
from flou.engine.secret import Secret
from flou.engine.spool import spool_folder
from flou.job.store import place

_SEAL = "seal"
#: Files of rows that their engine reads where they lie; all others are read into memory.
SCANNED = ".scan.parquet"
_BLOCK, _TRIES = 1 << 20, 8


class NotKeptError(Exception):
    """Why something is not kept; the run goes on without."""


@dataclass
class Memory:
    """What a run has written or read so far: the same array in the next entry is neither made nor written again."""

    #: By the identity of a value, which stays alive for it: the mark of its content, and its length.
    values: dict[int, tuple[Any, str, int]] = field(default_factory=dict)
    #: By mark, a file with this content.
    files: dict[str, Path] = field(default_factory=dict)
    #: Values that others may equal, by what they are called.
    last: dict[Hashable, Any] = field(default_factory=dict)

    def equal(self, called: Hashable, value: Any, is_same: Callable[[Any, Any], bool]) -> Any:
        """The last value that was called so if it is the same as this one, else this one, which is the last then."""
        if called not in self.last or not is_same(self.last[called], value):
            self.last[called] = value
        return self.last[called]

    def stands(self, entry: Path, marks: Iterable[str]) -> None:
        """Remember the files of an entry."""
        self.files |= {mark: entry / mark for mark in marks}


@dataclass
class Writer:
    """The files of an entry that is being written, named by the marks of their contents: equal ones are one file."""

    folder: Path
    keys: Keys
    memory: Memory
    most: int
    size: int = 0
    #: By the name of a part: mark, length and name.
    lines: dict[str, str] = field(default_factory=dict)
    #: What tells the entry from every other, also of the same name, once it is whole.
    seal: str = ""

    def add(self, name: str, content: bytes) -> None:
        """One more part."""
        mark = self.keys.of_file(content)
        self._count(name, mark, len(content))
        if not (self.folder / mark).exists() and not self._linked(mark):
            _write(self.folder / mark, content)

    def add_value(self, name: str, value: Any, made: Callable[[], bytes]) -> None:
        """One more part, which is made only if this value was not written before."""
        _, mark, length = self.memory.values.get(id(value), (None, "", 0))
        if mark and ((self.folder / mark).exists() or self._linked(mark)):
            self._count(name, mark, length)
            return
        content = made()
        self.add(name, content)
        self.memory.values[id(value)] = (value, self.lines[name].partition(" ")[0], len(content))

    def _count(self, name: str, mark: str, length: int) -> None:
        self.size += 0 if (self.folder / mark).exists() else length
        if self.size > self.most:
            raise NotKeptError(f"more than the {self.most // 1_000_000:,} MB that {place.LIMIT} allows")
        self.lines[name] = f"{mark} {length} {name}\n"

    def _linked(self, mark: str) -> bool:
        """Whether a former entry has this content, and could lend it."""
        try:
            os.link(self.memory.files[mark], self.folder / mark)
        except (KeyError, OSError, AttributeError):
            return False
        return True


@dataclass(frozen=True)
class Held:
    """The files of an entry that nobody has changed."""

    #: By name; of rows that stay in their engine the copies.
    files: dict[str, bytes]
    scanned: dict[str, Path]
    #: What tells this entry from every other, also of the same name.
    seal: str
    marks: frozenset[str]


class Keys:
    """The keys of all seals under a secret."""

    def __init__(self, secret: Secret) -> None:
        self._file, self._seal = secret.derive("store", "file"), secret.derive("store", "seal")

    def of_file(self, content: bytes) -> str:
        return hmac.digest(self._file, content, "sha256").hex()

    def of_entry(self, name: str, lines: str) -> str:
        """The seal: of an entry's name, and of the names, lengths and contents of its files."""
        return hmac.digest(self._seal, f"{name}\n{lines}".encode(), "sha256").hex()

    def copied(self, source: Path, target: Path) -> str:
        """Copy a file; what was copied, as `of_file` tells."""
        digest = hmac.new(self._file, digestmod="sha256")
        with source.open("rb") as read, target.open("xb") as written:
            while block := read.read(_BLOCK):
                digest.update(block)
                written.write(block)
        return digest.hexdigest()


@contextmanager
def written(folder: Path, name: str, keys: Keys, memory: Memory) -> Iterator[Writer]:
    """Write an entry, in the place of a former one of its name."""
    lock, room = claim.new_folder(folder)
    try:
        (room / "new").mkdir(mode=0o700)
        writer = Writer(room / "new", keys, memory, place.limit())
        yield writer
        lines = "".join(writer.lines[file] for file in sorted(writer.lines))
        writer.seal = keys.of_entry(name, lines)
        _write(room / "new" / _SEAL, f"{lines}{writer.seal}\n".encode())
        place.make_room(folder, room / "new", writer.most, besides=name)
        _put_in_place(room, folder / name)
        memory.stands(folder / name, (line.partition(" ")[0] for line in writer.lines.values()))
    except OSError as error:
        raise NotKeptError(f"it could not be written ({error.strerror})") from None
    finally:
        claim.leave_folder(room, lock)


def _write(path: Path, content: bytes) -> None:
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(content)


def _put_in_place(room: Path, target: Path) -> None:
    """Move the new folder to its place; a former one gives way, also one that another run puts there meanwhile."""
    for number in range(_TRIES):
        try:
            (room / "new").rename(target)
            return
        except OSError as error:
            if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
                raise
        try:
            target.rename(room / f"former.{number}")
        except FileNotFoundError:  # another run has moved it
            continue
    raise NotKeptError("another run keeps the same")


def sealed_as(folder: Path, name: str) -> str | None:
    """The seal of an entry as it stands there; nobody has looked yet whether it is right."""
    try:
        return (folder / name / _SEAL).read_text(encoding="ascii", errors="replace").splitlines()[-1]
    except (OSError, IndexError):
        return None


def read(folder: Path, name: str, keys: Keys, memory: Memory) -> Held | None:
    """The files of an entry, once its seal is found right; None where there is none of this name."""
    path = folder / name
    for _ in range(_TRIES):
        there = _identity(path)
        if there is None:
            return None
        try:
            found = _verified(path, name, keys)
        except OSError:
            found = None
        if found is not None:
            memory.stands(path, found.marks)
            return found
        if _identity(path) == there:  # else it was replaced, or removed, while it was read
            raise DataError(
                f"The entry {name!r} that a run has kept in {str(folder)!r} is not what Flou wrote there, and is not "
                "used. Remove what was kept with `flou clean` and run without --resume; if nobody was meant to change "
                "it, find out who can write there."
            )
    return None


def _identity(path: Path) -> tuple[int, int, int] | None:
    try:
        held = path.stat(follow_symlinks=False)
    except FileNotFoundError:
        return None
    return held.st_dev, held.st_ino, held.st_mtime_ns


def _verified(path: Path, name: str, keys: Keys) -> Held | None:
    """All files, if they are those of the seal: nothing of them is understood before."""
    said = (path / _SEAL).read_bytes()
    lines = said[: said.rstrip(b"\n").rfind(b"\n") + 1].decode("utf-8", "replace")
    seal = keys.of_entry(name, lines)
    if not hmac.compare_digest(said, f"{lines}{seal}\n".encode()):
        return None
    listed = [line.split(" ") for line in lines.splitlines()]
    marks = frozenset(mark for mark, _, _ in listed)
    if {file.name for file in path.iterdir()} != {*marks, _SEAL}:
        return None
    copies = spool_folder() if any(part.endswith(SCANNED) for _, _, part in listed) else None
    held: dict[str, bytes] = {}
    files: dict[str, bytes] = {}
    scanned: dict[str, Path] = {}
    for mark, length, part in listed:
        if copies is not None and part.endswith(SCANNED):
            scanned[part] = copies / part
            found = keys.copied(path / mark, scanned[part]), str(scanned[part].stat().st_size)
        else:
            files[part] = held[mark] if mark in held else (path / mark).read_bytes()
            held[mark] = files[part]
            found = keys.of_file(files[part]), str(len(files[part]))
        if not (hmac.compare_digest(found[0], mark) and found[1] == length):
            return None
    return Held(files, scanned, seal, marks)
