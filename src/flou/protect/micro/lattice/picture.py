"""The lattice as people see it: a frame of its nodes, and a drawing of which are safe and which was chosen."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
import polars as pl

from flou.engine import native
from flou.engine.charts import ALERT, CALM, INK, styled
from flou.engine.errors import DataError
from flou.engine.result import unused
from flou.engine.words import Words
from flou.protect.micro.lattice.ground import Dense
from flou.protect.micro.lattice.search import Evaluator, Found

if TYPE_CHECKING:
    import altair as alt

#: A node is one of these.
STATUS = ("chosen", "safe", "unsafe", "not looked at")
#: Lattices that are drawn with every step and label.
_SMALL = 80
#: Letters in a line of a chart's title.
_TITLE = 95


def level_names(keys: Sequence[str], taken: Sequence[str]) -> list[str]:
    """What the level of each key is called beside figures: as the key, unless a figure has that name."""
    return [unused(key, taken) for key in keys]


@dataclass(frozen=True, eq=False)
class LatticeView:
    """The nodes of a search: the level of each key, what is known of the node, and what it costs."""

    evaluator: Evaluator
    found: Found
    kind: native.Kind

    def __repr__(self) -> str:
        n = self.evaluator.problem.n_nodes
        return f"LatticeView({n:,} nodes, {len(self.found.evaluated):,} evaluated)"

    def __getstate__(self) -> NoReturn:
        raise DataError("A lattice holds keys of the original, which do not leave the process: keep its .to_frame().")

    def to_frame(self) -> Any:
        """One line a node, in the user's frame type; of very large lattices only the nodes that were evaluated."""
        return native.like(self._frame, self.kind)

    @cached_property
    def _frame(self) -> pl.DataFrame:
        columns = [ladder.column for ladder in self.evaluator.problem.ladders]
        seen = {e.levels: e for e in self.found.evaluated}
        if self.found.best is not None:
            seen[self.found.best.levels] = self.found.best
        ground = self.found.ground
        nodes = ground.nodes if isinstance(ground, Dense) else np.array(sorted(seen))
        assert ground is not None
        status = self._status(nodes)
        held = [seen.get(tuple(node)) for node in nodes.tolist()]
        floors = ground.quality.floor(nodes, ground.n_low(nodes))
        names = level_names(columns, ("status", "n_suppressed", "score", "floor"))
        frame = pl.DataFrame({c: nodes[:, j] for j, c in enumerate(names)})
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
        if found.best is not None and found.best.levels in place:
            status[place[found.best.levels]] = 0
        return [STATUS[i] for i in status]

    def plot(self, language: str = "en") -> alt.Chart:
        """Every node a dot, by the sum of its levels; within a row the cheaper stand to the left.

        Of small lattices the steps from node to node are drawn and the levels written beside the dots.
        """
        import altair as alt

        words = Words(language)
        rows = self._drawn(words)
        small = len(rows) <= _SMALL
        names = [words(name) for name in STATUS]
        ends = [min(r["across"] for r in rows) - 0.6, max(r["across"] for r in rows) + 0.6]
        height = alt.Y("height:Q", title=words("sum of the levels"), axis=alt.Axis(tickMinStep=1, grid=False))
        across = alt.X("across:Q", axis=None, scale=alt.Scale(domain=ends))
        base = alt.Chart(alt.InlineData(values=rows)).encode(x=across, y=height)
        dots = base.mark_circle(opacity=1).encode(
            color=alt.Color(
                "status:N",
                scale=alt.Scale(domain=names, range=[INK, CALM, ALERT, "#d3d7dc"]),
                legend=alt.Legend(title=None, orient="top", direction="horizontal", columnPadding=24, labelLimit=300),
            ),
            size=alt.condition(alt.datum.status == names[0], alt.value(160), alt.value(60 if small else 18)),
            tooltip=["levels:N", "status:N"],
        )
        layers = [dots]
        if small:
            steps = alt.Chart(alt.InlineData(values=_steps(rows)))
            rules = steps.mark_rule(color="#c4cad2").encode(x=across, x2="across_2", y=height, y2="height_2")
            labels = base.mark_text(dy=14, fontSize=9, color=INK).encode(text="short:N")
            layers = [rules, dots, labels]
        columns = ", ".join(ladder.column for ladder in self.evaluator.problem.ladders)
        text = "levels of {columns}; in each row the cheaper nodes stand to the left"
        lines = textwrap.wrap(words(text, columns=columns), _TITLE)
        title = alt.TitleParams(lines, fontSize=11, fontWeight="normal", anchor="start")
        return styled(alt.layer(*layers).properties(width=520, height=320, title=title))

    def _drawn(self, words: Words) -> list[dict[str, Any]]:
        """Where each node stands, those to be seen best last."""
        columns = self._frame.columns[: len(self.evaluator.problem.ladders)]
        frame = self._frame.with_columns(
            __flou_height=pl.sum_horizontal(columns), __flou_cost=pl.coalesce("score", "floor")
        ).sort("__flou_height", "__flou_cost")
        place = pl.int_range(pl.len()).over("__flou_height") - (pl.len().over("__flou_height") - 1) / 2
        rows = [
            {
                "across": row["__flou_across"],
                "height": row["__flou_height"],
                "status": words(row["status"]),
                "levels": ", ".join(f"{c} {row[c]}" for c in columns),
                "short": " ".join(str(row[c]) for c in columns),
                "order": STATUS.index(row["status"]),
            }
            for row in frame.with_columns(__flou_across=place).iter_rows(named=True)
        ]
        return sorted(rows, key=lambda r: -r["order"])


def _steps(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """From each node to those one level above it."""
    at = {tuple(map(int, r["short"].split())): r for r in rows}
    found = []
    for levels, row in at.items():
        for j in range(len(levels)):
            above = at.get((*levels[:j], levels[j] + 1, *levels[j + 1 :]))
            if above is not None:
                ends = {"across": row["across"], "height": row["height"]}
                found.append({**ends, "across_2": above["across"], "height_2": above["height"]})
    return found
