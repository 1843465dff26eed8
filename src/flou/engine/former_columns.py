"""Columns of a former release and of this one: a noise must not be drawn a second time under another name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from flou.engine.errors import DataError, listed

if TYPE_CHECKING:
    from flou.engine.former import FormerRelease
    from flou.engine.protection import Protection

#: The parameters of noises that name columns.
_NAMING = ("column", "columns", "by", "given")


def by_first_names(step: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    """A step of a plan with its columns as they were called when they were first drawn."""

    def named(value: Any) -> Any:
        return names.get(value, value) if isinstance(value, str) else [names.get(v, v) for v in value]

    return {word: named(value) if word in _NAMING else value for word, value in step.items()}


def require_linked(former: FormerRelease, methods: Sequence[Protection], released: Sequence[str] = ()) -> None:
    """Refuse a noise that is left out and another that is new, unless the plan says that they are not of one column.

    `released` are the columns of the protected file, once it is there: one that had noise must not be without it.
    """
    drawn = [c for method in methods if method.noises for c in method.touches]
    by_first = {former.first_name(c): c for c in drawn}
    twice = sorted(c for c in drawn if by_first[former.first_name(c)] != c)
    if twice:
        raise DataError(
            f"The noise of {listed(twice)} goes by the name {listed([former.first_name(c) for c in twice])}, which "
            "another column of the plan has too. Correct renamed in [release], or give one of them another name "
            "before the noise."
        )
    gone = sorted(former.noised - set(by_first))
    new = sorted(c for first, c in by_first.items() if first not in former.noised and former.names.get(c) != c)
    if gone and new:
        raise DataError(
            f"The former release has noise on {listed(gone)}, which this plan leaves out, and this plan draws noise on "
            f"{listed(new)}, which the former one did not have. Under another name values that did not change would be "
            "drawn a second time. Say in [release] what each was called, "
            f'renamed = {{ {new[0]} = "{gone[0]}" }}, or that it is new, renamed = {{ {new[0]} = "" }}.'
        )
    bare = sorted(c for c in released if former.first_name(c) in gone)
    if bare:
        raise DataError(
            f"{listed(bare)} had noise in the former release and would be released without: whoever has both has the "
            "noise. Keep the step, leave the column out, or publish a new series."
        )
