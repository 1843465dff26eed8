"""Values that went through their stored form, as JSON and bytes."""

from __future__ import annotations

import json
from typing import Any

from flou.engine.stored import Written, read, write


def stored(value: Any) -> Any:
    """What is read of a value that was written; data stay the same objects."""
    held: list[Any] = []

    def refer(data: Any) -> str:
        held.append(data)
        return str(len(held) - 1)

    written = write(value, refer)
    return read(Written(json.loads(json.dumps(written.tree)), written.parts), lambda name: held[int(name)])
