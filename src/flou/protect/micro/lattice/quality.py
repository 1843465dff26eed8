"""What a node of the lattice costs: measures of quality, lower is better, defined as ARX defines them.

- `loss`: for each key the share of its hierarchy's leaves that a value stands for, a suppressed record standing
  for all, on a scale from 0 (nothing done) to 1; the geometric mean over the keys (`mean_loss`: the arithmetic).
- `precision`: the mean of level over height, a suppressed record at the top (1 - Prec of Sweeney 2002).
- `discernibility`: the sum of squared class sizes, a suppressed record as alike to everybody.
- `average_class_size`: records by classes, the suppressed ones being one class.
- `non_uniform_entropy`: bits that are needed to say which value was behind each shown one.

Every measure gives a floor for nodes that nobody has looked at, from their levels and the number of records
that must be suppressed at least: what the search prunes by.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from flou.engine.errors import ParameterError
from flou.protect.micro.lattice import kernels
from flou.protect.micro.lattice.problem import Classes, Levels, Problem

Floats = NDArray[np.float64]
QualityName = Literal["loss", "mean_loss", "precision", "discernibility", "average_class_size", "non_uniform_entropy"]
#: What each is called beside its figure.
QUALITY_LABELS: dict[str, str] = {
    "loss": "loss",
    "mean_loss": "mean loss",
    "precision": "loss of precision",
    "discernibility": "discernibility",
    "average_class_size": "average class size",
    "non_uniform_entropy": "non-uniform entropy",
}
NAMES = tuple(QUALITY_LABELS)


@dataclass(frozen=True)
class Tally:
    """What the classes of a node add up to; arrays where several numbers of suppressed records are looked at."""

    n_suppressed: Any
    n_classes: Any
    squares: Any
    #: Leaves that shown values stand for, one figure a key.
    shown: Any
    classes: Classes | None = None
    failing: NDArray[np.bool_] | None = None


@dataclass(frozen=True)
class NodeView:
    """What a quality measure of the user's own is shown of a node."""

    levels: Mapping[str, int]
    n_records: int
    n_suppressed: int
    #: Sizes of the classes that are shown.
    class_sizes: NDArray[np.int64]
    loss: float


class Quality:
    """A measure on one problem; `weights` says what each key counts for."""

    #: Whether a score follows from class sizes alone, so that many k are answered at once.
    by_size = True

    def __init__(self, problem: Problem, weights: Floats, min_size: int) -> None:
        self.problem, self.weights, self.min_size = problem, weights, max(min_size, 1)

    def of(self, problem: Problem) -> Quality:
        """The same measure on another problem."""
        return type(self)(problem, self.weights, self.min_size)

    def floor(self, levels: NDArray[np.int64], n_low: NDArray[np.int64]) -> Floats:
        """The least that nodes can cost when at least `n_low` of their records are suppressed."""
        raise NotImplementedError

    def score(self, levels: Levels, tally: Tally) -> Any:
        raise NotImplementedError


class _Loss(Quality):
    def __init__(self, problem: Problem, weights: Floats, min_size: int) -> None:
        super().__init__(problem, weights, min_size)
        top = max(problem.heights) + 1
        self._columns = np.arange(len(problem.ladders))
        # what can be lost at most; a hierarchy of one leaf has nothing to lose
        self._room = np.maximum(problem.n_records * (problem.domains - 1.0), 1.0)
        # by column and level: leaves shown when nobody is suppressed, and the least that one suppressed record adds
        self._shown, self._least = np.zeros((len(problem.ladders), top)), np.zeros((len(problem.ladders), top))
        for j, ladder in enumerate(problem.ladders):
            of_value = np.bincount(problem.codes[j], problem.counts, len(ladder.values))
            for level in range(ladder.height + 1):
                leaves = ladder.leaves_of_values(level)
                self._shown[j, level] = of_value @ leaves
                self._least[j, level] = ladder.domain - leaves.max()

    def floor(self, levels: NDArray[np.int64], n_low: NDArray[np.int64]) -> Floats:
        leaves = self._shown[self._columns, levels] + n_low[:, None] * self._least[self._columns, levels]
        return np.asarray(self._joined(leaves))

    def score(self, levels: Levels, tally: Tally) -> Any:
        return self._joined(tally.shown + np.multiply.outer(tally.n_suppressed, self.problem.domains))

    def _joined(self, leaves: Any) -> Any:
        n = self.problem.n_records
        return self._mean(np.minimum(np.maximum((leaves - n) / self._room, 0.0), 1.0) * self.weights)

    def _mean(self, loss: Floats) -> Any:
        return np.expm1(np.log1p(loss).sum(axis=-1) / loss.shape[-1])


class _MeanLoss(_Loss):
    def _mean(self, loss: Floats) -> Any:
        return loss.sum(axis=-1) / loss.shape[-1]


