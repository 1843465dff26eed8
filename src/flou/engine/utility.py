"""The contract of comparisons: what the analyst loses by a release."""

from __future__ import annotations

from typing import Any, ClassVar

from flou.engine import native, registry
from flou.engine.comparison import ComparisonResult
from flou.engine.figure import Figure
from flou.engine.method import Method
from flou.engine.owners import Owners
from flou.engine.result import Result


class Utility(Method):
    """What the analyst loses. A subclass implements `_compare`, which sees the release as published."""

    stage: ClassVar[registry.Stage] = "compare"
    headline: ClassVar[Figure] = Figure("value", "difference")

    def compare(self, original: Any, release: Any) -> Result:
        """Compare a release with the original it was made from."""
        truth, released = self._accept(original), self._accept(release)
        with native.engine_errors():
            return self._compare(truth, released.public(), Owners(released))

    def _compare(self, original: Any, released: Any, owners: Owners) -> Result:
        """The comparison; `owners.ids` says which unit of the original each published row belongs to."""
        raise NotImplementedError

    def _result(self, original: Any, owners: Owners, **found: Any) -> ComparisonResult:
        """A result with what every comparison says in the same way."""
        data = owners.released
        return ComparisonResult(
            method=self.name(),
            title=self.title,
            settings=self.shown_settings(),
            measured_on="release" if data.released else "original",
            test_only=data.marks.test_only,
            no_interval="the two files are compared as they are: nothing is estimated",
            data=data,
            schema=original.schema,
            native_kind=data.native_kind,
            **self.described(found),
        )
