"""Sensitive values that are spellings of one value count as one: a class of them is not diverse."""

from __future__ import annotations

import unicodedata

import polars as pl
import pytest

import flou
from flou.engine.errors import DataError, ParameterError

ONE_ILLNESS = ["HIV", "hiv", " HIV ", "Hiv\u00a0", "ＨＩＶ", "H\u200bIV"]


def people(illness: list[object], sex: list[str] | None = None) -> flou.Microdata:
    frame = pl.DataFrame({"sex": sex or ["F"] * len(illness), "illness": illness}, strict=False)
    return flou.Microdata(frame, keys=["sex"], sensitive=["illness"])


def smallest_l(illness: list[object], **settings: object) -> float:
    return flou.risk.LDiversity(l=2, **settings).measure(people(illness)).l


@pytest.mark.parametrize("kind", ["distinct", "entropy", "recursive"])
@pytest.mark.parametrize("missing", ["pessimistic", "category"])
def test_a_class_of_one_illness_has_l_of_one(kind: str, missing: str) -> None:
    assert smallest_l([*ONE_ILLNESS], kind=kind, missing=missing) == pytest.approx(1)


@pytest.mark.parametrize(
    "spelt",
    [
        ["hépatite", unicodedata.normalize("NFD", "hépatite"), "HEPATITE", "HÉPATITE"],
        ["Straße", "STRASSE", "strasse"],
        ["multiple  sclerosis", "Multiple sclerosis"],
        [0.3, 0.1 + 0.2, 0.3],
        [1e9 + 0.1 + 0.2, 1e9 + 0.3],
        [5.0, 1e6, 1e6 + 1e-10][1:],
        ["01", "1", "1.0", "+1", "1,0", "1e0"],
        ["", "  ", "\u00a0", None],
        ["HIV", "NA"],
        ["HIV", "None", "null", "HIV"],
    ],
)
def test_spellings_of_one_value_count_once(spelt: list[object]) -> None:
    assert smallest_l(spelt) == 1


@pytest.mark.parametrize(
    "different",
    [
        ["HIV", "HBV"],
        ["gastritis", "gastric ulcer"],
        [0.3, 0.3001],
        [1, 2],
        ["1", "10"],
        [1_000_000_000.01, 1_000_000_000.02],
        [True, False],
        ["ميم", "نون"],
    ],
)
def test_different_values_stay_different(different: list[object]) -> None:
    assert smallest_l(different) == 2


def test_small_numbers_that_cancelling_leaves_are_zero() -> None:
    left = 0.1 + 0.2 - 0.3
    assert left != 0
    assert smallest_l([0.0, left, 1000.0]) == 2


def test_an_office_hears_that_spellings_were_counted_together() -> None:
    result = flou.risk.LDiversity(l=2).measure(people(["HIV", "hiv"]))
    assert "spells a value in several ways" in result.summary()
    assert "spells" not in flou.risk.LDiversity(l=2).measure(people(["HIV", "flu"])).summary()


def test_a_closeness_holds_what_values_say_against_what_they_say_in_the_original() -> None:
    before = people(["HIV", "hiv", "flu", "Flu"], ["F", "F", "M", "M"])
    after = people(["hiv", "HIV", "flu", "FLU "], ["F", "F", "M", "M"])
    result = flou.risk.TCloseness(t=0.4).measure(after, against=before)
    assert result.t == 0.5
    assert "other values" not in result.summary()
    assert flou.risk.BetaLikeness(beta=2).measure(after, against=before).beta == 1.0


def test_a_closeness_knows_blank_texts_and_nulls_of_the_original() -> None:
    before = people(["", None, "flu", "flu"], ["F", "F", "M", "M"])
    after = people([None, " ", "flu", "flu"], ["F", "F", "M", "M"])
    assert flou.risk.TCloseness(t=0.4).measure(after, against=before).t == 0.5


def test_a_group_takes_every_spelling_of_its_values() -> None:
    stomach = {"gastric ulcer": "stomach", "Gastritis": "stomach"}
    assert smallest_l(["Gastric ulcer", "gastritis", "GASTRITIS "], groups=stomach) == 1
    with pytest.raises(ParameterError, match="in two groups"):
        smallest_l(["HIV", "flu"], groups={"HIV": "viral", "hiv": "chronic"})
    with pytest.raises(DataError, match="'hepatitis'"):
        smallest_l(["HIV", "flu"], groups={"hepatitis": "viral"})


def test_persons_with_several_spellings_hide_nobody() -> None:
    rows = pl.DataFrame({"person": [1, 1, 2, 2], "sex": ["F"] * 4, "illness": ["HIV", "hiv", "hiv ", "Hiv"]})
    data = flou.Microdata(rows, keys=["sex"], sensitive=["illness"], id="person", rows_per_person="several")
    assert flou.risk.LDiversity(l=2).measure(data).l == 1


def test_a_file_of_one_illness_in_many_spellings_is_withheld() -> None:
    data = people(ONE_ILLNESS * 5)
    release = flou.Plan([]).protect(data)
    rule = {"method": "l_diversity", "settings": {"l": 2}, "at_most": {"release": 0.0}}
    verdict = flou.Policy(rules=[rule]).judge(flou.risk.LDiversity(l=2).measure(release), release)
    assert verdict.decision.name == "WITHHOLD"


def test_a_lattice_makes_classes_of_different_illnesses_not_of_spellings() -> None:
    rows = pl.DataFrame({"age": [20, 20, 30, 30] * 5, "illness": ["HIV", "hiv", "flu", "cold"] * 5})
    data = flou.Microdata(rows, keys=["age"], sensitive=["illness"], hierarchies={"age": flou.Hierarchy.bands(20)})
    made = flou.protect.Generalise(models=[flou.risk.LDiversity(l=2)]).protect(data)
    assert set(made.to_frame()["age"]) == {"20-39"}
