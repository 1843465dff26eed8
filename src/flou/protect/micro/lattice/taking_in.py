"""Records that local recoding left over, taken in by classes that were settled already, at coarser levels."""

from __future__ import annotations

import numpy as np

from flou.protect.micro.lattice.ground import Dense, Ints, Sparse
from flou.protect.micro.lattice.key_file import KeyFile
from flou.protect.micro.lattice.problem import Levels
from flou.protect.micro.lattice.quality import Floats, Quality
from flou.protect.micro.lattice.search import MAX_OPTIMAL, Evaluator

#: Nodes that are tried; of larger lattices some, from the cheapest to the top.
_MAX_TRIED = 2_000


def take_in(file: KeyFile, quality: Quality, levels: Ints, limit: int) -> None:
    """Give the keys at level -1 a place: with settled classes that become one class with them at a coarser node.

    Only classes that are nowhere coarser than the node can be taken in: they are part of one class there, as a whole.
    It is done where it costs less than suppressing the records; if more than `limit` are left then, at any price.
    `levels` is changed in place.
    """
    _pass(file, quality, levels, limit=0, worthwhile=True)
    _pass(file, quality, levels, limit=limit, worthwhile=False)


def _pass(file: KeyFile, quality: Quality, levels: Ints, *, limit: int, worthwhile: bool) -> None:
    """Go through the nodes once, from the cheapest, until no more than `limit` records are left."""
    problem = file.problem
    ground = Dense(quality) if problem.n_nodes <= MAX_OPTIMAL else None
    nodes = ground.nodes[np.argsort(ground.floors, kind="stable")] if ground else next(Sparse(quality).chunks())
    nodes = nodes[:: max(1, -(-len(nodes) // _MAX_TRIED))]
    for node in [*map(tuple, nodes.tolist()), problem.heights]:
        left = levels[:, 0] < 0
        if problem.counts[left].sum() <= limit:
            return
        eligible = np.flatnonzero(left | (levels <= node).all(axis=1))
        part = problem.subset(eligible)
        evaluator = Evaluator(part, file.requirement, quality, part.n_records, eligible.astype(np.int32))
        classes, place = part.placed(node)
        wanted = np.zeros(len(classes.counts), dtype=np.bool_)
        wanted[place[left[eligible]]] = True
        kept = evaluator.kept(node)
        if worthwhile:
            wanted &= np.bincount(place, _saved(file, levels, eligible, node), len(classes.counts)) > 0
        chosen = kept & wanted[place]
        levels[eligible[chosen]] = node


def _saved(file: KeyFile, levels: Ints, keys: Ints, node: Levels) -> Floats:
    """What each key saves, in records times share of the leaves, by going to a node; suppressed ones stand for all."""
    problem = file.problem
    now, then = np.zeros(len(keys)), np.zeros(len(keys))
    for j, ladder in enumerate(problem.ladders):
        shares = np.stack([ladder.leaves_of_values(v) / ladder.domain for v in range(ladder.height + 1)])
        code, level = problem.codes[j, keys], levels[keys, j]
        now += np.where(level < 0, 1.0, shares[level, code])
        then += shares[node[j], code]
    return (now - then) * problem.counts[keys]
