"""What the swapping methods share: groups that cannot be swapped, and the proof that values were exchanged.

Each record whose partner had another value must show another one than its own. That is exact as long as no
later step touched the column; afterwards half of them must.
"""

from __future__ import annotations

from dataclasses import dataclass

from flou.engine.errors import DataError
from flou.protect.micro.kept_input import Compared
from flou.protect.micro.least_change import ChangedEnough


def refuse_groups_of_one(n: int, what: str) -> None:
    """Nobody is there to exchange with in a group of one record."""
    if n:
        raise DataError(
            f"{what}: swapping in groups of one is impossible, and {n:,} groups have one record with a value. Use "
            "fewer columns in by, or recode them into larger groups first."
        )


@dataclass(frozen=True, eq=False)
class Swapped(ChangedEnough):
    """Values of columns were exchanged; beside each record stands whether its value is another."""

    text = "values of {columns} were exchanged between records"

    def total_and_least(self, compared: Compared) -> tuple[float, float]:
        assert compared.beside is not None
        moved = compared.beside
        return float((moved & compared.before.ne_missing(compared.after)).sum()), float(moved.sum())
