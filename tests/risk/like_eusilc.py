"""A file like eusilc: persons in households, and a weight that is constant per region and household size."""

from __future__ import annotations

from typing import ClassVar, Literal

import narwhals as nw
import numpy as np
import polars as pl

import flou
from flou.describe.microdata import Microdata
from flou.engine.protection import Protection
from flou.engine.randomness import Draws
from flou.engine.release import Outcome

KEYS = ["region", "size", "age", "sex"]
_REGIONS = [0.03, 0.07, 0.19, 0.09, 0.15, 0.17, 0.08, 0.05, 0.17]
_SIZES = [0.31, 0.29, 0.16, 0.14, 0.06, 0.025, 0.01, 0.005]


def like_eusilc(
    wrong: float = 0.0, weights: Literal["telling", "independent"] = "telling", households: int = 6_000
) -> flou.Microdata:
    """Some 15,000 persons; `wrong` is the share of those who have the weight of somebody else."""
    rng = np.random.default_rng(1)
    region, size = rng.choice(9, households, p=_REGIONS), rng.choice(np.arange(1, 9), households, p=_SIZES)
    hid = np.repeat(np.arange(households), size)
    n = len(hid)
    table = np.round(rng.uniform(200, 900, (9, 9)), 4)
    weight = table[region, size][hid]
    other = rng.permutation(weight)
    weight = other if weights == "independent" else np.where(rng.random(n) < wrong, other, weight)
    frame = pl.DataFrame(
        {
            "pid": np.arange(n),
            "hid": hid,
            "region": [f"AT{r}" for r in region[hid]],
            "size": size[hid],
            "age": [f"{a // 5 * 5}" for a in rng.integers(0, 95, n)],
            "sex": rng.choice(["m", "f"], n),
            "citizenship": rng.choice(["AT", "EU", "other"], n, p=[0.9, 0.05, 0.05]),
            "income": np.round(rng.lognormal(10, 0.7, n), 2),
            "weight": weight,
        }
    )
    return flou.Microdata(
        frame, id="pid", household="hid", keys=KEYS, sensitive=["income"], weight="weight", others=["citizenship"]
    )


class Hide(Protection):
    """Null every `nth` value of a column, or drop it: for tests."""

    claims: ClassVar[tuple[()]] = ()  # type: ignore[assignment]

    column: str
    nth: int | None = None

    def _protect(self, data: Microdata, draw: Draws) -> Outcome:
        if self.nth is None:
            return Outcome(data.with_frame(data.frame.drop(self.column), data.schema.without([self.column])))
        shown = nw.when(nw.col("pid") % self.nth != 0).then(nw.col(self.column)).alias(self.column)
        return Outcome(data.with_frame(data.frame.with_columns(shown)))
