"""What one more k costs: the optimum for every k and every suppression limit, from one traversal of the lattice.

The sizes of a node's classes say how many records each k would suppress there and what that costs. For one k the
nodes that no other beats in both are the frontier: each is the optimum for a range of suppression limits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from flou.engine import native
from flou.engine.charts import styled
from flou.engine.errors import ParameterError, listed
from flou.engine.progress import tell
from flou.engine.words import Words
from flou.protect.micro.lattice import kernels
from flou.protect.micro.lattice.picture import level_names
from flou.protect.micro.lattice.problem import Levels, Problem
from flou.protect.micro.lattice.quality import Quality, Tally
from flou.protect.micro.lattice.search import MAX_OPTIMAL

if TYPE_CHECKING:
    import altair as alt

_FIGURES = ("k", "suppression_limit", "n_suppressed", "score")
#: Suppression limits that are drawn.
_DRAWN = (0.0, 0.01, 0.02, 0.05, 0.1, 1.0)


@dataclass(frozen=True, eq=False)
class Frontier:
    """The optima by k and suppression limit."""

    frame: pl.DataFrame = field(repr=False)
    kind: native.Kind

    def to_frame(self) -> Any:
        """For each k one line an optimum: the smallest suppression limit from which it is one, its cost, its levels."""
        return native.like(self.frame, self.kind)

    def best(self, k: int, suppression_limit: float) -> dict[str, Any]:
        """The optimum for one k and one limit."""
        known = self.frame["k"].unique().sort().to_list()
        if k not in known:
            raise ParameterError(f"The frontier was not traced for k = {k!r} but for k = {listed(known, 20)}.")
        _require_limits([suppression_limit])
        held = self.frame.filter((pl.col("k") == k) & (pl.col("suppression_limit") <= suppression_limit))
        return held.sort("score").row(0, named=True)

    def plot(self, language: str = "en", *, limits: Sequence[float] = _DRAWN) -> alt.Chart:
        """Cost of the optimum by k, one line a suppression limit."""
        import altair as alt

        words = Words(language)
        _require_limits(limits)
        names = [f"{words.number(100 * limit)}\u202f%" if language == "fr" else f"{100 * limit:g}%" for limit in limits]
        rows = []
        for limit, name in zip(limits, names, strict=True):
            held = self.frame.filter(pl.col("suppression_limit") <= limit)
            best = held.group_by("k").agg(pl.col("score").min()).sort("k")
            rows += [{"k": k, "score": score, "limit": name} for k, score in best.iter_rows()]
        number = "format(datum.value, '~g')"
        label = f"replace({number}, '.', ',')" if language == "fr" else number
        base = alt.Chart(alt.InlineData(values=rows)).encode(
            x=alt.X("k:Q", title="k", axis=alt.Axis(tickMinStep=1), scale=alt.Scale(zero=False, nice=False)),
            y=alt.Y("score:Q", title=words("cost of the best generalisation"), axis=alt.Axis(labelExpr=label)),
            color=alt.Color(
                "limit:N",
                scale=alt.Scale(domain=names, range=_shades(len(names))),
                legend=alt.Legend(title=words("records that may be suppressed"), titleLimit=400, orient="top"),
            ),
            shape=alt.Shape("limit:N", scale=alt.Scale(domain=names)),
        )
        drawn = base.mark_line(interpolate="step-after") + base.mark_point(filled=True, size=34, opacity=1)
        return styled(drawn.properties(width=500, height=280))


def _require_limits(limits: Sequence[float]) -> None:
    for limit in limits:
        if isinstance(limit, bool) or not isinstance(limit, int | float) or not 0 <= limit <= 1:
            raise ParameterError(f"A suppression limit is a share in [0, 1], 0.05 for 5%; given {limit!r}.")


def _shades(n: int) -> list[str]:
    """From dark to light, ending in the alert colour's neighbourhood: told apart in grey print as well."""
    shades = ["#16324f", "#2f5d8a", "#5b8db8", "#8fb4d3", "#e39a63", "#c2541a"]
    return [shades[i % len(shades)] for i in range(n)]


def trace_frontier(problem: Problem, quality: Quality, ks: Sequence[int], kind: native.Kind) -> Frontier:
    """Look at every node once and keep, for each k, those that are the best at some suppression limit."""
    if problem.n_nodes > MAX_OPTIMAL:
        raise ParameterError(
            f"The lattice has {problem.n_nodes:,} nodes, too many to look at each: a frontier is traced on at most "
            f"{MAX_OPTIMAL:,}. Leave levels out of the hierarchies."
        )
    wanted = np.array(sorted(set(ks)))
    shape = tuple(h + 1 for h in problem.heights)
    suppressed = np.zeros((problem.n_nodes, len(wanted)), dtype=np.int64)
    scores = np.zeros((problem.n_nodes, len(wanted)))
    for i, node in enumerate(np.ndindex(shape)):
        suppressed[i], scores[i] = _by_k(problem, quality, node, wanted)
        if i % 256 == 0:
            tell("frontier", i, problem.n_nodes)
    nodes = np.indices(shape).reshape(len(shape), problem.n_nodes).T
    parts = []
    for j, k in enumerate(wanted.tolist()):
        # a file that is suppressed whole is no release
        best = _staircase(suppressed[:, j], np.where(suppressed[:, j] < problem.n_records, scores[:, j], np.inf))
        names = level_names([ladder.column for ladder in problem.ladders], _FIGURES)
        levels = {name: nodes[best, c] for c, name in enumerate(names)}
        parts.append(
            pl.DataFrame(
                {
                    "k": np.full(len(best), k),
                    "suppression_limit": suppressed[best, j] / problem.n_records,
                    "n_suppressed": suppressed[best, j],
                    "score": scores[best, j],
                    **levels,
                }
            )
        )
    return Frontier(pl.concat(parts), kind)


def _by_k(problem: Problem, quality: Quality, levels: Levels, ks: Any) -> tuple[Any, Any]:
    """How many records each k suppresses at a node, and what that costs."""
    classes = problem.classes(levels)
    codes, leaves, starts = problem.codes, problem.leaves, problem.starts(levels)
    if not quality.by_size:
        tallies = []
        for k in ks:
            failing = classes.counts < k
            n, n_classes, squares, shown = kernels.add_up(codes, leaves, starts, *classes, failing)
            tallies.append(Tally(n, n_classes, squares, shown, classes, failing))
        return [t.n_suppressed for t in tallies], [quality.score(levels, t) for t in tallies]
    by_size = kernels.add_up_by_size(codes, leaves, starts, *classes, int(ks[-1]))
    # what classes of at least k add up to: sums from the largest size down
    records, n_classes, squares, shown = (np.cumsum(x[::-1], axis=0)[::-1][ks] for x in by_size)
    n_suppressed = problem.n_records - records
    return n_suppressed, quality.score(levels, Tally(n_suppressed, n_classes, squares, shown))


def _staircase(suppressed: Any, scores: Any) -> Any:
    """The nodes that no other beats in both suppressed records and cost, by rising number of records."""
    order = np.lexsort((scores, suppressed))
    least = np.minimum.accumulate(scores[order])
    better = np.concatenate([[True], scores[order][1:] < least[:-1]])
    chosen = order[better]
    first = np.concatenate([[True], np.diff(suppressed[chosen]) > 0])
    return chosen[first]
