"""Texts that a spreadsheet would carry out: written with an apostrophe, read back as they were, and a switch."""

from __future__ import annotations

import csv
from pathlib import Path
from tempfile import TemporaryDirectory

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.depth import examples

import flou
from flou.engine.errors import ParameterError

#: Beginnings that matter, and what may follow.
TEXTS = st.text("=+-@\t\r\n'a1.,e", max_size=4)
#: A sign begins a formula unless a number follows, and nothing else.
SAFE = r"^(?:[^=+\-@\t\r\n]|[+-]1*[.,]?1+(?:e[+-]?1+)?$|[+-]1+[.,](?:e[+-]?1+)?$|$)"


def microdata(texts: list[str | None], name: str = "said", **roles: object) -> flou.Microdata:
    frame = pl.DataFrame({"n": range(len(texts)), name: pl.Series(texts, dtype=pl.String)})
    return flou.Microdata(frame, others=["n", name], types={name: "text"}, **roles)


def written(data: flou.Microdata, path: Path, **options: object) -> list[list[str]]:
    flou.write(data, path, unprotected=True, **options)
    with path.open(newline="") as file:
        return list(csv.reader(file, delimiter="\t" if path.suffix == ".tsv" else ","))


@pytest.mark.parametrize("suffix", [".csv", ".tsv"])
@examples(200)
@given(texts=st.lists(TEXTS, min_size=1, max_size=6))
def test_no_text_is_a_formula_and_each_is_read_back(suffix: str, texts: list[str]) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder) / f"data{suffix}"
        cells = [row[1] for row in written(microdata(texts), path)[1:]]
        assert pl.Series(cells).str.contains(SAFE).all()
        back = flou.read(path, types={"said": "text"}, others=["n", "said"]).collect().to_frame()
    # an empty text is written as no value
    assert back.sort("n")["said"].to_list() == [text or None for text in texts]


@pytest.mark.parametrize("text", ["-1+1", "+3=2", "-5@x", "+49 1", "-1e", "+1,2,3", "-1\n", "--1"])
def test_a_number_with_something_behind_it_is_no_number(text: str, tmp_path: Path) -> None:
    assert written(microdata([text]), tmp_path / "x.csv")[1][1] == f"'{text}"


def test_declared_values_and_numbers_stand_as_they_are(tmp_path: Path) -> None:
    texts = ["-", "+x", "-5", "+3,2", "'s", "=1"]
    data = microdata(texts, modalities={"said": ["-", "+x", "-5", "+3,2", "'s"]}, undetermined={"said": ["=1"]})
    assert {row[1] for row in written(data, tmp_path / "x.csv")[1:]} == {"-", "+x", "-5", "+3,2", "'s", ""}


def test_the_name_of_a_column_is_a_text_like_any_other(tmp_path: Path) -> None:
    data = microdata(["a"], name="=cmd")
    assert written(data, tmp_path / "x.csv")[0] == ["n", "'=cmd"]
    assert flou.read(tmp_path / "x.csv").columns == ("n", "=cmd")


def test_plain_texts_are_written_and_read_as_they_stand(tmp_path: Path) -> None:
    data = microdata(["=1", "'=1"])
    assert [row[1] for row in written(data, tmp_path / "x.csv", formulas="plain")[1:]] == ["=1", "'=1"]
    back = flou.read(tmp_path / "x.csv", formulas="plain").collect().to_frame()
    assert back["said"].to_list() == ["=1", "'=1"]


def test_the_categories_of_a_table_are_escaped(tmp_path: Path) -> None:
    table = flou.Microdata(pl.DataFrame({"a": ["=1", "-", "x"]}), others=["a"]).tabulate("a")
    table.write(tmp_path / "t.csv", unprotected=True)
    table.write(tmp_path / "plain.csv", unprotected=True, formulas="plain")
    assert "'=1" in (tmp_path / "t.csv").read_text()
    assert "'" not in (tmp_path / "plain.csv").read_text()
    assert "=1" in flou.Table.read(tmp_path / "t.csv", ["a"]).to_frame()["a"].to_list()


def test_parquet_needs_no_apostrophe(tmp_path: Path) -> None:
    flou.write(microdata(["=1"]), tmp_path / "x.parquet", unprotected=True)
    assert pl.read_parquet(tmp_path / "x.parquet")["said"].item() == "=1"


@pytest.mark.parametrize("formulas", ["no", True, None])
def test_formulas_are_escaped_or_plain(tmp_path: Path, formulas: object) -> None:
    with pytest.raises(ParameterError, match='"escaped" or "plain"'):
        flou.write(microdata(["a"]), tmp_path / "x.csv", unprotected=True, formulas=formulas)  # type: ignore[arg-type]
