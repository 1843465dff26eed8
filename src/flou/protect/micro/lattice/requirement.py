"""What the classes of a node must meet: the user's privacy models, and which part of them prunes.

With record suppression only k and distinct l are monotone on the lattice: once a class meets them, what it
becomes part of meets them too, so a node above suppresses no more. Entropy and recursive l, t and β are so when
nothing may be suppressed. Of all the others only the class size that they imply is used to prune.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl
from numpy.typing import NDArray

from flou.describe.microdata import Microdata
from flou.describe.schema import Schema
from flou.engine import native
from flou.engine.errors import GuaranteeBrokenError, LazyInputError, ParameterError
from flou.engine.guarantee import Guarantee
from flou.engine.keys import KeyTable
from flou.engine.measure import RiskMeasure
from flou.protect.micro.lattice.ladder import Codes, Ints
from flou.protect.micro.promise import flags_nobody
from flou.risk.micro.closeness import TCloseness
from flou.risk.micro.diversity import LDiversity
from flou.risk.micro.k_anonymity import KAnonymity
from flou.risk.micro.likeness import BetaLikeness
from flou.risk.micro.sensitive import ClassMeasure, Part, coarsened

Flags = NDArray[np.bool_]


def models_of(k: int | None, models: Sequence[RiskMeasure]) -> tuple[RiskMeasure, ...]:
    """The models as they are held: k in the sense of the very same key, which implies every other sense."""
    held = [m.model_copy(update={"missing": "category"}) if isinstance(m, KAnonymity) else m for m in models]
    if k is not None:
        held.insert(0, KAnonymity(k=k, missing="category"))
    if not held:
        raise ParameterError("say what the release must meet: k=, models=[…], or both.")
    for model in held:
        if model.no_drop:
            raise ParameterError(f"{model.name()} cannot be held by a step: {model.no_drop}.")
    return tuple(held)


@dataclass(frozen=True, eq=False)
class Requirement:
    """Privacy models on one file; classes are named by the distinct keys that become part of them."""

    models: tuple[RiskMeasure, ...]
    data: Microdata
    table: KeyTable

    @cached_property
    def min_size(self) -> int:
        """The smallest class that any of the models allows."""
        sizes = [1]
        for model in self.models:
            if _plain_k(model):
                sizes.append(model.k)  # type: ignore[attr-defined]
            elif isinstance(model, LDiversity):
                sizes.append(math.ceil(float(model.l) - 1e-9))
        return max(sizes)

    @cached_property
    def only_k(self) -> bool:
        return all(_plain_k(model) for model in self.models)

    def monotone(self, *, suppressing: bool) -> bool:
        """Whether nodes above a node suppress no more than it does."""
        return all(self._monotone(model, suppressing) for model in self.models)

    @staticmethod
    def _monotone(model: RiskMeasure, suppressing: bool) -> bool:
        if _plain_k(model):
            return True
        if isinstance(model, LDiversity):
            return model.kind == "distinct" or not suppressing
        return isinstance(model, TCloseness | BetaLikeness) and not suppressing

    @cached_property
    def _parts(self) -> list[list[Part]]:
        """For each model the sensitive columns by distinct key; none where the model does not go by class."""
        for model in self.models:
            if isinstance(model, LDiversity):
                model.require_groups(self.data)
        found = [m.classes_of(self.data, self.data) if isinstance(m, ClassMeasure) else [] for m in self.models]
        for part in (part for parts in found for part in parts):
            if not np.array_equal(part.classes.keys.counts, self.table.counts):
                raise GuaranteeBrokenError("Classes and keys stand in different orders; nothing is released.")
        return found

    def failing(self, counts: Ints, place: Codes, shown: Callable[[], Codes]) -> Flags:
        """Which classes fail; `place` says for each distinct key its class, -1 where it has none.

        `shown` gives what each distinct key would show, as codes, one row a column: for models that do not go by
        class alone.
        """
        fails = counts < self.min_size
        inside = place >= 0
        for model, parts in zip(self.models, self._parts, strict=True):
            if isinstance(model, ClassMeasure):
                classes = KeyTable((), pl.DataFrame(), counts, None)
                moved = [_moved(part, classes, place, inside) for part in parts]
                fails |= model.judge(self.data, moved)[1]
        others = [m for m in self.models if not _plain_k(m) and not isinstance(m, ClassMeasure)]
        return self._measured(others, fails, place, shown()) if others else fails

    def parts_in_one_class(self) -> list[Part]:
        """The sensitive columns with the whole file as one class, model after model."""
        whole = KeyTable((), pl.DataFrame(), np.array([self.table.n_records], dtype=np.int64), None)
        place = np.zeros(self.table.n_keys, dtype=np.int32)
        return [_moved(part, whole, place, place == 0) for parts in self._parts for part in parts]

    def _measured(self, models: list[RiskMeasure], fails: Flags, place: Codes, codes: Codes) -> Flags:
        """By measuring the file as it would be shown, again and again until no record that is left is flagged."""
        class_of_row = place[self._key_of_row]
        while True:
            left = (class_of_row >= 0) & ~fails[class_of_row]
            if not left.any():
                return fails
            shown = self._shown(codes, left)
            found = np.zeros(len(fails), dtype=np.bool_)
            for model in models:
                try:
                    flagged = model.measure(shown).flagged
                except ParameterError:
                    if left.all():
                        raise
                    # fewer records are left than it asks for
                    flagged = np.ones(int(left.sum()), dtype=np.bool_)
                found[class_of_row[left][flagged]] = True
            if not found.any():
                return fails
            fails = fails | found

    def _shown(self, codes: Codes, left: Flags) -> Microdata:
        """The rows that are left, with what their keys would show, as codes."""
        columns = [pl.Series(c, codes[j][self._key_of_row].astype(np.int64)) for j, c in enumerate(self.table.columns)]
        frame = self._rows.with_columns(columns).filter(pl.Series(left))
        return Microdata(frame, _schema_of_codes(self.data.schema))

    @cached_property
    def _rows(self) -> pl.DataFrame:
        if self.data.is_lazy:
            names = ", ".join(m.name() for m in self.models if not isinstance(m, KAnonymity | ClassMeasure))
            raise LazyInputError(f"{names} is measured on rows in memory: .collect() the file first.")
        return native.collect(self.data.frame).select(*self.data.columns)

    @cached_property
    def _key_of_row(self) -> NDArray[np.intp]:
        return self.table.locate(self._rows)

    def guarantees(self) -> tuple[Guarantee, ...]:
        """The promise of each model, measured on the output."""
        return tuple(flags_nobody(model, self.data) for model in self.models)


def _plain_k(model: RiskMeasure) -> bool:
    return isinstance(model, KAnonymity) and model.by is None and model.subsets is None


def _moved(part: Part, classes: KeyTable, place: Codes, inside: Flags) -> Part:
    """A sensitive column by the new classes; keys that have none are left out."""
    held = part.classes
    if not inside.all():
        stay = inside[held.place]
        held = type(held)(held.column, held.keys, held.place[stay], held.code[stay], held.count[stay], held.values)
    return Part(coarsened(held, classes, place.astype(np.intp)), part.totals)


def _schema_of_codes(schema: Schema) -> Schema:
    """What still holds of the keys when they are codes."""
    keys = set(schema.keys)
    apart = {
        name: {c: v for c, v in getattr(schema, name).items() if c not in keys}
        for name in ("modalities", "hierarchies", "types", "not_applicable", "undetermined", "value_labels")
    }
    return schema.with_changes(**apart, incoherent=tuple(r for r in schema.incoherent if not keys & set(r)))
