"""The parameters of a transition matrix, checked: whole numbers D and js, a variance V, and a pair for large counts.

Nothing is rounded or guessed (`3.0`, `"3"` and `True` are no integers): noise that is not what was asked for would
protect less than its author believes. Whether V is large enough for js is the solver's to say.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from numbers import Real

import numpy as np

from flou.engine.errors import ParameterError

#: Beyond this a matrix takes seconds to solve, and no count is moved so far.
LARGEST_REACH = 1000
#: A smaller variance moves fewer than one cell in a million: it protects nobody.
SMALLEST_V = 1e-6

Stack = tuple[int, float]


def checked_matrix(D: object, V: object, js: object, stack: object) -> tuple[int, float, int, Stack | None]:
    """D, V, js and stack as the class holds them, or a ParameterError."""
    reach, variance, ruled_out = _reach("D", D), _variance("V", V), _integer("js", js)
    if ruled_out < 0:
        raise ParameterError(f"js = {ruled_out} is negative; use 0 to allow every published count.")
    if ruled_out >= reach:
        raise ParameterError(
            f"js = {ruled_out} must be smaller than D = {reach}: a count of 1 must be able to reach {ruled_out + 2}, "
            f"and one of {ruled_out} must be able to reach 0. Raise D or lower js."
        )
    return reach, variance, ruled_out, _pair(stack)


def _pair(stack: object) -> Stack | None:
    if stack is None:
        return None
    if isinstance(stack, str) or not isinstance(stack, Sequence) or len(stack) != 2:
        raise ParameterError(f"stack = {stack!r} must be a pair (D, V) for the large counts, such as (5, 2.5).")
    return _reach("D of stack", stack[0]), _variance("V of stack", stack[1])


def _reach(name: str, value: object) -> int:
    reach = _integer(name, value)
    if not 1 <= reach <= LARGEST_REACH:
        raise ParameterError(f"{name} = {reach} must be between 1 and {LARGEST_REACH}: it is the largest deviation.")
    return reach


def _integer(name: str, value: object) -> int:
    if isinstance(value, bool | np.bool_) or not isinstance(value, int | np.integer):
        raise ParameterError(f"{name} = {value!r} must be an integer, such as 5; text and decimals are not.")
    return int(value)


def _variance(name: str, value: object) -> float:
    if isinstance(value, bool | np.bool_) or not isinstance(value, Real):
        raise ParameterError(f"{name} = {value!r} must be a number, such as 2.5: the largest variance of the noise.")
    variance = float(value)
    if not math.isfinite(variance) or variance <= 0:
        raise ParameterError(f"{name} = {value!r} must be a finite number above 0: the largest variance of the noise.")
    if variance < SMALLEST_V:
        raise ParameterError(
            f"{name} = {value!r} would move fewer than one cell in a million, which protects nobody; "
            f"use {SMALLEST_V:g} or more."
        )
    return variance
