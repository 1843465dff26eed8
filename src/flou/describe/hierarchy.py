"""Hierarchies: how the values of a variable are grouped, level by level.

Level 0 is the value as it is; each further level is coarser; the last is the root, `*`. Four ways to
make one: a declared tree, bands of numbers, prefixes of codes, and a CSV file with one line a value
and one column a level, as ARX writes it; `suggest` drafts one from a file. A hierarchy is checked: each
child has one parent, and a value it does not cover is an error that lists what is missing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import pairwise
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from flou.describe.bands import Levels, band_at, checked_band, checked_nested
from flou.describe.hierarchy_file import read_rows, write_rows
from flou.engine.errors import HierarchyError, did_you_mean, listed
from flou.engine.values import text_of

if TYPE_CHECKING:
    from flou.describe.microdata import Microdata

ROOT = "*"
#: What to do with records that bear the label of a group.
OF_GROUPS = (
    "These are groups of other values there: {groups}. Let the records bear a value below the group, add one for those "
    "of whom no more is known, or declare the group as not applicable."
)
Tree = Mapping[str, Any]
Band = int | float | Sequence[float]
Method = Literal["auto", "bands", "prefix", "dates", "frequency"]


@dataclass(frozen=True)
class Hierarchy:
    """A value's ancestors: `table` for declared trees, `bands` or `prefixes` computed on demand."""

    table: tuple[tuple[str, tuple[str, ...]], ...] = ()
    band_levels: Levels = ()
    prefix_lengths: tuple[int, ...] = ()
    names: tuple[str, ...] = ()

    @classmethod
    def tree(cls, tree: Tree, *, names: Sequence[str] = ()) -> Hierarchy:
        """A declared tree: `{"North": ["59", "62"], "South": {"Coast": ["13", "06"]}}`, all leaves at one depth."""
        return cls._of_rows(_walk(tree, ()), names)

    @classmethod
    def from_csv(
        cls,
        path: str | PathLike[str],
        *,
        delimiter: str | None = None,
        names: Sequence[str] = (),
        encoding: str = "utf-8",
    ) -> Hierarchy:
        """One line a value: the value, then its ancestors, finest first. `;` or `,` is recognised."""
        return cls._of_rows(read_rows(path, delimiter, encoding), names)

    @classmethod
    def bands(cls, *levels: Band, names: Sequence[str] = ()) -> Hierarchy:
        """Bands of numbers: a width (5: 60-64, 65-69, …) or the lower bounds of the bands, a level each."""
        if not levels:
            raise HierarchyError("Hierarchy.bands needs at least one level: a width, or the lower bounds of the bands.")
        stored: list[float | tuple[float, ...]] = []
        for level in levels:
            stored.append(checked_band(level))
            if len(stored) > 1:
                checked_nested(stored[-2], stored[-1])
        return cls(band_levels=tuple(stored), names=_checked_names(names))._check_names()

    @classmethod
    def prefix(cls, *lengths: int, names: Sequence[str] = ()) -> Hierarchy:
        """Prefixes of codes, longest first: `prefix(3, 2)` makes 75013 into 750**, then 75***."""
        if not lengths or any(isinstance(n, bool) or not isinstance(n, int) or n < 1 for n in lengths):
            raise HierarchyError(f"Hierarchy.prefix needs lengths of at least 1; given {lengths!r}.")
        if list(lengths) != sorted(set(lengths), reverse=True):
            raise HierarchyError(
                f"Hierarchy.prefix needs ever shorter lengths, coarser at each level; given {lengths!r}."
            )
        return cls(prefix_lengths=tuple(lengths), names=_checked_names(names))._check_names()

    @classmethod
    def suggest(cls, people: Microdata, column: str, *, method: Method = "auto", min_share: float = 0.01) -> Hierarchy:
        """A first hierarchy for a column of a file, to be looked at and edited; see `to_csv`.

        `auto` takes round bands for numbers, periods for dates, prefixes for codes of one length, and for other values
        groups by frequency, where what fewer than `min_share` of the records have becomes `other`.
        """
        from flou.describe.suggestion import suggest

        return suggest(people, column, method, min_share)

    @classmethod
    def _of_rows(cls, rows: Iterable[tuple[str, ...]], names: Sequence[str]) -> Hierarchy:
        table = _checked_rows(list(rows))
        return cls(table=tuple(table.items()), names=_checked_names(names))._check_names()

    def _check_names(self) -> Hierarchy:
        if self.names and len(self.names) > self.height:
            raise HierarchyError(
                f"{len(self.names)} names for {self.height} levels above the values: {listed(self.names)}."
            )
        return self

    @property
    def height(self) -> int:
        """The number of levels above the values, the root included."""
        declared = len(self.table[0][1]) if self.table else len(self.band_levels) + len(self.prefix_lengths)
        rooted = bool(self.table) and len({ancestors[-1] for _, ancestors in self.table}) == 1
        return declared if rooted else declared + 1

    def level_number(self, level: int | str) -> int:
        """A level by its number or its name."""
        if isinstance(level, str):
            if level not in self.names:
                raise HierarchyError(f"The hierarchy has no level named {level!r}.{did_you_mean(level, self.names)}")
            return self.names.index(level) + 1
        if isinstance(level, bool) or not isinstance(level, int):
            raise HierarchyError(f"level = {level!r} must be the number or the name of a level.")
        if not 0 <= level <= self.height:
            raise HierarchyError(f"level = {level} is outside 0 to {self.height} of this hierarchy.")
        return level

    def generalise(
        self, values: Iterable[object], level: int | str, *, keep: Iterable[object] = ()
    ) -> dict[object, object]:
        """Value → its ancestor at `level`; values in `keep` (not applicable) stay; a value not covered raises."""
        values = list(values)
        number = self.level_number(level)
        kept = {text_of(v) for v in keep}
        if number == 0:
            return {v: v for v in values}
        # 30.0 is the whole number 30: what a band is called hangs on the values, not on how a file stores them
        whole = all(_is_whole(v) for v in values if text_of(v) not in kept)
        ancestors = dict(self.table)
        out: dict[object, object] = {}
        missing: list[object] = []
        for value in values:
            if text_of(value) in kept:
                out[value] = value
                continue
            label = self._ancestor(value, number, ancestors, whole)
            if label is None:
                missing.append(value)
            out[value] = label
        if missing:
            raise HierarchyError(self._uncovered(missing))
        return out

    def _uncovered(self, missing: Sequence[object]) -> str:
        """What to do with values that the hierarchy does not cover; some may stand in it as groups."""
        said = f"The hierarchy does not cover {len(missing)} of the values: {listed(missing)}."
        labels = {label for _, above in self.table for label in above}
        groups = [value for value in missing if text_of(value) in labels]
        if groups:
            said += f" {OF_GROUPS.format(groups=listed(groups))}"
        if len(groups) == len(missing):
            return said
        others = "the others" if groups else "them"
        return f"{said} Add {others} to it, or declare them as not applicable."

    def with_values(self, read: Callable[[str], str]) -> Hierarchy:
        """The same hierarchy of values that are written otherwise."""
        return self._of_rows([(read(leaf), *above) for leaf, above in self.table], self.names) if self.table else self

    def covers(self, value: object) -> bool:
        """Whether the hierarchy says where a value belongs."""
        try:
            self.generalise([value], 1)
        except HierarchyError:
            return False
        return True

    def _ancestor(
        self, value: object, number: int, ancestors: Mapping[str, tuple[str, ...]], whole: bool
    ) -> str | None:
        if self.table:
            above = ancestors.get(text_of(value))
            return None if above is None else (above[number - 1] if number <= len(above) else ROOT)
        if self.band_levels:
            return ROOT if number > len(self.band_levels) else band_at(value, self.band_levels, number, whole)
        text = text_of(value)
        length = self.prefix_lengths[number - 1] if number <= len(self.prefix_lengths) else 0
        return ROOT if length == 0 else text[:length] + "*" * max(0, len(text) - length)

    def to_csv(
        self, path: str | PathLike[str], values: Iterable[object] | None = None, *, overwrite: bool = False
    ) -> None:
        """Write one line a value, with its ancestors, for `from_csv`; bands and prefixes need the `values`.

        Null is left out. An existing file is not overwritten unless asked.
        """
        if values is None and not self.table:
            raise HierarchyError(
                "Bands and prefixes hold for any value, so to_csv needs to know which to write: "
                'values=range(121), or a column such as values=frame["age"].'
            )
        held = {text_of(v): v for v in (values if values is not None else dict(self.table)) if v is not None}
        if not held:
            raise HierarchyError("There is no value to write: values= is empty, or holds nothing but null.")
        levels = [self.generalise(held.values(), n) for n in range(1, self.height + 1)]
        ordered = list(held) if self.table else sorted(held, key=lambda t: (held[t] if self.band_levels else 0, t))
        write_rows([(t, *(str(level[held[t]]) for level in levels)) for t in ordered], path, overwrite=overwrite)

    def to_dict(self) -> dict[str, Any]:
        """As a schema file writes it."""
        out: dict[str, Any] = {}
        if self.table:
            out["rows"] = [[leaf, *above] for leaf, above in self.table]
        if self.band_levels:
            out["bands"] = [list(b) if isinstance(b, tuple) else b for b in self.band_levels]
        if self.prefix_lengths:
            out["prefix"] = list(self.prefix_lengths)
        if self.names:
            out["names"] = list(self.names)
        return out

    @classmethod
    def from_dict(cls, table: object, folder: Path) -> Hierarchy:
        """From a schema file: one of `csv`, `bands`, `prefix`, `tree`, `rows`; and `names`."""
        kinds = [k for k in ("csv", "bands", "prefix", "tree", "rows") if isinstance(table, Mapping) and k in table]
        if not isinstance(table, Mapping) or len(kinds) != 1:
            raise HierarchyError(
                'A hierarchy in a schema is one of csv = "file", bands = [5, 10], prefix = [3, 2] or tree = {…}, '
                f"with names = […] if wanted; given {table!r}."
            )
        kind, value = kinds[0], table[kinds[0]]
        extra = {k: v for k, v in table.items() if k != kind}
        allowed = ("names", "delimiter", "encoding") if kind == "csv" else ("names",)
        for word in extra:
            if word not in allowed:
                raise HierarchyError(f"A hierarchy by {kind} has no word {word!r}.{did_you_mean(word, allowed)}")
        if kind == "csv":
            if not all(isinstance(v, str) for k, v in extra.items() if k != "names") or not isinstance(value, str):
                raise HierarchyError(f"csv, delimiter and encoding are texts; given {table!r}.")
            return cls.from_csv(folder / value, **extra)
        if kind == "tree":
            return cls.tree(value, **extra)
        if not isinstance(value, list):
            raise HierarchyError(f"{kind} is a list, one entry a level; given {value!r}.")
        if kind == "rows":
            if not all(isinstance(r, list) and all(isinstance(c, str) for c in r) for r in value):
                raise HierarchyError("rows is a list of lists of texts: a value, then its ancestors.")
            return cls._of_rows([tuple(r) for r in value], extra.get("names", ()))
        return cls.bands(*value, **extra) if kind == "bands" else cls.prefix(*value, **extra)


