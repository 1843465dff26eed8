"""Messages between a process and its own child: a length, then a pickle."""

from __future__ import annotations

import pickle
import struct
from typing import IO, Any

_LENGTH = struct.Struct("!Q")


def send(pipe: IO[bytes], message: Any) -> None:
    """Write one message."""
    held = pickle.dumps(message)
    pipe.write(_LENGTH.pack(len(held)) + held)
    pipe.flush()


def receive(pipe: IO[bytes]) -> Any:
    """Read one message; EOFError where the other side has ended."""
    return pickle.loads(_read(pipe, *_LENGTH.unpack(_read(pipe, _LENGTH.size))))


def _read(pipe: IO[bytes], size: int) -> bytes:
    held = pipe.read(size)
    if len(held) < size:
        raise EOFError
    return held
