"""Links between columns in both files: correlations, Cramér's V and correlation ratios.

Two numbers are linked by Pearson's correlation, two categories by Cramér's V (1946), a category and a number by the
correlation ratio η (the root of the share of variance between categories). Perturbing columns one by one keeps each of
them and loses the links; this is where it shows (Hundepool et al. 2012).

Each pair is measured on the records that have both values, with each file's own weights. A constant column is linked
to nothing: its links count as 0. Links that are not of these kinds (a bent curve, three columns at once) are not seen.
"""

from __future__ import annotations

from itertools import combinations
from typing import Any, ClassVar

import numpy as np
import polars as pl
from pydantic import Field

from flou.describe.microdata import Microdata
from flou.engine.comparison import ComparisonResult, Detail, Shown
from flou.engine.errors import DataError
from flou.engine.figure import Figure
from flou.engine.note import Note
from flou.engine.owners import Owners
from flou.engine.parameters import Columns
from flou.engine.utility import Utility
from flou.utility.micro.associations import Category, Number, correlation_ratio, cramers_v, pearson
from flou.utility.micro.links_chart import links_chart
from flou.utility.micro.two_files import (
    Floats,
    TwoFiles,
    column_kinds,
    read_files,
    recoded_columns,
    require_comparable,
    weight_notes,
)

#: A category with more values is linked to everything by chance.
MOST_VALUES = 200
_SCHEMA = {
    "column": pl.String, "other": pl.String, "kind": pl.String, "records_original": pl.Int64,
    "records_released": pl.Int64, "original": pl.Float64, "released": pl.Float64, "change": pl.Float64,
}  # fmt: skip


class Correlations(Utility):
    """Correlations, Cramér's V and correlation ratios between columns in both files.

    Reference: Cramér (1946) for V; Hundepool et al. (2012) for the comparison.
    Result: `.value` the largest change of a link, `.pairs` one line a pair of columns.
    """

    reference: ClassVar[str] = "cramer1946"
    title: ClassVar[str] = "links between columns"
    audience = "public"
    headline: ClassVar[Figure] = Figure(
        "value", "largest change of a link between two columns", "number", "either", "public"
    )
    figures: ClassVar[tuple[Figure, ...]] = (
        Figure.public("mean_change", "mean change of a link, in size", "number"),
        Figure.public("n_pairs", "pairs of columns", "number"),
        Figure.public("n_columns", "columns compared", "number"),
    )
    allows_several_rows: ClassVar[bool] = True

    columns: Columns | None = Field(None, description="columns to compare; default: all that both files publish")

    def _compare(self, original: Microdata, released: Microdata, owners: Owners) -> ComparisonResult:
        kinds = column_kinds(original, released)
        chosen = tuple(kinds)
        notes: list[Note] = []
        if self.columns is not None:
            require_comparable(original, released, self.columns, "columns", kinds)
            chosen = self.columns
        else:
            skipped = recoded_columns(original, released, kinds)
            notes += [Note("{column} was recoded and is not compared", {"column": c}) for c in skipped]
        if len(chosen) < 2:
            raise _too_few()
        files = read_files(original, released, chosen, kinds)
        if self.columns is None:
            many = [c for c in chosen if kinds[c] == "category" and files.n_values(c) > MOST_VALUES]
            notes += [Note("{column} has too many values to be compared one by one", {"column": c}) for c in many]
            chosen = tuple(c for c in chosen if c not in many)
        if len(chosen) < 2:
            raise _too_few()
        lines = pair_lines(files, chosen)
        if not lines:
            raise DataError("Every column has one value only, in both files: there is no link to compare.")
        frame = pl.DataFrame(lines, schema=_SCHEMA, orient="row")
        changes = frame["change"].abs()
        worst = frame.row(int(changes.arg_max() or 0), named=True)
        if abs(worst["change"]) > 0:
            notes.insert(0, Note("the link between {column} and {other} changes most", _names(worst)))
        return self._result(
            original,
            owners,
            value=float(changes.max()),  # type: ignore[arg-type]
            figures={
                "mean_change": float(changes.mean()),  # type: ignore[arg-type]
                "n_pairs": frame.height,
                "n_columns": len(chosen),
            },
            notes=(*weight_notes(original, released), *notes),
            details={
                "pairs": Detail(
                    "Links between columns",
                    frame,
                    _PAIRS,
                    "change",
                    counts=("records_original", "records_released"),
                    brief=("column", "other", "kind", "original", "released", "change"),
                )
            },
            chart=links_chart,
        )


def _too_few() -> DataError:
    return DataError("Links need two columns that can be compared, and there are fewer: name them in columns.")


def _names(line: dict[str, Any]) -> dict[str, object]:
    return {"column": line["column"], "other": line["other"]}


_PAIRS = (
    Shown("column", "column", "column"),
    Shown("other", "and", "column"),
    Shown("kind", "link", "text"),
    Shown("original", "original", "number"),
    Shown("released", "release", "number"),
    Shown("change", "change", "change"),
)


def pair_lines(files: TwoFiles, columns: tuple[str, ...]) -> list[dict[str, Any]]:
    """One line a pair of columns that is linked in either file."""
    numbers = [c for c in columns if files.kinds[c] != "category"]
    categories = [c for c in columns if c not in numbers]
    held = [np.stack([files.numbers(c)[i] for c in numbers]) if numbers else np.empty((0, 0)) for i in (0, 1)]
    weights = [side.weights for side in files.sides]
    found: dict[tuple[str, str], tuple[str, list[tuple[float, int]]]] = {}
    if len(numbers) > 1:
        linear = [pearson(x, w) for x, w in zip(held, weights, strict=True)]
        for (i, a), (j, b) in combinations(enumerate(numbers), 2):
            found[a, b] = ("correlation", [(float(r[i, j]), int(n[i, j])) for r, n in linear])
    sides = [_ready(files, s, held[s], categories) for s in (0, 1)]
    for k, a in enumerate(categories):
        for i, b in enumerate(numbers):
            found[a, b] = ("correlation ratio", [correlation_ratio(c[a], n[i]) for c, n in sides])
        for b in categories[k + 1 :]:
            both = [cramers_v(c[a], c[b], w) for (c, _), w in zip(sides, weights, strict=True)]
            found[a, b] = ("Cramér's V", both)
    return [line for (a, b), (kind, both) in found.items() for line in (_line(a, b, kind, both),) if line is not None]


def _ready(files: TwoFiles, which: int, held: Floats, names: list[str]) -> tuple[dict[str, Category], list[Number]]:
    """The categories and numbers of one file, each made ready once for all of its pairs."""
    weights = files.sides[which].weights
    categories = {}
    for name in names:
        codes = files.categories(name)
        n = sum(level is not None for level in codes.levels)
        categories[name] = Category.of((codes.original, codes.released)[which], n, weights)
    return categories, [Number.of(x, weights) for x in held] if names else []


def _line(a: str, b: str, kind: str, both: list[tuple[float, int]]) -> dict[str, Any] | None:
    (first, n_first), (second, n_second) = both
    if np.isnan(first) and np.isnan(second):
        return None
    first, second = (0.0 if np.isnan(x) else float(x) for x in (first, second))
    # sums in another order differ in their last digits
    change = 0.0 if abs(second - first) < 1e-9 else second - first
    return {
        "column": a, "other": b, "kind": kind, "records_original": n_first, "records_released": n_second,
        "original": first, "released": second, "change": change,
    }  # fmt: skip
