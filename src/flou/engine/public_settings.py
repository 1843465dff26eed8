"""The parameters of a method as everybody may read them.

Secret parameters are masked wherever a method is shown. The public is not told either what the office keeps to itself
(sampling fractions, the parameters of rules on sensitive cells), what mappings and lists say of single values, nor the
names of columns that are not published.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from flou.engine import registry
from flou.engine.method import Method
from flou.engine.parameters import HIDDEN, is_internal, is_secret

#: What stands for a mapping: it lists values of the original.
_MAPPING = "…"


@dataclass(frozen=True)
class PublicSettings:
    """Masks parameters. `rules` shows those of rules on sensitive cells; `closed` says which columns have no name."""

    rules: bool = False
    closed: Callable[[str], bool] = lambda name: False

    def of(self, method: str, settings: Mapping[str, Any]) -> dict[str, Any]:
        """The parameters of a method that is known by its name."""
        found = _found(method)
        return {name: HIDDEN if self._is_kept(found, name) else self._masked(held) for name, held in settings.items()}

    def _is_kept(self, method: type[Method] | None, name: str) -> bool:
        if method is None or not registry.speaks_publicly(method):  # nothing is known of it, or it is for the office
            return True
        by_policy = method.parameter_audience == "policy" and not self.rules
        return by_policy or is_secret(method, name) or is_internal(method, name)

    def _masked(self, held: Any) -> Any:
        """A parameter without the mappings in it, however deep; a method in it keeps its name."""
        if isinstance(held, Mapping):
            if "method" not in held:
                return _MAPPING if held else held
            inner = {name: value for name, value in held.items() if name != "method"}
            return {"method": held["method"], **self.of(str(held["method"]), inner)}
        if isinstance(held, list | tuple):
            return [self._masked(one) for one in held]
        return HIDDEN if isinstance(held, str) and self.closed(held) else held


def _found(method: str) -> type[Method] | None:
    stage = next((stage for stage in registry.STAGES if method in registry.names(stage)), None)
    return None if stage is None else registry.find(stage, method)
