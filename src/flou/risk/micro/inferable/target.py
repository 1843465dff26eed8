"""A hidden column: in which records it was hidden, who shows it still, and what would be learnt that is not shown.

Nothing here depends on what steps claim: the release is compared with the plan's input, value by value.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import narwhals as nw
import numpy as np
import polars as pl
from numpy.typing import NDArray

from flou.describe.microdata import Microdata
from flou.engine import native
from flou.engine.unshown import ORIGINAL
from flou.engine.values import text_of
from flou.risk.micro.inferable.codes import (
    Codes,
    Floats,
    binned,
    combined,
    exact,
    is_numeric,
    numbers,
    quantile_bins,
)
from flou.risk.micro.inferable.predict import Asked
from flou.risk.micro.inferable.screen import Screen

Bools = NDArray[np.bool_]

#: A value that so many records share says little of one: a legal zero, a ceiling.
_COMMON = 0.005
#: A number with so many values that few share is an amount.
_MANY = 20
#: How much of an amount an intruder may be wrong by, and how much of what the release promises to leave open.
_NEAR, _PART = 0.01, 0.05
#: Classes smaller than this are permuted together.
_SMALL = 5
_CELL = f"{native.RESERVED}cell"


@dataclass(frozen=True)
class Target:
    """One hidden column of the screened records."""

    column: str
    is_key: bool
    asked: Asked
    #: The original values of amounts, NaN where there is none; None for categories.
    amounts: Floats | None
    #: What the release shows of it as numbers; None where it shows none.
    shown: Floats | None
    #: The classes within which other columns are permuted.
    strata: Codes

    @property
    def n_treated(self) -> int:
        return int(self.asked.treated.sum())


def targets(screen: Screen, k: int) -> Iterator[Target]:
    """Every hidden column, whoever hid it and however."""
    for column in screen.was.columns:
        was = screen.was[column]
        shown = screen.shown[column] if column in screen.shown.columns else None
        intact = same_values(was, shown)
        treated = was.is_not_null().to_numpy() & ~intact
        if treated.any():
            target = _target(screen, column, was, shown, treated, intact, k)
            if target.asked.secret.any():
                yield target


def same_values(was: pl.Series, shown: pl.Series | None) -> Bools:
    """Whether a record shows the value that it had, numbers and their texts alike."""
    if shown is None:
        return np.zeros(len(was), dtype=np.bool_)
    if was.dtype == shown.dtype:
        same = was == shown
    elif was.dtype.is_numeric() and shown.dtype.is_numeric():
        same = was.cast(pl.Float64) == shown.cast(pl.Float64)
    else:
        texts = [
            pl.Series([None if v is None else text_of(v) for v in s.to_list()], dtype=pl.String) for s in (was, shown)
        ]
        same = texts[0] == texts[1]
    return same.fill_null(False).to_numpy()


def _texts(column: pl.Series) -> pl.Series:
    return pl.Series([None if v is None else text_of(v) for v in column.to_list()], dtype=pl.String)


def _target(
    screen: Screen, column: str, was: pl.Series, shown: pl.Series | None, treated: Bools, intact: Bools, k: int
) -> Target:
    # what was a key at first is one, whether it is still shown or not
    is_key = column in screen.data.kin.original.schema.keys
    others = [c for c in screen.data.schema.keys if c != column and c in screen.shown.columns]
    keys = combined([screen.shown[c] for c in others], len(was))
    values, counted = exact(was), np.bincount(exact(was).values, minlength=exact(was).n)
    common = counted[values.values] >= max(2, _COMMON * len(was))
    known = was.is_not_null().to_numpy()
    is_amount = not is_key and is_numeric(was) and len(np.unique(values.values[known & ~common])) >= _MANY
    near = numbers(shown) if shown is not None and is_numeric(shown) and is_numeric(was) else None
    if is_key:
        secret = _smaller_than(screen, column, others, k)
        asked = Asked.labels(values, _learn(values, treated, intact, known), treated, secret)
        return Target(column, True, asked, None, near, pooled(keys))
    classes = _shown_classes(shown, len(was))
    if not is_amount:
        asked = Asked.labels(values, _learn(values, treated, intact, known), treated, treated)
        told = _told(asked, _open_classes(screen, others, classes, keys))
        asked = asked.of_secret(treated & ~told)
        return Target(column, False, asked, None, near, pooled(joined(classes, keys)))
    amounts = numbers(was)
    treated = treated & ~common
    tolerance = _tolerance(was, amounts, near, classes)
    learn = _learn_amounts(amounts, treated, intact & ~common, known)
    asked = Asked.of_amounts(amounts, tolerance, learn, treated, treated)
    told = _told(asked, _open_classes(screen, others, classes, keys))
    if near is not None:
        told |= np.abs(near - amounts) <= tolerance
    strata = keys if near is None else quantile_bins(near, max(2, len(was) // 10))
    return Target(column, False, asked.of_secret(treated & ~told), amounts, near, pooled(strata))


def joined(one: Codes, other: Codes) -> Codes:
    """The classes of records that are alike in both."""
    one, other = one.compact(), other.compact()
    return Codes(one.values * other.n + other.values, one.n * other.n).compact()


def pooled(classes: Codes) -> Codes:
    """The classes, small ones put together: within them nothing could be permuted."""
    classes = classes.compact()
    small = np.bincount(classes.values, minlength=classes.n)[classes.values] < _SMALL
    return Codes(np.where(small, classes.n, classes.values), classes.n + 1)


def _shown_classes(shown: pl.Series | None, n: int) -> Codes:
    if shown is None:
        return Codes(np.zeros(n, dtype=np.int64), 1)
    codes = exact(shown)
    return binned(shown) if is_numeric(shown) and codes.n > 200 else codes


def _learn(values: Codes, treated: Bools, intact: Bools, known: Bools) -> Bools:
    """Who teaches: the records that still show their value; everybody where hidden values are not shown at all."""
    seen = np.zeros(values.n, dtype=np.bool_)
    seen[values.values[intact]] = True
    return intact if seen[values.values[treated]].mean() >= 0.5 else known


def _learn_amounts(amounts: Floats, treated: Bools, intact: Bools, known: Bools) -> Bools:
    if not treated.any() or intact.sum() < 0.1 * known.sum():
        return known
    held, hidden = amounts[intact], amounts[treated]
    return intact if ((hidden >= held.min()) & (hidden <= held.max())).mean() >= 0.5 else known


def _open_classes(screen: Screen, keys: Sequence[str], classes: Codes, whole: Codes) -> Iterator[Codes]:
    """The classes of records that are alike in what the release shows of the column and in some or all keys."""
    held = [exact(screen.shown[c]) for c in keys]
    pairs = [joined(a, b) for a, b in combinations(held, 2)]
    for found in (*held, *pairs, whole):
        yield from (found, joined(classes, found))
    yield classes


def _told(asked: Asked, groups: Iterable[Codes]) -> Bools:
    """The records whose value is told by what the release shows of it and by the keys."""
    told = np.zeros(len(asked.treated), dtype=np.bool_)
    for group in groups:
        found = asked.predicted(group)
        told |= (found.support >= 3) & (found.share >= 0.9) & found.right
    return told


def _tolerance(was: pl.Series, amounts: Floats, near: Floats | None, classes: Codes) -> Floats:
    """How near is right: a hundredth, or a twentieth of what the release leaves open, but half a step in any case."""
    # what is shown of a nulled amount is nothing
    open_left = amounts if near is None else np.where(np.isnan(near), amounts, amounts - near)
    groups = classes if near is None else quantile_bins(near, 20)
    width = np.empty(len(amounts))
    whole = _spread(open_left)
    for g in np.unique(groups.values):
        here = groups.values == g
        found = open_left[here]
        width[here] = _spread(found) if np.isfinite(found).sum() >= 20 else whole
    bound = _PART * width
    if was.dtype.is_numeric():
        bound = np.minimum(bound, _NEAR * np.abs(amounts))
    return np.fmax(bound, _half_step(amounts))


def _spread(values: Floats) -> float:
    known = values[np.isfinite(values)]
    return float(np.subtract(*np.quantile(known, [0.95, 0.05]))) if len(known) else 0.0


def _half_step(values: Floats) -> float:
    """Half of the decimal step of which nearly all amounts are multiples."""
    known = values[np.isfinite(values)]
    for step in (1.0, 0.1, 0.01, 0.001):
        counts = known / step
        if (np.abs(counts - np.rint(counts)) <= 1e-6 * np.maximum(1.0, np.abs(counts) * 1e-6)).mean() >= 0.9:
            return 0.5 * step * (1 + 1e-9)
    return 0.0


def _smaller_than(screen: Screen, column: str, others: Sequence[str], k: int) -> Bools:
    """Records whose class would be below k once the column were known; counted in the file a sample was drawn from."""
    whole: Microdata = screen.data if screen.data.kin.frame is None else screen.data.kin.frame
    held = [c for c in others if c in whole.columns]
    cells = {f"{_CELL}{j}": c for j, c in enumerate(held)}
    was = f"{_CELL}was"
    names = [was, *cells]
    counted = native.collect(_beside(whole, column, was, cells).group_by(*names).agg(nw.len().alias(_CELL)))
    rows = pl.DataFrame({was: screen.was[column], **{name: screen.shown[c] for name, c in cells.items()}})
    found = rows.join(counted, on=names, how="left", nulls_equal=True, maintain_order="left")[_CELL]
    return (found.fill_null(0) < k).to_numpy()


def _beside(whole: Microdata, column: str, was: str, cells: Mapping[str, str]) -> Any:
    """What records show in some columns, and what they had in one that is hidden."""
    shown = [nw.col(c).alias(name) for name, c in cells.items()]
    if f"{ORIGINAL}{column}" in whole.frame.collect_schema().names():
        return whole.frame.select(nw.col(f"{ORIGINAL}{column}").alias(was), *shown)
    whole, original, unit = whole.numbered(), whole.kin.original, f"{_CELL}unit"
    read = whole.frame.select(nw.col(whole.unit_column).alias(unit), *shown)
    source = original.frame.select(nw.col(original.unit_column).alias(unit), nw.col(column).alias(was))
    if isinstance(read, nw.DataFrame) != isinstance(source, nw.DataFrame):
        read, source = (nw.from_native(native.collect(f), eager_only=True) for f in (read, source))
    return read.join(source, on=unit, how="inner")
