"""The transition matrix of the cell key method: how far, and with which chance, a count is moved.

Three parameters (Enderle, Giessing and Tent 2018; Jamme 2025): D bounds the deviation, V its variance, and published
counts 1, …, js are ruled out. Zeros stay zero, noise is unbiased, and each row has the largest entropy of all that
fulfil this (`max_entropy`). Counts of at least `last` share the last row. With `stack = (D2, V2)` large counts get
noise of their own, which need not be as wide as what hides the small ones.

The matrix is public; what must stay secret are the record keys. With js = 0 counts of 1 and 2 hardly move (at D = 10
and V = 5, a 1 stays in 39% of cells), so js matters more for their protection than V.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from html import escape
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import polars as pl
from numpy.typing import ArrayLike

from flou.describe.mechanism.cell_keys import KEYS, checked_keys
from flou.describe.mechanism.key_lookup import cut_keys, draw_guide, guide_size, look_up, search_places
from flou.describe.mechanism.matrix_parameters import checked_matrix
from flou.describe.mechanism.max_entropy import solve_rows
from flou.describe.mechanism.mechanism import Floats, Integers, Mechanism, checked_counts
from flou.describe.mechanism.ptable_file import read_chances, write_ptable
from flou.engine.errors import DataError

if TYPE_CHECKING:
    import altair as alt

#: Lines of the table that a notebook shows; the last row comes after them.
_MOST_LINES = 15


class TransitionMatrix(Mechanism):
    """Chances of published counts given true ones: `TransitionMatrix(D=10, V=5, js=2)`.

    D: largest deviation. V: largest variance of the deviation. js: counts from 1 to js are never published.
    stack: (D2, V2), the noise of large counts when it is to differ. Immutable; equal when all chances are.
    """

    #: Keys are sums over contributors.
    shared_by = "contributors"
    D: int
    V: float
    js: int
    stack: tuple[int, float] | None
    #: Whether it was read with `from_ptable`, so that its chances need not be those of its parameters.
    imported: bool
    _chances: Floats

    def __init__(
        self,
        D: int,
        V: float,
        js: int = 0,
        stack: tuple[int, float] | None = None,
    ) -> None:
        D, V, js, stack = checked_matrix(D, V, js, stack)
        self._hold(D, V, js, stack, _stacked(solve_rows(D, V, js), js, stack))

    def _hold(
        self,
        D: int,
        V: float,
        js: int,
        stack: tuple[int, float] | None,
        chances: Floats,
        *,
        imported: bool = False,
    ) -> None:
        chances.flags.writeable = False
        self.__dict__.update(D=D, V=V, js=js, stack=stack, imported=imported, _chances=chances)

    @property
    def chances(self) -> Floats:
        """One row a count from 0 to `last`, one column a deviation from -reach to reach."""
        return self._chances

    @property
    def name(self) -> str:
        """How texts call it."""
        stacked = f", stack = ({self.stack[0]}, {self.stack[1]:g})" if self.stack else ""
        made = "imported transition matrix" if self.imported else "transition matrix"
        return f"{made} (D = {self.D}, V = {self.V:g}, js = {self.js}{stacked})"

    @property
    def large(self) -> Floats:
        """The chances of the deviations -reach, …, reach of every count from `last` on."""
        row: Floats = self.chances[-1]
        return row

    def row_of(self, counts: Integers) -> Integers:
        """Counts beyond the last row are served by it."""
        return np.minimum(counts, self.last)

    @cached_property
    def thresholds(self) -> Integers:
        """Where the keys of each deviation end, as integers up to 2^32; a key equal to one belongs to the next."""
        thresholds = cut_keys(self.chances)
        thresholds.flags.writeable = False
        return thresholds

    @cached_property
    def _guide(self) -> Any:
        return draw_guide(self.thresholds)

    def deviations(self, counts: ArrayLike, cell_keys: ArrayLike) -> Integers:
        """The deviation of each count, as its cell key (an integer below 2^32) decides it."""
        true, keys = checked_counts(counts, "counts"), checked_keys(cell_keys)
        if true.shape != keys.shape:
            raise DataError(f"{true.size:,} counts and {keys.size:,} cell keys: each cell needs one key of its own.")
        rows = self.row_of(true)
        if true.size > guide_size(self.last + 1):
            places = look_up(self._guide, self.thresholds, rows.reshape(-1), keys.reshape(-1)).reshape(true.shape)
        else:
            places = search_places(self.thresholds, rows, keys)
        return places - self.reach

    def to_frame(self) -> pl.DataFrame:
        """The perturbation table: i, j, p, v = j - i and the interval of keys in [0, 1) of each row 0 to `last`."""
        rows, columns = np.nonzero(self.chances)
        chances = self.chances[rows, columns]
        ends = self.thresholds[rows, columns] / KEYS
        new_row = np.r_[True, rows[1:] != rows[:-1]]
        deviations = columns - self.reach
        return pl.DataFrame(
            {
                "i": rows,
                "j": rows + deviations,
                "p": chances,
                "v": deviations,
                "p_int_lb": np.where(new_row, 0.0, np.r_[0.0, ends[:-1]]),
                "p_int_ub": ends,
            },
            schema_overrides={"i": pl.Int64, "j": pl.Int64, "v": pl.Int64},
        )

    def plot(
        self,
        count: int | Literal["large"] = "large",
        *,
        beside: Sequence[TransitionMatrix] = (),
        within: int = 2,
        language: str = "en",
    ) -> alt.Chart:
        """The noise on a count, or on large counts, with the chance of moving by `within` at most; others beside it."""
        from flou.describe.mechanism.transition_charts import compare_matrices

        return compare_matrices([self, *beside], count=count, within=within, language=language)

    def to_ptable(self, path: str | PathLike[str] | None = None, *, overwrite: bool = False) -> pl.DataFrame:
        """`to_frame` in the form of the R package ptable, for cellKey and ckm; written as CSV where a path is given."""
        return write_ptable(self.to_frame(), path, overwrite=overwrite)

    @classmethod
    def from_ptable(cls, source: object) -> TransitionMatrix:
        """A matrix made elsewhere: a CSV file or a frame with i, j and p, or with one column a published count.

        D, V and js are read off it; it may be biased, which `bias` shows.
        """
        chances = read_chances(source)
        last, reach = len(chances) - 1, chances.shape[1] // 2
        deviations = np.arange(-reach, reach + 1)
        variance = chances @ deviations**2 - (chances @ deviations) ** 2
        # the last row serves larger counts too, which may reach what no listed count does
        counts = np.arange(last + 2 * reach + 2)
        published = (counts[:, None] + deviations)[chances[np.minimum(counts, last)] > 0]
        matrix = cls.__new__(cls)
        matrix._hold(
            reach, float(variance.max()), int(published[published > 0].min()) - 1, None, chances, imported=True
        )
        return matrix

    def __getstate__(self) -> dict[str, Any]:
        return {k: v for k, v in self.__dict__.items() if k not in ("thresholds", "_guide")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._chances.flags.writeable = False  # which a copy does not keep

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"A transition matrix does not change; make another one with {name} = {value!r}.")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"A transition matrix does not change: {name} stays.")

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TransitionMatrix):
            return NotImplemented
        return bool(np.array_equal(self.chances, other.chances))

    def __hash__(self) -> int:
        return hash((self.chances.shape, self.chances.tobytes()))

    def __repr__(self) -> str:
        if self.imported:
            return f"<TransitionMatrix read from a table: D={self.D}, V={self.V:g}, js={self.js}>"
        stacked = f", stack=({self.stack[0]}, {self.stack[1]:g})" if self.stack else ""
        return f"TransitionMatrix(D={self.D}, V={self.V:g}, js={self.js}{stacked})"

    def _repr_html_(self) -> str:
        shown = range(self.last + 1) if self.last <= _MOST_LINES else (*range(_MOST_LINES), self.last)
        cells = "".join(
            f"<tr><td>{i}{'+' if i == self.last else ''}</td><td>{self.targets(i)[0]} … {self.targets(i)[-1]}</td>"
            f"<td>{self.deviation_row(i)[self.reach]:.3f}</td><td>{self.variance(i):.3f}</td></tr>"
            for i in shown
        )
        head = "<tr><th>count</th><th>published</th><th>P(unchanged)</th><th>variance</th></tr>"
        return f"<table><caption>{escape(repr(self))}</caption>{head}{cells}</table>"


def _stacked(chances: Floats, js: int, stack: tuple[int, float] | None) -> Floats:
    """Rows for small counts with one row more for the large ones; between them the last row of the small ones."""
    if stack is None:
        return chances
    large = solve_rows(*stack, 0)[-1]
    small_reach, large_reach = chances.shape[1] // 2, stack[0]
    reach = max(small_reach, large_reach)
    first_large = reach if js == 0 else js + reach + 1
    rows = np.zeros((first_large + 1, 2 * reach + 1))
    served = np.minimum(np.arange(first_large), len(chances) - 1)
    rows[:first_large, reach - small_reach : reach + small_reach + 1] = chances[served]
    rows[first_large, reach - large_reach : reach + large_reach + 1] = large
    return rows
