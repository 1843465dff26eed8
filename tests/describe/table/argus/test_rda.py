"""Descriptions of τ-ARGUS's files, as the manual and other tools write them."""

from __future__ import annotations

from pathlib import Path

import pytest

from flou.describe.table.argus.rda import Rda, Variable, branches_by_levels, describes, rda_text, read_rda, tree_for
from flou.engine.errors import DataError, HierarchyError

#: As sdcTable and rtauargus write them: with and without quotes, several words on a line, in any order.
TABLE = """   <SEPARATOR> ","
<SAFE> "s"  <UNSAFE> "u"  <PROTECT> "z"
region "99" "98"
   <RECODEABLE>
   <TOTCODE> "T"
   <HIERCODELIST> "C:\\old\\region.hrc"
   <HIERLEADSTRING> "#"
   <HIERARCHICAL>
   <CODELIST> region.cdl
size
  <recodeable>
VAL
  <NUMERIC> <RESPONSE>
  <DECIMALS> 2
shadow
  <NUMERIC> <SHADOW>
price
  <NUMERIC> <COST>
N_OBS
  <FREQUENCY>
MAX
  <MAXSCORE>
flag
  <STATUS> <SAFE> "S"
lpl
  <NUMERIC> <LOWERPL>
upl
  <UPPERPL> <NUMERIC>
"""


def read(tmp_path: Path, text: str, kind: str = "table") -> Rda:
    (tmp_path / "a.rda").write_text(text, encoding="utf-8")
    return read_rda(tmp_path / "a.rda", kind)  # type: ignore[arg-type]


def test_a_table(tmp_path: Path) -> None:
    rda = read(tmp_path, TABLE)
    assert (rda.separator, rda.safe, rda.unsafe, rda.protect) == (",", "S", "u", "z")
    assert [(v.name, v.role) for v in rda.variables] == [
        ("region", "dimension"), ("size", "dimension"), ("VAL", "response"), ("shadow", "shadow"), ("price", "cost"),
        ("N_OBS", "frequency"), ("MAX", "largest"), ("flag", "status"), ("lpl", "lower"), ("upl", "upper"),
    ]  # fmt: skip
    region = rda.variables[0]
    assert (region.missing, region.total, region.lead) == (("99", "98"), "T", "#")
    assert rda.variables[2].decimals == 2
    assert describes(tmp_path / "a.rda") == "table"
    # the hierarchy lies beside the description, wherever it was when that was written
    (tmp_path / "region.hrc").write_text("N\n#59\n")
    tree = tree_for(region, tmp_path)
    assert tree is not None
    assert tree.by_code(["N", "59"]) == {"N": ("N",), "59": ("N", "59")}
    assert rda.unused == ("<CODELIST> of region (labels of codes)",)


def test_records_in_fixed_columns_and_separated(tmp_path: Path) -> None:
    fixed = read(tmp_path, 'NUTS 1 5 "99999"\n  <RECODEABLE>\n  <HIERLEVELS> 3 1 1 0\nw 7 4\n  <WEIGHT>\n', "microdata")
    assert fixed.separator is None
    assert fixed.variables[0] == Variable("NUTS", "dimension", 1, 5, ("99999",), levels=(3, 1, 1))
    assert fixed.variables[1].role == "weight"
    assert describes(tmp_path / "a.rda") == "microdata"
    separated = read(tmp_path, "<SEPARATOR> ;\nweight 3 999\n <NUMERIC>\n <WEIGHT>\nent 4\n <HOLDING>\n", "microdata")
    assert separated.variables[0] == Variable("weight", "weight", None, 3, ("999",))
    assert separated.variables[1].role == "holding"


def test_levels_within_a_code() -> None:
    v = Variable("NUTS", "dimension", levels=(2, 1))
    assert branches_by_levels(v, ["FR", "FR1"]) == {"FR": ("FR",), "FR1": ("FR", "FR1")}
    with pytest.raises(DataError, match=r"levels of 2, 3 characters; these do not fit: 'F'"):
        branches_by_levels(v, ["F"])


@pytest.mark.parametrize(
    ("text", "kind", "message"),
    [
        ("a\n <RECODABEL>\n", "table", r"line 2: <RECODABEL> is no word of τ-ARGUS. Did you mean 'RECODABLE'"),
        ("<RECODEABLE>\n", "table", "line 1: <RECODEABLE> stands before the first variable"),
        ("a\n <TOTCODE>\n", "table", "line 2: <TOTCODE> takes one text; given none"),
        ("a\n <DECIMALS> x\n", "table", "line 2: <DECIMALS> takes whole numbers"),
        ("<SEPARATOR> ',,'\n", "table", "<SEPARATOR> is one sign"),
        ("a\n <NUMERIC>\na\n", "table", "names 'a' twice"),
        ("", "table", "names no variable"),
        ("a 1\n", "microdata", "'a' needs the column where it begins and its width"),
        ("a 0 3\n", "microdata", "whole numbers from 1"),
        ("<SEPARATOR> ,\na x\n", "microdata", "'a' needs its width"),
    ],
)
def test_what_cannot_be_understood(tmp_path: Path, text: str, kind: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        read(tmp_path, text, kind)


def test_a_hierarchy_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises((DataError, HierarchyError), match="cannot be read"):
        tree_for(Variable("a", "dimension", hrc="none.hrc"), tmp_path)


def test_there_and_back(tmp_path: Path) -> None:
    rda = Rda(
        (
            Variable("a", "dimension", missing=("9",), total="T", hrc="a.hrc", lead="@"),
            Variable("v", "response", decimals=3),
            Variable("n", "frequency"),
            Variable("m", "largest", decimals=1),
            Variable("s", "status"),
            Variable("c", "cost"),
            Variable("l", "lower"),
            Variable("u", "upper"),
        ),
        separator="\t",
    )
    assert read(tmp_path, rda_text(rda)) == rda
    records = Rda((Variable("a", "dimension", 1, 3), Variable("w", "weight", 5, 4, ("9999",), decimals=2)))
    assert read(tmp_path, rda_text(records), "microdata") == records
