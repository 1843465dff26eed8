"""The public folder of a run tells no secret: no number of its own, none of two numbers, no name that was hidden.

Everything in the folder is searched, but for the cells of the data themselves: names of files, pages in both languages
(without styles, drawings and extracts of tables), metadata and sizes of files. Numbers of three digits or more are
tried alone and in pairs: with smaller ones some pair would give any number.
"""

from __future__ import annotations

import itertools
import pickle
import re
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow.parquet as pq
import pytest

import flou
from flou.decide.verdict import Decision
from flou.describe.microdata import Microdata
from flou.describe.table.table import Table
from flou.engine.measure import RiskMeasure
from flou.job.carry_out import Done, carry_out
from flou.job.folder import write_folder

#: The file that a sample is drawn from, the records that are dropped before, and the parameters that nobody is told.
FRAME, DROPPED, SHARE, SWAPPED = 17_389, 137, 0.4637, 0.0371
#: The share of the population that the file is, as a measure is told it.
FRACTION = 0.2593
SECRET = flou.Secret(bytes(range(32)))
HIDDEN_NAMES = ("Kilda", "office_stratum", "national_number", "full_name", "Lighthouse")


def people() -> pl.DataFrame:
    """17,389 records of which many are alike, and 137 that are alone in their commune."""
    rng, n = np.random.default_rng(3), FRAME + DROPPED
    ordinary = np.arange(n) < FRAME
    commune = np.where(ordinary, rng.choice(["Arles", "Brest", "Calais"], n), [f"Kilda-{i}" for i in range(n)])
    return pl.DataFrame(
        {
            "national_number": rng.permutation(n),
            "full_name": [f"name {i}" for i in range(n)],
            "commune": commune,
            "age": rng.choice([23, 34, 45, 56, 67], n),
            "trade": np.where(ordinary, rng.choice(["baker", "clerk"], n), "Lighthouse keeper"),
            "income": np.where(rng.random(n) < 0.1, 0, rng.lognormal(7.4, 0.5, n).round()),
            "office_stratum": rng.integers(0, 7, n),
        }
    )


RECORDS_PLAN = f"""
flou = 2
[data]
source = "people.parquet"
schema = "people.schema.toml"
[secrets]
file = "key.secret"
[release]
period = "2026"
[[protect]]
method = "multiplicative_noise"
columns = ["income"]
[[protect]]
method = "drop_records"
measure = {{ method = "k_anonymity", k = 5, missing = "category" }}
[[protect]]
method = "random_swap"
columns = ["trade"]
share = {SWAPPED}
[[protect]]
method = "sample"
share = {SHARE}
by = ["office_stratum"]
[[measure]]
method = "k_anonymity"
k = 5
missing = "category"
[[measure]]
method = "population_uniqueness"
model = "pitman"
sampling_fraction = {FRACTION}
[[compare]]
method = "summary"
columns = ["income", "age"]
[policy]
min_count = 5
[[policy.rule]]
method = "k_anonymity"
settings = {{ k = 5, missing = "category" }}
on = "frame"
at_most = {{ release = 0 }}
[[policy.rule]]
method = "population_uniqueness"
settings = {{ model = "pitman", sampling_fraction = {FRACTION} }}
at_most = {{ release = 0.5 }}
[output]
format = "parquet"
languages = ["en"]
"""

SCHEMA = """
flou = 2
[columns.national_number]
role = "id"
[columns.full_name]
role = "identifier"
label = "Full_name of the person"
[columns.office_stratum]
role = "identifier"
[columns.commune]
role = "key"
modalities = [COMMUNES]
values = { "Kilda-17400" = "Saint Kilda", Brest = "Brest" }
[columns.age]
role = "key"
[columns.trade]
role = "sensitive"
[columns.income]
role = "other"
"""

TABLES_PLAN = """
flou = 2
[data]
source = "firms.parquet"
schema = "firms.schema.toml"
[secrets]
file = "key.secret"
[[tabulate]]
name = "turnover"
dims = ["region", "branch"]
value = "turnover"
[[protect]]
method = "cell_suppression"
primary = [{ method = "dominance", n = 3, k = 83.7 }, { method = "threshold", n = 7 }]
[[attack]]
method = "cell_bounds"
primary = [{ method = "dominance", n = 3, k = 83.7 }, { method = "threshold", n = 7 }]
[[measure]]
method = "dominance"
n = 3
k = 83.7
[policy]
RULES
[[policy.rule]]
method = "dominance"
settings = { n = 3, k = 83.7 }
figure = "n_shown"
at_most = { release = 0 }
[[policy.rule]]
method = "cell_bounds"
settings = { primary = [{ method = "dominance", n = 3, k = 83.7 }, { method = "threshold", n = 7 }] }
at_most = { release = 0 }
[output]
format = "xlsx"
languages = ["en"]
"""

