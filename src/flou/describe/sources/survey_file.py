"""Survey files: SPSS (.sav, .zsav, .por), Stata (.dta) and SAS (.sas7bdat, .xpt).

They bring what a CSV file lacks: labels, and declared missing values. The rows are read once, piece by
piece, into a spool; when all have been seen a column's type is known, and the spool is written again with
it. What the schema declares wins over what the file says.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from flou.describe.schema import Schema
from flou.describe.sources.missing_codes import contradictions
from flou.describe.sources.survey_reading import Reading
from flou.describe.sources.survey_source import SUFFIXES, open_survey
from flou.engine.errors import SchemaError, paragraphs
from flou.engine.spool import spooled

__all__ = ["SUFFIXES", "read_survey"]


def read_survey(path: Path, schema: Schema) -> tuple[Path, Schema]:
    """Spool a survey file; the folder of the spool, and the schema completed with what the file says."""
    source = open_survey(path)
    readings = [Reading(str(place), column, schema) for place, column in enumerate(source.columns)]
    problems = [p for r in readings for p in contradictions(r.column, r.codes, schema)]
    if problems:
        raise SchemaError(paragraphs(f"The schema and {str(path)!r} contradict each other:", problems))
    raw = spooled(_taken(values, readings) for values in source.chunks())
    try:
        completed = _completed(schema, readings)
        return spooled(_typed(raw, readings)), completed
    finally:
        shutil.rmtree(raw, ignore_errors=True)


def _taken(values: Sequence[list[Any]], readings: Sequence[Reading]) -> pl.DataFrame:
    return pl.DataFrame([s for reading, v in zip(readings, values, strict=True) for s in reading.take(v)])


def _typed(raw: Path, readings: Sequence[Reading]) -> Iterator[pl.DataFrame]:
    columns = [r.typed() for r in readings]
    for part in sorted(raw.glob("*.parquet")):
        yield pl.read_parquet(part, glob=False).select(columns)


def _completed(schema: Schema, readings: Sequence[Reading]) -> Schema:
    """The schema with the file's labels, codes and modalities beneath its own."""
    labels = {r.column.name: {"en": r.column.label} for r in readings if r.column.label}
    value_labels = dict(schema.value_labels)
    modalities = dict(schema.modalities)
    meanings = {"not_applicable": dict(schema.not_applicable), "undetermined": dict(schema.undetermined)}
    for reading in readings:
        name, said = reading.column.name, reading.column.value_labels or {}
        if said:
            own = schema.value_labels.get(name, {})
            value_labels[name] = {**{v: {"en": label} for v, label in said.items()}, **own}
        for code in reading.new_codes():
            meant = meanings["not_applicable" if reading.keeps(code) else "undetermined"]
            meant[name] = (*meant.get(name, ()), reading.scalar(code))
        if name in schema.keys and name not in schema.modalities and (found := reading.modalities()):
            modalities[name] = found
    return schema.with_changes(
        labels={**labels, **schema.labels}, value_labels=value_labels, modalities=modalities, **meanings
    )
