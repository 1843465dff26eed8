"""Transition matrices of PRAM: read from a mapping, or made invariant.

An invariant matrix R leaves the expected frequencies t of the values as they are, t R = t, so that analysts
need no correction. It is made in two stages (Gouweleeuw et al. 1998): a base matrix P changes values, and the
reverse matrix P' (P'_ij = t_j P_ji / (t P)_i, the chance that j was behind i) brings the frequencies back;
R = P P'.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray
from pydantic import BeforeValidator, PlainSerializer, WithJsonSchema

from flou.engine.values import text_of

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Row = tuple[tuple[str, float], ...]

#: How far the sum of a row may lie from 1.
_TOLERANCE = 1e-9
_EXAMPLE = "{yes = {yes = 0.9, no = 0.1}, no = {yes = 0.2, no = 0.8}}"


def _rows(value: object) -> object:
    """A mapping of mappings as pairs of pairs, so that methods stay hashable; each row must be a distribution."""
    if isinstance(value, tuple):
        return value  # checked before
    if not isinstance(value, Mapping) or not value or not all(isinstance(row, Mapping) for row in value.values()):
        raise ValueError(f"matrix should say for each value with which chance it becomes which, such as {_EXAMPLE}.")
    rows = tuple((text_of(old), _row(old, row)) for old, row in value.items())
    if len({old for old, _ in rows}) < len(rows):
        raise ValueError(f"matrix names a value twice: {', '.join(old for old, _ in rows)}.")
    if all(dict(row).get(old, 0.0) == 1.0 for old, row in rows):
        raise ValueError("matrix leaves every value as it is: it would protect nobody.")
    return rows


def _row(old: object, row: Mapping[Any, Any]) -> Row:
    entries = [(text_of(new), chance) for new, chance in row.items()]
    for new, chance in entries:
        numeric = isinstance(chance, int | float) and not isinstance(chance, bool)
        if not numeric or not math.isfinite(chance) or chance < 0:
            raise ValueError(
                f"matrix: the chance of {text_of(old)!r} → {new!r} is {chance!r}; it must not be negative."
            )
    if len({new for new, _ in entries}) < len(entries):
        raise ValueError(f"matrix: the row of {text_of(old)!r} names a value twice.")
    total = math.fsum(chance for _, chance in entries)
    if abs(total - 1.0) > _TOLERANCE:
        raise ValueError(f"matrix: the chances of the row {text_of(old)!r} add up to {total:.12g}, not to 1.")
    return tuple((new, float(chance)) for new, chance in entries)


def _as_table(rows: tuple[tuple[str, Row], ...]) -> dict[str, dict[str, float]]:
    return {old: dict(row) for old, row in rows}


#: A stochastic matrix: value → value → chance.
Matrix = Annotated[
    tuple[tuple[str, tuple[tuple[str, float], ...]], ...],
    BeforeValidator(_rows),
    PlainSerializer(_as_table),
    WithJsonSchema(
        {"type": "object", "additionalProperties": {"type": "object", "additionalProperties": {"type": "number"}}}
    ),
]


def invariant_matrix(counts: NDArray[np.integer], stay: float) -> Floats:
    """The invariant matrix of values with these counts, two at least and none of them zero.

    The base matrix keeps a value with the chance `stay` and otherwise changes it into another one, in
    proportion to how frequent that is.
    """
    t = counts / counts.sum()
    base = (1.0 - stay) * t[None, :] / (1.0 - t)[:, None]
    np.fill_diagonal(base, stay)
    back = (base * t[:, None]).T / (t @ base)[:, None]
    found: Floats = base @ back
    found /= found.sum(axis=1, keepdims=True)
    if np.abs(t @ found - t).max() > 1e-12:
        raise AssertionError("an invariant matrix must keep the frequencies")
    return found


@dataclass(frozen=True)
class Transitions:
    """Rows of one or several matrices, one after the other: where each begins, its targets and their thresholds."""

    starts: Integers
    targets: Integers
    chances: Floats

    @classmethod
    def of(cls, rows: list[tuple[Integers, Floats]]) -> Transitions:
        """From the targets of each row and their chances; targets without a chance are left out."""
        kept = [(codes[chances > 0], chances[chances > 0]) for codes, chances in rows]
        lengths = [len(codes) for codes, _ in kept]
        starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        targets = np.concatenate([codes for codes, _ in kept]).astype(np.int64)
        return cls(starts, targets, np.concatenate([chances for _, chances in kept]))

    @property
    def thresholds(self) -> Floats:
        """Cumulative chances of each row, the last one exactly 1."""
        total = np.cumsum(self.chances)
        before = np.concatenate([[0.0], total])[self.starts[:-1]]
        found: Floats = total - np.repeat(before, np.diff(self.starts))
        found[self.starts[1:] - 1] = 1.0
        return found

    def draw(self, rows: Integers, codes: Integers, uniforms: Floats) -> Integers:
        """New codes of records by the row that each belongs to; -1 belongs to none and stays."""
        if len(rows) >= 20_000:
            from flou.protect.micro.swap_kernels import draw_targets

            out = codes.copy()
            draw_targets(rows, uniforms, self.starts, self.thresholds, self.targets, out)
            return out
        out, thresholds = codes.copy(), self.thresholds
        order = np.argsort(rows, kind="stable")
        edges = np.searchsorted(rows[order], np.arange(len(self.starts)))
        for row in range(len(self.starts) - 1):
            some = order[edges[row] : edges[row + 1]]
            first, last = self.starts[row], self.starts[row + 1]
            out[some] = self.targets[first:last][np.searchsorted(thresholds[first:last], uniforms[some], side="right")]
        return out
