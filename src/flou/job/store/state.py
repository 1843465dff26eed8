"""Values with the data that they hold, as the files of an entry, and back: `entry.json` beside parts and rows.

Data that whoever reads has himself, such as the plan's input, go by a name. Others are written with the value: records
as Parquet parts, a table by its fields, and the data that these hold in their turn, each once.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import fields
from itertools import count
from typing import Any

from flou.describe.microdata import Microdata
from flou.describe.restored import restored, state_of
from flou.describe.table.table import Table
from flou.describe.table.table_set import TableSet
from flou.engine.errors import DataError
from flou.engine.stored import Written, read, write
from flou.job.store.rows import read_rows, write_rows
from flou.job.store.seal import Held, NotKeptError, Writer

_TREE = "entry.json"
_KINDS: dict[str, type] = {kind.data_kind: kind for kind in (Table, TableSet)}

#: The name of data that whoever reads has himself, if he has them.
Known = Callable[[Any], str | None]


def save(writer: Writer, value: object, known: Known, *, with_records: bool = True) -> None:
    """Write a value into an entry; without records of its own where there may be none."""
    _Saving(writer, known, with_records).run(value)


class _Saving:
    def __init__(self, writer: Writer, known: Known, with_records: bool) -> None:
        self.writer, self.known, self.with_records = writer, known, with_records
        self.held: list[Any] = []

    def run(self, value: object) -> None:
        tree, made = self.tree("v", value), list[Any]()
        while len(made) < len(self.held):
            made.append(self.data(f"d{len(made)}", self.held[len(made)]))
        self.writer.add(_TREE, json.dumps({"value": tree, "data": made}).encode())

    def refer(self, data: Any) -> str:
        name = self.known(data)
        if name is not None:
            return name
        if isinstance(data, Microdata) and not self.with_records:
            raise NotKeptError("it holds records of its own")
        for place, held in enumerate(self.held):
            if held is data:
                return str(place)
        self.held.append(data)
        return str(len(self.held) - 1)

    def tree(self, place: str, value: object) -> Any:
        n_parts = count()

        def keep(part: Any, made: Callable[[], bytes], ending: str) -> str:
            name = f"{next(n_parts)}.{ending}"
            self.writer.add_value(f"{place}.{name}", part, made)
            return name

        try:
            return write(value, self.refer, keep).tree
        except DataError as error:
            raise NotKeptError(str(error)) from None

    def data(self, place: str, data: Any) -> Any:
        if isinstance(data, Microdata):
            write_rows(self.writer, place, data)
            return ["microdata", self.tree(place, state_of(data))]
        return [data.data_kind, self.tree(place, {field.name: getattr(data, field.name) for field in fields(data)})]


def load(held: Held, known: Mapping[str, Any], original: Microdata | None = None) -> Any:
    """The value of an entry; `known` are the data that go by a name, `original` is what rows in an engine came from."""
    return _Loading(held, known, original).run()


class _Loading:
    def __init__(self, held: Held, known: Mapping[str, Any], original: Microdata | None) -> None:
        self.held, self.original = held, original
        self.made = dict(known)
        self.trees = json.loads(held.files[_TREE])

    def run(self) -> Any:
        return self.value("v", self.trees["value"])

    def value(self, place: str, tree: Any) -> Any:
        start = f"{place}."
        mine = {n.removeprefix(start): held for n, held in self.held.files.items() if n.startswith(start)}
        return read(Written(tree, mine), self.resolve)

    def resolve(self, name: str) -> Any:
        if name not in self.made:
            self.made[name] = self.data(int(name))
        return self.made[name]

    def data(self, number: int) -> Any:
        place = f"d{number}"
        kind, tree = self.trees["data"][number]
        state = self.value(place, tree)
        if kind in _KINDS:
            return _KINDS[kind](**state)
        assert self.original is not None
        rows = {n: held for n, held in self.held.files.items() if n.startswith(f"{place}.") and n.endswith(".parquet")}
        scanned = [path for name, path in self.held.scanned.items() if name.startswith(f"{place}.")]
        return restored(state, read_rows(rows, sorted(scanned), self.original), self.original)
