"""Texts and numbers that say the same are recognised, and an office hears of them before it counts."""

from __future__ import annotations

import unicodedata

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.depth import examples

import flou
from flou.describe.spellings import first_spellings, spelling

#: Letters whose capitals or accents Unicode writes in several ways.
LETTERS = "aàâÀéèÉçñßẞſøΣσςåÅöÖijǆ1²ﬁ '-"


@examples(400)
@given(st.text(LETTERS, min_size=1, max_size=6))
def test_case_form_and_spaces_do_not_change_what_a_text_says(text: str) -> None:
    said = spelling(text)
    for form in ("NFC", "NFD", "NFKC", "NFKD"):
        assert spelling(unicodedata.normalize(form, text)) == said
    for case in (text.upper(), text.lower(), text.casefold()):
        assert spelling(case) == said
    assert spelling(f" {text}\t") == said


@examples(400)
@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_number_is_read_however_it_is_written(number: float) -> None:
    for text in (repr(number), f"{number:.17e}", f"{number:+.17g}", f" {number!r} "):
        assert spelling(text) == number


@examples(400)
@given(st.lists(st.one_of(st.none(), st.sampled_from(["a", "A", "b", " ", "1", "01", "nan"])), max_size=8))
def test_first_spellings_are_taken_from_the_values_and_say_the_same(values: list[str | None]) -> None:
    found = first_spellings(values)
    for value, first in zip(values, found, strict=True):
        if value is None or not value.strip() or value == "nan":
            assert first is None
        else:
            assert first in values
            assert spelling(str(first)) == spelling(value)
    assert first_spellings(found) == found


def test_numbers_that_rounding_leads_to_one_by_one_are_one() -> None:
    chain = [1.0 + i * 5e-13 for i in range(20)]
    assert first_spellings(chain) == [1.0] * 20
    assert first_spellings(chain[::-1]) == [chain[-1]] * 20


def test_words_that_are_no_numbers_stay_words() -> None:
    assert spelling("nan") == "nan"
    assert spelling("Infinity of") == "infinity of"
    assert spelling("-") == "-"
    assert first_spellings([float("nan"), float("nan"), float("inf"), 1.0])[2:] == [float("inf"), 1.0]


def test_digits_of_other_scripts_and_endless_numbers_are_numbers() -> None:
    assert spelling("١٢") == spelling("12")
    assert spelling("inf") == spelling("Infinity") == spelling("+inf")


def remarks(**columns: list[object]) -> list[str]:
    data = flou.Microdata(pl.DataFrame(columns), keys=["region"], sensitive=["illness"], id="person")
    return [str(r) for r in data.describe().remarks]


def test_the_overview_names_columns_that_spell_a_value_in_several_ways() -> None:
    found = remarks(person=["a", "A", "b"], region=["01", "1", "NA"], illness=["HIV", "hiv ", "flu"])
    assert [text.split(" ")[0] for text in found] == ["person", "region", "region", "illness"]
    assert "'A'/'a'" in found[0]
    assert "'01'/'1'" in found[1]
    assert "'NA'" in found[2]
    assert "'HIV'/'hiv '" in found[3]


def test_a_clean_file_gets_no_remark() -> None:
    assert remarks(person=["1", "2"], region=["01", "02"], illness=["HIV", "flu"]) == []


def test_the_internal_report_says_it_and_the_public_one_does_not() -> None:
    rows = pl.DataFrame({"region": ["01"] * 3 + ["02"] * 3, "illness": ["HIV", "hiv", "flu"] * 2})
    data = flou.Microdata(rows, keys=["region"], sensitive=["illness"])
    release = flou.Plan([]).protect(data)
    measured = flou.risk.LDiversity(l=2).measure(release)
    rule = {"method": "l_diversity", "settings": {"l": 2}, "at_most": {"release": 0.0}}
    verdict = flou.Policy(rules=[rule]).judge(measured, release)
    report = flou.Report(data, release, results=[measured], verdict=verdict)
    for language, words in (("en", "in several ways"), ("fr", "de plusieurs façons")):
        assert report.html(language=language).count(words) == 2
        assert words not in report.html(language=language, audience="public")


@pytest.mark.parametrize("engine", ["polars", "duckdb"])
def test_rows_in_an_engine_are_looked_at_too(tmp_path, engine: str) -> None:  # type: ignore[no-untyped-def]
    path = tmp_path / "people.csv"
    path.write_text("region,illness\nnord,HIV\nNord,hiv\n")
    data = flou.read(path, engine=engine, keys=["region"], sensitive=["illness"])
    assert len(data.describe().remarks) == 2
