"""Guarantees: what a protection promises about its output, and the proof that it holds.

A protection states its guarantees; the base class checks them on the output of the step, and a plan
checks them all once more on the final file. One that fails raises, and nothing is released.

A guarantee is data: a class says what is counted, its fields what it is counted with. So a release can be kept
and its guarantees proven again later (`flou.engine.stored`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from string import Formatter
from typing import Any, ClassVar, NoReturn

from flou.engine import registry
from flou.engine.errors import DataError, GuaranteeBrokenError
from flou.engine.note import Note


@dataclass(frozen=True, eq=False)
class Guarantee(ABC):
    """A promise, and how to count its violations: none means that it holds.

    A subclass is a frozen dataclass whose fields are plain values, notes, arrays, frames, methods, data or dataclasses
    of these. What fields know of the original is not shown: `field(repr=False)`.
    """

    #: The promise in English; names between braces are those of fields or properties.
    text: ClassVar[str] = ""

    #: How many samples were drawn since: it holds in the file that the first of them was drawn from.
    n_samples: int = field(default=0, kw_only=True)
    #: Whether it is proven on the records that tables were made of.
    on_records: bool = field(default=False, kw_only=True)
    #: Whether the public reads nothing of it.
    internal: bool = field(default=False, kw_only=True)
    #: What works where its step and another one undo each other in either order.
    remedy: str = field(default="", kw_only=True)

    @classmethod
    def name(cls) -> str:
        """What it is called in files: `FlagsNobody` → `flags_nobody`."""
        return registry.method_name(cls.__name__)

    @property
    def promise(self) -> Note:
        """What is promised, in words."""
        names = [name for _, name, _, _ in Formatter().parse(self.text) if name]
        return Note(self.text, {name: _as_said(getattr(self, name)) for name in names})

    @abstractmethod
    def violations(self, data: Any) -> int:
        """How many records, values, cells or columns of these data break the promise."""

    def count_violations(self, data: Any) -> int:
        """Violations on a release: on what was sampled, or on the records behind tables, where it holds there."""
        held = data.kin.records if self.on_records else data
        for _ in range(self.n_samples):
            # data of an earlier step are themselves what a sample is drawn from
            held = held if held.kin.frame is None else held.kin.frame
        return self.violations(held)

    @property
    def on_frame(self) -> bool:
        """Whether it is proven on the file from which a later step drew a sample."""
        return self.n_samples > 0

    def of_frame(self) -> Guarantee:
        """The same promise once a sample was drawn: it holds in the file that it was drawn from.

        Nobody knows who is in the sample, so a class of that file protects as it did; in the sample alone
        it may be smaller.
        """
        return replace(self, n_samples=self.n_samples + 1)

    def of_records(self) -> Guarantee:
        """The same promise once tables were made: it holds of the records behind them."""
        return replace(self, on_records=True)

    def for_the_office(self) -> Guarantee:
        """The same promise, of which the public reads nothing."""
        return replace(self, internal=True)

    def prove(self, data: object, step: int = 0) -> Proof:
        """Check on data what a step promised; raises when it does not hold."""
        n, promise = self.count_violations(data), self.promise
        if n:
            raise GuaranteeBrokenError(
                f"The promise «{promise}» does not hold on the output: {n:,} violations. Nothing is released."
            )
        return Proof(replace(promise, internal=True) if self.internal else promise, self, step)

    def __reduce__(self) -> NoReturn:
        raise DataError(
            "A guarantee may hold values of the original, so it is not pickled: flou.engine.stored writes it, for the "
            "office."
        )


def _as_said(value: object) -> object:
    return ", ".join(value) if isinstance(value, tuple) else value


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
