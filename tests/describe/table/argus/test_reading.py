"""What τ-ARGUS takes and a reader can lose: keys, requests, doubled codes, codes of missing values, every single word."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import flou
from flou.describe.table.apriori import Apriori
from flou.describe.table.argus import rda
from flou.describe.table.argus.rda import UnusedWarning, read_rda
from flou.describe.table.argus.tab_file import ArgusTable
from flou.engine.errors import DataError, HierarchyError, ParameterError


def write(folder: Path, **files: str) -> Path:
    """Files by their names, a double underscore for the dot."""
    for name, text in files.items():
        (folder / name.replace("__", ".")).write_text(text, encoding="utf-8")
    return folder


KEYED = """<SEPARATOR> ","
sex 1
 <RECODEABLE>
req 1
 <REQUEST> "1" "2"
key 10
 <RECORDKEY>
 <DECIMALS> 8
"""


def keyed(folder: Path) -> Path:
    rng = [(i * 0.6180339887) % 1 for i in range(200)]
    rows = "".join(f"{i % 2},{i % 2},{key:.8f}\n" for i, key in enumerate(rng))
    return write(folder, e__rda=KEYED, e__asc=rows)


def test_a_request_for_protection_is_refused_until_it_is_ignored(tmp_path: Path) -> None:
    keyed(tmp_path)
    with pytest.raises(DataError, match=r"<REQUEST> says that req .*codes '1', '2'.* ignore=\[\"REQUEST\"\]"):
        flou.read_argus(tmp_path / "e.asc")
    with pytest.warns(UnusedWarning, match=r"<REQUEST> of req"):
        data = flou.read_argus(tmp_path / "e.asc", ignore=["REQUEST"])
    assert isinstance(data, flou.Microdata)
    assert set(data.schema.not_released) == {"req", "key"}
    with pytest.raises(ParameterError, match="lists words"):
        flou.read_argus(tmp_path / "e.asc", ignore=["RECORDKEY"])
    with pytest.raises(ParameterError, match="lists words"):
        flou.read_argus(tmp_path / "e.asc", ignore="REQUEST")


def test_record_keys_from_a_part_of_their_range_are_refused(tmp_path: Path) -> None:
    rows = "".join(f"{i % 2},0,{0.0001 + i * 0.00008:.8f}\n" for i in range(40))
    write(tmp_path, e__rda=KEYED, e__asc=rows)
    with pytest.warns(UnusedWarning):
        data: Any = flou.read_argus(tmp_path / "e.asc", ignore=["REQUEST"])
    with pytest.raises(DataError, match=r"not spread over their range.*Draw them anew, uniformly"):
        flou.record_keys(data, stored="key")


def test_a_record_key_is_a_number_that_serves_and_never_leaves(tmp_path: Path) -> None:
    keyed(tmp_path)
    with pytest.warns(UnusedWarning):
        data: Any = flou.read_argus(tmp_path / "e.asc", ignore=["REQUEST"])
    assert data.frame.collect_schema()["key"].is_float()
    with_keys = flou.record_keys(data, stored="key")
    assert with_keys.tabulate(["sex"]).cells.key is not None
    flou.write(data, tmp_path / "out.csv", unprotected=True)
    assert (tmp_path / "out.csv").read_text().splitlines()[0] == "sex"
    flou.write_argus(data, tmp_path / "again.asc", unprotected=True)
    assert "key" not in (tmp_path / "again.rda").read_text()
    assert "req" not in (tmp_path / "again.rda").read_text()


DOUBLED = "1\n@11\n@@001\n@@002\n2\n@11\n@@003\n@@004\n"
OF_DOUBLED = """<SEPARATOR> ","
mun 3
 <RECODEABLE>
 <HIERARCHICAL>
 <HIERCODELIST> "a.hrc"
 <HIERLEADSTRING> "@"
size 1
 <RECODEABLE>
v 6
 <NUMERIC>
