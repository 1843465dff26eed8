"""A frame of people, and frames spoilt in their values and types rather than in their bytes."""

from __future__ import annotations

import datetime as dt
import io
import random
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pyreadstat
import xlsxwriter


def people() -> pl.DataFrame:
    """Twelve records with texts, numbers, dates and nulls."""
    return pl.DataFrame(
        {
            "pid": list(range(12)),
            "age": [31, 34, 36, 52, 58, 55, 51, 53, 35, 33, 99, 31],
            "sex": list("FFFMMMMMFFMF"),
            "income": [1.5, 2.5, 3.5, 4.5, 5.5, None, 7.5, 8.5, 9.5, 10.5, 0.0, -3.25],
            "since": [dt.date(2000 + i, 1 + i, 2 * i + 1) for i in range(12)],
            "town": ["Paris", "Orléans", "Brest", "Lyon", None, "Lille", "Nice", "Metz", "Dax", "Pau", "Sète", "Paris"],
        }
    )


_ENDS = (2**63 - 1, -(2**63), 2**53 + 1, 0, 1, -1)
_TEXTS = (
    "",
    " ",
    "\0",
    "\ud7ff\U0010ffff",
    "a\nb",
    '"',
    ";",
    "=1+1",
    "NaN",
    "x" * 100_000,
    "\u202e",
    "-0",
    "1e999",
    "é" * 300,
)
_NAMES = ("", " ", "*", "^a$", "__flou_unit", "age", "a.b", "a\nb", "é" * 300, "\0", "count", "\U0001f600", "sex ")


def _ends(n: int, rng: random.Random) -> pl.Series:
    return pl.Series([rng.choice(_ENDS) for _ in range(n)], dtype=pl.Int64)


_COLUMNS: tuple[Callable[[int, random.Random], pl.Series], ...] = (
    _ends,
    lambda n, rng: pl.Series([rng.choice((float("nan"), float("inf"), -0.0, 1e308, 5e-324, 1.5)) for _ in range(n)]),
    lambda n, rng: pl.Series([rng.choice(_TEXTS) for _ in range(n)]),
    lambda n, rng: pl.Series([rng.choice((-(2**31), 2**31 - 1, 2_932_897, 0)) for _ in range(n)], dtype=pl.Int32).cast(pl.Date),
    lambda n, rng: _ends(n, rng).cast(pl.Datetime(rng.choice(("ms", "us", "ns")))),
    lambda n, rng: _ends(n, rng).cast(pl.Datetime("us", rng.choice(("UTC", "Europe/Paris", "Asia/Kathmandu")))),
    lambda n, rng: _ends(n, rng).cast(pl.Duration(rng.choice(("ms", "us", "ns")))),
    lambda n, rng: pl.Series([dt.time(23, 59, 59, 999_999)] * n),
    lambda n, rng: pl.Series([None] * n, dtype=pl.Null),
    lambda n, rng: pl.Series([None] * n, dtype=rng.choice((pl.Int64, pl.String, pl.Date, pl.Boolean))),
    lambda n, rng: pl.Series([rng.random() < 0.5 for _ in range(n)]),
    lambda n, rng: pl.Series(["9" * 30] * n).cast(pl.Decimal(38, rng.choice((0, 5)))),
    lambda n, rng: pl.Series([2**64 - 1] * n, dtype=pl.UInt64),
    lambda n, rng: pl.Series([2**100] * n, dtype=pl.Int128),
    lambda n, rng: pl.Series([b"\xff\0"] * n),
    lambda n, rng: pl.Series([[1]] * n),
    lambda n, rng: pl.Series([{"a": {"b": 1}}] * n),
    lambda n, rng: pl.Series([rng.choice("abc") for _ in range(n)], dtype=pl.Categorical),
    lambda n, rng: pl.Series([127] * n, dtype=pl.Int8),
)  # fmt: skip


def spoilt_frame(rng: random.Random) -> pl.DataFrame:
    """People with some columns replaced by others, renamed, left out, or without rows."""
    frame = people()
    for _ in range(rng.randint(1, 3)):
        name = rng.choice(frame.columns) if frame.width else "age"
        what = rng.random()
        if what < 0.65:
            frame = frame.with_columns(rng.choice(_COLUMNS)(frame.height, rng).alias(name))
        elif what < 0.8 and name in frame.columns:
            new = rng.choice(_NAMES)
            frame = frame if new in frame.columns else frame.rename({name: new})
        elif what < 0.9 and name in frame.columns:
            frame = frame.drop(name)
        else:
            frame = frame.head(rng.choice((0, 1, 2)))
    return frame


def written(frame: pl.DataFrame, kind: str) -> bytes | None:
    """A frame as a file of a kind; None where the format has no place for it."""
    stream = io.BytesIO()
    try:
        if kind == "parquet":
            frame.write_parquet(stream)
        elif kind == "arrow":
            frame.write_ipc(stream)
        elif kind == "excel":
            with xlsxwriter.Workbook(stream, {"in_memory": True, "nan_inf_to_errors": True}) as book:
                frame.write_excel(book, worksheet="People")
        else:
            return _survey(frame)
    except BaseException as error:  # what a writer refuses, in its own words or by a panic, no reader meets
        if isinstance(error, KeyboardInterrupt | SystemExit):
            raise
        return None
    return stream.getvalue()


def _survey(frame: pl.DataFrame) -> bytes:
    with tempfile.TemporaryDirectory() as place:
        path = Path(place) / "people.sav"
        options: dict[str, Any] = {"missing_ranges": {"age": [99]}} if "age" in frame.columns else {}
        pyreadstat.write_sav(frame, path, **options)
        return path.read_bytes()
