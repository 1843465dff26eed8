"""Derived columns that carry originals on: a rule reads a value that a later step blurs, recodes or codes.

`copy = income` before income is blurred shows the income of everybody under another name. Values are followed record
by record, through all rules: where a rule read a value as it stood in the plan's input, that value must still stand
in the file, or the derived one must be what the rule gives of the final file, or be gone.
A value that an earlier step drew anew and that is the original by chance is no original: nobody knows which those are.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from flou.describe.microdata import Microdata
from flou.protect.micro.derive.evaluate import Floats
from flou.protect.micro.derive.grammar import Column, Rule
from flou.protect.micro.derive.ratios import original_values
from flou.protect.micro.remembered import Remembered
from flou.protect.micro.rows import Amounts, Rows

#: Of the records that show nearly the same value, the share that must have it from the input.
_MOST = 0.5
#: Records that show nearly the same value, and into how many such groups a file is divided at most.
_GROUP, _MAX_GROUPS = 50, 200

#: What a rule shows, of values by column, for so many records.
Compute = Callable[[Rule, Mapping[Column, Floats], int], Floats]


@dataclass(frozen=True)
class Carried:
    """The values of the plan's input that one derived column shows, by unit."""

    #: Columns of the plan's input.
    columns: tuple[str, ...]
    #: The derived value, then these columns, NaN where a value is not carried on.
    values: Remembered
    #: How many rules have computed the column, this one included.
    turn: int

    def of(self, owners: NDArray[np.generic], shown: Floats) -> dict[str, Floats]:
        """What the column still carries on, where it shows what it did."""
        held = self.values.of(owners)
        same = _same(shown, held[:, 0])
        return {c: np.where(same, held[:, j + 1], np.nan) for j, c in enumerate(self.columns)}


def carried_on(
    data: Microdata, rows: Rows, rules: Sequence[Rule], before: Mapping[Column, Floats], after: Mapping[Column, Floats]
) -> dict[str, Carried]:
    """What each rule's column carries on; `before` and `after` are the values that it read and the computed ones."""
    targets = {rule.target for rule in rules}
    read = dict.fromkeys(c.name for rule in rules for c in rule.columns if not c.original and c in before)
    held = [c for c in read if c in data.kin.original.columns and c not in targets]
    originals = original_values(data, rows.owners, held)
    stands = {c: np.where(as_it_came(before[Column(c)], originals[c]), originals[c], np.nan) for c in held}
    found: dict[str, Carried] = {}
    sources: dict[str, dict[str, Floats]] = {}
    for rule in rules:
        own: dict[str, Floats] = {}
        for column in (c for c in rule.columns if not c.original):
            if column.name in sources:
                _add(own, sources[column.name])
                continue
            if column.name in stands:
                _add(own, {column.name: stands[column.name]})
            if column.name in data.kin.derived:
                _add(own, data.kin.derived[column.name].of(rows.owners, before[column]))
        sources[rule.target] = own
        shown = after[Column(rule.target)]
        turn = data.kin.derived[rule.target].turn + 1 if rule.target in data.kin.derived else 1
        held_on = Remembered(rows.owners, np.column_stack([shown, *own.values()]))
        found[rule.target] = Carried(tuple(own), held_on, turn)
    return found


def _add(own: dict[str, Floats], more: Mapping[str, Floats]) -> None:
    for column, values in more.items():
        own[column] = values if column not in own else np.where(np.isnan(own[column]), values, own[column])


def count_copies(after: Microdata, carried: Mapping[str, Carried], rules: Sequence[Rule], compute: Compute) -> int:
    """Records of which a derived column shows what a later step hides."""
    schema = after.frame.collect_schema()
    numeric = [c for c in after.columns if schema[c].is_numeric() or schema[c].is_temporal()]
    worst = 0
    for rule in rules:
        held = carried[rule.target]
        # a later rule that computed the column anew promises the same of it
        mine = after.kin.derived.get(rule.target, held).turn == held.turn
        if mine and rule.target in numeric and held.columns:
            worst = max(worst, _shown_still(after, rule, held, numeric, compute))
    return worst


def _shown_still(after: Microdata, rule: Rule, carried: Carried, numeric: Sequence[str], compute: Compute) -> int:
    """Records whose derived value carries one on that the file shows no more."""
    read = [c.name for c in rule.columns if not c.original]
    wanted = [c for c in dict.fromkeys([rule.target, *read, *carried.columns]) if c in numeric]
    was, held = carried.values.beside(after, wanted)
    now = {c: Amounts.of(after, held[c]).values for c in wanted}
    hidden = np.zeros(len(was), dtype=np.bool_)
    for j, column in enumerate(carried.columns):
        original = was[:, j + 1]
        hidden |= ~np.isnan(original) & (~_same(now[column], original) if column in now else True)
    if not hidden.any():
        return 0
    if rule.target not in read and all(c in now for c in read) and not any(c.original for c in rule.columns):
        fits = compute(rule, {Column(c): values for c, values in now.items()}, len(was))
        hidden &= ~(np.abs(fits - now[rule.target]) <= 1e-9 * np.maximum(1.0, np.abs(fits)))
    return int((hidden & ~np.isnan(now[rule.target])).sum())


def as_it_came(now: Floats, original: Floats) -> NDArray[np.bool_]:
    """The records that show their original value, where most of those that show nearly the same do.

    A top code leaves what lies below it; a value that was drawn anew in its class may be the original by chance.
    """
    same: NDArray[np.bool_] = np.equal(now, original)
    known = np.isfinite(now)
    if not known.any():
        return same
    n_groups = int(np.clip(known.sum() // _GROUP, 1, _MAX_GROUPS))
    cuts = np.unique(np.quantile(now[known], np.arange(1, n_groups) / n_groups))
    group = np.searchsorted(cuts, now, side="right")
    share = np.bincount(group, same, len(cuts) + 1) / np.maximum(np.bincount(group, minlength=len(cuts) + 1), 1)
    return np.asarray(same & (share[group] >= _MOST))


def _same(now: Floats, before: Floats) -> NDArray[np.bool_]:
    return np.asarray((now == before) | (np.isnan(now) & np.isnan(before)))
