"""What whole numbers look like: national numbers, telephone numbers, numbers of records, dates."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
import polars as pl

from flou.describe.identifying.check_digits import NATIONAL

#: Whole numbers from here on can be national or telephone numbers.
_LONG = 10**8
#: The digits that such numbers have; leading zeros are lost, so that not all of them have as many.
_DIGITS, _SAME_LENGTH = range(9, 16), 0.85
#: Numbers that nearly every record has for itself can number the records; some are doubled by error.
_NEARLY_ALL, _FEW_TWICE = 0.95, 0.005
#: How many times fewer of them are doubled than amounts would be by chance.
_FEWER = 4
#: Numbers of records leave few gaps, or have one step between nearly all of them.
_GAPS, _ONE_STEP = 2, 0.9
#: A check digit that one number in ten passes needs so many, of which this share passes.
_MIN_CHECKED, _MIN_SHARE = 20, 0.5
#: As many values are looked at one by one.
_LOOKED_AT = 1_000
_DAY, _MONTH, _YEAR = r"(0?[1-9]|[12]\d|3[01])", r"(0?[1-9]|1[0-2])", r"(19|20)\d\d"
_DATE = rf"^{_YEAR}[-/. ]?{_MONTH}[-/. ]?{_DAY}\b|^{_DAY}[-/. ]?{_MONTH}[-/. ]?{_YEAR}\b"


def may_number(low: float, high: float, n_distinct: int, n: int) -> bool:
    """Whether whole numbers are long, or nearly as many as the records: only then is each of them looked at."""
    return max(abs(low), abs(high)) >= _LONG or n_distinct >= _NEARLY_ALL * n


def in_numbers(values: pl.DataFrame, *, listed: bool) -> list[str]:
    """What whole numbers look like, given as `value` with the number `n` of records."""
    numbers = values["value"]
    found = checked(some(numbers.cast(pl.String)))
    if found or listed or len(numbers) < _MIN_CHECKED:
        return found
    n, held = int(values["n"].sum()), np.sort(numbers.to_numpy())
    if len(held) >= _NEARLY_ALL * n and _counts(held):
        return ["numbers that count the records"]
    sizes = np.abs(held)
    lengths = np.array([len(str(size)) for size in sizes.tolist()])
    if _hardly_twice(held, n) and sizes.min() >= 10_000 and (lengths == lengths[0]).all():
        return ["numbers of one length, each in one record"]
    usual = int(np.bincount(lengths).argmax())
    if usual in _DIGITS and (lengths == usual).mean() >= _SAME_LENGTH and (sizes % 10 != 0).mean() > _MIN_SHARE:
        return ["numbers as long as those of telephones or persons"]
    return []


def _hardly_twice(numbers: np.ndarray[tuple[int], np.dtype[np.int64]], n: int) -> bool:
    """Whether hardly a number stands in two records, far fewer than if they were amounts of the same range."""
    twice = n - len(numbers)
    by_chance = n * n / (2 * max(1, int(numbers[-1] - numbers[0])))
    return twice == 0 or (twice <= max(1, _FEW_TWICE * n) and by_chance >= _FEWER * twice)


def _counts(numbers: np.ndarray[tuple[int], np.dtype[np.int64]]) -> bool:
    """Whether sorted numbers leave few gaps, whatever their step, or have nearly one step throughout."""
    steps = np.diff(numbers)
    slots = (numbers[-1] - numbers[0]) / max(1, int(np.gcd.reduce(steps)))
    return bool(slots < _GAPS * len(numbers) or (steps == np.median(steps)).mean() >= _ONE_STEP)


def are_dates(texts: pl.Series) -> bool:
    """Whether texts, or numbers as texts, are days: 1977-01-31, 31/01/1977, 19770131."""
    return len(texts) > 0 and float(texts.str.strip_chars().str.contains(_DATE).mean()) >= _MIN_SHARE  # type: ignore[arg-type]


def some(texts: pl.Series) -> list[str]:
    """Values spread over all of them, the same at every call."""
    held = texts.sort()
    return held.gather_every(max(1, len(held) // _LOOKED_AT)).to_list()


def checked(texts: Sequence[str]) -> list[str]:
    """The first kind of national number that at least half of the values are."""
    if len(texts) < _MIN_CHECKED:
        return []
    for name, shape, check in NATIONAL:
        n = sum(1 for text in texts if re.fullmatch(shape, text) and check(text))
        if n >= _MIN_SHARE * len(texts):
            return [name]
    return []
