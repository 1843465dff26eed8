"""What a reconstruction found: match rates for those who protect, and what anybody could hold who did it.

The rebuilt records and the certain ones follow from what is published. Which of them are true, and who they are, stays
in this process: a copy of the result that leaves it does not take the true records along.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from flou.attack.table.rebuild.evaluation import Evaluation, Truth
from flou.attack.table.rebuild.linkage import Links, link_people, shared_attributes
from flou.attack.table.rebuild.rebuilt import Rebuilt
from flou.attack.table.reconstruction_chart import draw_matches
from flou.describe.microdata import Microdata
from flou.describe.table.unseen_cells import assumed_values
from flou.engine import native
from flou.engine.attack import Rate, lift_over
from flou.engine.charts import Look
from flou.engine.errors import DataError
from flou.engine.figure import Figure, FigureValue, with_values
from flou.engine.method import measured_on
from flou.engine.note import Note
from flou.engine.result import Result

if TYPE_CHECKING:
    import altair as alt

    from flou.attack.table.reconstruction import Reconstruction


@dataclass(frozen=True)
class Bounds:
    """How many people a query counts, at least and at most, in every population that fits; None without a bound."""

    low: int
    high: int | None
    #: Whether some population reaches each end; if not the ends hold all the same.
    exact: bool


class _Holding:
    """What anybody holds who rebuilt a population: records, those that are certain, and bounds of any count."""

    rebuilt: Rebuilt
    native_kind: native.Kind

    @property
    def records(self) -> Any:
        """One line a rebuilt record: its values, how many have it, how many for certain, the confidence if known."""
        return native.like(self.rebuilt.records(), self.native_kind)

    @property
    def certain(self) -> Any:
        """One line a record that is in every population that fits: proven, with the least number that have it."""
        return native.like(_proven(self.rebuilt), self.native_kind)

    def bounds(self, query: Mapping[str, Any] | None = None, **values: Any) -> Bounds:
        """The least and largest number of people with these values: `bounds(gender="female", age=range(30, 35))`."""
        return Bounds(*self.rebuilt.bounds({**(query or {}), **values}))


@dataclass(frozen=True, eq=False)
class Reconstructed(_Holding):
    """What an intruder holds: records, those that are certain, and bounds of any count."""

    rebuilt: Rebuilt = field(repr=False)
    native_kind: native.Kind = "polars"

    def __repr__(self) -> str:
        sure = f"{self.rebuilt.n_certain:,} of them for certain" if self.rebuilt.asked else "none looked at"
        head = f"{self.rebuilt.n_people:,} people rebuilt from tables, {sure}"
        return "\n".join([head, *(f"  Note: {note}" for note in self.notes)])

    @property
    def notes(self) -> tuple[Note, ...]:
        """What was taken for granted."""
        return tuple(_assumptions(self.rebuilt))


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class ReconstructionResult(_Holding, Result):
    """Match rates and what was rebuilt."""

    data: Any = field(repr=False)
    native_kind: native.Kind = "polars"
    rebuilt: Rebuilt = field(repr=False)
    #: The true records; only in the process that made the result.
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
        case = self.rebuilt.case
        at = shared_attributes(case.universe, external, on)
        links = link_people(case, [s.cells for s in self.rebuilt.solved], self.truth, external, at)
        return _link_result(self, links, external, [case.universe.attributes[j].column for j in at])

    def plot(self, language: str = "en") -> alt.Chart:
        """Match rates beside those of independent populations."""
        return draw_matches(self, Look(language))

    def to_frame(self) -> Any:
        """The figures, one a line."""
        return native.like(super().to_frame(), self.native_kind)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "truth": None, "data": None}


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class LinkResult(Result):
    """Re-identifications by a file of names; who was linked to what is for those who protect."""

    links: Links | None = field(repr=False)
    frame: pl.DataFrame = field(repr=False)
    native_kind: native.Kind = "polars"

    @property
    def findings(self) -> Any:
        """One line a person who was linked: her number, what was rebuilt of her, and whether it is true."""
        return native.like(self.frame, self.native_kind)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "links": None, "frame": self.frame.clear()}


def _proven(rebuilt: Rebuilt) -> pl.DataFrame:
    if not rebuilt.asked:
        raise DataError('Nothing was proven: the attack was made with certain="skip". Use certain="prove".')
    return rebuilt.certain()


def result_of(
    method: Reconstruction, released: Any, rebuilt: Rebuilt, truth: Truth, found: Evaluation, *, test_only: bool
) -> ReconstructionResult:
    """The result of an attack that was evaluated."""
    hits, by_chance = found.found, found.independent
    baseline = by_chance.share(by_chance.exact)
    value = hits.share(hits.exact)
    near = bool(method.tolerance)
    figures: dict[str, FigureValue] = {
        "baseline": baseline,
        "lift": lift_over(value, baseline),
        "multiset": hits.share(hits.exact_pairs),
        "baseline_multiset": by_chance.share(by_chance.exact_pairs),
    }
    if near:
        figures |= {
            "near": hits.share(hits.near),
            "baseline_near": by_chance.share(by_chance.near),
            "near_multiset": hits.share(hits.near_pairs),
            "baseline_near_multiset": by_chance.share(by_chance.near_pairs),
        }
    figures |= {
        "prior_alone": found.by_prior.share(found.by_prior.exact),
        "n_people": hits.n,
        "n_rebuilt": rebuilt.n_people,
        **({"n_certain": rebuilt.n_certain, "all_proven": rebuilt.proven} if rebuilt.asked else {}),
        "n_uniques": found.n_uniques,
        "n_unique_hits": found.n_unique_hits,
    }
    if rebuilt.mode == "likelihood":
        figures["optimal"] = all(s.optimal for s in rebuilt.solved)
    if rebuilt.mode == "posterior":
        figures["precision_top"] = None if math.isnan(found.precision) else found.precision
        figures["converged"] = all(s.converged for s in rebuilt.solved)
    if rebuilt.case.block is not None:
        figures["n_blocks"] = rebuilt.case.n_blocks
    return ReconstructionResult(
        method=method.name(),
        title=method.title,
        settings=method.shown_settings(),
        **method.described({"value": value, "figures": figures}),
        interval=Rate(hits.exact, hits.n).interval,
        notes=tuple(_notes(rebuilt, found)),
        measured_on=measured_on(released),
        test_only=test_only or released.marks.test_only,
        data=released,
        native_kind=released.native_kind,
        rebuilt=rebuilt,
        truth=truth,
    )


_ORIGINS = {
    "control": Note("the independent populations are those that were given as a control"),
    "other blocks": Note("the independent populations are the true people of other blocks"),
    "published shares": Note(
        "the independent populations are drawn: each attribute by its published shares, as if the attributes were "
        "independent; a control of true people from elsewhere is a better one"
    ),
}


def _notes(rebuilt: Rebuilt, found: Evaluation) -> list[Note]:
    notes = [_ORIGINS[found.origin], *_assumptions(rebuilt)]
    figures = rebuilt.case.figures
    if rebuilt.asked and rebuilt.n_certain == 0 and not all(m.bounded for m in figures.layout.mechanisms):
        notes.append(Note("noise without a bound leaves nothing certain, whatever its size"))
    if rebuilt.asked and not rebuilt.proven:
        n = sum(not s.proven for s in rebuilt.solved)
        notes.append(Note("{n} proofs were given up: more records may be certain than are said to be", {"n": n}))
    if rebuilt.asked and any(m.shared_by == "contributors" for m in figures.layout.mechanisms):
        text = "cells with the same people are compared as far as one lies in the other: more records may be certain"
        notes.append(Note(text))
    if rebuilt.case.left_out:
        text = "tables that say nothing of single blocks are left out: {tables}"
        notes.append(Note(text, {"tables": ", ".join(rebuilt.case.left_out)}))
    if rebuilt.mode == "posterior" and not all(s.converged for s in rebuilt.solved):
        n = sum(not s.converged for s in rebuilt.solved)
        notes.append(Note("the chances of {n} blocks did not settle down: the confidence may be off", {"n": n}))
    return notes


def _assumptions(rebuilt: Rebuilt) -> list[Note]:
    """What the attack assumes of tables that others published, and what it would prove if more were stated."""
    notes = [*assumed_values(rebuilt.case.assumed)]
    n = rebuilt.n_if_zeros_are_shown
    if n == -1:
        text = "a suppressed cell is empty for certain: otherwise the figures would contradict each other"
        notes.append(Note(text))
    elif n is not None:
        text = "suppressed cells may be empty here; if none were, {n} people would be certain"
        notes.append(Note(text, {"n": n}))
    return notes


def _link_result(result: ReconstructionResult, links: Links, external: Microdata, on: Sequence[str]) -> LinkResult:
    n_putative, n_confirmed = int(links.putative.sum()), int(links.confirmed.sum())
    who = external.schema.id
    assert who is not None  # a file without the role is refused before
    chosen = np.flatnonzero(links.putative)
    ids = native.collect(external.frame.select(who))[who].gather(chosen.astype(np.uint32))
    frame = result.rebuilt.case.universe.frame(links.cell[chosen])
    frame = frame.insert_column(0, ids.alias(who)) if who not in frame.columns else frame
    rate = Rate(n_confirmed, links.n_people)
    return LinkResult(
        method=result.method,
        title="re-identification of rebuilt records",
        settings={**result.settings, "on": list(on)},
        headline=Figure("value", "share of the people in both files who are re-identified", "share", value=rate.value),
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
        measured_on=result.measured_on,
        test_only=result.test_only,
        links=links,
        frame=frame.with_columns(pl.Series("confirmed", links.confirmed[chosen])),
        native_kind=result.native_kind,
    )


_LINK_FIGURES = (
    Figure("n_external", "people in the outside file", "count"),
    Figure("n_in_both", "of these among the true records", "count"),
    Figure("n_putative", "people linked to one rebuilt record", "count"),
    Figure("n_confirmed", "of these to their true one", "count"),
    Figure("precision", "share of links that are true", "share"),
)
