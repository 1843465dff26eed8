"""What a step knew of each unit, to check the final file by: some records may have left, none is new."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np
import polars as pl
from numpy.typing import NDArray

from flou.describe.microdata import Microdata
from flou.engine import native
from flou.engine.errors import GuaranteeBrokenError

_OWNER = f"{native.RESERVED}owner"


@dataclass(frozen=True, eq=False, repr=False)
class Remembered:
    """A value for each unit, in the order of the units."""

    owners: NDArray[Any]
    values: NDArray[Any]

    def __post_init__(self) -> None:
        order = np.argsort(self.owners, kind="stable")
        object.__setattr__(self, "values", self.values[order])
        object.__setattr__(self, "owners", self.owners[order])

    def of(self, owners: NDArray[Any]) -> NDArray[Any]:
        """What was remembered of these units."""
        places = np.minimum(np.searchsorted(self.owners, owners), max(len(self.owners) - 1, 0))
        if len(owners) and not (self.owners[places] == owners).all():
            raise GuaranteeBrokenError("A record of the output was not in the step's input; nothing is released.")
        return self.values[places]

    def beside(self, data: Microdata, columns: list[str]) -> tuple[NDArray[Any], pl.DataFrame]:
        """What was remembered of the units that are still there, and the columns as they are now, row by row."""
        held = data.numbered()
        now = native.collect(held.frame.select(nw.col(held.unit_column).alias(_OWNER), *columns))
        return self.of(now[_OWNER].to_numpy()), now.drop(_OWNER)
