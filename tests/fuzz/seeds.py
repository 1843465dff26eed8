"""Valid files of every kind that Flou reads, as bytes: what the mutations start from."""

from __future__ import annotations

import io
import tempfile
from functools import cache
from pathlib import Path

import pyreadstat
import xlsxwriter
from tests.contracts.cases import EXAMPLES
from tests.fuzz.frames import people

import flou
from flou.describe.profile import Profile
from flou.engine import toml

ROOT = Path(__file__).parents[2]
SMALL = ROOT / "tests" / "small_plan"
#: Name in the folder of the test → content. The first is the one that is read; it names the others.
Files = dict[str, bytes]

HRC = "N\n@59\n@62\nS\n"
TAB_RDA = """<SEPARATOR> ","
region 2 "9"
 <RECODEABLE>
 <TOTCODE> "T"
 <HIERARCHICAL> <HIERCODELIST> "region.hrc" <HIERLEADSTRING> "@"
sex
 <RECODEABLE>
 <TOTCODE> "T"
turnover
 <NUMERIC> <DECIMALS> 1
freq
 <FREQUENCY>
largest
 <MAXSCORE>
status
 <STATUS>
"""
TAB = """T,T,60,6,20,s
T,F,25,3,10,s
T,M,35,3,20,s
N,T,45,5,20,s
N,F,10,2,8,u
N,M,35,3,20,s
59,T,30,3,20,s
59,M,30,3,20,s
62,T,15,2,8,m
62,F,10,2,8,u
62,M,5,0,,s
S,T,15,1,15,u
S,F,15,1,15,u
"""
TAB = TAB.replace("62,M,5,0,,s\n", "62,M,5,1,5,s\n").replace("N,T,45,5,", "N,T,45,6,").replace("N,M,35,3,", "N,M,35,4,")
RECORDS_RDA = """region 1 2 "99"
 <RECODEABLE>
 <HIERARCHICAL> <HIERCODELIST> "region.hrc" <HIERLEADSTRING> "@"
sex 4 1
 <RECODEABLE>
turnover 6 6 "999999"
 <NUMERIC> <DECIMALS> 1
weight 13 4
 <WEIGHT>
firm 18 3
 <HOLDING>
"""
RECORDS = "".join(f"{r:>2} {s} {v:>6} {w:>4} {h:>3}\n" for r, s, v, w, h in (
    (59, "F", 10.5, 1.5, "a"), (59, "M", 20, 1, "b"), (62, "F", 30, 2, "c"), ("S", "M", 999999, 1, "d"),
    (99, "F", 5, 1, "e"), (62, "M", 7.25, 3, "a"),
))  # fmt: skip
HST = "59,M,u\n62,F,pl,5,5\nS,F,c,10\nT,M,p\n"
HIERARCHY = "".join(
    f"{age};{age // 10 * 10}-{age // 10 * 10 + 9};{'young' if age < 40 else 'old'};*\n" for age in range(30, 60)
)
PLAN_OF_TABLES = """flou = 2
title = { en = "Counts", fr = "Effectifs" }
[data]
source = "people.csv"
schema = "people.schema.toml"
[[tabulate]]
name = "counts"
dims = ["age@1", "illness"]
[[protect]]
method = "cell_suppression"
primary = [{ method = "threshold", n = 3 }]
[[measure]]
method = "threshold"
n = 3
[output]
format = "csv"
languages = ["en"]
"""
PLAN_OF_RECORDS = """flou = 2
[data]
source = "people.csv"
schema = "people.schema.toml"
[release]
series = "people"
period = "2020"
[[protect]]
method = "top_code"
column = "age"
at = 50
[[protect]]
method = "local_suppression"
k = 2
importance = { age = 1, sex = 10 }
[[measure]]
method = "l_diversity"
l = 2
missing = "category"
[[measure]]
method = "individual_risk"
[[compare]]
method = "summary"
columns = ["age"]
[policy]
min_count = 2
[[policy.rule]]
method = "l_diversity"
settings = { l = 2, missing = "category" }
at_most = { release = 0.5, review = 1.0 }
why = { en = "Nobody may learn an illness.", fr = "Personne ne doit apprendre une maladie." }
[output]
format = "parquet"
rows_per_part = 3
languages = ["en"]
"""


