"""What a step knew of each unit, to check the final file by: some records may have left, none is new."""

from __future__ import annotations

from typing import Any

import narwhals as nw
import numpy as np
import polars as pl
from numpy.typing import NDArray

from flou.describe.microdata import Microdata
from flou.engine import native

_OWNER = f"{native.RESERVED}owner"


class Remembered:
    """A value for each unit."""

    def __init__(self, owners: NDArray[Any], values: NDArray[Any]) -> None:
        order = np.argsort(owners, kind="stable")
        self._owners, self._values = owners[order], values[order]

    def beside(self, data: Microdata, columns: list[str]) -> tuple[NDArray[Any], pl.DataFrame]:
        """What was remembered of the units that are still there, and the columns as they are now, row by row."""
        frame = data.numbered().frame
        now = native.collect(frame.select(nw.col(data.numbered().unit_column).alias(_OWNER), *columns))
        owners = now[_OWNER].to_numpy()
        places = np.searchsorted(self._owners, owners)
        places = np.minimum(places, max(len(self._owners) - 1, 0))
        if len(owners) and not (self._owners[places] == owners).all():
            raise AssertionError("a record of the output was not in the step's input")
        return self._values[places], now.drop(_OWNER)
