"""PRAM, the Post RAndomisation Method (Kooiman, Willenborg & Gouweleeuw 1997): categories change at random.

Each value is drawn again by the row of a transition matrix: given, or made so that the expected frequencies
stay as they are (invariant; Gouweleeuw et al. 1998). Nobody can be sure that a category is the true one, and
analysts who know the matrix can correct for it. It keeps nothing of links to other columns exactly, it may
draw combinations that make no sense (use `by`), and it does not protect where the chance to stay is high.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
import polars as pl
from numpy.typing import NDArray
from pydantic import Field, model_validator

from flou.describe.microdata import Microdata
from flou.describe.schema import Schema
from flou.engine.errors import DataError, ParameterError, listed
from flou.engine.note import Note
from flou.engine.parameters import Names
from flou.engine.protection import Claim, Protection
from flou.engine.randomness import Draws
from flou.engine.release import Change, Outcome
from flou.engine.result import unused
from flou.engine.taxonomy import always
from flou.engine.values import Proportion, codes_in, distinct, text_of
from flou.protect.micro.former_matrix import MatrixRow, rows_of_stratum
from flou.protect.micro.kept_input import Compared, KeptInput
from flou.protect.micro.least_change import ChangedEnough, least_changed
from flou.protect.micro.perturbable import require_perturbable, schema_of_perturbed
from flou.protect.micro.rows import Rows, read_rows, stratum_names
from flou.protect.micro.transition import Matrix, Transitions

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

#: A matrix has as many entries as the square of this.
_MOST_VALUES = 2000
_DEFAULT_STAY = 0.8
_WIDENED = (
    "{column}: {n_values} values are new since the former release; its matrix was widened by them and keeps "
    "frequencies only nearly"
)
_ANEW = (
    "{column}: so much is new since the former release that the matrix of {n_values} values was made anew, and what "
    "did not change is drawn a second time"
)


@dataclass(frozen=True)
class _Coded:
    """A column as codes: the values, each record's code, and the row of the matrices that it is drawn by."""

    values: pl.Series
    codes: Integers
    rows: Integers
    #: Stratum and value of each row, and the records that it has.
    strata: Integers
    olds: Integers
    counts: Integers


