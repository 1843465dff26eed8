"""Tables of τ-ARGUS (`.tab` with its `.rda` and `.hrc`): one line a cell, the codes, the figures and the status.

    found = read_tab("turnover.tab")
    found.table, found.apriori           # a Table, and what the statuses say beforehand

A dimension with a hierarchy becomes nested columns: the finest level has the name of the variable, those above it are
called `name@1`, `name@2`, … upwards, as levels of a hierarchy are in Flou, or by names that are given. Where there is
no frequency, the response is taken as the count if it is whole; τ-ARGUS would assume one contributor in each cell.

Statuses: unsafe cells must be protected, with the protection levels of the file; protected ones are kept, in τ-ARGUS's
sense of "not to be suppressed"; secondary ones are noted. Safe is what τ-ARGUS says of every cell that is nothing else:
unless it is asked for, it does not overrule the rules that are applied here.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from flou.describe.table.apriori import Apriori
from flou.describe.table.apriori_rows import read_text
from flou.describe.table.argus.hrc import Branch
from flou.describe.table.argus.rda import (
    Rda,
    Variable,
    branches_by_levels,
    read_rda,
    tree_for,
    warn_of_unused,
)
from flou.describe.table.cells import Floats
from flou.describe.table.dimension import TOTAL
from flou.describe.table.from_frame import table_from_frame
from flou.describe.table.spec import reserved
from flou.describe.table.table import Table
from flou.engine.errors import DataError, ParameterError, listed
from flou.engine.output import checked_path

_MOST_LISTED = 10
_EMPTY = ("", "-")
_COUNT, _VALUE = "count", "value"


@dataclass(frozen=True, eq=False)
class ArgusTable:
    """A table as τ-ARGUS has it: the cells, what is said of them beforehand, and what was suppressed for others."""

    table: Table
    apriori: Apriori
    #: Which cells the file calls secondary.
    secondary: NDArray[np.bool_]

    def __repr__(self) -> str:
        return f"{self.table!r}; {self.apriori!r}; {int(self.secondary.sum()):,} secondary"


def read_tab(
    path: str | PathLike[str],
    rda: str | PathLike[str] | None = None,
    *,
    counts: Literal["auto", "response", "one"] = "auto",
    safe_cells: Literal["rules", "stated"] = "rules",
    levels: Mapping[str, Sequence[str]] | None = None,
    encoding: str = "utf-8",
) -> ArgusTable:
    """Read a table; its description is the `.rda` beside it unless another is given.

    `counts` says what the counts are where the file has no frequencies: the response, or one contributor in each cell
    that is not zero, as τ-ARGUS assumes. `safe_cells = "stated"` takes the word of the file that its safe cells are
    not sensitive, whatever the rules say. `levels` names the levels above a variable, coarsest first.
    """
    _require(counts in ("auto", "response", "one"), f'counts = {counts!r} must be "auto", "response" or "one".')
    _require(safe_cells in ("rules", "stated"), f'safe_cells = {safe_cells!r} must be "rules" or "stated".')
    file = checked_path(path, "A table of τ-ARGUS", DataError)
    described = file.with_suffix(".rda") if rda is None else checked_path(rda, "A description", DataError)
    meta = read_rda(described, "table", encoding=encoding)
    warn_of_unused(described, meta)
    lines = _Lines(file, meta, encoding)
    labels, dims, total = _labels(lines, described.parent, levels or {}, encoding)
    count, value, response = _figures(lines, counts)
    frame = labels.with_columns(pl.Series(_COUNT, count), *([] if value is None else [pl.Series(_VALUE, value)]))
    table = table_from_frame(frame, dims, value=None if value is None else _VALUE, total=total, name=file.stem)
    places = _places(table, labels)
    largest = _largest(lines, count, response)
    table = table.with_changes(
        value_name=None if value is None else response.name,
        cells=table.cells if largest is None else table.cells.with_changes(largest=largest[np.argsort(places)]),
    )
    empty = (count == 0) if value is None else (count == 0) & (value == 0)
    said, secondary = _statements(lines, empty, safe_cells)
    by_cell = np.argsort(places)
    return ArgusTable(table, replace(said.take(by_cell), labels=table.labels()), secondary[by_cell])


class _Lines:
    """The fields of a file by variable, as texts, and on which line each cell stands."""

    def __init__(self, file: Path, meta: Rda, encoding: str) -> None:
        self.file, self.meta = file, meta
        reader = csv.reader(
            io.StringIO(read_text(file, "A table of τ-ARGUS", encoding), newline=""),
            delimiter=meta.separator or ";",
            skipinitialspace=True,
        )
        self.numbers: list[int] = []
        rows: list[list[str]] = []
        short = []
        for fields in reader:
            if not any(f.strip() for f in fields):
                continue
            if len(fields) != len(meta.variables):
                short.append(f"line {reader.line_num} has {len(fields)} fields")
            rows.append(fields)
            self.numbers.append(reader.line_num)
        if not rows:
            raise DataError(f"The table {str(file)!r} has no lines.")
        names = [v.name for v in meta.variables]
        self.refuse(short, f"should have {len(names)} fields, {listed(names)}, apart by {meta.separator!r}")
        self._columns = {v.name: [row[j].strip() for row in rows] for j, v in enumerate(meta.variables)}

    def refuse(self, problems: Sequence[str], what: str) -> None:
        """Raise where there are problems."""
        if problems:
            more = f"; and {len(problems) - _MOST_LISTED:,} more" if len(problems) > _MOST_LISTED else ""
            raise DataError(f"The table {str(self.file)!r} {what}: {'; '.join(problems[:_MOST_LISTED])}{more}.")

    def at(self, where: NDArray[np.bool_]) -> list[str]:
        """The lines on which something is so."""
        return [f"line {self.numbers[i]}" for i in np.flatnonzero(where)]

    def texts(self, variable: Variable) -> list[str]:
        return self._columns[variable.name]

    def numbers_of(self, variable: Variable) -> Floats:
        """The figures of a variable; NaN where the field is empty or a dash. A decimal comma is understood."""
        texts = self.texts(variable)
        out, wrong = np.full(len(texts), np.nan), []
        for i, text in enumerate(texts):
            if text in _EMPTY or text in variable.missing:
                continue
            try:
                out[i] = float(text.replace(",", "."))
            except ValueError:
                wrong.append(f"line {self.numbers[i]}: {text!r}")
        wrong += [f"line {self.numbers[i]}: {texts[i]!r}" for i in np.flatnonzero(np.isinf(out))]
        self.refuse(wrong, f"has in {variable.name!r} what is not a number")
        return out

    def only(self, role: str) -> Variable | None:
        found = [v for v in self.meta.variables if v.role == role]
        if len(found) > 1:
            raise DataError(f"The table {str(self.file)!r} has several variables of {role}: {[v.name for v in found]}.")
        return found[0] if found else None


def _require(holds: bool, message: str) -> None:
    if not holds:
        raise ParameterError(message)


def _labels(
    lines: _Lines, folder: Path, named: Mapping[str, Sequence[str]], encoding: str
) -> tuple[pl.DataFrame, list[str], str]:
    """A column of labels for each level, the dimensions as they are asked for, and the label of totals."""
    variables = lines.meta.of_role("dimension")
    if not variables:
        raise DataError(f"The table {str(lines.file)!r} has no <RECODEABLE> variable: a table needs a dimension.")
    unknown = [name for name in named if name not in [v.name for v in variables]]
    _require(not unknown, f"levels names {listed(unknown)}; the dimensions are {listed([v.name for v in variables])}.")
    totals = {v.total for v in variables}
    total = totals.pop() if len(totals) == 1 else TOTAL
    columns: dict[str, list[str]] = {}
    dims = []
    for v in variables:
        texts = lines.texts(v)
        own = list(dict.fromkeys(t for t in texts if t not in ("", v.total)))
        paths = _branches(v, own, folder, encoding)
        lines.refuse(
            [
                f"line {lines.numbers[i]}: {t!r}"
                for i, t in enumerate(texts)
                if t not in ("", v.total) and t not in paths
            ],
            f"has codes of {v.name!r} that its hierarchy does not",
        )
        depth = max((len(paths[t]) for t in own), default=1)
        shown = _level_names(v, depth, named)
        for j, column in enumerate(shown):
            if column in columns:
                raise DataError(f"Two levels would be called {column!r}: give other names with levels=.")
            columns[column] = [_at(paths.get(t, ()), j, total) for t in texts]
        dims.append(">".join(shown))
    taken = reserved(list(columns))
    if taken:
        raise DataError(f"A dimension cannot be called {listed(taken)}, as a column of every table is: rename it.")
    return pl.DataFrame(columns, schema=dict.fromkeys(columns, pl.String)), dims, total


def _branches(v: Variable, codes: Sequence[str], folder: Path, encoding: str) -> dict[str, Branch]:
    """The branch of each code of a dimension; a code of missing values stands right below the total."""
    tree = tree_for(v, folder, encoding=encoding)
    missing = {code: (code,) for code in codes if code in v.missing}
    known = [code for code in codes if code not in missing]
    found = branches_by_levels(v, known) if tree is None else tree.by_code(codes)
    return missing | found


def _level_names(v: Variable, depth: int, named: Mapping[str, Sequence[str]]) -> list[str]:
    above = list(named.get(v.name, [f"{v.name}@{depth - j}" for j in range(1, depth)]))
    _require(
        len(above) == depth - 1, f"levels of {v.name!r}: {listed(above)}; there are {depth - 1} levels above its codes."
    )
    return [*above, v.name]


def _at(path: Sequence[str], level: int, total: str) -> str:
    return path[level] if level < len(path) else total


def _figures(lines: _Lines, counts: str) -> tuple[Floats, Floats | None, Variable]:
    """The counts, the sums if there are any, and the variable of the response."""
    response, frequency = lines.only("response"), lines.only("frequency")
    if response is None and frequency is None:
        raise DataError(f"The table {str(lines.file)!r} has neither a <NUMERIC> response nor a <FREQUENCY>.")
    for v in (response, frequency):
        if v is not None:
            gone = np.array([text in v.missing for text in lines.texts(v)])
            lines.refuse(lines.at(gone), f"has the code of a missing value in {v.name!r}: its figure is not known")
    if response is None:
        assert frequency is not None
        return np.nan_to_num(lines.numbers_of(frequency)), None, frequency
    # an empty cell has nothing in it
    value = np.nan_to_num(lines.numbers_of(response))
    if frequency is not None:
        count = np.nan_to_num(lines.numbers_of(frequency))
        lines.refuse(lines.at((count == 0) & (value != 0)), "has figures where the frequency is zero")
        return count, value, response
    if counts == "one":
        return (value != 0).astype(np.float64), value, response
    whole = (value >= 0) & (value == np.floor(value))
    if counts == "auto" and not whole.all():
        raise DataError(
            f"The table {str(lines.file)!r} has no <FREQUENCY>, and its response {response.name!r} is not a count: how "
            "many contribute to a cell is not known. Add the frequencies, or take one contributor in each cell, as "
            'τ-ARGUS does, with counts="one": rules of frequencies then hold all cells sensitive.'
        )
    return value, None, response


def _largest(lines: _Lines, count: Floats, response: Variable) -> Floats | None:
    """The largest contributions, NaN where there are fewer contributors."""
    variables, shadow = lines.meta.of_role("largest"), lines.only("shadow")
    if not variables:
        return None
    if shadow is not None:
        lines.refuse(
            lines.at(np.nan_to_num(lines.numbers_of(shadow)) != np.nan_to_num(lines.numbers_of(response))),
            f"has contributions to the shadow {shadow.name!r}, which is not the response {response.name!r}; the rules "
            "look at the contributions to the response: leave <MAXSCORE> out of the description; they differ in",
        )
    held = np.stack([lines.numbers_of(v) for v in variables], axis=1)
    beyond = np.arange(len(variables)) >= count[:, None]
    held[beyond & (held == 0)] = np.nan
    with np.errstate(invalid="ignore"):
        mixed = np.asarray((np.diff(np.abs(held), axis=1) > 0).any(axis=1))
    lines.refuse(lines.at(mixed), "has contributions that are not largest first")
    return held


def _places(table: Table, labels: pl.DataFrame) -> NDArray[np.int64]:
    """Where the cell of each line stands in the table."""
    row, place = "__flou_row", "__flou_place"
    joined = labels.with_row_index(row).join(table.labels().with_row_index(place), on=labels.columns)
    out: NDArray[np.int64] = joined.sort(row)[place].to_numpy().astype(np.int64)
    return out


def _statements(lines: _Lines, empty: NDArray[np.bool_], safe_cells: str) -> tuple[Apriori, NDArray[np.bool_]]:
    """What statuses, levels and costs say of the cell of each line, and which cells are secondary."""
    meta, n, status = lines.meta, len(empty), lines.only("status")
    said = Apriori.none(n)
    words = np.array([""] * n if status is None else [t.upper() for t in lines.texts(status)])
    safe, unsafe, kept = (np.asarray(words == word.upper()) for word in (meta.safe, meta.unsafe, meta.protect))
    own = safe | unsafe | kept
    nothing: NDArray[np.bool_] = np.isin(words, ["E", "Z"]) & ~own
    secondary: NDArray[np.bool_] = (words == "M") & ~own
    unknown = ~(own | nothing | secondary | (words == ""))
    known = listed(dict.fromkeys([meta.safe.upper(), meta.unsafe.upper(), meta.protect.upper(), "M", "E"]))
    lines.refuse(
        [f"line {lines.numbers[i]}: {words[i]!s}" for i in np.flatnonzero(unknown)],
        f"has statuses that are not known; its description and τ-ARGUS have {known}",
    )
    lines.refuse(lines.at(nothing & ~empty), "calls cells empty that are not")
    said.protect[unsafe] = True
    said.keep[kept] = True
    if safe_cells == "stated":
        said.safe[safe] = True
    for role, held in (("lower", said.lower), ("upper", said.upper), ("cost", said.cost)):
        variable = lines.only(role)
        if variable is not None:
            # levels of cells that are not unsafe mean nothing to τ-ARGUS
            held[:] = np.where(unsafe | (role == "cost"), lines.numbers_of(variable), np.nan)
            lines.refuse(lines.at(held < 0), f"has negative figures in {variable.name!r}")
    return said, secondary
