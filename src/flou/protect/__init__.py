"""What changes the data."""

from typing import TYPE_CHECKING

from flou.engine.lazy import attach

if TYPE_CHECKING:
    from flou.protect.micro.drop import DropIdentifiers, DropRecords
    from flou.protect.micro.recode import Recode
    from flou.protect.micro.top_code import BottomCode, TopCode

METHODS = {
    "BottomCode": "flou.protect.micro.top_code",
    "DropIdentifiers": "flou.protect.micro.drop",
    "DropRecords": "flou.protect.micro.drop",
    "Recode": "flou.protect.micro.recode",
    "TopCode": "flou.protect.micro.top_code",
}

__all__ = ["METHODS", "BottomCode", "DropIdentifiers", "DropRecords", "Recode", "TopCode"]
__getattr__, __dir__ = attach(__name__, METHODS)