class Pram(Protection):
    """Draw categories again by a transition matrix: `Pram("region", stay=0.8)` or `Pram("job", matrix={…})`."""

    reference: ClassVar[str] = "kooiman1997"
    title: ClassVar[str] = "post randomisation (PRAM)"
    audience = "public"
    perturbative = True
    answers_by = always(identity="reduces", homogeneity="reduces")
    noises: ClassVar[bool] = True
    preserves: ClassVar[tuple[Claim, ...]] = ("records", "untouched columns", "expected marginal")

    column: str = Field(description="the column whose categories are drawn again")
    matrix: Matrix | None = Field(None, description="chance of each value to become each other; rows add up to 1")
    stay: float | None = Field(
        None, ge=0.5, lt=1.0, description="chance to stay in the base of an invariant matrix; 0.8 where none is given"
    )
    by: Names = Field((), description="strata, each with its own invariant matrix")

    @model_validator(mode="after")
    def _one_matrix(self) -> Pram:
        if self.matrix is not None and self.stay is not None:
            raise ParameterError("give either matrix= or stay= (for an invariant matrix), not both.")
        if self.matrix is not None and self.by:
            raise ParameterError("by= gives each stratum its own invariant matrix; a given matrix is the same for all.")
        return self

    @property
    def claims(self) -> tuple[Claim, ...]:
        return tuple(c for c in self.preserves if c != "expected marginal" or self.matrix is None)

    def _protect(self, data: Microdata, draw: Draws) -> Outcome:
        what, column = type(self).__name__, self.column
        require_perturbable(data, (column,), what, self.by)
        rows = read_rows(data, [column, *self.by], what)
        former = {name: MatrixRow.from_dict(row) for name, row in (draw.former or {}).get("rows", {}).items()}
        coded = self._coded(rows, former)
        names = self._row_names(rows, coded)
        matrix, n_anew = self._matrix(coded, [former.get(name) for name in names])
        transitions = self._transitions(coded, matrix)
        own = draw.bound(column)
        units = own.units(rows.ids, *self._drawn_with(coded, matrix))
        drawn = transitions.draw(coded.rows, coded.codes, own.uniform(units))
        new = _values_of(coded.values, drawn)
        chances = _chances_to_change(transitions, coded.olds)
        n, n_changed = int(coded.counts.sum()), int((drawn != coded.codes).sum())
        if n and not n_changed:
            raise DataError(
                f"Pram drew every value of {column!r} as it was: nothing is protected. Take a smaller stay, or a "
                "matrix that changes more; a file of very few records cannot be protected in this way."
            )
        beside = pl.Series(np.append(chances, np.nan)[coded.rows])
        released = rows.put_back({column: new}, self._schema(data, coded))
        kept = KeptInput.of(rows, released, {column: new}, {column: beside})
        return Outcome(
            released,
            guarantees=(DrawnAgain((column,), kept, least_changed(chances, coded.counts)),),
            changes=(Change(column, n_changed),),
            figures={
                "expected_share_changed": Proportion(float(chances @ coded.counts) / n),
                "share_changed": Proportion(n_changed / n),
            },
            notes=self._notes(names, former, n_anew) if draw.former is not None else (),
            details={"matrix": self._shown_matrix(rows, coded, transitions)},
            reusable={"rows": {name: row.to_dict() for name, row in zip(names, matrix, strict=True)}},
        )

    def _notes(self, names: list[str], former: Mapping[str, MatrixRow], n_anew: int) -> tuple[Note, ...]:
        """What of the former release's matrices did not fit this file."""
        n_new = 0 if self.matrix is not None else sum(name not in former for name in names)
        if n_anew:
            return (Note(_ANEW, {"column": self.column, "n_values": n_anew}, internal=True),)
        return (Note(_WIDENED, {"column": self.column, "n_values": n_new}, internal=True),) if n_new else ()

    def _coded(self, rows: Rows, former: Mapping[str, MatrixRow]) -> _Coded:
        """The column as codes; not-applicable codes that the matrix does not name stay as they are, like nulls."""
        held, data = rows.frame[self.column], rows.data
        dtype = data.frame.collect_schema()[self.column]
        named = [old for old, _ in self.matrix or ()]
        stay = {text_of(c) for c in data.schema.not_applicable.get(self.column, ())} - set(named)
        observed = distinct(held)
        kept = [v for v in observed if text_of(v) in stay]
        drawn = [v for v in observed if text_of(v) not in stay]
        if not drawn:
            raise DataError(f"Pram: the column {self.column!r} has no value at all, so there is nothing to draw again.")
        if len(observed) > _MOST_VALUES:
            raise DataError(
                f"Pram: {self.column!r} has {len(observed):,} values; a matrix of more than {_MOST_VALUES:,} is not "
                "made. Recode it first, or add noise if it is a number."
            )
        self._require_rows(data, drawn)
        named = [new for row in former.values() for new, _ in row.to if self.matrix is None]
        typed = _as_values(dtype, list(dict.fromkeys([*self._targets(), *named])), self.column)
        values = pl.Series(self.column, [*drawn, *kept, *(v for v in typed if v not in observed)], dtype=held.dtype)
        codes = _codes_of(held, values)
        strata = rows.strata(self.by)
        active = (codes >= 0) & (codes < len(drawn))
        pair = strata * len(drawn) + codes
        counts = np.bincount(pair[active], minlength=(int(strata.max(initial=0)) + 1) * len(drawn))
        present = np.flatnonzero(counts)
        row_of = np.full(len(counts), -1, dtype=np.int64)
        row_of[present] = np.arange(len(present))
        rows_of_records = np.where(active, row_of[np.where(active, pair, 0)], -1)
        return _Coded(
            values,
            codes,
            rows_of_records,
            present // len(drawn),
            present % len(drawn),
            counts[present].astype(np.int64),
        )

    def _targets(self) -> list[str]:
        """Every value that the matrix can give."""
        return list(dict.fromkeys(new for _, row in self.matrix or () for new, chance in row if chance > 0))

    def _require_rows(self, data: Microdata, drawn: list[object]) -> None:
        """A given matrix has a row for each value, and gives no value that nobody knows of."""
        if self.matrix is None:
            return
        named = {old for old, _ in self.matrix}
        missing = [v for v in drawn if text_of(v) not in named]
        if missing:
            raise DataError(
                f"Pram: the matrix has no row for {len(missing)} values of {self.column!r}: {listed(missing)}. Give "
                "each value a row, {value: 1} if it should stay."
            )
        declared = {text_of(v) for v in data.declared_modalities.get(self.column, ())}
        strange = [new for new in self._targets() if new not in named | declared]
        if strange:
            raise DataError(
                f"Pram: the matrix gives {listed(strange)}, which no record of {self.column!r} has. Declare it in "
                "modalities or give it a row, if it is no mistake."
            )

    def _matrix(self, coded: _Coded, former: Sequence[MatrixRow | None]) -> tuple[list[MatrixRow], int]:
        """The rows of the matrices, those of the former release where they fit, and how many could not be kept."""
        values = [text_of(v) for v in coded.values.gather(coded.olds).to_list()]
        if self.matrix is not None:
            given = dict(self.matrix)
            return [MatrixRow.of(given[old]) for old in values], 0
        edges = np.append(np.flatnonzero(np.diff(coded.strata, prepend=-1)), len(coded.strata))
        parts = [slice(first, last) for first, last in pairwise(edges.tolist())]
        alone = sum(len(former[part]) == 1 and former[part][0] is None for part in parts)
        if alone:
            where = f" in {alone:,} of {len(parts):,} strata" if self.by else ""
            step = "Use fewer columns in by, or recode them." if self.by else "Leave the step out."
            raise DataError(f"The column {self.column!r} has only one value{where}, so nothing could change. {step}")
        stay, rows, n_anew = _DEFAULT_STAY if self.stay is None else self.stay, [], 0
        for part in parts:
            own, kept = rows_of_stratum(values[part], coded.counts[part], stay, former[part])
            rows += own
            n_anew += 0 if kept else sum(row is not None for row in former[part])
        return rows, n_anew

    def _transitions(self, coded: _Coded, matrix: Sequence[MatrixRow]) -> Transitions:
        place = {text_of(v): i for i, v in enumerate(coded.values.to_list())}
        return Transitions.of(
            [
                (
                    np.array([place[new] for new, _ in row.to], dtype=np.int64),
                    np.array([chance for _, chance in row.to]),
                )
                for row in matrix
            ]
        )

    def _row_names(self, rows: Rows, coded: _Coded) -> list[str]:
        """What each row of the matrices is called: its stratum and its value."""
        strata, values = stratum_names(rows.frame, self.by), [text_of(v) for v in coded.values.to_list()]
        return [json.dumps([strata[s], values[o]]) for s, o in zip(coded.strata, coded.olds, strict=True)]

    def _drawn_with(self, coded: _Coded, matrix: Sequence[MatrixRow]) -> tuple[NDArray[Any], NDArray[Any]]:
        """What each record's draw hangs on: its value, and the row of the matrix that it is drawn by."""
        texts = np.array([text_of(v) for v in coded.values.to_list()], dtype=object)
        # a number stands for a text, so that few texts are hashed
        held = np.array([row.bound_to for row in matrix], dtype=object)
        return _numbers(texts)[coded.codes], _numbers(held)[coded.rows]

    def _schema(self, data: Microdata, coded: _Coded) -> Schema:
        """Declared values stay valid, and those that the matrix adds are declared too."""
        schema = schema_of_perturbed(data.schema, (self.column,), self.by)
        known = {text_of(v) for v in data.declared_modalities.get(self.column, ())}
        added = tuple(v for v in coded.values.to_list() if text_of(v) not in known)
        if self.column in schema.modalities and added:
            listed_values = (*schema.modalities[self.column], *added)
            schema = schema.with_changes(modalities={**schema.modalities, self.column: listed_values})
        hierarchy = schema.hierarchies.get(self.column)
        if hierarchy is not None and self.matrix is not None:
            keep = {text_of(c) for c in data.schema.not_applicable.get(self.column, ())}
            if not all(hierarchy.covers(v) for v in coded.values.to_list() if text_of(v) not in keep):
                left = {c: h for c, h in schema.hierarchies.items() if c != self.column}
                schema = schema.with_changes(hierarchies=left)
        return schema

    def _shown_matrix(self, rows: Rows, coded: _Coded, transitions: Transitions) -> pl.DataFrame:
        """The matrices, one line an entry: the stratum, the value, what it becomes, and with which chance."""
        n_targets = np.diff(transitions.starts)
        shown = pl.DataFrame(
            {
                self.column: coded.values.gather(np.repeat(coded.olds, n_targets)),
                unused("becomes", self.by): coded.values.gather(transitions.targets),
                unused("chance", self.by): transitions.chances,
            }
        )
        if not self.by:
            return shown
        strata = rows.frame.select(self.by).unique().sort(self.by, nulls_last=True)
        return pl.concat([strata[np.repeat(coded.strata, n_targets)], shown], how="horizontal")


