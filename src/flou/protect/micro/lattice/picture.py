"""The lattice as people see it: a frame of its nodes, and a drawing of which are safe and which was chosen."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from flou.engine import native
from flou.engine.charts import ALERT, CALM, INK, styled
from flou.engine.words import Words
from flou.protect.micro.lattice.ground import Dense
from flou.protect.micro.lattice.search import Evaluator, Found

if TYPE_CHECKING:
    import altair as alt

#: A node is one of these.
STATUS = ("chosen", "safe", "unsafe", "not looked at")


@dataclass(frozen=True, eq=False)
class LatticeView:
    """The nodes of a search: the level of each key, what is known of the node, and what it costs."""

    evaluator: Evaluator
    found: Found
    kind: native.Kind

    def to_frame(self) -> Any:
        """One line a node, in the user's frame type; of very large lattices only the nodes that were evaluated."""
        return native.like(self._frame, self.kind)

    @cached_property
    def _frame(self) -> pl.DataFrame:
        columns = [ladder.column for ladder in self.evaluator.problem.ladders]
        seen = {e.levels: e for e in self.found.evaluated}
        ground = self.found.ground
        nodes = ground.nodes if isinstance(ground, Dense) else np.array(sorted(seen))
        assert ground is not None
        status = self._status(nodes)
        held = [seen.get(tuple(node)) for node in nodes.tolist()]
        floors = ground.quality.floor(nodes, ground.n_low(nodes))
        frame = pl.DataFrame({c: nodes[:, j] for j, c in enumerate(columns)})
        return frame.with_columns(
            pl.Series("status", status),
            pl.Series("n_suppressed", [None if e is None else e.n_suppressed for e in held], dtype=pl.Int64),
            pl.Series("score", [None if e is None or not e.safe else e.score for e in held], dtype=pl.Float64),
            pl.Series("floor", floors),
        )

    def _status(self, nodes: Any) -> list[str]:
        """What is known of each node, from itself or from one above or below it."""
        limit, found = self.evaluator.limit, self.found
        assert found.ground is not None
        status = np.full(len(nodes), 3)
        if self.evaluator.prunes_by_all:
            for seen in found.evaluated:
                if seen.safe:
                    status[(nodes >= np.array(seen.levels)).all(axis=1)] = 1
        status[found.ground.n_low(nodes) > limit] = 2
        place = {tuple(node): i for i, node in enumerate(nodes.tolist())}
        for seen in found.evaluated:
            status[place[seen.levels]] = 1 if seen.safe else 2
        if found.best is not None:
            status[place[found.best.levels]] = 0
        return [STATUS[i] for i in status]

    def plot(self, language: str = "en") -> alt.Chart:
        """Every node a dot, by the sum of its levels; within a row the cheaper stand to the left."""
        import altair as alt

        words = Words(language)
        columns = [ladder.column for ladder in self.evaluator.problem.ladders]
        frame = self._frame.with_columns(height=pl.sum_horizontal(columns), cost=pl.coalesce("score", "floor"))
        frame = frame.sort("height", "cost").with_columns(
            across=(pl.int_range(pl.len()).over("height") - (pl.len().over("height") - 1) / 2)
        )
        names = {name: words(name) for name in STATUS}
        rows = [
            {
                "across": row["across"],
                "height": row["height"],
                "status": names[row["status"]],
                "levels": ", ".join(f"{c} {row[c]}" for c in columns),
            }
            for row in sorted(frame.iter_rows(named=True), key=lambda r: -STATUS.index(r["status"]))
        ]
        size = 60 if len(rows) < 200 else 18
        colours = [INK, CALM, ALERT, "#d3d7dc"]
        base = alt.Chart(alt.InlineData(values=rows)).encode(
            x=alt.X("across:Q", axis=None),
            y=alt.Y("height:Q", title=words("sum of the levels"), axis=alt.Axis(tickMinStep=1, grid=False)),
            color=alt.Color(
                "status:N",
                scale=alt.Scale(domain=[names[s] for s in STATUS], range=colours),
                legend=alt.Legend(title=None, orient="top", direction="horizontal", columnPadding=24, labelLimit=300),
            ),
            tooltip=["levels:N", "status:N"],
        )
        dots = base.mark_circle(opacity=1).encode(
            size=alt.condition(alt.datum.status == names["chosen"], alt.value(160), alt.value(size))
        )
        return styled(dots.properties(width=520, height=300))
