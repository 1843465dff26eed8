"""The contract of attacks: what an intruder achieves by doing it, against a control and a baseline.

The intruder's side (`_guess`) never receives the truth. The same attack is run on people who are not
in the release (the control): what it finds there is what anybody could infer about anybody. The
naive baseline guesses without the release. The lift is what the release adds.

Some attacks guess nothing: what they find follows from what is published, and is a proof. These are deductions, which
have no rate, no control and no baseline.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from flou.engine import native, registry
from flou.engine.errors import DataError
from flou.engine.figure import Figure, FigureValue
from flou.engine.method import Method
from flou.engine.owners import Owners
from flou.engine.randomness import Draws
from flou.engine.result import Interval, Result
from flou.engine.risk_figure import SHARE, count_of
from flou.engine.secret import Secret


@dataclass(frozen=True)
class Rate:
    """Successes among attempts, with Wilson's interval."""

    n_successes: int
    n_attempts: int

    @property
    def value(self) -> float:
        return self.n_successes / self.n_attempts if self.n_attempts else 0.0

    @property
    def interval(self) -> Interval:
        return wilson(self.n_successes, self.n_attempts)


def wilson(successes: float, attempts: int, z: float = 1.959963984540054) -> Interval:
    """Wilson's score interval (1927), which stays inside [0, 1] also for small numbers."""
    if attempts == 0:
        return Interval(0.0, 1.0)
    p = successes / attempts
    centre = (p + z * z / (2 * attempts)) / (1 + z * z / attempts)
    half = z * math.sqrt(p * (1 - p) / attempts + z * z / (4 * attempts**2)) / (1 + z * z / attempts)
    return Interval(max(0.0, centre - half), min(1.0, centre + half))


class Attack(Method):
    """A subclass implements `_known`, `_guess`, `_score` and `_baseline`."""

    stage: ClassVar[registry.Stage] = "attack"
    headline: ClassVar[Figure] = Figure("value", "share of people about whom the intruder is right", "share", SHARE)
    figures: ClassVar[tuple[Figure, ...]] = (
        Figure("rate", "share of people about whom the intruder is right", "share", SHARE),
        Figure("n_attempts", "people who were tried", "count"),
        Figure("n_successes", "people about whom he is right", "count", count_of("n_attempts")),
        Figure("baseline", "share right without the release", "share"),
        Figure("control", "share right about people who are not in it", "share"),
        Figure("lift_over", "what the lift is over", "text"),
        Figure("lift", "how much further, as a share of what was left to find", "share", "low"),
    )
    #: What an attack on tables is scored by: the tables as they were made, or the records that they were made of.
    scored_by: ClassVar[Literal["tables", "records"]] = "tables"

    def run(
        self,
        release: Any,
        *,
        truth: Any = None,
        control: Any = None,
        secret: Secret | int | None = None,
    ) -> Result:
        """Attack what would be published; `truth` scores it, `control` holds people absent from it."""
        if truth is None:
            raise DataError(
                f"{type(self).__name__} needs truth=, the original data, to say how often the intruder is right."
            )
        source = Secret.of(secret)
        draw = Draws.of_attack(source, self.name(), self.fingerprint())
        released = self._accept(release)
        published, owners = released.public(), Owners(released)
        people = self._accept(truth)
        main = self._attempt(published, people, owners, draw)
        guesses = self._baseline(published, self._known(people), draw)
        naive = _rate(self._score(guesses, people, owners))
        figures: dict[str, FigureValue] = {
            "rate": main.value, "n_attempts": main.n_attempts, "n_successes": main.n_successes,
            "baseline": naive.value,
        }  # fmt: skip
        reference = naive
        if control is not None:
            # nobody in the control owns a published row, whatever number the row bears
            reference = self._attempt(published, self._accept(control), owners.of_strangers(), draw)
            figures["control"] = reference.value
        figures["lift_over"] = "baseline" if control is None else "control"
        figures["lift"] = lift_over(main.value, reference.value)
        return Result(
            method=self.name(),
            title=self.title or type(self).__name__,
            settings=self.shown_settings(),
            **self.described({"value": main.value, "figures": figures}),
            interval=main.interval,
            measured_on="release",
            test_only=source.test_only or published.marks.test_only,
        )

    def _attempt(self, published: Any, people: Any, owners: Owners, draw: Draws) -> Rate:
        return _rate(self._score(self._guess(published, self._known(people), draw), people, owners))

    def _known(self, people: Any) -> Any:
        """What the intruder knows about each target beforehand."""
        raise NotImplementedError

    def _guess(self, released: Any, known: Any, draw: Draws) -> Any:
        """One guess a target, from the release and what is known. Never sees the truth."""
        raise NotImplementedError

    def _baseline(self, released: Any, known: Any, draw: Draws) -> Any:
        """The naive guess: as if the release's link to the targets did not exist."""
        raise NotImplementedError

    def _score(self, guesses: Any, people: Any, owners: Owners) -> NDArray[np.bool_]:
        """Whether each guess about `people` is right; `owners.ids` says whose row each published row is."""
        raise NotImplementedError


class Deduction(Attack):
    """An attack that proves what it finds: it draws nothing and guesses nothing. A subclass implements `_find`."""

    def run(
        self,
        release: Any,
        *,
        truth: Any = None,
        control: Any = None,
        secret: Secret | int | None = None,
    ) -> Result:
        """Deduce from what would be published; the other arguments are those of all attacks, and change nothing."""
        released = self._accept(release)
        with native.engine_errors():
            return self._find(released)

    def _find(self, released: Any) -> Result:
        """What follows from what is published of the release; true figures, where it holds them, only judge it."""
        raise NotImplementedError


def _rate(hits: NDArray[np.bool_]) -> Rate:
    return Rate(int(hits.sum()), len(hits))


def lift_over(rate: float, reference: float) -> float:
    """How much further above the reference, as a share of what was left to find (Giomi et al. 2023)."""
    return (rate - reference) / (1 - reference) if reference < 1 else 0.0
