"""What a run keeps after each step and each result, and what it takes of an earlier one.

A result of protected data belongs to the entry of the data that it was measured on, by its seal: steps that draw from
the system, or search for so many seconds, may give other data under the same name, which it then says nothing of.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol, TypeVar

import polars as pl

from flou.describe.microdata import Microdata
from flou.describe.table.table_set import TableSet
from flou.engine.checkpoints import Checkpoint, Checkpoints
from flou.engine.errors import FlouError
from flou.engine.method import Method
from flou.engine.plan import Plan
from flou.engine.progress import tell
from flou.engine.result import Result
from flou.engine.secret import Secret
from flou.engine.stored import left_out
from flou.job.store import place, seal
from flou.job.store.keys import Names
from flou.job.store.state import load, save

T = TypeVar("T")
R = TypeVar("R", bound=Result)
#: The stage before any step; all others are behind the last one.
BEFORE = "before"
_BEHIND = ("of the frame", "after", "tables before", "tables after", "attack", "compare")


class Keeper(Protocol):
    """What a run asks of whoever keeps: `lines` are for its log, `continues` is for whoever waits for it."""

    lines: list[str]
    continues: str

    @property
    def checkpoints(self) -> Checkpoints | None: ...

    def knows(self, **data: Any) -> None: ...

    def result(self, when: str, method: Method, make: Callable[[], R]) -> R: ...

    def value(self, when: str, more: Mapping[str, Any], make: Callable[[], T]) -> T: ...

    def entries(self) -> list[str]: ...


class KeepsNothing:
    """For a run that keeps nothing: everything is made."""

    checkpoints = None
    continues = ""

    def __init__(self, *lines: str) -> None:
        self.lines = list(lines)

    def knows(self, **data: Any) -> None:
        pass

    def result(self, when: str, method: Method, make: Callable[[], R]) -> R:
        return make()

    def value(self, when: str, more: Mapping[str, Any], make: Callable[[], T]) -> T:
        return make()

    def entries(self) -> list[str]:
        return []


class KeepsEntries:
    """For a run with a lasting secret."""

    def __init__(
        self, folder: Path, plan: Plan, names: Names, secret: Secret, original: Microdata, *, resume: bool
    ) -> None:
        self.lines: list[str] = []
        self._folder, self._names, self._resume = folder, names, resume
        self._keys, self._memory, self._original = seal.Keys(secret), seal.Memory(), original
        self._steps = [names.of_step(number) for number in range(len(plan.steps) + 1)]
        #: Of the entries of steps that this run has written or read.
        self._seals = {self._steps[0]: ""}
        self._known: dict[str, Any] = {"input": original}
        self._results: list[str] = []
        self.continues = self._found(plan) if resume else ""

    @property
    def checkpoints(self) -> Checkpoints:
        return self

    def keep(self, checkpoint: Checkpoint) -> None:
        """Keep where the plan is after a step."""
        number, kin = len(checkpoint.steps), checkpoint.data.kin
        original = kin.original if kin.records is None else kin.records.kin.original
        step = f"step {number} ({checkpoint.steps[-1].method.name()})"
        known = {"input": self._original, "original": original}
        self._write(self._steps[number], checkpoint, known, step, with_records=True)

    def find(self, number: int) -> Checkpoint | None:
        """Where an earlier run was after so many steps."""
        found: Checkpoint | None = self._read(
            self._steps[number], {"input": self._original, "original": self._numbered}
        )
        return found

    @cached_property
    def _numbered(self) -> Microdata:
        """The plan's input as its steps know it."""
        return self._original.numbered()

    def knows(self, **data: Any) -> None:
        """Data that results may speak of, by names that are the same in each run."""
        for name, held in data.items():
            tables = held.tables if isinstance(held, TableSet) else ()
            self._known |= {name: held, **{f"{name}/{place}": table for place, table in enumerate(tables)}}

    def result(self, when: str, method: Method, make: Callable[[], R]) -> R:
        """What a method finds at a stage of the run, taken or made."""

        def made() -> tuple[R, dict[str, Any]]:
            result = make()
            return result, left_out(result)

        result: R
        result, rest = self._taken(when, method, {}, made, f"{method.name()} ({when})")
        lost = {name: held for name, held in rest.items() if getattr(result, name) is not held}
        return replace(result, **lost) if lost else result

    def value(self, when: str, more: Mapping[str, Any], make: Callable[[], T]) -> T:
        """What else is found at a stage, which hangs on `more`."""
        (found,) = self._taken(when, None, more, lambda: (make(),), when)
        made: T = found
        return made

    def entries(self) -> list[str]:
        """The names of all that was kept of this run, which its output makes needless."""
        behind = f"{self._steps[-1]}."
        of_release = [e.path.name for e in place.entries(self._folder) if e.path.name.startswith(behind)]
        return [*self._steps, *self._results, *of_release]

    def _taken(
        self, when: str, method: Method | None, more: Mapping[str, Any], make: Callable[[], Any], what: str
    ) -> Any:
        step = self._steps[0 if when == BEFORE else -1]
        if step not in self._seals:  # the data are not kept themselves: nobody could tell what a result belongs to
            return make()
        name = self._names.of_result(step, self._seals[step], when, method, more)
        self._results.append(name)
        found = self._read(name, self._known)
        if found is None:
            found = make()
            self._write(name, found, self._known, what, with_records=False)
        return found

    def _write(self, name: str, value: object, known: Mapping[str, Any], what: str, *, with_records: bool) -> None:
        def called(data: Any) -> str | None:
            return next((word for word, held in known.items() if held is data), None)

        try:
            with seal.written(self._folder, name, self._keys, self._memory) as entry:
                save(entry, value, called, with_records=with_records)
        except (seal.NotKeptError, FlouError, pl.exceptions.PolarsError) as why:
            # what an engine says may hold values
            said = str(why) if isinstance(why, seal.NotKeptError) else type(why).__name__
            self.lines.append(f"not kept: {what}: {said}")
        else:
            self._seals[name] = entry.seal
            tell(place.KEPT, 0, 1)

    def _read(self, name: str, known: Mapping[str, Any]) -> Any:
        held = seal.read(self._folder, name, self._keys, self._memory) if self._resume else None
        if held is None:
            return None
        self._seals[name] = held.seal
        tell(place.KEPT, 0, 1)
        return load(held, known, self._original)

    def _found(self, plan: Plan) -> str:
        """What an earlier run has kept, in a sentence."""
        last = len(plan.steps)
        seals = [seal.sealed_as(self._folder, name) for name in self._steps]
        number = next((n for n in range(last, 0, -1) if seals[n] is not None), 0)
        methods = dict.fromkeys((*plan.measures, *plan.attacks, *plan.comparisons))
        asked = [(0, "", BEFORE), *((last, seals[last] or "", when) for when in _BEHIND)]
        names = {self._names.of_result(self._steps[n], s, when, m, {}) for n, s, when in asked for m in methods}
        n_results = sum((self._folder / name).is_dir() for name in names)
        results = f"{n_results} {'result was' if n_results == 1 else 'results were'} kept."
        said = f"Continuing before step 1 of {last}; {results}"
        if number:
            said = f"Continuing after step {number} of {last} ({plan.steps[number - 1].name()}); {results}"
        elif not n_results:
            said = "Nothing was kept of this plan with these data: starting anew."
        tell(said, number, last)
        return said
