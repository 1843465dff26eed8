"""The names of entries: HMACs of all that what is kept hangs on, so that whatever changes has another name.

This is the one place that makes them. What hangs on something that is not named here would be used although it changed.
"""

from __future__ import annotations

import hmac
from collections.abc import Mapping, Sequence
from importlib.metadata import packages_distributions, version
from typing import Any

import numpy as np
import polars as pl

from flou._version import __version__
from flou.describe.microdata import Microdata
from flou.engine import registry
from flou.engine.content import content_of
from flou.engine.former import FormerRelease
from flou.engine.method import Method
from flou.engine.plan import Plan
from flou.engine.secret import Secret
from flou.engine.table_steps import works_on_tables
from flou.job.store.inputs import files_of_methods, identified, identity

#: Of an HMAC, the digits that stand in a name.
_DIGITS = 40


class Names:
    """The names of what one run of a plan may keep."""

    def __init__(
        self,
        plan: Plan,
        secret: Secret,
        original: Microdata,
        population: Microdata | None,
        former: FormerRelease | None,
    ) -> None:
        self._plan, self._secret, self._key = plan, secret, secret.derive("store", "name")
        release = plan.release
        base: dict[str, Any] = {
            "versions": {"flou": __version__, "polars": pl.__version__, "numpy": np.__version__, **_others()},
            "secret": secret.origin,
            "data": identity(plan.data, original, plan.folder, secret),
            "engine": original.native_kind,
            "release": [release.series, release.period, dict(release.renamed)],
            "former": former,
        }
        self._base = content_of(base)
        self._population = identity(plan.population, population, plan.folder, secret)
        self._n_on_records = sum(not works_on_tables(step) for step in plan.steps)

    def of_step(self, number: int) -> str:
        """The name of where the plan is after so many steps."""
        done = self._plan.steps[:number]
        of_tables = number > self._n_on_records
        return self._named(
            steps=self._methods(done),
            tables=list(self._plan.tables) if of_tables else [],
            record_keys=self._plan.record_keys if of_tables else None,
        )

    def of_result(self, step: str, seal: str, when: str, method: Method | None, more: Mapping[str, Any]) -> str:
        """The name of what was found at a stage of a run: on the data after a step, whose entry has this seal."""
        methods = [] if method is None else self._methods([method])
        found = self._named(
            step=step, seal=seal, when=when, found_by=methods, more=dict(more), against=self._population
        )
        return f"{step}.{found}"

    def _methods(self, methods: Sequence[Method]) -> list[Any]:
        return [list(methods), identified(files_of_methods(methods), self._secret)]

    def _named(self, **hangs_on: Any) -> str:
        content = content_of({"base": self._base, **hangs_on})
        return hmac.digest(self._key, content.encode(), "sha256").hex()[:_DIGITS]


def _others() -> dict[str, str]:
    """The versions of other packages with methods."""
    others = registry.packages() - {"flou"}
    held = packages_distributions() if others else {}
    names = {name for package in others for name in held.get(package, ())}
    return {name: version(name) for name in sorted(names)}
