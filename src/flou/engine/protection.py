"""The contract of protections: what changes the data, and what they promise of the output."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from flou.engine import registry
from flou.engine.method import Method
from flou.engine.randomness import Draws
from flou.engine.release import Outcome, Release
from flou.engine.secret import Secret
from flou.engine.series import Series

#: What a protection may claim to keep: every record; each column that it does not name; of each column that it
#: does name the values with their counts (`marginal`) or the mean, exactly or on average over secrets.
Claim = Literal["records", "untouched columns", "marginal", "mean", "expected marginal", "expected mean"]


class Protection(Method):
    """What changes the data. A subclass implements `_protect` and states its guarantees."""

    stage: ClassVar[registry.Stage] = "protect"
    #: What it claims to keep unchanged; contract tests check each claim on every release.
    preserves: ClassVar[tuple[Claim, ...]] = ()

    @property
    def claims(self) -> tuple[Claim, ...]:
        """What it keeps with these parameters."""
        return self.preserves

    #: Whether released values can be other than the true ones, and not only coarser or gone; None if it does not say.
    perturbative: ClassVar[bool | None] = None
    #: Whether it chooses by the file itself what keys show, so that another file cannot follow.
    chooses_keys: ClassVar[bool] = False

    #: Whether it draws noise on each value of its columns by itself: two noises of one column could be combined.
    noises: ClassVar[bool] = False

    @property
    def touches(self) -> tuple[str, ...]:
        """The columns that its parameters name to be changed."""
        named = (getattr(self, "column", None), *getattr(self, "columns", ()))
        return tuple(name for name in named if name)

    @property
    def recodes(self) -> str | None:
        """The column that it maps value by value, in the same way in any file; None where it does not."""
        return None

    def protect(
        self, data: Any, *, secret: Secret | int | None = None, series: str = "", period: str | None = None
    ) -> Release:
        """Protect microdata (or go on from a release): a plan of one step.

        `series` and `period` say which release of which series it is: noise hangs on the one, samples on both.
        """
        from flou.engine.steps import carry_out

        return carry_out((self,), data, Secret.of(secret), Series(series, period))

    def _protect(self, data: Any, draw: Draws) -> Outcome:
        """The protected data, what changed, and what is promised about them."""
        raise NotImplementedError
