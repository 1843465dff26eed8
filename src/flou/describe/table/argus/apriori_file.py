"""A-priori lists of τ-ARGUS (`.hst`): the codes of a cell, a letter for what is said of it, and its numbers.

    59,F,u             must be protected (unsafe)
    59,F,pl,100,200    with these protection levels
    62,Total,p         must be shown (protected from suppression, as τ-ARGUS calls it)
    13,F,s             safe, whatever the rules say
    13,M,c,7           what suppressing it costs; also `w`
    06,M,m             must not be shown; no interval is asked for it (secondary); also `ml`

A code stands for one category of a dimension, on whatever level. The separator is `,` or `;`. A line that cannot be
used is refused, never passed over. τ-ARGUS's own word for a-priori bounds (`ab`) has no effect there and is refused.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Sequence
from os import PathLike

import numpy as np

from flou.describe.table.apriori import Apriori, apriori_of, require_aligned, statements
from flou.describe.table.apriori_rows import Said, read_text
from flou.describe.table.argus.hrc import codes_of, plain_code
from flou.describe.table.argus.tab_writing import plain_number
from flou.describe.table.table import Table
from flou.engine.errors import DataError, ParameterError, did_you_mean, listed
from flou.engine.output import written_whole

#: What is said, in τ-ARGUS's letters, and how many numbers stand behind it.
_ACTIONS = {
    "u": ("protect", 0), "s": ("safe", 0), "p": ("keep", 0), "c": ("cost", 1), "w": ("cost", 1), "pl": ("levels", 2),
    "m": ("protect", 0), "ml": ("protect", 0),
}  # fmt: skip
_LETTERS = {"protect": "u", "safe": "s", "keep": "p", "cost": "c", "levels": "pl"}
_SEPARATORS = (",", ";", "\t")


def read_hst(
    path: str | PathLike[str], table: Table, separator: str | None = None, *, encoding: str = "utf-8"
) -> Apriori:
    """What an a-priori list of τ-ARGUS says of the cells of a table."""
    text = read_text(path, "An a-priori list", encoding)
    sign = separator or _separator(text, len(table.dims))
    if len(sign) != 1:
        raise ParameterError(f"separator = {separator!r} must be one sign.")
    nodes = [{code: node for node, code in enumerate(codes_of(dim))} for dim in table.dims]
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=sign, skipinitialspace=True)
    said, problems = [], []
    for fields in reader:
        where = f"line {reader.line_num}"
        held = [f.strip() for f in fields]
        if not any(held):
            continue
        try:
            said.append(_said(where, held, table, nodes))
        except DataError as error:
            problems.append(f"{where}: {error}")
    if problems:
        more = f"\n  … and {len(problems) - 10:,} more" if len(problems) > 10 else ""
        raise DataError(
            f"The a-priori list {str(path)!r} has {len(problems):,} lines that cannot be used:\n"
            + "\n".join(f"  - {p}" for p in problems[:10])
            + more
        )
    return apriori_of(said, table)


def _separator(text: str, n_dims: int) -> str:
    """The sign by which the first line has a letter behind its codes."""
    first = next((line for line in text.splitlines() if line.strip()), "")
    for sign in _SEPARATORS:
        fields = first.split(sign)
        if len(fields) > n_dims and fields[n_dims].strip().lower() in _ACTIONS:
            return sign
    return max(_SEPARATORS, key=first.count)


def _said(where: str, fields: Sequence[str], table: Table, nodes: Sequence[dict[str, int]]) -> Said:
    n = len(table.dims)
    if len(fields) <= n:
        raise DataError(f"{len(fields)} fields; a line has {n} codes and what is said of the cell.")
    labels: dict[str, str] = {}
    for dim, code, known in zip(table.dims, fields, nodes, strict=False):
        node = known.get(code, 0 if code == "" else None)
        if node is None:
            raise DataError(f"{code!r} is no category of {dim.name!r}.{did_you_mean(code, known)}")
        labels |= dict(zip(dim.columns, dim.labels.row(node), strict=True))
    letter = fields[n].lower()
    if letter not in _ACTIONS:
        raise DataError(f"{fields[n]!r} is not what τ-ARGUS says of a cell.{did_you_mean(letter, _ACTIONS)}")
    action, n_numbers = _ACTIONS[letter]
    numbers = [f for f in fields[n + 1 :] if f]
    if len(numbers) != n_numbers:
        raise DataError(f"{letter!r} takes {n_numbers} numbers; given {listed(numbers) or 'none'}.")
    if letter in ("m", "ml"):
        return Said(where, labels, "protect", 0.0, 0.0)
    first, second = ([_number(x) for x in numbers] + [None, None])[:2]
    return Said(where, labels, action, first, second)


def _number(text: str) -> float | str:
    try:
        return float(text)
    except ValueError:
        return text


def write_hst(
    apriori: Apriori, table: Table, path: str | PathLike[str], separator: str = ",", *, overwrite: bool = False
) -> None:
    """Write an a-priori list for τ-ARGUS. It is for the office alone: it tells what is sensitive."""
    require_aligned(apriori, table)
    if separator not in _SEPARATORS:
        raise ParameterError(f"separator = {separator!r} must be a comma, a semicolon or a tab.")
    if not (np.isnan(apriori.low) & np.isnan(apriori.high)).all():
        raise DataError("An a-priori list of τ-ARGUS has no place for what an intruder knows beforehand (bounds).")
    if (apriori.cost == 0).any():
        raise DataError("τ-ARGUS takes costs above zero alone; some are zero.")
    half = np.isnan(apriori.lower) != np.isnan(apriori.upper)
    if half.any():
        raise DataError(f"τ-ARGUS takes both protection levels of a cell or none; of {int(half.sum()):,} one is given.")
    codes = [codes_of(dim) for dim in table.dims]
    lost = [code for held in codes for code in held if not plain_code(code) or separator in code]
    if lost:
        raise DataError(
            f"Codes in an a-priori list have no {separator!r}, no quotes, no spaces at their ends and no line breaks; "
            f"these do not fit: {listed(lost)}. Rename them, or take another separator."
        )
    lines = []
    for place, action, numbers in statements(apriori):
        cell = [codes[j][node] for j, node in enumerate(table.cells.codes[place].tolist())]
        given = [plain_number(v) for v in numbers if not math.isnan(v)]
        if action != "protect":
            lines.append(separator.join([*cell, _LETTERS[action], *given]))
            continue
        lines.append(separator.join([*cell, "u"]))
        if given:
            lines.append(separator.join([*cell, "pl", *given]))
    with written_whole(path, overwrite=overwrite) as file:
        file.write("".join(f"{line}\n" for line in lines).encode())
