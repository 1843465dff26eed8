"""t-closeness (Li, Li & Venkatasubramanian 2007): a class tells no more about its people than the whole file does.

The distance between the distribution of a sensitive column in a class and that in the whole input is the
work of moving the one onto the other (Earth Mover's Distance):

- `equal`: all values are as far from each other, half the sum of absolute differences;
- `ordered`: values stand in their order, the sum of absolute cumulated differences over m - 1;
- `hierarchical`: values are as far as the level of their first common ancestor, over the height.

The whole input includes records that a plan drops later: give the original as `against=`. It answers
skewness, and similarity where the distance knows which values are alike. Distances of 0 are reached only by
files from which nothing can be learnt at all; t says how much may be.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from flou.describe.hierarchy import Hierarchy
from flou.describe.microdata import Microdata
from flou.engine.errors import DataError, ParameterError
from flou.engine.figure import Figure
from flou.engine.parameters import Columns, Share
from flou.engine.result import RiskResult
from flou.engine.risk_figure import SHARE, RiskFigure, Vacuous, count_of
from flou.engine.taxonomy import Answers
from flou.engine.values import text_of
from flou.risk.micro.diversity import beside
from flou.risk.micro.histogram import around, class_chart
from flou.risk.micro.reference_distribution import classes_and_reference
from flou.risk.micro.sensitive import ClassMeasure, Floats, Ints, Part, SensitiveClasses, notes_of
from flou.risk.micro.setting import sensitive_columns

Distance = Literal["equal", "ordered", "hierarchical"]
#: Distances may miss t by rounding alone.
ROUNDING = 1e-12
#: Cells of classes × values that are held at a time.
_BLOCK = 4_000_000


class TCloseness(ClassMeasure):
    """Share of records in a class whose sensitive values are distributed too differently from the whole.

    Reference: Li, Li & Venkatasubramanian (2007).
    Result: `.value` the share of records in classes farther than t, `.t` the largest distance, `.units` the
    distance of each record's class, `.by_key` one line a class. Of several sensitive columns the farthest counts.
    """

    reference: ClassVar[str] = "li2007"
    title: ClassVar[str] = "t-closeness"
    audience = "public"
    answers_by: ClassVar[Mapping[str, Answers]] = {
        "equal": {"homogeneity": "measures", "skewness": "closes", "similarity": "measures"},
        "ordered": {"homogeneity": "measures", "skewness": "closes", "similarity": "closes"},
        "hierarchical": {"homogeneity": "measures", "skewness": "closes", "similarity": "closes"},
    }
    loose: ClassVar[Mapping[str, Vacuous]] = {"t": (">", 0.5)}
    requires = ("sensitive columns",)
    #: A class in which all have a value that half of the records have is at a distance of one half.
    vacuous: ClassVar[Mapping[str, Vacuous]] = {"t": (">=", 0.5)}
    headline: ClassVar[Figure] = Figure.public("value", "share of records farther than t", "share", SHARE)
    figures: ClassVar[tuple[Figure, ...]] = (
        Figure("t", "largest distance of a class", "number", RiskFigure("low", 0.5)),
        Figure.public("n_at_risk", "records farther than t", "count", count_of("n_records")),
        Figure.public("n_keys_at_risk", "distinct keys farther than t", "count", count_of("n_keys")),
        Figure.public("n_keys", "distinct keys", "count"),
        Figure.public("n_records", "records", "count"),
    )
    compares_with: ClassVar[Literal["original", "population"] | None] = "original"

    t: Share = Field(description="largest distance that a class may have")
    distance: Distance = Field("equal", description="how far sensitive values are from each other")
    sensitive: Columns | None = Field(None, description="sensitive columns; default: those declared")

    @property
    def variant(self) -> str:
        return self.distance

    def classes_of(self, data: Microdata, against: Microdata | None) -> list[Part]:
        return [classes_and_reference(data, against, c) for c in sensitive_columns(data, self.sensitive)]

    def judge(self, data: Microdata, parts: list[Part]) -> tuple[list[Floats], NDArray[np.bool_]]:
        found = [self._distances(data, part.classes, part.totals) for part in parts]
        return found, np.maximum.reduce(found) > self.t + ROUNDING

    def _measure(self, data: Microdata, against: Microdata | None, counts: Any) -> RiskResult:
        parts = self.classes_of(data, against)
        columns, keys = tuple(part.classes.column for part in parts), parts[0].classes.keys
        found, at_risk = self.judge(data, parts)
        farthest = np.maximum.reduce(found)
        n_at_risk = int(keys.counts[at_risk].sum())
        return self._result(
            data,
            value=n_at_risk / keys.n_records,
            no_interval="the file is measured as it is: nothing is estimated",
            figures={
                "t": float(farthest.max()),
                "n_at_risk": n_at_risk,
                "n_keys_at_risk": int(at_risk.sum()),
                "n_keys": keys.n_keys,
                "n_records": keys.n_records,
            },
            notes=notes_of(parts),
            keys=keys,
            key_values=farthest,
            unit_label="distance",
            at_risk=at_risk,
            detail=partial(beside, keys.frame.columns, columns, found),
            largest_first=True,
            chart=class_chart(
                around(float(np.nextafter(self.t, 2.0)), 0.0, 0.05, 0.1, 0.2, 0.3, 0.5, 0.8),
                titles=("distance from the whole file", "share of records"),
                flag_names=("farther than t", "t or nearer"),
            ),
        )

    def _distances(self, data: Microdata, classes: SensitiveClasses, totals: Ints) -> Floats:
        if self.distance == "equal":
            return equal_distance(classes, totals)
        if None in classes.values:
            n_null = int(totals[classes.values.index(None)])
            raise DataError(
                f"The sensitive column {classes.column!r} is undetermined in {n_null:,} records, and {self.distance} "
                "distances have no place for them. Give them a category of their own, or drop them first."
            )
        codes = {text_of(c) for c in data.schema.not_applicable.get(classes.column, ())}
        if self.distance == "ordered" and codes & {text_of(v) for v in classes.values}:
            raise DataError(
                f"The sensitive column {classes.column!r} has codes that are not applicable, which have no place in an "
                'order. Measure it with distance = "equal", or drop those records first.'
            )
        if self.distance == "ordered":
            return _ordered_distance(classes, totals, _ordered(data, classes))
        hierarchy = data.schema.hierarchies.get(classes.column)
        if hierarchy is None:
            raise ParameterError(
                f'distance = "hierarchical" needs a hierarchy of {classes.column!r}: declare it in the schema.'
            )
        return _hierarchical_distance(classes, totals, _levels(hierarchy, classes.values))


def equal_distance(classes: SensitiveClasses, totals: Ints) -> Floats:
    """What the class has too much of: the sum of p - q over the values where it is positive."""
    n = int(totals.sum())
    # whole numbers as long as the product of two counts has fewer than 53 bits
    surplus = classes.count * float(n) - classes.sizes[classes.place] * totals[classes.code].astype(np.float64)
    moved = np.bincount(classes.place, np.maximum(surplus, 0.0), classes.keys.n_keys)
    return np.asarray(moved / (classes.sizes * float(n)))


def _blocks(classes: SensitiveClasses, totals: Ints) -> Iterator[tuple[slice, Floats]]:
    """p - q of every value, for some classes at a time."""
    m, n_keys = len(totals), classes.keys.n_keys
    order = np.argsort(classes.place, kind="stable")
    place, code, count = classes.place[order], classes.code[order], classes.count[order]
    step = max(1, _BLOCK // max(m, 1))
    for start in range(0, n_keys, step):
        held = slice(start, min(start + step, n_keys))
        rows = slice(*np.searchsorted(place, [held.start, held.stop]))
        surplus = np.zeros((held.stop - held.start, m))
        surplus[place[rows] - start, code[rows]] = count[rows] / classes.sizes[place[rows]]
        surplus -= totals / totals.sum()
        yield held, surplus


def _ordered(data: Microdata, classes: SensitiveClasses) -> list[int]:
    """The order of the values: as their modalities are declared, that of their type, or that of numbers and dates."""
    texts = [text_of(v) for v in classes.values]
    for known in (data.declared_modalities.get(classes.column, ()), data.orders.get(classes.column, ())):
        place = {text_of(v): i for i, v in enumerate(known)}
        if place and set(texts) <= set(place):
            return sorted(range(len(texts)), key=lambda i: place[texts[i]])
    if any(isinstance(v, str | bool) for v in classes.values):
        raise DataError(
            f"The values of {classes.column!r} have no order of their own: declare its modalities in their order, or "
            "measure "
            'with distance = "equal".'
        )
    return [int(i) for i in np.argsort(np.array(classes.values), kind="stable")]


def _ordered_distance(classes: SensitiveClasses, totals: Ints, order: list[int]) -> Floats:
    out = np.zeros(classes.keys.n_keys)
    if len(order) < 2:
        return out
    for held, surplus in _blocks(classes, totals):
        out[held] = np.abs(np.cumsum(surplus[:, order], axis=1)[:, :-1]).sum(axis=1) / (len(order) - 1)
    return out


def _levels(hierarchy: Hierarchy, values: list[object]) -> list[list[int]]:
    """For each level above the values the number of each value's ancestor."""
    found = []
    for level in range(1, hierarchy.height + 1):
        above = hierarchy.generalise(values, level)
        names = sorted({str(a) for a in above.values()})
        found.append([names.index(str(above[v])) for v in values])
    return found


def _hierarchical_distance(classes: SensitiveClasses, totals: Ints, levels: list[list[int]]) -> Floats:
    """At each node what its children have too much or too little of is moved among them, at the node's height."""
    out = np.zeros(classes.keys.n_keys)
    for held, surplus in _blocks(classes, totals):
        below, nodes = surplus, np.arange(surplus.shape[1])
        for height, ancestor in enumerate(levels, start=1):
            # one representative value a node tells which node is above it
            above = np.zeros(int(nodes.max(initial=0)) + 1, dtype=np.intp)
            above[nodes] = ancestor
            n = max(ancestor, default=0) + 1
            much, little = np.zeros((len(below), n)), np.zeros((len(below), n))
            for child in range(below.shape[1]):
                much[:, above[child]] += np.maximum(below[:, child], 0.0)
                little[:, above[child]] += np.maximum(-below[:, child], 0.0)
            out[held] += height / len(levels) * np.minimum(much, little).sum(axis=1)
            below, nodes = much - little, np.array(ancestor)
    return out
