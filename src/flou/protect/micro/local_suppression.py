"""Local suppression: null single values of keys so that k released records show the very same key.

What does a null protect? Counted as a wildcard, very little: three wholly null records make any file 3-anonymous in
the orthodox, optimistic and pessimistic senses, while everybody who was unique is still found by the one record that
shows the exact key. So a null counts as a value of its own here (`sense = "category"`): k released records show the
very same key, nulls included. They cannot be told apart whatever an intruder knows, and it implies k in every other
sense. That is verified on the output.

Few, cheap nulls are sought (the problem is NP-hard): records are put together in classes, also with records of classes
that are large enough to lend some, and null stands where they differ; classes are then taken apart and put together
anew as long as that saves nulls. `search = "exact"` finds the minimum of small files, to know the gap. Which of several
records with one key lose a value is drawn at random, by the secret.

`sense = "orthodox"` is for comparison with sdcMicro alone, and marked so: nulls as wildcards, in records below k.
References: Meyerson & Williams (2004) for the problem; Hundepool et al. (2012).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import BeforeValidator, Field, model_validator

from flou.describe.microdata import Microdata
from flou.engine.errors import DataError, Infeasible, ParameterError, did_you_mean, listed
from flou.engine.guarantee import Guarantee
from flou.engine.keys import KeyTable
from flou.engine.note import Note
from flou.engine.parameters import Columns, Pairs, as_tuple
from flou.engine.protection import Protection
from flou.engine.randomness import Draws
from flou.engine.release import Outcome
from flou.engine.taxonomy import Answers
from flou.protect.micro.importance import check_importance
from flou.protect.micro.lattice.key_file import key_weights
from flou.protect.micro.lent_records import show_nulling
from flou.protect.micro.nulls.exact import null_cells_exactly
from flou.protect.micro.nulls.orthodox import null_as_wildcards
from flou.protect.micro.nulls.parts import Nulling, mask_costs, plain_need
from flou.protect.micro.nulls.risk_need import least_weights
from flou.protect.micro.nulls.solve import null_cells
from flou.protect.micro.promise import flags_nobody
from flou.risk.micro.individual import IndividualRisk
from flou.risk.micro.inferable.nulled import columns_that_tell
from flou.risk.micro.k_anonymity import KAnonymity
from flou.risk.micro.setting import key_space, require_keys, require_sampling_weights

#: How much of the usual search a quick one does.
_QUICK = 0.02
#: Choices of nulls for a key that the exact search may have to weigh.
_MAX_EXACT = 4_000


def _as_subsets(value: object) -> object:
    if not isinstance(value, list | tuple):
        return value
    if not value or any(isinstance(v, str) for v in value):
        raise ValueError(
            f'subsets = {value!r} should be a number of keys, or a list of subsets, each a list: [["age", "sex"]].'
        )
    return tuple(as_tuple(v) for v in value)


#: A number of keys (every subset of so many), or the subsets themselves.
Subsets = Annotated[int | tuple[Columns, ...], BeforeValidator(_as_subsets)]


class LocalSuppression(Protection):
    """Null as few values of the keys as needed for k records to show the same: `LocalSuppression(k=3)`.

    Reference: Hundepool et al. (2012). The step carries `.n_nulls`, `.nulls` (by key), `.n_changed` (records with a
    new null) and `.cost`, the nulls weighted by importance.
    """

    reference: ClassVar[str] = "hundepool2012"
    title: ClassVar[str] = "local suppression"
    audience = "public"
    perturbative = False
    answers_by: ClassVar[Mapping[str, Answers]] = {
        "k": {"identity": "closes"},
        "max_risk, subsets or sense = orthodox": {"identity": "reduces"},
    }
    chooses_keys: ClassVar[bool] = True

    k: int | None = Field(None, ge=1, description="smallest number of records that must show the same key")
    importance: Pairs | None = Field(None, description="what a null costs in each key; 1 unless given")
    sense: Literal["category", "orthodox"] = Field("category", description="what a null counts as")
    subsets: Subsets | None = Field(
        None, description="k on every subset of so many keys, or on each of these subsets; default: on all keys"
    )
    by: Columns | None = Field(None, description="within these strata; default: the whole file")
    max_risk: float | None = Field(None, gt=0.0, lt=1.0, description="largest individual risk, by the weights")
    search: Literal["auto", "quick", "exact"] = Field(
        "auto", description="quick: a first answer, some percent dearer; exact: the minimum, of small files"
    )

    @model_validator(mode="after")
    def _consistent(self) -> LocalSuppression:
        check_importance(self.importance)
        if self.k is None and self.max_risk is None:
            raise ParameterError("say what the release must meet: k=, or max_risk=.")
        if self.max_risk is not None and (self.subsets is not None or self.by is not None or self.search == "exact"):
            raise ParameterError(
                "max_risk goes with the whole key of the whole file: leave out subsets, by and the exact search."
            )
        if self.sense == "orthodox" and (self.subsets or self.by or self.max_risk or self.search != "auto"):
            raise ParameterError('sense = "orthodox" is for comparison alone: it takes k and importance.')
        if isinstance(self.subsets, int) and (isinstance(self.subsets, bool) or self.subsets < 1):
            raise ParameterError(f"subsets = {self.subsets!r} should be a number of keys, 1 at least.")
        return self

    @property
    def variant(self) -> str:
        known, other = self.answers_by
        return other if self.k is None or self.k < 2 or self.subsets is not None or self.sense != "category" else known

    def _protect(self, data: Microdata, draw: Draws) -> Outcome:
        columns = require_keys(data)
        if both := [c for c in self.by or () if c in columns]:
            raise ParameterError(f"by names {listed(both)}, a key: strata are columns that keep their values.")
        table = key_space(data, self.by or ()).keys.sorted()
        least = 1 if self.k is None else self.k
        if table.n_records < least:
            raise ParameterError(f"k = {least} is larger than the file: it has {table.n_records:,} records.")
        cost = key_weights(columns, self.importance)
        nulling = self._nulling(data, table, columns, cost)
        released, shown = show_nulling(data, table, columns, nulling, draw)
        by_key = {c: int(nulling.n[(nulling.mask >> j) & 1 == 1].sum()) for j, c in enumerate(columns)}
        shares = {
            c: np.bincount(nulling.key, nulling.n * ((nulling.mask >> j) & 1), table.n_keys) / table.counts
            for j, c in enumerate(columns)
            if by_key[c]
        }
        for column, telling in columns_that_tell(data, table, shares).items():
            if telling:
                raise DataError(
                    f"Nulls in {column!r} would protect nobody: {listed(telling)} tells what they were. Leave it out "
                    f"of the file, or make nulls in {column!r} dearer by importance."
                )
        rare = table.counts < least
        figures = {
            "n_keys": len(table.counts),
            "n_rare_keys": int(rare.sum()),
            "n_nulls": sum(by_key.values()),
            "n_changed": int(nulling.n[nulling.mask > 0].sum()),
            "cost": float(mask_costs(nulling.mask, cost) @ nulling.n),
        }
        text = "{n_nulls} values were nulled, in {n_changed} of {n_records} records"
        notes = [Note(text, {**figures, "n_records": table.n_records}, internal=True)]
        if self.sense == "orthodox":
            notes.append(_ORTHODOX)
        elif figures["n_nulls"] and _alike(data) and self.subsets is None and self.max_risk is None:
            notes.append(_ALIKE)
        return Outcome(
            released,
            guarantees=self._guarantees(data, columns),
            changes=shown.changes(),
            figures=figures,
            notes=tuple(notes),
            details={"nulls": by_key, "rare_keys": table.frame.filter(rare)},
        )

    def _nulling(self, data: Microdata, table: KeyTable, columns: tuple[str, ...], cost: Any) -> Nulling:
        places = [table.columns.index(c) for c in columns]
        codes = np.ascontiguousarray(table.codes[:, places])
        if self.max_risk is not None:
            return self._by_risk(data, table, codes, cost)
        assert self.k is not None
        if self.sense == "orthodox":
            return null_as_wildcards(codes, table.counts, self.k, cost)
        requirements = None if self.subsets is None else [(s, self.k) for s in self._positions(columns)]
        parts = []
        for rows in _strata(table, columns):
            n = int(table.counts[rows].sum())
            if n < self.k:
                raise Infeasible(
                    f"k = {self.k} cannot be reached within the strata: one of them is smaller.",
                    best=f"k = {n:,} in that stratum",
                    next_step="Use coarser strata, or drop them.",
                )
            here = codes[rows], table.counts[rows], self.k, cost
            if _alike(data) and self.subsets is None and self.search != "exact":
                weights = table.counts[rows].astype(np.float64)
                part = null_cells(*here, weights=weights, need=plain_need(self.k), effort=self._effort)
            elif self.search == "exact":
                part = self._exactly(*here, requirements)
            else:
                part = null_cells(*here, requirements, effort=self._effort)
            parts.append(Nulling(rows[part.key], part.mask, part.n))
        return Nulling(*(np.concatenate([getattr(p, name) for p in parts]) for name in ("key", "mask", "n")))

    @property
    def _effort(self) -> float:
        return _QUICK if self.search == "quick" else 1.0

    def _exactly(self, codes: Any, counts: Any, k: int, cost: Any, requirements: Any) -> Nulling:
        size = len(codes) << codes.shape[1]
        if size > _MAX_EXACT:
            raise ParameterError(
                f'search = "exact" is for small files: {len(codes):,} distinct keys with {codes.shape[1]} columns have '
                f"{size:,} choices of nulls, more than {_MAX_EXACT:,}. Leave it out."
            )
        return null_cells_exactly(codes, counts, k, cost, requirements)

    def _by_risk(self, data: Microdata, table: KeyTable, codes: Any, cost: Any) -> Nulling:
        assert self.max_risk is not None
        require_sampling_weights(data)
        weights = table.counts.astype(np.float64) if table.weights is None else table.weights
        need = least_weights(self.max_risk, self.k or 1, table.n_records)
        try:
            return null_cells(codes, table.counts, self.k or 1, cost, weights=weights, need=need, effort=self._effort)
        except ValueError:
            raise Infeasible(
                f"An individual risk of {self.max_risk} cannot be reached, not even by a file without keys.",
                best=f"1 in {weights.sum():,.0f}",
                next_step="Allow a larger risk.",
            ) from None

    def _positions(self, columns: tuple[str, ...]) -> list[tuple[int, ...]]:
        """The subsets as places among the keys."""
        if isinstance(self.subsets, int):
            if self.subsets > len(columns):
                raise ParameterError(f"subsets = {self.subsets} is more than the {len(columns)} keys there are.")
            return list(combinations(range(len(columns)), self.subsets))
        unknown = sorted({c for s in self.subsets or () for c in s} - set(columns))
        if unknown:
            hint = did_you_mean(unknown[0], columns)
            raise ParameterError(f"subsets names {listed(unknown)}, which is no key.{hint} Keys: {', '.join(columns)}.")
        return [tuple(columns.index(c) for c in s) for s in self.subsets or ()]

    def _guarantees(self, data: Microdata, columns: tuple[str, ...]) -> tuple[Guarantee, ...]:
        measures: list[Any] = []
        if self.max_risk is not None:
            measures.append(IndividualRisk(threshold=self.max_risk, missing="category"))
        if self.k is not None and self.subsets is None:
            measures.append(KAnonymity(k=self.k, missing=self.sense, by=self.by))
        promised: list[Guarantee] = [flags_nobody(m) for m in measures]
        if isinstance(self.subsets, int):
            measure = KAnonymity(k=self.k or 1, missing="category", by=self.by, subsets=self.subsets)
            promised.append(flags_nobody(measure))
        elif self.subsets is not None:
            for subset in self._positions(columns):
                named = (*(columns[j] for j in subset), *(self.by or ()))
                promised.append(ShownByEnough(tuple(dict.fromkeys(named)), self.k or 1))
        return tuple(promised)


@dataclass(frozen=True, eq=False)
class ShownByEnough(Guarantee):
    """Every combination of some columns is shown by k records or more."""

    columns: tuple[str, ...]
    k: int

    text = "every combination of {columns} is shown by {k} records or more"

    def violations(self, data: Microdata) -> int:
        counts = data.key_table(self.columns).counts
        return int(counts[counts < self.k].sum())


_ORTHODOX = Note(
    "Nulls count as wildcards here, for comparison with other tools: records can still be found by elimination. "
    'Use sense = "category" for a release.'
)


_ALIKE = Note(
    "Rows without an id cannot be told apart in their engine, so the records of a key were all treated alike. With an "
    "id fewer nulls would do.",
    internal=True,
)


def _alike(data: Microdata) -> bool:
    """Whether records that share a key cannot be treated differently."""
    return data.is_lazy and data.schema.id is None


def _strata(table: KeyTable, columns: tuple[str, ...]) -> list[Any]:
    """The keys of each stratum."""
    strata = [c for c in table.columns if c not in columns]
    if not strata:
        return [np.arange(table.n_keys)]
    _, place = table.marginal(strata)
    order = np.argsort(place, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(place[order])) + 1)
