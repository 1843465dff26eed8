"""Inference about differences: how many units lie between two published cells of which one holds the other.

Two zonings, a margin and its parts, a total last year and this year: where a published cell A holds all units of a
published cell B, the difference of the two tells of the units between them, which nobody published (Fraser and Wooton
2005 made the cell key method against it; Jamme 2025 asks that what is left be measured). The same Bayes' rule as for
counts gives P(d in I | A' - B' in J), with the noise of both cells.

Noise blurs a difference more than a count. Yet two cells with the same units have the same noise, so that any published
difference other than 0 proves that somebody lies between, and a difference of 0 says with some probability that nobody
does (`equal`). Overlapping areas that do not hold each other, and differences of more than two cells, are not measured.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from pydantic import Field

from flou.describe.count_frequencies import CountFrequencies, read_columns, whole_numbers
from flou.engine import native
from flou.engine.data import data_kind
from flou.engine.errors import DataError, ParameterError
from flou.engine.figure import Figure
from flou.engine.note import Note
from flou.engine.risk_figure import SHARE
from flou.engine.taxonomy import always
from flou.engine.values import Proportion
from flou.risk.table.bayes import reachable
from flou.risk.table.conclusions import conclude
from flou.risk.table.count_sets import Counts, Differences, sets_note
from flou.risk.table.differences import Pairs, joint_chances, large_pairs
from flou.risk.table.inference_chart import by_published_difference
from flou.risk.table.inference_result import InferenceMeasure, InferenceResult
from flou.risk.table.prior import PriorKind, prior_on
from flou.risk.table.setting import Setting, read_setting

_PAIRS = "counts= is a frame with columns outer and inner (true counts of two nested cells), perhaps N; or i and N"


class DifferenceInference(InferenceMeasure):
    """Probability that the true difference of two nested cells is in I when the published one is in J.

    Reference: Fraser and Wooton (2005) for the attack; Enderle, Giessing and Tent (2020) for Bayes' rule.
    Result: `.value` that probability, `.worst` the largest for a single published difference and `.worst_count` that
    difference, `.equal` the probability that nobody lies between two cells published alike, `.by_count`.
    """

    reference: ClassVar[str] = "fraser2005"
    title: ClassVar[str] = "inference about differences of counts"
    audience = "public"
    answers_by = always(differencing="measures")
    headline: ClassVar[Figure] = Figure(
        "value", "probability that a difference published in J is truly in I", "share", SHARE, "public"
    )
    figures: ClassVar[tuple[Figure, ...]] = (
        Figure.public("worst", "the same for the published difference that tells most", "share", SHARE),
        Figure("worst_count", "published difference that tells most", "number"),
        Figure("published", "share of pairs published with a difference in J", "share"),
        Figure.public("equal", "probability that two cells published alike hold the same units", "share", "low"),
    )

    s: int = Field(ge=2, lt=2**53, description="threshold: differences from 1 to s - 1 are sensitive")
    I: Counts | None = Field(None, description="true differences that must not be inferred; default: 1 to s - 1")  # noqa: E741
    J: Differences | None = Field(None, description="published differences that are inferred from; default: 1 to s")
    prior: PriorKind = Field("empirical", description="what the intruder believes of the differences beforehand")

    def _measure(self, data: Any, against: Any, counts: Any) -> InferenceResult:  # type: ignore[override]
        setting, pairs = self._read(data, counts)
        mechanism = setting.mechanism
        looked_at = np.array(self.J or range(1, self.s + 1), dtype=np.int64)
        published = np.union1d(looked_at, [0])
        true = reachable(published, 2 * mechanism.reach)
        notes: tuple[Note, ...] = ()
        if pairs is None:
            top = max(self.s, int(published[-1])) + 4 * mechanism.reach
            prior = prior_on(self.prior, true, setting.frequencies, top)
            notes = (*prior.notes, Note("the smaller of the two cells is taken to be large"))
            shares, weights = prior.shares, prior.weights
            pairs = large_pairs(mechanism, true, weights)
        else:
            pairs = pairs.nearer(int(true[-1]))
            place = np.searchsorted(true, pairs.difference)
            shares = weights = np.bincount(place, pairs.weight, len(true)).astype(np.float64)
        joint = joint_chances(mechanism, pairs, true, published)
        chances = np.divide(joint, weights[:, None], out=np.zeros_like(joint), where=weights[:, None] > 0)
        wanted = np.array(self.I or range(1, self.s), dtype=np.int64)
        asked, zero = np.isin(published, looked_at), published == 0
        found = conclude(true, looked_at, chances[:, asked], shares, weights, wanted)
        equal = conclude(true, published[zero], chances[:, zero], shares, weights, np.zeros(1, dtype=np.int64))
        notes = (sets_note(wanted, looked_at), *notes)
        if found.worst_count is None:
            notes = (*notes, Note("no difference in J is ever published: there is nothing to infer from"))
        return self._inferred(
            data,
            setting,
            value=found.value,
            figures={**found.figures, "equal": Proportion(equal.value)},
            notes=notes,
            counts=found.lines,
            chart=by_published_difference,
        )

    def _read(self, data: Any, counts: Any) -> tuple[Setting, Pairs | None]:
        """The mechanism with the true differences: pairs of cells, or their frequencies."""
        setting = read_setting(data)
        if counts is None:
            return setting, None
        names = native.enter(counts).frame.collect_schema().names() if not isinstance(counts, CountFrequencies) else []
        if "outer" in names or "inner" in names:
            if self.prior != "empirical":
                raise ParameterError(
                    f'prior = "{self.prior}" uses no pairs of cells: leave counts= out, or set prior = "empirical".'
                )
            return setting, _read_pairs(counts, "N" in names)
        if data_kind(data) != "mechanism":
            raise ParameterError(
                "a table has counts of its own: with it, counts= is a frame of pairs with columns outer and inner."
            )
        return Setting(setting.mechanism, CountFrequencies.of_frame(counts)), None


def _read_pairs(frame: Any, numbered: bool) -> Pairs:
    held = read_columns(frame, ("outer", "inner", "N") if numbered else ("outer", "inner"), _PAIRS)
    outer, inner = whole_numbers(held["outer"], "outer"), whole_numbers(held["inner"], "inner")
    wrong = outer < inner
    if wrong.any():
        raise DataError(
            f"counts=: a cell with {int(outer[wrong][0])} units cannot hold one with {int(inner[wrong][0])}: outer "
            "must not be smaller than inner."
        )
    weight = whole_numbers(held["N"], "N").astype(np.float64) if numbered else np.ones(held.height)
    if weight.sum() == 0:
        raise DataError("counts=: N is 0 on every line: there is no pair of cells to speak of.")
    return Pairs(inner, outer - inner, weight / weight.sum())
