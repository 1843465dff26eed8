"""Optimal generalisation: one level of its hierarchy for each key, the best that the privacy models allow.

All choices of levels form a lattice. A node is safe when the records whose classes fail the models are no more than
the suppression limit; those records lose every key. Among the safe nodes the one that costs least by the chosen
measure of quality is found, and proven to be the best: what is not looked at is ruled out by what is known of nodes
above and by floors of the cost. Lattices past 100,000 nodes are searched with a budget, and the step says how much
better the optimum could be.

A class is made of the records that show the very same key. Suppressed records, without any key, are one more class:
they are held to the models as well, and dropped where they fail them, which other tools leave open.

With suppression only k and distinct l are monotone on the lattice; for entropy and recursive l, t, δ and β the search
prunes by class size alone and looks at more nodes. Models that need a public table cannot be held by a step.
References: Kohlmayer et al. (2012); Prasser & Kohlmayer (2015) for the measures of quality.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator, Field, PlainSerializer, WithJsonSchema, model_validator

from flou.describe.microdata import Microdata
from flou.engine.errors import Infeasible, ParameterError, PlanError, did_you_mean
from flou.engine.note import Note
from flou.engine.parameters import Pairs, Share
from flou.engine.randomness import Draws
from flou.engine.release import Outcome
from flou.protect.micro.importance import check_importance
from flou.protect.micro.lattice.blocking import blocked
from flou.protect.micro.lattice.frontier import Frontier, trace_frontier
from flou.protect.micro.lattice.key_file import KeyFile
from flou.protect.micro.lattice.modelled import Modelled, NoHierarchy
from flou.protect.micro.lattice.outcome import levels_notes, release_at
from flou.protect.micro.lattice.picture import LatticeView
from flou.protect.micro.lattice.quality import NAMES, QualityName, quality_of
from flou.protect.micro.lattice.search import MAX_OPTIMAL, Evaluator, Found, Search


def _name_of(quality: object) -> object:
    return quality if isinstance(quality, str) else getattr(quality, "__name__", "a function")


def _known(quality: object) -> object:
    if not callable(quality) and quality not in NAMES:
        raise ValueError(f"quality = {quality!r} is not known.{did_you_mean(str(quality), NAMES)}")
    return quality


#: A measure of quality by its name, or a function of a node: lower is better.
QualityChoice = Annotated[
    QualityName | Callable[..., float],
    BeforeValidator(_known),
    PlainSerializer(_name_of),
    WithJsonSchema({"type": "string", "enum": [*NAMES]}),
]


class Generalise(Modelled):
    """Bring every key to one level of its hierarchy, the best choice there is: `Generalise(k=5)`.

    Reference: Kohlmayer et al. (2012).
    The step carries `.score`, `.levels` (by key), `.n_suppressed`, `.bound` (no safe node costs less), `.optimal`,
    `.second_score` and `.second_levels`, and `.lattice`, which is a frame and a drawing.
    `frontier(people)` answers for every k and every suppression limit at once.
    """

    reference: ClassVar[str] = "kohlmayer2012"
    title: ClassVar[str] = "optimal generalisation"
    audience = "public"

    suppression_limit: Share = Field(0.05, description="largest share of records that may lose every key, such as 0.05")
    quality: QualityChoice = Field("loss", description="what is to be kept low")
    importance: Pairs | None = Field(None, description="what each key counts for in the quality; 1 unless given")
    search: Literal["auto", "optimal", "anytime"] = Field(
        "auto", description="prove the optimum, or stop after max_nodes; auto: by the size of the lattice"
    )
    max_nodes: int = Field(10_000, ge=1, description="nodes that an anytime search may evaluate")
    no_hierarchy: NoHierarchy = Field("refuse", description="a key without hierarchy: refused, or kept or hidden")

    @model_validator(mode="after")
    def _consistent(self) -> Generalise:
        check_importance(self.importance)
        if self.importance is not None and self.quality in ("discernibility", "average_class_size"):
            raise ParameterError(
                f"quality = {self.quality!r} goes by class sizes alone: it has no place for importance."
            )
        return self

    def to_table(self, *, masked: bool = False) -> dict[str, Any]:
        if not isinstance(self.quality, str):
            raise PlanError(f"A plan cannot hold a function: quality is one of {', '.join(NAMES)} there.")
        return super().to_table(masked=masked)

    def fingerprint(self) -> str:
        plain = self if isinstance(self.quality, str) else self.model_copy(update={"quality": "loss"})
        return super(Generalise, plain).fingerprint() + str(_name_of(self.quality))

    def _protect(self, data: Microdata, draw: Draws) -> Outcome:
        file = KeyFile.of(data, self._held, self.no_hierarchy)
        evaluator = self._evaluator(file)
        budget = self._budget(file.problem.n_nodes)
        found = Search(evaluator, budget).run()
        if found.best is None:
            raise self._infeasible(file, found)
        figures, details = _carried(file, found, LatticeView(evaluator, found, data.native_kind))
        notes = _notes(file, found, self.quality)
        return release_at(file, found.best.levels, evaluator.limit, figures, details, notes)

    def frontier(self, people: Any, k: int | Sequence[int] = tuple(range(2, 21))) -> Frontier:
        """The optimum for every k asked for and every suppression limit, from one traversal of the lattice."""
        data = self._accept(people)
        k = (k,) if isinstance(k, int) else tuple(k)
        if any(isinstance(x, bool) or not isinstance(x, int) or x < 1 for x in k) or not k:
            raise ParameterError(
                f"k = {list(k)!r} should be whole numbers, 1 at least: frontier(people, k=range(2, 21))."
            )
        file = KeyFile.of(data, self._held, self.no_hierarchy)
        if max(k) > file.problem.n_records:
            raise ParameterError(f"k = {max(k)} is larger than the file: it has {file.problem.n_records:,} records.")
        if not file.requirement.only_k:
            raise ParameterError("A frontier is traced over k alone: leave the other models out.")
        weights = file.weights(self.importance)
        quality = quality_of(self.quality, file.problem, weights, min(k))
        return trace_frontier(file.problem, quality, k, data.native_kind)

    def _evaluator(self, file: KeyFile) -> Evaluator:
        weights = file.weights(self.importance)
        quality = quality_of(self.quality, file.problem, weights, file.requirement.min_size)
        limit = file.limit(self.suppression_limit)
        return Evaluator(file.problem, file.requirement, quality, limit)

    def _budget(self, n_nodes: int) -> int | None:
        if self.search == "auto":
            return None if n_nodes <= MAX_OPTIMAL else self.max_nodes
        return self.max_nodes if self.search == "anytime" else None

    def _infeasible(self, file: KeyFile, found: Found) -> Infeasible:
        if not found.complete:
            least = min((e.n_suppressed for e in found.evaluated), default=file.problem.n_records)
            return Infeasible(
                f"The budget of max_nodes = {self.max_nodes:,} ended before a safe node was found: nothing is "
                "released.",
                best=f"a node that would suppress {least:,} of {file.problem.n_records:,} records",
                next_step=f"Raise max_nodes (the lattice has {file.problem.n_nodes:,} nodes) or suppression_limit.",
            )
        return blocked(file)


def _carried(file: KeyFile, found: Found, lattice: LatticeView) -> tuple[dict[str, Any], dict[str, Any]]:
    """Figures of the step, and what else it can show."""
    assert found.best is not None
    figures: dict[str, Any] = {
        "score": found.best.score,
        "n_nodes": file.problem.n_nodes,
        "n_evaluated": len(found.evaluated),
        "bound": found.bound,
        "optimal": found.complete,
        "second_score": None if found.second is None else found.second.score,
    }
    second = None if found.second is None else dict(zip(file.table.columns, found.second.levels, strict=True))
    return figures, {"second_levels": second, "lattice": lattice}


def _notes(file: KeyFile, found: Found, quality: object) -> tuple[Note, ...]:
    assert found.best is not None
    notes = levels_notes(file, found.best.levels, found.best.score, quality)
    if found.complete:
        text = "the best of {n_nodes} choices, proven by looking at {n}; the second best scores {second}"
        second = "–" if found.second is None else round(found.second.score, 6)
        values: dict[str, object] = {"n_nodes": file.problem.n_nodes, "n": len(found.evaluated), "second": second}
        return *notes, Note(text, values, internal=True)
    text = "the search ended with its budget of {n} nodes: no safe node scores below {bound}"
    return *notes, Note(text, {"n": len(found.evaluated), "bound": round(found.bound, 6)}, internal=True)
