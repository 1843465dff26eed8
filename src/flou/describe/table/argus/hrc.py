"""Hierarchies of τ-ARGUS (`.hrc`): one code a line, a leading string for each step below the first level.

    North
    @59
    @62
    South
    @13

The total is not listed. A code stands for one category, whatever its depth, so codes that occur on two levels cannot be
told apart and are refused. Branches may differ in depth; as a `Hierarchy`, whose values all have the same number of
levels above them, a shorter branch repeats its last code. The format is that of the τ-ARGUS manual (4.x, section on
hierarchical codes).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from os import PathLike
from pathlib import Path
from typing import NamedTuple

from flou.describe.hierarchy import ROOT, Hierarchy
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
    doubled = [code for code, n in Counter(line.code for line in found).items() if n > 1]
    if doubled:
        problems.append(f"codes stand twice: {listed(doubled)}; each has one place")
    if not found and not problems:
        problems.append("it has no codes")
    if problems:
        raise HierarchyError(
            f"The hierarchy file {str(path)!r} cannot be used: {'; '.join(problems[:10])}"
            f"{f'; and {len(problems) - 10:,} more' if len(problems) > 10 else ''}."
        )
    return found


def paths_of(lines: Sequence[HrcLine]) -> dict[str, tuple[str, ...]]:
    """For each code the codes from the first level down to it."""
    paths: dict[str, tuple[str, ...]] = {}
    for line in lines:
        paths[line.code] = (*(paths[line.parent] if line.parent is not None else ()), line.code)
    return paths


def hierarchy_of(paths: Mapping[str, tuple[str, ...]], names: Sequence[str] = ()) -> Hierarchy:
    """Paths as a hierarchy for `Microdata`: the codes that nothing lies below are its values."""
    inner = {path[-2] for path in paths.values() if len(path) > 1}
    most = max(len(path) for path in paths.values())
    rows = []
    for code, path in paths.items():
        if code not in inner:
            rows.append((*(code for _ in range(most - len(path))), *reversed(path), ROOT))
    return Hierarchy.from_dict({"rows": [list(row) for row in rows], "names": list(names)}, Path())


def hierarchy_from_hrc(
    path: str | PathLike[str], lead: str = LEAD, *, names: Sequence[str] = (), encoding: str = "utf-8"
) -> Hierarchy:
    """A hierarchy file as a `Hierarchy`: `flou.Microdata(frame, hierarchies={"region": …})`."""
    return hierarchy_of(paths_of(read_hrc(path, lead, encoding=encoding)), names)


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
