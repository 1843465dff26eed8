"""Samarati's generalisation (2001): the lowest height of the lattice at which a node is safe, by bisection.

The height of a node is the sum of its levels. If a node of some height is safe, so is one of every greater height, so
that heights can be bisected; at the lowest one the node that costs least by the chosen quality is taken. That holds
for monotone models alone: k, distinct l, and without suppression entropy and recursive l, t and β; others are refused.
A low height is not a low loss: `Generalise` finds that. Reference: Samarati (2001).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

import numpy as np
from pydantic import Field

from flou.describe.microdata import Microdata
from flou.engine.errors import ParameterError
from flou.engine.parameters import Share
from flou.engine.randomness import Draws
from flou.engine.release import Outcome
from flou.protect.micro.lattice.blocking import blocked
from flou.protect.micro.lattice.ground import Dense
from flou.protect.micro.lattice.key_file import KeyFile
from flou.protect.micro.lattice.modelled import Modelled, NoHierarchy
from flou.protect.micro.lattice.outcome import levels_notes, release_at
from flou.protect.micro.lattice.problem import Levels
from flou.protect.micro.lattice.quality import QualityName, quality_of
from flou.protect.micro.lattice.search import MAX_OPTIMAL, Evaluation, Evaluator


class Samarati(Modelled):
    """Bring the keys to a safe node of the lowest height: `Samarati(k=5, suppression_limit=0.01)`.

    Reference: Samarati (2001). The step carries `.levels`, `.height`, `.score`, `.n_suppressed`, `.n_evaluated`.
    """

    reference: ClassVar[str] = "samarati2001"
    title: ClassVar[str] = "Samarati's generalisation"
    audience = "public"

    suppression_limit: Share = Field(0.05, description="largest share of records that may lose every key, such as 0.05")
    quality: QualityName = Field("loss", description="which of the safe nodes of that height is taken")
    no_hierarchy: NoHierarchy = Field("refuse", description="a key without hierarchy: refused, or kept or hidden")

    def _protect(self, data: Microdata, draw: Draws) -> Outcome:
        file = KeyFile.of(data, self._held, self.no_hierarchy)
        problem = file.problem
        if problem.n_nodes > MAX_OPTIMAL:
            raise ParameterError(
                f"The lattice has {problem.n_nodes:,} nodes; Samarati's search looks at whole heights of at most "
                f"{MAX_OPTIMAL:,}. Use generalise, or leave levels out of the hierarchies."
            )
        limit = file.limit(self.suppression_limit)
        quality = quality_of(self.quality, problem, np.ones(len(problem.ladders)), file.requirement.min_size)
        evaluator = Evaluator(problem, file.requirement, quality, limit)
        if not evaluator.prunes_by_all:
            raise ParameterError(
                "Samarati's search needs models that stay met when classes are joined; with suppression these are k "
                "and distinct l alone. Use generalise, or suppression_limit = 0."
            )
        height, best, n_evaluated = _lowest(evaluator)
        if best is None:
            raise blocked(file)
        figures = {"score": best.score, "height": height, "n_evaluated": n_evaluated}
        notes = levels_notes(file, best.levels, best.score, self.quality)
        return release_at(file, best.levels, limit, figures, {}, notes)


def _lowest(evaluator: Evaluator) -> tuple[int, Evaluation | None, int]:
    """The lowest height with a safe node, the best node there, and how many nodes were evaluated."""
    ground = Dense(evaluator.quality)
    heights = ground.nodes.sum(axis=1)
    seen: dict[Levels, Evaluation] = {}

    def safe_nodes(height: int) -> Iterator[Evaluation]:
        for node in ground.nodes[heights == height]:
            levels = tuple(node.tolist())
            if levels not in seen:
                if ground.n_low(node[None])[0] > evaluator.limit:
                    continue  # a node above it is unsafe
                seen[levels] = evaluator.evaluate(levels)
                ground.note(levels, seen[levels].n_low)
            if seen[levels].safe:
                yield seen[levels]

    low, high = 0, int(heights.max()) + 1
    while low < high:
        middle = (low + high) // 2
        if next(safe_nodes(middle), None) is None:
            low = middle + 1
        else:
            high = middle
    best = min(safe_nodes(low), key=lambda e: (e.score, e.levels), default=None)
    return low, best, len(seen)
