"""What a reconstruction found, for whoever made it and for whoever judges it, and links of its records to names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl

from flou.attack.results.records import FoundRecords, RecordsResult
from flou.attack.table.rebuild.evaluation import Truth
from flou.attack.table.rebuild.linkage import link_people, shared_attributes
from flou.attack.table.rebuild.rebuilt import Rebuilt
from flou.describe.microdata import Microdata
from flou.describe.table.unseen_cells import assumed_values
from flou.engine import native
from flou.engine.attack import Rate
from flou.engine.errors import DataError
from flou.engine.figure import Figure, with_values
from flou.engine.note import Note
from flou.engine.result import Result


@dataclass(frozen=True)
class Bounds:
    """How many people a query counts, at least and at most, in every population that fits; None without a bound."""

    low: int
    high: int | None
    #: Whether some population reaches each end; if not the ends hold all the same.
    exact: bool


class _Population(FoundRecords):
    """A population that was rebuilt."""

    found: Rebuilt

    def bounds(self, query: Mapping[str, Any] | None = None, **values: Any) -> Bounds:
        """The least and largest number of people with these values: `bounds(gender="female", age=range(30, 35))`."""
        return Bounds(*self.found.bounds({**(query or {}), **values}))


@dataclass(frozen=True, eq=False)
class Reconstructed(_Population):
    """What an intruder holds: records, those that are certain, and bounds of any count."""

    found: Rebuilt = field(repr=False)
    native_kind: native.Kind = "polars"

    def __repr__(self) -> str:
        sure = f"{self.found.n_certain:,} of them for certain" if self.found.asked else "none looked at"
        head = f"{self.found.n_people:,} people rebuilt from tables, {sure}"
        return "\n".join([head, *(f"  Note: {note}" for note in self.notes)])

    @property
    def notes(self) -> tuple[Note, ...]:
        """What was taken for granted."""
        return assumptions(self.found)


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class ReconstructionResult(_Population, RecordsResult):
    """Match rates and what was rebuilt."""

    found: Rebuilt = field(repr=False)
    truth: Truth | None = field(repr=False)

    def link(self, external: Microdata, *, on: Sequence[str] = ()) -> LinkResult:
        """Match the rebuilt records with a file of names, whose column `id` is that of the true records.

        `on` are the columns to match by, by default all attributes of the tables that the outside file has.
        """
        if self.truth is None:
            raise DataError("The true records are not part of a copied result: link in the process that made it.")
        if not isinstance(external, Microdata):
            raise DataError(
                f"link takes flou.Microdata with the role id, not {type(external).__name__}: "
                'flou.Microdata(frame, id="pid", identifiers=["name"], keys=["age", "gender"]).'
            )
        case = self.found.case
        at = shared_attributes(case.universe, external, on)
        links = link_people(case, [s.cells for s in self.found.solved], self.truth, external, at)
        n_putative, n_confirmed = int(links.putative.sum()), int(links.confirmed.sum())
        who = external.schema.id
        assert who is not None  # a file without the role is refused before
        chosen = np.flatnonzero(links.putative)
        ids = native.collect(external.frame.select(who))[who].gather(chosen.astype(np.uint32))
        frame = case.universe.frame(links.cell[chosen])
        frame = frame.insert_column(0, ids.alias(who)) if who not in frame.columns else frame
        rate = Rate(n_confirmed, links.n_people)
        return LinkResult(
            method=self.method,
            title="re-identification of rebuilt records",
            settings={**self.settings, "on": [case.universe.attributes[j].column for j in at]},
            headline=Figure(
                "value", "share of the people in both files who are re-identified", "share", value=rate.value
            ),
            interval=rate.interval,
            figures=with_values(
                _LINK_FIGURES,
                {
                    "n_external": len(links.cell),
                    "n_in_both": links.n_people,
                    "n_putative": n_putative,
                    "n_confirmed": n_confirmed,
                    "precision": n_confirmed / n_putative if n_putative else 0.0,
                },
            ),
            measured_on=self.measured_on,
            test_only=self.test_only,
            frame=frame.with_columns(pl.Series("confirmed", links.confirmed[chosen])),
            native_kind=self.native_kind,
        )


_LINK_FIGURES = (
    Figure("n_external", "people in the outside file", "count"),
    Figure("n_in_both", "of these among the true records", "count"),
    Figure("n_putative", "people linked to one rebuilt record", "count"),
    Figure("n_confirmed", "of these to their true one", "count"),
    Figure("precision", "share of links that are true", "share"),
)


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class LinkResult(Result):
    """Re-identification rate by a file of names; the links themselves are internal."""

    frame: pl.DataFrame = field(repr=False)
    native_kind: native.Kind = "polars"

    @property
    def findings(self) -> Any:
        """One line a person who was linked: her number, what was rebuilt of her, and whether it is true."""
        return native.like(self.frame, self.native_kind)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "frame": self.frame.clear()}


def assumptions(found: Rebuilt) -> tuple[Note, ...]:
    """What the attack assumes of tables that others published, and what it would prove if more were stated."""
    notes, n = assumed_values(found.case.assumed), found.n_if_zeros_are_shown
    if n == -1:
        text = "a suppressed cell is empty for certain: otherwise the figures would contradict each other"
        notes += (Note(text),)
    elif n is not None:
        text = "suppressed cells may be empty here; if none were, {n} people would be certain"
        notes += (Note(text, {"n": n}),)
    return notes
