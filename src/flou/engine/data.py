"""What a method may ask of the data it is given; `describe` has the real ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal, Protocol

from flou.engine import native
from flou.engine.keys import KeyTable

DataKind = Literal["microdata", "table", "table set", "mechanism"]


@dataclass(frozen=True)
class Marks:
    """What travels with data wherever they go."""

    #: A plan has worked on them: files, plots and attacks see `.public()` only.
    released: bool = False
    #: A test seed was used: no policy releases them.
    test_only: bool = False
    #: Made by Flou: the published demonstration secret is allowed.
    synthetic: bool = False

    #: The file from which a sample was drawn: promises of classes hold here, and it is not published itself.
    frame: bool = False

    def add(self, **marks: bool) -> Marks:
        """These marks and more."""
        return replace(self, **{name: value or getattr(self, name) for name, value in marks.items()})


@dataclass(frozen=True)
class Kin:
    """What released data were made from. It stays in the process: never written, pickled or shown to an attack."""

    #: The plan's input, which rules name `original`.
    original: Any = None
    #: The file as it was before a sample was drawn from it.
    frame: Any = None
    #: The protected records that tables were made of; they are not released themselves.
    records: Any = None
    #: Ratios of the plan's input that rules have put into the file so far.
    ratios: tuple[Any, ...] = ()
    #: By derived column, the values of the plan's input that it carries on.
    derived: Mapping[str, Any] = field(default_factory=dict)
    #: Files that a step made beside the data, by name.
    files: Mapping[str, Any] = field(default_factory=dict)


class Data(Protocol):
    """Microdata or a table, as the base classes see it."""

    data_kind: ClassVar[DataKind]

    @property
    def columns(self) -> tuple[str, ...]: ...

    @property
    def content_id(self) -> str: ...

    @property
    def n_records(self) -> int: ...

    @property
    def released(self) -> bool: ...

    @property
    def marks(self) -> Marks: ...

    @property
    def native_kind(self) -> native.Kind: ...

    @property
    def frame(self) -> native.Frame: ...

    def key_table(self, columns: Sequence[str]) -> KeyTable: ...

    def public(self) -> Any: ...

    def require_unchanged(self) -> None: ...

    def shown(self, *, reveal: bool = False, also: Sequence[str] = ()) -> native.Frame: ...

    def numbered(self) -> Any: ...

    def published_owners(self) -> Any: ...

    @property
    def trail(self) -> Any: ...

    def marked(self, **marks: bool) -> Any: ...

    def with_trail(self, trail: Any) -> Any: ...

    def with_frame(self, frame: native.Frame) -> Any: ...

    @property
    def kin(self) -> Kin: ...

    def with_kin(self, **kin: Any) -> Any: ...

    def compacted(self) -> Any: ...

    def tabulated(self, tables: Sequence[Any], *, secret: Any, stored: str | None) -> Any: ...


def has_several_rows(data: object) -> bool:
    """Whether a person may have several rows in a file: then records are not persons."""
    return getattr(getattr(data, "schema", None), "rows_per_person", "one") == "several"


def data_kind(data: object) -> DataKind | None:
    """The kind of data an object is, by its class alone: nothing is counted to find out."""
    kind: DataKind | None = getattr(type(data), "data_kind", None)
    return kind
