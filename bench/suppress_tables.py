"""The tables whose suppression is measured: drawn from a seed, flat and nested, with many sensitive cells and with few.

Categories are of unequal size (Dirichlet weights), amounts are log-normal whole numbers. A table is known by its shape,
how even its categories are, how many records a cell of the finest level holds on average, and a seed.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

import flou
from flou.describe.table.table import Table

RULES = (flou.risk.PPercent(p=10), flou.risk.Threshold(n=3))
#: By name: the finest categories of each dimension, and how many of them make a group (1: no groups).
SHAPES = {
    "2-D 100 × 50": ((100, 1), (50, 1)),
    "3-D 30 × 12 × 6": ((30, 1), (12, 1), (6, 1)),
    "2-D nested 105 × 111": ((96, 12), (100, 10)),
    "3-D nested 105 × 25 × 9": ((96, 12), (20, 5), (8, 1)),
    "2-D nested 421 × 476": ((400, 20), (450, 18)),
}
BUSINESS = "business, 2-D nested"
_GOLDEN = Path(__file__).parents[1] / "tests" / "golden" / "business_1200.csv"


@dataclass(frozen=True)
class Instance:
    """A table to protect."""

    shape: str
    #: The parameter of the Dirichlet weights: the smaller, the more categories are small.
    even: float = 0.0
    #: Records by cell of the finest level.
    each: int = 0
    seed: int = 0

    @property
    def name(self) -> str:
        return (
            self.shape if not self.each else f"{self.shape}, Dirichlet({self.even:g}) × {self.each}, seed {self.seed}"
        )

    def records(self, folder: Path) -> tuple[pl.DataFrame, dict[str, str]]:
        """The records, and by column of finest categories that of their groups."""
        if self.shape == BUSINESS:
            given = folder / "in_business.csv"
            read = pl.read_csv(given if given.exists() else _GOLDEN)
            return read.select("ind", "indg", "reg", amount="turnover"), {"ind": "indg"}
        rng = np.random.default_rng(self.seed)
        shape = SHAPES[self.shape]
        n = int(np.prod([n_finest for n_finest, _ in shape])) * self.each
        columns: dict[str, object] = {}
        groups = {}
        for j, (n_finest, n_group) in enumerate(shape):
            finest = rng.choice(n_finest, n, p=rng.dirichlet(np.full(n_finest, self.even)))
            columns[f"d{j}"] = np.char.mod("%03d", finest)
            if n_group > 1:
                columns[f"g{j}"] = np.char.mod("G%02d", finest // n_group)
                groups[f"d{j}"] = f"g{j}"
        columns["amount"] = np.round(np.exp(rng.normal(4, 1.6, n))) + 1
        return pl.DataFrame(columns), groups

    def table(self, folder: Path) -> Table:
        """The table of sums, empty cells included."""
        records, groups = self.records(folder)
        finest = [name for name in records.columns if name != "amount" and name not in groups.values()]
        dims = [f"{groups[name]}>{name}" if name in groups else name for name in finest]
        return flou.Microdata(records).tabulate(dims, value="amount", largest=2, cells="all")

    def write(self, folder: Path, where: Path) -> None:
        """What pytauargus reads."""
        records, groups = self.records(folder)
        records.drop(groups.values()).write_csv(where / "records.csv")
        nested = {
            fine: {str(a): str(b) for a, b in records.select(fine, coarse).unique().iter_rows()}
            for fine, coarse in groups.items()
        }
        (where / "groups.json").write_text(json.dumps(nested), encoding="utf-8")
