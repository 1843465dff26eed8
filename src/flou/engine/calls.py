"""Calls that name an option which there is not: an error in words, where Python would speak of keyword arguments."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

from flou.engine.errors import ParameterError, did_you_mean

P = ParamSpec("P")
T = TypeVar("T")


def in_words(name: str) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """A function under the name that users know, which refuses in words what it has no parameter for."""

    def decorated(function: Callable[P, T]) -> Callable[P, T]:
        signature = inspect.signature(function)
        known = [word for word in signature.parameters if word != "self"]

        @wraps(function)
        def called(*args: P.args, **kwargs: P.kwargs) -> T:
            try:
                signature.bind(*args, **kwargs)
            except TypeError as error:
                unknown = next((word for word in kwargs if word not in known), None)
                said = f"has no option {unknown!r}.{did_you_mean(unknown, known)}" if unknown else f"{error}."
                raise ParameterError(f"{name} {said}") from None
            return function(*args, **kwargs)

        return called

    return decorated
