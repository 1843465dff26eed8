"""What is kept hangs on every input, step, secret and version: whatever changes, nothing is taken."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import polars as pl
import pytest
from tests.job.office import CELL_KEY, ONE_TABLE, SCHEMA, STEPS, TABLES, Office, open_office, people

import flou
from flou.engine.former import FormerRelease
from flou.engine.places import within
from flou.engine.plan import Plan
from flou.job.source import find_secret, plan_data, plan_population
from flou.job.store import keys
from flou.job.store.keys import Names

FORMER = FormerRelease("people", "2025", 1, [{"step": {}, "columns": ["a"], "reusable": {"a": 1.0}}])


@pytest.fixture
def office(tmp_path: Path) -> Iterator[Office]:
    with open_office(tmp_path) as opened:
        opened.steps = STEPS[:4]
        yield opened


def change_file(office: Office) -> None:
    people(241).write_parquet(office.folder / "people.parquet")


def change_schema(office: Office) -> None:
    (office.folder / "people.schema.toml").write_text(SCHEMA.replace("[5, 10, 20]", "[5, 20]"))


def change_step(office: Office) -> None:
    office.steps = (STEPS[0], STEPS[1].replace("level = 2", "level = 1"), *STEPS[2:4])


def change_period(office: Office) -> None:
    office.release = office.release.replace("2026", "2027")


def change_series(office: Office) -> None:
    office.release = office.release.replace('"people"', '"persons"')


def change_secret(office: Office) -> None:
    office.secret = office.secret[::-1]


def change_engine(office: Office) -> None:
    office.engine = "duckdb"


NAMES = ("drop_identifiers", "recode", "top_code", "round")
CHANGES = [change_file, change_schema, change_step, change_period, change_series, change_secret, change_engine]


@pytest.mark.parametrize("change", CHANGES)
def test_nothing_is_taken_once_something_is_another(office: Office, change: Callable[[Office], None]) -> None:
    office.stop("round")
    change(office)
    office.carry_out(resume=True)
    n_taken = 1 if change is change_step else 0  # the one before it
    assert office.calls[: 4 - n_taken] == list(NAMES[n_taken:])


def names_of(office: Office, former: FormerRelease | None = None) -> Names:
    """The names that the plan of an office gives now."""
    plan = Plan.load(office.plan())
    data = plan_data(plan, office.engine if office.engine != "memory" else None)
    return Names(plan, find_secret(None, plan), data, plan_population(plan, data.schema), former)


def of_step(office: Office, number: int = 4, former: FormerRelease | None = None) -> str:
    return names_of(office, former).of_step(number)


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_gives_steps_another_name(office: Office, change: Callable[[Office], None]) -> None:
    before = of_step(office)
    assert of_step(office) == before
    change(office)
    assert of_step(office) != before


def test_a_step_that_comes_later_does_not_change_the_name(office: Office) -> None:
    before = of_step(office, 3)
    office.steps = (*STEPS[:3], STEPS[4], STEPS[5])
    assert of_step(office, 3) == before
    assert len({of_step(office, number) for number in range(6)}) == 6


@pytest.mark.parametrize("package", ["flou", "polars", "numpy"])
def test_another_version_gives_another_name(office: Office, package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    before = of_step(office)
    held = {"flou": (keys, "__version__"), "polars": (pl, "__version__"), "numpy": (keys.np, "__version__")}
    monkeypatch.setattr(*held[package], "99.0")
    assert of_step(office) != before


def test_other_methods_of_other_packages_give_another_name(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    before = of_step(office)
    monkeypatch.setattr(keys.registry, "packages", lambda: frozenset({"flou", "pytest"}))
    assert of_step(office) != before


def test_the_parameters_of_the_former_release_are_part_of_the_name(office: Office) -> None:
    drawn = FormerRelease("people", "2025", 1, [{"step": {}, "columns": ["a"], "reusable": {"a": 2.0}}])
    assert len({of_step(office, 4, former) for former in (None, FORMER, drawn)}) == 3


def test_columns_that_were_renamed_are_part_of_the_name(office: Office) -> None:
    before = of_step(office)
    office.release += 'since = "former"\nrenamed = { spending = "costs" }\n'
    assert of_step(office) != before


def test_where_the_former_release_lies_is_not(office: Office) -> None:
    before = of_step(office)
    office.release += 'since = "former"\n'
    assert of_step(office) == before


def test_the_same_secret_from_elsewhere_gives_another_name(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    before = of_step(office)
    monkeypatch.setenv("FLOU_SECRET", office.secret)
    assert of_step(office) != before


def test_how_a_file_is_read_is_part_of_the_name(office: Office) -> None:
    people().write_csv(office.folder / "people.csv")
    plan = Plan.from_toml(office.text.replace("people.parquet", "people.csv"), office.folder)
    secret, data = find_secret(None, plan), plan_data(plan)
    other = Plan.from_toml(plan.to_toml().replace("[data]\n", '[data]\nformulas = "plain"\n'), office.folder)
    assert Names(plan, secret, data, None, None).of_step(1) != Names(other, secret, data, None, None).of_step(1)


def test_every_file_of_a_folder_is_part_of_the_name(office: Office) -> None:
    folder = office.folder / "people.parquet"
    folder.unlink()
    folder.mkdir()
    for number in range(2):
        people().write_parquet(folder / f"{number}.parquet")
    plan = Plan.load(office.plan())
    data = flou.Microdata(people(), id="pid")
    before = Names(plan, find_secret(None, plan), data, None, None).of_step(1)
    people(241).write_parquet(folder / "1.parquet")
    assert Names(plan, find_secret(None, plan), data, None, None).of_step(1) != before


def test_tables_are_part_of_the_names_of_steps_on_tables_alone(office: Office) -> None:
    office.steps, office.more = (*STEPS[:3], CELL_KEY), TABLES
    before = [of_step(office, number) for number in range(5)]
    office.more = TABLES.replace('dims = ["age", "sex"]', 'dims = ["age"]')
    assert [of_step(office, n) == before[n] for n in range(5)] == [True, True, True, True, False]


def test_stored_record_keys_are_part_of_the_name(office: Office) -> None:
    office.steps, office.more = (*STEPS[:3], CELL_KEY), TABLES
    before = of_step(office, 4)
    office.more += '\n[record_keys]\nstored = "spending"\n'
    assert of_step(office, 4) != before


def test_files_that_steps_read_are_part_of_their_name(office: Office) -> None:
    office.steps = ('method = "cell_suppression"\nprimary = { method = "threshold", n = 3 }\napriori = "a.hst"',)
    office.more = ONE_TABLE
    found = set()
    for text in ("stated", "otherwise"):
        (office.folder / "a.hst").write_text(text)
        with within(office.folder):
            found.add(of_step(office, 1))
    assert len(found) == 2


def test_a_result_hangs_on_the_data_the_stage_and_the_method(office: Office) -> None:
    names, (two, three) = names_of(office), (flou.risk.KAnonymity(k=k) for k in (2, 3))
    asked = [("a" * 40, "seal", "after", two, {}), ("b" * 40, "seal", "after", two, {}),
             ("a" * 40, "other", "after", two, {}), ("a" * 40, "seal", "before", two, {}),
             ("a" * 40, "seal", "after", three, {}), ("a" * 40, "seal", "after", None, {}),
             ("a" * 40, "seal", "after", two, {"k": 2})]  # fmt: skip
    found = {names.of_result(*one).partition(".")[2] for one in asked}  # type: ignore[arg-type]
    assert len(found) == len(asked)


def test_a_result_hangs_on_the_public_table_that_it_was_measured_with(office: Office) -> None:
    office.more += '\n[population]\nsource = "public.parquet"\n'
    found = set()
    for n in (300, 301):
        people(n).select("age", "sex", "region").write_parquet(office.folder / "public.parquet")
        found.add(names_of(office).of_result("a" * 40, "", "before", flou.risk.KMap(2), {}))
    assert len(found) == 2