def _small() -> Files:
    return {path.name: path.read_bytes() for path in sorted(SMALL.iterdir())}


def _excel() -> bytes:
    stream = io.BytesIO()
    with xlsxwriter.Workbook(stream, {"in_memory": True}) as book:
        people().write_excel(book, worksheet="People")
    return stream.getvalue()


def _spss() -> bytes:
    with tempfile.TemporaryDirectory() as place:
        path = Path(place) / "people.sav"
        labels = {"sex": {"F": "female", "M": "male"}}
        pyreadstat.write_sav(people(), path, variable_value_labels=labels, missing_ranges={"age": [99]})
        return path.read_bytes()


def _frame(kind: str) -> bytes:
    stream = io.BytesIO()
    people().write_parquet(stream) if kind == "parquet" else people().write_ipc(stream)
    return stream.getvalue()


@cache
def valid(kind: str) -> tuple[Files, ...]:
    """The valid files of a kind, one set for each that may be spoilt; in each the file to spoil comes first."""
    small, hrc = _small(), {"region.hrc": HRC.encode()}
    examples = sorted((ROOT / "examples").rglob("*.toml"))
    if kind == "plan":
        plan, tables = small.pop("plan.toml"), PLAN_OF_TABLES.encode()
        records = PLAN_OF_RECORDS.encode()
        data = small.pop("people.csv")
        return (
            *({"plan.toml": text, "people.csv": data, **small} for text in (plan, tables, records)),
            *({"people.csv": data, "plan.toml": text, **small} for text in (plan, tables, records)),
        )
    if kind == "schema":
        return ({"people.schema.toml": small.pop("people.schema.toml"), **small},)
    if kind == "example":
        return tuple({path.name: path.read_bytes()} for path in examples)
    if kind == "methods":
        return tuple({"plan.toml": text.encode()} for text in _plans())
    tables = {"parquet": "people.parquet", "arrow": "people.arrow"}
    if kind in tables:
        return ({tables[kind]: _frame(kind)},)
    made: dict[str, tuple[Files, ...]] = {
        "csv": ({"people.csv": people().write_csv().encode()}, {"people.csv": small["people.csv"]}),
        "hierarchy": ({"age.csv": HIERARCHY.encode()},),
        "excel": ({"people.xlsx": _excel()},),
        "spss": ({"people.sav": _spss()},),
        "argus table": (
            {"t.tab": TAB.encode(), "t.rda": TAB_RDA.encode(), **hrc},
            {"t.rda": TAB_RDA.encode(), "t.tab": TAB.encode(), **hrc},
            {**hrc, "t.rda": TAB_RDA.encode(), "t.tab": TAB.encode()},
        ),
        "argus records": (
            {"r.asc": RECORDS.encode(), "r.rda": RECORDS_RDA.encode(), **hrc},
            {"r.rda": RECORDS_RDA.encode(), "r.asc": RECORDS.encode(), **hrc},
        ),
        "argus list": ({"a.hst": HST.encode(), "t.rda": TAB_RDA.encode(), "t.tab": TAB.encode(), **hrc},),
        "former run": (
            {"former/internal/profile.json": _profile().encode(), **small},
            {
                "former/internal/parameters.json": b'{"series": "a", "period": "1", "number": 1, "names": {}, "steps": []}',
                **small,
            },
        ),
    }
    return made[kind]


def _plans() -> list[str]:
    """A plan of each method, with the parameters that the contracts try."""
    made = [(m.stage, m.to_table()) for methods in EXAMPLES.values() for m in methods]
    return [toml.write({stage: [table]}) for stage, table in made]


def _profile() -> str:
    return Profile.of(flou.Microdata(people(), keys=["age", "sex"], sensitive=["income"])).to_json()


KINDS = (
    "plan", "schema", "example", "methods", "csv", "hierarchy", "parquet", "arrow", "excel", "spss", "argus table",
    "argus records", "argus list", "former run",
)  # fmt: skip
#: Kinds whose files are text; the others are damaged as bytes and made anew from spoilt frames.
TEXTS = tuple(k for k in KINDS if k not in ("parquet", "arrow", "excel", "spss"))
