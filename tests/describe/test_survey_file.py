"""Survey files: types, labels and missing values of SPSS, Stata and SAS, and files that cannot be read."""

from __future__ import annotations

import datetime as dt
import gzip
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyreadstat
import pytest

import flou
from flou.describe.overview import draft_schema
from flou.describe.sources import survey_source
from flou.describe.sources.missing_codes import says_not_applicable
from flou.describe.sources.survey_file import SUFFIXES, read_survey
from flou.describe.sources.survey_source import open_survey
from flou.engine.errors import DataError, MissingExtraError, SchemaError
from flou.engine.spool import scan_spool

DATA = Path(__file__).parent / "data"
SEX = {1: "Male", 2: "Female"}


def _sav(folder: Path, columns: dict[str, list[Any]], **options: Any) -> Path:
    path = folder / "people.sav"
    pyreadstat.write_sav(pl.DataFrame(columns), path, **options)
    return path


def _dta(folder: Path, columns: dict[str, list[Any]], labels: dict[str, dict[Any, str]] | None = None) -> Path:
    """Letters among numbers, or among the labels of numbers, are Stata's missing values .a to .z."""
    path = folder / "people.dta"
    numbers = [c for c, values in columns.items() if any(isinstance(v, int | float) for v in values)]
    letters = {c: {v for v in (*columns[c], *(labels or {}).get(c, {})) if isinstance(v, str)} for c in numbers}
    pyreadstat.write_dta(
        pd.DataFrame({c: pd.Series(v, dtype=object) for c, v in columns.items()}), path,
        missing_user_values={c: sorted(v) for c, v in letters.items() if v}, variable_value_labels=labels,
    )  # fmt: skip
    return path


def _unpacked(folder: Path, *names: str) -> Path:
    for name in names:
        (folder / name).write_bytes(gzip.decompress((DATA / f"{name}.gz").read_bytes()))
    return folder / names[0]


def _read(path: Path, **roles: Any) -> tuple[pl.DataFrame, flou.Schema]:
    folder, schema = read_survey(path, flou.Schema(**roles))
    return scan_spool(folder).collect(), schema


# Types


def test_whole_numbers_are_whole_although_the_file_stores_fractions(tmp_path: Path) -> None:
    rows, _ = _read(_sav(tmp_path, {"age": [31.0, None, 47.0], "income": [1200.5, 900.0, None]}))
    assert rows.schema == {"age": pl.Int64, "income": pl.Float64}
    assert rows["age"].to_list() == [31, None, 47]
    assert rows["income"].to_list() == [1200.5, 900.0, None]


def test_a_number_too_long_to_be_exact_stays_a_fraction(tmp_path: Path) -> None:
    for big in (1e300, 2.0**56):
        rows, _ = _read(_sav(tmp_path, {"big": [big, 2.0]}))
        assert (rows["big"].dtype, rows["big"].to_list()) == (pl.Float64, [big, 2.0])


def test_missing_codes_do_not_decide_the_type(tmp_path: Path) -> None:
    rows, _ = _read(_sav(tmp_path, {"age": [31.0, 99.5, 47.0]}, missing_ranges={"age": [99.5]}))
    assert rows["age"].dtype == pl.Int64
    rows, _ = _read(_sav(tmp_path, {"age": [31.0, 0.5, 47.0]}), undetermined={"age": [0.5]})
    assert rows["age"].to_list() == [31, None, 47]


def test_blank_text_is_null_and_other_blanks_stay(tmp_path: Path) -> None:
    rows, _ = _read(_sav(tmp_path, {"city": ["Paris", "", "   ", "  Metz"]}))
    assert rows["city"].to_list() == ["Paris", None, None, "  Metz"]


MOMENTS: dict[str, list[Any]] = {
    "day": [dt.date(2020, 2, 29), None, dt.date(1899, 12, 31)],
    "moment": [dt.datetime(2020, 2, 29, 13, 5, 7), None, dt.datetime(1958, 1, 1, 23, 59, 59)],
    "hour": [dt.time(1, 2, 3), None, dt.time(23, 59, 59)],
}


@pytest.mark.parametrize("ending", [".sav", ".zsav", ".dta", ".xpt", ".por"])
def test_dates_times_and_moments_of_every_system(ending: str, tmp_path: Path) -> None:
    path = tmp_path / f"moments{ending}"
    writers: dict[str, Callable[..., None]] = {
        ".sav": pyreadstat.write_sav, ".dta": pyreadstat.write_dta,
        ".xpt": pyreadstat.write_xport, ".por": pyreadstat.write_por,
    }  # fmt: skip
    if ending == ".zsav":
        pyreadstat.write_sav(pl.DataFrame(MOMENTS), path, compress=True)
    else:
        writers[ending](pl.DataFrame(MOMENTS), path)
    rows, _ = _read(path)
    rows = rows.rename(str.lower)  # a portable file has capitals alone
    assert rows.schema == {"day": pl.Date, "moment": pl.Datetime("us"), "hour": pl.String}
    assert rows["day"].to_list() == MOMENTS["day"]
    assert rows["moment"].to_list() == MOMENTS["moment"]
    assert rows["hour"].to_list() == ["01:02:03", None, "23:59:59"]


