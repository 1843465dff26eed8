"""What data are, by their content: results and verdicts belong to a release that says the same, whoever holds it."""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any

from flou.engine import native


def content_of(values: Mapping[str, Any]) -> str:
    """A digest of values that have a stored form."""
    from flou.engine.stored import write  # which knows methods, which know data

    written = write(dict(values), _refer)
    digest = hashlib.sha256(json.dumps(written.tree, ensure_ascii=False).encode())
    for name, part in sorted(written.parts.items()):
        digest.update(f"{name} {len(part)} ".encode())
        digest.update(part)
    return digest.hexdigest()


def content_of_fields(held: Any, *, without: Sequence[str]) -> str:
    """A digest of the fields of a dataclass, but for some."""
    return content_of({field.name: getattr(held, field.name) for field in fields(held) if field.name not in without})


def content_of_records(data: Any) -> str:
    """A digest of the columns of a file and of its schema; the numbers that Flou gives to rows are not among them."""
    return content_of({"rows": content_of_rows(data.frame.select(*data.columns)), "schema": data.schema})


def content_of_rows(frame: native.Frame) -> str:
    """A digest of rows in their order, with the names and types of their columns."""
    digest = hashlib.sha256()
    for batch in native.batches(frame):
        held = io.BytesIO()
        batch.rechunk().write_ipc(held)
        digest.update(hashlib.sha256(held.getbuffer()).digest())
    return digest.hexdigest()


def is_same(one: Any, other: Any) -> bool:
    """Whether two data say the same; of rows in an engine only the object itself is known to."""
    if one is other:
        return True
    if type(one) is not type(other) or getattr(one, "is_lazy", False) or getattr(other, "is_lazy", False):
        return False
    return bool(one.content_id == other.content_id)


def _refer(data: Any) -> str:
    return str(data.content_id)
