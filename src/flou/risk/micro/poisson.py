"""Poisson log-linear risk (Skinner & Shlomo 2008): how rare a key is in the population, judged by the other keys.

The number of people with each key is Poisson with mean λ, sampled with probability π; the sample then has mean
μ = π λ, which a log-linear model fits on every cell of the key space, those that nobody is in included. What
stays unseen of a key is Poisson with mean λ (1 - π), so

- τ1, the expected number of sample uniques that are population uniques, is the sum of exp(-λ (1 - π));
- τ2, the expected number of right matches of sample uniques, is the sum of (1 - exp(-λ (1 - π))) / (λ (1 - π));
- for a key with f sampled records, E[1/F | f] is the integral of t^(f-1) exp(-λ (1 - π) (1 - t)) over [0, 1].

A model that is too simple overstates the risk as a rule, one that is too rich understates it. The test statistic of
each measure estimates its bias to second order in λ and divides it by its standard error under the model: well
above 0 the risk is overstated, well below it is understated. `formula = "search"` adds interactions one at a time,
the one that brings the statistic of τ2 nearest to 0, until it no longer speaks against the model.

It fails where people's keys are not drawn independently: members of a household, and complex samples whose
chances differ much.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from flou.describe.keyspace import KeySpace
from flou.describe.microdata import Microdata
from flou.engine.errors import KeySpaceTooLargeError
from flou.engine.figure import Figure
from flou.engine.measure import RiskMeasure
from flou.engine.note import Note
from flou.engine.parameters import Share
from flou.engine.result import RiskResult
from flou.engine.risk_figure import SHARE, Vacuous, count_of
from flou.engine.taxonomy import always
from flou.risk.micro.histogram import risk_chart
from flou.risk.micro.log_linear import Table, describe, fit, parse
from flou.risk.micro.model_search import CRITICAL, judge_fit, search
from flou.risk.micro.setting import key_space, sampling_fraction

Floats = NDArray[np.float64]


class PoissonRisk(RiskMeasure):
    """Expected share of records whose key is matched rightly, by a log-linear model of the keys.

    Reference: Skinner & Shlomo (2008); the model is Skinner & Holmes' (1998).
    Result: `.value` τ2 as a share of the records, `.tau1`, `.tau2`, `.test1`, `.test2` their tests of fit,
    `.formula` the model, `.units` E[1/F | f] of each record.
    """

    reference: ClassVar[str] = "skinner2008"
    title: ClassVar[str] = "Poisson log-linear risk"
    audience = "public"
    answers_by = always(identity="measures")
    vacuous: ClassVar[Mapping[str, Vacuous]] = {"threshold": (">", 0.5)}
    headline: ClassVar[Figure] = Figure("value", "expected share of records matched rightly as uniques", "share", SHARE)
    figures: ClassVar[tuple[Figure, ...]] = (
        Figure("tau1", "expected population uniques among the sample uniques (τ1)", "number", count_of("n_records")),
        Figure("tau2", "expected right matches of sample uniques (τ2)", "number"),
        Figure("expected", "expected re-identifications", "number", count_of("n_records")),
        Figure("test1", "test of fit for τ1", "number"),
        Figure("test2", "test of fit for τ2", "number"),
        Figure("deviance", "deviance", "number"),
        Figure("degrees", "degrees of freedom", "count"),
        Figure("formula", "model", "text"),
        Figure("sampling_fraction", "sampling fraction", "number"),
        Figure("n_uniques", "sample uniques", "count", count_of("n_records")),
        Figure("n_at_risk", "records above the threshold", "count", count_of("n_records")),
        Figure.public("n_keys", "distinct keys", "count"),
        Figure("n_cells", "cells of the key space", "count"),
        Figure.public("n_records", "records", "count"),
    )

    formula: str = Field(
        "main", description='margins of the model, as in "sex + age * region"; main, two-way or search'
    )
    sampling_fraction: float | None = Field(
        None,
        gt=0,
        le=1,
        description="share of the population in the file; default: by the weights, else all",
        json_schema_extra={"internal": True},  # of a sample it is the secret share
    )
    threshold: Share = Field(0.1, description="a record is at risk when its chance of re-identification is larger")

    def _measure(self, data: Microdata, against: Any, counts: Any) -> RiskResult:
        space = key_space(data)
        space.check_declared()
        space.refuse_incoherent(space.violating())
        keys = space.keys
        fraction = sampling_fraction(data, keys, self.sampling_fraction)
        cells, possible, positions, n_null = _contingency_table(space)
        if self.formula == "search":
            fitted = search(cells, fraction, possible)
        else:
            fitted = fit(cells, parse(self.formula, keys.columns), possible)
        unseen = np.maximum(fitted.means[positions] / fraction * (1 - fraction), 0.0)
        risks = expected_inverse_poisson(keys.counts, unseen)
        unique = keys.counts == 1
        tau1, tau2 = math.fsum(np.exp(-unseen[unique]).tolist()), math.fsum(risks[unique].tolist())
        tests = judge_fit(cells, fitted.means, fraction)
        at_risk = risks > self.threshold
        n = keys.n_records
        return self._result(
            data,
            value=tau2 / n,
            no_interval="the tests of fit say whether the model is to be believed; its own error is not estimated",
            figures={
                "tau1": tau1,
                "tau2": tau2,
                "expected": math.fsum((risks * keys.counts).tolist()),
                "test1": tests.first,
                "test2": tests.second,
                "deviance": fitted.deviance,
                "degrees": fitted.degrees,
                "formula": describe(fitted.terms, keys.columns),
                "sampling_fraction": fraction,
                "n_uniques": int(unique.sum()),
                "n_at_risk": int(keys.counts[at_risk].sum()),
                "n_keys": keys.n_keys,
                "n_cells": fitted.n_cells,
                "n_records": n,
            },
            notes=_notes(tests.second, n_null),
            keys=keys,
            key_values=risks,
            unit_label="risk",
            at_risk=at_risk,
            largest_first=True,
            chart=risk_chart(self.threshold),
        )


def _notes(test: float | None, n_null: int) -> tuple[Note, ...]:
    notes = []
    if test is not None and test > CRITICAL:
        notes.append(
            Note(
                "The test of fit for τ2 says that this model overstates the risk: add interactions, or give "
                'formula = "search".',
                internal=True,
            )
        )
    if test is not None and test < -CRITICAL:
        notes.append(
            Note(
                "The test of fit for τ2 says that this model understates the risk: take other interactions, or fewer, "
                'or give formula = "search".',
                internal=True,
            )
        )
    if n_null:
        notes.append(Note("{n_null} records have an undetermined key, counted as a category.", {"n_null": n_null}))
    return tuple(notes)


#: Cells that a contingency table may have: 400 MB, and as much again for the fit.
MAX_CELLS = 50_000_000


def _contingency_table(space: KeySpace) -> tuple[Table, Table | None, tuple[NDArray[np.integer], ...], int]:
    """Every cell of the key space, those that can exist, where each key stands, and records with a null.

    Modalities that nobody has are cells too; null is one more where it occurs.
    """
    codes = space.keys.codes
    nulls = (codes == -1).any(axis=0)
    shape = tuple(len(space.categories[c]) + int(null) for c, null in zip(space.columns, nulls, strict=True))
    if math.prod(shape) > MAX_CELLS:
        raise KeySpaceTooLargeError(
            f"The keys span {math.prod(shape):,} cells, more than the {MAX_CELLS:,} that a model is fitted on. Recode "
            "the keys with the most modalities, or use fewer keys."
        )
    positions = tuple(np.where(column == -1, size - 1, column) for column, size in zip(codes.T, shape, strict=True))
    table = np.zeros(shape)
    table[positions] = space.keys.counts
    possible = None
    if space.incoherent:
        possible = np.ones(shape, dtype=bool)
        for rule in space.incoherent:
            found = {column: space.code_of(column, value) for column, value in rule.items()}
            if None not in found.values():
                possible[tuple(found.get(c, slice(None)) for c in space.columns)] = False
    return table, possible, positions, int(space.keys.counts[(codes == -1).any(axis=1)].sum())


#: Beyond this the integrand is below the precision of the machine.
_FAR = 45.0


def expected_inverse_poisson(frequencies: NDArray[np.int64], unseen: Floats) -> Floats:
    """E[1/F | f] when the unseen people with a key are Poisson with these means.

    The integral over t is taken in u = (unseen + f)(1 - t), in which it falls off like exp(-u) or faster.
    """
    out = np.empty(len(frequencies))
    single = frequencies == 1
    few = np.maximum(unseen[single], 1e-300)
    out[single] = np.where(unseen[single] > 0, -np.expm1(-few) / few, 1.0)
    nodes, weights = np.polynomial.legendre.leggauss(64)
    rest = np.flatnonzero(~single)
    for start in range(0, len(rest), 1 << 16):
        held = rest[start : start + (1 << 16)]
        f, a = frequencies[held].astype(np.float64)[:, None], unseen[held][:, None]
        scale = a + f
        end = np.minimum(scale, _FAR)
        u = end * (nodes + 1) / 2
        # log1p(-1) where u reaches the end of the interval is minus infinity, and the integrand nothing
        values = np.exp((f - 1) * np.log1p(-np.minimum(u / scale, 1 - 1e-16)) - a * u / scale)
        out[held] = (values * weights).sum(axis=1) * (end / scale)[:, 0] / 2
    return out
