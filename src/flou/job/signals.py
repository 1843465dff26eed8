"""Requests to end wait while something short must not be cut in two."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def undisturbed() -> Iterator[None]:
    """Ctrl-C and requests to end are not heard in the block; threads other than the main one never hear them."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    held = {number: signal.signal(number, signal.SIG_IGN) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in held.items():
            signal.signal(number, handler)
