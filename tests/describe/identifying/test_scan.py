"""The scan finds what somebody forgot, and leaves ordinary files alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

import flou
from flou.describe.identifying import check_digits, column_names, number_patterns, value_patterns
from flou.describe.identifying.column_names import identifier_in_name
from flou.describe.identifying.scan import scan
from flou.engine.words import Words

N = 100
RNG = np.random.default_rng(7)


def looks(values: Any, name: str = "x", **roles: Any) -> list[str]:
    return [f.looks_like for f in scan(flou.Microdata(pl.DataFrame({name: values}), **roles))]


def digits(n: int) -> list[str]:
    return ["".join(map(str, RNG.integers(0, 10, n))) for _ in range(N)]


@pytest.mark.parametrize(
    ("number", "what"),
    [
        ("255081416802538", "French social security numbers"),
        ("185 05 78 006 084 91", "French social security numbers"),
        ("85.07.30-033.28", "Belgian national numbers"),
        ("86095742719", "German tax numbers"),
        ("44051401359", "Polish national numbers"),
        ("111222333", "Dutch national numbers"),
        ("12345678Z", "Spanish national numbers"),
        ("X1234567L", "Spanish national numbers"),
        ("RSSMRA85T10A562S", "Italian tax codes"),
        ("811228-9874", "Swedish national numbers"),
        ("756.9217.0769.85", "Swiss national numbers"),
        ("943 476 5919", "British health numbers"),
        ("AB123456C", "British insurance numbers"),
        ("131052-308T", "Finnish national numbers"),
        ("732829320", "SIREN numbers"),
        ("4111 1111 1111 1111", "numbers of bank cards"),
    ],
)
def test_numbers_that_bodies_publish_as_examples(number: str, what: str) -> None:
    plain = "".join(c for c in number if c.isalnum()).upper()
    passed = [name for name, shape, check in check_digits.NATIONAL if shape.fullmatch(plain) and check(plain)]
    assert what in passed
    at = next(i for i, c in enumerate(plain) if c.isdigit())
    wrong = plain[:at] + str((int(plain[at]) + 1) % 10) + plain[at + 1 :]
    exact = {"British insurance numbers"}  # they have no check digit
    again = [name for name, shape, check in check_digits.NATIONAL if shape.fullmatch(wrong) and check(wrong)]
    assert what in exact or what not in again


def test_an_account_by_its_check_digits() -> None:
    assert check_digits.iban("FR7630006000011234567890189")
    assert not check_digits.iban("FR7630006000011234567890188")


@pytest.mark.parametrize(
    ("values", "what"),
    [
        (["nothing here"] * 99 + ["write to a.b@c.org"], "e-mail addresses"),
        (["ok"] * 99 + ["paid to FR76 3000 6000 0112 3456 7890 189 in May"], "bank accounts (IBAN)"),
        (["ok"] * 99 + ["2 55 08 14 168 025 38"], "French social security numbers"),
        ([f"06 12 34 5{i % 10} {i:02d}" for i in range(N)], "telephone numbers"),
        ([f"+33 6 12 34 56 {i:02d}" for i in range(N)], "telephone numbers"),
        ([f"{i} rue de la Paix" for i in range(1, 6)] * 20, "addresses"),
        ([f"{i} Baker Street" for i in range(1, 6)] * 20, "addresses"),
        ([f"123-45-{i:04d}" for i in range(N)], "American social security numbers"),
        ([f"10.0.0.{i}" for i in range(N)], "addresses of computers"),
        ([f"Person {i}" for i in range(N)], "a text of its own in most records"),
        ([f"went to the doctor on day {i} and rested" for i in range(20)] * 2 + ["no"] * 60, "free text"),
        (list(range(1000, 1000 + N)), "numbers that count the records"),
        ([float(i) for i in range(N)], "numbers that count the records"),
        ([10_000_000 + 79 * i * i for i in range(N)], "numbers of one length, each in one record"),
    ],
)
def test_values_are_recognised(values: list[Any], what: str) -> None:
    assert what in looks(values)


FIRST, LAST = ["Marie", "Jean", "Anne-Lise", "Élodie", "Paul", "Zoé"], ["Dupont", "Le Gall", "d'Aubigné", "Martin"]
IBAN = "FR76 3000 6000 0112 3456 7890 189"


@pytest.mark.parametrize(
    ("values", "what"),
    [
        ([IBAN.lower(), "gb29 nwbk 6016 1331 9268 19"] * 50, "bank accounts (IBAN)"),
        ([IBAN.replace(" ", "-")] * N, "bank accounts (IBAN)"),
        ([f"paid to {IBAN.lower()} in may, he said"] * N, "bank accounts (IBAN)"),
        ([f"{x} at example.org" for x in "abcde"] * 20, "e-mail addresses"),
        (["marie＠example.org", "paul (at) example.org"] * 50, "e-mail addresses"),
        ([612_345_000 + 7919 * i for i in range(50)] * 2, "numbers as long as those of telephones or persons"),
        ([33_612_345_000 + 7919 * i for i in range(50)] * 2, "numbers as long as those of telephones or persons"),
        ([1_010_001 + 17_977_717 * i for i in range(50)] * 2, "numbers as long as those of telephones or persons"),
        ([f"{i:08x}-0000-4000-8000-{i * 7919:012x}" for i in range(50)] * 2, "codes that machines give"),
        ([*range(1000, 1000 + N - 1), 1000], "numbers that count the records"),
        (list(range(0, 7 * N, 7)), "numbers that count the records"),
        ([*range(0, 7 * (N - 3), 7), 90_000, 91_111, 95_432], "numbers that count the records"),
        (list(range(-N, 0)), "numbers that count the records"),
        ([f"P{i // 2:05d}" for i in range(N)], "a text of its own in most records"),
        ([f"note {i}" for i in range(40)] + ["unknown"] * 60, "a text of its own in most records"),
        ([f"{a} {b}" for a in FIRST for b in LAST] * 4, "names of people"),
        ([f"{b.upper()}, {a}" for a in FIRST for b in LAST] * 4, "names of people"),
    ],
)
def test_repeated_values_and_other_spellings_are_recognised(values: list[Any], what: str) -> None:
    assert what in looks(values)


@pytest.mark.parametrize(
    "values",
    [
        [f"06 12 34 5{i % 10} {i:02d}" for i in range(50)] * 4,
        [IBAN[:-3] + f"{i:03d}" for i in range(50)] * 2 + [IBAN] * 20,
        [f"1 85 05 78 006 {i:03d} {97 - int(f'1850578006{i:03d}') % 97:02d}" for i in range(50)] * 2,
    ],
)
def test_groups_of_digits_are_no_free_text(values: list[str]) -> None:
    assert "free text" not in looks(values)


@pytest.mark.parametrize(
    ("values", "name"),
    [
        (pl.Series(["1980-02-03"] * 5).str.to_date(), "naissance"),
        ([19_770_131, 19_801_224] * 20, "birthdate"),
        ([31_011_977, 24_121_980] * 20, "date_naiss"),
        (["31/01/1977", "24/12/1980"] * 20, "born_on"),
    ],
)
def test_days_of_birth_are_recognised_however_they_are_written(values: Any, name: str) -> None:
    assert looks(values, name) == ["a date of birth"]


def test_few_names_are_names_where_the_column_is_called_after_people() -> None:
    few = [f"{a} Dupont" for a in FIRST] * 10
    assert looks(few, "who") == ["names of people"]
    assert looks(few, "x") == []
    assert looks([f"{a} {b}" for a in FIRST for b in LAST] * 4, "who", keys=["who"], scan={"who": "authors"}) == []


def test_national_numbers_are_recognised_as_numbers_and_as_texts() -> None:
    numbers = [f"{n:09d}" for n in range(100_000_000, 100_030_000, 97)]
    valid = [n for n in numbers if check_digits.luhn(n)][:30]
    assert looks(valid) == ["SIREN numbers", "a text of its own in most records"]
    assert looks([int(n) for n in valid]) == ["SIREN numbers"]


@pytest.mark.parametrize("n", [9, 10, 11, 13, 14, 15])
def test_numbers_of_chance_are_no_national_numbers(n: int) -> None:
    assert not [x for x in looks(digits(n)) if "text of its own" not in x]


@pytest.mark.parametrize(
    "values",
    [
        np.round(RNG.lognormal(7, 1, N), 2).tolist(),
        RNG.integers(0, 100_000, N).tolist(),
        RNG.integers(18, 90, N).tolist(),
        ["a region with a long name of many words"] * 50 + ["another one of these regions"] * 50,
        [None] * N,
        [True, False] * (N // 2),
        RNG.integers(-50_000, 50_000, N).tolist(),
        RNG.integers(20_000, 60_000, 3 * N).tolist() + [30_000] * 2,
        (RNG.integers(10, 90, N) * 10_000_000).tolist(),
        [f"meet {i} friends at noon or at two" for i in range(4)] * 25,
        ["Saint Denis", "Le Mans", "La Rochelle", "Aix en Provence"] * 25,
    ],
)
def test_ordinary_columns_raise_no_alarm(values: list[Any]) -> None:
    assert looks(values) == []


def test_listed_values_may_be_long_and_many() -> None:
    values = [f"a kind of work that has the number {i}" for i in range(60)]
    assert looks(values) != []
    assert looks(values, keys=["x"], modalities={"x": values}) == []


@pytest.mark.parametrize("name", ["apa", "survey", "census", "business", "benschop", "saoud_fm1", "saoud_fm2"])
def test_the_shipped_files_raise_no_alarm(name: str) -> None:
    made = getattr(flou.datasets, name)
    assert scan(made(2_000) if name in ("apa", "survey", "census", "business") else made()) == ()


@pytest.mark.parametrize(
    ("column", "what"),
    [
        ("NIR", "a national number"),
        ("num_secu", "a national number"),
        ("Nom de naissance", "a person's name"),
        ("prénom", "a person's name"),
        ("lastName", "a person's name"),
        ("customer_id", "a person's number"),
        ("e-mail", "an e-mail address"),
        ("home_address", "an address"),
        ("tel", "a telephone number"),
        ("longitude", "a place on the map"),
        ("numéro de dossier", "a person's number"),
        ("region_name", ""),
        ("nom_commune", ""),
        ("income", ""),
        ("age", ""),
        ("nation", ""),
        ("telework", ""),
        ("mailing_year", ""),
    ],
)
def test_names_of_columns(column: str, what: str) -> None:
    assert identifier_in_name(column) == what


def test_a_date_of_birth_is_one_only_where_it_is_a_date() -> None:
    days = pl.Series(["1980-02-03"] * 5).str.to_date()
    assert looks(days, "date_naissance") == ["a date of birth"]
    assert looks([1980] * 5, "date_naissance") == []


@pytest.mark.parametrize("engine", ["polars-lazy", "duckdb", "pandas"])
def test_every_engine_finds_the_same(engine: str) -> None:
    from tests.contracts.cases import native

    rows = pl.DataFrame({"t": [f"p{i}@x.org" for i in range(N)], "n": range(N), "m": [1.5, None] * (N // 2)})
    assert scan(flou.Microdata(native(rows, engine))) == scan(flou.Microdata(rows))


def test_all_that_is_found_is_said_in_french() -> None:
    """What a column looks like is shown in reports."""
    import ast
    import inspect

    words = Words("fr")
    said = set(column_names._NAMES) | {name for name, _, _ in check_digits.NATIONAL} | {"a date of birth"}
    sources = [inspect.getsource(module) for module in (value_patterns, number_patterns)]
    texts = (n.value for text in sources for n in ast.walk(ast.parse(text)) if isinstance(n, ast.Constant))
    kinds = ("addresses", "numbers", "text", "accounts", "names", "codes")
    said |= {t for t in texts if isinstance(t, str) and any(k in t for k in kinds) and t[0].islower() and len(t) < 60}
    assert [text for text in sorted(said) if words(text) == text] == []
