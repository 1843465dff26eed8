"""Inference about counts (Enderle, Giessing and Tent 2020; Jamme 2025): which true count hides behind a published one.

By Bayes' rule q_ij = P(X = i | X' = j) from the mechanism's chances and a prior on the true counts. The headline is
q_IJ = P(X in I | X' in J): how sure an intruder is that a count published in J is truly one of the sensitive counts I,
by default I = 1, …, s - 1 and J = 1, …, s for a threshold s. J ends at s and not before, so that a mechanism that
never publishes a sensitive count (js = s - 1) is measured as well. q_IJ is a mean over J; the largest q_Ij of a single
j stands beside it, since an intruder may pick the count that tells most.

It measures what one published count says of its own cell. Differences of cells, zeros and tables that add up tell more:
DifferenceInference, ZeroInference, and attacks on whole tables.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from pydantic import Field

from flou.describe.count_frequencies import CountFrequencies
from flou.engine.data import data_kind
from flou.engine.errors import ParameterError
from flou.engine.figure import Figure
from flou.engine.note import Note
from flou.engine.risk_figure import SHARE
from flou.engine.taxonomy import always
from flou.risk.table.bayes import reachable
from flou.risk.table.conclusions import conclude
from flou.risk.table.count_sets import Counts, sets_note
from flou.risk.table.inference_chart import by_published_count
from flou.risk.table.inference_result import InferenceMeasure, InferenceResult
from flou.risk.table.prior import PriorKind, prior_on
from flou.risk.table.setting import Setting, read_setting


class CountInference(InferenceMeasure):
    """Probability that a count published in J is truly in I, after Bayes.

    Reference: Enderle, Giessing and Tent (2020); Jamme (2025) for the sets.
    Result: `.value` q_IJ, `.worst` the largest q_Ij of a single published count and `.worst_count` that count,
    `.published` the share of cells published in J, `.by_count` one line a true and published count.
    """

    reference: ClassVar[str] = "enderle2020"
    title: ClassVar[str] = "inference about counts"
    audience = "public"
    answers_by = always(inference="measures")
    headline: ClassVar[Figure] = Figure(
        "value", "probability that a count published in J is truly in I", "share", SHARE, "public"
    )
    figures: ClassVar[tuple[Figure, ...]] = (
        Figure.public("worst", "the same for the published count that tells most", "share", SHARE),
        Figure("worst_count", "published count that tells most", "number"),
        Figure("published", "share of cells published in J", "share"),
        Figure("n_cells", "cells", "count"),
    )

    s: int = Field(ge=2, lt=2**53, description="threshold: counts from 1 to s - 1 are sensitive")
    I: Counts | None = Field(None, description="true counts that must not be inferred; default: 1 to s - 1")  # noqa: E741
    J: Counts | None = Field(None, description="published counts that are inferred from; default: 1 to s")
    prior: PriorKind = Field("empirical", description="what the intruder believes of the counts beforehand")

    def _measure(self, data: Any, against: Any, counts: Any) -> InferenceResult:  # type: ignore[override]
        setting = with_counts(self, data, counts)
        mechanism = setting.mechanism
        published = np.array(self.J or range(1, self.s + 1), dtype=np.int64)
        true = reachable(published, mechanism.reach)
        top = max(self.s, int(published[-1])) + 2 * mechanism.reach
        prior = prior_on(self.prior, true, setting.frequencies, top)
        chances = mechanism.probability(published[None, :], true[:, None])
        wanted = np.array(self.I or range(1, self.s), dtype=np.int64)
        found = conclude(true, published, chances, prior.shares, prior.weights, wanted)
        notes = (sets_note(wanted, published), *prior.notes)
        if found.worst_count is None:
            notes = (*notes, Note("no count in J is ever published: there is nothing to infer from"))
        n_cells = None if setting.frequencies is None else setting.frequencies.n_cells
        return self._inferred(
            data,
            setting,
            value=found.value,
            figures={**found.figures, "n_cells": n_cells},
            notes=notes,
            counts=found.lines,
            chart=by_published_count,
        )


def with_counts(method: InferenceMeasure, data: Any, counts: Any) -> Setting:
    """The setting of a measure, with the true counts from `counts=` where the data are a mechanism."""
    setting = read_setting(data)
    if counts is None:
        return setting
    if data_kind(data) != "mechanism":
        raise ParameterError(f"{type(method).__name__}: a table has counts of its own; counts= goes with a mechanism.")
    return Setting(setting.mechanism, CountFrequencies.of_frame(counts))