FIRMS_SCHEMA = """
flou = 2
[columns.siren]
role = "id"
[columns.region]
role = "other"
[columns.branch]
role = "other"
[columns.turnover]
role = "other"
"""


def firms() -> pl.DataFrame:
    """Some hundred firms; in one cell a single one gives nearly all."""
    rng, n = np.random.default_rng(8), 613
    turnover = rng.lognormal(6, 0.4, n).round()
    turnover[:2] = 1e6
    return pl.DataFrame(
        {
            "siren": rng.permutation(n),
            "region": np.where(np.arange(n) < 40, "north", rng.choice(["north", "south", "east"], n)),
            "branch": np.where(np.arange(n) < 40, "mining", rng.choice(["mining", "retail", "care"], n)),
            "turnover": turnover,
        }
    )


def _carried_out(folder: Path, plan: str) -> Done:
    SECRET.save(folder / "key.secret")
    (folder / "plan.toml").write_text(plan)
    return carry_out(flou.Plan.load(folder / "plan.toml"))


@pytest.fixture(scope="module")
def of_records(tmp_path_factory: pytest.TempPathFactory) -> tuple[Done, Path]:
    folder, frame = tmp_path_factory.mktemp("records"), people()
    frame.write_parquet(folder / "people.parquet")
    communes = ", ".join(f'"{name}"' for name in sorted(set(frame["commune"])))
    (folder / "people.schema.toml").write_text(SCHEMA.replace("COMMUNES", communes))
    done = _carried_out(folder, RECORDS_PLAN)
    assert done.verdict.decision is Decision.RELEASE, done.verdict
    frame_of_sample = done.release.data.kin.frame
    assert frame_of_sample is not None
    assert frame_of_sample.n_records == FRAME
    return done, write_folder(done, folder / "out") / "public"


@pytest.fixture(scope="module")
def folder_of_records(of_records: tuple[Done, Path]) -> Path:
    """With the French page, which is written here so that no single test does all the work."""
    done, public = of_records
    done.report.save(public / "report.fr.html", language="fr", audience="public")
    return public


def _of_tables(folder: Path, rules: str = "") -> tuple[Done, Path]:
    firms().write_parquet(folder / "firms.parquet")
    (folder / "firms.schema.toml").write_text(FIRMS_SCHEMA)
    done = _carried_out(folder, TABLES_PLAN.replace("RULES", rules))
    assert done.verdict.decision is Decision.RELEASE, done.verdict
    public = write_folder(done, folder / "out") / "public"
    done.report.save(public / "report.fr.html", language="fr", audience="public")
    return done, public


@pytest.fixture(scope="module")
def of_tables(tmp_path_factory: pytest.TempPathFactory) -> tuple[Done, Path]:
    return _of_tables(tmp_path_factory.mktemp("tables"))


def _text(page: Path) -> str:
    """What a page says: no styles, drawings, extracts of tables, nor the list of terms."""
    html = page.read_text(encoding="utf-8")
    for element in (r"<style.*?</style>", r"<svg.*?</svg>", r'<section id="glossary">.*?</section>', r"<footer.*"):
        html = re.sub(element, " ", html, flags=re.S)
    return unescape(re.sub(r"<[^>]+>", " ", html))


def _told(public: Path) -> Iterator[str]:
    """Every text and size in the folder beside the cells of the data."""
    for path in sorted(p for p in public.rglob("*") if p.is_file()):
        yield path.relative_to(public).as_posix()
        if path.suffix == ".html":
            yield _text(path)
        if path.suffix == ".parquet":
            file = pq.ParquetFile(path)
            yield f"{file.schema_arrow} {file.metadata} {file.metadata.metadata}"
        if path.suffix == ".xlsx":
            import zipfile

            with zipfile.ZipFile(path) as parts:
                for name in parts.namelist():
                    if "docProps" in name or "workbook" in name or "tables/" in name:
                        yield f"{name} {parts.read(name).decode()}"


