"""Perturbation tables of other tools: read as they are, refused when they are no distributions."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest

from flou import TransitionMatrix
from flou.describe.mechanism.cell_keys import keys_from_floats
from flou.engine.errors import DataError, OutputError

#: cellKey 1.0.2, ptable of D = 5, V = 3, js = 2: the first lines, rows 0 to 2.
CELLKEY = """i,j,p,v,p_int_lb,p_int_ub,type
0,0,1,0,0,1,all
1,0,0.73446954,-1,0,0.73446954,all
1,3,0.13672019,2,0.73446954,0.87118973,all
1,4,0.07279631,3,0.87118973,0.94398604,all
1,5,0.0374295600000001,4,0.94398604,0.9814156,all
1,6,0.0185843999999999,5,0.9814156,1,all
2,0,0.40880704,-2,0,0.40880704,all
2,3,0.40664354,1,0.40880704,0.81545058,all
2,4,0.14762401,2,0.81545058,0.96307459,all
2,5,0.0323188200000001,3,0.96307459,0.99539341,all
2,6,0.00426686999999992,4,0.99539341,0.99966028,all
2,7,0.000339720000000043,5,0.99966028,1,all
"""
#: ptable 1.0.0, transition matrix of D = 2, V = 2, js = 0.
MATRIX = """i,0,1,2,3,4
0,1,0,0,0,0
1,0.366485505976473,0.366485505976473,0.167572470117635,0.0994565179294192,0
2,0.2,0.2,0.2,0.2,0.2
"""


def saved(folder: Path, text: str) -> Path:
    (folder / "ptable.csv").write_text(text)
    return folder / "ptable.csv"


@pytest.mark.parametrize(
    "made", [TransitionMatrix(10, 5, 2), TransitionMatrix(3, 0.7), TransitionMatrix(6, 7, 4, (3, 1))]
)
def test_round_trip_to_the_bit(made: TransitionMatrix, tmp_path: Path) -> None:
    frame = made.to_ptable(tmp_path / "t.csv")
    assert frame.columns == ["i", "j", "p", "v", "p_int_lb", "p_int_ub", "type"]
    assert frame["type"].unique().to_list() == ["all"]
    again = TransitionMatrix.from_ptable(tmp_path / "t.csv")
    assert again == made
    assert hash(again) == hash(made)
    assert (again.thresholds == made.thresholds).all()
    assert (again.D, again.js) == (max(made.D, made.stack[0]) if made.stack else made.D, made.js)
    assert pytest.approx(made.V, rel=1e-12) == again.V
    assert again.imported
    assert "read from a table" in repr(again)
    assert again.bias < 1e-12
    with pytest.raises(OutputError, match="not overwritten"):
        made.to_ptable(tmp_path / "t.csv")
    made.to_ptable(tmp_path / "t.csv", overwrite=True)


def test_frames_of_either_form(tmp_path: Path) -> None:
    made = TransitionMatrix(2, 2)
    frame = made.to_frame()
    assert TransitionMatrix.from_ptable(frame) == made
    assert TransitionMatrix.from_ptable(frame.select("i", "j", "p").sample(fraction=1, shuffle=True, seed=1)) == made
    assert TransitionMatrix.from_ptable(pd.DataFrame(frame.to_dict(as_series=False))) == made
    matrix = TransitionMatrix.from_ptable(saved(tmp_path, MATRIX))
    assert matrix.chances == pytest.approx(made.chances, abs=1e-14)
    assert (matrix.D, matrix.js) == (2, 0)
    renamed = saved(tmp_path, MATRIX.replace("i,0", '"",0').replace(",", ";"))
    assert TransitionMatrix.from_ptable(renamed) == matrix


def test_a_table_of_cellkey(tmp_path: Path) -> None:
    matrix = TransitionMatrix.from_ptable(saved(tmp_path, CELLKEY))
    assert (matrix.D, matrix.last) == (5, 2)
    assert matrix.deviations([1, 1, 2], keys_from_floats([0.73446953, 0.73446955, 0.9999])).tolist() == [-1, 2, 5]
    made = TransitionMatrix(5, 3, 2)
    assert matrix.chances == pytest.approx(made.chances[:3], abs=1e-7)
    assert matrix.bias < 1e-7


def test_js_goes_by_every_count_that_the_last_row_serves(tmp_path: Path) -> None:
    matrix = TransitionMatrix.from_ptable(saved(tmp_path, CELLKEY))
    assert matrix.js == 0  # the row of 2 moves by -2 and serves 3 as well, which it publishes as 1
    assert TransitionMatrix.from_ptable(TransitionMatrix(5, 3, 2).to_frame()).js == 2


def test_a_biased_matrix_says_so() -> None:
    frame = pl.DataFrame({"i": [0, 1, 1], "j": [0, 0, 1], "p": [1.0, 0.5, 0.5]})
    matrix = TransitionMatrix.from_ptable(frame)
    assert matrix.bias == 0.5
    assert matrix.mean(7) == -0.5
    assert matrix.V == 0.25


def test_rounded_chances_are_normalised() -> None:
    frame = pl.DataFrame({"i": [0, 1, 1, 1], "j": [0, 0, 1, 2], "p": [1.0, 0.3333333, 0.3333333, 0.3333333]})
    assert TransitionMatrix.from_ptable(frame).row(1) == pytest.approx([1 / 3] * 3, abs=1e-15)


def change(**columns: list[object]) -> pl.DataFrame:
    table = pl.DataFrame({"i": [0, 1, 1, 1], "j": [0, 0, 1, 2], "p": [1.0, 0.25, 0.5, 0.25]})
    return table.with_columns(**{name: pl.Series(values, strict=False) for name, values in columns.items()})


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"p": [1.0, 0.2, 0.5, 0.25]}, "count 1 add up to 0.95, not to 1"),
        ({"p": [1.0, -0.25, 1.0, 0.25]}, "between 0 and 1"),
        ({"p": [1.0, None, 0.5, 0.5]}, "missing or infinite"),
        ({"p": ["a", "b", "c", "d"]}, "holds no numbers"),
        ({"j": [0, 0, 1.25, 2]}, "magnitudes"),
        ({"j": [0, -1, 1, 3]}, "negative"),
        ({"j": [0, 1, 1, 2]}, "twice"),
        ({"i": [0, 2, 2, 2]}, "without a gap; rows are missing: 1"),
        ({"i": [1, 2, 2, 2]}, "rows are missing: 0"),
        ({"j": [1, 0, 1, 2]}, "0 must stay 0"),
        ({"j": [0, 0, 1, 5000]}, "largest deviation is 4999"),
        ({"v": [0, -1, 0, 2]}, "v is not j - i"),
        ({"p_int_ub": [1.0, 0.25, 0.7, 1.0]}, "p_int_ub is not the sum of the chances of count 1 up to 1"),
        ({"p_int_lb": [0.0, 0.75, 0.25, 0.0]}, "p_int_lb is not the sum"),
        ({"p_int_lb": [0.0, None, 0.25, 0.0]}, "p_int_lb has no number"),
        ({"type": ["even", "even", "even", "even"]}, "magnitudes"),
    ],
)
def test_wrong_tables_are_refused(columns: dict[str, list[object]], message: str) -> None:
    assert TransitionMatrix.from_ptable(change()).D == 1
    with pytest.raises(DataError, match=message):
        TransitionMatrix.from_ptable(change(**columns))


def test_other_frames_and_files_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="there are: 'age', 'sex'"):
        TransitionMatrix.from_ptable(pl.DataFrame({"age": [1], "sex": [2]}))
    with pytest.raises(DataError, match="no column 'i'"):
        TransitionMatrix.from_ptable(pl.DataFrame({"j": [1], "p": [2]}))
    with pytest.raises(DataError, match="cannot be read"):
        TransitionMatrix.from_ptable(tmp_path / "none.csv")
    with pytest.raises(DataError, match="empty"):
        TransitionMatrix.from_ptable(change().clear())
    with pytest.raises(DataError, match="largest deviation is 0"):
        TransitionMatrix.from_ptable(pl.DataFrame({"i": [0, 1], "j": [0, 1], "p": [1.0, 1.0]}))
    (tmp_path / "binary.csv").write_bytes(np.arange(256, dtype=np.uint8).tobytes())
    with pytest.raises(DataError, match="CSV"):
        TransitionMatrix.from_ptable(tmp_path / "binary.csv")
    with pytest.raises(DataError, match="not a frame"):
        TransitionMatrix.from_ptable(3)


def test_files_as_r_writes_them(tmp_path: Path) -> None:
    """`write.csv` numbers the lines below an empty heading; `write.csv2` has semicolons and decimal commas."""
    matrix = TransitionMatrix(2, 2.0)
    frame = matrix.to_ptable().with_columns(pl.col("p").round(8))
    rows = [",".join([f'"{n}"', *map(str, row)]) for n, row in enumerate(frame.rows(), start=1)]
    heading = ",".join(['""', *(f'"{c}"' for c in frame.columns)])
    numbered = tmp_path / "numbered.csv"
    numbered.write_text("\n".join([heading, *rows]), encoding="utf-8")
    commas = tmp_path / "commas.csv"
    text = "\n".join([heading, *rows]).replace(",", ";").replace(".", ",")
    commas.write_text(text, encoding="utf-8")
    for path in (numbered, commas):
        assert np.allclose(TransitionMatrix.from_ptable(path).chances, matrix.chances, atol=1e-7)
