"""l-diversity (Machanavajjhala et al. 2007): the records of a class do not all give the same thing away.

A class is made of the records that show the very same key. Its l is

- `distinct`: the number of different sensitive values;
- `entropy`: exp of the entropy of their distribution, which is l when l values are equally frequent;
- `recursive`: the largest l for which the most frequent value has r1 < c (r_l + … + r_m), the frequencies
  in falling order; 1 where there is none.

An undetermined sensitive value could be any, also the one that the class is full of: by default it is
counted with the most frequent value of its class, which is the least diverse that it could be.

Where a person may have several rows, persons are counted. A person may then show several values; each is taken to show
one of them, in the way that leaves the class least diverse. `distinct` is then the fewest values that, by their counts,
could be those of everybody in the class.

It answers homogeneity (distinct) and, for recursive and entropy, what is left when an intruder rules values
out. It does not answer skewness (a class where an illness is ten times as frequent as elsewhere can be
diverse) nor similarity (gastric ulcer, gastritis and stomach cancer are three values); group the values
for the latter, and use t-closeness for the former.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, ClassVar, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray
from pydantic import Field, model_validator

from flou.describe.microdata import Microdata
from flou.engine.errors import ParameterError
from flou.engine.figure import Figure
from flou.engine.measure import Names
from flou.engine.note import Note
from flou.engine.parameters import Columns, Number, Pairs
from flou.engine.result import RiskResult, unused
from flou.engine.risk_figure import SHARE, RiskFigure, Vacuous, count_of
from flou.engine.taxonomy import Answers
from flou.risk.micro.histogram import around, class_chart
from flou.risk.micro.sensitive import (
    ClassMeasure,
    Floats,
    Ints,
    Part,
    SensitiveClasses,
    notes_of,
    require_values,
    sensitive_classes,
)
from flou.risk.micro.setting import sensitive_columns

Kind = Literal["distinct", "entropy", "recursive"]
#: exp(entropy) of l equally frequent values may miss l by rounding alone.
_ROUNDING = 1e-9


class LDiversity(ClassMeasure):
    """Share of records in a class with too few well-represented sensitive values.

    Reference: Machanavajjhala et al. (2007).
    Result: `.value` the share of records in classes below l, `.l` the smallest l of a class, `.units` the l
    that each record's class reaches (for entropy exp H), `.by_key` one line a class, with one column for each of
    several sensitive variables. Of several the least diverse counts.
    """

    reference: ClassVar[str] = "machanavajjhala2007"
    title: ClassVar[str] = "l-diversity"
    audience = "public"
    answers_by: ClassVar[Mapping[str, Answers]] = {
        "distinct": {"identity": "closes", "homogeneity": "closes", "background": "measures"},
        "entropy": {"identity": "closes", "homogeneity": "closes", "background": "closes"},
        "recursive": {"identity": "closes", "homogeneity": "closes", "background": "closes"},
        "on groups of values": {
            "identity": "closes",
            "homogeneity": "closes",
            "background": "measures",
            "similarity": "closes",
        },
    }
    loose: ClassVar[Mapping[str, Vacuous]] = {"l": ("<", 2)}
    requires = ("sensitive columns",)
    #: By entropy, a class in which nine records in ten have one value has l = 1.38.
    vacuous: ClassVar[Mapping[str, Vacuous]] = {"l": ("<", 1.5)}
    allows_several_rows: ClassVar[bool] = True
    headline: ClassVar[Figure] = Figure.public("value", "share of records below l", "share", SHARE)
    figures: ClassVar[tuple[Figure, ...]] = (
        Figure.public("l", "smallest l of a class", "smallest", RiskFigure("high", 1.5)),
        Figure.public("n_at_risk", "records below l", "count", count_of("n_records")),
        Figure.public("n_keys_at_risk", "distinct keys below l", "count", count_of("n_keys")),
        Figure.public("n_keys", "distinct keys", "count"),
        Figure.public("n_records", "records", "count"),
    )

    l: Number = Field(ge=1, description="smallest diversity that a class must have")  # noqa: E741
    kind: Kind = Field("distinct", description="how diversity is counted")
    c: Number = Field(2, gt=0, description="for recursive: how often the most frequent value may occur")
    sensitive: Columns | None = Field(None, description="sensitive columns; default: those declared")
    groups: Pairs | None = Field(None, description="sensitive values that are alike: value = group")
    level: int | str | None = Field(None, description="take the sensitive values at this level of their hierarchy")
    missing: Literal["pessimistic", "category"] = Field(
        "pessimistic", description="what an undetermined sensitive value counts as"
    )

    @model_validator(mode="after")
    def _consistent(self) -> LDiversity:
        if self.groups is not None and self.level is not None:
            raise ParameterError("groups and level both say which values are alike: give one of them.")
        if self.kind != "entropy" and not float(self.l).is_integer():
            raise ParameterError(f"l = {self.l} is not a whole number, which only entropy can be held against.")
        return self

    @property
    def variant(self) -> str:
        return self.kind if self.groups is None and self.level is None else "on groups of values"

    @property
    def is_loose(self) -> bool:
        """Recursive with a large c: the most frequent value may be nearly all of them."""
        return super().is_loose or (self.kind == "recursive" and self.c > 4)

    def attacks_shown(self, result: RiskResult) -> tuple[Names, Names]:
        """It speaks of identity only when it is met: a class of one value may be large."""
        closed, found = super().attacks_shown(result)
        return closed, tuple(attack for attack in found if attack != "identity")

    @classmethod
    def flags_nobody(cls, settings: Mapping[str, Any]) -> bool:
        """Recursive with c = 9: nine records in ten may have one value."""
        c = settings.get("c")
        return (settings.get("kind") == "recursive" and c is not None and c >= 9) or super().flags_nobody(settings)

    def require_groups(self, data: Microdata) -> None:
        """Refuse groups of values that a file does not hold."""
        if self.groups is None:
            return
        column = sensitive_columns(data, self.sensitive)[0]
        values = data.key_table((column,)).frame[column]
        require_values(dict(self.groups), column, values.drop_nulls().to_list(), data)

    def classes_of(self, data: Microdata, against: Microdata | None) -> list[Part]:
        columns = sensitive_columns(data, self.sensitive)
        if self.groups is not None and len(columns) > 1:
            raise ParameterError('groups are values of one sensitive column: name it with sensitive = "…".')
        classes = [sensitive_classes(data, c, self._groups, self.level) for c in columns]
        return [Part(c, c.totals()) for c in classes]

    def judge(self, data: Microdata, parts: list[Part]) -> tuple[list[Floats], NDArray[np.bool_]]:
        found = [reached(part.classes, self.kind, float(self.c), self.missing) for part in parts]
        return found, np.minimum.reduce(found) < self.l * (1 - _ROUNDING)

    def _measure(self, data: Microdata, against: Any, counts: Any) -> RiskResult:
        parts = self.classes_of(data, None)
        columns, keys = tuple(part.classes.column for part in parts), parts[0].classes.keys
        found, at_risk = self.judge(data, parts)
        smallest = np.minimum.reduce(found)
        n_at_risk = int(keys.counts[at_risk].sum())
        lowest = float(smallest.min())
        n_constant = sum(len(part.classes.values) < 2 for part in parts)
        return self._result(
            data,
            value=n_at_risk / keys.n_records,
            no_interval="the file is measured as it is: nothing is estimated",
            figures={
                "l": lowest if self.kind == "entropy" else int(lowest),
                "n_at_risk": n_at_risk,
                "n_keys_at_risk": int(at_risk.sum()),
                "n_keys": keys.n_keys,
                "n_records": keys.n_records,
            },
            notes=(*_constant_notes(n_constant), *notes_of(parts)),
            keys=keys,
            key_values=smallest if self.kind == "entropy" else smallest.astype(np.int64),
            unit_label="l",
            at_risk=at_risk,
            detail=partial(beside, keys.frame.columns, columns, found),
            chart=class_chart(
                around(self.l, 1, 2, 3, 4, 5, 10),
                whole=self.kind != "entropy",
                titles=("l of the class", "share of records"),
                flag_names=("below l", "l or more"),
            ),
        )

    @property
    def _groups(self) -> dict[str, Any] | None:
        return None if self.groups is None else dict(self.groups)


def _constant_notes(n_constant: int) -> tuple[Note, ...]:
    """A column with one value gives it away for everybody, with or without the file's keys."""
    text = "{n} of the sensitive columns have a single value in the whole file: everybody's is known."
    return (Note(text, {"n": n_constant}),) if n_constant else ()


