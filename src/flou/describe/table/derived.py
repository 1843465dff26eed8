"""Ratios and means of published counts with their confidence intervals, from what everybody knows.

    release.data.ratio(of={"sex": "F"}, over={})       # the share of women
    release.data.ratios("sex")                         # of each category in the cell above it
    release.data.mean("age")                           # the mean of the labels, or of scores={…}

Only the published figures and the mechanism are used, so that readers of the published table can compute the same: a
table that was read from a file takes `mechanism=`. The interval speaks of the noise alone, not of sampling; see
`flou.describe.mechanism.ratio_interval` and `mean_interval` for what it guarantees.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from flou.describe.mechanism.mean_interval import bound_mean
from flou.describe.mechanism.mechanism import Mechanism
from flou.describe.mechanism.ratio_interval import Relation, bound_ratios
from flou.describe.table.dimension import Dimension
from flou.describe.table.find import find_nodes, place_of
from flou.describe.table.roll_up import Digits
from flou.describe.table.table import Table
from flou.engine import native
from flou.engine.errors import DataError, ParameterError, did_you_mean, listed
from flou.engine.values import text_of

#: What stands beside the labels: the ends of the interval, and the bounds that are certain.
_ENDS = ("low", "high", "least", "most")


@dataclass(frozen=True)
class Estimate:
    """A figure from published counts: its value, the confidence interval, and the bounds that are certain."""

    value: float
    low: float
    high: float
    least: float
    most: float
    level: float = 0.95


def estimate_ratio(
    table: Table, of: Mapping[str, object], over: Mapping[str, object], *, level: float, mechanism: Mechanism | None
) -> Estimate:
    """The ratio of two cells, each given by its labels; columns that are not named are totals."""
    seen, known = _shown(table, mechanism, level)
    nodes = [find_nodes(seen, labels) for labels in (of, over)]
    figures = [_figure(seen, node) for node in nodes]
    bounds = bound_ratios(known, [figures[0]], [figures[1]], _relation(seen, *nodes), level)[0]
    low, high, least, most = (float(bound) for bound in bounds)
    return Estimate(_divided(figures[0], figures[1], most), low, high, least, most, level)


def ratios_within(table: Table, dim: str, *, level: float, mechanism: Mechanism | None) -> Any:
    """The share of each category of a dimension in the cell above it, line by line."""
    seen, known = _shown(table, mechanism, level)
    number = _dimension(seen, dim)
    held, codes = seen.dims[number], seen.cells.codes
    chosen = np.flatnonzero(codes[:, number] > 0)
    above = codes[chosen].copy()
    above[:, number] = held.parents[above[:, number]]
    digits = Digits(tuple(d.n_nodes for d in seen.dims))
    packed, wanted = digits.pack(list(codes.T)), digits.pack(list(above.T))
    place = np.minimum(np.searchsorted(packed, wanted), len(packed) - 1)
    found = packed[place] == wanted
    for depth in np.unique(held.depths[above[~found, number]]):
        _require_level(held, codes[:, number], int(depth))
    _require_listed(seen, int((~found).sum()))
    counts = _counts(seen)
    first, second = counts[chosen], np.where(found, counts[place], 0)
    bounds = bound_ratios(known, first.tolist(), second.tolist(), "part", level)
    values = [_divided(int(a), int(b), most) for a, b, most in zip(first, second, bounds[:, 3], strict=True)]
    figures = {"count": first, "ratio": values, **dict(zip(_ENDS, bounds.T, strict=True))}
    return _framed(table, seen.labels()[chosen], figures)


def means_over(
    table: Table, dim: str, scores: Mapping[Any, float] | None, *, level: float, mechanism: Mechanism | None
) -> Any:
    """The mean score of the finest categories of a dimension, for each cell of the others."""
    seen, known = _shown(table, mechanism, level)
    number = _dimension(seen, dim)
    held, codes = seen.dims[number], seen.cells.codes
    if held.n_zonings > 1:
        raise DataError(f"The dimension {held.name!r} has zonings side by side: make a table for one of them.")
    # a category whose parts are all left out of what is shown is none of the finest
    finest = held.reaches == len(held.columns)
    nodes = np.flatnonzero(finest)
    inner = np.flatnonzero(finest[codes[:, number]])
    if not len(inner):
        raise DataError(f"The table shows no cell of the finest level of {held.name!r}, of which the mean is made.")
    scored = np.array(_scores(held, nodes, scores), dtype=np.float64)
    others = codes[inner].copy()
    others[:, number] = 0
    cells, group = np.unique(others, axis=0, return_inverse=True)
    _require_listed(seen, len(cells) * len(nodes) - len(inner))
    shown = np.zeros((len(cells), len(nodes)), dtype=np.int64)
    shown[group.reshape(-1), np.searchsorted(nodes, codes[inner, number])] = _counts(seen)[inner]
    bounds = np.array([bound_mean(known, line, scored, level) for line in shown])
    with np.errstate(invalid="ignore", divide="ignore"):
        values = shown @ scored / shown.sum(axis=1)
    labels = [d.labels[c].gather(cells[:, j].astype(np.uint32))
              for j, d in enumerate(seen.dims) if j != number for c in d.columns]  # fmt: skip
    figures = {"count": shown.sum(axis=1), "mean": values, **dict(zip(_ENDS, bounds.T, strict=True))}
    return _framed(table, pl.DataFrame(labels), figures)


def _shown(table: Table, mechanism: Mechanism | None, level: float) -> tuple[Table, Mechanism]:
    """What everybody sees of the table, and the mechanism behind it."""
    if isinstance(level, bool) or not isinstance(level, int | float) or not 0.5 <= level < 1:
        raise ParameterError(f"level = {level!r} must be a probability from 0.5 to below 1, such as 0.95.")
    n_hidden = int((table.status == "suppressed").sum())
    if n_hidden:
        raise DataError(
            f"The table withholds {n_hidden:,} of its cells: ratios and means would need them, or tell of them. "
            "Compute them from cells that are shown, to_frame()."
        )
    if table.published is not None and not table.published.counted:
        raise DataError("The table publishes sums and no counts: ratios and means here are of counts.")
    known = table.mechanism if mechanism is None else mechanism
    if not isinstance(known, Mechanism):
        raise DataError(
            "Nothing is known of how the figures of the table were made, so there is no interval. Of a table that was "
            "read from a file, give the mechanism that its office describes: mechanism=flou.TransitionMatrix(D=…, "
            "V=…). Weighted estimates and margins that were made to add up have none."
        )
    seen = table.public()
    if seen.published_counts.dtype.kind not in "iu":
        raise DataError("The table shows estimates or withholds cells: intervals are for whole published counts.")
    return seen, known


def _counts(table: Table) -> NDArray[np.int64]:
    counts: NDArray[np.int64] = table.published_counts.astype(np.int64)
    return counts


def _figure(table: Table, nodes: list[int]) -> int:
    place = place_of(table, nodes)
    _require_listed(table, int(place is None))
    return 0 if place is None else int(table.published_counts[place])


def _require_listed(table: Table, n_missing: int) -> None:
    if n_missing and table.unlisted == "unknown":
        raise DataError(
            f"{n_missing:,} of the cells that are needed are not listed, and nothing is known of them. If they are "
            'empty, say so: Table.from_published(…, cells="occupied").'
        )


def _relation(table: Table, first: list[int], second: list[int]) -> Relation:
    """Whether one cell is part of the other: in every dimension at it or below it."""
    if all(_is_within(dim, a, b) for dim, a, b in zip(table.dims, first, second, strict=True)):
        return "part"
    if all(_is_within(dim, b, a) for dim, a, b in zip(table.dims, first, second, strict=True)):
        return "whole"
    return "apart"


def _is_within(dim: Dimension, node: int, other: int) -> bool:
    while node > 0 and node != other:
        node = int(dim.parents[node])
    return node == other


def _divided(first: int, second: int, most: float) -> float:
    """The ratio of two figures, no larger than it can be."""
    return float(np.fmin(first / second, most)) if second else float("nan")


def _dimension(table: Table, name: str) -> int:
    for number, dim in enumerate(table.dims):
        if name == dim.name or name in dim.columns:
            return number
    known = [dim.name for dim in table.dims]
    raise ParameterError(f"The table has no dimension {name!r}.{did_you_mean(str(name), known)}")


def _require_level(dim: Dimension, codes: NDArray[np.int32], depth: int) -> None:
    if not (dim.depths[codes] == depth).any():
        raise DataError(
            f"The table was made without a level of {dim.name!r} that is needed: tabulate with margins=True."
        )


def _scores(dim: Dimension, nodes: NDArray[np.intp], scores: Mapping[Any, float] | None) -> list[float]:
    labels = [dim.category(int(node)) for node in nodes]
    if scores is None:
        wrong = [label for label in labels if not _is_number(label)]
        if wrong:
            raise ParameterError(
                f"The categories of {dim.name!r} are no numbers, such as {listed(wrong, 3)}: give each a score, "
                f"scores={{{wrong[0]!r}: 1.0, …}}."
            )
        return [float(label) for label in labels]
    by_text = {text_of(label): score for label, score in scores.items()}
    missing = [label for label in labels if label not in by_text]
    if missing:
        raise ParameterError(f"scores has none for {listed(missing)} of {dim.name!r}.")
    found = [by_text[label] for label in labels]
    if not all(isinstance(s, int | float) and np.isfinite(s) for s in found):
        raise ParameterError("scores must be finite numbers.")
    return [float(s) for s in found]


def _is_number(label: str) -> bool:
    try:
        return bool(np.isfinite(float(label)))
    except ValueError:
        return False


def _framed(table: Table, labels: pl.DataFrame, figures: Mapping[str, Any]) -> Any:
    taken = [c for c in labels.columns if c in figures]
    if taken:
        raise DataError(f"A dimension is called {listed(taken)}, as a figure of the result is. Name it otherwise.")
    shown = pl.DataFrame([pl.Series(name, np.asarray(held), nan_to_null=True) for name, held in figures.items()])
    return native.like(pl.concat([labels, shown], how="horizontal"), table.native_kind)
