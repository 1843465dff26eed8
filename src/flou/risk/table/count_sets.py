"""Sets of counts as parameters: I, the true counts that must not be inferred, and J, the published ones."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, BeforeValidator, Field


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
