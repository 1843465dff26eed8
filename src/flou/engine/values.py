"""Category values as text: one canonical form, so that files, schemas and frames agree on what is equal.

`1`, `1.0` and `"1"` are written the same way by a CSV file, a pandas column with gaps and an integer
column; declared values are therefore matched by this form.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from decimal import Decimal
from typing import Any, NoReturn

import polars as pl


def text_of(value: object) -> str:
    """The canonical text of one category value."""
    if type(value) is str:
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    if isinstance(value, dt.datetime):
        if value.tzinfo is not None:
            return value.astimezone(dt.UTC).isoformat()  # one instant, whatever zone it is told in
        return value.date().isoformat() if value.time() == dt.time() else value.isoformat()
    if isinstance(value, dt.date):
        return value.isoformat()
    if isinstance(value, Decimal):
        text = f"{value:f}"  # in full: what Python computes from a decimal has 28 digits
        return (text.rstrip("0").rstrip(".") if "." in text else text) if value else "0"
    return str(value)


def exact_number(value: object) -> Decimal | None:
    """A number to its last digit, of any type or as text; None for what is none."""
    try:
        number = Decimal(text_of(value).strip())
    except ArithmeticError:
        return None
    return None if number.is_nan() else number


def plain_scalar(value: object) -> object:
    """A value as schemas and plans write it: moments and spans of time by their texts, decimals by a number.

    A decimal of more digits than a number has is its text, to the last digit.
    """
    if isinstance(value, dt.datetime | dt.time | dt.timedelta):
        return text_of(value)
    if not isinstance(value, Decimal) or not value.is_finite():
        return value
    for number in (float(value), int(value)):
        if text_of(number) == text_of(value) and abs(number) < 2**63:
            return number
    return text_of(value)


def as_written_in(dtype: Any, value: Any) -> Any:
    """A declared value of a column of dates or times by its canonical text; others as they are."""
    if not isinstance(value, str) or dtype is None or not dtype.is_temporal():
        return value
    with suppress(ValueError):
        return text_of(_typed(dtype, value))
    return value


def instant_text(text: str) -> str:
    """The canonical text of a moment that is told with its distance from UTC; any other text as it is."""
    if re.fullmatch(r"\d{4}-\d\d-\d\dT.*[+-]\d\d:?\d\d", text):
        with suppress(ValueError):
            return text_of(dt.datetime.fromisoformat(text))
    return text


def whole_number(text: str) -> int | None:
    """A whole number in plain digits, such as 64 bits hold; None for any other text, also for `²`."""
    return int(text) if re.fullmatch("[0-9]{1,18}", text) else None


class Proportion(float):
    """A share that people read as a percentage."""


def percent(share: float) -> str:
    """A share as a percentage, with enough digits that a small one does not read as zero."""
    value = 100 * share
    if value < 0:
        return f"-{percent(-share)}"
    if value == 0:
        return "0"
    if 99.95 <= value < 100:
        return f"{min(value, 99.999):.3f}"  # not quite all is not all
    digits = 1 if value >= 1 else 2 if value >= 0.1 else 3
    return f"{value:.{digits}f}" if value >= 0.001 else "< 0.001"


def all_digits(value: float) -> str:
    """A number with all of its decimals, thousands apart."""
    return f"{int(value):,}" if float(value).is_integer() else f"{value:,}"


def plain_text(
    value: object,
    number: Callable[[float], str] = all_digits,
    between: str = ", ",
    word: Callable[[str], str] = str,
) -> str:
    """A parameter or figure as people read it: `[a, b]`, `k_anonymity(k = 3)`, 1,234; other languages write others."""
    if isinstance(value, Proportion):
        return f"{percent(value)}%"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float) and not isinstance(value, bool):
        return number(value)
    if isinstance(value, Mapping):
        inner = dict(value)
        name = inner.pop("method", None)
        shown = between.join(f"{k} = {plain_text(v, number, between, word)}" for k, v in inner.items())
        return f"{name}({shown})" if name else f"{{{shown}}}"
    if isinstance(value, list | tuple):
        return "[" + between.join(plain_text(v, number, between, word) for v in value) + "]"
    return word(str(value))


def figure_text(value: object) -> str:
    """A figure as people read it: four digits that count, no more."""
    if isinstance(value, float) and not isinstance(value, Proportion) and not value.is_integer():
        return f"{value:,.0f}" if abs(value) >= 10_000 else f"{value:,.1f}" if abs(value) >= 1000 else f"{value:.4g}"
    return plain_text(value)


def plain_lists(value: object) -> object:
    """Tuples as lists, all the way down, as TOML and JSON have them."""
    if isinstance(value, Mapping):
        return {k: plain_lists(v) for k, v in value.items()}
    return [plain_lists(v) for v in value] if isinstance(value, list | tuple) else value


def settings_text(settings: Mapping[str, object]) -> str:
    """Parameters as a plan writes them: `k = 3, missing = category`."""
    return ", ".join(f"{name} = {plain_text(value)}" for name, value in settings.items())


def codes_in(dtype: Any, codes: Iterable[object]) -> list[Any]:
    """Declared codes as values that a column of this type can hold; the others cannot occur in it."""
    found = []
    for text in sorted({text_of(c) for c in codes}):
        with suppress(ValueError, ArithmeticError):
            found.append(_typed(dtype, text))
    return found


def _typed(dtype: Any, text: str) -> Any:
    """A canonical text as a value of a column's type; raises where it is none."""
    name = type(dtype).__name__
    if name == "Boolean":
        return {"true": True, "false": False}[text] if text in ("true", "false") else _no_value(text)
    if name == "Date":
        return dt.date.fromisoformat(text)
    if name == "Datetime":
        moment = dt.datetime.fromisoformat(text)
        if (moment.tzinfo is None) != (dtype.time_zone is None):
            _no_value(text)
        return moment if moment.tzinfo is None else moment.astimezone(dt.UTC)
    if name == "Time":
        return dt.time.fromisoformat(text)
    if name == "Duration":
        return _duration(text)
    if name == "Decimal":
        return Decimal(text)
    if dtype.is_integer():
        number = exact_number(text)
        if number is None or abs(number) >= 2**63 or number != int(number):
            _no_value(text)
        return int(number)
    return float(text) if dtype.is_numeric() else text


def _duration(text: str) -> dt.timedelta:
    """A span of time as Python writes it: `2 days, 1:30:00`."""
    found = re.fullmatch(r"(?:(-?\d+) days?, )?(\d+):(\d\d):(\d\d)(?:\.(\d{6}))?", text)
    if found is None:
        _no_value(text)
    days, hours, minutes, seconds, parts = (int(group or 0) for group in found.groups())
    return dt.timedelta(days, seconds, parts, minutes=minutes, hours=hours)


def _no_value(text: str) -> NoReturn:
    raise ValueError(text)


def as_texts(series: pl.Series) -> pl.Series:
    """A column's values by their canonical texts; null stays null."""
    values = distinct(series)
    texts = pl.Series(map(text_of, values), dtype=pl.String)
    return series if series.dtype == pl.String else series.replace_strict(values, texts, default=None)


def distinct(series: pl.Series) -> list[object]:
    """The distinct values of a column, sorted, without null."""
    return series.drop_nulls().unique().sort().to_list()