def _as_values(dtype: Any, texts: list[str], column: str) -> list[Any]:
    """Targets as values of the column's type."""
    typed = codes_in(dtype, texts)
    if len(typed) < len(texts):
        known = {text_of(v) for v in typed}
        wrong = [t for t in texts if t not in known]
        raise DataError(f"Pram: {listed(wrong)} cannot stand in {column!r}, a column of type {dtype}.")
    return typed


def _codes_of(held: pl.Series, values: pl.Series) -> Integers:
    """The place of each value among the values; -1 for null."""
    if held.dtype == pl.String:
        codes = held.cast(pl.Enum(values)).to_physical().cast(pl.Int64)
    else:
        codes = held.replace_strict(values, np.arange(len(values)), default=None, return_dtype=pl.Int64)
    return codes.fill_null(-1).to_numpy()


def _values_of(values: pl.Series, codes: Integers) -> pl.Series:
    """The values at these places; null for -1."""
    found = values.gather(np.maximum(codes, 0))
    return found if (codes >= 0).all() else found.zip_with(pl.Series(codes >= 0), values.clear(len(codes)))


def _chances_to_change(transitions: Transitions, olds: Integers) -> Floats:
    """How likely each row is to give another value."""
    of_row = np.repeat(np.arange(len(olds)), np.diff(transitions.starts))
    other = transitions.targets != olds[of_row]
    found = np.bincount(of_row[other], transitions.chances[other], minlength=len(olds))
    return np.minimum(found.astype(np.float64), 1.0)


@dataclass(frozen=True, eq=False)
class DrawnAgain(ChangedEnough):
    """Values were drawn by the matrix: as many changed as chance makes change, at least."""

    least: float = field(repr=False)

    text = "the values of {column} were drawn again by the transition matrix"

    def total_and_least(self, compared: Compared) -> tuple[float, float]:
        assert compared.beside is not None
        changed = float((compared.before != compared.after).sum())
        if compared.complete and compared.after.null_count() == compared.made.null_count():
            return changed, self.least
        left = compared.beside.filter(compared.after.is_not_null()).to_numpy()
        chances, counts = np.unique(left[~np.isnan(left)], return_counts=True)
        return changed, least_changed(chances, counts)


def _numbers(texts: NDArray[Any]) -> Integers:
    """A number of 64 bits for each text, and one for none, at the end."""
    digests = [hashlib.blake2b(str(text).encode(), digest_size=8).digest() for text in texts] + [b"\0" * 8]
    return np.frombuffer(b"".join(digests), dtype="<i8").astype(np.int64)
