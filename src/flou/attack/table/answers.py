"""All that published tables answer about each distinct cell, each answer once, with the precision that it has.

Figures that share their noise are one answer however often they are printed: under cell keys, or rounding with a
lasting secret, a cell has one figure. Figures that are drawn anew are answers of their own. A mechanism that is said to
share its noise but shows one cell differently in two tables was drawn anew, and everybody sees it. Sums over sets of
parts are independent of each other, since no figure stands in two of them, unless finer parts hold the same people as
coarser ones: where noise goes by the people, a finer set of the same figures is not counted again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from flou.attack.table.average_kernel import Bools, Estimate, Noise, Own, guess_counts, weighted_mean
from flou.attack.table.guises import Grouping, Guises, View
from flou.describe.mechanism.mechanism import Floats, Integers, Mechanism
from flou.describe.mechanism.unchanged import Unchanged
from flou.describe.table.coordinates import U64
from flou.describe.table.table import Table
from flou.engine.errors import DataError
from flou.engine.randomness import keyed_hash

_OPEN_KEY = bytes(16)


@dataclass(frozen=True, eq=False)
class Answers:
    """What is published of the cells of one grouping; any other cell is shown as zero, or unknown."""

    names: U64
    own: Sequence[Own]
    estimates: Sequence[Estimate]
    #: How many answers a cell of this grouping gets that no table lists; nothing is known of it where it gets none.
    n_unlisted: int

    def n_estimates(self) -> Integers:
        """How many answers each cell has."""
        counted: Integers = np.sum([e.n for e in self.estimates], axis=0)
        return counted

    def average(self) -> Floats:
        """The weighted mean of the answers; NaN where there is none."""
        return weighted_mean(self.estimates)

    def guess(self) -> Integers:
        """The whole count that fits all answers best; -1 where there is none."""
        return guess_counts(self.estimates, self.own)

    def single(self) -> tuple[Floats, Integers]:
        """The figure that the first table shows of each cell, and the best guess from it alone."""
        left = np.ones(len(self.names), dtype=np.bool_)
        figures, estimates, own = np.full(len(self.names), np.nan), [], []
        for o in self.own:
            first = o.known & left
            left &= ~first
            figures[first] = o.figures[first]
            own.append(Own(o.figures, first, o.mechanism, o.complete))
            estimates.append(_of_own([own[-1]]))
        return figures, guess_counts(estimates, own)


@dataclass(frozen=True, eq=False)
class Published:
    """The answers by grouping, and the mechanisms whose noise was seen to be drawn anew although it is to last."""

    answers: dict[Grouping, Answers]
    drawn_anew: Sequence[Mechanism]
    n_repeats: int


def gather_answers(tables: Sequence[Table], *, parts: bool) -> Published:
    """What the tables, as they are published, answer about each of their cells; with sums of parts if asked."""
    guises = [Guises(table) for table in tables]
    mechanisms: list[Mechanism] = [Unchanged() if t.mechanism is None else t.mechanism for t in tables]
    wanted = list(dict.fromkeys(g.grouping(levels) for g in guises for levels in g.published))
    own = {grouping: _own_figures(guises, mechanisms, grouping) for grouping in wanted}
    anew: list[Mechanism] = []
    n_repeats = 0
    for names, figures in own.values():
        for mechanism in _distinct([o.mechanism for o in figures]):
            alike = [o for o in figures if o.mechanism == mechanism]
            n_repeats = max(n_repeats, len(alike))
            if _differ(alike, len(names)) and mechanism.shared_by != "nothing" and mechanism not in anew:
                anew.append(mechanism)
    if Unchanged() in anew:
        raise DataError(
            "Tables whose figures are said to be as they are show the same cell differently: they are not of the same "
            "people, or nothing is known of how they were changed. Averaging needs tables of the same people."
        )
    found = {}
    for grouping in wanted:
        names, figures = own[grouping]
        found[grouping] = _Gathering(guises, mechanisms, anew, grouping).answers(names, figures, parts=parts)
    return Published(found, anew, n_repeats)


def _own_figures(
    guises: Sequence[Guises], mechanisms: Sequence[Mechanism], grouping: Grouping
) -> tuple[U64, list[Own]]:
    """The names of the cells that some table lists, and what each table shows of them."""
    views = [(g.view(levels, levels), m) for g, m in zip(guises, mechanisms, strict=True)
             for levels in g.published if g.grouping(levels) == grouping]  # fmt: skip
    names = np.unique(np.concatenate([view.names for view, _ in views]))
    return names, [_own(view, mechanism, names) for view, mechanism in views]


def _own(view: View, mechanism: Mechanism, names: U64) -> Own:
    figures = np.full(len(names), 0.0 if view.complete else np.nan)
    figures[np.searchsorted(names, view.names)] = view.figures[np.argsort(view.of_part)]
    known = ~np.isnan(figures)
    return Own(np.where(known, figures, 0).astype(np.int64), known, mechanism, view.complete)


def _differ(alike: Sequence[Own], n: int) -> bool:
    """Whether a cell is shown with different figures."""
    low, high = np.full(n, np.iinfo(np.int64).max), np.full(n, -1, dtype=np.int64)
    for o in alike:
        low[o.known] = np.minimum(low, o.figures)[o.known]
        high[o.known] = np.maximum(high, o.figures)[o.known]
    return bool((low < high).any())


#: The columns that tell parts apart, and the number of the mechanism that made them.
_Key = tuple[Grouping, int]


class _Gathering:
    """The answers about the cells of one grouping."""

    def __init__(
        self, guises: Sequence[Guises], mechanisms: Sequence[Mechanism], anew: Sequence[Mechanism], grouping: Grouping
    ) -> None:
        self.guises, self.mechanisms, self.anew, self.grouping = guises, mechanisms, anew, grouping

    def answers(self, names: U64, own: Sequence[Own], *, parts: bool) -> Answers:
        views = self._views() if parts else {}
        wider = np.unique(np.concatenate([names, *(v.names for held in views.values() for v in held)]))
        place = np.searchsorted(wider, names)
        own = [_spread_out(o, place, len(wider)) for o in own]
        estimates = []
        for mechanism in _distinct([o.mechanism for o in own]):
            alike = [o for o in own if o.mechanism == mechanism]
            estimates.append(_of_own(alike if self._is_anew(mechanism) else [_first(alike)]))
        count = weighted_mean(estimates)
        seen: dict[_Key, U64] = {(self.grouping, n): _signature(_first(own)) for n in range(len(self.mechanisms))}
        for key, held in views.items():
            mechanism = self.mechanisms[key[1]]
            sums = [_Sums.of(view, wider) for view in held]
            kept = sums if self._is_anew(mechanism) else [_Sums.first(sums)]
            if mechanism.shared_by == "contributors" and not self._is_anew(mechanism):
                seen[key] = kept[0].signature
                kept = [kept[0].without([seen[other] for other in self._coarser(key) if other in seen])]
            estimates.append(_of_sums(kept, Noise(mechanism), count))
        complete = all(g.table.unlisted == "zero" for g in self.guises)
        n_unlisted = sum(int(e.n.max(initial=0)) for e in estimates) if complete else 0
        return Answers(wider, own, estimates, n_unlisted)

    def _is_anew(self, mechanism: Mechanism) -> bool:
        return mechanism.shared_by == "nothing" or mechanism in self.anew

    def _views(self) -> dict[_Key, list[View]]:
        """The sets of parts of the cells, by the columns that tell parts apart and the mechanism that made them."""
        found: dict[_Key, list[View]] = {}
        for g, mechanism in zip(self.guises, self.mechanisms, strict=True):
            number = self.mechanisms.index(mechanism)
            for fine in g.published:
                for coarse in g.coarser(fine):
                    if coarse != fine and g.grouping(coarse) == self.grouping:
                        found.setdefault((g.grouping(fine), number), []).append(g.view(fine, coarse))
        return found

    def _coarser(self, key: _Key) -> set[_Key]:
        """The sets of parts that those of a set are parts of themselves, in the table that has them."""
        grouping, number = key
        found = set()
        for g, mechanism in zip(self.guises, self.mechanisms, strict=True):
            if mechanism == self.mechanisms[number]:
                for fine in g.published:
                    if g.grouping(fine) == grouping:
                        found |= {(g.grouping(levels), number) for levels in g.coarser(fine) if levels != fine}
        return found


@dataclass(frozen=True, eq=False)
class _Sums:
    """The sums of one set of parts; a cell of which no part is listed has the sum zero."""

    total: Floats
    known: Bools
    n_parts: Floats
    #: The same for sets of the same figures, zeros aside.
    signature: U64

    @classmethod
    def of(cls, view: View, names: U64) -> _Sums:
        place, n = np.searchsorted(names, view.names), len(view.names)
        total, n_parts = np.zeros(len(names)), np.full(len(names), view.n_parts.max(initial=1.0))
        signature = np.zeros(len(names), dtype=np.uint64)
        total[place] = np.bincount(view.of_part, view.figures, minlength=n)
        n_parts[place] = view.n_parts
        np.add.at(signature, place[view.of_part], _hashed(view.figures))
        known = ~np.isnan(total) & ~np.isin(names, view.whole)
        if not view.complete:
            n_listed = np.zeros(len(names))
            n_listed[place] = np.bincount(view.of_part, minlength=n)
            known &= n_listed == n_parts
        return cls(np.where(known, total, 0.0), known, n_parts, signature)

    @classmethod
    def first(cls, sums: Sequence[_Sums]) -> _Sums:
        """The first of each cell that is known: others repeat it."""
        held = sums[0]
        for other in sums[1:]:
            held = cls(
                np.where(held.known, held.total, other.total),
                held.known | other.known,
                np.where(held.known, held.n_parts, other.n_parts),
                np.where(held.known, held.signature, other.signature),
            )
        return held

    def without(self, seen: Sequence[U64]) -> _Sums:
        """The same without the sets whose figures are those of coarser parts: the same people make them."""
        again = np.any([self.signature == other for other in seen], axis=0)
        return _Sums(self.total, self.known & ~again, self.n_parts, self.signature)


def _of_own(alike: Sequence[Own]) -> Estimate:
    """The figures of the cells themselves, each an answer of its own."""
    noise = Noise(alike[0].mechanism)
    total, spread = np.zeros(len(alike[0].known)), np.zeros(len(alike[0].known))
    n = np.zeros(len(total), dtype=np.int64)
    for o in alike:
        one = noise.spread(o.figures)
        wrong = int((np.isnan(one) & o.known).sum())
        if wrong:
            raise DataError(
                f"{wrong:,} of the published figures cannot have been made by the {o.mechanism.name} that the table "
                "is said to have: no true count gives them. Was the table changed after its protection?"
            )
        total += np.where(o.known, o.figures, 0)
        n += o.known
        spread += np.where(o.known, one, 0.0)
    return Estimate(total, n, spread / np.maximum(n, 1), alike[0].mechanism)


def _of_sums(kept: Sequence[_Sums], noise: Noise, count: Floats) -> Estimate:
    """Sums of parts, each an answer of its own; `count` is what the figures of the cells themselves say."""
    total = np.sum([np.where(s.known, s.total, 0.0) for s in kept], axis=0)
    n = np.sum([s.known for s in kept], axis=0).astype(np.int64)
    people = np.where(np.isnan(count), total / np.maximum(n, 1), count)
    spread = noise.spread_of_sums(np.max([s.n_parts for s in kept], axis=0), people)
    return Estimate(total, n, spread)


def _first(alike: Sequence[Own]) -> Own:
    """The first figure of each cell that is known: others repeat it."""
    held = alike[0]
    for other in alike[1:]:
        figures = np.where(held.known, held.figures, other.figures)
        held = Own(figures, held.known | other.known, held.mechanism, held.complete or other.complete)
    return held


def _spread_out(own: Own, place: Integers, n: int) -> Own:
    """The figures laid out over more cells: those that are added are shown as zero, or unknown."""
    figures, known = np.zeros(n, dtype=np.int64), np.full(n, own.complete)
    figures[place], known[place] = own.figures, own.known
    return Own(figures, known, own.mechanism, own.complete)


def _signature(own: Own) -> U64:
    return np.where(own.known, _hashed(own.figures.astype(np.float64)), np.uint64(1))


def _hashed(figures: Floats) -> U64:
    """A number for each figure; none for zero, as a part that is not listed has none."""
    whole = np.nan_to_num(figures).astype(np.int64)
    return np.where(whole == 0, np.uint64(0), keyed_hash(whole, _OPEN_KEY))


def _distinct(mechanisms: Sequence[Mechanism]) -> list[Mechanism]:
    """Each mechanism once, in order."""
    found: list[Mechanism] = []
    for mechanism in mechanisms:
        if mechanism not in found:
            found.append(mechanism)
    return found
