"""Loading the files that a command names."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from flou.describe.microdata import Microdata
from flou.engine.errors import ParameterError
from flou.engine.measure import RiskMeasure
from flou.engine.plan import DataSource
from flou.job import source as sources

__all__ = ["DataSource", "load", "load_against"]


def load(where: DataSource, keys: str | None, sensitive: str | None = None) -> Microdata:
    """Read a file or a data set, with a schema file or with keys and sensitive columns by name."""
    if where.schema is not None and (keys is not None or sensitive is not None):
        raise ParameterError("Give --schema, or --keys and --sensitive, not both: a schema names them.")
    return sources.load(where, Path(), engine=where.engine, keys=_names(keys), sensitive=_names(sensitive))


def load_against(path: str, where: DataSource, data: Microdata, measure: RiskMeasure) -> Microdata:
    """Read what a measure compares with: an original in the form of the file, or a public table by its keys."""
    other = replace(where, source=path)
    if measure.compares_with == "population":
        return sources.load_public(replace(other, schema=None), data.schema, Path(), where.engine)
    found = sources.load(other, Path(), engine=where.engine)
    return found if other.schema is not None else found.with_schema(data.schema)


def _names(text: str | None) -> list[str]:
    return [] if text is None else [name.strip() for name in text.split(",")]