"""


def test_categories_of_one_code_are_told_apart(tmp_path: Path) -> None:
    write(tmp_path, a__hrc=DOUBLED, a__rda=OF_DOUBLED, a__asc="001,a,1\n002,b,2\n003,a,3\n004,b,4\n")
    data: Any = flou.read_argus(tmp_path / "a.asc")
    assert data.tabulate(["size"]).cell(size="a")["count"] == 2
    table = data.tabulate(["mun@*"], value="v")
    shown = (
        table.shown_cells().select("mun@2", "mun@1", "value").filter(pl.col("mun@1") != "Total").unique().sort("value")
    )
    assert {(a, b) for a, b, v in shown.rows() if v in (3.0, 7.0)} == {("1", "1/11"), ("2", "2/11")}
    # what is written has a code of its own for each
    files = flou.write_argus(table, tmp_path / "b.tab", unprotected=True)
    assert [f.name for f in files] == ["b.tab", "b.rda", "b_mun.hrc"]
    back: Any = flou.read_argus(tmp_path / "b.tab", levels={"mun": ["mun@2", "mun@1"]})
    assert back.table.shown_cells().rows() == table.shown_cells().rows()


@pytest.mark.parametrize(
    ("hrc", "message"),
    [
        ("1\n@001\n2\n@001\n@002\n", r"'001' \(1/001 and 2/001\).*Give each place a code"),
        ("1\n@001\n@001\n", "twice below the same code: '1/001'"),
        ("1\n@009\n2\n@009\n", "no one place|has one place"),
        ("1\n@11\n@@001\n2\n@11\n@@002\n@1/11\n", "cannot be told apart as '1/11'"),
    ],
)
def test_what_has_no_one_place_is_refused(tmp_path: Path, hrc: str, message: str) -> None:
    write(tmp_path, a__hrc=hrc, a__rda=OF_DOUBLED, a__asc="001,a,1\n002,b,2\n")
    with pytest.raises(HierarchyError, match=message):
        flou.read_argus(tmp_path / "a.asc")
    with pytest.raises(HierarchyError, match=message):
        flou.read_argus(tmp_path / "a.hrc")
    # the way out that stays: a hierarchy of one's own
    data: Any = flou.read_argus(tmp_path / "a.asc", hierarchies={"mun": flou.Hierarchy.prefix(2)})
    assert data.schema.hierarchies["mun"].prefix_lengths == (2,)


@pytest.mark.parametrize(("borne", "named"), [("11", r"'11' \(1/11 and 2/11\)"), ("1", "'1'")])
def test_a_record_that_bears_a_group_of_codes_is_told_what_to_do(tmp_path: Path, borne: str, named: str) -> None:
    hrc, rows = "1\n@11\n@@001\n2\n@11\n@@002\n", "001,a,1\n002,b,2\n"
    write(tmp_path, a__hrc=hrc, a__rda=OF_DOUBLED, a__asc=f"{rows}{borne},b,4\n")
    with pytest.raises(HierarchyError, match=f"groups of other values there: {named}.*a value below the group"):
        flou.read_argus(tmp_path / "a.asc")
    apart: Any = flou.read_argus(tmp_path / "a.asc", not_applicable={"mun": [borne]})
    assert apart.tabulate(["mun@*"]).cell(mun=borne)["count"] == 1
    write(tmp_path, a__hrc=hrc.replace("@@001", "@@001\n@@11?"), a__asc=f"{rows}11?,b,4\n")
    below: Any = flou.read_argus(tmp_path / "a.asc")
    assert below.tabulate(["mun@*"]).cell(**{"mun@1": "1/11"})["count"] == 2


def test_a_value_of_two_places_that_nobody_has_is_left_out(tmp_path: Path) -> None:
    hrc = "1\n@001\n@009\n2\n@009\n@002\n"
    write(tmp_path, a__hrc=hrc, a__rda=OF_DOUBLED, a__asc="001,a,1\n002,b,2\n")
    data: Any = flou.read_argus(tmp_path / "a.asc")
    assert [leaf for leaf, _ in data.schema.hierarchies["mun"].table] == ["001", "002"]


TABLE = """<SEPARATOR> ";"
region "99"
 <RECODEABLE>
 <TOTCODE> "Total"
 <HIERARCHICAL>
 <HIERCODELIST> "r.hrc"
 <HIERLEADSTRING> "@"
v "-1"
 <NUMERIC>
n
 <FREQUENCY>
