"""Importance: what each key counts for, given by the user."""

from __future__ import annotations

from flou.engine.errors import ParameterError


def check_importance(importance: tuple[tuple[str, object], ...] | None) -> None:
    """Weights are positive numbers."""
    for name, value in importance or ():
        if isinstance(value, bool) or not isinstance(value, int | float) or value <= 0:
            raise ParameterError(f"importance of {name!r} = {value!r} should be a positive number, such as 2.")
