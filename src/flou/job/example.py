"""The examples that ship with Flou."""

from __future__ import annotations

from pathlib import Path

import flou
from flou.engine.errors import ParameterError


def example_plan(name: str) -> Path:
    """The plan file of an example: inside the installed package, or in the repository when run from it."""
    package = Path(flou.__file__).parent
    for folder in (package / "examples", package.parents[1] / "examples"):
        plan = folder / name / "plan.toml"
        if plan.is_file():
            return plan
    raise ParameterError(f"There is no example {name!r}.")
