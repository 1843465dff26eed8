"""Comparisons of counts, published against true: what they share.

Each of them scores a pair (true count, published count), such as |Z| with Z = X' - X (Jamme 2025, 2.4). On a protected
table the scores of its cells are observed; from the mechanism alone they are expected, E score = Σ_j p_ij score(i, j),
so that parameters can be compared before anything is published. Both are given over the whole table, zero cells
included, and for large counts alone, where a mechanism no longer depends on the count. They speak of single cells: that
a table no longer adds up, or that a ranking turned, is not seen.
"""

from __future__ import annotations

from functools import partial
from typing import Any, ClassVar, Literal

import numpy as np
import polars as pl

from flou.describe.count_frequencies import CountFrequencies
from flou.describe.mechanism.mechanism import Mechanism
from flou.describe.table.table_set import tables_of
from flou.engine import native
from flou.engine.comparison import ComparisonResult, Detail, Kind, Shown
from flou.engine.data import data_kind
from flou.engine.errors import DataError, ParameterError
from flou.engine.figure import Figure, FigureValue, Unit
from flou.engine.note import Note
from flou.engine.utility import Utility
from flou.engine.words import Words
from flou.utility.table.cells import Cells, Floats, Integers, pair_cells
from flou.utility.table.sizes import SIZES, class_of, class_text
from flou.utility.table.sizes_chart import by_size

#: Chances that are looked at together.
_MOST_CHANCES = 2_000_000


def count_figures(unit: Unit) -> tuple[Figure, ...]:
    """The figures of a comparison of counts. What was observed counts true cells: the public reads what is expected."""
    return (
        Figure.public("expected", "the same as the mechanism leads one to expect", unit),
        Figure.public("large", "the same for large counts, expected", unit),
        Figure("n_cells", "cells compared"),
        Figure("n_withheld", "cells withheld"),
    )


