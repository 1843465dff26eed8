"""The covariates of a regression as arrays: numbers standardised, categories as codes, collinearity refused.

A category stays one code a record instead of a column of zeros and ones for each level, so that a
department with 96 levels costs no more than a number. A missing number is its column's mean and sets an
indicator; a missing category is a level of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from flou.describe.microdata import Microdata
from flou.engine.errors import DataError
from flou.engine.values import codes_in

Floats = NDArray[np.float64]

#: A direction of the design with less than this share of its variance cannot be told from the others.
_SINGULAR = 1e-9


@dataclass(frozen=True)
class Design:
    """Covariates of all records."""

    numbers: Floats
    codes: NDArray[np.int32]
    #: Levels of each category besides the reference.
    n_levels: NDArray[np.int64]
    #: Which covariate each coefficient after the constant belongs to.
    owners: tuple[str, ...]

    def predict(self, coefficients: Floats) -> Floats:
        """x'γ of each record."""
        found = coefficients[0] + self.numbers @ coefficients[1 : 1 + self.numbers.shape[1]]
        start = 1 + self.numbers.shape[1]
        for j, n in enumerate(self.n_levels):
            effects = np.append(coefficients[start : start + n], 0.0)  # code -1 takes the last: the reference
            found = found + effects[self.codes[:, j]]
            start += int(n)
        return np.asarray(found, dtype=np.float64)


def is_category(column: pl.Series) -> bool:
    """Whether a covariate enters by its levels: texts, booleans, and whole numbers with few values."""
    if column.dtype.is_numeric() or column.dtype.is_temporal():
        return column.dtype.is_integer() and column.n_unique() <= 12
    return True


def without_codes(data: Microdata, covariates: pl.DataFrame) -> pl.DataFrame:
    """The columns with null where a number means "not applicable"; for a category such a code is a level."""
    types = data.frame.collect_schema()
    numeric = [c for c in data.schema.not_applicable if c in covariates.columns and not is_category(covariates[c])]
    codes = {c: codes_in(types[c], data.schema.not_applicable[c]) for c in numeric}
    return covariates.with_columns(pl.when(~pl.col(c).is_in(held)).then(pl.col(c)) for c, held in codes.items() if held)


def build_design(covariates: pl.DataFrame, n: int) -> Design:
    """The design of some columns of n records; collinear ones are refused by name."""
    numbers: list[Floats] = []
    codes: list[NDArray[np.int32]] = []
    owners_numbers: list[str] = []
    owners_codes: list[str] = []
    n_levels: list[int] = []
    for column in covariates:
        if is_category(column):
            coded = _coded(column)
            m = int(coded.max(initial=-1)) + 1
            if m == 0:
                raise _one_value(column)
            codes.append(coded)
            n_levels.append(m)
            owners_codes += [column.name] * m
        else:
            added = _standardised(column)
            numbers += added
            owners_numbers += [column.name] * len(added)
    design = Design(
        numbers=np.column_stack(numbers) if numbers else np.zeros((n, 0)),
        codes=np.column_stack(codes) if codes else np.zeros((n, 0), dtype=np.int32),
        n_levels=np.array(n_levels, dtype=np.int64),
        owners=(*owners_numbers, *owners_codes),
    )
    clash = collinear(design)
    if clash:
        raise DataError(
            f"The covariates {', '.join(clash)} are collinear: each is determined by the others. Leave out one of them."
        )
    return design


def _one_value(column: pl.Series) -> DataError:
    return DataError(f"The covariate {column.name!r} has one value alone, which explains nothing: leave it out.")


def _coded(column: pl.Series) -> NDArray[np.int32]:
    """Levels as codes, the most frequent one -1 (the first in order where two are), the others from 0."""
    counts = column.value_counts(name="__flou_n").sort(
        ["__flou_n", column.name], descending=[True, False], nulls_last=True
    )
    levels = counts.with_columns(pl.Series("__flou_code", np.arange(-1, counts.height - 1), dtype=pl.Int32))
    found = column.to_frame().join(levels, on=column.name, how="left", nulls_equal=True, maintain_order="left")
    return found["__flou_code"].to_numpy()


