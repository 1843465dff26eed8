"""Last year's plan on this year's file: what changed is said, what the schema does not know is refused."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

import flou
from flou.describe.profile import Profile
from flou.engine.errors import DataError, SchemaError
from flou.job.carry_out import carry_out
from flou.job.folder import write_folder

THEN = pl.DataFrame(
    {
        "name": [f"p{i}" for i in range(8)],
        "region": ["north", "north", "south", "south", "east", "east", "east", "north"],
        "age": [31, 31, 31, 31, 52, 52, 52, 52],
        "income": [1.5, 2.0, 2.5, 3.0, 3.5, 4.0, 4.5, 5.0],
    }
)
SCHEMA = """
flou = 2
[columns.name]
role = "identifier"
[columns.region]
role = "key"
{region}
[columns.age]
role = "key"
[columns.income]
role = "sensitive"
"""
PLAN = """
flou = 2
[data]
source = "people.csv"
schema = "people.schema.toml"
[[protect]]
method = "drop_identifiers"
[[measure]]
method = "k_anonymity"
k = 2
[policy]
min_count = 1
[[policy.rule]]
method = "k_anonymity"
settings = { k = 2 }
at_most = { release = 0.5 }
[output]
format = "csv"
languages = ["en", "fr"]
"""


@pytest.fixture
def year(tmp_path: Path) -> Path:
    """A plan that was run once."""
    (tmp_path / "plan.toml").write_text(PLAN)
    (tmp_path / "people.schema.toml").write_text(SCHEMA.format(region=""))
    THEN.write_csv(tmp_path / "people.csv")
    write_folder(carry_out(flou.Plan.load(tmp_path / "plan.toml")), tmp_path / "then")
    return tmp_path


def changes(folder: Path, now: pl.DataFrame) -> list[str]:
    now.write_csv(folder / "people.csv")
    done = carry_out(flou.Plan.load(folder / "plan.toml"), since=str(folder / "then"))
    assert done.changed is not None
    return [str(note) for note in done.changed]


def test_the_same_file_has_not_changed(year: Path) -> None:
    assert changes(year, THEN) == []


def test_new_categories_new_nulls_and_the_number_of_records_are_said(year: Path) -> None:
    now = pl.concat([THEN, THEN.head(2)]).with_columns(
        region=pl.Series(["west", "north", None, "south", "east", "east", "east", "north", "west", "north"]),
    )
    assert changes(year, now) == [
        "region: new categories west",
        "region: 1 undetermined values, none then",
        "10 records, 8 then",
    ]


def test_a_type_that_changed_and_a_category_that_is_gone(year: Path) -> None:
    now = THEN.with_columns(age=pl.lit("unknown"), region=pl.lit("north"))
    assert changes(year, now) == [
        "region: categories that nobody has any more east, south",
        "age: text values, integer then",
    ]


def test_other_keys_are_said(year: Path) -> None:
    text = SCHEMA.format(region="").replace('role = "sensitive"', 'role = "key"')
    (year / "people.schema.toml").write_text(text)
    assert changes(year, THEN) == ["new keys: income"]


def test_a_column_that_the_schema_does_not_know_is_refused(year: Path) -> None:
    with pytest.raises(SchemaError, match="the schema does not know these columns: 'phone'"):
        changes(year, THEN.with_columns(phone=pl.lit("1")))


def test_a_category_that_the_schema_does_not_declare_is_refused(year: Path) -> None:
    (year / "people.schema.toml").write_text(SCHEMA.format(region='modalities = ["north", "south", "east"]'))
    with pytest.raises(SchemaError, match="not among its declared modalities: 'west'"):
        changes(year, THEN.with_columns(region=pl.lit("west")))


def test_the_report_says_it_in_both_languages_and_the_public_one_does_not(year: Path) -> None:
    THEN.head(7).write_csv(year / "people.csv")
    done = carry_out(flou.Plan.load(year / "plan.toml"), since=str(year / "then"))
    write_folder(done, year / "now")
    assert "7 records, 8 then" in (year / "now" / "internal" / "report.en.html").read_text()
    assert "7 enregistrements, contre 8 auparavant" in (year / "now" / "internal" / "report.fr.html").read_text()
    for language in ("en", "fr"):
        assert 'id="changed"' not in (year / "now" / "public" / f"report.{language}.html").read_text()
    assert '"7 records, 8 then"' in (year / "now" / "internal" / "manifest.json").read_text()


def test_a_profile_holds_no_identifier_and_no_amount(year: Path) -> None:
    text = (year / "then" / "internal" / "profile.json").read_text()
    assert "p3" not in text
    assert "4.5" not in text
    assert Profile.load(year / "then").columns["name"].categories is None


@pytest.mark.parametrize(
    "held", ["", "[]", "{}", '{"flou_profile": 9}', '{"flou_profile": 1, "n_records": 1, "columns": [1]}']
)
def test_what_is_no_profile_is_refused(held: str, tmp_path: Path) -> None:
    (tmp_path / "profile.json").write_text(held)
    with pytest.raises(DataError, match="profile"):
        Profile.load(tmp_path / "profile.json")


def test_a_folder_that_no_run_made_is_refused(tmp_path: Path) -> None:
    with pytest.raises(
        DataError, match="holds no profile of a former run: give the folder that `flou run --out` wrote"
    ):
        Profile.load(tmp_path)


def test_more_nulls_other_units_and_many_categories_are_said(monkeypatch: pytest.MonkeyPatch) -> None:
    """What appears or goes is not all: a column may fill with nulls, or change its unit."""

    def profile(nulls: int, unit: int, places: int) -> Profile:
        frame = pl.DataFrame({"sex": ["f", "m"] * 2000, "income": [unit * 10] * 4000, "zip": [0, 1] * 2000})
        return Profile.of(
            flou.Microdata(
                frame.with_row_index("i").select(
                    pl.when(pl.col("i") >= nulls).then("sex").alias("sex"),
                    "income",
                    (pl.col("i") % places).alias("zip"),
                ),
                keys=["sex", "zip"],
            )
        )

    monkeypatch.setattr("flou.describe.profile._MAX_CATEGORIES", 1000)
    then = profile(100, 1, 900)
    assert then.changes_since(profile(120, 1, 900)) == ()
    many = "zip: 1,100 categories, 1,100 then; too many to compare one by one"
    assert [str(n) for n in profile(100, 1, 1100).changes_since(profile(100, 1, 1100))] == [many]
    assert [str(n) for n in profile(400, 100, 1100).changes_since(then)] == [
        "sex: 10.0% of the values undetermined, 2.5% then",
        "income: mean 1,000, 10 then; are the units the same?",
        "zip: 1,100 categories, 900 then; too many to compare one by one",
    ]
