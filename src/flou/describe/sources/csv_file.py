"""CSV files, read the same way for every engine.

All columns are read as text, then typed by rules of our own: a column is whole numbers only if every
value is written as one, without leading zeros, so that the code "01" stays "01". An empty cell is null.
"""

from __future__ import annotations

import codecs
import csv
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

import polars as pl

from flou.describe.formulas import read_back
from flou.describe.schema import ColumnType
from flou.engine import native
from flou.engine.errors import DataError, listed
from flou.engine.native import first_line
from flou.engine.output import Formulas, require_formulas
from flou.engine.parsing import checked_encoding
from flou.engine.spool import spool_folder
from flou.engine.values import text_of

_INTEGER = r"^-?(?:0|[1-9]\d{0,17})$"
#: Fifteen digits before the point: a float holds no more, and long codes must not collide.
_NUMBER = r"^-?(?:0|[1-9]\d{0,14})(?:\.\d+)?(?:[eE][+-]?\d{1,2})?$"
#: A number of more digits, or with a larger exponent, is one where a float is written like that to the last character.
_LONG = r"^-?\d{1,17}(?:\.\d+)?(?:e[+-]\d{2,3})?$"
_DATE = r"^\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])$"
_BOOLEAN = r"^(?:true|false)$"
_DTYPES: dict[ColumnType, pl.DataType] = {
    "integer": pl.Int64(), "number": pl.Float64(), "text": pl.String(), "date": pl.Date(), "boolean": pl.Boolean(),
}  # fmt: skip
_PATTERNS: dict[ColumnType, str] = {
    "integer": _INTEGER,
    "number": _NUMBER,
    "date": _DATE,
    "boolean": _BOOLEAN,
}


def scan_csv(
    paths: Sequence[Path],
    *,
    delimiter: str | None,
    encoding: str,
    decimal: str,
    formulas: Formulas = "escaped",
    types: Mapping[str, ColumnType],
    undetermined: Mapping[str, Sequence[object]],
    categories: Collection[str] = (),
) -> pl.LazyFrame:
    """A lazy, typed scan of CSV files. Without `delimiter`, it is `,`, `;`, `|` or a tab, as the header shows.

    `categories` are the columns whose values are compared: in them one number must not be written in two ways.
    """
    name = str(paths[0])
    require_formulas(formulas)
    encoding = checked_encoding(encoding)
    if decimal not in (".", ","):
        raise DataError(f'decimal = {decimal!r} must be "." or ",".')
    header = _header(paths[0], encoding)
    if delimiter is not None and (not isinstance(delimiter, str) or len(delimiter) != 1 or not delimiter.isascii()):
        raise DataError(f"delimiter = {delimiter!r} must be a single character, of ASCII.")
    separator = delimiter or max(",;\t|", key=header.count)
    columns = _columns(header, separator, name)
    for path in paths[1:]:
        if _columns(_header(path, encoding), separator, str(path)) != columns:
            raise DataError(f"{str(path)!r} has other columns than {name!r}; files of one pattern have the same.")
    if len(columns) == 1 and delimiter is not None:
        other = max(",;\t|", key=header.count)
        if header.count(other):
            raise DataError(f"{name!r} has one column with the delimiter {delimiter!r}; its header suggests {other!r}.")
    try:
        for path in paths:
            _require_full_lines(path, separator, encoding, len(columns))
        scans = [_scan_text(path, separator, encoding, columns) for path in paths]
        rows = scans[0] if len(scans) == 1 else pl.concat(scans)
        if formulas == "escaped":
            rows = rows.select(read_back(pl.col(c)).alias(name) for c, name in _names_read_back(columns).items())
        plain = _with_points(_without_codes(rows, undetermined), decimal, types)
        return _typed(plain, types, name, categories)
    except UnicodeError as error:
        reason = getattr(error, "reason", error)
        raise DataError(f"{name!r} is not {encoding} ({reason}). Give its encoding, such as latin-1.") from None
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, csv.Error) as error:
        message = first_line(error)
        hint = " Is the delimiter right? A quote inside a quoted cell is written twice."
        if "utf" in message.lower():
            hint = " Give its encoding, latin-1 for instance."
        raise DataError(f"{name!r} cannot be read as a CSV file: {message}.{hint}") from None


