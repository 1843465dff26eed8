"""Progress: long work says (stage, done, total); whoever listens may cancel by raising.

    with listening(callback): ...

The listener is held in a context variable, so kernels deep down report without a parameter for it.
An exception from the callback travels up through the work, which writes only to temporary names:
nothing half-done is left.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

Progress = Callable[[str, int, int], None]

_listener: ContextVar[Progress | None] = ContextVar("flou_progress", default=None)


@contextmanager
def listening(callback: Progress | None) -> Iterator[None]:
    """Send progress to `callback` inside the block; None leaves the present listener in place."""
    if callback is None:
        yield
        return
    token = _listener.set(callback)
    try:
        yield
    finally:
        _listener.reset(token)


def tell(stage: str, done: int, total: int) -> None:
    """Say how far the work is. Cheap when nobody listens."""
    callback = _listener.get()
    if callback is not None:
        callback(stage, done, total)