class _Precision(Quality):
    def floor(self, levels: NDArray[np.int64], n_low: NDArray[np.int64]) -> Floats:
        n, d = self.problem.n_records, len(self.problem.ladders)
        height = np.asarray(levels / np.array(self.problem.heights)) @ self.weights
        found: Floats = ((n - n_low) * height + n_low * self.weights.sum()) / (n * d)
        return found

    def score(self, levels: Levels, tally: Tally) -> Any:
        n_suppressed = np.asarray(tally.n_suppressed)
        return self.floor(np.array([levels]), n_suppressed)[0] if n_suppressed.ndim == 0 else self.floor(
            np.broadcast_to(np.array(levels), (len(n_suppressed), len(levels))), n_suppressed
        )  # fmt: skip


class _Discernibility(Quality):
    def floor(self, levels: NDArray[np.int64], n_low: NDArray[np.int64]) -> Floats:
        n = self.problem.n_records
        most = _most_classes(self.problem, levels)
        # squares are least where records are spread evenly over all classes; suppressed ones cost n, not their class
        return np.maximum(n * n / most, n_low.astype(np.float64) * n + (n - n_low))

    def score(self, levels: Levels, tally: Tally) -> Any:
        return tally.squares + np.asarray(tally.n_suppressed, dtype=np.float64) * self.problem.n_records


class _AverageClassSize(Quality):
    def floor(self, levels: NDArray[np.int64], n_low: NDArray[np.int64]) -> Floats:
        n = self.problem.n_records
        most = np.minimum(_most_classes(self.problem, levels), (n - n_low) // self.min_size)
        found: Floats = n / (most + 1)
        return found

    def score(self, levels: Levels, tally: Tally) -> Any:
        n_classes = np.asarray(tally.n_classes) + (np.asarray(tally.n_suppressed) > 0)
        return self.problem.n_records / n_classes


class _NonUniformEntropy(Quality):
    by_size = False

    def __init__(self, problem: Problem, weights: Floats, min_size: int) -> None:
        super().__init__(problem, weights, min_size)
        self._bits = np.zeros((len(problem.ladders), max(problem.heights) + 1))
        for j, ladder in enumerate(problem.ladders):
            count = np.bincount(problem.codes[j], problem.counts, len(ladder.values))
            for level in range(ladder.height + 1):
                above = np.bincount(ladder.up[level], count)[ladder.up[level]]
                seen = count > 0
                self._bits[j, level] = -(count[seen] @ np.log2(count[seen] / above[seen]))

    def floor(self, levels: NDArray[np.int64], n_low: NDArray[np.int64]) -> Floats:
        found: Floats = self._bits[np.arange(levels.shape[1]), levels] @ self.weights
        return found

    def score(self, levels: Levels, tally: Tally) -> Any:
        bits = self._bits[np.arange(len(levels)), list(levels)]
        if tally.n_suppressed:
            assert tally.classes is not None
            assert tally.failing is not None
            starts, sizes = self.problem.starts(levels), self.problem.sizes(levels)
            bits = bits + kernels.spread_of(
                self.problem.codes, self.problem.up, starts, sizes, *tally.classes, tally.failing
            )
        return float(bits @ self.weights)


class _Own(Quality):
    """A function of the user's; nothing is known about nodes that it has not seen."""

    by_size = False

    def __init__(self, problem: Problem, weights: Floats, min_size: int, function: Callable[[NodeView], float]) -> None:
        super().__init__(problem, weights, min_size)
        self._function, self._loss = function, _Loss(problem, weights, min_size)

    def floor(self, levels: NDArray[np.int64], n_low: NDArray[np.int64]) -> Floats:
        return np.full(len(levels), -np.inf)

    def score(self, levels: Levels, tally: Tally) -> Any:
        assert tally.classes is not None
        assert tally.failing is not None
        columns = [ladder.column for ladder in self.problem.ladders]
        shown = tally.classes.counts[~tally.failing]
        loss = float(self._loss.score(levels, tally))
        named = dict(zip(columns, levels, strict=True))
        view = NodeView(named, self.problem.n_records, int(tally.n_suppressed), shown, loss)
        found = float(self._function(view))
        if not math.isfinite(found):
            raise ParameterError(f"quality returned {found} at the levels {named}: it should be a finite number.")
        return found


def _most_classes(problem: Problem, levels: NDArray[np.int64]) -> Floats:
    """No more classes than there are combinations of values, nor than distinct keys."""
    most = np.ones(len(levels))
    for j, ladder in enumerate(problem.ladders):
        most *= np.array([len(x) for x in ladder.leaves], dtype=np.float64)[levels[:, j]]
    return np.minimum(most, problem.n_keys)


_KINDS: dict[str, type[Quality]] = {
    "loss": _Loss,
    "mean_loss": _MeanLoss,
    "precision": _Precision,
    "discernibility": _Discernibility,
    "average_class_size": _AverageClassSize,
    "non_uniform_entropy": _NonUniformEntropy,
}


def quality_of(wanted: str | Callable[[NodeView], float], problem: Problem, weights: Floats, min_size: int) -> Quality:
    """The measure of that name, or the user's own."""
    if callable(wanted):
        return _Own(problem, weights, min_size, wanted)
    return _KINDS[wanted](problem, weights, min_size)
