"""Inference from zeros: a published 0 says that nobody has an attribute, or that all of a group have another one.

Zeros disclose without any small count being shown. The probability that a published 0 is true is P(X = 0 | X' = 0) by
Bayes' rule (Enderle, Giessing and Tent 2020); noise that may turn small counts into 0 makes it less than 1, which is
what protects here. A group of m categories of which m - 1 are shown as 0 is truly in the remaining one with the power
m - 1 of it if its cells were independent; in real tables zeros come together, so of a table the groups are counted as
well: how many are shown in one category alone, and how many of these truly are (Hundepool et al. 2012).

A mechanism that keeps zeros cannot hide that a count above 0 is there. Zeros that everybody can foresee (nobody of 12
is married) disclose nothing: declare them, so that they are structural zeros and not counted.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from pydantic import Field

from flou.engine.errors import DataError
from flou.engine.figure import Figure, FigureValue
from flou.engine.note import Note
from flou.engine.risk_figure import SHARE
from flou.engine.taxonomy import always
from flou.risk.table.bayes import reachable
from flou.risk.table.conclusions import conclude
from flou.risk.table.count_inference import with_counts
from flou.risk.table.groups import find_groups
from flou.risk.table.inference_chart import behind_a_zero
from flou.risk.table.inference_result import InferenceMeasure, InferenceResult
from flou.risk.table.lone_children import FIGURES, LoneChildren
from flou.risk.table.prior import PriorKind, prior_on
from flou.risk.table.setting import Setting, counted_cells


class ZeroInference(InferenceMeasure):
    """Probability that a published zero is true, and groups that zeros show in one category alone.

    Reference: Enderle, Giessing and Tent (2020); Hundepool et al. (2012) for group disclosure.
    Result: `.value` P(X = 0 | X' = 0), `.group` what follows for a group of `categories` categories; of a table also
    `.true_zeros` the share of its published zeros that are true, `.n_groups` groups shown in one category alone and
    `.n_true_groups` those that truly are; `.by_count` what a published zero may be. Of cells with one shown child
    `.n_told` prove that a zero is false, and `.empty` is the probability that zeros are true where both are published
    alike.
    """

    reference: ClassVar[str] = "enderle2020"
    title: ClassVar[str] = "inference from zeros"
    audience = "public"
    answers_by = always(inference="measures", homogeneity="measures")
    headline: ClassVar[Figure] = Figure.public("value", "probability that a published zero is true", "share", SHARE)
    figures: ClassVar[tuple[Figure, ...]] = (
        Figure("published", "share of cells published as zero", "share"),
        Figure(
            "group",
            "probability that a group shown in one category alone truly is, were its cells independent",
            "share",
            "low",
            "public",
        ),
        Figure("n_zeros", "cells published as zero", "count"),
        Figure("true_zeros", "share of them that are true", "share", "low"),
        Figure("n_groups", "groups shown in one category alone", "count"),
        Figure("n_true_groups", "those that truly are", "count", "low"),
        *FIGURES,
    )

    categories: int = Field(2, ge=2, lt=10_000, description="categories that a group is spread over, for `group`")
    prior: PriorKind = Field("empirical", description="what the intruder believes of the counts beforehand")

    def _measure(self, data: Any, against: Any, counts: Any) -> InferenceResult:  # type: ignore[override]
        setting = with_counts(self, data, counts)
        zero = np.zeros(1, dtype=np.int64)
        true = reachable(zero, setting.mechanism.reach)
        prior = prior_on(self.prior, true, setting.frequencies, 2 * setting.mechanism.reach)
        if not setting.tables and setting.frequencies is not None and setting.frequencies.counts[0] != 0:
            raise _no_zeros()  # a list that leaves the empty cells out would make every published zero look false
        chances = setting.mechanism.probability(zero[None, :], true[:, None])
        found = conclude(true, zero, chances, prior.shares, prior.weights, zero)
        figures: dict[str, FigureValue] = {
            "published": found.published,
            "group": found.value ** (self.categories - 1),
        }
        if setting.tables:
            figures |= self._observed(setting)
        notes = prior.notes
        if found.worst_count is None:
            notes = (*notes, Note("no zero is ever published: there is nothing to infer from"))
        return self._inferred(
            data,
            setting,
            value=found.value,
            figures=figures,
            notes=notes,
            counts=found.lines,
            chart=behind_a_zero,
        )

    def _observed(self, setting: Setting) -> dict[str, FigureValue]:
        """What the tables themselves show."""
        n_zeros = n_true = 0
        groups = [find_groups(table) for table in setting.tables]
        for table in setting.tables:
            zeros = (np.asarray(table.published_counts) == 0) & counted_cells(table)
            n_zeros += int(zeros.sum()) + int(table.n_unlisted_zeros)
            n_true += int((table.true_counts[zeros] == 0).sum()) + int(table.n_unlisted_zeros)
        lone = LoneChildren.of(setting.tables, groups)
        return {
            "n_zeros": n_zeros,
            "true_zeros": n_true / n_zeros if n_zeros else 0.0,
            "n_groups": sum(len(found.child) for found in groups),
            "n_true_groups": sum(int(found.true.sum()) for found in groups),
            **lone.figures(setting.mechanism, self.prior, setting.frequencies),
        }


def _no_zeros() -> DataError:
    return DataError(
        "counts= has no line i = 0, the number of empty cells, so nothing can be said of published zeros. Add it, or "
        "measure the table itself."
    )
