"""A first hierarchy for a column, fitted to the values of a file.

Round bands for numbers, periods for dates, prefixes for codes, and groups by frequency for the rest. Every
level has fewer groups than the one below; where nothing does, only the root is left. It is a draft:
what belongs together is known to those who know the variable.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from typing import get_args

from flou.describe.hierarchy import ROOT, Hierarchy, Method
from flou.describe.microdata import Microdata
from flou.describe.round_widths import round_widths
from flou.engine.errors import DataError, HierarchyError, ParameterError, did_you_mean, listed
from flou.engine.method import require_columns
from flou.engine.values import codes_in, text_of

#: The group of rare values.
OTHER = "other"
#: Levels below the root, at most.
_MOST_LEVELS = 4
#: A value is rare at a level if fewer than so many times `min_share` have it.
_RARE = (1, 2, 5, 10)

_DAY = re.compile(r"\d{4}-\d\d(-\d\d([T ]\d\d:\d\d.*)?)?")
_PERIODS: dict[str, Callable[[dt.date], str]] = {
    "day": lambda d: f"{d.year:04}-{d.month:02}-{d.day:02}",
    "month": lambda d: f"{d.year:04}-{d.month:02}",
    "quarter": lambda d: f"{d.year:04}-Q{(d.month + 2) // 3}",
    "year": lambda d: f"{d.year:04}",
    "decade": lambda d: f"{d.year // 10 * 10:04}s",
}


@dataclass(frozen=True)
class _Column:
    """The values of a column that can be grouped, sorted, and how many records have each."""

    name: str
    values: tuple[object, ...]
    counts: tuple[int, ...]

    @cached_property
    def texts(self) -> list[str]:
        return [text_of(v) for v in self.values]

    @property
    def numeric(self) -> bool:
        return all(isinstance(v, int | float | Decimal) and not isinstance(v, bool) for v in self.values)

    @cached_property
    def days(self) -> list[dt.date] | None:
        """The values as dates, if all of them are."""
        days = []
        for value in self.values:
            day = _day(value)
            if day is None:
                return None
            days.append(day)
        return days

    @property
    def coded(self) -> bool:
        """Whether the values are texts or whole numbers of one length, two signs at least."""
        kinds = all(isinstance(v, str | int) and not isinstance(v, bool) for v in self.values)
        lengths = {len(t) for t in self.texts}
        return kinds and len(lengths) == 1 and min(lengths) >= 2

    @property
    def looks_coded(self) -> bool:
        """Codes rather than words that happen to be of one length: a digit always in the same place, no spaces."""
        texts = self.texts
        return (
            self.coded
            and any(all(c.isdigit() for c in place) for place in zip(*texts, strict=True))
            and not any(c.isspace() for t in texts for c in t)
        )


def suggest(people: Microdata, column: str, method: Method, min_share: float) -> Hierarchy:
    """A hierarchy for a column of a file, by a method or by the one that its values call for."""
    known = get_args(Method)
    if method not in known:
        raise ParameterError(f"method = {method!r} is not known.{did_you_mean(str(method), known)}")
    if isinstance(min_share, bool) or not isinstance(min_share, int | float) or not 0 < min_share < 1:
        raise ParameterError(f"min_share = {min_share!r} must be a share of the records, between 0 and 1.")
    held = _held(people, column)
    wanted = _called_for(held) if method == "auto" else method
    if method != "auto" and not _fits(held, method):
        fitting = [m for m in known if m != "auto" and _fits(held, m)]
        needed = {"bands": "numbers", "dates": "dates", "prefix": "codes of one length"}[method]
        raise HierarchyError(
            f"method = {method!r} groups {needed}, which the column {column!r} does not hold: its values are such as "
            f"{listed(held.texts[:3])}. What fits it: {listed(fitting)}."
        )
    if wanted == "bands":
        return _by_bands(held)
    if wanted == "dates":
        return _by_dates(held)
    return _by_prefix(held) if wanted == "prefix" else _by_frequency(held, min_share)


def _held(people: Microdata, column: str) -> _Column:
    """What there is to group: observed and declared values, without null and codes that are not applicable."""
    if not isinstance(people, Microdata) or not isinstance(column, str):
        raise ParameterError(
            "Hierarchy.suggest takes the microdata and the name of a column, such as suggest(people, 'age'); "
            f"given {type(people).__name__} and {column!r}."
        )
    require_columns(people, (column,), "Hierarchy.suggest")
    if column == people.schema.weight or column in people.schema.hidden:
        roles = ", ".join(people.schema.roles(column))
        why = "its numbers are added up" if column == people.schema.weight else "it is never published"
        raise DataError(f"{column!r} is {roles}: {why}, so there is nothing to group. Suggest for a key instead.")
    table = people.key_table((column,))
    counted = zip(table.frame[column].to_list(), table.counts.tolist(), strict=True)
    found = {text_of(v): (v, n) for v, n in counted if v is not None}
    dtype = people.frame.collect_schema()[column]
    for value in codes_in(dtype, people.declared_modalities.get(column, ())):
        found.setdefault(text_of(value), (value, 0))
    for code in people.schema.not_applicable.get(column, ()):
        found.pop(text_of(code), None)
    if not found:
        raise DataError(
            f"The column {column!r} has no value to group: all are null or not applicable. "
            "Declare its modalities, or choose another column."
        )
    numeric = dtype.is_numeric()
    homeless = [t for t in found if t == "" or (numeric and t in ("inf", "-inf"))]
    if homeless:
        raise DataError(
            f"The column {column!r} holds {listed(homeless)}, which no group can hold. "
            "Declare it as undetermined or as not applicable."
        )
    ordered = sorted(found.items(), key=lambda item: (item[1][0] if numeric else 0, item[0]))
    return _Column(column, tuple(v for _, (v, _) in ordered), tuple(n for _, (_, n) in ordered))


def _fits(held: _Column, method: str) -> bool:
    if method == "bands":
        return held.numeric
    if method == "dates":
        return held.days is not None
    return held.coded if method == "prefix" else True


def _called_for(held: _Column) -> Method:
    if held.numeric:
        return "bands"
    if held.days is not None:
        return "dates"
    return "prefix" if held.looks_coded and _prefix_lengths(held) else "frequency"


def _by_bands(held: _Column) -> Hierarchy:
    numbers = [v if isinstance(v, int) else float(v) for v in held.values]  # type: ignore[arg-type]
    widths = round_widths(numbers, held.counts)
    return Hierarchy.bands(*widths) if widths else _of_levels(held, {})


def _by_prefix(held: _Column) -> Hierarchy:
    lengths = _prefix_lengths(held)
    return Hierarchy.prefix(*lengths) if lengths else _of_levels(held, {})


def _prefix_lengths(held: _Column) -> list[int]:
    """Lengths that put codes together, but not all of them; of long codes those where many groups become one."""
    texts = held.texts
    sizes = {n: len({t[:n] for t in texts}) for n in range(len(texts[0]) - 1, 0, -1)}
    chosen: list[int] = []
    for shrink in (1.0, 2.0, 4.0, 8.0):
        chosen, last = [], len(texts)
        for length, size in sizes.items():
            if 1 < size < last and size * shrink <= last:
                chosen.append(length)
                last = size
        if len(chosen) <= _MOST_LEVELS:
            break
    return chosen[:_MOST_LEVELS]


def _by_dates(held: _Column) -> Hierarchy:
    days = held.days or []
    return _of_levels(held, {name: [period(d) for d in days] for name, period in _PERIODS.items()})


def _day(value: object) -> dt.date | None:
    if isinstance(value, dt.date):
        return value
    if not isinstance(value, str) or not _DAY.fullmatch(value):
        return None
    try:
        return dt.datetime.fromisoformat(value if len(value) > 7 else f"{value}-01")
    except ValueError:
        return None


def _by_frequency(held: _Column, min_share: float) -> Hierarchy:
    texts, total = held.texts, sum(held.counts)
    levels = {}
    for times in _RARE:
        bound = times * min_share * total
        levels[str(times)] = [OTHER if n < bound else t for t, n in zip(texts, held.counts, strict=True)]
    made = _of_levels(held, levels)
    return Hierarchy(table=made.table)


def _of_levels(held: _Column, levels: Mapping[str, Sequence[str]]) -> Hierarchy:
    """The levels that have fewer groups than the one below and more than one; the root behind them."""
    texts = held.texts
    kept: dict[str, Sequence[str]] = {}
    last = len(texts)
    for name, labels in levels.items():
        size = len(set(labels))
        if 1 < size < last:
            kept[name] = labels
            last = size
    rows = zip(texts, *kept.values(), [ROOT] * len(texts), strict=True)
    return Hierarchy(table=tuple((row[0], row[1:]) for row in rows), names=tuple(kept))
