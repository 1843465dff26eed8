"""Sets of counts as parameters: I, the true counts that must not be inferred, and J, the published ones."""

from __future__ import annotations

from typing import Annotated

import numpy as np
from numpy.typing import NDArray
from pydantic import AfterValidator, BeforeValidator, Field

from flou.engine.note import Note


def _as_tuple(value: object) -> object:
    if isinstance(value, set | frozenset):
        return tuple(sorted(value))
    return tuple(value) if isinstance(value, range | list) else value


def _once(counts: tuple[int, ...]) -> tuple[int, ...]:
    if len(set(counts)) < len(counts):
        raise ValueError(f"a count is named twice: {list(counts)}.")
    return tuple(sorted(counts))


#: A list or range of whole numbers from 0 on, at least one, none twice.
Counts = Annotated[
    tuple[Annotated[int, Field(ge=0, lt=2**53)], ...],
    BeforeValidator(_as_tuple),
    Field(min_length=1),
    AfterValidator(_once),
]
#: Differences of published counts: whole numbers of either sign.
Differences = Annotated[
    tuple[Annotated[int, Field(gt=-(2**53), lt=2**53)], ...],
    BeforeValidator(_as_tuple),
    Field(min_length=1),
    AfterValidator(_once),
]


def sets_note(true: NDArray[np.int64], published: NDArray[np.int64]) -> Note:
    """Which counts the letters I and J stand for."""
    return Note(
        "I, what must not be inferred: {I}; J, what is published: {J}",
        {"I": _listed(true), "J": _listed(published)},
    )


def _listed(counts: NDArray[np.int64]) -> str:
    """Counts as people write them: 1–4 where they follow one another."""
    numbers = counts.tolist()
    in_a_row = len(numbers) > 2 and numbers == list(range(numbers[0], numbers[-1] + 1))
    return f"{numbers[0]}–{numbers[-1]}" if in_a_row else ", ".join(str(n) for n in numbers)
