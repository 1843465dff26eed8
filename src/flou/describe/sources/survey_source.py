"""Opening a survey file: its columns, and its rows piece by piece, or plain words on why it cannot be read."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from flou.describe.sources.survey_column import Column, System, kind_of, labelled, without_width
from flou.engine.errors import DataError, MissingExtraError, listed
from flou.engine.native import first_line

#: Ending → name of the reader.
SUFFIXES = {
    ".sav": "sav", ".zsav": "sav", ".por": "por", ".dta": "dta", ".sas7bdat": "sas7bdat", ".xpt": "xport",
}  # fmt: skip
_SYSTEMS: dict[str, tuple[System, str]] = {
    "sav": ("spss", "an SPSS file"), "por": ("spss", "a portable SPSS file"), "dta": ("stata", "a Stata file"),
    "sas7bdat": ("sas", "a SAS file"), "xport": ("sas", "a SAS transport file"),
}  # fmt: skip
#: Cells in memory at once; each is a Python object while it is read.
CELLS = 4_000_000
#: What a Stata file since version 13 begins and ends with.
_STATA_BEGINS, _STATA_ENDS = b"<stata_dta>", b"</stata_dta>"
#: Every record of a SAS transport file has this many bytes.
_RECORD = 80

Rows = Mapping[str, list[Any]]
Reader = Callable[..., tuple[Rows, Any]]


def open_survey(path: Path) -> Source:
    """The columns of a survey file; its rows are read by `Source.chunks`."""
    name = SUFFIXES.get(path.suffix.lower())
    if name is None:
        raise DataError(f"{str(path)!r} is not a survey file that Flou reads: {', '.join(SUFFIXES)}.")
    if not path.is_file():
        raise DataError(f"There is no file {str(path)!r}.")
    if name == "xport":
        _check_transport(path)
    reader = _reader(name)
    _, described = _read(path, name, reader, metadataonly=True)
    if not described.column_names or not all((c or "").strip() for c in described.column_names):
        raise DataError(f"{str(path)!r} is damaged: it has no columns, or some without a name.")
    if name == "dta":
        _check_stata(path, described)
    formats = _catalogue(path) if name in ("sas7bdat", "xport") else None
    names, system = described.column_names, _SYSTEMS[name][0]
    columns = [_column(column, place, described, system, formats) for place, column in enumerate(names)]
    return Source(path, name, reader, tuple(columns), described.number_rows)


def _reader(name: str) -> Reader:
    try:
        import pyreadstat
        from pyreadstat._readstat_parser import parser_entry_point
    except ImportError:
        raise MissingExtraError("pyreadstat", "files") from None
    if name in ("por", "xport"):
        # the public functions for these two make every declared missing value null, whatever it means
        return partial(parser_entry_point, parser_format=name)
    found: Reader = getattr(pyreadstat, f"read_{name}")
    return found


def _read(path: Path, name: str, reader: Reader, **options: Any) -> tuple[Rows, Any]:
    """Call the library; whatever it makes of a bad file becomes a DataError."""
    from pyreadstat import PyreadstatError, ReadstatError

    known = {"output_format": "dict", "disable_datetime_conversion": True, "user_missing": True}
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            found = reader(str(path.absolute()), **known, **options)
    except (ReadstatError, PyreadstatError, UnicodeError, OSError, ValueError, OverflowError) as error:
        raise _refusal(path, _SYSTEMS[name][1], error) from None
    doubled = [re.findall(r"'(.*?)'", str(w.message))[:1] for w in caught if "duplicated" in str(w.message)]
    if doubled:
        names = listed(n for found_names in doubled for n in found_names)
        raise DataError(f"{str(path)!r} has columns of the same name: {names}. Rename one of each.")
    return found


def _refusal(path: Path, what: str, error: Exception) -> DataError:
    if isinstance(error, UnicodeError) or "encoding" in str(error):
        return DataError(
            f"{str(path)!r} holds text that is not in the encoding it declares. Save it again, as Unicode (UTF-8)."
        )
    return DataError(
        f"{str(path)!r} cannot be read as {what}: it is damaged, truncated or of another kind ({first_line(error)})."
    )


@dataclass(frozen=True)
class Source:
    """An open survey file."""

    path: Path
    name: str
    reader: Reader
    columns: tuple[Column, ...]
    n_rows: int | None

    def chunks(self) -> Iterator[list[list[Any]]]:
        """The values of each column, some rows at a time; a file without rows, or with too few, is refused."""
        size = max(1_000, CELLS // len(self.columns))
        done = 0
        while True:
            rows, _ = _read(self.path, self.name, self.reader, row_offset=done, row_limit=size)
            values = [list(v) for v in rows.values()]
            n = len(values[0])
            if n:
                yield values
            done += n
            if n < size:
                break
        if self.n_rows is not None and done != self.n_rows:
            raise DataError(f"{str(self.path)!r} is truncated: it has {done:,} of its {self.n_rows:,} records.")
        if not done:
            raise DataError(f"{str(self.path)!r} has no records.")


def _column(name: str, place: int, described: Any, system: System, formats: Mapping[str, Any] | None) -> Column:
    display = described.original_variable_types.get(name)
    kind = kind_of(system, display, described.readstat_variable_types[name])
    ranges = tuple((r["lo"], r["hi"]) for r in described.missing_ranges.get(name, ()))
    column = Column(name, kind, system, (described.column_labels[place] or "").strip(), {}, ranges)
    labels = described.variable_value_labels.get(name, {}) if formats is None else _labels(formats, display)
    plain = [None if kind != "text" and isinstance(v, str) else v for v in labels]
    return Column(name, kind, system, column.label, labelled(kind, labels, column.texts(plain)), ranges)


def _catalogue(path: Path) -> Mapping[str, Any]:
    """The value labels of SAS, which stand in a catalogue of the same name beside the data, by format."""
    import pyreadstat

    beside = [p for p in path.parent.glob("*") if p.stem == path.stem and p.suffix.lower() == ".sas7bcat"]
    if not beside:
        return {}
    try:
        _, described = pyreadstat.read_sas7bcat(str(beside[0].absolute()), output_format="dict")
    except (pyreadstat.ReadstatError, pyreadstat.PyreadstatError, UnicodeError, OSError, ValueError) as error:
        raise _refusal(beside[0], "a SAS catalogue", error) from None
    return {name.upper(): labels for name, labels in described.value_labels.items()}


def _labels(formats: Mapping[str, Any], display: str | None) -> Mapping[Any, str]:
    found: Mapping[Any, str] = formats.get(without_width(display), {})
    return found


def _check_stata(path: Path, described: Any) -> None:
    """A file cut among its value labels still has all records, but modalities that nobody has would be forgotten."""
    with path.open("rb") as file:
        tagged = file.read(len(_STATA_BEGINS)) == _STATA_BEGINS
        file.seek(max(0, path.stat().st_size - 64))
        ended = file.read().rstrip(b"\0\r\n ").endswith(_STATA_ENDS)
    # older formats have no end: a set of labels that a column names and the file lacks shows that it was cut
    absent = [] if tagged else sorted(set(described.variable_to_label.values()) - set(described.value_labels))
    if tagged and not ended:
        raise DataError(f"{str(path)!r} is truncated: its last part is missing.")
    if absent:
        raise DataError(
            f"{str(path)!r} is truncated: it lacks the value labels {listed(absent)} that its columns name. "
            "If they were never defined, define them or save the file in Stata's current format."
        )


def _check_transport(path: Path) -> None:
    """A transport file does not say how many records it has, so a cut one is known by its last record only.

    It may also hold several data sets, of which the library would read the first and say nothing.
    """
    size = path.stat().st_size
    if size % _RECORD:
        raise DataError(f"{str(path)!r} is truncated: a SAS transport file is made of records of {_RECORD} bytes.")
    n_sets = 0
    with path.open("rb") as file:
        for block in iter(lambda: file.read(_RECORD * 10_000), b""):
            n_sets += block.count(b"HEADER RECORD*******MEMB")
    if n_sets > 1:
        raise DataError(f"{str(path)!r} holds {n_sets} data sets; export the one to read to a file of its own.")
