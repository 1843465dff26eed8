"""Branches of a hierarchy that end sooner than others.

All values of a hierarchy have the same number of levels above them, so that a short branch repeats its last code, and a
code that lies outside of the hierarchy (not applicable, unknown) stays itself on every level. In a table such a code is
one category: it ends its path where it first stands, and it has one name on whatever level a table shows it, so that it
is the same cell everywhere.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import takewhile

import numpy as np

from flou.describe.hierarchy import ROOT
from flou.describe.schema import Schema
from flou.describe.table.spec import Level
from flou.engine.keys import Codes

#: For each level of a column the label of each of its values.
Texts = Mapping[tuple[str, int], Sequence[str]]


def end_short_branches(
    codes: Codes, path: Sequence[Level], labels: Sequence[list[str]], texts: Texts, schema: Schema
) -> None:
    """End each branch at the category that all finer levels only repeat."""
    last = path[-1].column
    n_levels = len(list(takewhile(lambda level: level.column == last, reversed(path))))
    ended = {j: set(labels[j]) for j in range(len(path) - n_levels, len(path) - 1)}
    for j, held in ended.items():
        for finer in path[j + 1 :]:
            held &= _repeated(path[j], finer, texts, schema)
        ends = np.array([label in held for label in labels[j]])
        codes[(codes[:, j] >= 0) & ends[codes[:, j]], j + 1 :] = -1


def single_values(levels: Sequence[Level], texts: Texts, schema: Schema) -> dict[tuple[str, str], str]:
    """The categories of coarser levels that are one value under its own name: level and label, and the column."""
    return {
        (level.name, label): level.column
        for level in levels
        if level.number
        for label in _repeated(level, Level(level.column), texts, schema)
    }


def _repeated(coarse: Level, fine: Level, texts: Texts, schema: Schema) -> set[str]:
    """The labels of a level under which a finer one has nothing but the same label."""
    above, below = texts[coarse.column, coarse.number], texts[fine.column, fine.number]
    found = {a for a, b in zip(above, below, strict=True) if a == b}
    found -= {a for a, b in zip(above, below, strict=True) if a != b}
    if not found:
        return found
    # whether a category holds others hangs on the hierarchy, not on who is in the file
    rows = [(leaf, *ancestors, ROOT) for leaf, ancestors in schema.hierarchies[coarse.column].table]
    return found - {row[coarse.number] for row in rows if row[coarse.number] != row[fine.number]}
