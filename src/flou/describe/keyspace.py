"""The key space: every complete key that could exist.

C is the product of the *declared* modalities of the keys, a modality nobody has included, less the
incoherent combinations (Saoud, eq. 9-11). Columns without any null cannot vary in a completion,
so all of them together (and the strata) form a single axis, the *anchors*: only the combinations that
occur. The columns with nulls ("free") each have an axis of their own, whose last place stands for null.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flou.engine.errors import DataError, KeySpaceTooLargeError, listed
from flou.engine.keys import Codes, KeyTable, pack
from flou.engine.parameters import Scalar
from flou.engine.sense import STRICT, Missing
from flou.engine.values import text_of

#: Cells that a dense array may have: 400 MB of 32-bit counts.
MAX_CELLS = 100_000_000

Dense = NDArray[Any]


@dataclass(frozen=True, eq=False)
class KeySpace:
    """The possible keys behind a key table. `columns` are the quasi-identifiers, `strata` divide the file."""

    keys: KeyTable
    columns: tuple[str, ...]
    strata: tuple[str, ...] = ()
    modalities: Mapping[str, Sequence[Scalar]] = field(default_factory=dict)
    incoherent: Sequence[Mapping[str, Scalar]] = ()

    @cached_property
    def categories(self) -> dict[str, list[object]]:
        """Observed values in order, then the declared ones that nobody has; an undeclared value raises."""
        out: dict[str, list[object]] = {}
        declared = dict(self.modalities)
        for column, observed in zip(self.keys.columns, self.keys.categories, strict=True):
            texts = {text_of(v) for v in observed}
            if column in declared:
                foreign = sorted(texts - {text_of(v) for v in declared[column]})
                if foreign:
                    raise DataError(
                        f"The column {column!r} holds values that are not declared modalities: {listed(foreign)}."
                    )
            out[column] = [*observed, *(v for v in declared.get(column, ()) if text_of(v) not in texts)]
        return out

    def check_declared(self) -> None:
        """Refuse values that are not declared, in whatever way nulls are then counted."""
        if self.modalities:
            _ = self.categories

    @cached_property
    def free(self) -> tuple[str, ...]:
        """The keys that are null somewhere."""
        return tuple(c for c in self.columns if self.keys.frame[c].null_count())

    @cached_property
    def free_codes(self) -> Codes:
        """Each key's code in each free column, -1 for null: an index that lands on the last place."""
        return self.keys.codes[:, [self.keys.columns.index(c) for c in self.free]]

    @cached_property
    def anchors(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """For each anchor one key that has it; for each key its anchor."""
        fixed = [j for j, c in enumerate(self.keys.columns) if c not in self.free or c in self.strata]
        if not fixed:
            return np.zeros(1, dtype=np.intp), np.zeros(self.keys.n_keys, dtype=np.intp)
        sizes = [len(self.keys.categories[j]) for j in fixed]
        _, first, inverse = np.unique(pack(self.keys.codes[:, fixed], sizes), return_index=True, return_inverse=True)
        return first, inverse

    @cached_property
    def shape(self) -> tuple[int, ...]:
        """Anchors, then each free column with one place more for null."""
        return (len(self.anchors[0]), *(len(self.categories[c]) + 1 for c in self.free))

    def n_possible(self) -> int:
        """card(C) over all keys, coherence rules not yet taken off: the product of the modalities."""
        return math.prod(len(self.categories[c]) for c in self.columns)

    def require_values(self) -> None:
        """Refuse a key that nobody has and nothing declares: its undetermined values could be anything."""
        unknown = [c for c in self.free if not self.categories[c]]
        if unknown:
            raise DataError(
                f"The key {listed(unknown)} is undetermined in every record and has no declared modalities: there "
                "is nothing it could stand for. Declare modalities={…}, or leave it out of the keys."
            )

    @property
    def is_dense(self) -> bool:
        """Whether every cell can be held in memory."""
        return math.prod(self.shape) <= MAX_CELLS

    def require_dense(self) -> None:
        """Refuse a space that does not fit in memory, and say what would help."""
        if not self.is_dense:
            cells = math.prod(self.shape)
            sizes = ", ".join(f"{c} {n - 1:,}" for c, n in zip(self.free, self.shape[1:], strict=True))
            raise KeySpaceTooLargeError(
                f"The keys with undetermined values span {cells:,} cells, more than the {MAX_CELLS:,} that are held in "
                f"memory ({self.shape[0]:,} observed combinations of the other keys × modalities: {sizes}). Recode the "
                'keys with the most modalities, use fewer keys, or count with missing="category".'
            )

    def filled(self, values: NDArray[Any]) -> Dense:
        """A cell for every possible key, the null places included, holding the figure of each key (counts, weights)."""
        self.require_dense()
        small = values.dtype.kind in "iu" and self.keys.n_records < 2**31
        cells = np.zeros(self.shape, dtype=np.int32 if small else values.dtype)
        cells[self.positions] = values
        return cells

    @property
    def positions(self) -> tuple[NDArray[np.integer], ...]:
        """Where each key stands in the dense array (-1 is the null place)."""
        return (self.anchors[1], *self.free_codes.T)

    def exclude_incoherent(self, cells: Dense, mark: float) -> None:
        """Set the incoherent cells to a mark that min or max will pass over."""
        for rule in self.incoherent:
            index = self._rule_index(rule)
            if index is not None:
                cells[index] = mark

    def _rule_index(self, rule: Mapping[str, Scalar]) -> tuple[Any, ...] | None:
        first, _ = self.anchors
        hit = np.ones(len(first), dtype=bool)
        free: dict[str, int] = {}
        for column, value in rule.items():
            code = self.code_of(column, value)
            if code is None:
                return None  # nobody can have this value, so the rule forbids nothing
            if column in self.free:
                free[column] = code
            else:
                hit &= self.keys.codes[first, self.keys.columns.index(column)] == code
        return (np.flatnonzero(hit), *(free.get(c, slice(None)) for c in self.free))

    def code_of(self, column: str, value: Scalar) -> int | None:
        texts = [text_of(v) for v in self.categories[column]]
        return texts.index(text_of(value)) if text_of(value) in texts else None

    def violating(self) -> NDArray[np.bool_]:
        """Keys that show an incoherent combination outright."""
        bad = np.zeros(self.keys.n_keys, dtype=bool)
        for rule in self.incoherent:
            hit = np.ones(self.keys.n_keys, dtype=bool)
            for column, value in rule.items():
                code = self.code_of(column, value)
                hit &= (self.keys.codes[:, self.keys.columns.index(column)] == code) if code is not None else False
            bad |= hit
        return bad

    def persons(self, missing: Missing) -> NDArray[np.int64]:
        """How many persons have each key, to be added up over the keys that agree in the sense `missing`."""
        if self.keys.people is not None and self.free and missing != STRICT:
            raise DataError(
                f"A person with several rows may have several keys that agree, and would count twice with missing = "
                f"{missing!r}. Count with missing = {STRICT!r}, or give each person one row."
            )
        return self.keys.persons

    def refuse_incoherent(self, bad: NDArray[np.bool_]) -> None:
        """Records without a coherent completion are an error that lists their keys."""
        if bad.any():
            rows = self.keys.frame.select(self.columns).filter(bad).rows()
            n = int(self.keys.counts[bad].sum())
            raise DataError(
                f"{n:,} records have no coherent completion: every value their undetermined keys could take makes a "
                f"combination declared incoherent. Their keys ({', '.join(self.columns)}): {listed(rows)}. "
                "Mend the records or the rules."
            )
