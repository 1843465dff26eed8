"""Write a table for τ-ARGUS: `.tab`, its description `.rda`, and an `.hrc` for each nested dimension.

The file holds the true figures: it is made for an office's own use of τ-ARGUS and is never a publication, so it is only
written where that is said. The status of a cell is that of the table's suppression if it has one (U primary, M
secondary, P kept, E empty, S otherwise), else what an a-priori list says of it. What the format has no place for is
refused rather than lost: zonings side by side, codes on two levels, contributions below zero, a-priori bounds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from os import PathLike
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from flou.describe.table.apriori import Apriori, require_aligned
from flou.describe.table.argus.hrc import LEAD, codes_of, hrc_text, lines_of_dimension, plain_code
from flou.describe.table.argus.rda import Rda, Role, Variable, rda_text
from flou.describe.table.dimension import Dimension
from flou.describe.table.suppression import State, Suppression
from flou.describe.table.table import Table
from flou.describe.table.table_files import file_name
from flou.engine.errors import DataError, OutputError, ParameterError, listed
from flou.engine.output import checked_path, require_new, written_whole

_STATUS = {State.PUBLISHED: "S", State.KEPT: "P", State.ZERO: "E", State.PRIMARY: "U", State.SECONDARY: "M"}
#: The figures of one variable: texts as they are written, and how many decimals they have.
_Field = tuple[Variable, list[str]]


def write_tab(
    table: Table,
    path: str | PathLike[str],
    *,
    apriori: Apriori | None = None,
    contributions: Literal["largest", "none"] = "largest",
    separator: str = ",",
    lead: str = LEAD,
    overwrite: bool = False,
    unprotected: bool = False,
) -> list[Path]:
    """Write a table's true figures with its description and hierarchies, and say which files were made."""
    target = _require_target(table, path, separator, unprotected=unprotected)
    if contributions not in ("largest", "none"):
        raise ParameterError(f'contributions = {contributions!r} must be "largest" or "none".')
    if apriori is not None:
        require_aligned(apriori, table)
    fields, hierarchies = _dimensions(table, target, separator, lead)
    taken = [v.name for v, _ in fields]
    fields += _figures(table, contributions, taken)
    fields += _statuses(table, apriori, taken)
    rda = Rda(tuple(v for v, _ in fields), separator=separator)
    lines = zip(*(texts for _, texts in fields), strict=True)
    texts = {
        target: "".join(f"{separator.join(line)}\n" for line in lines),
        target.with_suffix(".rda"): rda_text(rda),
        **hierarchies,
    }
    for file_path in texts:
        require_new(file_path, overwrite=overwrite)
    for file_path, text in texts.items():
        with written_whole(file_path, overwrite=overwrite) as file:
            file.write(text.encode())
    return list(texts)


def _require_target(table: Table, path: object, separator: str, *, unprotected: bool) -> Path:
    if not unprotected:
        raise OutputError(
            "A file for τ-ARGUS holds the true figures of every cell, protected or not. Write it for the office alone "
            "with unprotected=True; what would be published is written by Table.write."
        )
    if table.cells.count is None:
        raise OutputError("This is a table as it was published: it has no true figures for τ-ARGUS to protect.")
    if separator not in (",", ";", "\t", "|"):
        raise ParameterError(f"separator = {separator!r} must be a comma, a semicolon, a tab or a bar.")
    target = checked_path(path, "A file to write", OutputError)
    if target.suffix.lower() in (".rda", ".hrc"):
        raise ParameterError(f"{str(path)!r} would be overwritten by the description: name the table's file .tab.")
    return target


def _dimensions(table: Table, target: Path, separator: str, lead: str) -> tuple[list[_Field], dict[Path, str]]:
    fields: list[_Field] = []
    hierarchies: dict[Path, str] = {}
    for j, dim in enumerate(table.dims):
        variable = Variable(checked_name(dim.columns[-1]), "dimension", total=dim.total)
        # also where it is flat: zonings and codes that stand twice are refused
        lines = lines_of_dimension(dim)
        codes = _codes(dim, separator)
        if max(dim.levels) > 1:
            file = target.with_name(f"{target.stem}_{file_name(variable.name)}.hrc")
            if file in hierarchies:
                raise OutputError(f"Two dimensions would have one hierarchy file, {file.name!r}: rename one.")
            hierarchies[file] = hrc_text(lines, lead)
            variable = replace(variable, hrc=file.name, lead=lead)
        held = table.cells.codes[:, j]
        fields.append((variable, [codes[node] for node in held.tolist()]))
    return fields, hierarchies


