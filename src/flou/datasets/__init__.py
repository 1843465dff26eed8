"""Synthetic data to learn and test on; no data of real people is ever shipped."""

from typing import TYPE_CHECKING

from flou.engine.lazy import attach

if TYPE_CHECKING:
    from flou.datasets.generators import apa, business, census, survey
    from flou.datasets.papers import benschop, saoud_fm1, saoud_fm2

DATASETS = {
    "apa": "flou.datasets.generators",
    "benschop": "flou.datasets.papers",
    "business": "flou.datasets.generators",
    "census": "flou.datasets.generators",
    "saoud_fm1": "flou.datasets.papers",
    "saoud_fm2": "flou.datasets.papers",
    "survey": "flou.datasets.generators",
}

__all__ = ["DATASETS", "apa", "benschop", "business", "census", "saoud_fm1", "saoud_fm2", "survey"]
__getattr__, __dir__ = attach(__name__, DATASETS)
