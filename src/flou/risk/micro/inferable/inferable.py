"""Whether what a release hides can be read off what it shows: every column that a step changed, against all others.

One or two released columns predict the hidden value of a record from the other persons who share them; amounts are
also computed by formulas. The intruder learns from the values that are still shown; where none are, he is taken to
know how the columns hang together. Prototyped on files with weights that tell region and household size.
It does not see what three columns tell together, what other files say, or formulas beyond the simplest.
"""

from __future__ import annotations

from flou.describe.microdata import Microdata
from flou.engine.data import data_kind
from flou.engine.errors import LazyInputError
from flou.engine.progress import tell
from flou.engine.release import Release
from flou.risk.micro.inferable.by_formula import leaks_by_formula
from flou.risk.micro.inferable.by_support import leaks_by_support
from flou.risk.micro.inferable.leak import Leak
from flou.risk.micro.inferable.screen import screened
from flou.risk.micro.inferable.target import targets


def inferable(release: Release | Microdata, k: int = 3) -> tuple[Leak, ...]:
    """What can be read off a release, the worst first; nothing where the data are no released records.

    What cannot be checked is not released: a copy of a release does not know what it was made of.
    """
    data = release.data if isinstance(release, Release) else release
    if data_kind(data) != "microdata" or not data.released:
        return ()
    if data.kin.original is None:
        return (Leak("", (), 0, data.n_records, "withhold", is_copy=True),)
    cached = _remembered(data)
    if k not in cached:
        cached[k] = _found(data, k)
    return cached[k]


def found_before(data: object) -> tuple[Leak, ...]:
    """What was found when the release was judged; nothing is looked for."""
    cached = _remembered(data) if isinstance(data, Microdata) else {}
    return cached[max(cached)] if cached else ()


def remember(data: Microdata, k: int, leaks: tuple[Leak, ...]) -> None:
    """Remember what was found of a release, as if it had been looked for now."""
    _remembered(data)[k] = leaks


def _remembered(data: Microdata) -> dict[int, tuple[Leak, ...]]:
    held: dict[int, tuple[Leak, ...]] = data._cache.setdefault("inferable", {})
    return held


def _found(data: Microdata, k: int) -> tuple[Leak, ...]:
    try:
        screen = screened(data)
    except LazyInputError:
        return (Leak("", (), 0, data.n_records, "withhold"),)
    leaks: list[Leak] = []
    if not len(screen):
        return ()
    for i, target in enumerate(targets(screen, k)):
        tell("inferable", i, len(screen.was.columns))
        found = sorted(
            [*leaks_by_support(screen, target), *leaks_by_formula(screen, target)], key=lambda leak: leak.rank
        )
        alarms = [leak for leak in found if leak.level != "note"]
        # what stands below the floor is often chance: the largest is enough
        leaks += alarms or found[:1]
    return tuple(sorted(leaks, key=lambda leak: leak.rank))