def _names_read_back(columns: list[str]) -> dict[str, str]:
    names = pl.Series(columns).to_frame().select(read_back(pl.nth(0))).to_series().to_list()
    # two names that differ by an apostrophe alone stay as they are
    return dict(zip(columns, names if len(set(names)) == len(names) else columns, strict=True))


def _scan_text(path: Path, separator: str, encoding: str, columns: list[str]) -> pl.LazyFrame:
    """All columns as text; a file in another encoding than UTF-8 is written anew in a spool."""
    if codecs.lookup(encoding).name not in ("utf-8", "utf-8-sig"):
        path = _in_utf8(path, encoding)
    return pl.scan_csv(path, separator=separator, infer_schema=False, glob=False, new_columns=columns)


def _in_utf8(path: Path, encoding: str) -> Path:
    copy = spool_folder() / "text.csv"
    with path.open(encoding=encoding, newline="") as text, copy.open("w", encoding="utf-8", newline="") as out:
        for block in iter(lambda: text.read(1 << 20), ""):
            out.write(block)
    return copy


def _require_full_lines(path: Path, separator: str, encoding: str, width: int) -> None:
    """Refuse lines with too few or too many fields: a cut line would otherwise end in undetermined values.

    Without quotes, in an encoding that writes ASCII as it is, a count of separators tells; otherwise the
    lines are parsed one by one.
    """
    with path.open("rb") as file:
        quoted = any(b'"' in block for block in iter(lambda: file.read(1 << 20), b""))
    if quoted or "a,".encode(encoding) != b"a,":
        with path.open(encoding=encoding, newline="") as text:
            lines = enumerate(csv.reader(text, delimiter=separator), start=1)
            wrong = [n for n, fields in lines if len(fields) != width and (fields or width > 1)][:5]
    else:
        raw = pl.scan_csv(
            path, separator="\x01", quote_char=None, has_header=False, new_columns=["line"], infer_schema=False,
            glob=False, encoding="utf8-lossy",
        )  # fmt: skip
        fields = pl.col("line").str.count_matches(separator, literal=True) + 1
        wrong = (
            raw.with_row_index("n", offset=1)
            .filter((fields != width).fill_null(width > 1))  # a blank line would be a record without any value
            .head(5)
            .select("n")
            .collect(engine="streaming")["n"]
            .to_list()
        )
    if wrong:
        raise DataError(
            f"{str(path)!r} has lines that do not have {width} fields as the header has: line {listed(wrong)}. "
            "They are blank or cut, or the delimiter is another."
        )


def _columns(header: str, separator: str, name: str) -> list[str]:
    """The names in the header, quotes taken off; doubled or missing ones are refused."""
    try:
        names = next(csv.reader([header], delimiter=separator), [])
    except csv.Error as error:
        raise DataError(f"{name!r} cannot be read as a CSV file: its first line is none of names ({error}).") from None
    if not any(n.strip() for n in names):
        raise DataError(f"{name!r} is empty, or its first line is: it must name the columns.")
    if len(names) > native.MOST_COLUMNS:
        raise DataError(native.too_wide(f"{name!r}", len(names)))
    stripped = [n.strip() for n in names]
    nameless = [i for i, n in enumerate(names, start=1) if not n]
    if nameless:
        raise DataError(f"{name!r} has columns without a name: column {listed(nameless)}. Name each in the first line.")
    doubled = sorted(n for n, times in Counter(stripped).items() if times > 1)
    if doubled:
        raise DataError(f"{name!r} has columns of the same name: {listed(doubled)}. Rename one of each.")
    native.refuse_patterns(names)
    return names


def _header(path: Path, encoding: str) -> str:
    plain = codecs.lookup(encoding).name == "utf-8"
    try:
        with path.open(encoding="utf-8-sig" if plain else encoding, newline="") as file:
            return file.readline().rstrip("\r\n")
    except UnicodeError:
        raise DataError(f"{str(path)!r} is not {encoding}. Give its encoding, latin-1 for instance.") from None
    except OSError as error:
        raise DataError(f"{str(path)!r} cannot be read ({first_line(error)}).") from None


def _without_codes(rows: pl.LazyFrame, undetermined: Mapping[str, Sequence[object]]) -> pl.LazyFrame:
    """Codes that mean null become null while all is text, so that "?" among numbers leaves numbers."""
    names = rows.collect_schema().names()
    # a quoted empty cell is as empty as any other
    codes = {c: ["", *(text_of(v) for v in undetermined.get(c, ()))] for c in names}
    return rows.with_columns(pl.when(~pl.col(c).is_in(v)).then(pl.col(c)).alias(c) for c, v in codes.items())


