"""What is promised of a release holds for the written file, as programs that guess types read it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.depth import examples

import flou

READERS: dict[str, Callable[[Path], object]] = {
    "polars": pl.read_csv,
    "pandas": pd.read_csv,
    "pandas, decimal comma": lambda path: pd.read_csv(path, decimal=","),
}
#: Texts that some program reads as the same number, truth value or lack of a value.
TEXTS = [
    "1",
    "01",
    "1.0",
    "1,0",
    "+1",
    "1e0",
    "2",
    "true",
    "True",
    "TRUE",
    "x",
    "X",
    "x ",
    "",
    " ",
    "NA",
    "null",
    "None",
]
NUMBERS = [0.3, 0.1 + 0.2, 0.30000001, 1e22, 1e-300, -0.0, 0.0]


def smallest(frame: object) -> tuple[int, int]:
    """k and l of the file that somebody reads, all its values taken as they came."""
    data = flou.Microdata(frame, keys=["key"], sensitive=["told"])
    table = pl.DataFrame(data.to_frame(reveal=True))
    told = table.group_by("key").agg(pl.len().alias("k"), pl.col("told").n_unique().alias("l"))
    return int(told["k"].min()), int(told["l"].min())  # type: ignore[arg-type]


def promised(data: flou.Microdata) -> tuple[int, int]:
    k = flou.risk.KAnonymity(k=2, missing="category").measure(data).k
    return k, int(flou.risk.LDiversity(l=2, missing="category").measure(data).l)


@pytest.mark.parametrize("reader", READERS)
@examples(120)
@given(
    rows=st.lists(st.tuples(st.sampled_from(TEXTS), st.sampled_from(TEXTS)), min_size=2, max_size=12),
    numbers=st.lists(st.sampled_from(NUMBERS), min_size=12, max_size=12),
    amounts=st.booleans(),
)
def test_a_reader_finds_no_smaller_k_and_l_than_were_measured(
    reader: str, rows: list[tuple[str, str]], numbers: list[float], amounts: bool
) -> None:
    keys, told = zip(*rows, strict=True)
    frame = pl.DataFrame({"key": keys, "told": numbers[: len(rows)] if amounts else told})
    data = flou.Microdata(frame, keys=["key"], sensitive=["told"])
    with TemporaryDirectory() as folder:
        path = Path(folder) / "data.csv"
        flou.write(data, path, unprotected=True)
        read = smallest(READERS[reader](path))
    k, l = promised(data)
    assert read[0] >= k
    assert read[1] >= l


def test_a_file_whose_texts_merge_when_read_has_the_l_of_what_is_read(tmp_path: Path) -> None:
    frame = pl.DataFrame({"key": ["a"] * 3, "told": ["1", "01", "1.0"]})
    data = flou.Microdata(frame, keys=["key"], sensitive=["told"])
    flou.write(data, tmp_path / "data.csv", unprotected=True)
    assert pd.read_csv(tmp_path / "data.csv")["told"].nunique() == 1
    assert flou.risk.LDiversity(l=2).measure(data).l == 1
