"""The sense of a count of records that share a key: what an undetermined value may stand for."""

from __future__ import annotations

from typing import Literal

Missing = Literal["category", "orthodox", "optimistic", "pessimistic", "conservative"]
#: In the order in which reports show them.
MISSING: tuple[Missing, ...] = ("orthodox", "optimistic", "pessimistic", "conservative", "category")
#: Records count as alike only where they show the very same key, nulls included: the one sense that a release can
#: be judged by. In all others nulls that were written for the sake of the count agree with what they replaced.
STRICT: Missing = "category"
