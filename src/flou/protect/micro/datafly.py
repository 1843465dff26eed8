"""Datafly (Sweeney 1997): generalise the key with the most distinct values, until few records are left over.

A greedy method, kept for comparison and because its steps are easily explained: it neither finds the best levels nor
knows what they cost. The records that are left over, no more than the limit (k of them unless one is given), are
suppressed. Reference: Sweeney (1997), (2002).
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from pydantic import Field

from flou.describe.microdata import Microdata
from flou.engine.parameters import Share
from flou.engine.protection import Protection
from flou.engine.randomness import Draws
from flou.engine.release import Outcome
from flou.engine.taxonomy import always
from flou.protect.micro.lattice.key_file import KeyFile
from flou.protect.micro.lattice.modelled import NoHierarchy
from flou.protect.micro.lattice.outcome import levels_notes, release_at
from flou.protect.micro.lattice.problem import Levels
from flou.protect.micro.lattice.quality import quality_of
from flou.protect.micro.lattice.requirement import models_of
from flou.protect.micro.lattice.search import Evaluator


class Datafly(Protection):
    """Generalise, each time the key with the most distinct values, until k is met but for a few: `Datafly(k=5)`.

    Reference: Sweeney (1997). The step carries `.levels`, `.score` (the loss, for comparison) and `.n_suppressed`.
    """

    reference: ClassVar[str] = "sweeney1997"
    title: ClassVar[str] = "Datafly"
    audience = "public"
    perturbative = False
    answers_by = always(identity="closes")
    chooses_keys: ClassVar[bool] = True

    k: int = Field(ge=1, description="smallest number of records that must share a key")
    suppression_limit: Share | None = Field(
        None, description="largest share of records to suppress; default: k records"
    )
    no_hierarchy: NoHierarchy = Field("refuse", description="a key without hierarchy: refused, or kept or hidden")

    def _protect(self, data: Microdata, draw: Draws) -> Outcome:
        file = KeyFile.of(data, models_of(self.k, ()), self.no_hierarchy)
        limit = self.k if self.suppression_limit is None else file.limit(self.suppression_limit)
        quality = quality_of("loss", file.problem, np.ones(len(file.problem.ladders)), self.k)
        evaluator = Evaluator(file.problem, file.requirement, quality, limit)
        levels: Levels = (0,) * len(file.problem.ladders)
        seen = evaluator.evaluate(levels)
        n_steps = 0
        while not seen.safe:
            levels = _raised(file, levels)
            seen = evaluator.evaluate(levels)
            n_steps += 1
        figures = {"score": seen.score, "n_steps": n_steps}
        return release_at(file, levels, limit, figures, {}, levels_notes(file, levels, seen.score, "loss"))


def _raised(file: KeyFile, levels: Levels) -> Levels:
    """One level more for the key that shows the most distinct values; of equals the first."""
    n_values = [
        len(np.unique(ladder.up[level])) if level < ladder.height else 0
        for ladder, level in zip(file.problem.ladders, levels, strict=True)
    ]
    chosen = int(np.argmax(n_values))
    return (*levels[:chosen], levels[chosen] + 1, *levels[chosen + 1 :])
