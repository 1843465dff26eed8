"""Amounts that the members of a household share are perturbed once, for all of them.

Noise drawn for each member would be averaged away: the mean of four members' amounts has half of it. So the member
with the first id stands for those who share his amount, and the others show what he shows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from flou.describe.household_amounts import deviating_households, suspected_amounts
from flou.describe.microdata import Microdata
from flou.engine import native
from flou.engine.note import Note
from flou.engine.randomness import Draws
from flou.engine.values import Proportion
from flou.protect.micro.rows import Rows

_PLACE = f"{native.RESERVED}place"


@dataclass(frozen=True)
class SharedAmounts:
    """Columns with amounts of households, and those that are only suspected of it."""

    household: str
    #: The share of the households of two and more whose members do not agree.
    deviating: Mapping[str, float]
    suspected: tuple[str, ...]

    @classmethod
    def of(cls, data: Microdata, columns: Sequence[str]) -> SharedAmounts:
        named = tuple(columns)
        return cls(data.schema.household or "", deviating_households(data, named), suspected_amounts(data, named))

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns with amounts of households."""
        return tuple(self.deviating)

    @property
    def needed(self) -> tuple[str, ...]:
        """The column to read beside the amounts."""
        return (self.household,) if self.columns else ()

    def places(self, rows: Rows, column: str, by: Sequence[str] = ()) -> NDArray[np.intp] | None:
        """For each row the one that stands for it; None where each stands for itself.

        Members who do not share the amount stand for themselves, and so do those in another stratum of `by`.
        """
        if column not in self.columns:
            return None
        held = rows.frame.select(self.household, column, *by).with_row_index(_PLACE)
        first = pl.col(_PLACE).min().over(self.household, column, *by)
        alone = pl.col(self.household).is_null()
        return held.select(pl.when(alone).then(_PLACE).otherwise(first)).to_series().to_numpy().astype(np.intp)

    def units(
        self,
        own: Draws,
        rows: Rows,
        columns: Sequence[str],
        *values: NDArray[np.generic],
        some: NDArray[np.intp] | slice = slice(None),
    ) -> NDArray[np.int64]:
        """Units to draw these columns by: households where they share all of them, so that members may come and go.

        `values` are those of `some` of the rows.
        """
        persons = own.units(rows.ids[some], *values)
        if not set(columns) <= set(self.columns):
            return persons
        held = rows.frame[self.household][some]
        known = held.is_not_null().to_numpy()
        homes = own.canonical(held.drop_nulls().to_numpy())
        units = persons.copy()
        units[known] = own.bound("household").units(homes, *(value[known] for value in values))
        return units

    def notes(self) -> list[Note]:
        """What is to be said of these columns."""
        once = "{column} is an amount of households: it is drawn once for the members who share it"
        apart = (
            "{column}: in {share} of the households of two and more the members do not have one amount; who deviates "
            "is drawn by himself"
        )
        many = (
            "{column} looks like an amount of households, since most of its values occur a few times. It is drawn for "
            "each record, so that a mean over members takes the noise off: declare the role household"
        )
        return [
            *(Note(once, {"column": c}) for c in self.columns),
            *(
                Note(apart, {"column": c, "share": Proportion(share)}, internal=True)
                for c, share in self.deviating.items()
                if share
            ),
            *(Note(many, {"column": c}) for c in self.suspected),
        ]


def stand_for_themselves(places: NDArray[np.intp] | None, n: int) -> NDArray[np.bool_]:
    """The rows that were drawn for: a proof that adds up draws counts each of them once."""
    return np.ones(n, dtype=np.bool_) if places is None else places == np.arange(n)
