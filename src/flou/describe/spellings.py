"""Spellings of one value: texts and numbers that differ in characters and say the same.

`HIV`, `hiv` and `HIV ` are one illness, 0.3 and 0.30000000000000004 one amount, and `01` and `1` become one number when
a program reads a CSV file and guesses types. Who counts them as different values takes a class for more diverse than it
is. What is folded: case, spaces, accents and Unicode forms, invisible characters, ways to write a number, and the last
digits of a float. Misspelt words and synonyms are not recognised.
"""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Sequence

import numpy as np

from flou.describe.microdata import Microdata
from flou.engine.note import Note
from flou.engine.values import text_of

#: Floats nearer than this, relative to their size, differ by rounding alone.
_ROUNDING = 1e-12
#: What sums that cancel leave of the largest number of a column.
_CANCELLED = 1e-15
#: Columns with more distinct values are not looked at when a file is described.
_LOOKED_AT = 200_000
#: Spellings that a note shows.
_SHOWN = 4

#: What pandas reads as no value, unless it is told otherwise.
_NO_VALUE = {
    "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN", "<NA>", "N/A", "NA", "NULL",
    "NaN", "None", "n/a", "nan", "null",
}  # fmt: skip

_SENSITIVE = "{column} spells one value in several ways: {values}. They count as one value."
_KEY = (
    "{column} spells one value in several ways: {values}. They count as several, and a program that reads a CSV file "
    "may take them for one. Recode them to one spelling."
)
_UNITS = (
    "{column} says whose rows these are, and spells one in several ways: {values}. Whoever has two of them counts as "
    "two."
)
_NONE = (
    "{column} holds {values}, which a program that reads a CSV file may take for no value: of a sensitive column they "
    "count as undetermined. Give it another word."
)


def spelling(text: str) -> str | float:
    """What a text says, however it is written: a number, or the text folded; empty where it says nothing."""
    folded = text
    if not text.isascii():
        # twice, since folding the case can take characters apart again
        for _ in range(2):
            folded = unicodedata.normalize("NFKD", folded.casefold())
        folded = "".join(c for c in folded if not "\u0300" <= c <= "\u036f" and unicodedata.category(c) != "Cf")
    folded = " ".join(folded.casefold().split())
    if folded[:1] in "+-.," or folded[:1].isdecimal() or folded in ("inf", "infinity"):
        try:
            number = float(folded.replace(",", "."))
        except ValueError:
            return folded
        return folded if math.isnan(number) else number
    return folded


def first_spellings(values: Sequence[object]) -> list[object]:
    """For each value the first one that says the same; None for null, a blank text, and words that say no value."""
    if all(type(v) is int for v in values):
        return list(values)
    said = [_said(v) for v in values]
    alike = _alike([v for v in said if isinstance(v, float)])
    first: dict[object, object] = {}
    return [
        None if what is None else first.setdefault(alike.get(what, what), value)
        for value, what in zip(values, said, strict=True)
    ]


def _said(value: object) -> object:
    """What a value says: texts and numbers that say the same are equal."""
    if isinstance(value, str):
        said = spelling(value)
        return None if said == "" or value in _NO_VALUE else said
    if isinstance(value, int | float) and not isinstance(value, bool):
        return text_of(value) if math.isnan(value) else float(value)
    return value


def _alike(numbers: list[float]) -> dict[object, object]:
    """Numbers that differ from the next smaller one by rounding alone, and the number where such a chain begins."""
    ordered = np.unique(np.array(numbers, dtype=np.float64))
    largest = np.abs(ordered[np.isfinite(ordered)]).max(initial=0.0)
    near = np.isclose(ordered[1:], ordered[:-1], rtol=_ROUNDING, atol=_CANCELLED * largest)
    if not near.any():
        return {}
    start = np.maximum.accumulate(np.where(np.append(True, ~near), np.arange(len(ordered)), 0))
    return dict(zip(ordered.tolist(), ordered[start].tolist(), strict=True))


def spelling_notes(data: Microdata) -> tuple[Note, ...]:
    """Columns that spell one value in several ways, or hold words that programs read as no value."""
    schema, notes = data.schema, []
    roles = {c: _UNITS for c in (schema.id, schema.household) if c}
    roles |= dict.fromkeys(schema.sensitive, _SENSITIVE) | dict.fromkeys(schema.keys, _KEY)
    for column in (c for c in data.columns if c in roles):
        values = data.key_table((column,)).frame[column].drop_nulls().to_list()
        if len(values) > _LOOKED_AT:
            continue
        if spelt := _several_ways(values):
            notes.append(Note(roles[column], {"column": column, "values": spelt}, internal=True))
        if words := [repr(v) for v in values if isinstance(v, str) and v in _NO_VALUE]:
            notes.append(Note(_NONE, {"column": column, "values": ", ".join(words)}, internal=True))
    return tuple(notes)


def _several_ways(values: list[object]) -> str:
    """The spellings of each value that has several, of some values."""
    ways: dict[object, list[object]] = {}
    for value, first in zip(values, first_spellings(values), strict=True):
        ways.setdefault(first, []).append(value)
    several = sorted(sorted(map(repr, held)) for first, held in ways.items() if first is not None and len(held) > 1)
    shown = ["/".join(held[:_SHOWN]) + ("/…" if len(held) > _SHOWN else "") for held in several[:_SHOWN]]
    return ", ".join(shown) + (", …" if len(several) > _SHOWN else "")
