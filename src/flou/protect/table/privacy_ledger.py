"""The file of a privacy budget: spendings in a chain under the office's secret, and the chain's head in a second file.

Each entry carries an HMAC of itself and of the entry before, so that whoever has no secret can change, insert or move
none. Taking the last ones away leaves a chain that is whole: the head beside the ledger tells how many there were. The
ledger is written first and its head afterwards. A process that is killed in between leaves one entry more than the head
knows, which counts as spent.

What cannot be noticed: that the ledger and its head are both put back to an earlier day, or copied to another folder.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import secrets
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from math import isfinite
from pathlib import Path
from typing import Any

from flou.engine import claim, toml
from flou.engine.errors import BudgetError, OutputError, PlanError
from flou.engine.output import written_whole

_KIND, _HEAD = "privacy budget", "head of a privacy budget"
#: Seconds to wait for another process that spends from the same ledger.
_PATIENCE = 10.0


@dataclass(frozen=True)
class Spending:
    """One release that was paid for."""

    epsilon: float
    delta: float
    what: str
    on: str


@dataclass(frozen=True)
class Account:
    """What a ledger holds."""

    epsilon: float
    delta: float
    entries: tuple[Spending, ...]
    #: Tells ledgers apart; one that was begun by hand has none until something is spent.
    number: str


class Ledger:
    """The ledger at a path, which is resolved: a link to it is no other ledger."""

    def __init__(self, path: Path, key: bytes) -> None:
        self.path, self._key = path.resolve(), key
        self._head = self.path.with_name(f"{self.path.name}.head")

    def begin(self, epsilon: float, delta: float) -> None:
        """Write a ledger of which nothing is spent, if there is none yet."""
        with self.held():
            if not self.path.exists():
                self._begin(epsilon, delta)

    def _begin(self, epsilon: float, delta: float) -> None:
        if self._head.exists() and self._read_head()["n"]:
            raise BudgetError(
                f"The ledger {self.path.name!r} is gone, but its head {self._head.name!r} tells that something was "
                "spent. Restore the ledger from a copy; without one take the budget as spent."
            )
        account = Account(epsilon, delta, (), secrets.token_hex(16))
        self._write_head(account)
        self._write(account, overwrite=False)

    def read(self) -> Account:
        """What was spent so far; a ledger that was changed, or lost entries, is refused."""
        # the head first: whoever is spending at this moment writes it last
        head = self._read_head() if self._head.exists() else None
        try:
            held = toml.read(self.path, _KIND)
        except PlanError as error:
            raise BudgetError(
                f"{error} Nothing is drawn without it. Begin a ledger with "
                "flou.PrivacyBudget(epsilon=…, path=…, secret=…)."
            ) from None
        account, links = self._parsed(held)
        if not account.number:
            return self._begun_by_hand(account)
        if links != self._links(account)[1:]:
            raise BudgetError(
                f"The ledger {self.path.name!r} is damaged: its lines are not those that were written under this "
                "secret, so nobody knows what is left. Give the secret that it was begun with, or restore it from a "
                "copy; without one take the budget as spent."
            )
        head, chain = head or self._read_head(), self._links(account)
        if head["id"] != account.number or head["n"] >= len(chain) or head["link"] != chain[head["n"]]:
            raise BudgetError(
                f"The ledger {self.path.name!r} does not hold the {head['n']:,} entries that its head "
                f"{self._head.name!r} knows of: some were taken away. Restore both from a copy; without one take the "
                "budget as spent."
            )
        return account

    def append(self, account: Account, entry: Spending) -> None:
        """Write one more entry, on the disk when this returns."""
        if not account.number:
            account = Account(account.epsilon, account.delta, (), secrets.token_hex(16))
            self._write_head(account)
        account = Account(account.epsilon, account.delta, (*account.entries, entry), account.number)
        self._write(account, overwrite=True)
        self._write_head(account)

    @contextmanager
    def held(self) -> Iterator[None]:
        """Alone at the ledger: no other process spends what this one counts on."""
        mark, until = self.path.with_name(f"{self.path.name}.lock"), time.monotonic() + _PATIENCE
        while True:
            try:
                lock = claim.take(mark)
                break
            except (BlockingIOError, FileExistsError):
                if time.monotonic() > until:
                    raise BudgetError(
                        f"Somebody else is spending from the ledger {self.path.name!r}. Wait until it is done. If "
                        f"nobody is, look at the ledger's last entry and remove {mark.name!r}."
                    ) from None
                time.sleep(0.05)
            except OSError as error:
                raise OutputError(f"The ledger {self.path.name!r} cannot be written ({error.strerror}).") from None
        try:
            yield
        finally:
            mark.unlink(missing_ok=True)
            os.close(lock)

    def _begun_by_hand(self, account: Account) -> Account:
        """A ledger of three lines: nothing may have been spent from it."""
        if account.entries or (self._head.exists() and self._read_head()["n"]):
            raise BudgetError(
                f"The ledger {self.path.name!r} is damaged: something was spent, and its lines are gone. Restore it "
                "from a copy; without one take the budget as spent."
            )
        return account

    def _links(self, account: Account) -> list[str]:
        """The chain: a link for the budget, then one for each entry."""
        links = [self._link("", [account.number, account.epsilon, account.delta])]
        for entry in account.entries:
            links.append(self._link(links[-1], asdict(entry)))
        return links

    def _link(self, before: str, held: object) -> str:
        text = json.dumps([before, held], sort_keys=True)
        return hmac.new(self._key, text.encode(), hashlib.sha256).hexdigest()

    def _write(self, account: Account, *, overwrite: bool) -> None:
        held: dict[str, Any] = {"kind": _KIND, "epsilon": account.epsilon, "delta": account.delta}
        held["id"] = account.number
        links = self._links(account)[1:]
        if links:
            held["spent"] = [{**asdict(e), "link": link} for e, link in zip(account.entries, links, strict=True)]
        _save(held, self.path, overwrite=overwrite)

    def _write_head(self, account: Account) -> None:
        n = len(account.entries)
        held = {"kind": _HEAD, "id": account.number, "n": n, "link": self._links(account)[n]}
        _save(held, self._head, overwrite=self._head.exists())

    def _read_head(self) -> dict[str, Any]:
        try:
            held = toml.read(self._head, _HEAD)
        except PlanError as error:
            raise BudgetError(
                f"{error} Without it nobody knows whether the ledger {self.path.name!r} is whole. Restore it from a "
                "copy; without one take the budget as spent."
            ) from None
        n = held.get("n")
        if held.get("kind") != _HEAD or isinstance(n, bool) or not isinstance(n, int) or n < 0:
            raise BudgetError(f"The file {self._head.name!r} is damaged. Restore it and the ledger from a copy.")
        return {"id": held.get("id"), "n": n, "link": held.get("link")}

    def _parsed(self, held: Mapping[str, Any]) -> tuple[Account, list[object]]:
        """What the file says, and the links that it gives."""
        where = f"The file {self.path.name!r}"
        if held.get("kind") != _KIND or set(held) - {"kind", "epsilon", "delta", "id", "spent"}:
            raise BudgetError(
                f'{where} is no ledger of a privacy budget: it needs kind = "{_KIND}", epsilon and delta. One of an '
                "earlier version is begun anew, with what it has left."
            )
        epsilon, delta = checked_loss(held.get("epsilon"), held.get("delta", 0.0), BudgetError)
        lines, fields = held.get("spent", []), {"epsilon", "delta", "what", "on", "link"}
        if not isinstance(lines, list) or not all(isinstance(line, dict) and set(line) == fields for line in lines):
            raise BudgetError(f"{where} is damaged: each [[spent]] has epsilon, delta, what, on and link. Restore it.")
        entries = tuple(
            Spending(*checked_loss(line["epsilon"], line["delta"], BudgetError), str(line["what"]), str(line["on"]))
            for line in lines
        )
        return Account(epsilon, delta, entries, str(held.get("id", ""))), [line["link"] for line in lines]


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


def _save(held: Mapping[str, Any], path: Path, *, overwrite: bool) -> None:
    with written_whole(path, overwrite=overwrite) as file:
        file.write(toml.write(held).encode())
        file.flush()
        os.fsync(file.fileno())
