"""A-priori lists of τ-ARGUS: letters, codes on any level, both separators, and there and back."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.depth import examples

import flou
from flou.describe.table.apriori import Apriori
from flou.describe.table.argus.apriori_file import read_hst, write_hst
from flou.engine.errors import DataError, HierarchyError, OutputError, ParameterError

RECORDS = pl.DataFrame(
    {"region": ["N", "N", "S", "N"], "department": ["59", "62", "13", "59"], "sex": ["F", "M", "F", "M"]}
)
TABLE = flou.Microdata(RECORDS, others=RECORDS.columns).tabulate(["region>department", "sex"])
AT = {tuple(row): i for i, row in enumerate(TABLE.labels().rows())}


def read(tmp_path: Path, text: str, table: flou.Table = TABLE, separator: str | None = None) -> Apriori:
    (tmp_path / "a.hst").write_text(text, encoding="utf-8")
    return read_hst(tmp_path / "a.hst", table, separator)


@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_every_letter(tmp_path: Path, separator: str) -> None:
    text = '59,F,u\n"59", F ,PL,3,4.5\n62,Total,p\n\nS,,s\nN,Total,c,7\n,,w,2\n13,F,m\nN,M,ml\n59,M,pl,0,1\n'
    said = read(tmp_path, text.replace(",", separator))
    expected = Apriori.none(TABLE.n_cells)
    f59, f13, m = AT["N", "59", "F"], AT["S", "13", "F"], AT["N", "Total", "M"]
    expected.protect[[f59, f13, m]] = True
    expected.lower[[f59, f13, m]], expected.upper[[f59, f13, m]] = [3, 0, 0], [4.5, 0, 0]
    expected.lower[AT["N", "59", "M"]], expected.upper[AT["N", "59", "M"]] = 0, 1
    expected.keep[AT["N", "62", "Total"]] = True
    expected.safe[AT["S", "Total", "Total"]] = True
    expected.cost[AT["N", "Total", "Total"]] = 7
    expected.cost[AT["Total", "Total", "Total"]] = 2
    for name, array in said.arrays.items():
        np.testing.assert_array_equal(array, expected.arrays[name], err_msg=name)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("59,F,x", r"line 2: 'x' is not what τ-ARGUS says of a cell"),
        ("59,F,ab,1,2", "'ab' is not what τ-ARGUS says"),
        ("59,F", "line 2: 2 fields; a line has 2 codes"),
        ("60,F,u", r"line 2: '60' is no category of 'region>department'"),
        ("59,F,c", "'c' takes 1 numbers; given none"),
        ("59,F,u,1", "'u' takes 0 numbers"),
        ("59,F,pl,1", "'pl' takes 2 numbers"),
        ("59,F,c,x", "line 2: cost: 'x' is not a number"),
        ("59,F,pl,1,-1", "levels: -1 cannot be"),
        ("62,F,u", "line 2: the table does not list the cell 62 × F: nobody is in it"),
        ("Total,Total,s\nTotal,Total,u", r"Total × Total: protect \(line 3\) and safe \(line 2\)"),
    ],
)
def test_lines_that_cannot_be_used(tmp_path: Path, line: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        read(tmp_path, f"62,M,u\n{line}\n")


def test_ten_lines_are_listed(tmp_path: Path) -> None:
    with pytest.raises(DataError) as caught:
        read(tmp_path, "62,M,q\n" * 13)
    assert "13 lines" in str(caught.value)
    assert str(caught.value).count("  - line") == 10
    assert str(caught.value).endswith("and 3 more")


def test_codes_must_tell_one_category(tmp_path: Path) -> None:
    frame = pl.DataFrame({"a": ["1", "1"], "b": ["1", "2"]})
    table = flou.Microdata(frame, others=["a", "b"]).tabulate(["a>b"])
    with pytest.raises(HierarchyError, match="several categories"):
        read(tmp_path, "1,u\n", table)
    with pytest.raises(ParameterError, match="separator"):
        read(tmp_path, "62,M,u\n", separator=",,")


def test_what_a_list_has_no_place_for(tmp_path: Path) -> None:
    def refused(message: str, **said: float) -> None:
        held = Apriori.none(TABLE.n_cells)
        for name, value in said.items():
            getattr(held, name)[0] = value
        with pytest.raises(DataError, match=message):
            write_hst(held, TABLE, tmp_path / "a.hst")
        assert not list(tmp_path.iterdir())

    refused("bounds", low=1)
    refused("bounds", high=1)
    refused("above zero", cost=0)
    refused("both protection levels", lower=1)
    with pytest.raises(DataError, match="do not belong together"):
        write_hst(Apriori.none(1), TABLE, tmp_path / "a.hst")
    with pytest.raises(ParameterError, match="separator"):
        write_hst(Apriori.none(TABLE.n_cells), TABLE, tmp_path / "a.hst", " ")
    odd = flou.Table.from_frame(pl.DataFrame({"a": ["x,y"], "count": [1]}), ["a"])
    with pytest.raises(DataError, match="'x,y'"):
        write_hst(Apriori.none(1), odd, tmp_path / "a.hst")
    write_hst(Apriori.none(1), odd, tmp_path / "a.hst", ";")
    with pytest.raises(OutputError, match="exists"):
        write_hst(Apriori.none(1), odd, tmp_path / "a.hst", ";")


amount = st.floats(1e-9, 1e15)


@examples(60)
@given(st.data(), st.sampled_from([",", ";", "\t"]))
def test_there_and_back(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject, separator: str) -> None:
    said = Apriori.none(TABLE.n_cells)
    for i in range(TABLE.n_cells):
        action = data.draw(st.sampled_from(["protect", "keep", "safe", "levels", "nothing"]))
        if action in ("protect", "keep", "safe"):
            getattr(said, action)[i] = True
        if action == "levels" or (action == "protect" and data.draw(st.booleans())):
            said.lower[i], said.upper[i] = data.draw(amount | st.just(0.0)), data.draw(amount)
        if data.draw(st.booleans()):
            said.cost[i] = data.draw(amount)
    path = tmp_path_factory.mktemp("hst") / "a.hst"
    write_hst(said, TABLE, path, separator)
    back = read_hst(path, TABLE)
    for name, array in said.arrays.items():
        np.testing.assert_array_equal(array, back.arrays[name], err_msg=name)
