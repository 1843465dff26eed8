"""The atoms of a dimension: the distinct combinations of its columns' values that occur, and their nodes.

A dimension of one column has its values for atoms; of two zonings side by side the atoms are the pairs
that occur, which are never shown themselves.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from flou.describe.schema import Schema
from flou.describe.table.dimension import Dimension, build_dimension
from flou.describe.table.short_branches import end_short_branches, single_values
from flou.describe.table.spec import DimensionSpec
from flou.engine.errors import DataError
from flou.engine.keys import Codes, factorise, pack
from flou.engine.values import text_of


@dataclass(frozen=True, eq=False)
class Atoms:
    """A dimension, the atom of each group of records, and the finest node of each atom, zoning by zoning."""

    dimension: Dimension
    columns: tuple[str, ...]
    #: The values of each column, in order; None stands for null.
    values: tuple[list[object], ...]
    #: For each atom the place of its value in each column.
    combinations: Codes
    #: The atom of each group.
    codes: NDArray[np.int64]
    finest: list[NDArray[np.int32]]

    @property
    def n_atoms(self) -> int:
        return len(self.combinations)

    def locate(self, groups: pl.DataFrame) -> NDArray[np.int64]:
        """The atom of each group of another frame of the same records."""
        found = np.empty((groups.height, len(self.columns)), dtype=np.int32)
        for j, column in enumerate(self.columns):
            seen, codes = factorise(groups[column])
            places = {value: place for place, value in enumerate(self.values[j])}
            found[:, j] = np.array([*(places[v] for v in seen), places.get(None, -1)], dtype=np.int32)[codes]
        sizes = [len(v) for v in self.values]
        known = pack(self.combinations, sizes)
        order = np.argsort(known)
        return order[np.searchsorted(known, pack(found, sizes), sorter=order)].astype(np.int64)


def read_atoms(spec: DimensionSpec, groups: pl.DataFrame, schema: Schema, total: str, *, declared: bool) -> Atoms:
    """The dimension that groups of records span; with `declared`, categories that nobody has as well."""
    values, codes = [], np.empty((groups.height, len(spec.columns)), dtype=np.int32)
    for j, column in enumerate(spec.columns):
        found, codes[:, j] = _valued(groups[column], schema)
        values.append(found)
    if len(spec.columns) == 1:
        if declared:
            known = {text_of(v) for v in values[0]}
            values[0] += [v for v in schema.declared_modalities.get(spec.columns[0], ()) if text_of(v) not in known]
            values[0], codes[:, 0] = _in_declared_order(values[0], codes[:, 0], schema, spec.columns[0])
        combinations, atom = np.arange(len(values[0]), dtype=np.int32)[:, None], codes[:, 0].astype(np.int64)
    else:
        _, first, atom = np.unique(pack(codes, [len(v) for v in values]), return_index=True, return_inverse=True)
        combinations = codes[first]
    zonings = []
    texts = _texts(spec, values, schema)
    for path in spec.zonings:
        by_level = [_coded(texts[level.column, level.number]) for level in path]
        coded = np.stack(
            [to_label[combinations[:, spec.columns.index(level.column)]] for level, (_, to_label) in
             zip(path, by_level, strict=True)], axis=1,
        )  # fmt: skip
        labels = [found for found, _ in by_level]
        end_short_branches(coded, path, labels, texts, schema)
        zonings.append((tuple(level.shown for level in path), coded, tuple(labels)))
    all_declared = declared and len(spec.columns) == 1 and spec.columns[0] in schema.modalities
    dimension, finest = build_dimension(spec.name, zonings, total, declared=all_declared)
    dimension = replace(
        dimension, names=tuple(level.name for level in spec.levels), values=single_values(spec.levels, texts, schema)
    )
    return Atoms(dimension, spec.columns, tuple(values), combinations, atom.astype(np.int64), finest)


def _valued(series: pl.Series, schema: Schema) -> tuple[list[object], Codes]:
    """The values of a column and each group's place among them.

    Null is a category if the schema says how it is coded.
    """
    values, codes = factorise(series)
    if (codes < 0).any():
        if not schema.undetermined.get(series.name):
            raise DataError(
                f"The dimension {series.name!r} is null in some records, and the schema does not say what that means. "
                f'Declare a code for it, which becomes a category: undetermined={{{series.name!r}: ["?"]}}; '
                "or leave these records out."
            )
        codes = np.where(codes < 0, len(values), codes).astype(np.int32)
        values = [*values, None]
    return values, codes


def _in_declared_order(values: list[object], codes: Codes, schema: Schema, column: str) -> tuple[list[object], Codes]:
    """Categories in the order in which the schema lists them, others behind."""
    listed = {text_of(v): i for i, v in enumerate(schema.declared_modalities.get(column, ()))}
    if not listed:
        return values, codes
    ranks = [listed.get(text_of(v), len(listed) + i) for i, v in enumerate(values)]
    order = np.argsort(ranks, kind="stable")
    place = np.empty(len(order), dtype=np.int32)
    place[order] = np.arange(len(order), dtype=np.int32)
    return [values[i] for i in order], place[codes]


def _texts(spec: DimensionSpec, values: Sequence[list[object]], schema: Schema) -> dict[tuple[str, int], Sequence[str]]:
    """The label of each value of each column, as it is and on the levels that are asked for."""
    found: dict[tuple[str, int], Sequence[str]] = {}
    for column, held in zip(spec.columns, values, strict=True):
        unknown = text_of(schema.undetermined[column][0]) if None in held else ""
        present = [v for v in held if v is not None]
        codes = schema.not_applicable.get(column, ())
        for number in {0, *(level.number for level in spec.levels if level.column == column)}:
            up = schema.hierarchies[column].generalise(present, number, keep=codes) if number else {}
            found[column, number] = [unknown if v is None else text_of(up.get(v, v)) for v in held]
    return found


def _coded(texts: Sequence[str]) -> tuple[list[str], Codes]:
    """The labels in the order in which they first stand, and the place of each text among them."""
    labels = list(dict.fromkeys(texts))
    place = {text: i for i, text in enumerate(labels)}
    return labels, np.array([place[t] for t in texts], dtype=np.int32)
