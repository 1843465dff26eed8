"""The columns of a survey file: what kind each is, and the numbers behind its dates and times.

SPSS counts seconds from 14 October 1582; SAS and Stata count days from 1960 for dates, and seconds (SAS)
or milliseconds (Stata) for times. Which of these a number is, only its display format tells.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import polars as pl

from flou.engine.values import text_of

System = Literal["spss", "stata", "sas"]
#: `time` is a duration from midnight that may pass 24 hours; `clock` is the time of day of a moment.
Kind = Literal["number", "text", "date", "datetime", "time", "clock"]

#: Display format → kind (Stata's: `_stata_kind`). A format of a part of a date, such as the year, is not one of a date.
_FORMATS: dict[str, dict[str, Kind]] = {
    "spss": {
        **dict.fromkeys(("DATE", "ADATE", "EDATE", "SDATE", "JDATE", "QYR", "MOYR", "WKYR"), "date"),
        **dict.fromkeys(("DATETIME", "YMDHMS"), "datetime"),
        **dict.fromkeys(("TIME", "DTIME", "MTIME"), "time"),
    },
    "sas": {
        **{f"{order}{mark}": "date" for order in ("DDMMYY", "MMDDYY", "YYMMDD") for mark in ("", *"BCDNPS")},
        **dict.fromkeys(("DATE", "JULIAN", "WORDDATE", "WORDDATX", "WEEKDATE", "WEEKDATX"), "date"),
        **dict.fromkeys(("MONYY", "MMYY", "YYMM", "YYMMN", "YYMON", "YYQ", "IS8601DA", "E8601DA", "B8601DA"), "date"),
        **dict.fromkeys(("DATETIME", "DATEAMPM", "MDYAMPM", "DTDATE", "IS8601DT", "E8601DT", "B8601DT"), "datetime"),
        **dict.fromkeys(("TIME", "HHMM", "IS8601TM", "E8601TM", "B8601TM"), "time"),
        **dict.fromkeys(("TOD", "TIMEAMPM"), "clock"),
    },
}
#: Days from the first day that a system counts from to 1 January 1970.
_DAYS: dict[System, int] = {"spss": 141_428, "sas": 3_653, "stata": 3_653}
#: Microseconds in the unit that moments and times are counted in.
_UNIT: dict[System, int] = {"spss": 1_000_000, "sas": 1_000_000, "stata": 1_000}
_DAY = 86_400_000_000
#: 1 January of year 1 and 31 December 9999, in days from 1970: no calendar goes further.
_FIRST, _LAST = -719_162, 2_932_896
_LETTER = re.compile(r"\.[A-Za-z_]")
_DTYPES: dict[Kind, pl.DataType] = {"number": pl.Float64(), "date": pl.Date(), "datetime": pl.Datetime("us")}


def kind_of(system: System, display: str | None, storage: str) -> Kind:
    """What a column holds, by its storage type and display format."""
    if storage == "string":
        return "text"
    if system == "stata":
        return _stata_kind(display or "")
    return _FORMATS[system].get(without_width(display), "number")


def without_width(display: str | None) -> str:
    """The name of a format of SPSS or SAS, which never ends in a digit: those are its width."""
    return re.sub(r"[\d.]+$", "", display or "").upper()


def _stata_kind(display: str) -> Kind:
    found = re.match(r"%-?(td|d|tc|tC)(.*)$", display)
    if found is None:
        return "number"
    if found[1] in ("td", "d"):
        return "date"
    return "clock" if re.fullmatch(r"(?i)hh:mm(:ss(\.s+)?)?( ?a\.?m\.?)?", found[2]) else "datetime"


def is_letter(code: str) -> bool:
    """Whether a code is one of the lettered missing values of Stata (.a to .z) or SAS (.A to .Z, ._)."""
    return _LETTER.fullmatch(code) is not None


@dataclass(frozen=True)
class Column:
    """One column as its file declares it. `missing` holds the declared missing values, as ranges of raw values."""

    name: str
    kind: Kind
    system: System
    label: str = ""
    value_labels: Mapping[str, str] | None = None
    missing: tuple[tuple[Any, Any], ...] = ()

    @property
    def dtype(self) -> pl.DataType:
        return _DTYPES.get(self.kind, pl.String())

    @property
    def raw_dtype(self) -> pl.DataType:
        return pl.String() if self.kind == "text" else pl.Float64()

    @property
    def has_letters(self) -> bool:
        """Whether its missing values are letters beside the numbers."""
        return self.system != "spss" and self.kind != "text"

    def converted(self, raw: pl.Expr) -> pl.Expr:
        """Raw values as what they stand for; null for a date or time that no calendar holds."""
        if self.kind in ("number", "text"):
            return raw
        unit, offset = _UNIT[self.system], _DAYS[self.system]
        if self.kind == "date":
            days = (raw / 86_400 if self.system == "spss" else raw).floor() - offset
            return pl.when(days.is_between(_FIRST, _LAST)).then(days).cast(pl.Int32).cast(pl.Date)
        if self.kind == "datetime":
            kept = pl.when((raw * (unit / _DAY) - offset).is_between(_FIRST, _LAST + 1, closed="left")).then(raw)
            whole = kept.floor()
            # the part after the point apart: together they need more digits than a float has
            moment = whole.cast(pl.Int64) * unit + ((kept - whole) * unit).round().cast(pl.Int64) - offset * _DAY
            return moment.cast(pl.Datetime("us"))
        seconds = (pl.when(raw.abs() < 1e15).then(raw) * (unit / 1_000_000)).floor().cast(pl.Int64)
        return _hours(seconds % 86_400 if self.kind == "clock" else seconds)

    def texts(self, raw: Sequence[Any]) -> list[str]:
        """The canonical text of some raw values; of the bare number where it is no date."""
        held = pl.DataFrame({"raw": pl.Series(raw, dtype=self.raw_dtype)})
        found = held.select(self.converted(pl.col("raw")).alias("value"))["value"].to_list()
        return [text_of(r if v is None else v) for r, v in zip(raw, found, strict=True)]

    def declared_missing(self, raw: pl.Expr) -> pl.Expr:
        """Whether the file declares a value as missing."""
        if self.kind == "text":
            return raw.is_in([low for low, _ in self.missing])
        return pl.any_horizontal(pl.lit(False), *(raw.is_between(low, high) for low, high in self.missing))

    def declares_missing(self, code: str) -> bool:
        """The same for one code by its text."""
        if self.kind == "number" and not is_letter(code):
            try:
                number = float(code)
            except ValueError:
                return False
            return any(low <= number <= high for low, high in self.missing)
        return (is_letter(code) and self.has_letters) or code in self.texts(self.single_codes)

    @property
    def single_codes(self) -> list[Any]:
        """Declared missing values that are no ranges, raw."""
        return [low for low, high in self.missing if low == high]

    @property
    def ranges(self) -> list[tuple[float, float]]:
        return [(low, high) for low, high in self.missing if low != high]

    def scalar(self, code: str) -> int | float | str:
        """A code as a schema writes it: a number in a column of numbers, else its text."""
        if self.kind != "number" or is_letter(code):
            return code
        number = float(code)
        return int(number) if number.is_integer() else number


def _hours(seconds: pl.Expr) -> pl.Expr:
    size = seconds.abs()
    parts = [size // 3_600, size // 60 % 60, size % 60]
    sign = pl.when(seconds < 0).then(pl.lit("-")).otherwise(pl.lit(""))
    return pl.format("{}{}:{}:{}", sign, *(p.cast(pl.String).str.zfill(2) for p in parts))


def labelled(kind: Kind, labels: Mapping[Any, str], texts: Iterable[str]) -> dict[str, str]:
    """Value labels by canonical text; a letter beside numbers is written `.a`."""
    found = {}
    for value, text, label in zip(labels, texts, labels.values(), strict=True):
        key = f".{value}" if kind != "text" and isinstance(value, str) else text
        if key.strip() and label and label.strip():
            found[key] = label.strip()
    return found