"""
CELLS = "Total;100;20\nN;60;12\n1;20;5\n2;40;7\nS;37;7\n3;12;3\n4;25;4\n99;3;1\n"


def test_a_code_of_missing_values_stands_right_below_the_total(tmp_path: Path) -> None:
    write(tmp_path, r__hrc="N\n@1\n@2\nS\n@3\n@4\n", b__rda=TABLE, b__tab=CELLS)
    found: Any = flou.read_argus(tmp_path / "b.tab")
    assert found.table.cell(**{"region@1": "99"})["count"] == 1
    assert found.table.n_cells == 8
    # another unknown code is still an error, and so is a figure that is missing
    write(tmp_path, b__tab=CELLS + "98;1;1\n")
    with pytest.raises(DataError, match="its hierarchy does not"):
        flou.read_argus(tmp_path / "b.tab")
    write(tmp_path, b__tab=CELLS.replace("25;4", "-1;4"))
    with pytest.raises(DataError, match=r"code of a missing value in 'v'.*line 7"):
        flou.read_argus(tmp_path / "b.tab")


def test_codes_that_a_table_does_not_use_may_stand_twice(tmp_path: Path) -> None:
    doubled = "N\n@1\n@2\n@7\nS\n@3\n@4\n@7\n"
    write(tmp_path, r__hrc=doubled, b__rda=TABLE, b__tab=CELLS)
    assert isinstance(flou.read_argus(tmp_path / "b.tab"), ArgusTable)
    write(tmp_path, b__tab=CELLS + "7;0;0\n")
    with pytest.raises(HierarchyError, match=r"'7' \(N/7 and S/7\)"):
        flou.read_argus(tmp_path / "b.tab")


def test_records_of_missing_codes_are_counted_once(tmp_path: Path) -> None:
    """The same code in records: eight cells, and the table can be written again."""
    described = TABLE.replace(' "-1"', " 6").replace("n\n <FREQUENCY>\n", "").replace('region "99"', "region 2 99")
    rows = "1,5\n1,6\n1,7\n2,5\n2,6\n2,7\n3,5\n3,6\n3,8\n4,5\n4,6\n4,9\n99,3\n".replace(",", ";")
    write(tmp_path, r__hrc="N\n@1\n@2\nS\n@3\n@4\n", c__rda=described, c__asc=rows)
    data: Any = flou.read_argus(tmp_path / "c.asc")
    table = data.tabulate(["region@*"], value="v")
    assert table.n_cells == 8
    assert table.labels()["region@1"].to_list().count("99") == 1
    sensitive = flou.risk.PPercent(p=10).measure(table)
    assert sensitive.figures["n_sensitive"] == 1
    flou.write_argus(table, tmp_path / "d.tab", unprotected=True)
    back: Any = flou.read_argus(tmp_path / "d.tab")
    assert back.table.n_cells == 8


def test_what_was_said_of_a_table_is_taken_by_a_suppression(tmp_path: Path) -> None:
    write(
        tmp_path,
        r__hrc="N\n@1\n@2\nS\n@3\n@4\n",
        b__rda=TABLE + "s\n <STATUS>\n",
        b__tab="".join(f"{line};{'U' if line.startswith('1;') else 'S'}\n" for line in CELLS.splitlines()),
        x__hst="2,p\n",
    )
    found: Any = flou.read_argus(tmp_path / "b.tab")
    by_table = flou.protect.CellSuppression(apriori=found)
    assert by_table == flou.protect.CellSuppression(apriori=found.apriori)
    assert by_table.apriori == ((("region@1", "N"), ("region", "1"), ("action", "protect")),)
    hidden = by_table.protect(found.table).data.shown_cells().filter(pl.col("status") == "suppressed")
    assert "1" in hidden["region"].to_list()
    list_alone: Any = flou.read_argus(tmp_path / "x.hst", table=found.table)
    assert flou.attack.CellBounds(apriori=list_alone).apriori == (
        (("region@1", "N"), ("region", "2"), ("action", "keep")),
    )
    # nothing is said; and arrays of which nobody knows what they speak of
    nothing: Any = Apriori.none(8)
    assert flou.attack.CellBounds(apriori=nothing).apriori is None
    loose: Any = Apriori.none(8)
    loose.protect[2] = True
    with pytest.raises(flou.FlouError, match="which cells they speak of"):
        flou.protect.CellSuppression(apriori=loose)


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        (
            "run.arb",
            '<OPENTABLEDATA> "C:\\\\t\\\\x.tab"\n<OPENMETADATA> "x.rda"\n',
            r"batch file .* it opens, .*x.tab'",
        ),
        ("run.arb", "nothing", "batch file .*name the file of data"),
        ("sizes.cdl", "1,small\n", "list of labels"),
    ],
)
def test_files_without_data_are_called_what_they_are(tmp_path: Path, name: str, text: str, message: str) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(ParameterError, match=message):
        flou.read_argus(tmp_path / name)


def test_p_tables_whose_chances_are_called_p_ij() -> None:
    frame = pl.DataFrame({"i": [0, 1, 1], "j": [0, 0, 2], "p_ij": [1.0, 0.5, 0.5]})
    ours = flou.TransitionMatrix.from_ptable(frame)
    assert ours == flou.TransitionMatrix.from_ptable(frame.rename({"p_ij": "p"}))


# --------------------------------------------------------------------------------------------- every word of a description

#: What becomes of each word of τ-ARGUS (manual 4.2 and sdcTools/tauargus): used, named as not used, or refused.
WORDS = {
    "table": {
        "used": "SEPARATOR SAFE UNSAFE PROTECT RECODEABLE RECODABLE TOTCODE HIERCODELIST HIERLEADSTRING HIERLEVELS "
        "HIERARCHICAL NUMERIC RESPONSE COST COSTVAR LOWERPL UPPERPL FREQUENCY MAXSCORE STATUS DECIMALS",
        "named": "CODELIST DISTANCE SHADOW",
        "refused": "WEIGHT HOLDING REQUEST RECORDKEY TRUNCABLE PFILE PFILE_FREQ PFILE_CONT PFILE_SEP CKM INCLUDEZEROS "
        "PARITY SEPARATION SCALING SPSS",
    },
    "microdata": {
        "used": "SEPARATOR RECODEABLE RECODABLE HIERCODELIST HIERLEADSTRING HIERLEVELS HIERARCHICAL NUMERIC RESPONSE "
        "WEIGHT HOLDING RECORDKEY DECIMALS",
        "named": "TOTCODE CODELIST DISTANCE TRUNCABLE PFILE PFILE_FREQ PFILE_CONT PFILE_SEP CKM INCLUDEZEROS PARITY "
        "SEPARATION SCALING SHADOW COST COSTVAR LOWERPL UPPERPL",
        "refused": "REQUEST SAFE UNSAFE PROTECT FREQUENCY MAXSCORE STATUS SPSS",
    },
}
VALUES = {"SEPARATOR": '","', "SAFE": "x", "UNSAFE": "y", "PROTECT": "z", "TOTCODE": "All", "HIERCODELIST": "a.hrc",
          "HIERLEADSTRING": "-", "HIERLEVELS": "1 1", "DECIMALS": "3"}  # fmt: skip
#: What a word says only together with another.
BESIDE = {"HIERARCHICAL": " <HIERLEVELS> 1 1"}


@pytest.mark.parametrize(
    ("kind", "fate", "word"),
    [(kind, fate, word) for kind, held in WORDS.items() for fate, words in held.items() for word in words.split()],
)
def test_every_word_is_used_named_or_refused(tmp_path: Path, kind: Any, fate: str, word: str) -> None:
    def read(line: str) -> rda.Rda:
        places = " 1 2" if kind == "microdata" else ""
        return read_rda(write(tmp_path, a__rda=f"a{places}\n{line}\n") / "a.rda", kind)

    line = f"<{word}> {VALUES.get(word, '')}"
    if word in ("SEPARATOR", "SAFE", "UNSAFE", "PROTECT") and fate == "used":
        name = word.lower()
        found = read_rda(write(tmp_path, a__rda=f"{line}\na 2\n") / "a.rda", kind)
        assert getattr(found, name) == VALUES[word].strip('"')
        return
    if fate == "refused":
        with pytest.raises(DataError, match=word):
            read(line)
        return
    found, plain = read(line + BESIDE.get(word, "")), read("")
    named = [text for text in found.unused if word in text or text.startswith("what a is for")]
    assert bool(named) == (fate == "named")
    if fate == "used" and word != "HIERARCHICAL":
        assert found.variables != plain.variables


def test_every_word_that_is_known_has_a_fate() -> None:
    for kind, held in WORDS.items():
        known = {*rda._ROLES_OF[kind], *rda._SETTINGS, *rda._OF_FILE[kind], *rda._NOT_USED_OF[kind]}  # type: ignore[index]
        assert known - {"SPSS"} == {w for words in held.values() for w in words.split()} & known
        elsewhere = {w for other in WORDS.values() for words in other.values() for w in words.split()}
        assert set(" ".join(held.values()).split()) == elsewhere


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a\n <RECODEABLE>\n <STATUS>\n", "<STATUS>: 'a' is the dimension already"),
        ("a\n <RECODEABLE>\n <HIERARCHICAL>\n", "calls 'a' <HIERARCHICAL> and does not say how"),
    ],
)
def test_words_that_do_not_go_together(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        read_rda(write(tmp_path, a__rda=text) / "a.rda", "table")


def test_what_is_not_used_is_said_where_the_file_is_read(tmp_path: Path) -> None:
    described = TABLE + ' <CODELIST> "x.cdl"\nmore\n'
    cells = "".join(f"{line};7\n" for line in CELLS.splitlines())
    write(tmp_path, r__hrc="N\n@1\n@2\nS\n@3\n@4\n", b__rda=described, b__tab=cells)
    with pytest.warns(UnusedWarning, match=r"not used: <CODELIST> of n \(labels of codes\); more \(the description"):
        flou.read_argus(tmp_path / "b.tab")
    both = "a\n <RECODEABLE>\n <NUMERIC>\n"
    assert read_rda(write(tmp_path, a__rda=both) / "a.rda", "table").unused == ("<NUMERIC> of a (it is a dimension)",)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        write(tmp_path, b__rda=TABLE, b__tab=CELLS)
        flou.read_argus(tmp_path / "b.tab")
