"""Reconstruction (Dinur and Nissim 2003; Garfinkel, Abowd and Martindale 2019; Abado and Stefan 2024) of records.

Published tables are constraints on the records behind them, and a solver finds records that satisfy all of them. How
many of these are true says how much the tables give away, beside what any population of the same country has in
common with it. The attack knows what an intruder knows: every table that would be published, the mechanism that made
it, which values exist and which combinations do not. It does not know the secret of a mechanism.

Where figures are moved by bounded noise, or rounded, or suppressed, some records may still be in every population that
fits: these are certain, and proven so. Unbounded noise leaves nothing certain; what is likely is still found. Tables of
weighted estimates, of amounts, and tables whose margins were made to add up are not attacked.
"""

from __future__ import annotations

import math
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, InstanceOf, WithJsonSchema

from flou.attack.table.rebuild.case import Case, read_case
from flou.attack.table.rebuild.evaluation import Evaluation, evaluate, read_truth, require_made_of
from flou.attack.table.rebuild.independent import chances_among
from flou.attack.table.rebuild.matching import Likeness
from flou.attack.table.rebuild.rebuilt import Rebuilt, rebuild
from flou.attack.table.rebuild.solve import Mode
from flou.attack.table.rebuild.true_counts import true_records
from flou.attack.table.reconstruction_result import Reconstructed, ReconstructionResult, assumptions
from flou.describe.files import read
from flou.describe.microdata import Microdata
from flou.describe.table.cells import Floats
from flou.engine import native
from flou.engine.attack import Attack, Judge, Rate, lift_over
from flou.engine.data import DataKind
from flou.engine.errors import DataError
from flou.engine.figure import Figure, FigureValue
from flou.engine.note import Note
from flou.engine.parameters import Combinations, Lists, Tolerance
from flou.engine.places import located
from flou.engine.randomness import Draws
from flou.engine.risk_figure import SHARE
from flou.engine.secret import Secret
from flou.engine.taxonomy import always
from flou.engine.values import Proportion

#: A file of records, or the records themselves, which no plan can hold.
People = Annotated[
    str | InstanceOf[Microdata] | None,
    WithJsonSchema({"anyOf": [{"type": "string"}, {"type": "null"}]}),
]


