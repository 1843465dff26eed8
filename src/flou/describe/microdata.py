"""Microdata: a frame and the schema that says what its columns are.

Rows stay where they are: in memory, in a Polars scan, in DuckDB or on a Spark cluster. The object is
frozen; a protection makes a new one. What would be published is `.public()`: no identifiers, no internal
numbers, rows in an order that says nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn, TypeVar

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from flou.describe.check import check_frame, check_values, check_weight
from flou.describe.public_schema import shown_schema
from flou.describe.schema import Schema, given_schema
from flou.describe.units import published_owners, unit_ids
from flou.engine import native
from flou.engine.calls import methods_in_words
from flou.engine.content import content_of_records
from flou.engine.data import DataKind, Kin, Marks
from flou.engine.errors import DataError, LazyInputError, OutputError, SchemaError
from flou.engine.keys import KeyTable, count_keys
from flou.engine.parameters import Scalar
from flou.engine.release import Trail

#: The row's number where no id is declared; never shown.
_UNIT = f"{native.RESERVED}unit"
T = TypeVar("T")

if TYPE_CHECKING:
    import polars as pl

    from flou.describe.overview import Overview
    from flou.describe.table.table import Table
    from flou.engine.native.source import Source


@methods_in_words
class Microdata:
    """Records and their roles.

        people = flou.Microdata(frame, keys=["age", "sex"], sensitive=["illness"])

    `frame` is a Polars frame or scan, a pandas frame, a PyArrow table, a DuckDB relation or a Spark frame; the roles
    are those of `flou.Schema`, given here by name or as `schema=`.
    """

    data_kind: ClassVar[DataKind] = "microdata"
    __slots__ = ("_cache", "_entered", "_kin", "_marks", "_schema", "_trail")

    _entered: native.Entered
    _schema: Schema
    _marks: Marks
    _trail: Trail | None
    _kin: Kin
    _cache: dict[Any, Any]

    def __init__(self, frame: object, schema: Schema | None = None, **roles: Any) -> None:
        entered = native.enter(frame)
        given = given_schema(schema, roles).fitted(entered.frame.collect_schema())
        self._set(entered.with_frame(check_frame(entered.frame, given)), given, Marks())
        self._check_values()

    def _set(
        self, entered: native.Entered, schema: Schema, marks: Marks, trail: Trail | None = None, kin: Kin | None = None
    ) -> None:
        held = {"entered": entered, "schema": schema, "marks": marks, "trail": trail, "kin": kin or Kin(), "cache": {}}
        for name, value in held.items():
            object.__setattr__(self, f"_{name}", value)

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError("Microdata is frozen; a protection makes a new one")

    @classmethod
    def from_source(cls, frame: object, schema: Schema, source: Source | None, orders: Any = ()) -> Microdata:
        """Microdata read from files, which must not change while they are worked on, and whose types bring orders."""
        made = cls(frame, schema)
        return made._with(entered=replace(made._entered, source=source, orders={**made.orders, **dict(orders)}))

    def _with(self, **changes: Any) -> Microdata:
        """The same data with some of what they hold changed."""
        names = ("entered", "schema", "marks", "trail", "kin")
        made = Microdata.__new__(Microdata)
        made._set(**{**{name: getattr(self, f"_{name}") for name in names}, **changes})
        return made

    def with_frame(self, frame: native.Frame, schema: Schema | None = None) -> Microdata:
        """The same data after a protection changed the frame (and perhaps what the schema says)."""
        return self._with(entered=self._entered.with_frame(frame), schema=schema or self.schema)

    def compacted(self) -> Microdata:
        """The same rows, holding nothing of what a protection took away."""
        return self.with_frame(native.compact(self.frame))

    def with_schema(self, schema: Schema) -> Microdata:
        """The same rows under another schema, checked again."""
        if self.released:
            raise SchemaError("The schema of a release follows from its plan; give the schema with the original data.")
        if any(c.startswith(native.RESERVED) for c in self.frame.collect_schema().names()):
            raise SchemaError("These records have keys already: give the schema first, then flou.record_keys.")
        made = self.from_source(native.leave(self.frame, self.native_kind), schema, self._entered.source)
        return made._with(entered=replace(made._entered, orders=self.orders)).marked(synthetic=self.marks.synthetic)

    def marked(self, **marks: bool) -> Microdata:
        """The same data with marks added; a mark is never taken away."""
        made = self._with(marks=self.marks.add(**marks))
        made._cache.update({k: v for k, v in self._cache.items() if k not in ("overview", "public")})
        # the same rows, counted once
        return made

    @property
    def frame(self) -> native.Frame:
        """The rows behind narwhals; for methods."""
        return self._entered.frame

    @property
    def native_kind(self) -> native.Kind:
        return self._entered.kind

    @property
    def schema(self) -> Schema:
        return self._schema

    @property
    def orders(self) -> Mapping[str, tuple[str, ...]]:
        """The order of categories that the type of a column brings: of an Enum, or of an ordered categorical."""
        return self._entered.orders

    @property
    def marks(self) -> Marks:
        return self._marks

    @property
    def trail(self) -> Trail | None:
        """What was done to these data so far, if a plan has worked on them."""
        return self._trail

    def with_trail(self, trail: Trail) -> Microdata:
        return self._with(trail=trail)

    @property
    def kin(self) -> Kin:
        """The data that these were made from, for those who protect; `.public()` has none."""
        return self._kin

    def with_kin(self, **kin: Any) -> Microdata:
        return self._with(kin=replace(self._kin, **kin))

    @property
    def released(self) -> bool:
        return self.marks.released

    @property
    def is_lazy(self) -> bool:
        """Whether the rows are still in their engine."""
        return native.is_lazy(self.frame)

    @property
    def content_id(self) -> str:
        """What these records and their schema are, by content."""
        return self.remembered("content id", lambda: content_of_records(self))

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of the file; those that Flou adds for itself are not among them."""
        return tuple(c for c in self.frame.collect_schema().names() if not c.startswith(native.RESERVED))

    @property
    def n_records(self) -> int:
        return int(self.remembered("n", lambda: self._counted(self.frame.select(nw.len().alias("n"))).item()))

    def require_unchanged(self) -> None:
        """Refuse to go on when a file behind these rows is no longer what it was."""
        if self._entered.source is not None and self.is_lazy:
            self._entered.source.require_unchanged()

    def require_other(self, path: Path) -> None:
        """Refuse to write over a file that these rows are read from."""
        if self._entered.source is not None and self.is_lazy and self._entered.source.has(path):
            raise OutputError(f"{str(path)!r} is the file that the rows are read from. Write to another one.")

    @contextmanager
    def watched(self) -> Iterator[None]:
        """What is read inside the block is sure to be of the file that was opened."""
        try:
            yield
        except DataError:
            self.require_unchanged()  # a file that changed is the reason, and says more than the engine does
            raise
        self.require_unchanged()

    def _counted(self, frame: native.Frame) -> pl.DataFrame:
        with self.watched():
            return native.collect(frame)

    def __len__(self) -> int:
        return self.n_records

    @property
    def declared_modalities(self) -> Mapping[str, Sequence[Scalar]]:
        """Declared modalities, not-applicable codes included: they are categories like any other."""
        return self.schema.declared_modalities

    def describe(self) -> Overview:
        """What the file is: its columns, roles, types, missing values and keys."""
        from flou.describe.overview import overview

        return self.remembered("overview", lambda: overview(self))

    def _check_values(self) -> None:
        """Ids, weights, modalities and hierarchies against what was declared."""
        weights = [] if self.schema.weight is None else self._weight_range()[1]
        check_values(self.frame, self.schema, weights)

    def _weight_range(self) -> tuple[float, list[str]]:
        """The smallest weight and what is wrong with the weights: one pass, remembered."""
        weight = str(self.schema.weight)
        with self.watched():
            return self.remembered("weight", lambda: check_weight(self.frame, weight))

    def lowest_weight(self) -> float:
        """The smallest sampling weight; weights that cannot be added up are refused."""
        lowest, problems = self._weight_range()
        if problems:
            raise DataError(f"The weights cannot be used: {'; '.join(problems)}.")
        return lowest

    def remembered(self, name: Any, make: Callable[[], T]) -> T:
        """What was found out about these rows, once."""
        if name not in self._cache:
            self._cache[name] = make()
        found: T = self._cache[name]
        return found

    def key_table(self, columns: Sequence[str]) -> KeyTable:
        """Distinct combinations of columns with their counts: one group-by, remembered."""

        def counted() -> KeyTable:
            if self.schema.weight is not None:
                self.lowest_weight()
            with self.watched():
                return count_keys(self.frame, columns, self.schema.weight, self.schema.person)

        return self.remembered(("keys", tuple(columns)), counted)

    def unit_ids(self) -> NDArray[np.generic]:
        """What randomness hangs on: the role `id`, or for rows in memory their place in an order by content."""
        return unit_ids(self)

    def numbered(self) -> Microdata:
        """With each row's number, by which an attack is scored; an id serves, and rows in an engine have no order."""
        if self.schema.id is not None or self.is_lazy or _UNIT in self.frame.collect_schema().names():
            return self
        rows = native.collect(self.frame).with_row_index(_UNIT)
        made = self.with_frame(nw.from_native(rows, eager_only=True))
        made._cache.update(self._cache)
        return made

    @property
    def unit_column(self) -> str:
        """The column that says whose row a row is, once the rows are numbered; rows in an engine need an id."""
        if self.schema.id is None and self.is_lazy:
            raise LazyInputError("Rows must be told apart: declare the role id, or .collect() them.")
        return self.schema.id or _UNIT

    def owners(self) -> NDArray[np.generic]:
        """Whose row each row is, in the rows' own order."""
        name = self.unit_column
        return native.collect(self.numbered().frame.select(name))[name].to_numpy()

    def published_owners(self) -> NDArray[np.generic]:
        """Whose row each row of `.public()` is, in that order: for scoring attacks, never for intruders."""
        return published_owners(self)

    def collect(self) -> Microdata:
        """Bring the rows into memory."""
        if not self.is_lazy:
            return self
        rows = self._counted(self.frame)
        made = self._with(entered=native.Entered(nw.from_native(rows, eager_only=True), "polars", orders=self.orders))
        made._check_values()
        return made

    def tabulate(self, dims: Sequence[str] | str, value: str | None = None, **options: Any) -> Table:
        """A table of counts, and of sums of `value`, by `dims`; see `flou.describe.table.tabulate`."""
        from flou.describe.table.tabulate import tabulate

        return tabulate(self, dims, value=value, **options)

    def tabulated(self, tables: Sequence[Any], *, secret: Any = None, stored: str | None = None) -> Any:
        """The tables of a plan; see `flou.describe.table.planned`."""
        from flou.describe.table.planned import planned_tables

        return planned_tables(self, tables, secret=secret, stored=stored)

    def public(self) -> Microdata:
        """What would be published: without identifiers and internal numbers, rows ordered by their values."""
        if "public" in self._cache:
            return self._cache["public"]  # type: ignore[no-any-return]
        shown = [c for c in self.columns if c not in self.schema.hidden]
        if not shown:
            raise DataError("Nothing would be published: every column is an identifier or an internal number.")
        frame = self.frame.select(*shown).sort(*shown, nulls_last=True)
        schema = self.schema.without(self.schema.hidden)
        if self.released and not self.is_lazy:  # rows in an engine are read when they are described
            schema = shown_schema(schema, frame)
        made = self._with(entered=replace(self._entered, frame=frame, orders={}), schema=schema, kin=Kin())
        made._cache.update({k: v for k, v in self._cache.items() if k == "n"})
        self._cache["public"] = made
        return made

    def to_frame(self, *, reveal: bool = False) -> Any:
        """The rows in the type they came as. Of a release: what would be published, unless `reveal`."""
        self.require_unchanged()
        return native.leave(self.shown(reveal=reveal), self.native_kind)

    def shown(self, *, reveal: bool = False, also: Sequence[str] = ()) -> native.Frame:
        """The rows that may be seen, of a release what would be published; `also` adds other columns, for methods."""
        seen = self.public().columns if self.released and not reveal else self.columns
        rows = self.frame.select(*seen, *(c for c in also if c not in seen))
        return rows.sort(*seen, nulls_last=True) if self.released and not reveal else rows

    def __getstate__(self) -> dict[str, Any]:
        """A copy that leaves the process takes only what would be published."""
        if self.is_lazy:
            raise LazyInputError("Rows in an engine cannot be pickled: .collect() them first, or flou.write them.")
        source = self.public() if self.released else self
        return {
            # record keys stay in the process: whoever has them can take noise off
            "rows": native.collect(native.compact(source.frame.select(*source.columns))),
            "kind": source.native_kind,
            "schema": source.schema,
            "marks": self.marks,
            "orders": source.orders,
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        rows = nw.from_native(state["rows"], eager_only=True)
        self._set(native.Entered(rows, state["kind"], orders=state["orders"]), state["schema"], state["marks"])

    def __repr__(self) -> str:
        size = "rows in their engine" if self.is_lazy else f"{self.n_records:,} records"
        return f"Microdata({size}, {len(self.columns)} columns, keys: {', '.join(self.schema.keys) or 'none'})"
