"""Where a plan's data and secret come from: option, then FLOU_* variable, then plan, then default."""

from __future__ import annotations

import os
from pathlib import Path
from typing import cast

from flou import datasets
from flou.describe.files import Engine, read
from flou.describe.microdata import Microdata, with_schema
from flou.describe.schema import Schema
from flou.engine.errors import ParameterError, PlanError, SecretError, did_you_mean
from flou.engine.plan import DataSource, Plan
from flou.engine.secret import Secret

_DATASET = "dataset:"


def load(source: DataSource, folder: Path = Path(), *, engine: str | None = None) -> Microdata:
    """Read a source: a file, a folder, a pattern, or one of Flou's own data sets as `dataset:NAME`."""
    chosen = engine or os.environ.get("FLOU_ENGINE") or source.engine or "polars"
    schema = Schema.load(folder / source.schema) if source.schema else None
    if source.source.startswith(_DATASET):
        return _dataset(source.source.removeprefix(_DATASET), schema)
    if chosen not in ("polars", "duckdb"):
        raise ParameterError(f"engine = {chosen!r} is not known.{did_you_mean(chosen, ('polars', 'duckdb'))}")
    return read(
        folder / source.source,
        schema=schema,
        engine=cast(Engine, chosen),
        delimiter=source.delimiter,
        encoding=source.encoding or "utf-8",
    )


def _dataset(spec: str, schema: Schema | None) -> Microdata:
    """`apa` or `apa(1000)`: a generator, with a size if wanted."""
    name, _, size = spec.rstrip(")").partition("(")
    if name not in datasets.DATASETS:
        raise PlanError(f"There is no data set {name!r}.{did_you_mean(name, datasets.DATASETS)}")
    make = getattr(datasets, name)
    if size and not size.replace("_", "").isdigit():
        raise PlanError(f"The size in {spec!r} must be a whole number.")
    try:
        data: Microdata = make(int(size)) if size else make()
    except TypeError:
        raise PlanError(f"The data set {name!r} has a fixed size.") from None
    return data if schema is None else with_schema(data, schema)


def plan_data(plan: Plan, engine: str | None = None) -> Microdata:
    """The data of a plan."""
    if plan.data is None:
        raise PlanError('The plan has no [data] section: add source = "file.parquet" and schema = "file.schema.toml".')
    return load(plan.data, plan.folder, engine=engine)


def plan_secret(plan: Plan, file: str | None = None) -> Secret:
    """The secret of a plan; none given: the operating system's entropy, which cannot be replayed."""
    secret = _find_secret(plan, file)
    synthetic = plan.data is not None and plan.data.source.startswith(_DATASET)
    if secret.origin == "demonstration" and not synthetic:
        raise SecretError(
            "The demonstration secret is published with Flou and protects nobody: it is accepted on Flou's own "
            "synthetic data alone. Make your own with `flou secret FILE` and name it under [secrets]."
        )
    return secret


def _find_secret(plan: Plan, file: str | None) -> Secret:
    if file:
        return Secret.from_file(file)
    if os.environ.get("FLOU_SECRET_FILE"):
        return Secret.from_file(os.environ["FLOU_SECRET_FILE"])
    if os.environ.get("FLOU_SECRET"):
        return Secret.from_environment("FLOU_SECRET")
    if plan.secrets is not None and plan.secrets.file:
        return Secret.from_file(plan.folder / plan.secrets.file)
    if plan.secrets is not None and plan.secrets.environment:
        return Secret.from_environment(plan.secrets.environment)
    return Secret.generate()
