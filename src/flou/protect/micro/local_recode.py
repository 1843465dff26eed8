"""Local recoding: each record at the finest levels at which it has company enough.

Where global recoding brings everybody to the same levels, here every class of records has its own: "45" for those
who are many, "40-49" for those who are few. The nodes of the lattice are gone through from the one that costs least;
at each, the classes that meet the models, of the records that are left, are settled there, and the search goes on
with what is left. Where too many records remain, as may happen with models beyond k, classes that were settled are
taken in with them at coarser levels where that costs less than suppressing them; the rest is suppressed. This goes
further than ARX's local transformation, which repeats a whole search and settles only the classes of its optimum.

k released records show the very same key, nulls included, on the whole file: that is verified on the output. Values
of one column at several levels are awkward to tabulate: that is the price of the detail.
References: Prasser et al. (2020) for the local transformation.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, islice
from typing import ClassVar

import numpy as np
from pydantic import Field, model_validator

from flou.describe.microdata import Microdata
from flou.engine.note import Note
from flou.engine.parameters import Pairs, Share
from flou.engine.progress import tell
from flou.engine.randomness import Draws
from flou.engine.release import Outcome
from flou.protect.micro.importance import check_importance
from flou.protect.micro.lattice.ground import Dense, Ground, Ints
from flou.protect.micro.lattice.key_file import KeyFile
from flou.protect.micro.lattice.ladder import Codes
from flou.protect.micro.lattice.modelled import Modelled, NoHierarchy
from flou.protect.micro.lattice.outcome import granularity, release_mixed
from flou.protect.micro.lattice.problem import Levels
from flou.protect.micro.lattice.quality import Floats, Quality, quality_of
from flou.protect.micro.lattice.search import MAX_OPTIMAL, Evaluator, Search
from flou.protect.micro.lattice.taking_in import take_in

#: Nodes that one search evaluates where the lattice is too large to go through.
_SEARCHED = 500


class LocalRecode(Modelled):
    """Bring each class of records to the finest levels that the models allow it: `LocalRecode(k=5)`.

    Reference: Prasser et al. (2020). The step carries `.granularity` (1: nothing lost, 0: everything), `.n_suppressed`
    and `.n_levels`, the number of different choices of levels in use.
    """

    reference: ClassVar[str] = "prasser2020"
    title: ClassVar[str] = "local recoding"
    audience = "public"

    suppression_limit: Share = Field(0.01, description="largest share of records that may lose every key, such as 0.05")
    importance: Pairs | None = Field(None, description="what each key counts for; 1 unless given")
    max_nodes: int = Field(MAX_OPTIMAL, ge=1, description="nodes of the lattice that are gone through at most")
    no_hierarchy: NoHierarchy = Field("refuse", description="a key without hierarchy: refused, or kept or hidden")

    @model_validator(mode="after")
    def _consistent(self) -> LocalRecode:
        check_importance(self.importance)
        return self

    def _protect(self, data: Microdata, draw: Draws) -> Outcome:
        file = KeyFile.of(data, self._held, self.no_hierarchy)
        limit = file.limit(self.suppression_limit)
        levels = self._settled(file, limit)
        codes, labels, shares = _shown(file, levels)
        n_levels = len(np.unique(levels[levels[:, 0] >= 0], axis=0))
        figures = {"granularity": granularity(file, shares), "n_levels": n_levels}
        notes = [Note("granularity {granularity}", {"granularity": round(figures["granularity"], 4)}, internal=True)]
        hidden = (levels == file.problem.heights).all(axis=1)
        if hidden.any():
            n_hidden = int(file.table.counts[hidden].sum())
            text = "{n_hidden} records show no key at all: each of theirs is *"
            notes.append(Note(text, {"n_hidden": n_hidden}, internal=True))
        if self.max_nodes < min(file.problem.n_nodes, MAX_OPTIMAL):
            text = "only the first {n} of {n_nodes} choices of levels were tried: raise max_nodes"
            notes.append(Note(text, {"n": self.max_nodes, "n_nodes": file.problem.n_nodes}, internal=True))
        return release_mixed(file, codes, labels, limit, figures, tuple(notes))

    def _settled(self, file: KeyFile, limit: int) -> Ints:
        """The levels of each distinct key; -1 for those that are suppressed."""
        problem = file.problem
        quality = quality_of("mean_loss", problem, file.weights(self.importance), file.requirement.min_size)
        rest = Rest(file, quality)
        if problem.n_nodes <= MAX_OPTIMAL:
            nodes = chain(islice(_each(Dense(quality)), self.max_nodes), [problem.heights])
            while not rest.done and (node := next(nodes, None)) is not None:
                rest.settle(node)
        else:
            budget = max(1, min(self.max_nodes, _SEARCHED))
            while not rest.done and (best := Search(rest.searched(), budget).run().best) is not None:
                if not rest.settle(best.levels):
                    break
        if problem.counts[rest.left].sum() > limit:
            take_in(file, quality, rest.levels, limit)
        return rest.levels


class Rest:
    """The keys that are not settled yet."""

    def __init__(self, file: KeyFile, quality: Quality) -> None:
        self._file, self._quality = file, quality
        #: The levels of each distinct key; -1 for those that are left.
        self.levels = np.full((file.problem.n_keys, len(file.problem.ladders)), -1, dtype=np.int64)
        self.left = np.arange(file.problem.n_keys, dtype=np.int32)
        self._evaluator = Evaluator(file.problem, file.requirement, quality, file.problem.n_records)

    def searched(self) -> Evaluator:
        """For a search among what is left."""
        part = self._evaluator.problem
        return Evaluator(part, self._file.requirement, self._quality.of(part), part.n_records, self.left)

    @property
    def done(self) -> bool:
        """Whether too few are left to make a class."""
        return bool(self._file.problem.counts[self.left].sum() < self._file.requirement.min_size)

    def settle(self, node: Levels) -> bool:
        """Settle the classes that meet the models at a node; whether there were any."""
        kept = self._evaluator.kept(node)
        if not kept.any():
            return False
        self.levels[self.left[kept]] = node
        self.left = self.left[~kept]
        tell("protect: local_recode", len(self.levels) - len(self.left), len(self.levels))
        part = self._file.problem.subset(self.left)
        self._evaluator = Evaluator(part, self._file.requirement, self._quality, part.n_records, self.left)
        return True


def _each(ground: Ground) -> Iterator[Levels]:
    """Every node, cheapest first."""
    for chunk in ground.chunks():
        yield from map(tuple, chunk.tolist())


def _shown(file: KeyFile, levels: Ints) -> tuple[Codes, list[list[str]], Floats]:
    """What each key shows, as codes and labels of each column, and the share of the leaves that it stands for."""
    problem = file.problem
    codes = np.full((len(problem.ladders), problem.n_keys), -1, dtype=np.int32)
    shares = np.ones(codes.shape)
    labels: list[list[str]] = []
    for j, ladder in enumerate(problem.ladders):
        names: dict[str, int] = {}
        for level in range(ladder.height + 1):
            here = levels[:, j] == level
            texts = ladder.texts(level)
            code = np.array([-1 if t is None else names.setdefault(t, len(names)) for t in texts], dtype=np.int32)
            codes[j, here] = code[ladder.up[level][problem.codes[j, here]]]
            shares[j, here] = ladder.leaves_of_values(level)[problem.codes[j, here]] / ladder.domain
        labels.append(list(names))
    return codes, labels, shares
