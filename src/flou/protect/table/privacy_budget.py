"""A privacy budget: what may be lost about the records of one file over all releases, and a ledger of what was spent.

    budget = flou.PrivacyBudget(epsilon=1.0, path="budget.toml")
    flou.protect.NoisyCounts(epsilon=0.4, budget=budget).protect(tables)
    budget.left                                        # (0.6, 0.0)

Losses of releases of the same records add up (basic composition; Dwork, McSherry, Nissim and Smith 2006), so that many
releases that are harmless one by one are not so together. What is spent is written down, whole or not at all, before
anything is drawn; a release that would need more than is left is refused, and nothing is drawn for it. A ledger that
contradicts itself is refused too. It counts what is spent through it alone: it does not know of releases made without
it, nor whether two files are about the same people.
"""

from __future__ import annotations

import hashlib
import json
import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from fractions import Fraction
from math import isfinite
from os import PathLike
from pathlib import Path
from typing import Any

from flou.engine import toml
from flou.engine.errors import BudgetError, OutputError, ParameterError, PlanError
from flou.engine.output import checked_path, written_whole

_KIND = "privacy budget"
#: Seconds to wait for another process that spends from the same ledger.
_PATIENCE = 10.0


@dataclass(frozen=True)
class Spending:
    """One release that was paid for."""

    epsilon: float
    delta: float
    what: str
    on: str


class PrivacyBudget:
    """What may be lost in all, with a ledger in memory or in a file that many sessions share."""

    def __init__(self, epsilon: float, delta: float = 0.0, path: str | PathLike[str] | None = None) -> None:
        self._epsilon, self._delta = checked_loss(epsilon, delta, ParameterError)
        self._given = None if path is None else path
        self._path = None if path is None else checked_path(path, "A privacy budget")
        self._spent: tuple[Spending, ...] = ()
        self._lock = threading.Lock()
        if self._path is None:
            return
        if not self._path.exists():
            self._save(())
            return
        found = _read(self._path)
        if found[:2] != (self._epsilon, self._delta):
            raise BudgetError(
                f"The ledger {str(path)!r} is of a budget of epsilon = {found[0]:g} and delta = {found[1]:g}, not of "
                f"{self._epsilon:g} and {self._delta:g}. What may be lost is decided once: open it as it is, "
                "flou.PrivacyBudget.read(path), or begin another ledger for other records."
            )
        self._spent = found[2]

    @classmethod
    def read(cls, path: str | PathLike[str]) -> PrivacyBudget:
        """The budget of a ledger that is there already."""
        epsilon, delta, _ = _read(checked_path(path, "A privacy budget", BudgetError))
        return cls(epsilon, delta, path)

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
        return self._spent if self._path is None else _read(self._path)[2]

    @property
    def spent(self) -> tuple[float, float]:
        """Epsilon and delta that are gone."""
        epsilon, delta = _total(self.ledger)
        return float(epsilon), float(delta)

    @property
    def left(self) -> tuple[float, float]:
        """Epsilon and delta that may still be spent."""
        epsilon, delta = _total(self.ledger)
        return float(_exact(self._epsilon) - epsilon), float(_exact(self._delta) - delta)

    def spend(self, epsilon: float, delta: float, what: str) -> None:
        """Write a spending down, or raise if it is more than what is left."""
        epsilon, delta = checked_loss(epsilon, delta, ParameterError)
        with self._lock, _held(self._path):
            entries = self.ledger
            gone = _total(entries)
            left = _exact(self._epsilon) - gone[0], _exact(self._delta) - gone[1]
            if _exact(epsilon) > left[0] or _exact(delta) > left[1]:
                raise BudgetError(
                    f"The privacy budget has epsilon = {float(left[0]):g} and delta = {float(left[1]):g} left of "
                    f"{self._epsilon:g} and {self._delta:g}; epsilon = {epsilon:g} and delta = {delta:g} were asked "
                    "for. Nothing was drawn. Ask for less, publish fewer tables, or use what is published already."
                )
            entry = Spending(epsilon, delta, what, datetime.now(UTC).isoformat(timespec="seconds"))
            if self._path is not None:
                self._save((*entries, entry))
            self._spent = (*entries, entry)

    def _save(self, entries: tuple[Spending, ...]) -> None:
        assert self._path is not None
        held: dict[str, Any] = {"kind": _KIND, "epsilon": self._epsilon, "delta": self._delta}
        if entries:
            held["check"] = _check(self._epsilon, self._delta, entries)
            held["spent"] = [asdict(entry) for entry in entries]
        with written_whole(self._path, overwrite=bool(entries)) as file:
            file.write(toml.write(held).encode())
            file.flush()
            os.fsync(file.fileno())  # on the disk before anything is drawn

    def __repr__(self) -> str:
        left = self.left
        of = f"of epsilon = {self._epsilon:g} and delta = {self._delta:g}"
        return f"<PrivacyBudget: epsilon = {left[0]:g} and delta = {left[1]:g} left {of}>"


