"""Where methods are found by name, without loading any of them before it is used.

Each stage's package lists its methods in `METHODS`, class name → module. Other distributions add
theirs by the entry-point group `flou.methods`, named `stage.ClassName`.
"""

from __future__ import annotations

import importlib
import re
from functools import cache
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Literal

from flou.engine.errors import PlanError, did_you_mean

if TYPE_CHECKING:
    from flou.engine.method import Method

#: A plan's section, and the package whose methods may stand in it.
Stage = Literal["measure", "protect", "attack", "compare"]
STAGES: dict[Stage, str] = {
    "measure": "flou.risk",
    "protect": "flou.protect",
    "attack": "flou.attack",
    "compare": "flou.utility",
}


def method_name(class_name: str) -> str:
    """`KAnonymity` → `k_anonymity`: the name in plan files and on the command line."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", class_name).lower()


@cache
def _listed(stage: Stage) -> dict[str, str]:
    """Method name → 'module:Class' for one stage, our own and third parties'."""
    package = importlib.import_module(STAGES[stage])
    found = {method_name(c): f"{module}:{c}" for c, module in package.METHODS.items()}
    for point in entry_points(group="flou.methods"):
        point_stage, _, class_name = point.name.partition(".")
        name = method_name(class_name)
        if point_stage == stage and found.setdefault(name, point.value) != point.value:
            raise PlanError(f"Two distributions offer a {stage} method named {name!r}: {found[name]}, {point.value}.")
    return found


def names(stage: Stage) -> list[str]:
    """The methods of a stage, in alphabetical order."""
    return sorted(_listed(stage))


def find(stage: Stage, name: str) -> type[Method]:
    """The class of a method by its name; an unknown name suggests the nearest."""
    known = _listed(stage)
    if name not in known:
        elsewhere = [s for s in STAGES if s != stage and name in _listed(s)]
        hint = f" It belongs under [[{elsewhere[0]}]]." if elsewhere else did_you_mean(name, known)
        raise PlanError(f"There is no {stage} method named {name!r}.{hint}")
    module, _, class_name = known[name].partition(":")
    found: type[Method] = getattr(importlib.import_module(module), class_name)
    return found


def packages() -> frozenset[str]:
    """Flou, and the packages that have methods for it."""
    return frozenset(place.partition(":")[0].partition(".")[0] for stage in STAGES for place in _listed(stage).values())


def speaks_publicly(method: type) -> bool:
    """Whether a class says of itself that the public may read of it; what it inherits says nothing of its own."""
    return vars(method).get("audience") == "public"


def is_public(name: str) -> bool:
    """Whether the public may read of a method that is known by its name; of one that is not registered it may not."""
    found = [find(stage, name) for stage in STAGES if name in _listed(stage)]
    return bool(found) and all(map(speaks_publicly, found))


def every() -> list[type[Method]]:
    """All registered methods, stage by stage."""
    return [find(stage, name) for stage in STAGES for name in names(stage)]
