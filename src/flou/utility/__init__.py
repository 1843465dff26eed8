"""What the analyst loses, and what is kept."""

from typing import TYPE_CHECKING

from flou.engine.lazy import attach

if TYPE_CHECKING:
    from flou.utility.micro.coherence import Coherence
    from flou.utility.micro.correlations import Correlations
    from flou.utility.micro.regression import Regression
    from flou.utility.micro.summary import Summary

METHODS = {
    "Coherence": "flou.utility.micro.coherence",
    "Correlations": "flou.utility.micro.correlations",
    "Regression": "flou.utility.micro.regression",
    "Summary": "flou.utility.micro.summary",
}

__all__ = ["METHODS", "Coherence", "Correlations", "Regression", "Summary"]
__getattr__, __dir__ = attach(__name__, METHODS)
