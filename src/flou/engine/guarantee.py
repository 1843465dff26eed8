"""Guarantees: what a protection promises about its output, and the proof that it holds.

A protection states its guarantees; the base class checks them on the output of the step, and a plan
checks them all once more on the final file. One that fails raises, and nothing is released.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from flou.engine.errors import GuaranteeBrokenError
from flou.engine.note import Note


@dataclass(frozen=True)
class Guarantee:
    """A promise, and how to check it on data: the check returns a figure that must be zero.

    The figure counts violations (records, values, columns), so zero always means that it holds.
    """

    promise: Note
    violations: Callable[[object], int]
    #: Whether it is proven on the file from which a later step drew a sample.
    on_frame: bool = False
    #: Whether it is proven on the records that tables were made of.
    on_records: bool = False
    #: What works where its step and another one undo each other in either order.
    remedy: str = ""

    def of_frame(self) -> Guarantee:
        """The same promise once a sample was drawn: it holds in the file that it was drawn from.

        Nobody knows who is in the sample, so a class of that file protects as it did; in the sample alone
        it may be smaller.
        """

        def violations(data: Any) -> int:
            # data of an earlier step are themselves what a sample is drawn from
            return self.violations(data if data.kin.frame is None else data.kin.frame)

        return replace(self, violations=violations, on_frame=True)

    def for_the_office(self) -> Guarantee:
        """The same promise, of which the public reads nothing."""
        return replace(self, promise=replace(self.promise, internal=True))

    def of_records(self) -> Guarantee:
        """The same promise once tables were made: it holds of the records behind them."""
        return Guarantee(
            self.promise,
            lambda data: self.violations(data.kin.records),  # type: ignore[attr-defined]
            on_frame=self.on_frame,
            on_records=True,
        )

    def prove(self, data: object, step: int = 0) -> Proof:
        """Check on data what a step promised; raises when it does not hold."""
        n = self.violations(data)
        if n:
            raise GuaranteeBrokenError(
                f"The promise «{self.promise}» does not hold on the output: {n:,} violations. Nothing is released."
            )
        return Proof(promise=self.promise, guarantee=self, step=step)


@dataclass(frozen=True)
class Proof:
    """A guarantee that was checked on the output and holds."""

    promise: Note
    guarantee: Guarantee
    #: The number of the step that promised it.
    step: int = 0

    def __str__(self) -> str:
        where = "the file that the sample was drawn from" if self.guarantee.on_frame else "the output"
        if self.guarantee.on_records and not self.guarantee.on_frame:
            where = "the records behind the tables"
        return f"{self.promise} (checked on {where})"
