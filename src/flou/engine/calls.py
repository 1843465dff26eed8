"""Calls that name an option which there is not: an error in words, where Python would speak of keyword arguments."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from flou.engine.errors import ParameterError, did_you_mean

P = ParamSpec("P")
T = TypeVar("T")
Class = TypeVar("Class", bound=type)


def in_words(name: str) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """A function under the name that users know, which refuses in words what it has no parameter for."""

    def decorated(function: Callable[P, T]) -> Callable[P, T]:
        @wraps(function)
        def called(*args: P.args, **kwargs: P.kwargs) -> T:
            try:
                return function(*args, **kwargs)
            except TypeError:
                refusal = _refusal(name, function, args, kwargs)
                if refusal is None:
                    raise  # the call was right: something in it went wrong
            raise refusal

        return called

    return decorated


def methods_in_words(cls: Class) -> Class:
    """A class whose public methods refuse in words what they have no parameter for."""
    for name, held in list(vars(cls).items()):
        if name.startswith("_"):
            continue
        shown = in_words(f"{cls.__name__}.{name}")
        if isinstance(held, classmethod | staticmethod):
            setattr(cls, name, type(held)(shown(held.__func__)))
        elif inspect.isfunction(held):
            setattr(cls, name, shown(held))
    return cls


def _refusal(
    name: str, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> ParameterError | None:
    """What is wrong with a call itself, if anything is."""
    signature = inspect.signature(function)
    try:
        signature.bind(*args, **kwargs)
    except TypeError as error:
        known = [word for word in signature.parameters if word not in ("self", "cls")]
        unknown = next((word for word in kwargs if word not in known), None)
        if unknown is None:
            return ParameterError(f"{name}: {error}. It takes {', '.join(known)}.")
        return ParameterError(f"{name} has no option {unknown!r}.{did_you_mean(unknown, known)}")
    return None
