"""What the lines of a list say of each cell, checked line by line and against each other.

Nothing is taken from a list that cannot be used as a whole: an unknown action, a cell that the table does not have or a
number that is missing would leave a cell without the protection that was asked for, so all of them are named at once.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from flou.describe.table.apriori_rows import Said
from flou.describe.table.dimension import Dimension
from flou.describe.table.find import find_node
from flou.describe.table.roll_up import Digits
from flou.describe.table.table import Table
from flou.engine.errors import DataError, FlouError, did_you_mean
from flou.engine.values import figure_text

#: What a line may say, and how many numbers it needs at least and at most.
ACTIONS = {"protect": (0, 2), "keep": (0, 0), "safe": (0, 0), "cost": (1, 1), "bounds": (1, 2), "levels": (2, 2)}
#: Of two things said of one cell, which do not go together.
_CONTRARY = (("protect", "keep"), ("protect", "safe"), ("levels", "keep"), ("levels", "safe"))
Numbers = tuple[float, float]
#: What is said of one cell: where each action stands, and its numbers.
OfCell = dict[str, tuple[str, Numbers]]


def gather(said: Sequence[Said], table: Table) -> tuple[dict[int, OfCell], list[str], list[str]]:
    """What is said of each cell; lines that cannot be used; and contradictions."""
    problems, contrary = [], []
    found: defaultdict[int, OfCell] = defaultdict(dict)
    places = _Places(table)
    for one in said:
        try:
            numbers = _numbers(one)
            place = places.of(one.labels)
        except FlouError as error:
            problems.append(f"{one.where}: {error}")
            continue
        before = found[place].get(one.action)
        if before is not None and not np.array_equal(before[1], numbers, equal_nan=True):
            contrary.append(
                f"{cell_text(table, place)}: {one.action} {_numbers_text(before[1])} ({before[0]}) and "
                f"{_numbers_text(numbers)} ({one.where})"
            )
        found[place].setdefault(one.action, (one.where, numbers))
    for place, held in found.items():
        contrary += _contrary(table, place, held)
    return dict(found), problems, contrary


class _Places:
    """Where cells stand in a table, by their labels."""

    def __init__(self, table: Table) -> None:
        self._table = table
        self._digits = Digits(tuple(dim.n_nodes for dim in table.dims))
        packed = self._digits.pack(list(table.cells.codes.T))
        self._held = {int(cell): place for place, cell in enumerate(packed)}
        self._nodes: dict[tuple[str | None, ...], int] = {}

    def of(self, labels: Mapping[str, str]) -> int:
        nodes = [self._node(dim, labels) for dim in self._table.dims]
        cell = int(self._digits.pack([np.array([node]) for node in nodes])[0])
        if cell not in self._held:
            raise DataError(f"the table does not list the cell {_nodes_text(self._table, nodes)}: {self._why(nodes)}")
        return self._held[cell]

    def _node(self, dim: Dimension, labels: Mapping[str, str]) -> int:
        key = (dim.name, *(labels.get(c) for c in dim.columns))
        if key not in self._nodes:
            self._nodes[key] = find_node(dim, labels)
        return self._nodes[key]

    def _why(self, nodes: list[int]) -> str:
        codes = self._table.cells.codes
        for j, (dim, node) in enumerate(zip(self._table.dims, nodes, strict=True)):
            held = np.unique(codes[:, j])
            if not ((dim.reaches[held] == dim.reaches[node]) & (dim.zonings[held] == dim.zonings[node])).any():
                return f"it was made without this margin of {dim.name!r}."
        return 'nobody is in it. Leave the line out, or make the table with cells="all".'


def _nodes_text(table: Table, nodes: Sequence[int]) -> str:
    return " × ".join(dim.category(node) for dim, node in zip(table.dims, nodes, strict=True))


def cell_text(table: Table, place: int) -> str:
    return _nodes_text(table, table.cells.codes[place].tolist())


def _numbers(one: Said) -> Numbers:
    """The numbers of a line, checked for what its action needs."""
    if one.action not in ACTIONS:
        raise DataError(f"{one.action!r} is no action.{did_you_mean(one.action, ACTIONS)}")
    least, most = ACTIONS[one.action]
    given = [v for v in (one.first, one.second) if v is not None]
    for value in given:
        if isinstance(value, str):
            raise DataError(f"{one.action}: {value!r} is not a number.")
        if not math.isfinite(value) or (value < 0 and one.action != "bounds"):
            raise DataError(f"{one.action}: {value:g} cannot be; it needs a number that is not negative.")
    if most < 2 and one.second is not None:
        raise DataError(f"{one.action} takes {'one number, first' if most else 'no number'}; given {given!r}.")
    if len(given) > most:
        raise DataError(f"{one.action} takes no number; given {given!r}.")
    if len(given) < least:
        needs = {"cost": "a number, first", "bounds": "first, second or both", "levels": "two numbers"}[one.action]
        raise DataError(f"{one.action} needs {needs}; {'one' if given else 'none'} is given.")
    first = math.nan if one.first is None else float(one.first)
    second = math.nan if one.second is None else float(one.second)
    if one.action == "bounds" and first > second:
        raise DataError(f"bounds: the low one, {figure_text(first)}, is above the high one, {figure_text(second)}.")
    return first, second


def _numbers_text(numbers: Numbers) -> str:
    return ", ".join(figure_text(v) for v in numbers if not math.isnan(v)) or "without a number"


def _contrary(table: Table, place: int, held: OfCell) -> Iterable[str]:
    for one, two in _CONTRARY:
        if one in held and two in held:
            yield f"{cell_text(table, place)}: {one} ({held[one][0]}) and {two} ({held[two][0]})"
    if "protect" in held and "levels" in held:
        asked = held["protect"][1]
        if not all(math.isnan(a) or a == b for a, b in zip(asked, held["levels"][1], strict=True)):
            yield (
                f"{cell_text(table, place)}: protect with {_numbers_text(asked)} ({held['protect'][0]}) and levels "
                f"{_numbers_text(held['levels'][1])} ({held['levels'][0]})"
            )