class CountUtility(Utility):
    """Shared by the comparisons of counts. A subclass scores pairs of counts and says how scores are put together."""

    takes = ("table", "table set", "mechanism")
    #: Whether a large value is good (a share of close counts) or bad (a deviation).
    better: ClassVar[Literal["high", "low"]] = "low"
    #: What a withheld cell scores; None leaves it out.
    withheld: ClassVar[float | None] = None

    def compare(self, original: Any, release: Any) -> ComparisonResult:
        """Compare a protected table, or set of tables, with the one that it was made from."""
        truth, released = self._accept(original), self._accept(release)
        if "mechanism" in (data_kind(truth), data_kind(released)):
            raise ParameterError(
                f"{type(self).__name__}.compare takes two tables; for a mechanism use .expect(mechanism, counts=frame)."
            )
        if any(t.published is not None for t in tables_of(truth)):
            raise ParameterError(
                f"{type(self).__name__}.compare takes the table as it was made first, then its release; the first one "
                "is protected."
            )
        with native.engine_errors():
            return self._observed(released, pair_cells(tables_of(truth), tables_of(released)))

    def expect(self, mechanism: Any, *, counts: Any = None) -> ComparisonResult:
        """What a mechanism is expected to do to a table with these counts; without counts, to large counts alone."""
        if data_kind(mechanism) != "mechanism":
            raise ParameterError(
                f"{type(self).__name__}.expect takes a mechanism, such as flou.TransitionMatrix(D=10, V=5); for tables "
                "use .compare(original, release)."
            )
        frequencies = None if counts is None else CountFrequencies.of_frame(counts)
        large = self._large(mechanism)
        if frequencies is None:
            return self._built(None, "polars", self._required(large), {}, None, (
                Note("without counts the figure is for large counts, from {first} on", {"first": mechanism.last}),
            ))  # fmt: skip
        expected = self._expected(mechanism, frequencies.counts)
        value = self._join(expected, frequencies.counts, frequencies.cells.astype(np.float64))
        compared = int(frequencies.cells[~np.isnan(expected)].sum())
        figures: dict[str, FigureValue] = {"large": large, "n_cells": compared}
        lines = self._by_size(frequencies.counts, frequencies.cells.astype(np.float64), None, expected)
        return self._built(None, "polars", value, figures, lines, ())

    def axis_title(self, words: Words) -> str:
        """What a chart calls the figure."""
        return words(self.headline.label)

    # what a subclass says

    def _score(self, true: Integers, published: Floats) -> Floats:
        """The score of each pair; NaN where it has none, such as a deviation relative to 0."""
        raise NotImplementedError

    def _join(self, scores: Floats, true: Integers, weights: Floats) -> float:
        """One figure of many scores: their mean."""
        held = ~np.isnan(scores) & (weights > 0)
        if not held.any():
            raise DataError(f"{type(self).__name__}: no cell of the table has a figure that could be compared.")
        return float(np.average(scores[held], weights=weights[held]))

    def _join_cells(self, cells: Cells, scores: Floats) -> float:
        """The observed figure of a table."""
        return self._join(scores, cells.true, cells.weight)

    def _large(self, mechanism: Mechanism) -> float | None:
        """The expected figure of large counts, where it does not depend on the count."""
        return float(self._expected(mechanism, mechanism.large_counts).mean())

    # how results are made

    def _expected(self, mechanism: Mechanism, counts: Integers) -> Floats:
        """Σ_j p_ij score(i, j) of each true count i."""
        deviations = np.arange(-mechanism.reach, mechanism.reach + 1, dtype=np.int64)
        at_once = max(1, _MOST_CHANCES // len(deviations))
        found = np.zeros(len(counts))
        for start in range(0, len(counts), at_once):
            some = counts[start : start + at_once]
            chances = mechanism.rows(mechanism.row_of(some))
            # no count is published below zero: those chances are 0
            published = np.maximum(some[:, None] + deviations, 0).astype(np.float64)
            scores = self._score(np.repeat(some, len(deviations)), published.ravel()).reshape(chances.shape)
            found[start : start + at_once] = np.where(chances > 0, chances * scores, 0.0).sum(axis=1)
        return found

    def _observed(self, released: Any, cells: Cells) -> ComparisonResult:
        hidden = cells.withheld
        scores = self._score(cells.true, cells.published)
        scores[hidden] = np.nan if self.withheld is None else self.withheld
        figures: dict[str, FigureValue] = {}
        expected = None
        if cells.mechanism is not None:
            counts, place = np.unique(cells.true, return_inverse=True)
            expected = self._expected(cells.mechanism, counts)
            n_each: Floats = np.bincount(place, cells.weight).astype(np.float64)
            joined = self._join(expected, counts, n_each)
            figures = {"expected": joined, "large": self._large(cells.mechanism)}
            expected = expected[place]
        figures["n_cells"] = int(cells.weight[~np.isnan(scores)].sum())
        notes = []
        if hidden.any():
            figures["n_withheld"] = int(hidden.sum())
            lost = self.withheld is not None
            text = "{n} cells are withheld and count as lost" if lost else "{n} cells are withheld and left out"
            notes.append(Note(text, {"n": int(hidden.sum())}))
        lines = self._by_size(cells.true, cells.weight, scores, expected)
        value = self._join_cells(cells, scores)
        return self._built(released, tables_of(released)[0].native_kind, value, figures, lines, tuple(notes))

    def _by_size(self, true: Integers, cells: Floats, observed: Floats | None, expected: Floats | None) -> pl.DataFrame:
        """Mean scores by class of true count."""
        sizes = self.size_classes
        place = class_of(true, sizes)
        columns: dict[str, list[Any]] = {"size": [], "first": [], "cells": [], "observed": [], "expected": []}
        for number in np.unique(place[cells > 0]).tolist():
            inside = place == number
            columns["size"].append(class_text(number, sizes))
            columns["first"].append(sizes[number])
            columns["cells"].append(int(cells[inside].sum()))
            for name, scores in (("observed", observed), ("expected", expected)):
                columns[name].append(None if scores is None else _mean(scores[inside], cells[inside]))
        whole, real = pl.Int64, pl.Float64
        schema = {"size": pl.String, "first": whole, "cells": whole, "observed": real, "expected": real}
        return pl.DataFrame(columns, schema=schema)

    @property
    def size_classes(self) -> tuple[int, ...]:
        """Where classes of counts begin."""
        return SIZES

    def _required(self, large: float | None) -> float:
        if large is None:
            raise ParameterError(
                f"{type(self).__name__} depends on the counts of the table: give counts=frame with columns i and N."
            )
        return large

    def _built(
        self,
        data: Any,
        kind: native.Kind,
        value: float,
        figures: dict[str, FigureValue],
        lines: pl.DataFrame | None,
        notes: tuple[Note, ...],
    ) -> ComparisonResult:
        tables = () if data is None else tables_of(data)
        known = {k: v for k, v in figures.items() if v is not None}
        number: Kind = "share" if self.headline.unit == "share" else "number"
        details = {}
        if lines is not None:
            columns = (
                Shown("size", "true count", "range"),
                Shown("cells", "cells", "count"),
                Shown("observed", "observed", number),
                Shown("expected", "expected", number),
            )
            filled = tuple(c for c in columns if lines[c.name].null_count() < lines.height)
            details["by_size"] = Detail(
                "By size of the true count", lines, filled, "first", smallest_first=True, counts=("cells",)
            )
        return ComparisonResult(
            method=self.name(),
            title=self.title,
            settings=self.shown_settings(),
            **self.described({"value": value, "figures": known}),
            notes=notes,
            measured_on="release" if tables and all(t.released for t in tables) else "original",
            test_only=any(t.marks.test_only for t in tables),
            no_interval="every cell is compared: nothing is estimated",
            data=data,
            schema=None,
            details=details,
            chart=partial(by_size, self) if details else None,
            native_kind=kind,
        )


def _mean(scores: Floats, weights: Floats) -> float | None:
    held = ~np.isnan(scores) & (weights > 0)
    return float(np.average(scores[held], weights=weights[held])) if held.any() else None
