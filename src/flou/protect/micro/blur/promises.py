"""What an interval blur promises of the final file: values in their class, on the unit, and not the original ones."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from numpy.typing import NDArray

from flou.describe.microdata import Microdata
from flou.engine.errors import Infeasible
from flou.engine.guarantee import Guarantee
from flou.protect.micro.blur.blurring import Blurring, number_classes
from flou.protect.micro.blur.classes import Classes
from flou.protect.micro.remembered import Remembered
from flou.protect.micro.rows import Amounts, Rows

if TYPE_CHECKING:
    from flou.protect.micro.blur.interval_blur import IntervalBlur

Floats = NDArray[np.float64]

#: Originals that are shown beyond chance count from here on: as many records, and this share of those drawn.
_MIN_RECORDS, _MIN_SHARE = 10, 0.01


@dataclass(frozen=True)
class Looked:
    """Records of a later file beside what the step knew of them."""

    stratum: NDArray[np.int64]
    number: NDArray[np.int64]
    #: How often chance shows the original; 1 for zeros and saturated values, which always show it.
    chance: Floats
    original: Floats
    drawn: Floats
    now: Floats


def blur_promises(
    method: IntervalBlur, rows: Rows, held: Amounts, strata: NDArray[np.int64], parts: list[Blurring], drawn: Floats
) -> tuple[Guarantee, ...]:
    """The promises of a blur whose strata are `parts`; `drawn` are the values that it gave."""
    members = np.argsort(strata, kind="stable")
    number, chance = np.empty(len(rows), dtype=np.int64), np.empty(len(rows))
    number[members] = np.concatenate([part.number for part in parts])
    chance[members] = np.concatenate([part.chance[part.number] for part in parts])
    known = Remembered(rows.owners, np.column_stack([strata, number, chance, held.values, drawn]))
    unit = method.unit
    free = (chance < 1) & np.isfinite(drawn)
    same = int((free & (np.abs(held.values - drawn) <= unit / 2)).sum())
    usual = _met_by_chance(Looked(strata, number, chance, held.values, drawn, drawn), free, unit)
    if _more_than_chance(same, usual, int(free.sum())):
        raise Infeasible(
            f"IntervalBlur of {method.column!r} would show {same:,} records their original value, where chance gives "
            f"{usual:,.0f}: other columns tell it so exactly that drawing it anew changes little.",
            best=f"{same / int(free.sum()):.1%} of the values equal the original to the unit",
            next_step="Give fewer covariates (given), wider classes, or a larger unit.",
        )
    classes = tuple(part.classes for part in parts)
    return (StaysInClass(method, known, classes), OnUnit(method, known), NotAsBefore(method, known))


@dataclass(frozen=True, eq=False)
class _OfBlurred(Guarantee):
    """A promise of the values that a blur draws."""

    method: IntervalBlur
    #: Stratum, class, chance, original and drawn value of each unit.
    known: Remembered = field(repr=False)

    @property
    def column(self) -> str:
        return self.method.column

    @property
    def unit(self) -> float:
        return self.method.unit

    def violations(self, data: Microdata) -> int:
        if not _still_amounts(data, self.column):
            return 0  # these values are shown no more
        was, now = self.known.beside(data, [self.column])
        places = was[:, 0].astype(np.int64), was[:, 1].astype(np.int64)
        chance, original, drawn = was[:, 2:].T
        return self._wrong(Looked(*places, chance, original, drawn, Amounts.of(data, now[self.column]).values))

    @abstractmethod
    def _wrong(self, found: Looked) -> int:
        """The violations among the records that are left."""


@dataclass(frozen=True, eq=False)
class StaysInClass(_OfBlurred):
    """Values stay in their class."""

    #: Of each stratum.
    classes: tuple[Classes, ...] = field(repr=False)

    text = "every value of {column} stays in its class"

    def _wrong(self, found: Looked) -> int:
        wrong = 0
        for stratum, classes in enumerate(self.classes):
            here = found.stratum == stratum
            now, wanted = found.now[here], found.number[here]
            # a value that a later step made null is shown no more; one that had none must not get one
            gone = np.isnan(now) & (wanted >= 0)
            wrong += int(((number_classes(self.method, classes, now) != wanted) & ~gone).sum())
        return wrong


class OnUnit(_OfBlurred):
    """Values are multiples of the unit."""

    text = "{column} is shown in multiples of {unit}"

    def _wrong(self, found: Looked) -> int:
        counts = found.now[found.chance < 1] / self.unit
        return int((np.abs(counts - np.rint(counts)) > 1e-6).sum())


class NotAsBefore(_OfBlurred):
    """The violations are records that show their original amount, where they are more than chance gives."""

    text = "{column} shows its original values no more often than chance, give or take 1%"

    def _wrong(self, found: Looked) -> int:
        free = found.chance < 1
        same = free & (np.abs(found.original - found.now) <= self.unit / 2)
        usual = _met_by_chance(found, free, self.unit)
        if _more_than_chance(int(same.sum()), usual, int(free.sum())):
            return int(same.sum())
        # a later step may draw once more, and then meets the original by chance
        changed = free & np.isfinite(found.now) & (np.abs(found.now - found.drawn) > 1e-6 * self.unit)
        usual = float(found.chance[changed].sum())
        put_back = int((same & changed).sum())
        return put_back if put_back > usual + 5 * np.sqrt(usual) else 0


def _more_than_chance(same: int, usual: float, n: int) -> bool:
    """Whether more records show their original than chance gives, and so many more that it matters."""
    return bool(same - usual > max(_MIN_RECORDS, _MIN_SHARE * n, 5 * np.sqrt(usual)))


def _met_by_chance(found: Looked, free: NDArray[np.bool_], unit: float) -> float:
    """How many records would show their original if the values shown in a class were dealt out anew among its records.

    Where many records of a class have one value, such as a legal ceiling, draws meet it often, and tell nobody apart.
    """
    shown = free & np.isfinite(found.now)
    columns = {"stratum": found.stratum, "class": found.number, "was": found.original / unit, "now": found.now / unit}
    rows = pl.DataFrame({name: values[shown] for name, values in columns.items()}).with_columns(
        pl.col("was", "now").round().cast(pl.Int64)
    )
    place = ["stratum", "class"]
    was = rows.group_by(*place, pl.col("was").alias("value")).agg(pl.len().alias("n_was"))
    now = rows.group_by(*place, pl.col("now").alias("value")).agg(pl.len().alias("n_now"))
    both = was.join(now, on=[*place, "value"]).join(rows.group_by(place).agg(pl.len().alias("n")), on=place)
    return float((both["n_was"].cast(pl.Float64) * both["n_now"] / both["n"]).sum())


def _still_amounts(data: Microdata, column: str) -> bool:
    """Whether a column is there and still holds amounts; dropped or recoded, its values are no longer shown."""
    if column not in data.columns:
        return False
    dtype = data.frame.collect_schema()[column]
    return dtype.is_numeric() or dtype.is_temporal()
