"""What a plan reads: the files, and what they are by content, so that a change of any of them is seen."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from flou.describe.microdata import Microdata
from flou.describe.sources import database
from flou.describe.sources.scan import locate
from flou.engine.errors import FlouError
from flou.engine.method import Method
from flou.engine.native.source import Source
from flou.engine.places import located
from flou.engine.plan import DataSource, Plan
from flou.engine.secret import Secret

_DATASET = "dataset:"


def files_of(source: DataSource | None, folder: Path) -> list[Path]:
    """The files of a source and of its schema; a database and Flou's own data sets have none."""
    if source is None:
        return []
    schema = [folder / source.schema] if source.schema is not None else []
    if database.is_database(source.source) or source.source.startswith(_DATASET):
        return schema
    return [*locate(folder / source.source)[1], *schema]


def files_of_methods(methods: Iterable[Method]) -> list[Path]:
    """The files that parameters of methods name, as far as they are there."""
    named = [getattr(method, parameter) for method in methods for parameter in method.reads]
    return [path for path in (located(name) for name in named if isinstance(name, str)) if path.is_file()]


def seen(plan: Plan) -> Mapping[str, Any]:
    """When the files of the data were last written, and how large they are; empty where they cannot be read."""
    try:
        files = [*files_of(plan.data, plan.folder), *files_of(plan.population, plan.folder)]
        return Source.of(files).stamps
    except (FlouError, OSError, ValueError):
        return {}


def identified(files: Iterable[Path], secret: Secret) -> list[str]:
    """Files by their content, which nobody without the secret can guess."""
    return [secret.identify(file) for file in files]


def identity(source: DataSource | None, data: Microdata | None, folder: Path, secret: Secret) -> Mapping[str, Any]:
    """What a source is: its words in the plan, its files, and what its schema says; of a database the rows."""
    if source is None or data is None:
        return {}
    rows = data.content_id if database.is_database(source.source) else ""
    return {
        "words": asdict(source),
        "files": identified(files_of(source, folder), secret),
        "schema": data.schema,
        "rows": rows,
    }
