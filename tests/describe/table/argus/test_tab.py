"""Tables of τ-ARGUS: any table there and back, what statuses mean, and every file that is not what it says."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from tests.depth import examples

import flou
from flou.describe.table.apriori import Apriori
from flou.describe.table.argus.rda import UnusedWarning
from flou.describe.table.argus.tab_file import ArgusTable, read_tab
from flou.describe.table.argus.tab_writing import decimals_of, plain_number, write_tab
from flou.describe.table.suppression import State, Suppression
from flou.engine.errors import DataError, HierarchyError, OutputError, ParameterError

RDA = """<SEPARATOR> ","
<SAFE> "s"
<UNSAFE> "u"
<PROTECT> "p"
region
  <RECODEABLE>
  <TOTCODE> "T"
  <HIERARCHICAL> <HIERCODELIST> "region.hrc" <HIERLEADSTRING> "@"
sex
  <RECODEABLE>
  <TOTCODE> "All"
val
  <NUMERIC>
  <DECIMALS> 1
n
  <FREQUENCY>
max1
  <MAXSCORE>
max2
  <MAXSCORE>
status
  <STATUS>
lpl
  <NUMERIC> <LOWERPL>
upl
  <NUMERIC> <UPPERPL>
price
  <NUMERIC> <COST>
