"""The release before this one in a series: what it drew with, so that values that did not change are shown alike."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flou.engine.errors import DataError, PlanError, listed
from flou.engine.former_columns import by_first_names
from flou.engine.note import Note
from flou.engine.parsing import parsed_json
from flou.engine.values import Proportion

if TYPE_CHECKING:
    from flou.engine.protection import Protection
    from flou.engine.release import Step
    from flou.engine.series import Series

#: The file in the internal folder of a run.
FILE = "parameters.json"
#: For how many releases reports say what they tell together.
_PERIODS = 5


@dataclass(frozen=True)
class FormerRelease:
    """What a former release of the series drew with, by step."""

    series: str
    period: str | None
    #: How many releases of the series there were, this one included.
    number: int
    #: Their columns go by the names that they had when they were first drawn.
    steps: Sequence[Mapping[str, Any]]
    #: These names by the columns that are called otherwise now.
    names: Mapping[str, str] = field(default_factory=dict)

    @staticmethod
    def is_in(folder: Path) -> bool:
        """Whether a run left its parameters in a folder."""
        return (folder / "internal" / FILE).is_file()

    @classmethod
    def load(cls, folder: Path) -> FormerRelease:
        """From the folder of a run."""
        path = folder / "internal" / FILE
        try:
            held = parsed_json(path.read_text(encoding="utf-8"))
            names = dict(held["names"])
            return cls(str(held["series"]), held["period"], int(held["number"]), list(held["steps"]), names)
        except (OSError, ValueError, KeyError, TypeError):
            raise PlanError(
                f"The folder {str(folder)!r} holds no parameters of a former release (internal/{FILE}): name the "
                "folder of a run of this version, or leave since out."
            ) from None

    def require_series(self, series: Series) -> None:
        """A release follows one of its own series, of another period."""
        if self.series != series.series:
            raise PlanError(
                f"since names a release of the series {self.series!r}, but this is one of {series.series!r}. Draws of "
                "different series are independent: name the folder of a release of this series."
            )

    @property
    def noised(self) -> set[str]:
        """The columns with noise, by their first names."""
        return {c for step in self.steps for c in step["columns"]}

    def linked(self, renamed: Mapping[str, str]) -> FormerRelease:
        """The same release for a plan in which columns have other names; an empty one says that a column is new."""
        names = {new: first for new, first in self.names.items() if new not in renamed.values()}
        for new, old in renamed.items():
            first = self.names.get(old, old)
            if old and first in names.values():
                raise PlanError(
                    f"[release] renamed gives the name {old!r} to several columns; both cannot have been it."
                )
            names[new] = first if old else new
        return replace(self, names=names)

    def first_name(self, column: str) -> str:
        """What a column was called when it was first drawn."""
        return self.names.get(column, column)

    def of_step(self, method: Protection) -> Mapping[str, Any] | None:
        """What the same step drew with; a different noise of one of its columns is refused."""
        if not method.noises:
            return None
        columns = {self.first_name(c): c for c in method.touches}
        for step in self.steps:
            shared = sorted(columns[c] for c in set(columns) & set(step["columns"]))
            if not shared:
                continue
            if step["step"] != by_first_names(method.to_table(masked=True), self.names):
                raise DataError(
                    f"{type(method).__name__} would draw another noise of {listed(shared)} than the former release: "
                    "whoever has both can take noise off. Keep the step as it was (where a column that it names is "
                    "called otherwise now, renamed in [release] says so), or publish a new series."
                )
            found: Mapping[str, Any] = step["reusable"]
            return found
        return None


def carried_on(former: Mapping[str, Any] | None, reusable: Mapping[str, Any]) -> dict[str, Any]:
    """What a step drew with, and what it did not need this time: a stratum that comes back is drawn as it was."""
    held = dict(former or {})
    for name, own in reusable.items():
        below = held.get(name)
        held[name] = carried_on(below, own) if isinstance(below, Mapping) and isinstance(own, Mapping) else own
    return held


def parameters_of(steps: Sequence[Step], series: Series, former: FormerRelease | None) -> str:
    """What this release drew with, as the text of a file; a noise that it left out is kept for the next one."""
    names = {} if former is None else former.names
    drawn = [
        {
            "step": by_first_names(s.method.to_table(masked=True), names),
            "columns": [names.get(c, c) for c in s.method.touches],
            "reusable": dict(s.reusable),
        }
        for s in steps
        if s.method.noises
    ]
    now = {c for step in drawn for c in step["columns"]}
    left_out = [] if former is None else [dict(step) for step in former.steps if not now & set(step["columns"])]
    held = {
        "series": series.series,
        "period": series.period,
        "number": 1 if former is None else former.number + 1,
        "names": dict(names),
        "steps": [*drawn, *left_out],
    }
    return json.dumps(held, indent=1, ensure_ascii=False) + "\n"


def notes_on_noise(method: Protection, former: FormerRelease | None) -> tuple[Note, ...]:
    """What several releases tell of noise, for the office."""
    if not method.noises:
        return ()
    compared = Note(
        "no former release was named, so that nobody has compared its noise with this one: name it, since in [release]",
        internal=True,
    )
    averaged = Note(
        "a value that changes is drawn anew: the mean of {n} independent draws has {share} of the noise",
        {"n": _PERIODS, "share": Proportion(_PERIODS**-0.5)},
        internal=True,
    )
    if former is None:
        return (compared, averaged)
    new = [c for c in method.touches if former.first_name(c) not in former.noised]
    first = Note(
        "{columns} had no noise in the former release; if it showed them, values that did not change are known",
        {"columns": ", ".join(new)},
        internal=True,
    )
    return (first, averaged) if new else (averaged,)


def require_one_noise(method: Protection, steps: Sequence[Step]) -> None:
    """Two noises of one column are refused: what one release shows of the first, the next may show without it."""
    if not method.noises:
        return
    earlier = {c for s in steps if s.method.noises for c in s.method.touches}
    doubled = sorted(earlier & set(method.touches))
    if doubled:
        raise DataError(
            f"{type(method).__name__} would draw a second noise of {listed(doubled)}, which an earlier step drew. Draw "
            "it once, as large as it has to be."
        )
