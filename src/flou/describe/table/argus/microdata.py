"""Records of τ-ARGUS: a file of fixed columns or of separated fields (`.asc`, `.dat`, `.txt`) with its `.rda`.

    firms = read_argus_microdata("firms.asc")
    firms.tabulate(["region@*", "size"], value="turnover", weight="w")

Explanatory variables become keys, with their hierarchies; codes of missing values are undetermined; the weight has its
role; which holding a record belongs to never leaves (it is an identifier here, and can be given to `tabulate`), nor do
record keys (`flou.record_keys(data, stored=…)`) and who asked for protection; numbers have no role. Written files hold
the records as they are: internal ids, households and identifiers stay out of them, but nothing protects the rest, so
they are only written where that is said.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

import polars as pl

from flou.describe.microdata import Microdata
from flou.describe.public_schema import told_schema
from flou.describe.table.apriori_rows import read_text
from flou.describe.table.argus.hrc import LEAD, hierarchy_of, hrc_text, lines_of_hierarchy, plain_code
from flou.describe.table.argus.rda import (
    NUMBERS,
    Rda,
    Variable,
    branches_by_levels,
    rda_text,
    read_rda,
    tree_for,
    warn_of_unused,
)
from flou.describe.table.argus.tab_writing import checked_name, decimals_of, plain_number
from flou.describe.table.table_files import file_name
from flou.engine import native
from flou.engine.errors import DataError, OutputError, ParameterError, listed
from flou.engine.output import checked_path, require_new, written_whole
from flou.engine.values import text_of

_MOST_LISTED = 10


def read_argus_microdata(
    path: str | PathLike[str],
    rda: str | PathLike[str] | None = None,
    *,
    encoding: str = "utf-8",
    ignore: Sequence[str] = (),
    **roles: Any,
) -> Microdata:
    """Read records; their description is the `.rda` beside them unless another is given.

    `ignore=["REQUEST"]` reads a file in which respondents asked for protection, of which nothing is then known here.
    Roles can be added by name; hierarchies that are given stand in the place of all that the description names.
    """
    file = checked_path(path, "A file of records", DataError)
    described = file.with_suffix(".rda") if rda is None else checked_path(rda, "A description", DataError)
    meta = read_rda(described, "microdata", encoding=encoding, ignore=ignore)
    rows = _rows(file, meta, encoding)
    columns = {v.name: _column(v, [row[j] for row in rows], file) for j, v in enumerate(meta.variables)}
    hierarchies = {}
    for v in meta.of_role("dimension") if "hierarchies" not in roles else []:
        codes = sorted(c for c in columns[v.name].drop_nulls().unique().to_list() if c not in v.missing)
        tree = tree_for(v, described.parent, encoding=encoding)
        if tree is not None:
            apart = {text_of(c) for codes_of in _codes_apart(roles, v.name) for c in codes_of}
            tree.require_leaves(c for c in codes if c not in apart)  # what nobody bears may stand twice
            hierarchies[v.name] = hierarchy_of(tree.distinct_leaves())
        elif v.levels:
            hierarchies[v.name] = hierarchy_of(branches_by_levels(v, codes))
    weights = [v.name for v in meta.of_role("weight")]
    if len(weights) > 1:
        raise DataError(f"The description {str(described)!r} has several weights: {listed(weights)}.")
    found: dict[str, Any] = {
        "keys": [v.name for v in meta.of_role("dimension")],
        "identifiers": [v.name for v in meta.of_role("holding")],
        "not_released": [v.name for v in meta.variables if v.role in ("record key", "request")],
        "undetermined": {v.name: v.missing for v in meta.variables if v.missing},
        "hierarchies": hierarchies,
        **({"weight": weights[0]} if weights else {}),
    }
    warn_of_unused(described, meta)
    return Microdata(pl.DataFrame(list(columns.values())), **{**found, **roles})


def _codes_apart(roles: Mapping[str, Any], column: str) -> list[Iterable[Any]]:
    """The codes of a column that are declared by hand and need no place in its hierarchy."""
    said = [roles.get(word) for word in ("not_applicable", "undetermined")]
    return [of[column] for of in said if isinstance(of, Mapping) and isinstance(of.get(column), list | tuple)]


def _rows(file: Path, meta: Rda, encoding: str) -> list[list[str]]:
    text = read_text(file, "A file of records", encoding)
    n = len(meta.variables)
    problems, rows = [], []
    if meta.separator is not None:
        reader = csv.reader(io.StringIO(text, newline=""), delimiter=meta.separator, skipinitialspace=True)
        for fields in reader:
            if not any(f.strip() for f in fields):
                continue
            if len(fields) != n:
                problems.append(f"line {reader.line_num} has {len(fields)} fields, not {n}")
            rows.append([f.strip() for f in fields])
    else:
        starts = [((v.position or 1) - 1, (v.position or 1) - 1 + (v.width or 0)) for v in meta.variables]
        last = max(start for start, _ in starts)
        for number, line in enumerate(text.splitlines(), start=1):
            if not line.strip():
                continue
            if len(line) <= last:
                problems.append(f"line {number} has {len(line)} characters, the last variable begins at {last + 1}")
            rows.append([line[start:end].strip() for start, end in starts])
    if problems:
        more = f"; and {len(problems) - _MOST_LISTED:,} more" if len(problems) > _MOST_LISTED else ""
        raise DataError(f"The records {str(file)!r} do not fit: {'; '.join(problems[:_MOST_LISTED])}{more}.")
    if not rows:
        raise DataError(f"The file {str(file)!r} has no records.")
    return rows


def _column(v: Variable, texts: list[str], file: Path) -> pl.Series:
    """Codes as texts, amounts and weights as numbers, whole where they all are."""
    if v.role not in NUMBERS:
        return pl.Series(v.name, [t or None for t in texts], dtype=pl.String)
    held: list[float | None] = []
    wrong = []
    for number, text in enumerate(texts, start=1):
        try:
            held.append(float(text.replace(",", ".")) if text else None)
        except ValueError:
            held.append(None)
            wrong.append(f"record {number}: {text!r}")
    if wrong:
        more = f"; and {len(wrong) - _MOST_LISTED:,} more" if len(wrong) > _MOST_LISTED else ""
        raise DataError(
            f"{v.name!r} of {str(file)!r} is not a number in {'; '.join(wrong[:_MOST_LISTED])}{more}. A code for "
            "missing values is a number of the variable's width."
        )
    numbers = pl.Series(v.name, held, dtype=pl.Float64)
    whole = v.decimals == 0 and all(x is None or (x.is_integer() and abs(x) < 2**53) for x in held)
    return numbers.cast(pl.Int64) if whole else numbers


def write_argus_microdata(
    data: Microdata,
    path: str | PathLike[str],
    *,
    holding: str | None = None,
    separator: str | None = None,
    lead: str = LEAD,
    overwrite: bool = False,
    unprotected: bool = False,
) -> list[Path]:
    """Write records with their description and hierarchies; in fixed columns unless a separator is given."""
    if not unprotected:
        raise OutputError(
            "A file for τ-ARGUS holds the records as they are. Write it for the office alone with unprotected=True; "
            "what would be published is written by flou.write."
        )
    if separator is not None and separator not in (",", ";", "\t", "|"):
        raise ParameterError(f"separator = {separator!r} must be a comma, a semicolon, a tab or a bar.")
    if holding is not None and holding not in data.columns:
        raise ParameterError(f"holding = {holding!r} is no column. Columns: {listed(data.columns)}.")
    target = checked_path(path, "A file to write", OutputError)
    if target.suffix.lower() in (".rda", ".hrc"):
        raise ParameterError(f"{str(path)!r} would be overwritten by the description: name the records' file .asc.")
    data.require_other(target)
    rows = native.collect(data.frame)
    fields = [_field(data, rows[c], holding, separator) for c in _written(data, holding)]
    hierarchies: dict[Path, str] = {}
    told = told_schema(data.public()) if data.released else data.schema
    position = 1
    placed: list[tuple[Variable, list[str]]] = []
    for variable, texts in fields:
        changes: dict[str, Any] = {"width": max(1, max(map(len, texts)), *map(len, variable.missing or ("",)))}
        if separator is None:
            changes["position"] = position
            position += changes["width"] + 1
        hierarchy = told.hierarchies.get(variable.name)
        if hierarchy is not None and hierarchy.table:
            file = target.with_name(f"{target.stem}_{file_name(variable.name)}.hrc")
            hierarchies[file] = hrc_text(lines_of_hierarchy(hierarchy), lead)
            changes |= {"hrc": file.name, "lead": lead}
        placed.append((Variable(**{**vars(variable), **changes}), texts))
    texts_of = [[t.rjust(v.width or 0) for t in texts] if separator is None else texts for v, texts in placed]
    out = {
        target: "".join((separator or " ").join(line) + "\n" for line in zip(*texts_of, strict=True)),
        target.with_suffix(".rda"): rda_text(Rda(tuple(v for v, _ in placed), separator=separator)),
        **hierarchies,
    }
    for file_path in out:
        require_new(file_path, overwrite=overwrite)
    for file_path, text in out.items():
        with written_whole(file_path, overwrite=overwrite) as stream:
            stream.write(text.encode())
    data.require_unchanged()
    return list(out)


def _written(data: Microdata, holding: str | None) -> list[str]:
    """The columns that are written: those that are numbers of persons stay, but for the holding that was asked for."""
    schema = data.schema
    kept_back = set(schema.hidden) - {holding}
    columns = [c for c in data.columns if c not in kept_back]
    if not columns:
        raise OutputError("There is no column to write: all of them are identifiers.")
    return columns


def _field(data: Microdata, held: pl.Series, holding: str | None, separator: str | None) -> tuple[Variable, list[str]]:
    """A column as a variable and its texts."""
    name, schema = checked_name(held.name), data.schema
    missing = tuple(text_of(c) for c in schema.undetermined.get(name, ()))[:2]
    if held.null_count() and not missing:
        raise DataError(
            f"{name!r} is null in {held.null_count():,} records; τ-ARGUS needs a code for that: declare one, such as "
            f'undetermined={{{name!r}: ["9"]}}.'
        )
    number = held.dtype.is_numeric() and name not in schema.keys and name != holding
    if number:
        texts = [missing[0] if v is None else plain_number(v) for v in held.to_list()]
        role: Any = "weight" if name == schema.weight else "response"
        return Variable(name, role, missing=missing, decimals=decimals_of(held.to_list())), texts
    texts = [missing[0] if v is None else text_of(v) for v in held.to_list()]
    lost = [t for t in dict.fromkeys(texts) if not plain_code(t) or (separator or "\n") in t]
    if lost:
        raise DataError(
            "Codes in a file of τ-ARGUS have no quotes, no separator, no spaces at their ends and no line breaks; of "
            f"{name!r} these do not fit: {listed(lost)}. Rename them."
        )
    return Variable(name, "holding" if name == holding else "dimension", missing=missing), texts
