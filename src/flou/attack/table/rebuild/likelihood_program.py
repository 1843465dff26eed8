"""The linear and mixed-integer programs behind the likeliest population, by HiGHS on one thread.

Columns are the unsettled classes and, for each row, the pieces of its log chances; one equation a row says that its
total is its least one plus the pieces taken. Prices of the equations bound the likelihood of every population, whatever
the solver's tolerances: the bound is computed from them anew. For whole numbers, rows that are not concave choose one
of their totals each. An optimum of these programs is a guess about people, whose worth is measured elsewhere.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from flou.attack.table.rebuild.envelopes import find_envelopes
from flou.attack.table.rebuild.reduce import Reduced
from flou.describe.table.cells import Floats, Ints
from flou.engine.errors import MissingExtraError, NotConvergedError

#: Steps of the simplex at most: an amount of work, not of time.
_STEPS = 2_000_000


def load_highs() -> Any:
    """HiGHS' Python interface; an error that says how to install it where it is missing."""
    try:
        import highspy
    except ModuleNotFoundError as missing:
        raise MissingExtraError("highspy", "tables") from missing
    return highspy


class LikelihoodProgram:
    """Maximise the log-likelihood of a reduced problem; costs are its negative."""

    def __init__(self, reduced: Reduced) -> None:
        self.reduced, rows = reduced, reduced.rows
        self.classes = reduced.unsettled
        self.n = len(self.classes)
        self.envelopes = envelopes = find_envelopes(rows)
        place = np.full(reduced.n_classes, -1, dtype=np.int64)
        place[self.classes] = np.arange(self.n)
        ones = np.ones(len(rows.members))
        sums = sparse.csr_array((ones, place[rows.members], rows.starts), shape=(rows.n, self.n))
        n_pieces = len(envelopes.of_piece)
        taken = sparse.csr_array(
            (-np.ones(n_pieces), (envelopes.of_piece, np.arange(n_pieces))), shape=(rows.n, n_pieces)
        )
        self._sums = sums
        self.matrix = sparse.hstack([sums, taken], format="csc")
        self.low = np.concatenate([reduced.low[self.classes], np.zeros(n_pieces)]).astype(np.float64)
        self.high = np.concatenate([reduced.high[self.classes], envelopes.widths]).astype(np.float64)
        self.cost = np.concatenate([np.zeros(self.n), -envelopes.slopes])
        self.right = rows.low.astype(np.float64)
        self._base = reduced.constant + float(envelopes.base.sum())
        self._solver: Any = None

    def solve_relaxed(self, pulls: Floats | None = None) -> Floats | None:
        """The best totals of classes, perhaps fractions; None where nothing satisfies the equations.

        Pulls change the costs of classes a little, and the solver goes on from its last answer.
        """
        highspy = load_highs()
        if self._solver is None:
            self._solver = _loaded(highspy, self.matrix, self.low, self.high, self.cost, self.right, self.right)
            self._solver.setOptionValue("simplex_iteration_limit", _STEPS)
        if pulls is not None:
            self._solver.changeColsCost(self.n, np.arange(self.n, dtype=np.int32), pulls)
        self._solver.run()
        status = self._solver.getModelStatus()
        if status in (highspy.HighsModelStatus.kInfeasible, highspy.HighsModelStatus.kUnboundedOrInfeasible):
            return None
        if status != highspy.HighsModelStatus.kOptimal:
            raise NotConvergedError(
                f"The solver ended the program of the likeliest counts with {status.name!r}: nothing is known. Give "
                "fewer tables at a time."
            )
        solution = self._solver.getSolution()
        if pulls is None:
            self._prices = np.array(solution.row_dual)
        return np.array(solution.col_value)[: self.n]

    def dual_bound(self) -> float:
        """What the log-likelihood of no population exceeds, by the prices of the relaxed program without pulls."""
        reduced_cost = self.cost - self.matrix.T @ self._prices
        least = np.where(reduced_cost > 0, reduced_cost * self.low, reduced_cost * self.high)
        return self._base - float(self.right @ self._prices + least.sum())

    def whole(self, found: Floats) -> Ints | None:
        """The totals of all classes if these are whole numbers, to the solver's tolerance."""
        rounded = np.rint(found)
        if np.abs(found - rounded).max(initial=0.0) > 1e-5:
            return None
        totals = self.reduced.low.copy()
        totals[self.classes] = rounded.astype(np.int64)
        return totals

    def value(self, totals: Ints) -> float:
        """The log-likelihood of these totals of classes."""
        rows = self.reduced.rows
        sums = rows.sums(np.where(self.reduced.low < self.reduced.high, totals, 0))
        if (totals < self.reduced.low).any() or (totals > self.reduced.high).any():
            return -np.inf
        if (sums < rows.low).any() or (sums > rows.high).any():
            return -np.inf
        return self.reduced.constant + float(rows.weights[rows.offsets[:-1] + sums - rows.low].sum())

    def solve_whole(self, branches: int, seed: int, start: Ints | None, bound: float) -> tuple[Ints, float]:
        """The best totals of classes in whole numbers within a limit of branches, and a bound of all."""
        highspy = load_highs()
        rows = self.reduced.rows
        bumpy = np.flatnonzero(~self.envelopes.concave)
        # a row that is not concave chooses one of its totals: the sum over its choices is 1, and they tell its total
        own, totals, weights = [], [], []
        for at, row in enumerate(bumpy.tolist()):
            can = np.flatnonzero(rows.weights_of(row) > -np.inf)
            own.append(np.full(len(can), at))
            totals.append(rows.low[row] + can)
            weights.append(rows.weights_of(row)[can])
        choice = np.concatenate([np.zeros(0, dtype=np.int64), *own])
        n_choices, columns = len(choice), np.arange(len(choice))
        smooth = ~np.isin(self.envelopes.of_piece, bumpy)
        kept = np.concatenate([np.arange(self.n), self.n + np.flatnonzero(smooth)])
        values = np.concatenate([np.zeros(0), *totals])
        chosen = sparse.csr_array((-values, (bumpy[choice], columns)), shape=(rows.n, n_choices))
        single = sparse.csr_array((np.ones(n_choices), (choice, columns)), shape=(len(bumpy), n_choices))
        top = sparse.hstack([self.matrix[:, kept], chosen])
        bottom = sparse.hstack([sparse.csr_array((len(bumpy), len(kept))), single])
        right = self.right.copy()
        right[bumpy] = 0.0
        right = np.concatenate([right, np.ones(len(bumpy))])
        solver = _loaded(
            highspy,
            sparse.vstack([top, bottom], format="csc"),
            np.concatenate([self.low[kept], np.zeros(n_choices)]),
            np.concatenate([self.high[kept], np.ones(n_choices)]),
            np.concatenate([self.cost[kept], -np.concatenate([np.zeros(0), *weights])]),
            right,
            right,
        )
        base = self._base - float(self.envelopes.base[bumpy].sum())
        n_columns = len(kept) + n_choices
        kinds = np.full(n_columns, highspy.HighsVarType.kInteger)
        kinds[self.n : len(kept)] = highspy.HighsVarType.kContinuous
        solver.changeColsIntegrality(n_columns, np.arange(n_columns, dtype=np.int32), kinds)
        for option, value in (
            ("mip_rel_gap", 0.0),
            ("mip_abs_gap", 1e-9),
            ("mip_max_nodes", branches),
            ("random_seed", int(seed % (2**31 - 1))),
        ):
            solver.setOptionValue(option, value)
        if start is not None:
            solver.setSolution(self.n, np.arange(self.n, dtype=np.int32), start[self.classes].astype(np.float64))
        solver.run()
        info = solver.getInfo()
        if np.isfinite(info.mip_dual_bound):
            bound = min(bound, base - info.mip_dual_bound)
        found = np.array(solver.getSolution().col_value)[: self.n]
        counted = self.whole(found) if len(found) == self.n else None
        if counted is None or self.value(counted) == -np.inf:
            if start is None:
                raise NotConvergedError(
                    f"No likeliest counts were found within {branches:,} branches, nor a proof that there are none. "
                    "Give a start, more branches, or fewer tables at a time."
                )
            counted = start
        return counted, bound


def _loaded(
    highspy: Any, matrix: Any, low: Floats, high: Floats, cost: Floats, row_low: Floats, row_high: Floats
) -> Any:
    """A solver that holds a program: minimise the cost within bounds of columns and rows."""
    matrix.sort_indices()
    model = highspy.HighsLp()
    model.num_row_, model.num_col_ = matrix.shape
    model.col_cost_, model.col_lower_, model.col_upper_ = cost, low, high
    model.row_lower_, model.row_upper_ = row_low, row_high
    model.a_matrix_.format_ = highspy.MatrixFormat.kColwise
    model.a_matrix_.start_, model.a_matrix_.index_, model.a_matrix_.value_ = matrix.indptr, matrix.indices, matrix.data
    solver = highspy.Highs()
    for option, value in (("output_flag", False), ("threads", 1)):
        solver.setOptionValue(option, value)
    solver.passModel(model)
    return solver