def _numbers(text: str) -> set[float]:
    """Numbers of three digits or more, in either language; percentages as shares as well."""
    joined = re.sub(r"(?<=\d)[,\u202f](?=\d{3}(?!\d))", "", text)
    found = set()
    for whole, part, percent in re.findall(r"(?<![\w.])(\d+)(?:[.,](\d+))?\s?(%?)", joined):
        digits = (whole + part).lstrip("0")
        if len(digits) >= 3:
            value = float(f"{whole}.{part or 0}")
            found |= {value, round(value / 100, 6)} if percent else {value}
    return found


def _ways(numbers: set[float], secret: float, slack: float) -> list[str]:
    """How a secret number is computed from one or two of those that stand in the folder."""
    found = [f"{a:g}" for a in numbers if abs(a - secret) <= slack]
    for a, b in itertools.permutations(sorted(numbers), 2):
        results = {"+": a + b, "-": a - b, "*": a * b, "/": a / b if b else np.inf}
        found += [f"{a:g} {sign} {b:g}" for sign, value in results.items() if abs(value - secret) <= slack]
    return found


def test_the_office_reads_what_the_public_does_not(of_records: tuple[Done, Path]) -> None:
    page = (of_records[1].parent / "internal" / "report.en.html").read_text()
    assert "17,389" in page
    assert "137 records dropped" in page
    assert "Before the sample was drawn" in page
    assert "values are zero and stay so" in page


@pytest.mark.parametrize("secret", [FRAME, DROPPED, FRAME + DROPPED, SHARE, SWAPPED, FRACTION])
def test_no_secret_number_of_a_sample_can_be_computed(folder_of_records: Path, secret: float, n_released: int) -> None:
    slack = 0.5 if secret >= 1 else 0.00005
    numbers = set().union(*map(_numbers, _told(folder_of_records)))
    assert n_released in numbers, "users of a file know how many records it has"
    assert not _ways(numbers, secret, slack)


def test_zeros_of_the_original_are_not_counted(folder_of_records: Path) -> None:
    """Beside those of the release, which anybody counts, they tell of the records that were dropped."""
    n_zero = int((people()["income"] == 0).sum())
    numbers = set().union(*map(_numbers, _told(folder_of_records)))
    assert n_zero > 1000
    assert n_zero not in numbers


@pytest.fixture
def n_released(of_records: tuple[Done, Path]) -> int:
    return int(of_records[0].release.data.n_records)


def test_numbers_are_found_in_both_languages_and_in_pairs() -> None:
    numbers = _numbers("8,063 of 17,389 · 8\u202f063 · 46.37% · 12,37\u202f% · k = 5, 17")
    assert numbers == {8063, 17389, 46.37, 0.4637, 12.37, 0.1237}
    assert "8063 / 17389" in _ways({8063, 17389}, 0.4637, 0.00005)
    assert "17526 - 137" in _ways({17526, 137}, 17389, 0.5)


@pytest.mark.parametrize("name", HIDDEN_NAMES)
def test_no_hidden_name_stands_in_the_folder(folder_of_records: Path, name: str) -> None:
    assert not [text for text in _told(folder_of_records) if name in text]
    files = [path for path in folder_of_records.rglob("*") if path.is_file()]
    assert not [path for path in files if name.encode() in path.read_bytes()]


@pytest.mark.parametrize("name", HIDDEN_NAMES)
def test_no_hidden_name_is_pickled(of_records: tuple[Done, Path], name: str) -> None:
    data = of_records[0].release.data
    for shown in (data, data.public(), data.kin.frame):
        assert name.encode() not in pickle.dumps(shown.collect())


def test_combinations_that_are_possible_are_those_of_shown_values(folder_of_records: Path) -> None:
    """Three communes and five ages are shown; the schema lists 137 communes more."""
    for language, words in (
        ("en", "15 complete ones are possible"),
        ("fr", "15 combinaisons complètes sont possibles"),
    ):
        assert words in _text(folder_of_records / f"report.{language}.html")


def test_the_frame_is_not_drawn(folder_of_records: Path) -> None:
    """Bars of exact height are fractions whose denominator is the size of the frame."""
    assert "Before the sample was drawn" not in (folder_of_records / "report.en.html").read_text()
    assert "Avant le tirage" not in (folder_of_records / "report.fr.html").read_text()


