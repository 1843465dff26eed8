"""Names loaded on first use (PEP 562), so that importing a package loads nothing heavy."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping


def attach(package: str, names: Mapping[str, str]) -> tuple[Callable[[str], object], Callable[[], list[str]]]:
    """`__getattr__` and `__dir__` for a package whose public names live in other modules.

    A name maps to its module; a name that maps to itself as a module is the module.
    """

    def load(name: str) -> object:
        if name not in names:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module = importlib.import_module(names[name])
        return module if names[name].rpartition(".")[2] == name else getattr(module, name)

    def listing() -> list[str]:
        return sorted(names)

    return load, listing
