"""Lists of cells: what an office says beforehand, read from files, frames and dictionaries, and every slip refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.contracts.cases import native
from tests.depth import examples

import flou
from flou.describe.table.apriori import Apriori, figures_of, read_apriori, write_apriori
from flou.engine.errors import DataError, OutputError, ParameterError

RECORDS = pl.DataFrame(
    {
        "region": ["N", "N", "S", "S", "S", "N"],
        "department": ["59", "62", "13", "13", "06", "59"],
        "sex": ["F", "M", "F", "M", "F", "F"],
        "income": [10.0, 20.0, 0.1, 0.2, 5.0, 7.0],
    }
)
DIMS = ["region>department", "sex"]


def table(**options: Any) -> flou.Table:
    return flou.Microdata(RECORDS, others=RECORDS.columns).tabulate(DIMS, **{"value": "income", **options})


def place(of: flou.Table, **labels: str) -> int:
    wanted = {c: labels.get(c, "Total") for c in of.columns}
    found = [i for i, row in enumerate(of.labels().iter_rows(named=True)) if row == wanted]
    return found[0]


def written(tmp_path: Path, text: str, **options: Any) -> Apriori:
    path = tmp_path / "cells.csv"
    path.write_text(text, encoding="utf-8")
    return read_apriori(path, table(), **options)


def same(one: Apriori, two: Apriori) -> None:
    for name, array in one.arrays.items():
        np.testing.assert_array_equal(array, two.arrays[name], err_msg=name)


LINES = """region,department,sex,action,first,second
N,59,F,protect,3,4.5
N,62,Total,keep,,
S,,,safe,,
,13,F,cost,7,
Total,Total,Total,bounds,0,100
S,06,F,levels,1,2
S,13,M,protect,,
"""


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_every_action_from_a_file(tmp_path: Path, delimiter: str) -> None:
    said = written(tmp_path, LINES.replace(",", delimiter))
    t = table()
    expected = Apriori.none(t.n_cells)
    expected.protect[
        [place(t, region="N", department="59", sex="F"), place(t, region="S", department="13", sex="M")]
    ] = 1
    expected.lower[place(t, region="N", department="59", sex="F")] = 3
    expected.upper[place(t, region="N", department="59", sex="F")] = 4.5
    expected.keep[place(t, region="N", department="62")] = True
    expected.safe[place(t, region="S")] = True
    expected.cost[place(t, region="S", department="13", sex="F")] = 7
    expected.low[place(t)], expected.high[place(t)] = 0, 100
    at = place(t, region="S", department="06", sex="F")
    expected.lower[at], expected.upper[at] = 1, 2
    same(said, expected)
    assert said.n_said == 7
    assert "2 protect, 1 keep, 1 safe, 1 cost, 1 bounds" in repr(said)


def test_byte_order_mark_header_case_and_empty_lines(tmp_path: Path) -> None:
    text = '\ufeffregion;department;sex;Action\n\n"N";"59";F; KEEP \n;;;\n'
    assert written(tmp_path, text).keep.sum() == 1


def test_decimal_comma_only_when_said(tmp_path: Path) -> None:
    text = "department;sex;action;first\n59;F;cost;2,5\n"
    with pytest.raises(DataError, match=r"line 2: cost: '2,5' is not a number"):
        written(tmp_path, text)
    assert np.nansum(written(tmp_path, text, decimal=",").cost) == 2.5
    with pytest.raises(DataError, match=r"2\.5 \(decimal is ','\)\" is not a number"):
        written(tmp_path, text.replace("2,5", "2.5"), decimal=",")
    with pytest.raises(ParameterError, match="decimal"):
        written(tmp_path, text, decimal=";")
    with pytest.raises(DataError, match="line 2 has 6 fields"):
        written(tmp_path, "department,sex,action,first,second\n59,F,cost,2,5,\n")


@pytest.mark.parametrize("kind", ["polars", "polars-lazy", "pandas", "pyarrow", "duckdb"])
def test_from_frames(kind: str, tmp_path: Path) -> None:
    frame = pl.DataFrame(
        {
            "region": ["N", "N", "S", None, "Total", "S", "S"],
            "department": ["59", "62", None, "13", "Total", "06", "13"],
            "sex": ["F", "Total", None, "F", "Total", "F", "M"],
            "action": ["protect", "keep", "safe", "cost", "bounds", "levels", "protect"],
            "first": [3.0, None, None, 7.0, 0.0, 1.0, None],
            "second": [4.5, None, None, None, 100.0, 2.0, None],
        }
    )
    same(read_apriori(native(frame, kind), table()), written(tmp_path, LINES))


def test_dictionaries_name_what_is_not_a_total() -> None:
    t = table()
    said = read_apriori([{"department": 59, "action": "keep"}, {"action": "cost", "first": 2}], t)
    assert np.flatnonzero(said.keep).tolist() == [place(t, region="N", department="59")]
    assert said.cost[place(t)] == 2
    with pytest.raises(DataError, match=r"Entry 1 names 'departement'.*Did you mean 'department'"):
        read_apriori([{"departement": "59", "action": "keep"}], t)
    with pytest.raises(DataError, match="Entry 2"):
        read_apriori([{"action": "keep"}, {"sex": "F"}], t)
    same(read_apriori([], t), Apriori.none(t.n_cells))


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("N,59,F,protekt,,", r"line 2: 'protekt' is no action\. Did you mean 'protect'"),
        ("N,59,F,,,", r"line 2: '' is no action\. Known: 'bounds'"),
        ("N,69,F,keep,,", r"line 2: region = 'N' and department = '69' is no category.*Known: '06', '13'"),
        ("S,59,F,keep,,", r"line 2: region = 'S' and department = '59' is no category"),
        ("Total,59,F,keep,,", "is no category"),
        ("N,Totl,F,keep,,", r"is no category.*Did you mean 'Total'"),
        ("N,59,G,keep,,", "sex = 'G' is no category"),
        ("N,59,M,keep,,", r"does not list the cell 59 × M: nobody is in it.*cells=\"all\""),
        ("N,59,F,cost,,", r"line 2: cost needs a number, first; none is given"),
        ("N,59,F,cost,x,", "cost: 'x' is not a number"),
        ("N,59,F,cost,-1,", "cost: -1 cannot be"),
        ("N,59,F,cost,inf,", "cost: inf cannot be"),
        ("N,59,F,cost,nan,", "cost: nan cannot be"),
        ("N,59,F,cost,1,2", "cost takes one number, first"),
        ("N,59,F,keep,1,", "keep takes no number"),
        ("N,59,F,safe,,1", "safe takes no number"),
        ("N,59,F,levels,1,", "levels needs two numbers; one is given"),
        ("N,59,F,protect,1,-2", "protect: -2 cannot be"),
        ("N,59,F,bounds,,", "bounds needs first, second or both"),
        ("N,59,F,bounds,5,4", "bounds: the low one, 5, is above the high one, 4"),
        (
            "N,59,F,bounds,18,30",
            r"1 cells are outside their bounds:\n  - 59 × F: its figure is 17, known beforehand is: at least 18, at most 30",
        ),
        ("N,59,F,bounds,,16.9", "known beforehand is: at most 16.9"),
    ],
)
def test_slips_are_refused(tmp_path: Path, line: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        written(tmp_path, f"region,department,sex,action,first,second\n{line}\n")


def test_line_problems_are_counted_and_ten_listed(tmp_path: Path) -> None:
    text = "department,sex,action\n" + "59,X,keep\n" * 13
    with pytest.raises(DataError) as caught:
        written(tmp_path, text)
    said = str(caught.value)
    assert "13 lines" in said
    assert said.count("  - line ") == 10
    assert "line 11:" in said
    assert "line 12:" not in said
    assert said.endswith("… and 3 more")


def test_lines_are_numbered_as_an_editor_does(tmp_path: Path) -> None:
    text = 'department,sex,action\n\n"59\n60",F,keep\n59,F,keep\n59,X,keep\n'
    with pytest.raises(DataError) as caught:
        written(tmp_path, text)
    assert "line 3:" in str(caught.value)
    assert "line 6:" in str(caught.value)


def test_all_contradictions_are_listed_at_once() -> None:
    t = table()
    frame = t.labels()
    rows: list[dict[str, Any]] = [{**row, "action": "protect"} for row in frame.iter_rows(named=True)]
    rows += [{**row, "action": "keep"} for row in frame.iter_rows(named=True)]
    rows += [{"action": "cost", "first": 1}, {"action": "cost", "first": 2}]
    with pytest.raises(DataError) as caught:
        read_apriori(rows, t)
    said = str(caught.value)
    assert f"contradicts itself in {t.n_cells + 1} places" in said
    assert said.count(": protect (entry ") == t.n_cells
    assert f"Total × Total: cost 1 (entry {2 * t.n_cells + 1}) and 2 (entry {2 * t.n_cells + 2})" in said


@pytest.mark.parametrize(
    ("one", "two"),
    [
        ({"action": "protect"}, {"action": "safe"}),
        ({"action": "keep"}, {"action": "levels", "first": 1, "second": 2}),
        ({"action": "protect", "first": 1}, {"action": "protect", "first": 2}),
        ({"action": "protect"}, {"action": "protect", "first": 2}),
        ({"action": "protect", "first": 1}, {"action": "levels", "first": 2, "second": 2}),
        ({"action": "bounds", "first": 1}, {"action": "bounds", "first": 1, "second": 50}),
    ],
)
def test_contradictions(one: dict[str, Any], two: dict[str, Any]) -> None:
    for lines in ([one, two], [two, one]):
        with pytest.raises(DataError, match="contradicts itself in 1 places"):
            read_apriori(lines, table())


def test_what_goes_together() -> None:
    """The same twice; a protected cell with levels of its own line; what is kept is also safe."""
    t = table()
    both = [{"action": "protect", "first": 1}, {"action": "levels", "first": 1, "second": 2}]
    said = read_apriori([*both, *both], t)
    assert (said.protect[place(t)], said.lower[place(t)], said.upper[place(t)]) == (True, 1, 2)
    read_apriori([{"action": "keep"}, {"action": "safe"}, {"action": "cost", "first": 0}], t)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty"),
        ("region,department,sex\nN,59,F\n", "has no column 'action'"),
        ("region,department,action\nN,59,keep\n", r"has no column 'sex'.*'Total' for the total"),
        ("sex,action\nF,keep\n", "has no column 'department'"),
        ("department,sex,sexe,action\n59,F,F,keep\n", r"a column 'sexe'.*Did you mean 'sex'"),
        ("department,sex,sex,action\n59,F,F,keep\n", "'sex' twice"),
        ('department,sex,action\n"59,F,keep\n', "is not a CSV file"),
    ],
)
def test_headers(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        written(tmp_path, text)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="cannot be read"):
        read_apriori(tmp_path / "none.csv", table())
    (tmp_path / "latin.csv").write_bytes("department,sex,action\né,F,keep\n".encode("latin-1"))
    with pytest.raises(DataError, match="not utf-8"):
        read_apriori(tmp_path / "latin.csv", table())


def test_a_margin_that_the_table_was_made_without() -> None:
    t = table(margins=["sex"])
    with pytest.raises(DataError, match="made without this margin"):
        read_apriori([{"sex": "F", "action": "keep"}], t)


def test_columns_that_would_be_mistaken() -> None:
    frame = RECORDS.rename({"sex": "action"})
    t = flou.Microdata(frame, others=frame.columns).tabulate(["action"])
    with pytest.raises(DataError, match="meaning of its own"):
        read_apriori([], t)


def test_the_figure_is_the_sum_else_the_count() -> None:
    t = table(value=None)
    assert figures_of(t).tolist() == t.true_counts.tolist()
    read_apriori([{"action": "bounds", "first": 6, "second": 6}], t)
    with pytest.raises(DataError, match="its figure is 6"):
        read_apriori([{"action": "bounds", "first": 7}], t)
    weighted = flou.Microdata(RECORDS, others=RECORDS.columns).tabulate(["sex"], weight="income")
    assert figures_of(weighted)[0] == pytest.approx(42.3)
    # a sum of floats is held by the bounds that people write
    said = read_apriori([{"department": "13", "action": "bounds", "first": 0.3, "second": 0.3}], table())
    figure = figures_of(table())[place(table(), region="S", department="13")]
    assert np.nanmin(said.low) <= figure <= np.nanmax(said.high)


def test_published_tables_say_what_they_show() -> None:
    public = table().public()
    assert figures_of(public).tolist() == table().true_values.tolist()
    with pytest.raises(DataError, match="outside"):
        read_apriori([{"action": "bounds", "first": 700}], public)


def test_written_lists_are_not_overwritten(tmp_path: Path) -> None:
    t = table()
    write_apriori(Apriori.none(t.n_cells), t, tmp_path / "a.csv")
    with pytest.raises(OutputError, match="exists"):
        write_apriori(Apriori.none(t.n_cells), t, tmp_path / "a.csv")
    write_apriori(Apriori.none(t.n_cells), t, tmp_path / "a.csv", overwrite=True)
    with pytest.raises(DataError, match="do not belong together"):
        write_apriori(Apriori.none(3), t, tmp_path / "b.csv")


label = st.text(st.characters(exclude_categories=("Cs",)), max_size=6).filter(lambda s: s != "Total")
number = st.floats(0, 1e12, allow_nan=False)


@examples(60)
@given(st.lists(label, min_size=1, max_size=4, unique=True), st.data())
def test_there_and_back(tmp_path_factory: pytest.TempPathFactory, labels: list[str], data: st.DataObject) -> None:
    """Any labels, and anything that can be said at once of a cell, read back the same."""
    frame = pl.DataFrame({"zone": ["Total", *labels], "count": [len(labels), *[1] * len(labels)]})
    t = flou.Table.from_frame(frame, ["zone"])
    said = Apriori.none(t.n_cells)
    for i in range(t.n_cells):
        said.protect[i] = data.draw(st.booleans())
        if said.protect[i]:
            said.lower[i] = data.draw(number | st.just(np.nan))
            said.upper[i] = data.draw(number | st.just(np.nan))
        else:
            said.keep[i], said.safe[i] = data.draw(st.booleans()), data.draw(st.booleans())
        said.cost[i] = data.draw(number | st.just(np.nan))
        said.low[i] = data.draw(st.floats(-1e9, 1) | st.just(np.nan))
        said.high[i] = data.draw(st.floats(len(labels), 1e9) | st.just(np.nan))
    path = tmp_path_factory.mktemp("there") / "cells.csv"
    write_apriori(said, t, path)
    same(read_apriori(path, t), said)
    same(said.take(np.arange(t.n_cells)), said)
