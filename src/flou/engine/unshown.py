"""Copies of what rows were, beside rows that have neither id nor order: they travel with them and are never shown."""

from __future__ import annotations

from typing import Any

import narwhals as nw

from flou.engine import native

#: Names of the copies begin like this.
ORIGINAL = f"{native.RESERVED}was_"


def with_originals(data: Any) -> Any:
    """Microdata with a hidden copy of each column, where nothing else says what a row was.

    Columns that are hidden by their role are copied too: what is published must not tell them either.
    """
    if data.data_kind != "microdata" or not data.is_lazy or data.schema.id is not None:
        return data
    kept = [c for c in data.columns if c != data.schema.household]
    return data.with_frame(data.frame.with_columns(*(nw.col(c).alias(f"{ORIGINAL}{c}") for c in kept)))
