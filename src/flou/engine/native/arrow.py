"""PyArrow: tables in; Polars itself gives them back. The order of a dictionary is known to PyArrow alone."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from flou.engine.values import text_of


def columns(table: Any) -> list[str]:
    return list(table.column_names)


def to_polars(table: Any) -> pl.DataFrame:
    frame = pl.from_arrow(table)
    assert isinstance(frame, pl.DataFrame)
    return frame


def orders(table: Any) -> dict[str, tuple[str, ...]]:
    """The categories in order, as texts, of each column that is an ordered dictionary, one for all its parts."""
    found = {}
    for name in _ordered(table.schema):
        held = [chunk.dictionary.to_pylist() for chunk in table.column(name).chunks]
        if held and all(one == held[0] for one in held):
            found[name] = tuple(map(text_of, held[0]))
    return found


def file_orders(paths: Sequence[Path], kind: str) -> dict[str, tuple[str, ...]]:
    """The same of files, which pandas writes so; nothing where PyArrow is not installed or cannot read them."""
    try:
        import pyarrow as pa
    except ImportError:
        return {}
    try:
        held = [orders(_ordered_columns(path, kind)) for path in paths]
    except (pa.ArrowException, OSError):
        return {}
    return {name: order for name, order in held[0].items() if all(one.get(name) == order for one in held)}


def _ordered_columns(path: Path, kind: str) -> Any:
    """The columns of a file that are ordered dictionaries."""
    import pyarrow as pa

    if kind == "parquet":
        import pyarrow.parquet as pq

        with pq.ParquetFile(path) as file:
            return file.read(columns=_ordered(file.schema_arrow))
    with pa.memory_map(str(path)) as source:
        wanted = _ordered(pa.ipc.open_file(source).schema)
        places = [i for i, name in enumerate(pa.ipc.open_file(source).schema.names) if name in wanted]
        return pa.ipc.open_file(source, options=pa.ipc.IpcReadOptions(included_fields=places)).read_all()


def _ordered(schema: Iterable[Any]) -> list[str]:
    return [field.name for field in schema if getattr(field.type, "ordered", False)]
