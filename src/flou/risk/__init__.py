"""How exposed the records and cells are."""

from typing import TYPE_CHECKING

from flou.engine.lazy import attach

if TYPE_CHECKING:
    from flou.risk.micro.k_anonymity import KAnonymity

METHODS = {"KAnonymity": "flou.risk.micro.k_anonymity"}

__all__ = ["METHODS", "KAnonymity"]
__getattr__, __dir__ = attach(__name__, METHODS)
