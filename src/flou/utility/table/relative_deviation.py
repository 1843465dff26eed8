"""The deviation of a published count relative to the true one, |Z| / X, by size of the count (Shlomo et al. 2015).

The noise of a cell hardly grows with its count, so it is large beside small counts and nothing beside large ones: the
mean over a table says little, the classes of size say where figures can be used. Empty cells have no relative deviation
and are left out, also where noise made something of them. Withheld cells are left out, with a note.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Annotated, ClassVar

import numpy as np
from pydantic import AfterValidator, BeforeValidator, Field

from flou.describe.mechanism.mechanism import Mechanism
from flou.engine.figure import Figure
from flou.engine.parameters import as_tuple
from flou.utility.table.cells import Floats, Integers
from flou.utility.table.count_utility import CountUtility, count_figures
from flou.utility.table.sizes import SIZES


def _rising(sizes: tuple[int, ...]) -> tuple[int, ...]:
    if any(b <= a for a, b in pairwise(sizes)):
        raise ValueError(f"sizes = {list(sizes)} should rise: each says where a class of counts begins.")
    return sizes


class RelativeDeviation(CountUtility):
    """Mean of |Z| / X over the cells that are not empty, and by class of count.

    Reference: Shlomo, Antal and Elliot (2015).
    Result: `.value` the mean over all non-empty cells, `.expected`, `.by_size` one line a class of true counts.
    """

    reference: ClassVar[str] = "shlomo2015"
    title: ClassVar[str] = "relative deviation of counts"
    audience = "public"
    headline: ClassVar[Figure] = Figure("value", "mean relative deviation of non-empty cells", "share")
    figures: ClassVar[tuple[Figure, ...]] = count_figures("share")

    sizes: Annotated[
        tuple[Annotated[int, Field(ge=1, lt=2**53)], ...],
        BeforeValidator(as_tuple),
        Field(min_length=1),
        AfterValidator(_rising),
    ] = Field(SIZES[1:], description="where classes of counts begin")

    @property
    def size_classes(self) -> tuple[int, ...]:
        """Zeros are a class of their own, without a figure."""
        return (0, *self.sizes)

    def _score(self, true: Integers, published: Floats) -> Floats:
        share: Floats = np.divide(np.abs(published - true), true, out=np.full(len(true), np.nan), where=true > 0)
        return share

    def _large(self, mechanism: Mechanism) -> float | None:
        return None  # it falls with the count
