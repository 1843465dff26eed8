"""What a stratum was blurred with in a former release: its classes and its regression, as plain values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flou.protect.micro.blur.classes import Classes
from flou.protect.micro.blur.predictor import Predictor

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Model:
    """A fitted regression on the scale of the classes: predictions, the residual's σ, and the shift of each class."""

    predictor: Predictor
    sigma: float
    centre: float
    spread: float
    shifts: Floats


@dataclass(frozen=True)
class FormerBlur:
    """The classes that draws were bound to, and the regression that they were drawn by."""

    classes: Classes
    model: Model

    def renamed(self, names: Mapping[str, str]) -> FormerBlur:
        """The same with covariates called otherwise."""
        return replace(self, model=replace(self.model, predictor=self.model.predictor.renamed(names)))

    def to_dict(self) -> dict[str, Any]:
        """As plain values."""
        classes, model = self.classes, self.model
        return {
            "classes": {**asdict(classes), "edges": classes.edges.tolist()},
            "model": {
                "predictor": model.predictor.to_dict(),
                "sigma": model.sigma,
                "centre": model.centre,
                "spread": model.spread,
                "shifts": model.shifts.tolist(),
            },
        }

    @classmethod
    def from_dict(cls, held: Mapping[str, Any]) -> FormerBlur:
        """From plain values."""
        classes = Classes(**{**held["classes"], "edges": np.array(held["classes"]["edges"], dtype=np.float64)})
        model = dict(held["model"])
        predictor, shifts = Predictor.from_dict(model.pop("predictor")), np.array(model.pop("shifts"), dtype=np.float64)
        return cls(classes, Model(predictor, shifts=shifts, **model))
