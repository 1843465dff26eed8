"""Records that were kept and are made again: the rows beside what else they hold, which has a stored form."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from flou.describe.microdata import Microdata
from flou.engine import native


def state_of(data: Microdata) -> dict[str, Any]:
    """What records hold besides their rows."""
    return {
        "schema": data.schema,
        "marks": data.marks,
        "trail": data.trail,
        "kin": data.kin,
        "kind": data.native_kind,
        "orders": dict(data.orders),
    }


def restored(state: Mapping[str, Any], frame: native.Frame, original: Microdata) -> Microdata:
    """The records again; where they are rows in an engine they go on with the files of the original."""
    source = original._entered.source if native.is_lazy(frame) else None
    entered = native.Entered(frame, state["kind"], source, state["orders"])
    return original._with(entered=entered, **{name: state[name] for name in ("schema", "marks", "trail", "kin")})
