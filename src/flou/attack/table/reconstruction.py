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

from collections.abc import Sequence
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, InstanceOf, WithJsonSchema

from flou.attack.table.rebuild.case import Case, read_case
from flou.attack.table.rebuild.evaluation import evaluate, read_truth, require_made_of
from flou.attack.table.rebuild.independent import chances_among
from flou.attack.table.rebuild.matching import Likeness
from flou.attack.table.rebuild.rebuilt import Rebuilt, rebuild
from flou.attack.table.rebuild.solve import Mode
from flou.attack.table.rebuild.true_counts import true_records
from flou.attack.table.reconstruction_result import Reconstructed, ReconstructionResult, result_of
from flou.describe.files import read
from flou.describe.microdata import Microdata
from flou.describe.table.cells import Floats
from flou.engine import native
from flou.engine.attack import Attack
from flou.engine.data import DataKind
from flou.engine.errors import DataError
from flou.engine.figure import Figure
from flou.engine.parameters import Combinations, Lists, Tolerance
from flou.engine.places import located
from flou.engine.randomness import Draws
from flou.engine.risk_figure import SHARE
from flou.engine.secret import Secret
from flou.engine.taxonomy import always

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
            rebuilt = self._rebuild(released, Draws.of_attack(Secret.of(secret), self.name(), self.fingerprint()))[0]
        return Reconstructed(rebuilt, released.native_kind)

    def run(
        self, release: Any, *, truth: Any = None, control: Any = None, secret: Secret | int | None = None
    ) -> ReconstructionResult:
        """Rebuild and compare with `truth`, the records; `control` is one or several independent populations."""
        released = self._accept(release)
        if truth is None:
            raise DataError(
                "Reconstruction needs truth=, the records that the tables were made of, to say how often the intruder "
                "is right. Without them: .reconstruct(release) gives what an intruder rebuilds, and what is certain."
            )
        people, controls = true_records(truth, "Reconstruction"), _populations(control)
        source = Secret.of(secret)
        draw = Draws.of_attack(source, self.name(), self.fingerprint())
        with native.engine_errors():
            rebuilt, chances = self._rebuild(released, draw)
            likeness = Likeness.of(rebuilt.case.universe, dict(self.tolerance or ()))
            held = read_truth(rebuilt.case, people)
            require_made_of(rebuilt.case, held)
            found = evaluate(rebuilt, held, likeness, controls=controls, chances=chances, draw=draw)
        return result_of(self, released, rebuilt, held, found, test_only=source.test_only)

    def _rebuild(self, released: Any, draw: Draws) -> tuple[Rebuilt, Floats | None]:
        """The intruder's side, which sees what would be published and nothing else."""
        case = self._case(released)
        chances = None if self.prior is None else chances_among(case.universe, self._prior(self.prior))
        return rebuild(case, self.mode, draw, chances=chances, prove=self.certain == "prove"), chances

    def _case(self, released: Any) -> Case:
        return read_case(
            released,
            block=self.block,
            domain=dict(self.domain or ()),
            incoherent=[dict(rule) for rule in self.incoherent or ()],
            max_total=self.max_total,
        )

    def _prior(self, prior: str | Microdata) -> Microdata:
        return prior if isinstance(prior, Microdata) else read(located(prior))


def _populations(control: Any) -> Sequence[Microdata]:
    if control is None:
        return ()
    several = control if isinstance(control, list | tuple) else [control]
    return [true_records(one, "Reconstruction", "control") for one in several]
