"""What protections by privacy models have in common: the models, and k as a short form of one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Literal, Self

from pydantic import Field, model_validator

from flou.engine.measure import Measures, RiskMeasure
from flou.engine.protection import Protection
from flou.engine.taxonomy import CLOSED_BY_MODELS, Answers
from flou.protect.micro.lattice.requirement import models_of

#: What a key without hierarchy means: it is refused, or shown or hidden as a whole.
NoHierarchy = Literal["refuse", "suppress"]


class Modelled(Protection):
    """A protection that chooses what keys show so that privacy models are met."""

    chooses_keys: ClassVar[bool] = True
    perturbative = False
    #: By models: those attacks that its own models close.
    answers_by: ClassVar[Mapping[str, Answers]] = {
        "k": {"identity": "closes"},
        "models": dict.fromkeys(CLOSED_BY_MODELS, "closes"),
    }

    models: Measures = Field((), description="privacy models that the release must meet")
    k: int | None = Field(None, ge=1, description="short for k-anonymity among the models")

    @model_validator(mode="after")
    def _meets_something(self) -> Self:
        models_of(self.k, self.models)
        return self

    @property
    def variant(self) -> str:
        return "models" if self.models else "k"

    def answers(self) -> Answers:
        return {a: "closes" for m in self._held for a, answer in m.answers().items() if answer == "closes"}

    @property
    def _held(self) -> tuple[RiskMeasure, ...]:
        """The models as they are held."""
        return models_of(self.k, self.models)
