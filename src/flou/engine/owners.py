"""Whose row each row of a release is, for those who score comparisons and attacks."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from flou.engine.data import Data


class Owners:
    """Whose row each published row is: known to those who score, never to those who guess."""

    def __init__(self, released: Data, *, strangers: bool = False) -> None:
        self._released, self._strangers = released, strangers

    @property
    def released(self) -> Data:
        """The release itself, not only what would be published of it."""
        return self._released

    @cached_property
    def ids(self) -> Any:
        """The unit id behind each row of the release's `.public()`, in that order; None for strangers."""
        if self._strangers:
            return np.full(self._released.n_records, None, dtype=object)
        return self._released.published_owners()

    def of_strangers(self) -> Owners:
        """For people who are not in the release: no row is theirs."""
        return Owners(self._released, strangers=True)