def beside(taken: list[str], columns: tuple[str, ...], found: list[Floats]) -> pl.DataFrame:
    """The figure of each of several sensitive columns; of one there is nothing to add."""
    if len(columns) < 2:
        return pl.DataFrame()
    return pl.DataFrame([pl.Series(unused(f"{c}.figure", taken), f) for c, f in zip(columns, found, strict=True)])


def reached(classes: SensitiveClasses, kind: Kind, c: float, missing: str) -> Floats:
    """The l that each class reaches."""
    place, count = _ranked(classes, missing)
    n = classes.keys.n_keys
    if classes.keys.people is not None:
        place, count = _one_value_each(place, count, classes.sizes)
    if kind == "distinct":
        return np.bincount(place, minlength=n).astype(np.float64)
    if kind == "entropy":
        share = count / classes.sizes[place]
        return np.exp(-np.bincount(place, share * np.log(share), n))
    first = np.concatenate([[True], place[1:] != place[:-1]])
    largest = np.maximum.reduceat(count, np.flatnonzero(first))
    # what is left from each rank on: the class less what comes before
    before = np.cumsum(count) - count
    left = classes.sizes[place] - (before - before[first][place])
    met = largest[place] < c * left
    return np.maximum(np.bincount(place, met, n), 1.0)


