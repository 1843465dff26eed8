"""Records of τ-ARGUS, in fixed columns and separated, there and back; and every file by its ending."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.depth import examples

import flou
from flou.describe.table.apriori import Apriori
from flou.describe.table.argus.microdata import read_argus_microdata, write_argus_microdata
from flou.describe.table.argus.tab_file import ArgusTable
from flou.engine.errors import DataError, OutputError, ParameterError

FIXED = """region 1 2 "99"
  <RECODEABLE>
  <TOTCODE> "Total"
  <HIERARCHICAL>
  <HIERCODELIST> "region.hrc"
  <HIERLEADSTRING> "@"
nuts 4 3
  <RECODEABLE>
  <HIERLEVELS> 2 1
amount 8 6 999999
  <NUMERIC>
  <DECIMALS> 2
w 15 3
  <NUMERIC>
  <WEIGHT>
ent 19 2
  <HOLDING>
"""
#      12 456 890123 567 90
ASC = "59 FR1  12.50 1,5 a1\n62 FR2 999999   2 a1\n99 BE1   -3.0   1  b\n"


def made(tmp_path: Path, asc: str = ASC, rda: str = FIXED, **options: Any) -> flou.Microdata:
    (tmp_path / "a.asc").write_text(asc, encoding="utf-8")
    (tmp_path / "a.rda").write_text(rda, encoding="utf-8")
    (tmp_path / "region.hrc").write_text("N\n@59\n@62\n", encoding="utf-8")
    return read_argus_microdata(tmp_path / "a.asc", **options)


def rows(data: flou.Microdata) -> list[tuple[Any, ...]]:
    return data.frame.to_native().rows()  # type: ignore[no-any-return]


def test_fixed_columns(tmp_path: Path) -> None:
    data = made(tmp_path)
    assert rows(data) == [
        ("59", "FR1", 12.5, 1.5, "a1"),
        ("62", "FR2", None, 2.0, "a1"),
        (None, "BE1", -3.0, 1.0, "b"),
    ]
    schema = data.schema
    assert (schema.keys, schema.weight, schema.identifiers) == (("region", "nuts"), "w", ("ent",))
    assert schema.undetermined == {"region": ("99",), "amount": ("999999",)}
    table = data.tabulate(["region@*", "nuts@*"])
    assert table.cell(**{"nuts@1": "FR"})["count"] == 2
    assert table.cell(**{"region@1": "N"})["count"] == 2
    assert made(tmp_path, sensitive=["amount"]).schema.sensitive == ("amount",)


def test_separated(tmp_path: Path) -> None:
    rda = '<SEPARATOR> ","\nregion 6\n <RECODEABLE>\nw 3\n <NUMERIC>\n <WEIGHT>\nval 3\n <NUMERIC>\n'
    data = made(tmp_path, 'female, 66,  9\n"  male",71, 11\n', rda)
    assert rows(data) == [("female", 66, 9), ("male", 71, 11)]
    with pytest.raises(DataError, match="line 2 has 2 fields, not 3"):
        made(tmp_path, "a,1,2\nb,1\n", rda)


@pytest.mark.parametrize(
    ("asc", "message"),
    [
        ("", "has no records"),
        (ASC + "59 FR1\n", "line 4 has 6 characters, the last variable begins at 19"),
        (ASC.replace("12.50", "1x.50"), r"'amount' .* is not a number in record 1: '1x.50'"),
        (ASC.replace("59", "77"), "does not cover"),
    ],
)
def test_records_that_do_not_fit(tmp_path: Path, asc: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        made(tmp_path, asc)


def test_two_weights(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="several weights"):
        made(tmp_path, "1 2\n", "a 1 1\n <WEIGHT>\nb 3 1\n <WEIGHT>\n")


def test_records_leave_only_where_that_is_said(tmp_path: Path) -> None:
    data = made(tmp_path)
    with pytest.raises(OutputError, match="unprotected=True"):
        write_argus_microdata(data, tmp_path / "b.asc")
    assert not (tmp_path / "b.asc").exists()
    write_argus_microdata(data, tmp_path / "b.asc", unprotected=True)
    # the holding is an identifier: it leaves only where it is asked for by name
    assert "ent" not in (tmp_path / "b.rda").read_text(encoding="utf-8")
    with pytest.raises(OutputError, match="exists"):
        write_argus_microdata(data, tmp_path / "b.asc", unprotected=True)
    with pytest.raises(ParameterError, match="would be overwritten"):
        write_argus_microdata(data, tmp_path / "b.rda", unprotected=True)
    with pytest.raises(ParameterError, match="holding"):
        write_argus_microdata(data, tmp_path / "c.asc", holding="firm", unprotected=True)
    with pytest.raises(ParameterError, match="separator"):
        write_argus_microdata(data, tmp_path / "c.asc", separator=" ", unprotected=True)
    only = flou.Microdata(pl.DataFrame({"n": ["x"]}), identifiers=["n"])
    with pytest.raises(OutputError, match="no column to write"):
        write_argus_microdata(only, tmp_path / "c.asc", unprotected=True)


@pytest.mark.parametrize("separator", [None, ",", "\t"])
def test_there_and_back(tmp_path: Path, separator: str | None) -> None:
    data = made(tmp_path)
    files = write_argus_microdata(data, tmp_path / "b.asc", holding="ent", separator=separator, unprotected=True)
    assert [f.name for f in files] == ["b.asc", "b.rda", "b_region.hrc", "b_nuts.hrc"]
    back = read_argus_microdata(tmp_path / "b.asc")
    assert rows(back) == rows(data)
    for name in ("keys", "weight", "identifiers", "undetermined"):
        assert getattr(back.schema, name) == getattr(data.schema, name), name
    dims = ["region@*", "nuts@*"]
    assert back.tabulate(dims).shown_cells().rows() == data.tabulate(dims).shown_cells().rows()


def test_records_that_the_format_cannot_hold(tmp_path: Path) -> None:
    def refused(frame: dict[str, Any], message: str, **roles: Any) -> None:
        data = flou.Microdata(pl.DataFrame(frame), **roles)
        with pytest.raises(DataError, match=message):
            write_argus_microdata(data, tmp_path / "a.asc", separator=",", unprotected=True)
        assert not list(tmp_path.iterdir())

    refused({"a": ["x", None]}, r"'a' is null in 1 records; .*undetermined=\{'a'", keys=["a"])
    refused({"a": ["x,y"]}, "do not fit: 'x,y'", keys=["a"])
    refused({"a": [""]}, "do not fit: ''", keys=["a"])
    refused({"a b": ["x"]}, "rename 'a b'", keys=["a b"])


value = st.text(st.characters(categories=("L", "N", "P", "S"), exclude_characters='",'), min_size=1, max_size=4)


@examples(60)
@given(
    st.lists(
        st.tuples(value, st.integers(-(10**12), 10**12), st.floats(-1e12, 1e12), st.floats(0, 1e6)),
        min_size=1,
        max_size=8,
    ),
    st.sampled_from([None, ",", "\t"]),
)
def test_any_records_there_and_back(
    tmp_path_factory: pytest.TempPathFactory, drawn: list[tuple[Any, ...]], separator: str | None
) -> None:
    frame = pl.DataFrame(drawn, schema=["a", "n", "x", "w"], orient="row")
    path = tmp_path_factory.mktemp("asc") / "a.asc"
    data = flou.Microdata(frame, keys=["a"], weight="w")
    write_argus_microdata(data, path, separator=separator, unprotected=True)
    assert rows(read_argus_microdata(path)) == frame.rows()


# --------------------------------------------------------------------------------------------- by the file's ending


def test_every_file_by_its_ending(tmp_path: Path) -> None:
    data = made(tmp_path)
    assert isinstance(flou.read_argus(tmp_path / "a.asc"), flou.Microdata)
    assert isinstance(flou.read_argus(tmp_path / "region.hrc"), flou.Hierarchy)
    table = data.tabulate(["nuts"])
    assert [f.name for f in flou.write_argus(table, tmp_path / "t.tab", unprotected=True)] == ["t.tab", "t.rda"]
    found = flou.read_argus(tmp_path / "t.tab")
    assert isinstance(found, ArgusTable)
    (tmp_path / "t.txt").write_bytes((tmp_path / "t.tab").read_bytes())
    assert isinstance(flou.read_argus(tmp_path / "t.txt", counts="response"), ArgusTable)
    (tmp_path / "a.dat").write_bytes((tmp_path / "a.asc").read_bytes())
    assert isinstance(flou.read_argus(tmp_path / "a.dat", rda=tmp_path / "a.rda"), flou.Microdata)
    assert flou.write_argus(Apriori.none(table.n_cells), tmp_path / "t.hst", table=table) == [tmp_path / "t.hst"]
    assert isinstance(flou.read_argus(tmp_path / "t.hst", table=table), Apriori)
    hierarchy = data.schema.hierarchies["region"]
    assert flou.write_argus(hierarchy, tmp_path / "h.hrc") == [tmp_path / "h.hrc"]
    assert flou.write_argus(data, tmp_path / "b.asc", unprotected=True)[0] == tmp_path / "b.asc"
    with pytest.raises(ParameterError, match="table="):
        flou.read_argus(tmp_path / "t.hst")
    with pytest.raises(ParameterError, match="table="):
        flou.write_argus(Apriori.none(1), tmp_path / "u.hst")
    with pytest.raises(ParameterError, match="describes another file"):
        flou.read_argus(tmp_path / "a.rda")
    with pytest.raises(ParameterError, match="not int"):
        flou.write_argus(3, tmp_path / "x.tab")  # type: ignore[arg-type]


def test_a_release_is_written_with_true_figures_only_where_that_is_said(tmp_path: Path) -> None:
    frame = pl.DataFrame({"id": range(40), "a": ["x", "y"] * 20})
    keyed = flou.record_keys(flou.Microdata(frame, keys=["a"], id="id"), secret=flou.Secret.from_seed(1))
    release = flou.protect.CellKey(D=2, V=1).protect(keyed.tabulate(["a"]))
    with pytest.raises(OutputError, match="true figures"):
        flou.write_argus(release, tmp_path / "t.tab")
    flou.write_argus(release, tmp_path / "t.tab", unprotected=True)
    found = flou.read_argus(tmp_path / "t.tab")
    assert isinstance(found, ArgusTable)
    assert found.table.true_counts.tolist() == [40, 20, 20]
