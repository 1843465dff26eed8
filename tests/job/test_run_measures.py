"""Plans that measure against the original and against a public table."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

import flou
from flou.engine.plan import DataSource
from flou.job.carry_out import carry_out

PLAN = """
flou = 2
[data]
source = "people.parquet"
schema = "people.schema.toml"
[population]
source = "register.parquet"
[[protect]]
method = "recode"
column = "age"
level = 1
[[protect]]
method = "top_code"
column = "income"
at = 30
[[measure]]
method = "k_map"
k = 3
[[measure]]
method = "presence"
low = 0.0
high = 0.5
[[measure]]
method = "t_closeness"
t = 0.9
[[measure]]
method = "interval_risk"
columns = ["income"]
[[measure]]
method = "attack_map"
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    people = pl.DataFrame(
        {
            "pid": range(5),
            "age": [20, 21, 30, 31, 32],
            "illness": ["flu", "gout", "flu", "none", "flu"],
            "income": [10.0, 20, 30, 40, 55],
        }
    )
    people.write_parquet(tmp_path / "people.parquet")
    pl.DataFrame({"age": [20, 21, 22, 23, 30, 31, 32, 33, 34, 35], "name": list("abcdefghij")}).write_parquet(
        tmp_path / "register.parquet"
    )
    schema = flou.Schema(
        id="pid", keys=["age"], sensitive=["illness"], others=["income"], hierarchies={"age": flou.Hierarchy.bands(10)}
    )
    schema.save(tmp_path / "people.schema.toml")
    (tmp_path / "plan.toml").write_text(PLAN)
    return tmp_path


def test_measures_are_held_against_what_they_compare_with(folder: Path) -> None:
    done = carry_out(flou.Plan.load(folder / "plan.toml"))
    found = {(r.method, r.measured_on): r for r in done.results}
    # one person of each age before; four and six of each decade after, the register recoded as the file is
    assert found["k_map", "original"].k == 1
    assert found["k_map", "release"].k == 4
    assert found["presence", "original"].highest == 1
    assert found["presence", "release"].figures["highest"] == 0.5
    assert found["presence", "release"].value == 0
    assert ("interval_risk", "original") not in found
    assert found["interval_risk", "release"].n_at_risk == 3
    assert found["attack_map", "release"].figures["presence"] == 0
    assert found["t_closeness", "release"].measured_on == "release"


def test_a_plan_round_trips_its_population(folder: Path) -> None:
    plan = flou.Plan.load(folder / "plan.toml")
    assert flou.Plan.from_toml(plan.to_toml(), folder) == plan
    assert plan.population is not None
    assert plan.population.source == "register.parquet"


def test_presence_without_a_public_table_is_refused_before_any_work(folder: Path) -> None:
    text = PLAN.replace('[population]\nsource = "register.parquet"\n', "")
    (folder / "plan.toml").write_text(text)
    with pytest.raises(flou.FlouError, match=r"add \[population\]"):
        carry_out(flou.Plan.load(folder / "plan.toml"))


def test_a_public_table_that_lacks_people_stops_the_plan(folder: Path) -> None:
    pl.DataFrame({"age": [20, 21]}).write_parquet(folder / "register.parquet")
    with pytest.raises(flou.FlouError, match="does not contain the file"):
        carry_out(flou.Plan.load(folder / "plan.toml"))


def test_a_misspelt_column_of_a_comparison_is_found_before_the_work(tmp_path: Path) -> None:
    plan = flou.Plan(
        [flou.protect.Round(columns=("apa_amount",), unit=10.0)],
        comparisons=[flou.utility.Summary(columns=("apa_amoun",))],
        data=DataSource("dataset:apa(1_000)"),
    )
    seen: list[str] = []
    with pytest.raises(
        flou.FlouError, match=r"\[\[compare\]\] summary: columns names the column 'apa_amoun'.*apa_amount"
    ):
        carry_out(plan, progress=lambda stage, done, total: seen.append(stage))
    assert not any(stage.startswith("protect") for stage in seen)
