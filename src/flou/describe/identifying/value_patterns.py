"""What the values of a column look like: e-mail addresses, accounts, national numbers, telephone numbers, free text."""

from __future__ import annotations

import re
from collections.abc import Sequence

import polars as pl

from flou.describe.identifying.check_digits import NATIONAL, iban, nir

#: One of these in a text is one too many: they do not occur by chance.
_EMAIL = r"(?i)[a-z0-9._%+\-]+@[a-z0-9\-]+(\.[a-z0-9\-]+)*\.[a-z]{2,}"
_IBAN = r"\b[A-Z]{2}\d{2}(?: ?[A-Z0-9]){11,30}\b"
_NIR = r"\b[1-478] ?\d{2} ?(?:0[1-9]|1[0-2]|[2-9]\d) ?(?:\d{2}|2A|2B) ?\d{3} ?\d{3} ?\d{2}\b"
_STREET = (
    r"(?i)\b\d{1,4}\s?(bis|ter)?,?\s+(rue|avenue|av\.|bd|boulevard|place|chemin|impasse|all[ée]e|quai|cours)\b"
    r"|\b\d{1,5}\s+\w[\w .'\-]*\s(street|st|road|rd|avenue|ave|lane|drive|close)\b|\b\w+(stra(ß|ss)e|weg|platz)\s+\d+"
)
#: These are told by how many values have their shape.
_PHONE = r"^(\+|00)\d[\d .\-/()]{6,}\d$|^0[1-9]([ .\-]?\d{2}){4}$|^\(?\d{3}\)?[ .\-]\d{3}[ .\-]\d{4}$"
_SSN = r"^\d{3}-\d{2}-\d{4}$"
_IP = r"^\d{1,3}(\.\d{1,3}){3}$"
#: So many distinct values are asked of a shape at least, and this share of the values that are looked at.
_MIN_DISTINCT, _MIN_SHARE = 5, 0.5
#: Numbers inside texts whose check digits are right more often than that are what they look like.
_BY_CHANCE = 0.1
#: A check digit that one number in ten passes needs more of them.
_MIN_CHECKED = 20
#: Whole numbers from here on can be national numbers, or number the records.
_LONG = 10**8
#: As many values are looked at one by one.
_LOOKED_AT = 1_000
#: A text of so many words is free text where it stands in few records.
_WORDS, _MIN_FREE, _FEW = 5, 10, 5
#: A column of texts of its own in more than half of the records.
_MIN_OWN, _OWN_SHARE = 20, 0.5


def in_texts(values: pl.DataFrame, *, listed: bool) -> list[str]:
    """What texts look like, given as `value` with the number `n` of records; `listed` if the schema lists them."""
    texts = values["value"]
    found = _sure(texts) + _by_shape(texts)
    if listed:
        return found
    n = int(values["n"].sum())
    if len(texts) >= _MIN_OWN and len(texts) > _OWN_SHARE * n:
        found.append("a text of its own in most records")
    free = values.filter(pl.col("value").str.count_matches(r"\S+") >= _WORDS)
    if free.height >= _MIN_FREE and int(free["n"].sum()) <= _FEW * free.height:
        found.append("free text")
    return found


def may_number(high: float, n_distinct: int, n: int) -> bool:
    """Whether whole numbers are long, or as many as there are records: only then is each of them looked at."""
    return high >= _LONG or n_distinct >= n


def in_numbers(values: pl.DataFrame) -> list[str]:
    """What whole numbers look like: national numbers, or numbers that each stand in one record."""
    numbers = values["value"]
    found = _checked(_some(numbers.cast(pl.String)))
    if found or len(numbers) < _MIN_CHECKED or int(values["n"].max()) > 1:  # type: ignore[arg-type]
        return found
    low, high = int(numbers.min()), int(numbers.max())  # type: ignore[arg-type]
    if high - low < 2 * len(numbers):
        return ["numbers that count the records"]
    same_length = low >= 10_000 and len(str(low)) == len(str(high))
    return ["numbers of one length, each in one record"] if same_length else []


def _sure(texts: pl.Series) -> list[str]:
    found = []
    if texts.str.contains(_EMAIL).any():
        found.append("e-mail addresses")
    for name, pattern, check in (
        ("bank accounts (IBAN)", _IBAN, iban),
        ("French social security numbers", _NIR, nir),
    ):
        candidates = texts.filter(texts.str.contains(pattern)).head(_LOOKED_AT).to_list()
        shown = [m.group().replace(" ", "") for text in candidates for m in re.finditer(pattern, text)]
        # a check digit is right by chance in one number of 97
        if sum(map(check, shown)) > _BY_CHANCE * len(shown):
            found.append(name)
    if int(texts.str.contains(_STREET).sum()) >= 3:
        found.append("addresses")
    return found


def _by_shape(texts: pl.Series) -> list[str]:
    if len(texts) < _MIN_DISTINCT:
        return []
    stripped = texts.str.strip_chars()
    shapes = (
        ("telephone numbers", _PHONE),
        ("American social security numbers", _SSN),
        ("addresses of computers", _IP),
    )
    found = [name for name, pattern in shapes if int(stripped.str.contains(pattern).sum()) >= _MIN_SHARE * len(texts)]
    return found or _checked(_some(stripped.str.replace_all(r"[ .\-/]", "").str.to_uppercase()))


def _some(texts: pl.Series) -> list[str]:
    """Values spread over all of them, the same at every call."""
    held = texts.sort()
    return held.gather_every(max(1, len(held) // _LOOKED_AT)).to_list()


def _checked(texts: Sequence[str]) -> list[str]:
    """The first kind of national number that at least half of the values are."""
    if len(texts) < _MIN_CHECKED:
        return []
    for name, shape, check in NATIONAL:
        n = sum(1 for text in texts if shape.fullmatch(text) and check(text))
        if n >= _MIN_SHARE * len(texts):
            return [name]
    return []
