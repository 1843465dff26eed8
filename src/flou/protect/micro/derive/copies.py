"""Derived columns that carry originals on: a rule reads a column that a later step blurs, recodes or codes.

`copy = income` before income is blurred shows the income of everybody under another name. What a rule read as it
stood in the plan's input must still stand in the file as it was, or the derived column must be gone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from flou.describe.microdata import Microdata
from flou.engine.guarantee import Guarantee
from flou.engine.note import Note
from flou.protect.micro.derive.evaluate import Floats
from flou.protect.micro.derive.grammar import Column
from flou.protect.micro.derive.ratios import original_values
from flou.protect.micro.remembered import Remembered
from flou.protect.micro.rows import Amounts, Rows

#: A column is as it came when nearly all of its values are.
_NEARLY_ALL = 0.9


def original_copies(
    data: Microdata, rows: Rows, read: Sequence[str], values: Mapping[Column, Floats], targets: Sequence[str]
) -> Guarantee:
    """The promise that nothing a later step hides stands in a derived column; `read` are what the rules read."""
    known = [c for c in dict.fromkeys(read) if c in data.kin.original.columns]
    originals = original_values(data, rows.owners, known)
    untouched = [c for c in known if _same(values[Column(c)], originals[c]).mean() >= _NEARLY_ALL] if len(rows) else []
    held = np.column_stack([originals[c] for c in untouched]) if untouched else np.zeros((len(rows), 0))
    remembered = Remembered(rows.owners, held)

    def hidden_since(after: object) -> int:
        assert isinstance(after, Microdata)
        if not untouched or not any(t in after.columns for t in targets):
            return 0
        schema = after.frame.collect_schema()
        still = [c for c in untouched if c in after.columns and schema[c].is_numeric()]
        was, now = remembered.beside(after, still)
        if len(still) < len(untouched):
            return len(was)
        changed = np.zeros(len(was), dtype=np.bool_)
        for j, c in enumerate(untouched):
            changed |= ~_same(Amounts.of(after, now[c]).values, was[:, j])
        return int(changed.sum())

    promise = Note(
        "{columns}: nothing that a later step hides stands in a derived column", {"columns": ", ".join(targets)}
    )
    return Guarantee(promise, hidden_since)


def _same(now: Floats, before: Floats) -> np.ndarray:
    return np.asarray((now == before) | (np.isnan(now) & np.isnan(before)))
