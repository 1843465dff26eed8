"""Where the rows of lazy input are read from: files that must not change while work goes on."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from flou.engine.errors import DataError

_Stamp = tuple[int, int, int]


@dataclass(frozen=True)
class Source:
    """Files as they were when reading began."""

    stamps: dict[str, _Stamp]

    @classmethod
    def of(cls, files: Iterable[str | Path]) -> Source:
        return cls({str(f): _stamp(Path(f)) for f in files})

    def has(self, path: Path) -> bool:
        """Whether a path, however it is written, leads to one of the files."""
        return path.exists() and any(Path(name).exists() and path.samefile(name) for name in self.stamps)

    def require_unchanged(self) -> None:
        """Counts before and after a change speak of two different files: refused, nothing is released."""
        for name, stamp in self.stamps.items():
            try:
                now = _stamp(Path(name))
            except OSError:
                raise DataError(
                    f"The file {name!r} was removed while it was read. Start again when it is back."
                ) from None
            if now != stamp:
                raise DataError(
                    f"The file {name!r} changed while it was read, so its figures would not belong together. "
                    "Start again, on a copy that nobody writes to."
                )


def _stamp(path: Path) -> _Stamp:
    held = path.stat()
    return held.st_ino, held.st_size, held.st_mtime_ns
