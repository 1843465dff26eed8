"""Which attacks no result closes: for reports, and for whoever must sign."""

from __future__ import annotations

from collections.abc import Iterable

from flou.engine.result import Result
from flou.engine.taxonomy import ATTACKS, AttackKind


def left_open(results: Iterable[Result], sensitive: Iterable[str] = ()) -> list[AttackKind]:
    """The attacks on records that these results do not close; an attack that any of them finds open is open.

    `sensitive` are the columns that nobody should learn: a result that was asked of others closes nothing.
    """
    held, columns = list(results), set(sensitive)
    found = {attack for result in held for attack in result.opens}
    closed = {attack for result in held if _asks_of(result, columns) for attack in result.closes}
    return [attack for attack in ATTACKS if attack.name not in closed - found]


def _asks_of(result: Result, sensitive: set[str]) -> bool:
    """Whether a result speaks of every sensitive column."""
    named = result.settings.get("sensitive")
    return named is None or sensitive <= set(named)
