"""The classes of an interval blur: their bounds, each record's class, and values rounded inside it."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from flou.engine.errors import DataError, ParameterError
from flou.protect.micro.multiples import multiple_of

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Classes:
    """Classes [edges[i], edges[i + 1]), the last one with its upper bound.

    An open end has no bound for the class, so that every value has one; its edge is where draws end.
    """

    edges: Floats
    open_bottom: bool
    open_top: bool
    #: Whether the last class has its upper bound; a saturated class above it has it instead.
    closed: bool = True
    #: Whether zero is a class of its own, which no other class shows.
    positive: bool = False

    @property
    def n(self) -> int:
        return len(self.edges) - 1

    def of(self, values: Floats) -> NDArray[np.int64]:
        """The class of each value; -1 where it has none."""
        found = np.searchsorted(self.edges, values, side="right") - 1
        if self.closed:
            found = np.where((values == self.edges[-1]), self.n - 1, found)
        if self.open_bottom:
            found = np.maximum(found, 0)
        if self.open_top:
            found = np.minimum(found, self.n - 1)
        return np.where((found >= self.n) | np.isnan(values), -1, found)

    def censoring(self, scaled: Floats) -> tuple[Floats, Floats]:
        """Lower and upper bound of each class for the likelihood; `scaled` are the edges on the model's scale."""
        low, high = scaled[:-1].copy(), scaled[1:].copy()
        if self.open_bottom:
            low[0] = -np.inf
        if self.open_top:
            high[-1] = np.inf
        return low, high

    def multiples(self, unit: float) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The first and last multiple of the unit that each class can show; a class with one hides nothing."""
        first, last = self._multiples(unit)
        if (first >= last).any():
            i = int(np.argmax(first >= last))
            raise ParameterError(
                f"fewer than two multiples of unit = {unit:g} lie in the class from {self.edges[i]:g} to "
                f"{self.edges[i + 1]:g}, which would show what it should hide: widen the class, or take a smaller unit."
            )
        return first, last

    def _multiples(self, unit: float) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        first = np.ceil(self.edges[:-1] / unit - 1e-9)
        last = np.ceil(self.edges[1:] / unit - 1e-9) - 1
        if self.closed:
            last[-1] = np.floor(self.edges[-1] / unit + 1e-9)
        if self.positive:
            first = np.maximum(first, 1)
        return first.astype(np.int64), last.astype(np.int64)

    def widened(self, unit: float) -> Classes:
        """The same classes, those with fewer than two multiples of the unit joined to the next."""
        found = self
        while True:
            first, last = found._multiples(unit)
            narrow = np.flatnonzero(first >= last)
            if not len(narrow) or found.n < 2:
                break
            # the bound above goes; the last class has none to lose but the one below
            found = replace(found, edges=np.delete(found.edges, min(int(narrow[0]) + 1, found.n - 1)))
        if found.n < 2:
            raise DataError(
                f"The values fall into fewer than two classes at unit = {unit:g}: take a smaller unit, or give breaks."
            )
        return found

    def joined(self, values: Floats, least: int) -> Classes:
        """The same classes, those with fewer than `least` of the values joined to the smaller of their neighbours."""
        found = self
        while True:
            sizes = np.bincount(found.of(values), minlength=found.n)
            if (sizes >= least).all():
                return found
            if found.n < 3:
                raise DataError(
                    f"{len(values):,} values are too few for two of the classes of the former release, which need "
                    f"min_records = {least}. Take fewer strata, or leave out since and publish a new series."
                )
            i = int(np.argmin(sizes))
            below = i == found.n - 1 or (i > 0 and sizes[i - 1] <= sizes[i + 1])
            found = replace(found, edges=np.delete(found.edges, i if below else i + 1))

    def below(self, ceiling: float) -> Classes:
        """The same classes where values at or above a ceiling have one of their own."""
        # where the class was open its edge was only where draws ended, no bound between people
        bounds = self.edges[:-1] if self.open_top else self.edges
        edges = np.append(bounds[bounds < ceiling], ceiling)
        return replace(self, edges=edges, open_top=False, closed=False)

    def rounded(self, values: Floats, number: NDArray[np.int64], unit: float, codes: Floats) -> Floats:
        """Values at the nearest multiple of the unit inside their class that is no code with a meaning of its own."""
        first, last = (ends[number] for ends in self.multiples(unit))
        counts = np.clip(np.rint(values / unit), first, last)
        for code in np.rint(codes / unit):
            counts = np.where(counts == code, np.where(counts < last, counts + 1, counts - 1), counts)
        return multiple_of(counts, unit)


def quantile_classes(values: Floats, n_classes: int, unit: float, least: int, *, positive: bool) -> Classes:
    """Classes of about equal size, bounds rounded to the unit: an exact quantile would be somebody's value.

    A class has `least` records or more. Both ends are open; draws end at the 0.1% and 99.9% quantiles, rounded
    outwards, or where `least` records (half a class in a small file) lie beyond: no extreme value must show in that.
    """
    n_classes = min(n_classes, len(values) // least)
    if n_classes < 2:
        raise DataError(
            f"{len(values):,} values are too few to be blurred: each of two classes needs min_records = {least}. "
            "Take fewer strata, or hide them in another way."
        )
    tail = min(max(0.001, least / len(values)), 0.5 / n_classes)
    shares = np.arange(1, n_classes) / n_classes
    inner = np.unique(np.rint(np.quantile(values, shares) / unit))
    low, high = np.quantile(values, [tail, 1.0 - tail]) / unit
    edges = np.concatenate([[np.floor(low)], inner, [np.ceil(high)]])
    edges = np.unique(np.maximum(edges, 1) if positive else edges)
    if len(edges) < 3:
        raise DataError(
            f"The values fall into fewer than two classes at unit = {unit:g}: take a smaller unit, or give breaks."
        )
    return Classes(multiple_of(edges, unit), open_bottom=True, open_top=True, positive=positive)


def given_classes(values: Floats, breaks: tuple[float, ...], top: str, least: int, *, positive: bool) -> Classes:
    """Classes at given breaks, which must cover the values and leave no class empty."""
    edges = np.array(breaks, dtype=np.float64)
    classes = Classes(edges, open_bottom=False, open_top=top == "open", positive=positive)
    outside = int((classes.of(values) < 0).sum())
    if outside:
        above = 0 if classes.open_top else int((values > edges[-1]).sum())
        hint = (
            'add a break, or say top = "open" so that the last class takes in all above'
            if above
            else "add a break below"
        )
        raise DataError(
            f"The breaks from {edges[0]:g} to {edges[-1]:g} do not cover the data: {outside - above:,} values lie "
            f"below, {above:,} above. Next: {hint}."
        )
    sizes = np.bincount(classes.of(values), minlength=classes.n)
    if (sizes < least).any():
        few = ", ".join(f"{edges[i]:g} to {edges[i + 1]:g} ({sizes[i]:,})" for i in np.flatnonzero(sizes < least)[:5])
        raise DataError(
            f"Too few values lie in the class {few}: a class needs min_records = {least}, or its people stand out in "
            "it. Take a break away."
        )
    return classes
