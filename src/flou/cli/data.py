"""Loading the file that a command names."""

from __future__ import annotations

from pathlib import Path

from flou.describe.microdata import Microdata
from flou.engine.errors import ParameterError
from flou.engine.plan import DataSource
from flou.job import source as sources

__all__ = ["DataSource", "load"]


def load(where: DataSource, keys: str | None) -> Microdata:
    """Read a file or a data set, with a schema file or with keys by name."""
    if where.schema is not None and keys is not None:
        raise ParameterError("Give --schema or --keys, not both: a schema names the keys.")
    names = [k.strip() for k in keys.split(",")] if keys is not None else []
    return sources.load(where, Path(), engine=where.engine, keys=names)
