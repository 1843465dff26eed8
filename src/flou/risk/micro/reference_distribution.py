"""The distribution that classes are held against: that of a sensitive column in the whole input.

Records that a plan dropped are part of what people can know of the population, so a release is held
against the original it was made from where that is given.
"""

from __future__ import annotations

import numpy as np

from flou.describe.microdata import Microdata
from flou.engine.errors import DataError
from flou.engine.method import require_columns
from flou.engine.note import Note
from flou.engine.values import text_of
from flou.risk.micro.sensitive import Part, SensitiveClasses, sensitive_classes

_OTHER_VALUES = Note(
    "The original has other values in a sensitive column than the release: its distribution is that of the release."
)

_ITSELF = Note("The release is held against itself: records that were dropped are no part of the whole here.")


def classes_and_reference(data: Microdata, against: Microdata | None, column: str) -> Part:
    """Classes with null as a value, and how often each value occurs in the input; values of it that are gone last."""
    classes = sensitive_classes(data, column).with_null_as_value()
    if against is None:
        return Part(classes, classes.totals(), (_ITSELF,) if data.released else ())
    require_columns(against, (column,), "The original lacks a column: sensitive")
    kinds = [frame.collect_schema()[column] for frame in (data.frame, against.frame)]
    if kinds[0].is_numeric() != kinds[1].is_numeric():
        raise DataError(
            f"The sensitive column {column!r} is {kinds[0]} here and {kinds[1]} in the original: they cannot be "
            "compared."
        )
    whole = against.key_table((column,))
    known = {_name(v): i for i, v in enumerate(classes.values)}
    in_whole = {_name(v): v for v in whole.frame[column].to_list()}
    if set(known) - set(in_whole):
        return Part(classes, classes.totals(), (_OTHER_VALUES,))
    gone = sorted(set(in_whole) - set(known), key=str)
    known.update((name, len(classes.values) + i) for i, name in enumerate(gone))
    totals = np.zeros(len(known), dtype=np.int64)
    np.add.at(totals, [known[name] for name in in_whole], whole.counts)
    values = [*classes.values, *(in_whole[name] for name in gone)]
    merged = SensitiveClasses(column, classes.keys, classes.place, classes.code, classes.count, values)
    return Part(merged, totals)


def _name(value: object) -> str | None:
    return None if value is None else text_of(value)