def test_a_stata_date_in_any_display_format_is_a_date(tmp_path: Path) -> None:
    """22 000 days after 1960 is 26 March 2020, however it is shown; months are counted, not dated."""
    path = tmp_path / "d.dta"
    frame = pl.DataFrame({"day": [22000.0], "month": [720.0]})
    pyreadstat.write_dta(frame, path, variable_format={"day": "%tdDD/NN/CCYY", "month": "%tm"})
    rows, _ = _read(path)
    assert rows.rows() == [(dt.date(2020, 3, 26), 720)]


def test_a_moment_that_stata_shows_as_a_time_of_day_is_one(tmp_path: Path) -> None:
    path = tmp_path / "t.dta"
    moment = (22_000 * 24 + 13) * 3_600_000.0  # 13 hours, 22 000 days after 1960
    pyreadstat.write_dta(pl.DataFrame({"hour": [moment]}), path, variable_format={"hour": "%tcHH:MM"})
    assert _read(path)[0]["hour"].to_list() == ["13:00:00"]


def test_a_time_of_more_than_a_day_keeps_its_hours(tmp_path: Path) -> None:
    rows, _ = _read(_sav(tmp_path, {"worked": [90_061.0, -60.0]}, variable_format={"worked": "TIME11"}))
    assert rows["worked"].to_list() == ["25:01:01", "-00:01:00"]


def test_fractions_of_a_second_are_kept_in_moments(tmp_path: Path) -> None:
    moment = dt.datetime(2020, 1, 2, 3, 4, 5, 250_000)
    rows, _ = _read(_sav(tmp_path, {"m": [moment]}))
    assert rows["m"].to_list() == [moment]


def test_a_date_that_no_calendar_holds_is_refused_unless_it_is_a_code(tmp_path: Path) -> None:
    columns, shown = {"born": [1e13, 13_800_000_000.0]}, {"variable_format": {"born": "DATE11"}}
    with pytest.raises(DataError, match="'born'"):
        _read(_sav(tmp_path, columns, **shown))
    labels = {"born": {1e13: "Not applicable"}}
    rows, schema = _read(
        _sav(tmp_path, columns, missing_ranges={"born": [1e13]}, variable_value_labels=labels, **shown)
    )
    assert rows["born"].to_list() == [None, dt.date(2020, 2, 2)]
    assert schema.undetermined == {"born": ("10000000000000",)}  # a column of dates cannot keep it as a category


def test_a_declared_date_code_is_a_category_of_the_column(tmp_path: Path) -> None:
    day = dt.date(1900, 1, 1)
    seconds = (day - dt.date(1582, 10, 14)).days * 86_400
    path = _sav(tmp_path, {"born": [day, dt.date(1980, 5, 6)]}, missing_ranges={"born": [seconds]})
    rows, schema = _read(path, not_applicable={"born": ["1900-01-01"]})
    assert rows["born"].to_list() == [day, dt.date(1980, 5, 6)]
    rows, schema = _read(path)
    assert rows["born"].to_list() == [None, dt.date(1980, 5, 6)]
    assert schema.undetermined == {"born": ("1900-01-01",)}


def test_declared_types_are_respected(tmp_path: Path) -> None:
    path = _sav(tmp_path, {"region": [1.0, 11.0, None], "rate": [1.0, 2.5, 3.0], "age": [1.0, 2.0, 3.0]})
    rows, _ = _read(path, types={"region": "text", "rate": "text", "age": "number"})
    assert rows["region"].to_list() == ["1", "11", None]
    assert rows["rate"].to_list() == ["1", "2.5", "3"]
    assert rows["age"].dtype == pl.Float64


# Pieces


def _pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(survey_source, "CELLS", 1)  # a thousand rows at a time, the least


