"""What an intruder achieves by doing it."""

from typing import TYPE_CHECKING

from flou.engine.lazy import attach

if TYPE_CHECKING:
    from flou.attack.table.averaging import Averaging
    from flou.attack.table.cell_bounds import CellBounds
    from flou.attack.table.reconstruction import Reconstruction
    from flou.attack.table.single_unknown import SingleUnknown

METHODS = {
    "Averaging": "flou.attack.table.averaging",
    "CellBounds": "flou.attack.table.cell_bounds",
    "Reconstruction": "flou.attack.table.reconstruction",
    "SingleUnknown": "flou.attack.table.single_unknown",
}

__all__ = [
    "METHODS",
    "Averaging",
    "CellBounds",
    "Reconstruction",
    "SingleUnknown",
]
__getattr__, __dir__ = attach(__name__, METHODS)
