"""The distribution that classes are held against: that of a sensitive column in the whole input.

Records that a plan dropped are part of what people can know of the population, so a release is held
against the original it was made from where that is given.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from flou.describe.microdata import Microdata
from flou.describe.spellings import first_spellings
from flou.engine.errors import DataError
from flou.engine.method import require_columns
from flou.engine.note import Note
from flou.engine.values import text_of
from flou.risk.micro.sensitive import Part, sensitive_classes, spelt_once

_OTHER_VALUES = Note(
    "The original has other values in a sensitive column than the release: its distribution is that of the release."
)

_ITSELF = Note("The release is held against itself: records that were dropped are no part of the whole here.")


def classes_and_reference(data: Microdata, against: Microdata | None, column: str) -> Part:
    """Classes with null as a value, and how often each value occurs in the input; values of it that are gone last."""
    classes = sensitive_classes(data, column)
    if against is None:
        classes = classes.with_null_as_value()
        return Part(classes, classes.totals(), (_ITSELF,) if data.released else ())
    require_columns(against, (column,), "The original lacks a column: sensitive")
    kinds = [frame.collect_schema()[column] for frame in (data.frame, against.frame)]
    if kinds[0].is_numeric() != kinds[1].is_numeric():
        raise DataError(
            f"The sensitive column {column!r} is {kinds[0]} here and {kinds[1]} in the original: they cannot be "
            "compared."
        )
    whole = against.key_table((column,))
    in_whole = whole.frame[column].to_list()
    # a value of the original is the one of the release that says the same, however each of them spells it
    n = len(classes.values)
    names = first_spellings([*classes.values, *in_whole])
    classes = spelt_once(classes, names[:n]).with_null_as_value()
    whole_values = {_name(v): v for v in names[n:]}
    place = {_name(v): i for i, v in enumerate(classes.values)}
    if set(place) - set(whole_values):
        return Part(classes, classes.totals(), (_OTHER_VALUES,))
    gone = sorted(set(whole_values) - set(place), key=str)
    place.update((name, len(classes.values) + i) for i, name in enumerate(gone))
    totals = np.zeros(len(place), dtype=np.int64)
    np.add.at(totals, [place[_name(v)] for v in names[n:]], whole.counts)
    return Part(replace(classes, values=[*classes.values, *(whole_values[name] for name in gone)]), totals)


def _name(value: object) -> str | None:
    return None if value is None else text_of(value)
