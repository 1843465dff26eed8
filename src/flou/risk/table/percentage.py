"""Percentages as the field writes them: p% with p = 10, never 0.1.

Shares are in [0, 1] everywhere else. The parameters of the p%, pq and dominance rules are known as percentages to all
who use them, and a share given for one would ask for a hundredth of the protection, so what is below 1 is refused.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, Field, ValidationInfo, WithJsonSchema

from flou.engine.parameters import Number


def _below_100(value: float, info: ValidationInfo) -> float:
    _require_percentage(value, info)
    if value >= 100:
        raise ValueError(f"{info.field_name} = {value!r} should be a percentage from 1 to less than 100.")
    return value


def _up_to_100(value: float, info: ValidationInfo) -> float:
    _require_percentage(value, info)
    if value > 100:
        raise ValueError(f"{info.field_name} = {value!r} should be a percentage from 1 to 100.")
    return value


def _require_percentage(value: float, info: ValidationInfo) -> None:
    if value < 1:
        raise ValueError(
            f"{info.field_name} = {value!r} should be a percentage: 10, not 0.1. Percentages below 1 are refused."
        )


#: At least 1 and less than 100.
Percentage = Annotated[
    Number,
    AfterValidator(_below_100),
    WithJsonSchema({"type": "number", "minimum": 1, "exclusiveMaximum": 100}),
    Field(),
]
#: At least 1 and at most 100.
WholePercentage = Annotated[
    Number, AfterValidator(_up_to_100), WithJsonSchema({"type": "number", "minimum": 1, "maximum": 100}), Field()
]


def short(value: float) -> str:
    """A percentage in a rule's name: 10, 12.5."""
    return f"{value:.10g}"