@pytest.mark.parametrize("n", [1000, 2000, 2500])
@pytest.mark.parametrize("ending", ["sav", "dta", "xpt", "por"])
def test_every_piece_has_the_same_types_and_no_row_is_lost(
    ending: str, n: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The only fraction, and the only text of a column, are in the last row."""
    _pieces(monkeypatch)
    frame = pl.DataFrame({
        "A": [float(i) for i in range(n)],
        "B": [*([1.0] * (n - 1)), 1.5],
        "C": [*([""] * (n - 1)), "x"],
    })  # fmt: skip
    path = tmp_path / f"long.{ending}"
    getattr(pyreadstat, f"write_{'xport' if ending == 'xpt' else ending}")(frame, path)
    folder, _ = read_survey(path, flou.Schema())
    parts = sorted(folder.glob("*.parquet"))
    assert len(parts) == -(-n // 1000)
    assert {tuple(pl.read_parquet(p).schema.items()) for p in parts} == {
        (("A", pl.Int64()), ("B", pl.Float64()), ("C", pl.String()))
    }
    rows = scan_spool(folder).collect()
    assert rows["A"].to_list() == list(range(n))
    assert rows["B"].sum() == n + 0.5
    assert rows["C"].drop_nulls().to_list() == ["x"]


def test_a_letter_in_the_last_piece_makes_the_first_text_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _pieces(monkeypatch)
    labels = {"sex": {**SEX, "a": "Not applicable"}}
    rows, schema = _read(_dta(tmp_path, {"sex": [*([1] * 1500), "a"]}, labels))
    assert rows["sex"].value_counts(sort=True).rows() == [("1", 1500), (".a", 1)]
    assert schema.not_applicable == {"sex": (".a",)}


def test_a_piece_of_a_file_is_spooled_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The rows as they were read are removed when they have their types."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "spool"))
    (tmp_path / "spool").mkdir()
    folder, _ = read_survey(_sav(tmp_path, {"a": [1.0]}), flou.Schema())
    assert [p for p in (tmp_path / "spool").glob("*/*") if p.is_dir()] == [folder]


@pytest.mark.parametrize("version", [8, 10, 12, 13, 15])
def test_a_stata_file_cut_among_its_labels_is_refused(tmp_path: Path, version: int) -> None:
    """All records are there, but the modality that nobody has would be forgotten, and the risk fall."""
    whole, cut = tmp_path / "whole.dta", tmp_path / "cut.dta"
    labels = {"q": {1: "a", 2: "b", 3: "c"}}
    pyreadstat.write_dta(
        pd.DataFrame({"q": [1.0, 1, 2, 2, None]}), whole, version=version, variable_value_labels=labels
    )
    assert flou.risk.KAnonymity(k=2).measure(flou.read(whole, keys=["q"])).figures["k"] == 1
    for n in (1, 13, 40, 90):
        cut.write_bytes(whole.read_bytes()[:-n])
        with pytest.raises(flou.FlouError, match="truncated"):
            flou.read(cut, keys=["q"])


# Labels


def test_labels_of_columns_and_values_go_to_the_schema(tmp_path: Path) -> None:
    path = _sav(
        tmp_path, {"sex": [1.0, 2.0], "city": ["P", "M"]},
        column_labels={"sex": "Sex of the person"}, variable_value_labels={"sex": SEX, "city": {"P": "Paris"}},
    )  # fmt: skip
    _, schema = _read(path)
    assert schema.labels == {"sex": {"en": "Sex of the person"}}
    assert schema.value_label("sex", 2) == "Female"
    assert schema.value_label("city", "P") == "Paris"


def test_the_schema_s_own_labels_win(tmp_path: Path) -> None:
    path = _sav(tmp_path, {"sex": [1.0]}, column_labels={"sex": "Q17"}, variable_value_labels={"sex": SEX})
    _, schema = _read(path, labels={"sex": {"fr": "Sexe"}}, value_labels={"sex": {"1": "Man"}})
    assert schema.labels == {"sex": {"fr": "Sexe"}}
    assert schema.value_labels == {"sex": {"1": {"en": "Man"}, "2": {"en": "Female"}}}


def test_labelled_values_of_a_key_become_its_modalities(tmp_path: Path) -> None:
    """A region where nobody of the sample lives is a region that a person without one may live in."""
    regions = {1: "North", 2: "South", 3: "Isles", 9: "Not stated"}
    path = _sav(
        tmp_path, {"region": [1.0, 2.0, None, 9.0], "zone": [1.0, 2.0, 1.0, 2.0]},
        variable_value_labels={"region": regions, "zone": regions}, missing_ranges={"region": [9]},
    )  # fmt: skip
    _, schema = _read(path, keys=["region"])
    assert schema.modalities == {"region": (1, 2, 3)}
    _, schema = _read(path, keys=["region"], modalities={"region": [1, 2]})
    assert schema.modalities == {"region": (1, 2)}


def test_modalities_stay_undeclared_where_a_value_has_no_label(tmp_path: Path) -> None:
    labels = {"age": {0: "under one year", 98: "98 and more"}}
    _, schema = _read(_sav(tmp_path, {"age": [0.0, 42.0]}, variable_value_labels=labels), keys=["age"])
    assert schema.modalities == {}
    assert schema.value_label("age", 98) == "98 and more"


def test_modalities_stay_undeclared_where_a_hierarchy_does_not_cover_them(tmp_path: Path) -> None:
    path = _sav(tmp_path, {"sex": [1.0]}, variable_value_labels={"sex": SEX})
    tree = {"sex": flou.Hierarchy.tree({"all": ["1"]})}
    assert _read(path, keys=["sex"], hierarchies=tree)[1].modalities == {}
    whole = {"sex": flou.Hierarchy.tree({"all": ["1", "2"]})}
    assert _read(path, keys=["sex"], hierarchies=whole)[1].modalities == {"sex": (1, 2)}


# What missing values mean

NOT_APPLICABLE = [
    "Not applicable", "NOT APPLICABLE (no children)", "N/A", "inapplicable", "Valid skip", "logical skip",
    "Sans objet", "Non concerné", "NON CONCERNÉE", "Non applicable", "Not-applicable", "Ne s\u2019applique pas",
    "Question: does not apply",
]  # fmt: skip
UNDETERMINED = [
    "Refused", "Don't know", "No answer", "N'a pas répondu", "Ne sait pas", "Unapplicable", "Notapplicable",
    "inapplicables", "Canon/a", "n/ap", "Not applicable or refused", "Sans objet / ne sait pas", "Canal/account", "",
    "Personne concernée",
]  # fmt: skip


@pytest.mark.parametrize("label", NOT_APPLICABLE)
def test_labels_that_say_not_applicable(label: str) -> None:
    assert says_not_applicable(label)


@pytest.mark.parametrize("label", UNDETERMINED)
def test_labels_that_do_not(label: str) -> None:
    assert not says_not_applicable(label)


def test_a_declared_code_means_what_its_label_says_else_anything(tmp_path: Path) -> None:
    path = _sav(
        tmp_path, {"job": [1.0, 7.0, 8.0, 9.0]},
        variable_value_labels={"job": {1: "Farmer", 7: "Non concerné", 8: "Refused"}}, missing_ranges={"job": [7, 8, 9]},
    )  # fmt: skip
    rows, schema = _read(path)
    assert rows["job"].to_list() == [1, 7, None, None]
    assert schema.not_applicable == {"job": (7,)}
    assert schema.undetermined == {"job": (8, 9)}


def test_the_schema_decides_against_the_label(tmp_path: Path) -> None:
    path = _sav(
        tmp_path, {"job": [1.0, 7.0, 8.0]}, variable_value_labels={"job": {7: "Not applicable", 8: "Refused"}},
        missing_ranges={"job": [7, 8]},
    )  # fmt: skip
    rows, schema = _read(path, not_applicable={"job": ["8"]}, undetermined={"job": [7]})
    assert rows["job"].to_list() == [1, None, 8]
    assert (schema.not_applicable, schema.undetermined) == ({"job": ("8",)}, {"job": (7,)})


def test_a_label_in_the_schema_counts_as_the_file_s(tmp_path: Path) -> None:
    path = _sav(tmp_path, {"job": [1.0, 7.0]}, missing_ranges={"job": [7]})
    rows, schema = _read(path, value_labels={"job": {"7": {"fr": "Sans objet"}}})
    assert rows["job"].to_list() == [1, 7]
    assert schema.not_applicable == {"job": (7,)}


def test_a_label_alone_makes_no_missing_value(tmp_path: Path) -> None:
    """What the file does not declare as missing is a category like any other."""
    labels = {"job": {1: "Farmer", 7: "Not applicable", 8: "Refused"}}
    rows, schema = _read(_sav(tmp_path, {"job": [1.0, 7.0, 8.0]}, variable_value_labels=labels), keys=["job"])
    assert rows["job"].to_list() == [1, 7, 8]
    assert (schema.not_applicable, schema.undetermined) == ({}, {})
    assert schema.modalities == {"job": (1, 7, 8)}


def test_codes_of_text_columns(tmp_path: Path) -> None:
    path = _sav(
        tmp_path, {"job": ["farmer", "NA", "XX", " "]}, variable_value_labels={"job": {"NA": "n/a"}},
        missing_ranges={"job": ["NA", "XX"]},
    )  # fmt: skip
    rows, schema = _read(path)
    assert rows["job"].to_list() == ["farmer", "NA", None, None]
    assert (schema.not_applicable, schema.undetermined) == ({"job": ("NA",)}, {"job": ("XX",)})


def test_a_range_lists_the_codes_that_occur_or_have_a_label(tmp_path: Path) -> None:
    path = _sav(
        tmp_path, {"age": [31.0, 97.0, 99.0, 94.0, -1.0], "other": [97.0] * 5},
        variable_value_labels={"age": {97: "Not applicable", 98: "Don't know"}},
        missing_ranges={"age": [{"lo": 90, "hi": 99}, -1]},
    )  # fmt: skip
    rows, schema = _read(path)
    assert rows["age"].to_list() == [31, 97, None, None, None]
    assert schema.not_applicable == {"age": (97,)}
    assert schema.undetermined == {"age": (-1, 98, 94, 99)}  # the single code, the labelled one, those that occur
    assert rows["other"].to_list() == [97] * 5


@pytest.mark.parametrize(("low", "high", "step"), [(float("-inf"), -1, -1), (1000, float("inf"), 1000)])
def test_a_range_without_end_in_a_column_of_measurements(low: float, high: float, step: int, tmp_path: Path) -> None:
    """The values of an open range are missing, as the file says; too many of them are no codes to list."""
    declared = {"missing_ranges": {"income": [{"lo": low, "hi": high}]}}
    rows, schema = _read(_sav(tmp_path, {"income": [500.5, step * 1.5]}, **declared))
    assert rows["income"].to_list() == [500.5, None]
    assert schema.undetermined == {"income": (step * 1.5,)}
    rows, schema = _read(_sav(tmp_path, {"income": [500.5, *(step * (i + 1.5) for i in range(300))]}, **declared))
    assert rows["income"].drop_nulls().to_list() == [500.5]
    assert schema.undetermined == {}


def test_flou_counts_the_codes_as_the_schema_says(tmp_path: Path) -> None:
    """Not applicable is a category of its own; an undetermined value agrees with both sexes."""
    path = _sav(
        tmp_path, {"sex": [1.0, 1.0, 2.0, 8.0, 9.0]}, variable_value_labels={"sex": {**SEX, 8: "n/a", 9: "Refused"}},
        missing_ranges={"sex": [8, 9]},
    )  # fmt: skip
    folder, schema = read_survey(path, flou.Schema(keys=["sex"]))
    column = flou.Microdata(scan_spool(folder), schema).describe().columns[0]
    assert (column.n_distinct, column.n_not_applicable, column.n_undetermined) == (3, 1, 1)


# Letters


def test_a_letter_that_says_not_applicable_is_a_category_of_a_labelled_column(tmp_path: Path) -> None:
    labels = {"job": {1: "Farmer", 2: "Clerk", "a": "Not applicable", "b": "Refused"}}
    rows, schema = _read(_dta(tmp_path, {"job": [1, 2, "a", "b", "c", None]}, labels), keys=["job"])
    assert rows["job"].to_list() == ["1", "2", ".a", None, None, None]
    assert schema.not_applicable == {"job": (".a",)}
    assert schema.undetermined == {"job": (".b", ".c")}
    assert schema.modalities == {"job": ("1", "2")}
    assert schema.value_label("job", ".a") == "Not applicable"


def test_letters_in_a_column_of_numbers_are_null(tmp_path: Path) -> None:
    labels = {"income": {"a": "Not applicable"}}
    rows, schema = _read(_dta(tmp_path, {"income": [1200, "a", "b"]}, labels))
    assert rows["income"].to_list() == [1200, None, None]
    assert rows["income"].dtype == pl.Int64
    assert (schema.not_applicable, schema.undetermined) == ({}, {"income": (".a", ".b")})


def test_letters_that_nobody_has_leave_numbers(tmp_path: Path) -> None:
    """A set of labels serves many columns, and most never meet its missing values."""
    labels = {"job": {1: "Farmer", "a": "Not applicable"}}
    rows, schema = _read(_dta(tmp_path, {"job": [1, 2, None]}, labels))
    assert rows["job"].dtype == pl.Int64
    assert (schema.not_applicable, schema.undetermined) == ({}, {})


def test_the_schema_decides_on_letters(tmp_path: Path) -> None:
    labels = {"job": {1: "Farmer", "a": "Refused", "b": "Not applicable"}}
    path = _dta(tmp_path, {"job": [1, "a", "b"]}, labels)
    rows, schema = _read(path, not_applicable={"job": [".a"]}, undetermined={"job": [".b"]})
    assert rows["job"].to_list() == ["1", ".a", None]
    assert (schema.not_applicable, schema.undetermined) == ({"job": (".a",)}, {"job": (".b",)})
    rows, schema = _read(path, types={"job": "integer"})
    assert rows["job"].to_list() == [1, None, None]
    assert schema.undetermined == {"job": (".a", ".b")}


def test_a_letter_cannot_be_a_category_among_numbers(tmp_path: Path) -> None:
    path = _dta(tmp_path, {"income": [1200, "a"]})
    with pytest.raises(SchemaError, match=r"'income'.*'\.a'.*undetermined.*text"):
        _read(path, not_applicable={"income": [".a"]})
    rows, _ = _read(path, not_applicable={"income": [".a"]}, types={"income": "text"})
    assert rows["income"].to_list() == ["1200", ".a"]


def test_a_text_column_of_stata_has_no_letters(tmp_path: Path) -> None:
    rows, schema = _read(_dta(tmp_path, {"grade": ["a", "b", ""], "n": [1, 2, 3]}))
    assert rows["grade"].to_list() == ["a", "b", None]
    assert schema.undetermined == {}


# Contradictions


@pytest.mark.parametrize("missing", [[9], [{"lo": 8, "hi": 99}]], ids=["code", "range"])
def test_a_missing_value_cannot_be_a_modality(missing: list[Any], tmp_path: Path) -> None:
    path = _sav(tmp_path, {"job": [1.0, 9.0]}, missing_ranges={"job": missing})
    with pytest.raises(SchemaError, match=r"'job'.*'9'.*take it out.*not_applicable"):
        _read(path, keys=["job"], modalities={"job": [1, 9]})
    rows, _ = _read(path, keys=["job"], modalities={"job": [1, 9]}, not_applicable={"job": [9]})
    assert rows["job"].to_list() == [1, 9]
    rows, _ = _read(path, keys=["job"], modalities={"job": [1]})
    assert rows["job"].to_list() == [1, None]


def test_a_missing_value_cannot_be_in_a_declared_tree(tmp_path: Path) -> None:
    path = _sav(tmp_path, {"job": [1.0, 9.0]}, missing_ranges={"job": [9]})
    tree = {"job": flou.Hierarchy.tree({"all": ["1", "9"]})}
    with pytest.raises(SchemaError, match=r"'job'.*'9'.*hierarchy"):
        _read(path, keys=["job"], hierarchies=tree)


def test_every_contradiction_is_listed_at_once(tmp_path: Path) -> None:
    path = _sav(tmp_path, {"a": [9.0], "b": [9.0]}, missing_ranges={"a": [9], "b": [9]})
    with pytest.raises(SchemaError) as caught:
        _read(path, keys=["a", "b"], modalities={"a": [9], "b": [9]})
    assert "'a'" in str(caught.value)
    assert "'b'" in str(caught.value)


def test_a_letter_cannot_be_a_modality(tmp_path: Path) -> None:
    path = _dta(tmp_path, {"job": [1, "a"]}, {"job": {1: "Farmer"}})
    with pytest.raises(SchemaError, match=r"'\.a'"):
        _read(path, keys=["job"], modalities={"job": ["1", ".a"]})


def test_a_code_cannot_be_not_applicable_and_undetermined(tmp_path: Path) -> None:
    with pytest.raises(SchemaError, match="both"):
        _read(_sav(tmp_path, {"job": [9.0]}), not_applicable={"job": [9]}, undetermined={"job": ["9"]})


# The schema that comes out serves again


@pytest.mark.parametrize("kind", ["sav", "dta"])
def test_a_draft_of_the_schema_reads_the_file_again(kind: str, tmp_path: Path) -> None:
    if kind == "sav":
        path = _sav(
            tmp_path, {"job": [1.0, 2.0, 8.0, 9.0], "pay": [1.5, -5.0, 99.0, None], "day": [dt.date(2020, 1, 1)] * 4},
            variable_value_labels={"job": {1: "Farmer", 2: "Clerk", 8: "n/a"}},
            missing_ranges={"job": [8, 9], "pay": [{"lo": -10, "hi": 0}, 99]},
        )  # fmt: skip
    else:
        labels = {"job": {1: "Farmer", 2: "Clerk", "a": "n/a"}}
        path = _dta(tmp_path, {"job": [1, 2, "a", "b"], "pay": [1.5, 2.5, "a", None]}, labels)
    folder, schema = read_survey(path, flou.Schema(keys=["job"]))
    draft = draft_schema(flou.Microdata(scan_spool(folder), schema))
    draft.save(tmp_path / "draft.toml")
    again, completed = read_survey(path, flou.Schema.load(tmp_path / "draft.toml"))
    assert scan_spool(again).collect().equals(scan_spool(folder).collect())
    assert completed.not_applicable == schema.not_applicable
    assert completed.undetermined == schema.undetermined
    assert completed.modalities == schema.modalities
    flou.Microdata(scan_spool(again), completed)


# SAS and portable SPSS


def test_a_file_that_sas_wrote(tmp_path: Path) -> None:
    rows, schema = _read(_unpacked(tmp_path, "from_sas.sas7bdat"))
    assert rows.schema == {"integer_row": pl.Int64, "text_row": pl.String, "float_row": pl.Float64, "date_row": pl.Date}
    assert rows["integer_row"].to_list() == [1, 2, 3, 4, 5]
    assert rows["float_row"].to_list() == [2.5, 17.23, 3.21, 100.9, 98.6]
    assert rows["date_row"][0] == dt.date(2018, 1, 2)
    assert rows["text_row"][1] == "Some more text"
    assert schema == flou.Schema()


def test_value_labels_of_sas_stand_in_a_catalogue_beside_the_file(tmp_path: Path) -> None:
    rows, schema = _read(_unpacked(tmp_path, "survey.sas7bdat", "survey.sas7bcat"), keys=["tenure", "sex"])
    assert rows["tenure"].to_list() == ["1", "2", ".N", None, "2", None]
    assert rows["rent"].to_list() == [0.0, 812.5, None, 700.0, None, None]
    assert rows["seen"][0] == dt.date(2020, 1, 1)
    assert schema.labels == {"tenure": {"en": "Tenure of the dwelling"}}
    assert schema.value_label("sex", "F") == "Female"
    assert schema.not_applicable == {"tenure": (".N",)}
    assert schema.undetermined == {"tenure": (".R",), "rent": (".A", "._")}
    assert schema.modalities == {"tenure": ("1", "2", "3"), "sex": ("F", "M")}


def test_without_its_catalogue_every_letter_is_undetermined(tmp_path: Path) -> None:
    rows, schema = _read(_unpacked(tmp_path, "survey.sas7bdat"))
    assert rows["tenure"].to_list() == [1, 2, None, None, 2, None]
    assert schema.undetermined == {"tenure": (".N", ".R"), "rent": (".A", "._")}
    assert schema.value_labels == {}


def test_a_damaged_catalogue_is_refused(tmp_path: Path) -> None:
    path = _unpacked(tmp_path, "survey.sas7bdat")
    (tmp_path / "survey.sas7bcat").write_bytes(b"no catalogue" * 100)
    with pytest.raises(DataError, match=r"survey\.sas7bcat.*catalogue"):
        _read(path)


def _xpt(folder: Path, missing: bytes) -> Path:
    """A transport file with a missing value of SAS: a byte of its own before seven zeros."""
    path = folder / "people.xpt"
    pyreadstat.write_xport(pl.DataFrame({"n": [1.0, None, 3.0]}), path)
    content = path.read_bytes()
    assert content.count(b"." + bytes(7)) == 1
    path.write_bytes(content.replace(b"." + bytes(7), missing + bytes(7)))
    return path


@pytest.mark.parametrize(("missing", "codes"), [(b".", {}), (b"A", {"n": (".A",)}), (b"_", {"n": ("._",)})])
def test_letters_of_a_transport_file(missing: bytes, codes: dict[str, Any], tmp_path: Path) -> None:
    rows, schema = _read(_xpt(tmp_path, missing))
    assert rows["n"].to_list() == [1, None, 3]
    assert schema.undetermined == codes


def _por(folder: Path, declared: str) -> Path:
    """A portable file in which the record of a column is followed by one that declares missing values."""
    path = folder / "people.por"
    pyreadstat.write_por(pl.DataFrame({"JOB": [1.0, 8.0, 9.0]}), path)
    text = path.read_text(encoding="ascii").replace("\r", "").replace("\n", "")
    record = "70/3/JOB5/8/2/5/8/2/"
    assert text.count(record) == 1
    text = text.replace(record, record + declared)
    text += "Z" * (-len(text) % 80)
    path.write_text(
        "\r\n".join(text[i : i + 80] for i in range(0, len(text), 80)) + "\r\n", encoding="ascii", newline=""
    )
    return path


@pytest.mark.parametrize(("declared", "codes"), [("89/", (9,)), ("B8/9/", (8, 9)), ("A9/", (9,))])
def test_missing_values_of_a_portable_file(declared: str, codes: tuple[int, ...], tmp_path: Path) -> None:
    rows, schema = _read(_por(tmp_path, declared))
    assert rows["JOB"].to_list() == [None if v in codes else v for v in (1, 8, 9)]
    assert schema.undetermined == {"JOB": codes}
    rows, _ = _read(_por(tmp_path, declared), not_applicable={"JOB": [9]})
    assert rows["JOB"][2] == 9


# Files that cannot be read


def _written(folder: Path, ending: str, n: int = 2000) -> Path:
    frame = pl.DataFrame({"AGE": [float(i) for i in range(n)], "NAME": [f"n{i}" for i in range(n)]})
    path = folder / f"people.{ending}"
    options = {"compress": True} if ending == "zsav" else {}
    name = {"xpt": "xport", "zsav": "sav"}.get(ending, ending)
    getattr(pyreadstat, f"write_{name}")(frame if n else frame.clear(), path, **options)
    return path


ENDINGS = ["sav", "zsav", "dta", "xpt", "por"]
DAMAGED: dict[str, Callable[[bytes], bytes]] = {
    "half": lambda b: b[: len(b) // 2 - 7],
    "without its end": lambda b: b[:-1001],
    "four bytes": lambda b: b[:4],
    "text": lambda b: b"age,sex\n31,F\n" * 20,
    "zeros": lambda b: bytes(1000),
    "nothing": lambda b: b"",
}


@pytest.mark.parametrize("ending", [*ENDINGS, "sas7bdat"])
@pytest.mark.parametrize("case", list(DAMAGED))
def test_a_damaged_file_is_refused(case: str, ending: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _pieces(monkeypatch)  # a cut shows in the last piece
    path = _unpacked(tmp_path, "from_sas.sas7bdat") if ending == "sas7bdat" else _written(tmp_path, ending)
    path.write_bytes(DAMAGED[case](path.read_bytes()))
    with pytest.raises(DataError) as caught:
        _read(path)
    assert path.name in str(caught.value)
    assert "damaged" in str(caught.value) or "truncated" in str(caught.value)


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_file_without_rows_is_refused(ending: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=rf"people\.{ending}.*no records"):
        _read(_written(tmp_path, ending, 0))


def test_a_file_with_fewer_rows_than_it_says_is_refused(tmp_path: Path) -> None:
    source = replace(open_survey(_written(tmp_path, "sav", 3)), n_rows=4)
    with pytest.raises(DataError, match="truncated: it has 3 of its 4 records"):
        list(source.chunks())


def test_a_file_that_does_not_say_how_many_rows_it_has(tmp_path: Path) -> None:
    path = _sav(tmp_path, {"a": [1.0, 2.0, 3.0]})
    content = path.read_bytes()
    path.write_bytes(content[:80] + b"\xff" * 4 + content[84:])  # where SPSS writes the number, -1 is unknown
    assert _read(path)[0]["a"].to_list() == [1, 2, 3]


def test_a_file_of_another_kind_than_its_name_says(tmp_path: Path) -> None:
    path = _sav(tmp_path, {"a": [1.0]})
    with pytest.raises(DataError, match="Stata"):
        _read(path.rename(tmp_path / "people.dta"))


@pytest.mark.parametrize("ending", ["sav", "dta", "xpt"])
def test_text_that_is_not_in_its_encoding_is_refused(ending: str, tmp_path: Path) -> None:
    path = tmp_path / f"cities.{ending}"
    writer = pyreadstat.write_xport if ending == "xpt" else getattr(pyreadstat, f"write_{ending}")
    writer(pl.DataFrame({"city": ["Orléans", "Paris"]}), path)
    path.write_bytes(path.read_bytes().replace("é".encode(), b"\xe9x"))
    with pytest.raises(DataError, match="encoding"):
        _read(path)


@pytest.mark.parametrize("ending", ["sav", "dta", "xpt", "por"])
def test_columns_of_the_same_name_are_refused(ending: str, tmp_path: Path) -> None:
    path = tmp_path / f"twins.{ending}"
    writer = pyreadstat.write_xport if ending == "xpt" else getattr(pyreadstat, f"write_{ending}")
    writer(pl.DataFrame({"AAAA": [1.0], "AAAB": [2.0]}), path)
    path.write_bytes(path.read_bytes().replace(b"AAAB", b"AAAA"))
    with pytest.raises(DataError, match="same name: 'AAAA'"):
        _read(path)


def test_a_transport_file_with_two_data_sets_is_refused(tmp_path: Path) -> None:
    path = _written(tmp_path, "xpt", 3)
    content = path.read_bytes()
    path.write_bytes(content + content[content.index(b"HEADER RECORD*******MEMB") :])
    with pytest.raises(DataError, match="2 data sets"):
        _read(path)


def test_names_and_endings_of_files(tmp_path: Path) -> None:
    path = _sav(tmp_path, {"Âge": [1.0]})
    assert _read(path.rename(tmp_path / "ÉTUDE 1.SAV"))[0].columns == ["Âge"]
    with pytest.raises(DataError, match=r"\.sav, \.zsav"):
        _read(tmp_path / "people.xyz")
    with pytest.raises(DataError, match="no file"):
        _read(tmp_path / "none.sav")
    assert set(SUFFIXES) == {".sav", ".zsav", ".por", ".dta", ".sas7bdat", ".xpt"}


def test_without_the_package_the_error_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = _sav(tmp_path, {"a": [1.0]})
    monkeypatch.setitem(sys.modules, "pyreadstat", None)
    with pytest.raises(MissingExtraError, match=r"pyreadstat.*flou\[files\]"):
        _read(path)
