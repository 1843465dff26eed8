"""Which figures of a result measure a risk, in which direction each is safe, and which bounds ask for something.

A rule that lets more than half of the records be at risk protects nobody, although some file could fail it. So a
bound counts as a rule on the risk only where it is meaningfully tighter than the worst that the figure can be.
A figure of which a method says the direction alone can be bounded, but no bound on it counts.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

#: Direction in which a figure is safe; "either" if it does not measure risk, such as a number of records.
Way = Literal["low", "high", "either"]


@dataclass(frozen=True)
class RiskFigure:
    """A figure that measures risk, with the loosest bound that asks for something."""

    way: Literal["low", "high"]
    loosest: float
    #: The figure that counts the units, of which `loosest` is a share; empty where it is the bound itself.
    units: str = ""

    def asks(self, bound: float, figures: Mapping[str, Any]) -> bool:
        """Whether a bound on it asks for something of the file that these figures were measured on."""
        n = figures.get(self.units) if self.units else 1
        if not isinstance(n, int | float):
            return False
        return bound <= self.loosest * n if self.way == "low" else bound >= self.loosest * n


#: A share of records, people or guesses, or the chance of one; at worst 1.
SHARE = RiskFigure("low", 0.5)
#: The smallest class, or the size of the smallest set of keys that singles somebody out; at worst 1.
SMALLEST = RiskFigure("high", 2)

#: How a method declares a figure.
Safe = Way | RiskFigure


def count_of(units: str) -> RiskFigure:
    """A number of units that are at risk; at worst all of them."""
    return RiskFigure("low", 0.5, units)


#: Where a parameter asks for nothing: up to a value, or from it on; "<" and ">" leave the value itself out.
Vacuous = tuple[Literal["<", "<=", ">", ">="], float]
_COMPARED = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}


def asks_nothing(limits: Mapping[str, Vacuous], settings: Mapping[str, Any]) -> bool:
    """Whether one of the parameters lies where it asks for nothing."""
    held = ((settings.get(name), *limit) for name, limit in limits.items())
    return any(value is not None and _COMPARED[sign](value, bound) for value, sign, bound in held)