def test_the_frame_meets_what_was_asked_for(folder_of_records: Path) -> None:
    page = _text(folder_of_records / "report.en.html")
    assert re.search(r"share of records below k\s+0%\s+0%", page)
    assert re.search(r"smallest frequency of a key\s+≥ 5\s+\d+", page)
    assert re.search(r"records\s+hidden\s+8,06\d", page)


def test_a_sampling_fraction_is_masked() -> None:
    """Of a sample it is the secret share; the population that follows from the weights is the frame."""
    frame = pl.DataFrame({"pid": range(900), "a": [i % 45 for i in range(900)], "w": [900 / 417] * 900})
    data = flou.Microdata(frame, id="pid", keys=["a"], weight="w")
    release = flou.Plan().protect(data, secret=SECRET)
    measure = flou.risk.PopulationUniqueness(sampling_fraction=SHARE)
    rule = {"method": measure.name(), "settings": {"sampling_fraction": SHARE}, "at_most": {"release": 0.5}}
    result = measure.measure(release)
    verdict = flou.Policy(rules=[rule]).judge(result, release)
    report = flou.Report(data, release, results=[result], verdict=verdict)
    page, inside = report.html(audience="public"), report.html()
    assert "sampling_fraction = hidden" in page
    assert "4637" not in page
    assert "people in the population" in inside
    assert "people in the population" not in page


def _judged(measure: RiskMeasure) -> tuple[str, str]:
    """The internal and the public page of a file that a rule on one measure lets out."""
    frame = pl.DataFrame({"pid": range(900), "a": [i % 45 for i in range(899)] + [45]})
    data = flou.Microdata(frame, id="pid", keys=["a"])
    release = flou.Plan().protect(data, secret=SECRET)
    settings = measure.shown_settings()
    rule = {"method": measure.name(), "settings": settings, "figure": "value", "at_most": {"release": 0.5}}
    result = measure.measure(release)
    report = flou.Report(data, release, results=[result], verdict=flou.Policy(rules=[rule]).judge(result, release))
    return report.html(), report.html(audience="public")


@pytest.mark.parametrize(
    ("measure", "said"),
    [
        (flou.risk.PoissonRisk(sampling_fraction=SHARE), ("matched rightly", "degrees", "sample uniques", "threshold</th", "cells of")),
        (flou.risk.PopulationUniqueness(sampling_fraction=SHARE), ("that is unique", "sample uniques")),
    ],
)  # fmt: skip
def test_what_follows_from_the_sampling_fraction_is_for_the_office(measure: RiskMeasure, said: tuple[str, ...]) -> None:
    """Whoever has the file could try fractions until the figures agree."""
    internal, public = _judged(measure)
    figures = public.split('id="risk"')[1].split("</section>")[0]
    assert all(words in internal.split('id="risk"')[1] for words in said)
    assert not any(words in figures for words in said)
    assert "<svg" in internal
    assert "<svg" not in public
    assert str(measure.title) in figures


@pytest.mark.parametrize("secret", ["83.7", "83,7"])
def test_parameters_of_rules_are_masked(of_tables: tuple[Done, Path], secret: str) -> None:
    assert not [text for text in _told(of_tables[1]) if secret in text]
    assert "dominance(n = hidden, k = hidden)" in _text(of_tables[1] / "report.en.html")
    assert "dominance(n = masqué\u202f; k = masqué)" in _text(of_tables[1] / "report.fr.html")
    assert "n = 7" not in _text(of_tables[1] / "report.en.html")
    assert "dominance(n = 3, k = 83.7)" in of_tables[0].report.html()
    assert (of_tables[0].release.data.to_frame()["status"] == "suppressed").any()


def test_a_policy_can_make_rules_public(tmp_path: Path) -> None:
    _, public = _of_tables(tmp_path, "public_rules = true")
    page = _text(public / "report.en.html")
    assert "dominance(n = 3, k = 83.7)" in page
    assert "dominance rule (n = 3, k = 83.7)" in page


