"""A privacy budget: what may be lost about the records of one file over all releases, and a ledger of what was spent.

    budget = flou.PrivacyBudget(epsilon=1.0, path="budget.toml", secret=secret)
    flou.protect.NoisyCounts(epsilon=0.4, budget=budget).protect(tables)
    budget.left                                        # (0.6, 0.0)

Losses of releases of the same records add up (basic composition; Dwork, McSherry, Nissim and Smith 2006), so that many
releases that are harmless one by one are not so together. What is spent is written down, whole or not at all, before
anything is drawn; a release that would need more than is left is refused, and nothing is drawn for it. A ledger whose
entries were changed or taken away is refused (`privacy_ledger`). It counts what is spent through it alone: it does not
know of releases made without it, nor whether two files are about the same people.
"""

from __future__ import annotations

import os
import threading
from contextlib import nullcontext
from datetime import UTC, datetime
from fractions import Fraction
from os import PathLike
from typing import NoReturn, Self

from flou.engine.errors import BudgetError, ParameterError
from flou.engine.output import checked_path
from flou.engine.secret import Secret
from flou.protect.table.privacy_ledger import Account, Ledger, Spending, checked_loss

#: Under the office's secret, what ledgers are signed with.
PURPOSE = "privacy ledger"


class PrivacyBudget:
    """What may be lost in all, with a ledger in memory or in a file that many sessions share.

    A file needs the office's `secret`, under which its entries are chained.
    """

    def __init__(
        self,
        epsilon: float,
        delta: float = 0.0,
        path: str | PathLike[str] | None = None,
        *,
        secret: Secret | int | None = None,
    ) -> None:
        self._epsilon, self._delta = checked_loss(epsilon, delta, ParameterError)
        self._begin(path, None if path is None else _key(secret))
        if self._ledger is None:
            return
        if not self._ledger.path.exists():
            self._ledger.begin(self._epsilon, self._delta)
        found = self._ledger.read()
        if (found.epsilon, found.delta) != (self._epsilon, self._delta):
            raise BudgetError(
                f"The ledger {str(path)!r} is of a budget of epsilon = {found.epsilon:g} and delta = {found.delta:g}, "
                f"not of {self._epsilon:g} and {self._delta:g}. What may be lost is decided once: open it as it is, "
                "flou.PrivacyBudget.read(path, secret=…), or begin another ledger for other records."
            )

    @classmethod
    def read(cls, path: str | PathLike[str], *, secret: Secret | int | None = None) -> PrivacyBudget:
        """The budget of a ledger that is there already."""
        return cls.with_key(path, _key(secret))

    @classmethod
    def with_key(cls, path: str | PathLike[str], key: bytes) -> PrivacyBudget:
        """The same, by the key that a plan derives from its secret."""
        found = Ledger(checked_path(path, "A privacy budget", BudgetError), key).read()
        made = cls.__new__(cls)
        made._epsilon, made._delta = found.epsilon, found.delta
        made._begin(path, key)
        return made

    def _begin(self, path: str | PathLike[str] | None, key: bytes | None) -> None:
        self._given = path
        self._ledger = None
        if path is not None and key is not None:
            self._ledger = Ledger(checked_path(path, "A privacy budget"), key)
        self._spent: tuple[Spending, ...] = ()
        self._lock, self._owner = threading.Lock(), os.getpid()

    @property
    def epsilon(self) -> float:
        """What may be lost in all."""
        return self._epsilon

    @property
    def delta(self) -> float:
        """The chance with which more than epsilon may be lost."""
        return self._delta

    @property
    def path(self) -> str | None:
        """The ledger's file as it was given; None where it is in memory alone."""
        return None if self._given is None else os.fspath(self._given)

    @property
    def ledger(self) -> tuple[Spending, ...]:
        """What was spent, oldest first; read anew from the file."""
        return self._account().entries

    @property
    def spent(self) -> tuple[float, float]:
        """Epsilon and delta that are gone."""
        epsilon, delta = _total(self.ledger)
        return float(epsilon), float(delta)

    @property
    def left(self) -> tuple[float, float]:
        """Epsilon and delta that may still be spent."""
        epsilon, delta = self._left(self.ledger)
        return float(epsilon), float(delta)

    def spend(self, epsilon: float, delta: float, what: str) -> None:
        """Write a spending down, or raise if it is more than what is left."""
        epsilon, delta = checked_loss(epsilon, delta, ParameterError)
        with self._lock, nullcontext() if self._ledger is None else self._ledger.held():
            account = self._account()
            left = self._left(account.entries)
            if _exact(epsilon) > left[0] or _exact(delta) > left[1]:
                raise BudgetError(
                    f"The privacy budget has epsilon = {float(left[0]):g} and delta = {float(left[1]):g} left of "
                    f"{self._epsilon:g} and {self._delta:g}; epsilon = {epsilon:g} and delta = {delta:g} were asked "
                    "for. Nothing was drawn. Ask for less, publish fewer tables, or use what is published already."
                )
            entry = Spending(epsilon, delta, what, datetime.now(UTC).isoformat(timespec="seconds"))
            if self._ledger is not None:
                self._ledger.append(account, entry)
            else:
                self._spent = (*self._spent, entry)

    def _account(self) -> Account:
        """What was spent, and of what."""
        if self._ledger is None:
            if os.getpid() != self._owner:
                raise BudgetError(
                    "This privacy budget is in the memory of another process, which may spend it as well. Keep the "
                    "ledger in a file that both read: flou.PrivacyBudget(epsilon=…, path=…, secret=…)."
                )
            return Account(self._epsilon, self._delta, self._spent, "")
        found = self._ledger.read()
        if (found.epsilon, found.delta) != (self._epsilon, self._delta):
            raise BudgetError(f"The ledger {self._ledger.path.name!r} is of another budget than when it was opened.")
        return found

    def _left(self, entries: tuple[Spending, ...]) -> tuple[Fraction, Fraction]:
        epsilon, delta = _total(entries)
        return _exact(self._epsilon) - epsilon, _exact(self._delta) - delta

    def __copy__(self) -> Self:
        """Itself: two copies would each spend what is left."""
        return self

    def __deepcopy__(self, memo: object) -> Self:
        return self

    def __reduce__(self) -> NoReturn:
        raise BudgetError(
            "A privacy budget is not pickled: two copies would each spend what is left. Give the other process the "
            "ledger's path and secret."
        )

    def __repr__(self) -> str:
        left = self.left
        of = f"of epsilon = {self._epsilon:g} and delta = {self._delta:g}"
        return f"<PrivacyBudget: epsilon = {left[0]:g} and delta = {left[1]:g} left {of}>"


def _key(secret: Secret | int | None) -> bytes:
    """The key of the chain: under a secret that lasts, else nobody could read the ledger again."""
    if secret is None or not (held := Secret.of(secret)).replayable:
        raise ParameterError(
            "A ledger in a file is chained under a secret that lasts, so that nobody else can change it. Give "
            'secret=flou.Secret.from_file("office.secret"), made once with `flou secret FILE`.'
        )
    return held.derive(PURPOSE)


def _exact(value: float) -> Fraction:
    """The number as it is written: ten times 0.1 are 1."""
    return Fraction(repr(value))


def _total(entries: tuple[Spending, ...]) -> tuple[Fraction, Fraction]:
    return sum((_exact(e.epsilon) for e in entries), Fraction()), sum((_exact(e.delta) for e in entries), Fraction())
