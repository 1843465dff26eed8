"""Mondrian (LeFevre, DeWitt & Ramakrishnan 2006): cut the space of keys in two, again and again.

Each part is cut on the key that is widest in it, as near to its median as the models allow on both sides, until no
cut is left; the records of a part then show the same: numbers their range, "23-37"; other values the lowest group of
their hierarchy that holds them all, or `*`. Cuts on a key with hierarchy follow its groups; numbers need none.

It adapts to where records are dense and usually keeps more detail than any global recoding, but its ranges differ
from part to part, what parts show may overlap, and a range says that somebody has its ends. k records show the very
same key, or whatever else the models ask of a class: verified on the output.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from pydantic import Field, model_validator

from flou.describe.microdata import Microdata
from flou.engine.keys import pack
from flou.engine.note import Note
from flou.engine.parameters import Pairs
from flou.engine.progress import tell
from flou.engine.randomness import Draws
from flou.engine.release import Outcome
from flou.protect.micro.importance import check_importance
from flou.protect.micro.lattice.blocking import blocked
from flou.protect.micro.lattice.key_file import KeyFile
from flou.protect.micro.lattice.ladder import Codes, Ints
from flou.protect.micro.lattice.modelled import Modelled
from flou.protect.micro.lattice.outcome import granularity, release_mixed
from flou.protect.micro.lattice.requirement import Flags
from flou.protect.micro.line import Floats, Line, lines

#: Cuts that are tried on one key where the models go beyond class sizes.
_MAX_CUTS = 8


class Mondrian(Modelled):
    """Partition the records into classes as small as the models allow, each with ranges of its own: `Mondrian(k=5)`.

    Reference: LeFevre, DeWitt & Ramakrishnan (2006). The step carries `.n_classes` and `.granularity` (1: nothing
    lost, 0: everything).
    """

    reference: ClassVar[str] = "lefevre2006"
    title: ClassVar[str] = "Mondrian partition"
    audience = "public"

    importance: Pairs | None = Field(None, description="what each key counts for; 1 unless given")

    @model_validator(mode="after")
    def _consistent(self) -> Mondrian:
        check_importance(self.importance)
        return self

    def _protect(self, data: Microdata, draw: Draws) -> Outcome:
        file = KeyFile.of(data, self._held, "suppress")
        if not file.requirement.only_k and _fails(file, np.zeros(file.problem.n_keys, dtype=np.int32), 1):
            raise blocked(file)
        axes = lines(data, file.problem)
        parts = _partition(file, axes, file.weights(self.importance))
        codes, labels = np.empty_like(file.problem.codes), []
        shares = np.ones(codes.shape)
        for j, line in enumerate(axes):
            codes[j], names, shares[j] = line.shown(file.problem.codes[j], parts)
            labels.append(names)
        n_classes = len(np.unique(pack(codes.T, [len(names) for names in labels])))
        figures = {"n_classes": n_classes, "granularity": granularity(file, shares)}
        text = "{n_classes} classes; granularity {granularity}"
        note = Note(text, {**figures, "granularity": round(figures["granularity"], 4)}, internal=True)
        return release_mixed(file, codes, labels, 0, figures, (note,))


def _partition(file: KeyFile, axes: list[Line], weights: Floats) -> Ints:
    """The part of each distinct key."""
    problem = file.problem
    part = np.zeros(problem.n_keys, dtype=np.int64)
    open_parts, n_parts, n_done = [np.arange(problem.n_keys)], 0, 0
    while open_parts:
        keys = open_parts.pop()
        halves = _cut(file, axes, weights, keys)
        if halves is None:
            part[keys] = n_parts
            n_parts += 1
            n_done += len(keys)
            if n_parts % 256 == 0:
                tell("protect: mondrian", n_done, problem.n_keys)
        else:
            open_parts += halves
    return part


def _cut(file: KeyFile, axes: list[Line], weights: Floats, keys: Ints) -> list[Ints] | None:
    """The two halves of a part, by the widest key that can be cut; None where none can."""
    counts = file.problem.counts[keys]
    if counts.sum() < 2 * file.requirement.min_size:
        return None
    places = [line.place[file.problem.codes[j, keys]] for j, line in enumerate(axes)]
    widths = [line.width(place) * w for line, place, w in zip(axes, places, weights, strict=True)]
    for j in np.argsort(-np.array(widths), kind="stable"):
        if widths[j] <= 0:
            break
        for cut in axes[j].cuts(places[j], counts, file.requirement.min_size)[: _n_cuts(file)]:
            below = places[j] < cut
            if file.requirement.only_k or not _halves_fail(file, keys, below):
                return [keys[below], keys[~below]]
    return None


def _n_cuts(file: KeyFile) -> int:
    return 1 if file.requirement.only_k else _MAX_CUTS


def _halves_fail(file: KeyFile, keys: Ints, below: Flags) -> bool:
    place = np.full(file.problem.n_keys, -1, dtype=np.int32)
    place[keys] = below
    return _fails(file, place, 2)


def _fails(file: KeyFile, place: Codes, n_classes: int) -> bool:
    inside = place >= 0
    counts = np.bincount(place[inside], file.problem.counts[inside], n_classes).astype(np.int64)
    shown = np.broadcast_to(place, file.problem.codes.shape)
    return bool(file.requirement.failing(counts, place, lambda: np.ascontiguousarray(shown)).any())
