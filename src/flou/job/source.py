"""Where a plan's data and secret come from: option, then FLOU_* variable, then plan, then default."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from flou import datasets
from flou.describe.files import read
from flou.describe.microdata import Microdata
from flou.describe.schema import Schema
from flou.describe.sources import database
from flou.engine import native
from flou.engine.errors import ParameterError, PlanError, did_you_mean
from flou.engine.plan import DataSource, Plan
from flou.engine.secret import Secret

_DATASET = "dataset:"
#: Digits and bars of a number of records.
_LONGEST_SIZE = 40


def load(
    source: DataSource,
    folder: Path = Path(),
    *,
    engine: str | None = None,
    keys: Sequence[str] = (),
    sensitive: Sequence[str] = (),
) -> Microdata:
    """Read a source: a file, a folder, a pattern, or one of Flou's own data sets as `dataset:NAME`."""
    chosen = next((e for e in (engine, os.environ.get("FLOU_ENGINE"), source.engine) if e is not None), "polars")
    native.require_engine(chosen, ParameterError)
    schema = Schema.load(folder / source.schema) if source.schema is not None else None
    if keys or sensitive:
        schema = Schema(keys=tuple(keys), sensitive=tuple(sensitive))
    if source.source.startswith(_DATASET):
        if (engine or source.engine) not in (None, "polars"):
            raise PlanError("A data set of Flou's own is made in memory: engine is for files.")
        given = [
            n
            for n in ("table", "sheet", "delimiter", "encoding", "decimal", "formulas")
            if getattr(source, n) is not None
        ]
        if given:
            raise PlanError(f"{' and '.join(given)}: these say how a file is read; a data set is made in memory.")
        return _dataset(source.source.removeprefix(_DATASET), schema)
    return read(
        source.source if database.is_database(source.source) else folder / source.source,
        schema=schema,
        engine=chosen,
        table=source.table,
        sheet=source.sheet,
        delimiter=source.delimiter,
        encoding=source.encoding,
        decimal=source.decimal,
        formulas=source.formulas,
    )


def _dataset(spec: str, schema: Schema | None) -> Microdata:
    """`apa` or `apa(1_000)`: a generator, with a size if wanted."""
    parts = re.fullmatch(r"([a-z0-9_]+)(?:\(([0-9]+(?:_[0-9]+)*)\))?", spec)
    if parts is None:
        raise PlanError(
            f"{spec!r} is not a data set: dataset:apa, or dataset:apa(1000) where the size is a whole number."
        )
    name, size = parts.groups()
    if name not in datasets.DATASETS:
        raise PlanError(f"There is no data set {name!r}.{did_you_mean(name, datasets.DATASETS)}")
    make = getattr(datasets, name)
    if size and len(size) > _LONGEST_SIZE:
        raise PlanError(
            f"The size of the data set {name!r} has {len(size):,} digits: no machine holds so many records."
        )
    try:
        data: Microdata = make(int(size)) if size else make()
    except TypeError:
        raise PlanError(f"The data set {name!r} has a fixed size.") from None
    return data if schema is None else data.with_schema(schema)


def plan_data(plan: Plan, engine: str | None = None) -> Microdata:
    """The data of a plan."""
    if plan.data is None:
        raise PlanError('The plan has no [data] section: add source = "file.parquet" and schema = "file.schema.toml".')
    return load(plan.data, plan.folder, engine=engine)


def plan_population(plan: Plan, schema: Schema, engine: str | None = None) -> Microdata | None:
    """The public table of a plan, if it names one."""
    if plan.population is None:
        return None
    return load_public(plan.population, schema, plan.folder, engine)


def load_public(source: DataSource, schema: Schema, folder: Path, engine: str | None) -> Microdata:
    """A public table; without a schema of its own it has what the file's schema says of its keys."""
    table = load(source, folder, engine=engine)
    if source.schema is not None:
        return table
    keys = tuple(c for c in schema.keys if c in table.columns)
    said: dict[str, Any] = {
        name: {c: v for c, v in getattr(schema, name).items() if c in keys}
        for name in ("types", "not_applicable", "undetermined", "hierarchies")
    }
    return table.with_schema(Schema(keys=keys, **said))


def find_secret(file: str | None = None, plan: Plan | None = None) -> Secret:
    """The secret to use; none named anywhere: the operating system's entropy, which cannot be replayed."""
    if file is not None:
        return Secret.from_file(file)
    if "FLOU_SECRET_FILE" in os.environ:
        return Secret.from_file(os.environ["FLOU_SECRET_FILE"])
    if "FLOU_SECRET" in os.environ:
        return Secret.from_environment("FLOU_SECRET")
    if plan is None or plan.secrets is None:
        return Secret.generate()
    if (plan.secrets.file is None) == (plan.secrets.environment is None):
        raise PlanError("[secrets] names either file = … or environment = …, one of them.")
    if plan.secrets.file is not None:
        return Secret.from_file(plan.folder / plan.secrets.file)
    return Secret.from_environment(str(plan.secrets.environment))
