"""What a method may ask of the data it is given; `describe` has the real ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Literal, Protocol

from flou.engine import native
from flou.engine.keys import KeyTable

DataKind = Literal["microdata", "table"]


class Data(Protocol):
    """Microdata or a table, as the base classes see it."""

    data_kind: ClassVar[DataKind]

    @property
    def columns(self) -> tuple[str, ...]: ...

    @property
    def n_records(self) -> int: ...

    @property
    def released(self) -> bool: ...

    @property
    def test_only(self) -> bool: ...

    @property
    def native_kind(self) -> native.Kind: ...

    @property
    def frame(self) -> native.Frame: ...

    def key_table(self, columns: Sequence[str]) -> KeyTable: ...

    def public(self) -> Any: ...

    def as_released(self, *, test_only: bool) -> Any: ...


def data_kind(data: object) -> DataKind | None:
    """The kind of data an object is, by its class alone: nothing is counted to find out."""
    kind: DataKind | None = getattr(type(data), "data_kind", None)
    return kind
