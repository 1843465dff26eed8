"""Whether a run keeps anything, and where: what a run asks before it reads, and once it has read."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

from flou.describe.microdata import Microdata
from flou.engine.errors import DataError, OutputError, SecretError
from flou.engine.former import FormerRelease
from flou.engine.plan import Plan
from flou.engine.secret import Secret
from flou.job.store import inputs, place
from flou.job.store.keeper import Keeper, KeepsEntries, KeepsNothing
from flou.job.store.keys import Names

#: Secrets that the next run will have as well.
_LASTING = ("file", "environment", "demonstration")


def require_resumable(secret: Secret) -> None:
    """Refuse to go on from an earlier run where none can have kept anything."""
    if secret.origin not in _LASTING:
        raise SecretError(
            "--resume goes on from what an earlier run has kept under its secret, and this plan has none that lasts: "
            'make one with `flou secret office.secret`, and name it, [secrets] file = "office.secret" or --secret.'
        )
    if place.located() is None:
        raise OutputError(
            f"--resume goes on from what an earlier run has kept, and {place.FOLDER} says that nothing is: unset it, "
            "or point it to a folder."
        )


def open_store(
    plan: Plan,
    secret: Secret,
    original: Microdata,
    population: Microdata | None,
    former: FormerRelease | None,
    *,
    resume: bool,
    seen: Mapping[str, Any],
) -> Keeper:
    """Who keeps for a run; `seen` is what the files of its data were like before they were read."""
    folder = place.located()
    published = secret.origin == "demonstration" and not original.marks.synthetic
    if folder is None or secret.origin not in _LASTING or published:
        return KeepsNothing()
    try:
        place.limit()
        place.opened(folder)
        names = Names(plan, secret, original, population, former)
    except (OutputError, DataError) as error:
        if resume or place.is_named():
            raise
        warnings.warn(f"Nothing is kept for --resume. {error}", stacklevel=2)
        return KeepsNothing(f"nothing is kept: {error}")
    if inputs.seen(plan) != seen:
        return KeepsNothing("nothing is kept: a file of the data changed while it was read")
    return KeepsEntries(folder, plan, names, secret, original, resume=resume)