class Reconstruction(Attack):
    """Rebuild records from published tables: `Reconstruction(mode="likelihood").run(release, truth=people)`.

    Reference: Abado and Stefan (2024), with counts for variables, likelihoods, and proofs of what is certain.
    Result: `.value` the share of people whose record is rebuilt, `.baseline` what an independent population has in
    common with them, `.certain` the records that are proven, `.records`, `.bounds(query)`, `.link(names)`.
    """

    takes: ClassVar[tuple[DataKind, ...]] = ("table", "table set")
    title: ClassVar[str] = "reconstruction of records from tables"
    requires = ("true records",)
    answers_by = always(reconstruction="measures")
    headline: ClassVar[Figure] = Figure("value", "share of people whose record is rebuilt", "share", SHARE)
    figures: ClassVar[tuple[Figure, ...]] = (
        Figure("baseline", "the same in an independent population", "share"),
        Figure("lift", "how much further, as a share of what was left to find", "share", "low"),
        Figure("multiset", "share of people matched one to one", "share", "low"),
        Figure("baseline_multiset", "matched one to one, in an independent population", "share"),
        Figure("near", "share of people whose record is rebuilt within the tolerance", "share", "low"),
        Figure("baseline_near", "within the tolerance, in an independent population", "share"),
        Figure("near_multiset", "share of people matched one to one within the tolerance", "share", "low"),
        Figure(
            "baseline_near_multiset", "matched one to one within the tolerance, in an independent population", "share"
        ),
        Figure("prior_alone", "the same from the prior alone, without the tables", "share"),
        Figure("n_people", "people in the true records", "count"),
        Figure("n_rebuilt", "people rebuilt", "count"),
        Figure("n_certain", "people whose record is certain", "count", "low"),
        Figure("all_proven", "every proof came to its end", "number", "high"),
        Figure("n_uniques", "people with a record of their own", "count"),
        Figure("n_unique_hits", "of these rebuilt", "count", "low"),
        Figure("precision_top", "share of the ten most confident records that exist", "share", "low"),
        Figure("optimal", "no population is likelier, proven", "number"),
        Figure("converged", "chances settled down", "number"),
        Figure("n_blocks", "blocks", "count"),
    )
    reference: ClassVar[str] = "abado2024"
    reads: ClassVar[tuple[str, ...]] = ("prior",)
    scored_by: ClassVar[Literal["tables", "records"]] = "records"

    mode: Mode = Field(
        "likelihood", description="any population that fits, the likeliest one, or the likeliest records (posterior)"
    )
    tolerance: Tolerance | None = Field(None, description="how far numbers of like records may differ, by column")
    block: str | None = Field(None, description="the attribute whose categories are attacked one by one: an area")
    domain: Lists | None = Field(None, description="the values that a column can have, where no table declares them")
    incoherent: Combinations | None = Field(
        None, description="combinations that cannot exist, beside those of the tables' schema"
    )
    prior: People = Field(None, description="records of a similar population, or their file: what is known beforehand")
    max_total: int | None = Field(None, description="the largest number of people, if no table bounds it", ge=1)
    certain: Literal["prove", "skip"] = Field("prove", description="whether to prove which records are certain")

    def shown_settings(self) -> dict[str, Any]:
        """The parameters as plain values; of records that are known beforehand only that there are some."""
        shown = super().shown_settings()
        if isinstance(self.prior, Microdata):
            shown["prior"] = f"{self.prior.n_records:,} records"
        return shown

    def reconstruct(self, release: Any, *, secret: Secret | int | None = None) -> Reconstructed:
        """What an intruder rebuilds, who has no true records to compare with."""
        released = self._accept(release)
        with native.engine_errors():
            draw = Draws.of_attack(Secret.of(secret), self.name(), self.fingerprint())
            rebuilt, _ = self._find(self._public(released), self._known(None), draw)
        return Reconstructed(rebuilt, released.native_kind)

    def _judge(self, released: Any, truth: Any, control: Any) -> Judge:
        """The true records; `control` is one or several independent populations."""
        if truth is None:
            raise DataError(
                "Reconstruction needs truth=, the records that the tables were made of, to say how often the intruder "
                "is right. Without them: .reconstruct(release) gives what an intruder rebuilds, and what is certain."
            )
        several = [] if control is None else control if isinstance(control, list | tuple) else [control]
        people = true_records(truth, "Reconstruction")
        return Judge(released, people, [true_records(one, "Reconstruction", "control") for one in several])

    def _public(self, released: Any) -> Case:
        return read_case(
            released,
            block=self.block,
            domain=dict(self.domain or ()),
            incoherent=[dict(rule) for rule in self.incoherent or ()],
            max_total=self.max_total,
        )

    def _known(self, people: Any) -> Microdata | None:
        """A similar population."""
        return read(located(self.prior)) if isinstance(self.prior, str) else self.prior

    def _find(self, public: Case, known: Microdata | None, draw: Draws) -> tuple[Rebuilt, Floats | None]:
        """Rebuild the records of every block; return them with their prior probabilities."""
        chances = None if known is None else chances_among(public.universe, known)
        return rebuild(public, self.mode, draw, chances=chances, prove=self.certain == "prove"), chances

    def _score(self, found: tuple[Rebuilt, Floats | None], judge: Judge, draw: Draws) -> ReconstructionResult:
        rebuilt, chances = found
        likeness = Likeness.of(rebuilt.case.universe, dict(self.tolerance or ()))
        truth = read_truth(rebuilt.case, judge.truth)
        require_made_of(rebuilt.case, truth)
        matched = evaluate(rebuilt, truth, likeness, controls=judge.control, chances=chances, draw=draw)
        figures = self._figures(rebuilt, matched)
        return self._result(
            ReconstructionResult,
            judge,
            value=matched.found.share(matched.found.exact),
            interval=Rate(matched.found.exact, matched.found.n).interval,
            figures=figures,
            notes=tuple(_notes(rebuilt, matched)),
            found=rebuilt,
            truth=truth,
        )

    def _figures(self, rebuilt: Rebuilt, matched: Evaluation) -> dict[str, FigureValue]:
        """Shares matched, beside those of independent populations, and what is certain."""
        hits, others = matched.found, matched.independent
        value, baseline = hits.share(hits.exact), others.share(others.exact)
        figures: dict[str, FigureValue] = {
            "baseline": Proportion(baseline),
            "lift": Proportion(lift_over(value, baseline)),
            "multiset": Proportion(hits.share(hits.exact_pairs)),
            "baseline_multiset": Proportion(others.share(others.exact_pairs)),
        }
        if self.tolerance:
            figures |= {
                "near": Proportion(hits.share(hits.near)),
                "baseline_near": Proportion(others.share(others.near)),
                "near_multiset": Proportion(hits.share(hits.near_pairs)),
                "baseline_near_multiset": Proportion(others.share(others.near_pairs)),
            }
        figures |= {
            "prior_alone": Proportion(matched.by_prior.share(matched.by_prior.exact)),
            "n_people": hits.n,
            "n_rebuilt": rebuilt.n_people,
            **({"n_certain": rebuilt.n_certain, "all_proven": rebuilt.proven} if rebuilt.asked else {}),
            "n_uniques": matched.n_uniques,
            "n_unique_hits": matched.n_unique_hits,
        }
        if self.mode == "likelihood":
            figures["optimal"] = all(s.optimal for s in rebuilt.solved)
        if self.mode == "posterior":
            figures["precision_top"] = None if math.isnan(matched.precision) else Proportion(matched.precision)
            figures["converged"] = all(s.converged for s in rebuilt.solved)
        if rebuilt.case.block is not None:
            figures["n_blocks"] = rebuilt.case.n_blocks
        return figures


_ORIGINS = {
    "control": Note("the independent populations are those that were given as a control"),
    "other blocks": Note("the independent populations are the true people of other blocks"),
    "published shares": Note(
        "the independent populations are drawn: each attribute by its published shares, as if the attributes were "
        "independent; a control of true people from elsewhere is a better one"
    ),
}


def _notes(rebuilt: Rebuilt, found: Evaluation) -> list[Note]:
    notes = [_ORIGINS[found.origin], *assumptions(rebuilt)]
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
