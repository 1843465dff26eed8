"""Hierarchies of τ-ARGUS (`.hrc`): one code a line, a leading string for each step below the first level.

    North
    @59
    @62
    South
    @13

The total is not listed. Branches may differ in depth; as a `Hierarchy`, whose values all have the same number of
levels above them, a shorter branch repeats its last code. A code may stand twice: categories above the finest are then
told apart by the codes above them (`1/11` and `2/11`); what a record or a cell names by such a code has no one place,
and is refused. The format is that of the τ-ARGUS manual (4.x, section on hierarchical codes).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from os import PathLike
from pathlib import Path
from typing import NamedTuple

from flou.describe.hierarchy import OF_GROUPS, ROOT, Hierarchy
from flou.describe.table.apriori_rows import read_text
from flou.describe.table.dimension import Dimension
from flou.engine.errors import HierarchyError, ParameterError, listed
from flou.engine.output import PUBLIC, written_whole

LEAD = "@"


class HrcLine(NamedTuple):
    """A code, how many steps it lies below the total, and the code above it; None where that is the total."""

    code: str
    depth: int
    parent: str | None


def read_hrc(path: str | PathLike[str], lead: str = LEAD, *, encoding: str = "utf-8") -> list[HrcLine]:
    """The codes of a hierarchy file with their parents, in the order of the file."""
    _require_lead(lead)
    found: list[HrcLine] = []
    above: list[str] = []
    problems: list[str] = []
    for number, line in enumerate(read_text(path, "A hierarchy file", encoding).splitlines(), start=1):
        code, depth = line.strip(), 1
        while code.startswith(lead):
            code, depth = code[len(lead) :].lstrip(), depth + 1
        if not line.strip():
            continue
        if not code:
            problems.append(f"line {number} has no code behind {lead!r}")
        elif depth > len(above) + 1:
            problems.append(f"line {number}: {code!r} lies {depth - len(above)} steps below the line above, not one")
        else:
            above = [*above[: depth - 1], code]
            found.append(HrcLine(code, depth, above[-2] if depth > 1 else None))
    if not found and not problems:
        problems.append("it has no codes")
    if problems:
        raise HierarchyError(
            f"The hierarchy file {str(path)!r} cannot be used: {'; '.join(problems[:10])}"
            f"{f'; and {len(problems) - 10:,} more' if len(problems) > 10 else ''}."
        )
    return found


#: Labels from the first level down to a category.
Branch = tuple[str, ...]


@dataclass(frozen=True)
class CodeTree:
    """The categories of a hierarchy in order: the code of each, its branch, and whether others lie below it."""

    codes: tuple[str, ...]
    branches: tuple[Branch, ...]
    inner: tuple[bool, ...]

    @classmethod
    def of(cls, lines: Sequence[HrcLine]) -> CodeTree:
        """The tree of the lines of a file, categories of one code told apart by the codes above them."""
        paths: list[Branch] = []
        for line in lines:
            paths.append((*(paths[-1][: line.depth - 1] if paths else ()), line.code))
        inner = [below.depth > line.depth for line, below in pairwise(lines)] + [False] * bool(lines)
        n_places = Counter(line.code for line in lines)
        label = {
            path: "/".join(path) if n_places[path[-1]] > 1 and has_parts else path[-1]
            for path, has_parts in zip(paths, inner, strict=True)
        }
        same = ["/".join(path) for path, n in Counter(paths).items() if n > 1]
        if same:
            raise HierarchyError(f"Codes stand twice below the same code: {listed(same)}. Leave one of them out.")
        taken = [text for path, text in label.items() if text != path[-1] and n_places[text]]
        if taken:
            raise HierarchyError(
                f"Codes that stand twice cannot be told apart as {listed(taken)}: these are codes too."
            )
        branches = tuple(tuple(label.get(path[:k], path[k - 1]) for k in range(1, len(path) + 1)) for path in paths)
        return cls(tuple(line.code for line in lines), branches, tuple(inner))

    def by_code(self, wanted: Iterable[str]) -> dict[str, Branch]:
        """The branch of each code that is wanted and is there; refused where it stands twice."""
        return self._one_place(wanted, range(len(self.codes)))

    def leaves(self, wanted: Iterable[str] | None = None) -> dict[str, Branch]:
        """The branch of each code that nothing lies below: all of them, or those that are wanted."""
        places = [i for i, has_parts in enumerate(self.inner) if not has_parts]
        return self._one_place([self.codes[i] for i in places] if wanted is None else wanted, places)

    def require_leaves(self, borne: Iterable[str]) -> None:
        """Refuse what records bear and is no one leaf: a code with others below it, or one that stands twice."""
        ends = {code for code, has_parts in zip(self.codes, self.inner, strict=True) if not has_parts}
        held = set(borne)
        places: dict[str, list[str]] = {}
        for code, branch in zip(self.codes, self.branches, strict=True):
            if code in held - ends:
                places.setdefault(code, []).append(branch[-1])
        if places:
            named = [f"{c!r} ({' and '.join(found)})" if len(found) > 1 else repr(c) for c, found in places.items()]
            raise HierarchyError(
                f"Records bear codes that are no values of the hierarchy. {OF_GROUPS.format(groups=', '.join(named))}"
            )
        self.leaves(sorted(held))

    def distinct_leaves(self) -> dict[str, Branch]:
        """The branch of each code that nothing lies below and that stands once."""
        ends = Counter(code for code, has_parts in zip(self.codes, self.inner, strict=True) if not has_parts)
        return self.leaves([code for code, n in ends.items() if n == 1])

    def _one_place(self, wanted: Iterable[str], places: Iterable[int]) -> dict[str, Branch]:
        found: dict[str, list[Branch]] = {}
        for i in places:
            found.setdefault(self.codes[i], []).append(self.branches[i])
        held = {code: found[code] for code in wanted if code in found}
        doubled = [f"{code!r} ({' and '.join('/'.join(b) for b in b_s)})" for code, b_s in held.items() if len(b_s) > 1]
        if doubled:
            raise HierarchyError(
                f"These codes stand twice in the hierarchy, so that what bears them has no one place: "
                f"{', '.join(doubled)}. Give each place a code of its own."
            )
        return {code: branches[0] for code, branches in held.items()}


def hierarchy_of(leaves: Mapping[str, Branch], names: Sequence[str] = ()) -> Hierarchy:
    """The branches of values as a hierarchy for `Microdata`."""
    if not leaves:
        raise HierarchyError("No value of the hierarchy has one place: give each a code of its own.")
    most = max(len(branch) for branch in leaves.values())
    rows = [[*[code] * (most - len(branch)), *reversed(branch), ROOT] for code, branch in leaves.items()]
    return Hierarchy.from_dict({"rows": rows, "names": list(names)}, Path())


def hierarchy_from_hrc(
    path: str | PathLike[str], lead: str = LEAD, *, names: Sequence[str] = (), encoding: str = "utf-8"
) -> Hierarchy:
    """A hierarchy file as a `Hierarchy`: `flou.Microdata(frame, hierarchies={"region": …})`."""
    return hierarchy_of(CodeTree.of(read_hrc(path, lead, encoding=encoding)).leaves(), names)


def lines_of_dimension(dimension: Dimension) -> list[HrcLine]:
    """The categories of a dimension as a hierarchy file lists them."""
    if dimension.n_zonings > 1:
        raise HierarchyError(
            f"{dimension.name!r} has {dimension.n_zonings} zonings side by side; τ-ARGUS has one tree for a variable. "
            "Write a table for each zoning."
        )
    codes = codes_of(dimension)
    return [
        HrcLine(codes[node], int(dimension.depths[node]), codes[parent] if parent > 0 else None)
        for node, parent in enumerate(dimension.parents.tolist())
        if node > 0
    ]


def codes_of(dimension: Dimension) -> list[str]:
    """The one code of each node, the total's first; refused where two categories have the same."""
    codes = [dimension.category(node) for node in range(dimension.n_nodes)]
    doubled = [code for code, n in Counter(codes).items() if n > 1]
    if doubled:
        raise HierarchyError(
            f"In {dimension.name!r} these labels stand for several categories, on different levels: {listed(doubled)}. "
            "τ-ARGUS knows a category by its code alone: rename them first."
        )
    return codes