def _microdata(**more: Any) -> Microdata:
    frame = pl.DataFrame({"area": ["Kilda"] * 2 + ["Arles"] * 50 + ["Brest"] * 50, "age": [97] * 2 + [31, 32] * 50})
    groups = flou.Hierarchy.tree({"islands": ["Kilda"], "land": ["Arles", "Brest", "Nowhere"]})
    return flou.Microdata(
        frame,
        keys=["area", "age"],
        modalities={"area": ["Kilda", "Arles", "Brest", "Nowhere"]},
        value_labels={"area": {"Kilda": "Saint Kilda", "Arles": "Arles on the Rhône"}},
        hierarchies={"area": groups},
        incoherent=({"area": "Kilda", "age": 31},),
        labels={"area": "Area", "gone": "Kilda only"},
        **more,
    )


STEPS: dict[str, flou.protect.Protection] = {
    "dropped": flou.protect.DropRecords(flou.risk.KAnonymity(k=3)),
    "nulled": flou.protect.LocalSuppression(k=3),
    "recoded": flou.protect.Recode(
        "area", mapping={"Kilda": "elsewhere", "Arles": "Arles", "Brest": "Brest", "Nowhere": "elsewhere"}
    ),
}


@pytest.mark.parametrize("step", STEPS)
def test_a_release_does_not_name_values_that_nobody_shows(step: str) -> None:
    release = STEPS[step].protect(_microdata(), secret=SECRET)
    pickled = pickle.dumps(release.data)
    assert b"Kilda" not in pickled
    assert b"islands" not in pickled
    assert b"Nowhere" not in pickled
    back = pickle.loads(pickled)
    assert back.n_records == release.data.n_records
    assert back.schema.keys == ("area", "age")
    assert "Kilda" not in str(release.data.public().describe().columns)


@pytest.mark.parametrize("measure", [flou.risk.KAnonymity(k=3), flou.risk.IndividualRisk(), flou.risk.GlobalRisk()])
def test_a_pickled_result_names_no_value_that_nobody_shows(measure: RiskMeasure) -> None:
    result = measure.measure(STEPS["dropped"].protect(_microdata(), secret=SECRET))
    pickled = pickle.dumps(result)
    assert b"Kilda" not in pickled
    assert pickle.loads(pickled).by_key.equals(result.by_key)


def test_what_a_release_shows_keeps_its_words() -> None:
    release = STEPS["dropped"].protect(_microdata(undetermined={"area": ["?"]}), secret=SECRET)
    schema = pickle.loads(pickle.dumps(release.data)).schema
    assert schema.modalities == {"area": ("Arles", "Brest")}
    assert schema.value_label("area", "Arles") == "Arles on the Rhône"
    assert schema.undetermined == {"area": ("?",)}
    hierarchy = schema.hierarchies["area"]
    assert hierarchy.generalise(["Arles", "Brest"], 1) == {"Arles": "land", "Brest": "land"}
    assert hierarchy.height == 2, "its levels keep their numbers"


def test_rows_in_an_engine_are_described_by_what_they_show(tmp_path: Path) -> None:
    _microdata().to_frame().write_parquet(tmp_path / "rows.parquet")
    data = flou.read(tmp_path / "rows.parquet", schema=_microdata().schema)
    public = STEPS["dropped"].protect(data, secret=SECRET).data.public()
    assert public.is_lazy
    assert "Kilda" not in str(public.describe().columns)


def test_a_table_does_not_name_categories_that_it_does_not_list() -> None:
    frame = pl.DataFrame({"area": ["Kilda"] * 1 + ["Arles"] * 500, "pid": range(501), "pay": [1.0] * 501})
    data = flou.Microdata(
        frame, id="pid", others=["area", "pay"], modalities={"area": ["Arles", "Kilda"]},
        value_labels={"area": {"Kilda": "Saint Kilda"}}, labels={"pid": "Number of the pass"},
    )  # fmt: skip
    secret = flou.Secret(bytes([0]) * 32)  # one by which the cell of one person shows zero
    table = flou.record_keys(data, secret=secret).tabulate(["area"], value="pay")
    release = flou.protect.CellKey(D=8, V=6.0, js=3).protect(table, secret=secret)
    assert "Kilda" not in str(release.data.to_frame())
    pickled = pickle.dumps(release.data)
    assert b"Kilda" not in pickled
    assert b"pass" not in pickled
    back = pickle.loads(pickled)
    assert isinstance(back, Table)
    assert back.value_name is None, "the sums are not published"
