"""The value of a rule for every record, and its shape where it is a product of powers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flou.protect.micro.derive.grammar import Call, Column, Constant, Expression

Floats = NDArray[np.float64]

_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "neg": np.negative, "abs": np.abs, "floor": np.floor, "sqrt": np.sqrt, "log": np.log, "exp": np.exp,
    "+": np.add, "-": np.subtract, "*": np.multiply,
}  # fmt: skip


@dataclass
class Evaluation:
    """Values of the columns that a rule names; `divided_by_zero` marks the records where one of its divisions did."""

    values: Mapping[Column, Floats]
    n: int
    divided_by_zero: NDArray[np.bool_] = field(init=False)

    def __post_init__(self) -> None:
        self.divided_by_zero = np.zeros(self.n, dtype=np.bool_)

    def of(self, expression: Expression) -> Floats:
        """The value of each record; NaN where a column has none, or where there is no value."""
        with np.errstate(all="ignore"):
            return np.asarray(np.broadcast_to(self._of(expression), self.n), dtype=np.float64)

    def _of(self, expression: Expression) -> Any:
        if isinstance(expression, Constant):
            return expression.value
        if isinstance(expression, Column):
            return self.values[expression]
        arguments = [self._of(a) for a in expression.arguments]
        if expression.name == "/":
            self.divided_by_zero |= np.broadcast_to(arguments[1], self.n) == 0
            return np.divide(*arguments)
        if expression.name in ("min", "max"):
            return reduce(np.minimum if expression.name == "min" else np.maximum, arguments)
        return _FUNCTIONS[expression.name](*arguments)


@dataclass(frozen=True)
class Monomial:
    """coefficient · Π column^power."""

    coefficient: float
    powers: Mapping[Column, int]

    @property
    def originals(self) -> dict[str, int]:
        """The powers of columns of the plan's input."""
        return {c.name: p for c, p in self.powers.items() if c.original}

    def released(self, values: Mapping[Column, Floats], n: int) -> Floats:
        """What anybody can compute of it: the coefficient and the released columns."""
        found = np.full(n, self.coefficient)
        with np.errstate(all="ignore"):
            for column, power in self.powers.items():
                if not column.original:
                    found = found * values[column] ** power
        return found


def as_monomial(expression: Expression) -> Monomial | None:
    """A rule as a product of powers; None where it is none."""
    if isinstance(expression, Constant):
        return Monomial(expression.value, {})
    if isinstance(expression, Column):
        return Monomial(1.0, {expression: 1})
    if expression.name == "neg":
        inner = as_monomial(expression.arguments[0])
        return Monomial(-inner.coefficient, inner.powers) if inner else None
    if expression.name not in ("*", "/"):
        return None
    left, right = (as_monomial(a) for a in expression.arguments)
    if left is None or right is None or (expression.name == "/" and right.coefficient == 0):
        return None
    sign = 1 if expression.name == "*" else -1
    powers = dict(left.powers)
    for column, power in right.powers.items():
        powers[column] = powers.get(column, 0) + sign * power
    coefficient = left.coefficient * right.coefficient if sign > 0 else left.coefficient / right.coefficient
    return Monomial(coefficient, {c: p for c, p in powers.items() if p})


def parts_with_originals(expression: Expression) -> list[Monomial | None]:
    """What a rule shows of the plan's input: its monomials under min, max and floor; None for any other form."""
    if isinstance(expression, Call) and expression.name in ("min", "max", "floor"):
        return [part for a in expression.arguments for part in parts_with_originals(a)]
    found = as_monomial(expression)
    if found is not None:
        return [found] if found.originals else []
    return [None] if _names_original(expression) else []


def is_floored(expression: Expression) -> bool:
    """Whether a rule shows the whole part of what it takes from the plan's input."""
    if not isinstance(expression, Call) or not _names_original(expression):
        return False
    return expression.name == "floor" or any(is_floored(a) for a in expression.arguments)


def _names_original(expression: Expression) -> bool:
    if isinstance(expression, Call):
        return any(_names_original(a) for a in expression.arguments)
    return isinstance(expression, Column) and expression.original
