"""What the analyst loses, and what is kept."""

from typing import TYPE_CHECKING

from flou.engine.lazy import attach

if TYPE_CHECKING:
    from flou.utility.micro.coherence import Coherence
    from flou.utility.micro.correlations import Correlations
    from flou.utility.micro.regression import Regression
    from flou.utility.micro.summary import Summary
    from flou.utility.table.hellinger import Hellinger
    from flou.utility.table.mean_deviation import MeanDeviation
    from flou.utility.table.relative_deviation import RelativeDeviation
    from flou.utility.table.within_distance import WithinDistance

METHODS = {
    "Coherence": "flou.utility.micro.coherence",
    "Correlations": "flou.utility.micro.correlations",
    "Hellinger": "flou.utility.table.hellinger",
    "MeanDeviation": "flou.utility.table.mean_deviation",
    "Regression": "flou.utility.micro.regression",
    "RelativeDeviation": "flou.utility.table.relative_deviation",
    "Summary": "flou.utility.micro.summary",
    "WithinDistance": "flou.utility.table.within_distance",
}

__all__ = [
    "METHODS",
    "Coherence",
    "Correlations",
    "Hellinger",
    "MeanDeviation",
    "Regression",
    "RelativeDeviation",
    "Summary",
    "WithinDistance",
]
__getattr__, __dir__ = attach(__name__, METHODS)
