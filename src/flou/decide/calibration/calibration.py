"""What a calibration found: every point with its risk and utility, the frontier, and the best under a limit."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from html import escape
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import polars as pl

from flou.decide.calibration.frontier import Floats, mark_frontier
from flou.describe.mechanism.mechanism import Mechanism
from flou.engine.errors import FlouError, Infeasible, ParameterError, did_you_mean
from flou.engine.values import plain_text

if TYPE_CHECKING:
    import altair as alt

    from flou.risk.table.inference_result import InferenceMeasure
    from flou.utility.table.count_utility import CountUtility


@dataclass(frozen=True)
class Point:
    """One combination of parameters: what it makes, its risk and utility; or the error that says why it cannot be."""

    parameters: dict[str, Any]
    #: The protection (or mechanism) made with these parameters, ready to be used.
    made: Any = field(default=None, repr=False)
    mechanism: Mechanism | None = field(default=None, repr=False)
    risk: float | None = None
    #: The same with a uniform prior.
    risk_uniform: float | None = None
    #: The risk of the published count that tells most.
    worst: float | None = None
    utility: float | None = None
    #: Of tables: how many cells are expected to prove, by their only shown child, that a zero beside it is false.
    told: float | None = None
    #: Of tables: the chance that such zeros are true where the cell and its child are published alike.
    empty: float | None = None
    error: FlouError | None = field(default=None, repr=False)

    @property
    def feasible(self) -> bool:
        return self.error is None

    @property
    def reason(self) -> str:
        """Why it cannot be; empty where it can."""
        return "" if self.error is None else str(self.error)

    @property
    def label(self) -> str:
        """Its parameters, as people read them."""
        return ", ".join(f"{name} = {plain_text(value)}" for name, value in self.parameters.items())


@dataclass(frozen=True, eq=False, repr=False)
class Calibration:
    """The points of a grid of parameters. `.best(limit=0.8).made` is the protection to use."""

    names: tuple[str, ...]
    points: tuple[Point, ...]
    risk: InferenceMeasure
    utility: CountUtility
    limit: float | None
    n_cells: int

    @property
    def on_tables(self) -> bool:
        """Whether it was measured on tables, so that cells and their children are known."""
        return any(p.told is not None for p in self.points)

    @cached_property
    def frontier(self) -> tuple[Point, ...]:
        """The points that no other beats on both sides, by rising risk."""
        found = [p for p, on in zip(self.points, self._on_frontier, strict=True) if on]
        return tuple(sorted(found, key=lambda p: (p.risk or 0.0, self.points.index(p))))

    @cached_property
    def _on_frontier(self) -> list[bool]:
        risk = np.array([np.nan if p.risk is None else p.risk for p in self.points])
        return [bool(b) for b in mark_frontier(risk, self._gains)]

    @cached_property
    def _gains(self) -> Floats:
        """Utilities so that more is better, whatever their kind."""
        sign = 1.0 if self.utility.better == "high" else -1.0
        return np.array([np.nan if p.utility is None else sign * p.utility for p in self.points])

    def best(self, limit: float | None = None, **parameters: Any) -> Point:
        """The point of highest utility whose risk is at most `limit`, among those with the given parameters."""
        bound = self.limit if limit is None else limit
        if bound is None or isinstance(bound, bool) or not isinstance(bound, int | float) or not 0 <= bound <= 1:
            raise ParameterError(f"limit = {bound!r} should be a probability: the largest risk that is accepted.")
        for name in parameters:
            if name not in self.names:
                raise ParameterError(f"{name!r} was not calibrated.{did_you_mean(name, self.names)}")
        asked = [
            (gain, p)
            for gain, p in zip(self._gains.tolist(), self.points, strict=True)
            if all(p.parameters[n] == v for n, v in parameters.items())
        ]
        if not asked:
            raise ParameterError(f"no point of the grid has {plain_text(parameters)}.")
        feasible = [(gain, p) for gain, p in asked if p.feasible]
        under = [(gain, p) for gain, p in feasible if p.risk is not None and p.risk <= bound]
        if not under:
            raise self._none_under(bound, [p for _, p in feasible], asked[0][1])
        # the larger utility, then the smaller risk, then the first of the grid
        return max(under, key=lambda pair: (pair[0], -(pair[1].risk or 0.0)))[1]

    def _none_under(self, limit: float, feasible: list[Point], first: Point) -> Infeasible:
        if not feasible:
            return Infeasible(
                f"None of these points can be built, so none has a risk of at most {limit:g}.",
                best=first.reason,
                next_step="Try other parameters.",
            )
        lowest = min(feasible, key=lambda p: p.risk or 0.0)
        return Infeasible(
            f"No point has a risk of at most {limit:g}.",
            best=f"{lowest.risk:.3f} with {lowest.label}",
            next_step="Raise V or js, or accept a higher limit.",
        )

    @property
    def chosen(self) -> Point | None:
        """The best point under the limit that was set; None without a limit, or where no point is under it."""
        if self.limit is None:
            return None
        try:
            return self.best()
        except Infeasible:
            return None

    def to_frame(self) -> pl.DataFrame:
        """One line a point, in the order of the grid."""
        chosen = self.chosen
        zeros = [
            pl.Series(name, [getattr(p, name) for p in self.points], pl.Float64)
            for name in ("told", "empty")
            if self.on_tables
        ]
        columns: dict[str, list[Any]] = {n: [p.parameters[n] for p in self.points] for n in self.names}
        frame = pl.DataFrame({n: _column(values) for n, values in columns.items()})
        return frame.with_columns(
            pl.Series("risk", [p.risk for p in self.points], pl.Float64),
            pl.Series("risk_uniform", [p.risk_uniform for p in self.points], pl.Float64),
            pl.Series("worst", [p.worst for p in self.points], pl.Float64),
            pl.Series("utility", [p.utility for p in self.points], pl.Float64),
            *zeros,
            pl.Series("feasible", [p.feasible for p in self.points]),
            pl.Series("reason", [p.reason for p in self.points]),
            pl.Series("on_frontier", self._on_frontier),
            pl.Series("chosen", [p is chosen for p in self.points]),
        )

    def plot(self, language: str = "en", *, kind: Literal["frontier", "priors"] = "frontier") -> alt.Chart:
        """`frontier`: risk against utility, the limit dashed; `priors`: the risk between the two priors."""
        from flou.decide.calibration.chart import draw_frontier, draw_priors

        if kind not in ("frontier", "priors"):
            raise ParameterError(f'kind = {kind!r} should be "frontier" or "priors".')
        return draw_frontier(self, language) if kind == "frontier" else draw_priors(self, language)

    def summary(self) -> str:
        """A few lines of text."""
        n_built = sum(p.feasible for p in self.points)
        lines = [
            f"Calibration over {', '.join(self.names)}: {len(self.points)} points, {n_built} feasible, "
            f"{self.n_cells:,} cells",
            f"  risk: {self.risk!r}",
            f"  utility: {self.utility!r}",
            f"  on the frontier: {len(self.frontier)}",
        ]
        if self.limit is None:
            return "\n".join(lines)
        if self.chosen is None:
            try:
                self.best()
            except Infeasible as error:
                return "\n".join([*lines, f"  limit {self.limit:g}: {error}"])
        chosen = self.chosen
        assert chosen is not None
        figures = f"risk {chosen.risk:.3f} (worst count {_digits(chosen.worst)}), utility {chosen.utility:.3f}"
        lines.append(f"  best with risk at most {self.limit:g}: {chosen.label}: {figures}")
        if chosen.told is not None and chosen.empty is not None:
            lines.append(
                f"  zeros of the best: {chosen.told:,.0f} cells are expected to prove, by their only shown child, that "
                f"a zero is false; published like it, the zeros are true with {chosen.empty:.0%}"
            )
        return "\n".join(lines)

    def __repr__(self) -> str:
        return self.summary()

    def _repr_html_(self) -> str:
        shown = self.to_frame().drop("reason")
        head = "".join(f"<th>{escape(name)}</th>" for name in shown.columns)
        body = ""
        for row, point in zip(shown.iter_rows(), self.points, strict=True):
            cells = "".join(f"<td>{escape(_digits(v))}</td>" for v in row)
            body += f'<tr title="{escape(point.reason)}">{cells}</tr>'
        return f"<pre>{escape(self.summary())}</pre><table><tr>{head}</tr>{body}</table>"


def _digits(value: object) -> str:
    if value is None:
        return "–"
    return f"{value:.3f}" if isinstance(value, float) and not value.is_integer() else plain_text(value)


def _column(values: list[Any]) -> pl.Series:
    """Values of a parameter as a column; those that no column holds as texts."""
    if all(isinstance(v, int | float) and not isinstance(v, bool) for v in values):
        whole = all(isinstance(v, int) for v in values)
        return pl.Series(values, dtype=pl.Int64 if whole else pl.Float64, strict=False)
    return pl.Series([plain_text(v) for v in values], dtype=pl.String)