def _with_points(rows: pl.LazyFrame, decimal: str, types: Mapping[str, ColumnType]) -> pl.LazyFrame:
    """Decimal commas as points, in the columns whose every value is then a number."""
    if decimal == ".":
        return rows
    names = [n for n in rows.collect_schema().names() if types.get(n, "number") == "number"]
    numeric = [pl.col(n).str.contains(_NUMBER.replace(r"\.", ",")).all().alias(n) for n in names]
    found = rows.select(numeric).collect(engine="streaming").row(0, named=True)
    return rows.with_columns(pl.col(n).str.replace(",", ".", literal=True) for n in names if found[n])


def _typed(rows: pl.LazyFrame, types: Mapping[str, ColumnType], path: str, categories: Collection[str]) -> pl.LazyFrame:
    """Cast each column to its declared type, or to the narrowest that fits all of its values."""
    names = rows.collect_schema().names()
    tests = [
        _fits(name, kind, pattern).all().alias(f"{kind} {name}")
        for name in names
        for kind, pattern in _PATTERNS.items()
        if types.get(name, kind) == kind and types.get(name) != "text"
    ]
    some = [pl.col(name).is_not_null().any().alias(f"some {name}") for name in names]
    found = rows.select(pl.len().alias("n rows"), *tests, *some).collect(engine="streaming").row(0, named=True)
    if not found["n rows"]:
        raise DataError(f"{path!r} has no records: there is nothing below its header.")
    kinds: dict[str, ColumnType] = {}
    for name in names:
        if name in types:
            kinds[name] = types[name]
            if types[name] != "text" and not found[f"{types[name]} {name}"]:
                _refuse(rows, name, types[name], path)
        else:
            fits = [k for k in _PATTERNS if found[f"{k} {name}"]]
            kinds[name] = fits[0] if fits and found[f"some {name}"] else "text"
            if kinds[name] == "number" and name in categories:
                _refuse_spellings(rows, name, path)
    return rows.with_columns(_cast(name, kind) for name, kind in kinds.items() if kind != "text")


def _fits(name: str, kind: ColumnType, pattern: str) -> pl.Expr:
    written = pl.col(name).str.contains(pattern)
    if kind == "number":
        long = pl.when(pl.col(name).str.contains(_LONG) & pl.col(name).str.contains("[.e]")).then(pl.col(name))
        return written | (long.cast(pl.Float64, strict=False).cast(pl.String) == long).fill_null(value=False)
    # the 31st of February is written like a date and is none
    return written & pl.col(name).str.to_date("%Y-%m-%d", strict=False).is_not_null() if kind == "date" else written


def _cast(name: str, kind: ColumnType) -> pl.Expr:
    if kind == "boolean":
        return (pl.col(name) == "true").alias(name)
    if kind == "date":
        return pl.col(name).str.to_date("%Y-%m-%d")
    return pl.col(name).cast(_DTYPES[kind])


def _refuse_spellings(rows: pl.LazyFrame, name: str, path: str) -> None:
    """Refuse 10.1 beside 10.10: one number or two codes? To merge two codes would hide who is alone with one."""
    spelled = rows.select(pl.col(name).drop_nulls().unique()).collect(engine="streaming")[name].sort()
    alike = spelled.filter(spelled.cast(pl.Float64).is_duplicated()).to_list()
    if alike:
        pair = [s for s in alike if float(s) == float(alike[0])][:2]
        raise DataError(
            f"{path!r}: the column {name!r} has {pair[0]!r} and {pair[1]!r}: one number or two codes? "
            'Declare its type, "number" or "text" (types= of flou.read, or type in the schema file).'
        )


def _refuse(rows: pl.LazyFrame, name: str, kind: ColumnType, path: str) -> None:
    wrong = (
        rows.filter(~_fits(name, kind, _PATTERNS[kind]))
        .select(name)
        .unique()
        .sort(name)
        .head(8)
        .collect(engine="streaming")
    )
    raise DataError(
        f"{path!r}: the column {name!r} should hold type {kind}, but it has {listed(wrong[name].to_list())}. "
        'Declare codes of missing values as undetermined; read decimal commas with decimal = ",".'
    )
