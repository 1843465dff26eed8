"""Every error Flou raises on purpose, all under `FlouError`.

A message is one paragraph: what was given, what is allowed, what to do next. Nothing here ever
carries data values of persons beyond the category names the user must see to mend a file.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any


class FlouError(Exception):
    """Base of every error that Flou raises on purpose."""


class ParameterError(FlouError, ValueError):
    """A parameter has a wrong name, type or value."""


class DataError(FlouError, ValueError):
    """A file or frame cannot be read, or does not fit what was declared about it."""


class SchemaError(DataError):
    """A schema contradicts itself or the file."""


class HierarchyError(DataError):
    """A hierarchy is not a tree, or misses values."""


class PlanError(FlouError, ValueError):
    """A plan or policy file cannot be understood."""


class SecretError(FlouError, ValueError):
    """A secret is missing, too short, or not allowed here."""


class OutputError(FlouError):
    """Output cannot be written, or would overwrite something."""


class LazyInputError(FlouError):
    """Something that needs rows in memory was asked of rows that are not."""


class KeySpaceTooLargeError(FlouError):
    """The space of possible keys does not fit in memory."""


class NotConvergedError(FlouError):
    """A model did not converge: there is no estimate."""


class GuaranteeBrokenError(FlouError):
    """A protection's promise does not hold on its output; nothing is released."""


class BudgetError(FlouError):
    """A privacy budget is spent, or its ledger cannot be trusted; nothing is drawn."""


class WorkStoppedError(FlouError):
    """The process that did the work was ended: too much memory, or a crash. Nothing was written."""


class Interrupted(FlouError):  # noqa: N818 - not a fault
    """The user stopped the work; nothing was written."""


class MissingExtraError(FlouError, ImportError):
    """An optional dependency is not installed."""

    def __init__(self, package: str, extra: str) -> None:
        super().__init__(f"This needs the package {package!r}, which is not installed: pip install 'flou[{extra}]'")
        self.package, self.extra = package, extra

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.package, self.extra)


class Infeasible(FlouError):  # noqa: N818 - the literature's word
    """The target cannot be reached; `best` is the best bound found and `next_step` what to try."""

    def __init__(self, message: str, *, best: object, next_step: str) -> None:
        super().__init__(f"{message} Best found: {best}. {next_step}")
        self.message = message
        self.best = best
        self.next_step = next_step

    def __reduce__(self) -> tuple[Any, ...]:
        return partial(type(self), best=self.best, next_step=self.next_step), (self.message,)


def did_you_mean(word: str, options: Iterable[str]) -> str:
    """' Did you mean …?' when one of the options is near, else the options themselves."""
    known = sorted(options)
    near = difflib.get_close_matches(word, known, n=1, cutoff=0.6)
    if near:
        return f" Did you mean {near[0]!r}?"
    return f" Known: {listed(known)}." if known else ""


def listed(values: Iterable[object], most: int = 12) -> str:
    """Values for a message: quoted, in order, cut after `most` with the number left out."""
    items: Sequence[object] = list(values)
    shown = ", ".join(repr(v) for v in items[:most])
    return f"{shown} and {len(items) - most:,} more" if len(items) > most else shown


def paragraphs(title: str, problems: Iterable[str]) -> str:
    """A title and a list of problems, one a line."""
    return "\n".join([title, *(f"  - {p}" for p in problems)])
