"""How far a blur moves the mean of its column, and by which of its parameters: said to the office where it is far."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from flou.engine.note import Note
from flou.engine.values import Proportion
from flou.protect.micro.blur.blurring import Blurring
from flou.protect.micro.blur.class_means import MIN_RECORDS

if TYPE_CHECKING:
    from flou.protect.micro.blur.interval_blur import IntervalBlur

Floats = NDArray[np.float64]
_MOVED = "{column}: its mean moves by {mean_deviation}"
_FROM_ZERO = "{column}: its mean was 0 and is {mean} now"
_FREE = '{column}: with class_means = "free" no class keeps its mean'
_SMALL = "{column}: classes of fewer than {least} records keep the regression's mean"
_CUT = (
    "{column}: its first and its last class draw nothing beyond the 0.1% and 99.9% quantiles, which hides the largest "
    "values"
)
_OPEN = "{column}: values above the last break are shown below it"
_CEILING = "{column}: values above the ceiling are shown as it"
#: A mean that moves by more is said: a share of the mean, or of the mean size where that is 0.
_FAR = 0.01


def mean_deviation(before: Floats, after: Floats) -> float | None:
    """By which share the mean moves; None where it was 0."""
    return float(after.mean() / before.mean() - 1) if before.mean() else None


def moved_mean(method: IntervalBlur, parts: Sequence[Blurring], before: Floats, after: Floats) -> Iterator[Note]:
    """What is said of a mean that moves far."""
    share = mean_deviation(before, after)
    if share is None and abs(after.mean()) > _FAR * np.abs(before).mean():
        yield Note(_FROM_ZERO, {"column": method.column, "mean": float(f"{after.mean():.4g}")}, internal=True)
    elif share is not None and abs(share) > _FAR:
        yield Note(_MOVED, {"column": method.column, "mean_deviation": Proportion(share)}, internal=True)
    else:
        return
    sizes = [np.bincount(part.number[part.modelled], minlength=part.classes.n) for part in parts]
    for text, applies in (
        (_FREE, method.class_means == "free"),
        (_SMALL, method.class_means == "keep" and any((size < MIN_RECORDS).any() for size in sizes)),
        (_CUT, not method.breaks),
        (_OPEN, method.top == "open"),
        (_CEILING, method.saturated is not None and bool((before > method.saturated).any())),
    ):
        if applies:
            yield Note(text, {"column": method.column, "least": MIN_RECORDS}, internal=True)