def checked_loss(epsilon: object, delta: object, failure: type[Exception]) -> tuple[float, float]:
    """Epsilon above 0 and delta from 0 to below 1, as floats."""
    for name, value in (("epsilon", epsilon), ("delta", delta)):
        if isinstance(value, bool) or not isinstance(value, int | float) or not isfinite(value):
            raise failure(f"{name} = {value!r} must be a number.")
    assert isinstance(epsilon, int | float) and isinstance(delta, int | float)  # noqa: PT018
    if epsilon <= 0:
        raise failure(f"epsilon = {epsilon!r} must be above 0, such as 1.0.")
    if not 0 <= delta < 1:
        raise failure(f"delta = {delta!r} must be from 0 to below 1, such as 1e-6.")
    return float(epsilon), float(delta)


def _exact(value: float) -> Fraction:
    """The number as it is written: ten times 0.1 are 1."""
    return Fraction(repr(value))


def _total(entries: tuple[Spending, ...]) -> tuple[Fraction, Fraction]:
    return sum((_exact(e.epsilon) for e in entries), Fraction()), sum((_exact(e.delta) for e in entries), Fraction())


def _check(epsilon: float, delta: float, entries: tuple[Spending, ...]) -> str:
    """A word that changes with every entry, so that lines that were lost or changed are noticed."""
    text = json.dumps([epsilon, delta, *(asdict(entry) for entry in entries)], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def _read(path: Path) -> tuple[float, float, tuple[Spending, ...]]:
    """Epsilon, delta and entries of a ledger; one that is damaged, or something else, is refused."""
    try:
        held = toml.read(path, "privacy budget")
    except PlanError as error:
        raise BudgetError(
            f"{error} Nothing is drawn without it. Begin a ledger with flou.PrivacyBudget(epsilon=…, path=…)."
        ) from None
    where = f"The file {path.name!r}"
    if held.get("kind") != _KIND or set(held) - {"kind", "epsilon", "delta", "check", "spent"}:
        raise BudgetError(f'{where} is no ledger of a privacy budget: it needs kind = "{_KIND}", epsilon and delta.')
    epsilon, delta = checked_loss(held.get("epsilon"), held.get("delta", 0.0), BudgetError)
    lines = held.get("spent", [])
    fields = {"epsilon", "delta", "what", "on"}
    if not isinstance(lines, list) or not all(isinstance(line, dict) and set(line) == fields for line in lines):
        raise BudgetError(f"{where} is damaged: each [[spent]] has epsilon, delta, what and on. Restore it.")
    entries = []
    for line in lines:
        lost = checked_loss(line["epsilon"], line["delta"], BudgetError)
        entries.append(Spending(*lost, str(line["what"]), str(line["on"])))
    found = tuple(entries)
    if held.get("check", "") != (_check(epsilon, delta, found) if found else ""):
        raise BudgetError(
            f"{where} is damaged: its lines are not those that were written, so that nobody knows what is left. "
            "Restore it from a copy; without one take the budget as spent."
        )
    return epsilon, delta, found


@contextmanager
def _held(path: Path | None) -> Iterator[None]:
    """Alone at the ledger: no other process spends what this one counts on."""
    if path is None:
        yield
        return
    mark, until = path.with_name(f"{path.name}.lock"), time.monotonic() + _PATIENCE
    while True:
        try:
            os.close(os.open(mark, os.O_CREAT | os.O_EXCL | os.O_WRONLY))
            break
        except FileExistsError:
            if time.monotonic() > until:
                raise BudgetError(
                    f"Somebody else is spending from the ledger {path.name!r}, or stopped while doing so. If nobody "
                    f"is, look at its last entry and remove {mark.name!r}."
                ) from None
            time.sleep(0.05)
        except OSError as error:
            raise OutputError(f"The ledger {path.name!r} cannot be written ({error.strerror}).") from None
    try:
        yield
    finally:
        mark.unlink(missing_ok=True)