"""
TAB = """T,All,60,6,20,15,s,1,1,60
"T", "F" ,25.0,3,20,4,u,2.5,-,25
T,M,35,3,15,11,p,,,1
N,All,30,3,15,11,M,0,0,30
59,F,20,1,20,0,U,3,4,-
59,M,"0,0",0,-,,E,,,0
"""


def made(tmp_path: Path, tab: str = TAB, rda: str = RDA, hrc: str = "N\n@59\n@62\nS\n", **options: Any) -> ArgusTable:
    (tmp_path / "a.tab").write_text(tab, encoding="utf-8")
    (tmp_path / "a.rda").write_text(rda, encoding="utf-8")
    (tmp_path / "region.hrc").write_text(hrc, encoding="utf-8")
    return read_tab(tmp_path / "a.tab", **options)


def test_what_a_file_says(tmp_path: Path) -> None:
    found = made(tmp_path)
    table, said = found.table, found.apriori
    assert table.columns == ("region@1", "region", "sex")
    assert table.value_name == "val"
    shown = {tuple(row[:3]): row[3:5] for row in table.shown_cells().rows()}
    assert shown == {
        ("Total", "Total", "Total"): (6, 60.0),
        ("Total", "Total", "F"): (3, 25.0),
        ("Total", "Total", "M"): (3, 35.0),
        ("N", "Total", "Total"): (3, 30.0),
        ("N", "59", "F"): (1, 20.0),
        ("N", "59", "M"): (0, 0.0),
    }
    at = {tuple(row): i for i, row in enumerate(table.labels().rows())}
    f, m, n, f59, m59 = (at[k] for k in list(shown)[1:])
    assert np.flatnonzero(said.protect).tolist() == sorted([f, f59])
    assert np.flatnonzero(said.keep).tolist() == [m]
    assert not said.safe.any()
    assert np.flatnonzero(found.secondary).tolist() == [n]
    assert (said.lower[f], said.lower[f59], said.upper[f59]) == (2.5, 3, 4)
    # levels of cells that are not unsafe say nothing
    assert np.isnan(said.upper[f])
    assert np.isnan(said.lower[[at[("Total",) * 3], m, n, m59]]).all()
    assert said.cost[m] == 1
    assert np.isnan(said.cost[f59])
    assert table.cells.largest is not None
    np.testing.assert_array_equal(table.cells.largest[[f, f59, m59]], [[20, 4], [20, np.nan], [np.nan, np.nan]])
    assert "1 secondary" in repr(found)


def test_safe_is_only_believed_where_asked(tmp_path: Path) -> None:
    assert made(tmp_path, safe_cells="stated").apriori.safe.sum() == 1
    with pytest.raises(ParameterError, match="safe_cells"):
        made(tmp_path, safe_cells="yes")


def test_names_of_levels(tmp_path: Path) -> None:
    assert made(tmp_path, levels={"region": ["zone"]}).table.columns == ("zone", "region", "sex")
    with pytest.raises(ParameterError, match="1 levels above"):
        made(tmp_path, levels={"region": ["zone", "more"]})
    with pytest.raises(ParameterError, match="levels names 'sexe'"):
        made(tmp_path, levels={"sexe": []})
    with pytest.raises(DataError, match="Two levels would be called 'sex'"):
        made(tmp_path, levels={"region": ["sex"]})


def test_ragged_trees(tmp_path: Path) -> None:
    """A code without any below it is a category that ends there."""
    table = made(tmp_path, TAB + "S,All,30,3,15,4,s,1,1,30\n").table
    assert table.cell(**{"region@1": "S"})["value"] == 30.0
    assert table.dims[0].labels.rows() == [("Total", "Total"), ("N", "Total"), ("N", "59"), ("S", "Total")]


def test_totals_are_one_label_if_they_agree(tmp_path: Path) -> None:
    assert made(tmp_path, rda=RDA.replace('"All"', '"T"'), tab=TAB.replace("All", "")).table.dims[0].total == "T"


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (",u,2.5", ",x,2.5", r"statuses that are not known; .*'S', 'U', 'P', 'M', 'E': line 2: X"),
        (",u,2.5", ",e,2.5", "calls cells empty that are not: line 2"),
        (",u,2.5", ",z,2.5", "calls cells empty that are not: line 2"),
        ("T,M,35", "T,M,much", r"has in 'val' what is not a number: line 3: 'much'"),
        ("T,M,35", "T,M,inf", "line 3: 'inf'"),
        ("T,M,35,3,", "T,M,35,", "should have 10 fields.*line 3 has 9 fields"),
        ("59,F", "60,F", r"codes of 'region' that its hierarchy does not: line 5: '60'"),
        ("59,F", "59,M", "listed twice"),
        ("35,3,15,11", "35,3,11,15", "contributions that are not largest first: line 3"),
        ("35,3,15", "35,0,15", "figures where the frequency is zero: line 3"),
        ("35,3,15", "35,2.5,15", "whole numbers"),
        (",,,1\n", ",,,-1\n", "negative figures in 'price': line 3"),
        ("2.5,-", "-2.5,-", "negative figures in 'lpl': line 2"),
    ],
)
def test_lines_that_cannot_be_used(tmp_path: Path, old: str, new: str, message: str) -> None:
    assert old in TAB
    with pytest.raises(DataError, match=message):
        made(tmp_path, TAB.replace(old, new, 1))


def test_ten_lines_are_listed(tmp_path: Path) -> None:
    lines = [f"59,c{i},1,1,,,q,,," for i in range(14)]
    with pytest.raises(DataError) as caught:
        made(tmp_path, "\n".join(lines))
    assert str(caught.value).count("line ") == 10
    assert str(caught.value).endswith("; and 4 more.")


def test_files_that_are_missing_or_empty(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="has no lines"):
        made(tmp_path, "\n")
    (tmp_path / "a.rda").unlink()
    with pytest.raises(DataError, match=r"a\.rda' cannot be read"):
        read_tab(tmp_path / "a.tab")
    with pytest.raises(DataError, match="no <RECODEABLE>"):
        made(tmp_path, "1\n", "v\n <NUMERIC>\n")
    with pytest.raises(DataError, match="neither"):
        made(tmp_path, "x\n", "v\n <RECODEABLE>\n")
    with pytest.raises(DataError, match="several variables of response"):
        made(tmp_path, "x;1;2\n", "a\n <RECODEABLE>\nv\n <NUMERIC>\nw\n <NUMERIC>\n")
    with pytest.raises(DataError, match="cannot be called 'count'"):
        made(tmp_path, "x;1\n", "count\n <RECODEABLE>\nv\n <NUMERIC>\n")


def test_a_shadow_that_is_another_variable(tmp_path: Path) -> None:
    rda = "a\n <RECODEABLE>\nv\n <NUMERIC>\nn\n <FREQUENCY>\ns\n <NUMERIC> <SHADOW>\nm\n <MAXSCORE>\n"
    assert made(tmp_path, "x;5;2;5;3\n", rda).table.cells.largest is not None
    with pytest.raises(DataError, match=r"shadow 's', which is not the response 'v'.*line 1"):
        made(tmp_path, "x;5;2;6;3\n", rda)
    with pytest.warns(UnusedWarning, match="<SHADOW> of s"):
        assert made(tmp_path, "x;5;2;6\n", rda.replace("m\n <MAXSCORE>\n", "")).table.cells.largest is None


FLAT = "a\n <RECODEABLE>\nv\n <NUMERIC>\n"


def test_counts_where_there_is_no_frequency(tmp_path: Path) -> None:
    """sdcTable writes counts as the response; τ-ARGUS assumes one contributor, which must be asked for."""
    table = made(tmp_path, "Total;5\nx;2\ny;3\n", FLAT).table
    assert (table.true_counts.tolist(), table.value_name) == ([5, 2, 3], None)
    with pytest.raises(DataError, match=r'no <FREQUENCY>.*counts="one"'):
        made(tmp_path, "Total;5.5\nx;2\ny;3.5\n", FLAT)
    table = made(tmp_path, "Total;5.5\nx;5.5\ny;0\n", FLAT, counts="one").table
    assert (table.true_counts.tolist(), table.true_values.tolist()) == ([1, 1, 0], [5.5, 5.5, 0])
    with pytest.raises(DataError, match="whole numbers"):
        made(tmp_path, "Total;5.5\nx;2\ny;3.5\n", FLAT, counts="response")
    with pytest.raises(ParameterError, match="counts"):
        made(tmp_path, "x;1\n", FLAT, counts="two")
    table = made(tmp_path, "Total;5\nx;5\n", FLAT.replace("<NUMERIC>", "<FREQUENCY>")).table
    assert (table.true_counts.tolist(), table.value_name) == ([5, 5], None)


# ------------------------------------------------------------------------------------------------ there and back

FRAME = pl.DataFrame(
    {
        "region": ["N", "N", "S", "S", "É", "N"],
        "department": ["01", "02", "2A", "2A", "31", "01"],
        "sex": ["F", "M", "F", "M", "F", "F"],
        "v": [0.1, 2.0, 3.5, 1e9, 0.0, 7.0],
        "w": [1.5, 2.0, 1.0, 2.0, 1.0, 1.0],
        "h": [1, 1, 2, 3, 3, 1],
    }
)


def tabulated(**options: Any) -> flou.Table:
    return flou.Microdata(FRAME, others=FRAME.columns).tabulate(["region>department", "sex"], **options)


def same(one: flou.Table, two: flou.Table) -> None:
    """The same cells with the same figures, in the same order, in columns of the same number."""
    assert len(one.columns) == len(two.columns)
    assert one.labels().rows() == two.labels().rows()
    for name in ("count", "value", "largest"):
        held, back = (getattr(t.cells, name) for t in (one, two))
        assert (held is None) == (back is None), name
        if held is not None:
            np.testing.assert_array_equal(held, back, err_msg=name)
    for a, b in zip(one.dims, two.dims, strict=True):
        assert (a.total, a.n_nodes) == (b.total, b.n_nodes)
        assert a.parents.tolist() == b.parents.tolist()
    assert (one.listed, one.n_unlisted_zeros) == (two.listed, two.n_unlisted_zeros)


@pytest.mark.parametrize("value", [None, "v"])
@pytest.mark.parametrize("margins", [True, False])
@pytest.mark.parametrize("cells", ["occupied", "all"])
@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_tables_there_and_back(tmp_path: Path, value: Any, margins: bool, cells: Any, separator: str) -> None:
    table = tabulated(value=value, margins=margins, cells=cells, total="Tout")
    files = write_tab(table, tmp_path / "t.tab", separator=separator, unprotected=True)
    assert [f.name for f in files] == ["t.tab", "t.rda", "t_department.hrc"]
    back = read_tab(tmp_path / "t.tab", levels={"department": ["region"]})
    same(table, back.table)
    assert back.table.columns == table.columns
    assert back.table.value_name == value
    assert back.apriori.n_said == 0


label = st.text(
    st.characters(categories=("L", "N", "P", "S"), exclude_characters='"@,'), min_size=1, max_size=4
).filter(lambda s: s != "Total")
amount = st.floats(0, 1e15, allow_nan=False, width=64)


@examples(80)
@given(st.data())
def test_any_table_there_and_back(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    """Ragged hierarchies, any labels and amounts, cells left out: the table and what is said of it come back."""
    codes = data.draw(st.lists(label, min_size=2, max_size=7, unique=True))
    paths: list[tuple[str, ...]] = []
    for code in codes:
        above = data.draw(st.sampled_from([(), *(p for p in paths if len(p) < 3)]))
        paths.append((*above, code))
    paths.sort(key=lambda p: [codes.index(c) for c in p])
    other = data.draw(st.lists(label, min_size=1, max_size=3, unique=True))
    depth = max(map(len, paths))
    rows = []
    for path in [(), *paths]:
        for sex in ["Total", *other]:
            if path and sex != "Total" and not data.draw(st.booleans()):
                continue
            n = data.draw(st.integers(1, 10**9))
            rows.append([*path, *["Total"] * (depth - len(path)), sex, n, data.draw(amount)])
    names = [*(f"z@{depth - j}" for j in range(1, depth)), "z"]
    frame = pl.DataFrame(rows, schema=[*names, "sex", "count", "value"], orient="row")
    assume((frame["sex"] != "Total").any() and (frame["z"] != "Total").any())
    table = flou.Table.from_frame(frame, [">".join(names), "sex"], value="value")
    n = table.n_cells
    said = Apriori.none(n)
    said.protect[:] = data.draw(st.lists(st.booleans(), min_size=n, max_size=n))
    said.keep[:] = ~said.protect & data.draw(st.lists(st.booleans(), min_size=n, max_size=n))
    some = st.lists(amount | st.just(np.nan), min_size=n, max_size=n)
    said.lower[:] = np.where(said.protect, data.draw(some), np.nan)
    said.upper[:] = np.where(said.protect, data.draw(some), np.nan)
    said.cost[:] = data.draw(some)
    path = tmp_path_factory.mktemp("there") / "t.tab"
    write_tab(table, path, apriori=said, unprotected=True)
    back = read_tab(path)
    same(table, back.table)
    assert back.table.columns == table.columns
    for name, array in said.arrays.items():
        np.testing.assert_array_equal(array, back.apriori.arrays[name], err_msg=name)
    assert not back.secondary.any()


def test_states_of_a_suppression(tmp_path: Path) -> None:
    table = tabulated(value="v", cells="all")
    states = np.full(table.n_cells, State.PUBLISHED, dtype=np.uint8)
    states[table.true_counts == 0] = State.ZERO
    filled = np.flatnonzero(table.true_counts)
    states[filled[0]], states[filled[1]], states[filled[2]] = State.KEPT, State.PRIMARY, State.SECONDARY
    object.__setattr__(table, "suppression", Suppression(states))
    write_tab(table, tmp_path / "t.tab", unprotected=True)
    words = [line.split(",")[-1] for line in (tmp_path / "t.tab").read_text(encoding="utf-8").splitlines()]
    assert words == ["SPEUM"[s] for s in states]
    back = read_tab(tmp_path / "t.tab")
    assert np.flatnonzero(back.apriori.protect).tolist() == [filled[1]]
    assert np.flatnonzero(back.apriori.keep).tolist() == [filled[0]]
    assert np.flatnonzero(back.secondary).tolist() == [filled[2]]


def test_true_figures_leave_only_where_that_is_said(tmp_path: Path) -> None:
    table = tabulated()
    with pytest.raises(OutputError, match="unprotected=True"):
        write_tab(table, tmp_path / "t.tab")
    assert not list(tmp_path.iterdir())
    with pytest.raises(OutputError, match="as it was published"):
        write_tab(table.public(), tmp_path / "t.tab", unprotected=True)
    write_tab(table, tmp_path / "t.tab", unprotected=True)
    with pytest.raises(OutputError, match="exists"):
        write_tab(table, tmp_path / "t.tab", unprotected=True)
    # nothing is written if any of the files exists
    (tmp_path / "t.tab").unlink()
    with pytest.raises(OutputError, match=r"t\.rda' exists"):
        write_tab(table, tmp_path / "t.tab", unprotected=True)
    assert not (tmp_path / "t.tab").exists()
    write_tab(table, tmp_path / "t.tab", unprotected=True, overwrite=True)
    with pytest.raises(ParameterError, match="overwritten by the description"):
        write_tab(table, tmp_path / "t.rda", unprotected=True, overwrite=True)
    with pytest.raises(ParameterError, match="separator"):
        write_tab(table, tmp_path / "t.tab", unprotected=True, separator=" ")
    with pytest.raises(ParameterError, match="contributions"):
        write_tab(table, tmp_path / "t.tab", unprotected=True, contributions="all")  # type: ignore[arg-type]


def test_what_the_format_has_no_place_for(tmp_path: Path) -> None:
    def refused(frame: pl.DataFrame, dims: list[str], message: str, **options: Any) -> None:
        table = flou.Microdata(frame, others=frame.columns).tabulate(dims, **options)
        with pytest.raises((DataError, HierarchyError), match=message):
            write_tab(table, tmp_path / "t.tab", unprotected=True)
        assert not list(tmp_path.iterdir())

    refused(FRAME, ["department|sex"], "side by side")
    refused(FRAME.with_columns(region=pl.lit("01")), ["region>department"], "on different levels: '01'")
    refused(FRAME.with_columns(sex=pl.lit("a,b")), ["sex"], r"do not fit: 'a,b'")
    refused(FRAME.with_columns(sex=pl.lit(" a")), ["sex"], "do not fit: ' a'")
    refused(FRAME.rename({"sex": "the sex"}), ["the sex"], "rename 'the sex'")
    refused(FRAME.with_columns(v=-pl.col("v")), ["sex"], 'contributions="none"', value="v")
    table = tabulated()
    bounds = Apriori.none(table.n_cells)
    bounds.low[0] = 1
    with pytest.raises(DataError, match="no place for what an intruder knows"):
        write_tab(table, tmp_path / "t.tab", apriori=bounds, unprotected=True)
    with pytest.raises(DataError, match="do not belong together"):
        write_tab(table, tmp_path / "t.tab", apriori=Apriori.none(2), unprotected=True)


def test_weights_and_holdings(tmp_path: Path) -> None:
    """Estimates are the response; what is counted is contributors, holdings where there are some."""
    weighted = tabulated(weight="w")
    write_tab(weighted, tmp_path / "w.tab", unprotected=True)
    back = read_tab(tmp_path / "w.tab").table
    assert weighted.cells.weighted is not None
    assert back.true_values.tolist() == weighted.cells.weighted.tolist()
    assert back.true_counts.tolist() == weighted.true_counts.tolist()
    held = tabulated(value="v", holding="h")
    write_tab(held, tmp_path / "h.tab", unprotected=True)
    back = read_tab(tmp_path / "h.tab").table
    assert held.cells.holdings is not None
    assert back.true_counts.tolist() == held.cells.holdings.tolist() != held.true_counts.tolist()
    assert back.cells.largest is not None
    np.testing.assert_array_equal(back.cells.largest, held.cells.largest)
    both = tabulated(value="v", weight="w")
    write_tab(both, tmp_path / "b.tab", unprotected=True)
    assert read_tab(tmp_path / "b.tab").table.cells.largest is None


def test_names_of_figures_do_not_clash(tmp_path: Path) -> None:
    frame = FRAME.rename({"sex": "frequency", "v": "the amount"}).with_columns(max1=pl.lit("a"))
    table = flou.Microdata(frame, others=frame.columns).tabulate(["frequency", "max1"], value="the amount")
    write_tab(table, tmp_path / "t.tab", unprotected=True)
    same(table, read_tab(tmp_path / "t.tab").table)


@pytest.mark.parametrize(("value", "text"), [(1e-7, "0.0000001"), (3.0, "3"), (1e20, "1" + "0" * 20), (0.1, "0.1")])
def test_numbers_have_no_exponent(value: float, text: str) -> None:
    assert plain_number(value) == text
    assert float(text) == value


def test_decimals_are_those_of_the_amounts() -> None:
    assert decimals_of([0.1 + 0.2, 5, None, float("nan")]) == 1