def _is_whole(value: object) -> bool:
    if isinstance(value, Decimal):
        return value == value.to_integral_value()
    return isinstance(value, int) or (isinstance(value, float) and value == value // 1)


def _walk(tree: object, above: tuple[str, ...]) -> Iterable[tuple[str, ...]]:
    if isinstance(tree, Mapping):
        for label, below in tree.items():
            yield from _walk(below, (str(label), *above))
    elif isinstance(tree, list | tuple):
        for leaf in tree:
            if leaf is None or isinstance(leaf, list | tuple | Mapping):
                raise HierarchyError(f"A tree ends in lists of simple values; found {leaf!r}.")
            yield (text_of(leaf), *above)
    else:
        raise HierarchyError(f"A tree is made of mappings that end in lists of values; found {tree!r}.")


def _checked_rows(rows: list[tuple[str, ...]]) -> dict[str, tuple[str, ...]]:
    if not rows or len(rows[0]) < 2:
        raise HierarchyError("A hierarchy needs values and at least one level above them: value;parent;…;*")
    ragged = [row[0] for row in rows if len(row) != len(rows[0])]
    if ragged:
        raise HierarchyError(
            f"Every value needs {len(rows[0]) - 1} ancestors as the first has; these do not: {listed(ragged)}."
        )
    nameless = [row[0] for row in rows if not all(row)]
    if nameless:
        raise HierarchyError(f"Every value and ancestor needs a name; one is empty for: {listed(nameless)}.")
    parents: list[dict[str, str]] = [{} for _ in range(len(rows[0]) - 1)]
    for row in rows:
        for depth, (child, parent) in enumerate(pairwise(row)):
            if parents[depth].setdefault(child, parent) != parent:
                raise HierarchyError(
                    f"At level {depth}, {child!r} has two parents: {parents[depth][child]!r} and {parent!r}. "
                    "Each child has one parent."
                )
    return {row[0]: row[1:] for row in rows}


def _checked_names(names: object) -> tuple[str, ...]:
    if isinstance(names, list | tuple) and all(isinstance(n, str) for n in names) and len(set(names)) == len(names):
        return tuple(names)
    raise HierarchyError(f"names= is a list of distinct names of levels, finest first; given {names!r}.")
