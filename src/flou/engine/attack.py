"""The contract of attacks: what an intruder achieves by doing it, and how right he is.

What is public, what the intruder knows beforehand and what he finds never hold the truth; whoever does scores it. An
attack that guesses is compared with the same attack on people absent from the release (the control) and with a guess
made without it (the baseline): the lift is what the release adds. An attack that deduces gives a proof instead.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from flou.engine import native, registry
from flou.engine.charts import Look
from flou.engine.errors import DataError, LazyInputError
from flou.engine.figure import Figure
from flou.engine.method import Method, measured_on
from flou.engine.owners import Owners
from flou.engine.randomness import Draws
from flou.engine.result import Interval, Result
from flou.engine.risk_figure import SHARE, count_of
from flou.engine.secret import Secret

if TYPE_CHECKING:
    import altair as alt


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


def lift_over(rate: float, reference: float) -> float:
    """How much further above the reference, as a share of what was left to find (Giomi et al. 2023)."""
    return (rate - reference) / (1 - reference) if reference < 1 else 0.0


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class AttackResult(Result):
    """The result of an attack on `data`. A copy that leaves the process takes the figures, not what is internal."""

    data: Any = field(default=None, repr=False)
    native_kind: native.Kind = "polars"
    #: The fields that a copy does not take along.
    internal: ClassVar[tuple[str, ...]] = ("data",)

    def to_frame(self) -> Any:
        """The figures, one a line, in the user's frame type."""
        return native.like(super().to_frame(), self.native_kind)

    def plot(self, language: str = "en", *, min_count: int = 1, top: float | None = None) -> alt.Chart:
        """The result as a chart; classes of fewer than `min_count` are not drawn, `top` ends the axis of shares."""
        return self._draw(Look(language, min_count, top))

    def _draw(self, look: Look) -> alt.Chart:
        raise AttributeError(f"{self.method} has no chart.")

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, **dict.fromkeys(self.internal)}


T = TypeVar("T")


def kept(value: T | None, what: str) -> T:
    """What a result holds in its own process alone."""
    if value is None:
        raise LazyInputError(f"A result that left its process takes no {what} with it: run the attack again.")
    return value


R = TypeVar("R", bound=AttackResult)


@dataclass(frozen=True, eq=False)
class Judge:
    """Who scores an attack: the release with all that it holds, the truth, and people absent from the release."""

    released: Any
    truth: Any = None
    control: Any = None


class Attack(Method):
    """What an intruder finds in a release. A subclass implements `_find` and `_score`.

    `_judge` says which truth is needed, `_public` and `_known` what the intruder goes by.
    """

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
    #: The truth of an attack on tables: the tables as they were made, or the records that they were made of.
    scored_by: ClassVar[Literal["tables", "records"]] = "tables"
    #: Whether it draws, and so needs the secret to be repeated.
    draws: ClassVar[bool] = True

    def run(
        self, release: Any, *, truth: Any = None, control: Any = None, secret: Secret | int | None = None
    ) -> AttackResult:
        """Attack what would be published; `truth` scores it, `control` holds people absent from it."""
        released = self._accept(release)
        with native.engine_errors():
            judge = self._judge(released, truth, control)
            source = Secret.of(secret) if self.draws else None
            draw = None if source is None else Draws.of_attack(source, self.name(), self.fingerprint())
            found = self._find(self._public(released), self._known(judge.truth), draw)
            result = self._score(found, judge, draw)
        return replace(result, test_only=True) if source is not None and source.test_only else result

    def _judge(self, released: Any, truth: Any, control: Any) -> Judge:
        """Who scores it; what does not fit is refused before anything is attacked."""
        return Judge(released, truth, control)

    def _public(self, released: Any) -> Any:
        """What would be published, in the form in which the intruder reads it."""
        return released.public()

    def _known(self, people: Any) -> Any:
        """What the intruder knows beforehand, of each target where there are targets."""
        return None

    def _find(self, public: Any, known: Any, draw: Any) -> Any:
        """What the intruder finds. Never sees the truth."""
        raise NotImplementedError

    def _score(self, found: Any, judge: Judge, draw: Any) -> AttackResult:
        """How right he is, beside the control and the baseline where there are any."""
        raise NotImplementedError

    def _result(self, kind: type[R], judge: Judge, **found: Any) -> R:
        """A result with what every attack says in the same way."""
        data = judge.released
        return kind(
            method=self.name(),
            title=self.title or type(self).__name__,
            settings=self.shown_settings(),
            measured_on=measured_on(data),
            test_only=data.marks.test_only,
            data=data,
            native_kind=data.native_kind,
            **self.described(found),
        )


class GuessingAttack(Attack):
    """Guesses about people, each right or wrong. A subclass implements `_guess`, `_baseline` and `_hits`.

    `_known` says what is known of each target. People of the control are guessed about in the same way.
    """

    def _judge(self, released: Any, truth: Any, control: Any) -> Judge:
        if truth is None:
            raise DataError(
                f"{type(self).__name__} needs truth=, the original data, to say how often the intruder is right."
            )
        return Judge(released, self._accept(truth), None if control is None else self._accept(control))

    def _find(self, public: Any, known: Any, draw: Any) -> tuple[Any, Any, Any]:
        return public, self._guess(public, known, draw), self._baseline(public, known, draw)

    def _score(self, found: tuple[Any, Any, Any], judge: Judge, draw: Any) -> AttackResult:
        owners = Owners(judge.released)
        public, *both = found
        main, naive = (_rate(self._hits(guesses, judge.truth, owners)) for guesses in both)
        figures: dict[str, Any] = {
            "rate": main.value, "n_attempts": main.n_attempts, "n_successes": main.n_successes,
            "baseline": naive.value,
        }  # fmt: skip
        reference = naive
        if judge.control is not None:
            guesses = self._guess(public, self._known(judge.control), draw)
            # nobody in the control owns a published row, whatever number the row bears
            reference = _rate(self._hits(guesses, judge.control, owners.of_strangers()))
            figures["control"] = reference.value
        figures["lift_over"] = "baseline" if judge.control is None else "control"
        figures["lift"] = lift_over(main.value, reference.value)
        return self._result(
            AttackResult,
            judge,
            value=main.value,
            interval=main.interval,
            figures=figures,
        )

    def _guess(self, public: Any, known: Any, draw: Any) -> Any:
        """The guesses, from what is public and what is known."""
        raise NotImplementedError

    def _baseline(self, public: Any, known: Any, draw: Any) -> Any:
        """The naive guesses: as if the release's link to the targets did not exist."""
        raise NotImplementedError

    def _hits(self, guesses: Any, people: Any, owners: Owners) -> NDArray[np.bool_]:
        """Whether each guess about `people` is right; `owners.ids` says whose row each published row is."""
        raise NotImplementedError


def _rate(hits: NDArray[np.bool_]) -> Rate:
    return Rate(int(hits.sum()), len(hits))


class Deduction(Attack):
    """An attack that proves what it finds: it draws nothing, and truth that the release holds only judges it."""

    draws: ClassVar[bool] = False

    def _judge(self, released: Any, truth: Any, control: Any) -> Judge:
        return Judge(released)
