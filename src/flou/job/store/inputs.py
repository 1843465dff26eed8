"""What a plan reads: the files, and what they are by content, so that a change of any of them is seen."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from flou.describe.microdata import Microdata
from flou.describe.sources import database
from flou.engine.method import Method
from flou.engine.places import located
from flou.engine.plan import DataSource, Plan
from flou.engine.secret import Secret

_DATASET = "dataset:"


def files_of(source: DataSource | None, folder: Path) -> list[Path]:
    """The files of a source and of its schema; a database and Flou's own data sets have none."""
    if source is None:
        return []
    named = [] if database.is_database(source.source) or source.source.startswith(_DATASET) else [source.source]
    return [file for name in (*named, source.schema) if name for file in _files(folder / name)]


def _files(path: Path) -> list[Path]:
    if path.is_file():
        return [path]
    found = path.rglob("*") if path.is_dir() else path.parent.glob(path.name) if path.parent.is_dir() else ()
    return sorted(file for file in found if file.is_file())


def files_of_methods(methods: Iterable[Method]) -> list[Path]:
    """The files that parameters of methods name."""
    named = [getattr(method, parameter) for method in methods for parameter in method.reads]
    return [file for name in named if isinstance(name, str) for file in _files(located(name))]


def seen(plan: Plan) -> dict[str, Any]:
    """When the files of the data were last written, and how large they are, as far as one sees."""
    files = [*files_of(plan.data, plan.folder), *files_of(plan.population, plan.folder)]
    return {str(file): (held.st_ino, held.st_size, held.st_mtime_ns) for file in files for held in (file.stat(),)}


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