def _standardised(column: pl.Series) -> list[Floats]:
    values = as_numbers(column)
    missing = np.isnan(values)
    known = values[~missing]
    spread = float(known.std()) if known.size else 0.0
    if not spread > 0:
        raise _one_value(column)
    out = [np.where(missing, 0.0, (values - known.mean()) / spread)]
    return [*out, missing.astype(np.float64)] if missing.any() else out


def as_numbers(column: pl.Series) -> Floats:
    """Numbers, or dates as days; NaN where there is none."""
    if column.dtype.is_temporal():
        column = column.cast(pl.Date).cast(pl.Int32)
    return column.cast(pl.Float64).fill_null(float("nan")).to_numpy()


def gram(design: Design) -> Floats:
    """Cross products of the covariates (constant first): X'X without writing X."""
    n, q = design.numbers.shape
    size = 1 + q + int(design.n_levels.sum())
    out = np.zeros((size, size))
    full = np.column_stack([np.ones(n), design.numbers])
    out[: 1 + q, : 1 + q] = full.T @ full
    starts = 1 + q + np.concatenate([[0], np.cumsum(design.n_levels)]).astype(np.int64)
    for j in range(len(design.n_levels)):
        held = design.codes[:, j] >= 0
        own, m = design.codes[held, j], int(design.n_levels[j])
        rows = slice(int(starts[j]), int(starts[j + 1]))
        for c in range(1 + q):
            out[rows, c] = np.bincount(own, weights=full[held, c], minlength=m)
        for k in range(j + 1):
            other, width = design.codes[held, k], int(design.n_levels[k]) + 1
            table = np.bincount(own * width + other + 1, minlength=m * width).reshape(m, width)
            out[rows, int(starts[k]) : int(starts[k + 1])] = table[:, 1:]
    return np.tril(out) + np.tril(out, -1).T


def collinear(design: Design) -> list[str]:
    """The covariates that take part in an exact linear relation; none where the design is regular."""
    products = gram(design)
    n = products[0, 0]
    if n == 0:
        return []
    means = products[0, 1:] / n
    centred = products[1:, 1:] / n - np.outer(means, means)
    scale = np.sqrt(np.maximum(np.diag(centred), 1e-300))
    values, vectors = np.linalg.eigh(centred / np.outer(scale, scale))
    null = vectors[:, values < _SINGULAR]
    involved = np.abs(null).max(axis=1, initial=0.0) > 1e-6
    return list(dict.fromkeys(name for name, taken in zip(design.owners, involved, strict=True) if taken))


def explained(target: Floats, candidate: pl.Series) -> float:
    """The share of a target's variance that one column explains: r², or the correlation ratio of a category."""
    total = float(target.var())
    if total <= 0:
        return 0.0
    if is_category(candidate):
        codes = _coded(candidate) + 1
        sizes = np.bincount(codes)
        means = np.bincount(codes, weights=target) / np.maximum(sizes, 1)
        return float((sizes * (means - target.mean()) ** 2).sum() / (len(target) * total))
    values = as_numbers(candidate)
    known = ~np.isnan(values)
    if known.sum() < 3 or values[known].std() == 0:
        return 0.0
    return float(np.corrcoef(values[known], target[known])[0, 1] ** 2)


def determined(candidate: pl.Series, chosen: Sequence[pl.Series]) -> float:
    """How far a column is given by others: the largest share of its variance that the chosen ones explain, together."""
    if not chosen:
        return 0.0
    design = build_design(pl.DataFrame(list(chosen)), len(candidate))
    full = np.column_stack([np.ones(len(candidate)), design.numbers, *_indicators(design)])
    q, _ = np.linalg.qr(full)
    targets = [values for values in _targets(candidate) if values.std() > 0]
    shares = [1.0 - float(np.square(t - q @ (q.T @ t)).sum() / np.square(t - t.mean()).sum()) for t in targets]
    return max(shares, default=0.0)


def _indicators(design: Design) -> list[Floats]:
    return [(design.codes[:, [j]] == np.arange(n)).astype(np.float64) for j, n in enumerate(design.n_levels)]


def _targets(candidate: pl.Series) -> list[Floats]:
    """The columns that a candidate would add to a design."""
    if is_category(candidate):
        codes = _coded(candidate)
        return [(codes == level).astype(np.float64) for level in range(-1, int(codes.max(initial=-1)) + 1)]
    return _standardised(candidate)