def _codes(dim: Dimension, separator: str) -> list[str]:
    codes = codes_of(dim)
    lost = [code for code in codes if not plain_code(code) or separator in code]
    if lost:
        raise DataError(
            f"Codes in a file of τ-ARGUS have no {separator!r}, no quotes, no spaces at their ends and no line breaks; "
            f"of {dim.name!r} these do not fit: {listed(lost)}. Rename them, or take another separator."
        )
    return codes


def checked_name(name: str) -> str:
    """A name that τ-ARGUS can read."""
    if not name or any(c.isspace() or c in '"<>' for c in name) or not name.isprintable():
        raise DataError(f"τ-ARGUS knows variables by names without spaces, quotes, < and >: rename {name!r}.")
    return name


def _free(name: str, taken: list[str]) -> str:
    """A name that no other variable has."""
    while name in taken:
        name += "_"
    taken.append(name)
    return name


def _figures(table: Table, contributions: str, taken: list[str]) -> list[_Field]:
    cells = table.cells
    counted: Any = cells.count if cells.holdings is None else cells.holdings
    if cells.value is None and cells.weighted is None:
        return [_numbers(_free("count", taken), "response", table.true_counts)]
    figures: Any = cells.weighted if cells.value is None else cells.value
    given = table.value_name if cells.value is not None else table.weight_name
    fits = given is not None and not any(c.isspace() or c in '"<>' for c in given) and given not in taken
    name = _free(str(given) if fits else "value", taken)
    fields = [_numbers(name, "response", figures), _numbers(_free("frequency", taken), "frequency", counted)]
    if contributions == "largest" and cells.largest is not None and cells.largest_weights is None:
        if (cells.largest < 0).any():
            raise DataError(
                "Some of the largest contributions are below zero, which τ-ARGUS does not take in a table: write it "
                'without them, contributions="none", or add up amounts that are not negative.'
            )
        for k in range(cells.largest.shape[1]):
            fields.append(_numbers(_free(f"max{k + 1}", taken), "largest", cells.largest[:, k]))
    return fields


def _statuses(table: Table, apriori: Apriori | None, taken: list[str]) -> list[_Field]:
    """The status of each cell, and what is asked for it."""
    words = np.where(table.true_counts == 0, "E", "S")
    suppression: Suppression | None = getattr(table, "suppression", None)
    if suppression is not None:
        words = np.array([_STATUS[State(state)] for state in suppression.states])
    fields: list[_Field] = []
    if apriori is not None:
        if not (np.isnan(apriori.low) & np.isnan(apriori.high)).all():
            raise DataError("The files of τ-ARGUS have no place for what an intruder knows beforehand (bounds).")
        words[apriori.safe] = "S"
        words[apriori.keep] = "P"
        words[apriori.protect] = "U"
        for name, role, held in (
            ("cost", "cost", apriori.cost),
            ("lower", "lower", np.where(apriori.protect, apriori.lower, np.nan)),
            ("upper", "upper", np.where(apriori.protect, apriori.upper, np.nan)),
        ):
            if not np.isnan(held).all():
                fields.append(_numbers(_free(name, taken), role, held))  # type: ignore[arg-type]
    return [(Variable(_free("status", taken), "status"), words.tolist()), *fields]


def _numbers(name: str, role: Role, figures: NDArray[Any]) -> _Field:
    """Figures as texts that are read back the same: no exponents, a dash where there is none."""
    held = figures.tolist()
    return Variable(name, role, decimals=decimals_of(held)), [plain_number(v) for v in held]


def plain_number(value: float) -> str:
    """A number with all its digits and without an exponent; a dash for what is not known."""
    if value != value:
        return "-"
    if float(value).is_integer():
        return str(int(value))
    return f"{Decimal(repr(value)):f}"


def decimals_of(figures: Sequence[float | None]) -> int:
    """The most decimals that any of these numbers has, but for what floats lose in adding up."""
    texts = (f"{Decimal(f'{v:.15g}'):f}" for v in figures if v is not None and v == v)
    return max((len(t.partition(".")[2]) for t in texts), default=0)
