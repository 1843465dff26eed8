"""Loading the file that a command names."""

from __future__ import annotations

from pathlib import Path

from flou.describe.files import read
from flou.describe.microdata import Microdata
from flou.engine.errors import ParameterError
from flou.engine.plan import DataSource
from flou.job import source as sources


def load(
    source: str,
    schema: str | None,
    keys: str | None,
    engine: str | None,
    delimiter: str | None,
    encoding: str | None,
) -> Microdata:
    """Read a file or a data set, with a schema file or with keys by name."""
    if schema and keys:
        raise ParameterError("Give --schema or --keys, not both: a schema names the keys.")
    if keys and not source.startswith("dataset:"):
        names = [k.strip() for k in keys.split(",") if k.strip()]
        chosen = engine or "polars"
        return read(source, engine=chosen, delimiter=delimiter, encoding=encoding or "utf-8", keys=names)  # type: ignore[arg-type]
    if keys:
        raise ParameterError("A data set of Flou has its keys; --keys is for files.")
    return sources.load(DataSource(source, schema, engine, delimiter, encoding), Path(), engine=engine)