def _one_value_each(place: Ints, count: Ints, sizes: Ints) -> tuple[Ints, Ints]:
    """The counts as if each person showed one of his values: of all ways to choose them, the least diverse.

    Persons go to the most frequent value as far as there are any, what is left of them to the next, and so on. Any
    choice of one value a person is at least as diverse, by every kind; who has all values himself adds no diversity.
    """
    first = np.concatenate([[True], place[1:] != place[:-1]])
    before = np.cumsum(count) - count
    before -= before[first][np.cumsum(first) - 1]
    left = np.clip(sizes[place] - before, 0, count)
    return place[left > 0], left[left > 0]


def _ranked(classes: SensitiveClasses, missing: str) -> tuple[Ints, Ints]:
    """Class and count of each pair, by class and falling count; undetermined values with the most frequent one."""
    known = np.flatnonzero(classes.code >= 0) if classes.n_null and missing == "pessimistic" else None
    place = classes.place if known is None else classes.place[known]
    count = classes.count if known is None else classes.count[known]
    largest_first = np.int64(classes.keys.n_records) - count
    order = np.argsort(place * np.int64(classes.keys.n_records) + largest_first, kind="stable")
    place, count = place[order], count[order]
    if known is None:
        return place, count
    nulls = np.zeros(classes.keys.n_keys, dtype=np.int64)
    unknown = classes.code < 0
    nulls[classes.place[unknown]] = classes.count[unknown]
    # a class of nothing but nulls is taken to hide one value
    bare = np.setdiff1d(classes.place[unknown], place)
    if len(bare):
        where = np.searchsorted(place, bare)
        place, count = np.insert(place, where, bare), np.insert(count, where, 0)
    first = np.concatenate([[True], place[1:] != place[:-1]])
    count = count + np.where(first, nulls[place], 0)
    return place, count
