"""Rebuilt records matched with a file of names: who would be thought to be known, and who truly is.

As the United States Census Bureau did with its census of 2010 (Abowd et al. 2023): a person of the outside file is
putatively re-identified when her values there lead to rebuilt records that agree in everything else, and to no more
people than were rebuilt; it is confirmed when her true record is that one. An intruder has the putative ones, and
cannot tell the confirmed ones among them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from flou.attack.table.rebuild.case import Case
from flou.attack.table.rebuild.evaluation import Truth
from flou.attack.table.rebuild.universe import Universe
from flou.describe.microdata import Microdata
from flou.describe.table.cells import Ints
from flou.engine import native
from flou.engine.errors import DataError, listed


@dataclass(frozen=True, eq=False)
class Links:
    """One line a person of the outside file: the cell that she is linked to, -1 for none, and her true one."""

    cell: Ints
    #: -1 for a person who is not among the true records.
    true: Ints

    @property
    def n_people(self) -> int:
        """People of the outside file who are among the true records."""
        return int((self.true >= 0).sum())

    @property
    def putative(self) -> NDArray[np.bool_]:
        linked: NDArray[np.bool_] = self.cell >= 0
        return linked

    @property
    def confirmed(self) -> NDArray[np.bool_]:
        right: NDArray[np.bool_] = self.putative & (self.cell == self.true)
        return right


def shared_attributes(universe: Universe, external: Microdata, on: Sequence[str]) -> list[int]:
    """The places of the attributes by which records are matched; something must be left to learn."""
    columns = [a.column for a in universe.attributes]
    unknown = [c for c in on if c not in columns or c not in external.columns]
    if unknown:
        raise DataError(
            f"on names {listed(unknown)}, which the tables and the outside file do not both have. Both have "
            f"{listed([c for c in columns if c in external.columns])}."
        )
    wanted = list(on) or [c for c in columns if c in external.columns]
    if not wanted:
        raise DataError(
            f"The outside file has none of the attributes that the tables speak of ({listed(columns)}): there is "
            "nothing to match by."
        )
    if len(wanted) == len(columns):
        raise DataError(
            "The outside file has every attribute that the tables speak of: nothing would be learnt of anybody. Match "
            f"by fewer: on={wanted[:-1]!r}."
        )
    return [columns.index(c) for c in wanted]


def link_people(case: Case, rebuilt: Sequence[Ints], truth: Truth, external: Microdata, at: Sequence[int]) -> Links:
    """Match the people of an outside file, by some attributes, with the rebuilt ones of their block."""
    universe = case.universe
    shared = [universe.attributes[j] for j in at]
    frame = native.collect(external.frame.select(*(attribute.column for attribute in shared)))
    codes = np.stack([a.place_of(frame[a.column].to_list(), external.schema) for a in shared], axis=1)
    block = case.block_of(external)
    known = (codes >= 0).all(axis=1) & (block >= 0)
    sizes = tuple(universe.sizes[j] for j in at)
    key = np.full(len(codes), -1, dtype=np.int64)
    key[known] = np.ravel_multi_index(tuple(codes[known].T), sizes)
    key_of_cell = np.ravel_multi_index(tuple(universe.codes[:, at].T), sizes)
    cell = np.full(len(codes), -1, dtype=np.int64)
    for b, held in enumerate(rebuilt):
        here = np.flatnonzero(known & (block == b))
        if not len(here) or not len(held):
            continue
        cells, copies = np.unique(held, return_counts=True)
        keys, first, n_records = np.unique(key_of_cell[cells], return_index=True, return_counts=True)
        people, place, n_people = np.unique(key[here], return_inverse=True, return_counts=True)
        at_key = np.minimum(np.searchsorted(keys, people), len(keys) - 1)
        # one record alone has these values, and it was rebuilt for as many people as the file has with them
        clear = (keys[at_key] == people) & (n_records[at_key] == 1) & (copies[first[at_key]] >= n_people)
        cell[here] = np.where(clear, cells[first[at_key]], -1)[place]
    return Links(cell, _true_cells(truth, external))


def _true_cells(truth: Truth, external: Microdata) -> Ints:
    """The true cell of each person of the outside file, found by the number that both files have."""
    mine, theirs = truth.people.schema.id, external.schema.id
    if mine is None or theirs is None:
        raise DataError(
            "To confirm a link both files need a column that says who is who: give the role id to the true records "
            'and to the outside file, flou.Microdata(frame, id="pid").'
        )
    ids = native.collect(truth.people.frame.select(mine))[mine].to_list()
    cells = dict(zip(ids, truth.cells.tolist(), strict=True))
    held = native.collect(external.frame.select(theirs))[theirs].to_list()
    return np.array([cells.get(i, -1) for i in held], dtype=np.int64)