def lines_of_hierarchy(hierarchy: Hierarchy) -> list[HrcLine]:
    """A declared tree as a hierarchy file lists it; what a short branch repeats stands once."""
    if not hierarchy.table:
        raise HierarchyError(
            "Bands and prefixes hold for any value: write the hierarchy of the values there are, such as by to_csv and "
            "Hierarchy.from_csv."
        )
    children: dict[str, dict[str, None]] = {}
    tops: dict[str, None] = {}
    rooted = len({ancestors[-1] for _, ancestors in hierarchy.table}) == 1
    for leaf, ancestors in hierarchy.table:
        path = list(dict.fromkeys([*reversed(ancestors[:-1] if rooted else ancestors), leaf]))
        tops.setdefault(path[0])
        for parent, child in pairwise(path):
            children.setdefault(parent, {}).setdefault(child)
    out: list[HrcLine] = []
    waiting = [HrcLine(code, 1, None) for code in reversed(tops)]
    while waiting:
        line = waiting.pop()
        out.append(line)
        waiting += [HrcLine(child, line.depth + 1, line.code) for child in reversed(children.get(line.code, {}))]
    doubled = [code for code, n in Counter(line.code for line in out).items() if n > 1]
    if doubled:
        raise HierarchyError(
            f"The hierarchy has codes on two levels: {listed(doubled)}. τ-ARGUS knows a category by its code alone: "
            "rename them first."
        )
    return out


def write_hrc(
    what: Dimension | Hierarchy, path: str | PathLike[str], lead: str = LEAD, *, overwrite: bool = False
) -> None:
    """Write the hierarchy of a dimension, or a declared one, as a file."""
    lines = lines_of_hierarchy(what) if isinstance(what, Hierarchy) else lines_of_dimension(what)
    text = hrc_text(lines, lead)
    with written_whole(path, overwrite=overwrite, mode=PUBLIC) as file:
        file.write(text.encode())


def hrc_text(lines: Iterable[HrcLine], lead: str = LEAD) -> str:
    """The lines of a hierarchy file; codes that would not be read back are refused."""
    _require_lead(lead)
    held = list(lines)
    lost = [x.code for x in held if not plain_code(x.code) or x.code.startswith(lead)]
    if lost:
        raise HierarchyError(
            f"A hierarchy file holds codes that do not begin with {lead!r} and have no spaces at their ends, no quotes "
            f"and no line breaks; these do not fit: {listed(lost)}. Rename them, or take another lead."
        )
    return "".join(f"{lead * (line.depth - 1)}{line.code}\n" for line in held)


def plain_code(code: str) -> bool:
    """Whether a code survives being written on a line of its own."""
    return bool(code) and code == code.strip() and code.isprintable() and '"' not in code


def _require_lead(lead: object) -> None:
    if not isinstance(lead, str) or not lead or not plain_code(lead):
        raise ParameterError(f'lead = {lead!r} must be a text without spaces around it, such as "@".')
