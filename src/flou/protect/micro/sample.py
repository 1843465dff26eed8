"""A stratified random sample (Djiriguian, Missègue & Ricroch 2022), drawn by a design that stays secret.

Each unit has a lasting random number for the period (Ohlsson 1995), and the smallest numbers of a stratum are drawn:
simple random sampling without replacement, in which a record that comes, goes or is corrected moves nobody else.
Nobody knows who is in the sample, so a person who is alone in it need not be alone in the file that it was
drawn from, the frame: classes of the frame protect as they did, and every promise made before is proven on
the frame. Every unit has the same chance, so that weights tell no stratum; strata only make the sample resemble
the frame more closely. It protects nobody who is known to be in the sample.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import narwhals as nw
import numpy as np
import polars as pl
from numpy.typing import NDArray
from pydantic import Field

from flou.describe.microdata import Microdata
from flou.engine import native
from flou.engine.errors import DataError
from flou.engine.guarantee import Guarantee
from flou.engine.note import Note
from flou.engine.parameters import Names
from flou.engine.protection import Claim, Protection
from flou.engine.randomness import Draws
from flou.engine.release import Change, Outcome
from flou.engine.taxonomy import always
from flou.engine.values import Proportion
from flou.protect.micro.remembered import Remembered
from flou.protect.micro.rows import read_rows
from flou.protect.micro.weight_column import weight_column

_SECRET: dict[str, Any] = {"secret": True}


class Sample(Protection):
    """Publish a random part of the records: `Sample(share=0.5, by=["department", "gir"])`.

    Records get the weight 1/share (times the weight that they had). What comes after it must leave the
    columns of the frame as they are.
    """

    reference: ClassVar[str] = "djiriguian2022"
    title: ClassVar[str] = "stratified sample"
    audience = "public"
    perturbative = False
    answers_by = always(identity="reduces", presence="reduces")
    preserves: ClassVar[tuple[Claim, ...]] = ("untouched columns",)

    share: float = Field(0.5, gt=0.0, lt=1.0, description="each record's chance to be drawn", json_schema_extra=_SECRET)
    by: Names = Field((), description="strata, of which the sample has its share", json_schema_extra=_SECRET)
    weight: str | None = Field(None, description="the column of weights; default: the schema's, or else a new weight")

    @property
    def touches(self) -> tuple[str, ...]:
        return () if self.weight is None else (self.weight,)

    def _protect(self, data: Microdata, draw: Draws) -> Outcome:
        weight = weight_column(data, self.weight)
        held = () if data.schema.weight is None else (weight,)
        rows = read_rows(data, (*self.by, *held), type(self).__name__)
        if data.schema.id is None:
            raise DataError(
                "A sample needs the role id: units known by their content alone get other numbers when one record of "
                "the file is corrected, and the two samples together would show more people than either."
            )
        # a sample of a sample has numbers of its own: those of the first are small among whom it drew
        own = draw.of_period(f"sample {_n_frames(data)}")
        units = own.canonical(rows.ids)
        drawn = draw_sample(rows.strata(self.by), own.bits(units), own.uniform(units, 1), self.share)
        n = int(drawn.sum())
        if not n:
            raise DataError(f"A sample of {len(rows):,} records with this share is empty.")
        before = rows.frame[weight].cast(pl.Float64) if held else pl.Series(weight, np.ones(len(rows)))
        marked = rows.put_back(
            {weight: before / self.share, _DRAWN: pl.Series(_DRAWN, drawn)}, data.schema.with_changes(weight=weight)
        )
        frame = data.marked(frame=True)
        everybody = Remembered(rows.owners, np.zeros(len(rows), dtype=np.int8))
        sampled = marked.with_frame(marked.frame.filter(nw.col(_DRAWN)).drop(_DRAWN)).with_kin(frame=frame)
        if sampled.n_records != n:
            raise DataError("The engine did not find the drawn records again; nothing is released.")
        return Outcome(
            sampled,
            guarantees=(AsInFrame(weight, n, everybody),),
            changes=(Change(weight, n),),
            notes=(
                Note("a random sample was drawn; its design is secret"),
                Note(
                    "who is in the file for {n} periods is drawn at least once with a chance of {share}",
                    {"n": _PERIODS, "share": Proportion(1.0 - (1.0 - self.share) ** _PERIODS)},
                    internal=True,
                ),
            ),
        )


@dataclass(frozen=True, eq=False)
class AsInFrame(Guarantee):
    """The records are as many as were drawn, and as they stand in the file that they were drawn from."""

    weight: str
    n_drawn: int
    everybody: Remembered = field(repr=False)

    text = "the records are a sample, each as it stands in the file that it was drawn from"

    def violations(self, data: Microdata) -> int:
        self.everybody.beside(data, [])
        return max(0, data.n_records - self.n_drawn) + changed_since(data, self.weight)


#: For how many periods the report says how many people samples show together.
_PERIODS = 5
_DRAWN = f"{native.RESERVED}drawn"


def _n_frames(data: Microdata) -> int:
    """How many samples were drawn before."""
    frame = data.kin.frame
    return 0 if frame is None else 1 + _n_frames(frame)


def draw_sample(
    strata: NDArray[np.int64], numbers: NDArray[np.uint64], starts: NDArray[np.float64], share: float
) -> NDArray[np.bool_]:
    """Which units are drawn: those with the smallest numbers of each stratum, its share of units or the next number.

    The share is rounded at random, so that each unit has the chance `share`: up where the start of the unit with the
    smallest number says so. Numbers and starts hang on the unit alone, so that a stratum hangs on its own units alone.
    """
    line = np.lexsort((numbers, strata))
    first = np.flatnonzero(np.diff(strata[line], prepend=-1))
    sizes = np.diff(first, append=len(line))
    wanted = np.floor(share * sizes + starts[line[first]])
    place = np.arange(len(line)) - np.repeat(first, sizes)
    drawn = np.zeros(len(line), dtype=np.bool_)
    drawn[line] = place < np.repeat(wanted, sizes)
    return drawn


def changed_since(data: Microdata, weight: str) -> int:
    """Records of a sample that differ from those of its frame in a column that both have, or that came back."""
    frame = data.kin.frame
    if frame is None:
        return 0
    if _back_again(data, frame, weight):
        return data.n_records
    names = [c for c in data.columns if c in frame.columns and c != weight]
    unit = frame.numbered().unit_column
    read = native.collect(frame.numbered().frame.select(*dict.fromkeys([unit, *names])))
    places, now = Remembered(read[unit].to_numpy(), np.arange(read.height)).beside(data, names)
    wrong = np.zeros(now.height, dtype=np.bool_)
    for name in names:
        was = read[name].gather(places)
        if was.dtype != now[name].dtype:
            return now.height
        wrong |= was.ne_missing(now[name]).to_numpy()
    return int(wrong.sum())


def _back_again(data: Microdata, frame: Microdata, weight: str) -> bool:
    """Whether a column of the plan's input that a step before the sample dropped is there again."""
    original = data.kin.original
    new = [c for c in data.columns if c not in frame.columns and c != weight]
    return original is not None and any(c in original.columns for c in new)
