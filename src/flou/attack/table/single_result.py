"""What an intruder who knows all but one value achieves: shares by variable, and the people behind them for the office.

Shares are aggregates over everybody in the tables. Which record is given away is for those who protect: it is shown on
demand alone, in the process that holds the records, and it is neither printed nor pickled.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from flou.attack.table.rebuild.best_guess import Guesses
from flou.attack.table.rebuild.true_counts import TrueCounts
from flou.attack.table.single_chart import draw_shares
from flou.describe.table.cells import Ints
from flou.engine import native
from flou.engine.attack import lift_over, wilson
from flou.engine.charts import Look
from flou.engine.errors import LazyInputError
from flou.engine.result import Result, unused

if TYPE_CHECKING:
    import altair as alt


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class SingleResult(Result):
    """Shares of values that are determined and guessed; `.by_variable` has them one by one."""

    native_kind: native.Kind = "polars"
    variables: pl.DataFrame = field(repr=False)
    guesses: tuple[Guesses, ...] | None = field(repr=False)
    truth: TrueCounts | None = field(repr=False)

    @property
    def by_variable(self) -> Any:
        """One line a variable: shares determined and guessed with their intervals, the guess without tables."""
        return native.like(self.variables, self.native_kind)

    def by_record(self, *, reveal: bool = False) -> Any:
        """One line a distinct record and variable: its values, how many people have them, and what is left to doubt.

        It says who is exposed and is for those who protect: `reveal=True` shows it, in the process that ran the attack.
        """
        if self.truth is None or self.guesses is None:
            raise LazyInputError("A result that left its process takes no records with it: run the attack again.")
        if not reveal:
            raise LazyInputError(
                "by_record shows the records behind the tables and who of them is exposed: by_record(reveal=True) "
                "shows them, for your eyes alone."
            )
        truth, case = self.truth, self.truth.case
        records = case.universe.frame(truth.cell)
        if case.block is not None:
            labels = pl.Series(case.block.name, list(case.figures.blocks))
            records = records.insert_column(0, labels.gather(truth.block.astype(np.uint32)))
        parts = []
        for name, found in zip(case.universe.names, self.guesses, strict=True):
            columns = {
                "records": truth.count,
                "variable": [name] * len(truth.count),
                "n_candidates": found.n_candidates,
                "n_left": found.n_left,
                "determined": found.n_left == 1,
                "right": found.right,
                "baseline": found.baseline,
            }
            figures = [pl.Series(unused(n, records.columns), values) for n, values in columns.items()]
            parts.append(pl.concat([records, pl.DataFrame(figures)], how="horizontal"))
        return native.like(pl.concat(parts), self.native_kind)

    @property
    def chart(self) -> Any:
        """How the result is drawn."""
        return draw_shares

    def plot(self, language: str = "en", *, min_count: int = 1, top: float | None = None) -> alt.Chart:
        """Of each variable: the share determined, the best guess, and the guess without tables."""
        return draw_shares(self, Look(language, min_count, top))

    def to_frame(self) -> Any:
        """The figures, one a line, in the user's frame type."""
        return native.like(super().to_frame(), self.native_kind)

    def __getstate__(self) -> dict[str, Any]:
        """A copy that leaves the process takes the shares, not the records."""
        return {**self.__dict__, "guesses": None, "truth": None}


def by_variable(names: Sequence[str], guesses: Sequence[Guesses], counts: Ints, reach: Sequence[float]) -> pl.DataFrame:
    """The shares of each variable, over people."""
    n = int(counts.sum())
    rows = []
    for name, found, by in zip(names, guesses, reach, strict=True):
        n_determined = int(counts[found.n_left == 1].sum())
        n_right = float(counts @ found.right)
        baseline = float(counts @ found.baseline) / n
        determined, right = wilson(n_determined, n), wilson(n_right, n)
        rows.append(
            {
                "variable": name,
                "people": n,
                "determined": n_determined / n,
                "determined_low": determined.low,
                "determined_high": determined.high,
                "by_rules": float(counts[found.n_candidates == 1].sum()) / n,
                "right": n_right / n,
                "right_low": right.low,
                "right_high": right.high,
                "feasible": float(counts @ found.feasible) / n,
                "baseline": baseline,
                "lift": lift_over(n_right / n, baseline),
                "candidates": float(counts @ found.n_candidates) / n,
                "left": float(counts @ found.n_left) / n,
                "tolerance": by or None,
                "within": float(counts @ found.within) / n if by else None,
                "baseline_within": float(counts @ found.baseline_within) / n if by else None,
            }
        )
    maybe = dict.fromkeys(("tolerance", "within", "baseline_within"), pl.Float64)
    return pl.DataFrame(rows, schema_overrides=maybe)


def sum_up(frame: pl.DataFrame, n_people: int) -> dict[str, Any]:
    """The headline and its figures, over all people and variables."""
    share = {name: float(frame[name].to_numpy().mean()) for name in ("determined", "by_rules", "right", "feasible",
                                                                     "baseline", "left")}  # fmt: skip
    return {
        "value": share["determined"],
        # the values of one person stand or fall together, so that people are counted, not values
        "interval": wilson(share["determined"] * n_people, n_people),
        "figures": {
            "n_people": n_people,
            "n_values": n_people * frame.height,
            "by_rules": share["by_rules"],
            "right": share["right"],
            "baseline": share["baseline"],
            "lift": lift_over(share["right"], share["baseline"]),
            "feasible": share["feasible"],
            "left": share["left"],
        },
    }
