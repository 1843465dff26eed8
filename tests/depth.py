"""How deep the tests go: quickly every day, or in full with `make test-deep` (FLOU_TESTS=deep).

A property is tried on a quarter of its examples every day. A test that takes long whatever it is given carries the
mark `deep` with its reason, and is left out every day.
"""

from __future__ import annotations

import os
from typing import TypeVar

from hypothesis import settings

T = TypeVar("T")

DEEP = os.environ.get("FLOU_TESTS") == "deep"


def examples(n: int) -> settings:
    """Settings of a property test that draws `n` examples in depth."""
    return settings(max_examples=n if DEEP else max(5, n // 4), deadline=None)


def at_depth(daily: T, deep: T) -> T:
    """How much of something is tried: so much every day, so much in depth."""
    return deep if DEEP else daily
