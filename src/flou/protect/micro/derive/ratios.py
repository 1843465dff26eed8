"""What rules show of the plan's input: the ratios that a file holds, and how many amounts come back from them.

An intruder reads all rules of a plan together, whichever step carried them out, so the ratios travel with the
data from step to step. Each is looked at as the file is now: a rule whose columns were changed or dropped since
tells nothing more about the records that it no longer fits.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from flou.describe.microdata import Microdata
from flou.engine import native
from flou.protect.micro.derive.evaluate import Floats, Monomial, is_floored, parts_with_originals
from flou.protect.micro.derive.grammar import Column, Rule
from flou.protect.micro.remembered import Remembered
from flou.protect.micro.rows import Amounts, read_rows


@dataclass(frozen=True)
class Ratio:
    """One ratio of the plan's input as a derived column shows it."""

    target: str
    part: Monomial
    unit: float
    floored: bool
    #: Values that stand for all beyond them.
    bounds: tuple[float, ...]

    @property
    def over(self) -> str:
        return next(n for n, power in self.part.originals.items() if power < 0)

    @property
    def numerator(self) -> str:
        return next(n for n, power in self.part.originals.items() if power > 0)

    @property
    def released(self) -> set[str]:
        return {c.name for c in self.part.powers if not c.original}

    def reading(self, shown: Floats) -> tuple[Floats, float]:
        """The middle of what a shown value may stand for, and how far it reaches to both sides."""
        if not self.floored:
            return shown, self.unit / 2
        return shown + 0.5, 0.5 + (self.unit / 2 if self.unit > 1 else 0.0)


def ratios_of(rule: Rule, unit: float, bounds: Sequence[float]) -> list[Ratio]:
    """The ratios that a rule shows; its shape was checked before."""
    parts = [p for p in parts_with_originals(rule.expression) if p is not None]
    return [Ratio(rule.target, p, unit, is_floored(rule.expression), tuple(bounds)) for p in parts]


def count_given_back(data: Microdata, ratios: Sequence[Ratio]) -> int:
    """How many records, of the column where they are most, an intruder computes back from the columns of a file."""
    from flou.protect.micro.derive.reconstruction import MIN_SPAN, RatioRule, count_recovered, fine_step, grain_of

    held = [r for r in ratios if _numeric(data, {r.target, *r.released})]
    if not held:
        return 0
    names = sorted({r.target for r in held}.union(*(r.released for r in held)))
    rows = read_rows(data, names, "Derive")
    originals = original_values(data, rows.owners, [n for r in held for n in r.part.originals])
    values = {Column(name): rows.amounts(name).values for name in names}
    grains = {name: grain_of(amounts) for name, amounts in originals.items()}
    exact = _exact(data, rows.owners, originals, {r.target for r in held})
    groups: dict[str, list[RatioRule]] = {}
    worst = 0
    for ratio in held:
        shown = values[Column(ratio.target)]
        middle, slack = ratio.reading(shown)
        unblurred = ratio.part.coefficient * originals[ratio.numerator]
        worst = max(worst, _unchanged(shown, unblurred), _unchanged(middle, unblurred, slack * (1 + 1e-9)))
        if ratio.over in ratio.released:
            worst = max(worst, _unchanged(values[Column(ratio.over)], originals[ratio.over]))
        factor = np.where(np.isin(shown, ratio.bounds), 0.0, ratio.part.released(values, len(rows)))
        if any(name in exact for name in ratio.part.originals) and not all(n in exact for n in ratio.part.originals):
            # one of the two amounts stands in the file as it was: the other follows, as finely as the rule is rounded
            with np.errstate(divide="ignore", invalid="ignore"):
                follows = np.isfinite(factor) & (factor != 0) & (2 * slack < MIN_SPAN * np.abs(middle))
            worst = max(worst, int(follows.sum()))
        # an amount without a decimal step tells nothing of the other one
        if grains[ratio.numerator]:
            rule = RatioRule(middle, factor, grains[ratio.numerator], slack)
            groups.setdefault(ratio.over, []).append(rule)
        if grains[ratio.over]:
            rule = RatioRule(middle, factor, grains[ratio.over], slack, numerator=True)
            groups.setdefault(ratio.numerator, []).append(rule)
    for name, rules in groups.items():
        near = values.get(Column(name), originals[name])
        step = grains[name] or fine_step(originals[name])
        worst = max(worst, count_recovered(originals[name], step, near, rules))
    return worst


def _exact(data: Microdata, owners: np.ndarray, originals: Mapping[str, Floats], skip: set[str]) -> set[str]:
    """The amounts of the plan's input that still stand in the file, under their name, as they were."""
    names = [n for n in originals if n not in skip and _numeric(data, {n})]
    if not names:
        return set()
    now = read_rows(data, names, "Derive")
    places = Remembered(now.owners, np.arange(len(now))).of(owners)
    return {n for n in names if _unchanged(now.amounts(n).values[places], originals[n])}


def original_values(data: Microdata, owners: np.ndarray, names: Sequence[str]) -> dict[str, Floats]:
    """Columns of the plan's input as numbers, for the units that are named."""
    if not names:
        return {}
    original: Microdata = data.kin.original
    wanted = list(dict.fromkeys(names))
    unit = original.unit_column
    read = native.collect(original.frame.select(*dict.fromkeys([unit, *wanted])))
    places = Remembered(read[unit].to_numpy(), np.arange(read.height)).of(owners)
    return {name: Amounts.of(original, read[name]).values[places] for name in wanted}


def _unchanged(now: Floats, before: Floats, within: float | None = None) -> int:
    """Records that show their original amount, where those are most: a column that a rule uses was not blurred.

    To within rounding, or a five-hundredth, which rounding to a small unit does not hide and a blur seldom leaves.
    """
    known = np.isfinite(before) & np.isfinite(now) & (before != 0)
    same = known & (np.abs(now - before) <= (0.002 * np.abs(before) if within is None else within))
    return int(same.sum()) if same.sum() > 0.5 * max(known.sum(), 1) else 0


def _numeric(data: Microdata, names: set[str]) -> bool:
    schema: Mapping[str, object] = data.frame.collect_schema()
    return all(name in data.columns and schema[name].is_numeric() for name in names)  # type: ignore[attr-defined]
