"""What an intruder achieves by doing it."""

from typing import TYPE_CHECKING

from flou.engine.lazy import attach

if TYPE_CHECKING:
    from flou.attack.table.cell_bounds import CellBounds

METHODS = {
    "CellBounds": "flou.attack.table.cell_bounds",
}

__all__ = [
    "METHODS",
    "CellBounds",
]
__getattr__, __dir__ = attach(__name__, METHODS)
