"""What a role hides is checked like what a step hides, and what cannot be checked is not released."""

from __future__ import annotations

import pickle
from typing import Any

import polars as pl
import pytest
from tests.risk.like_eusilc import Hide, like_eusilc

import flou
from flou.decide.verdict import Decision
from flou.risk.micro.inferable.inferable import inferable

RULE = {"method": "k_anonymity", "settings": {"k": 3}, "at_most": {"release": 0.5}}
POLICY = flou.Policy(rules=[RULE])
SECRET = flou.Secret(bytes(range(32)))
DROP = flou.protect.DropIdentifiers()


def people(lazy: bool = False, **roles: Any) -> flou.Microdata:
    frame = like_eusilc(households=1_500).to_frame().select("pid", "region", "sex", "weight")
    frame = frame.with_columns(name=pl.format("P{}", "pid"), surname=pl.format("S{}", pl.col("pid") * 7 % 500))
    if lazy:
        return flou.Microdata(frame.drop("pid").lazy(), keys=["sex"], weight="weight", **roles)
    return flou.Microdata(frame, id="pid", keys=["sex"], weight="weight", **roles)


def told(data: flou.Microdata) -> set[str]:
    found = inferable(DROP.protect(data, secret=SECRET))
    return {leak.column for leak in found if leak.level != "note"}


NAMES = {"name": "identifiers", "surname": "identifiers"}


@pytest.mark.parametrize("lazy", [False, True])
@pytest.mark.parametrize("role", ["not_released", "identifiers"])
def test_a_region_hidden_by_its_role_is_told_by_the_weight(role: str, lazy: bool) -> None:
    roles: dict[str, list[str]] = {"identifiers": ["name", "surname"]}
    roles[role] = [*roles.get(role, []), "region"]
    assert told(people(lazy, **roles)) == {"region"}


def test_what_nothing_tells_may_be_hidden_by_its_role() -> None:
    assert told(people(identifiers=["name"], not_released=["surname", "region"], scan={"sex": "a key"})) == {"region"}
    without = people(identifiers=["name"], not_released=["surname", "region"])
    kept = flou.Microdata(without.to_frame().drop("weight"), without.schema.without(["weight"]))
    assert told(kept) == set()


def test_names_that_only_one_person_has_are_not_looked_for() -> None:
    from flou.risk.micro.inferable.screen import screened

    release = DROP.protect(people(identifiers=["name", "surname"], others=["region"]), secret=SECRET)
    assert set(screened(release.data).was.columns) == {"surname", "region", "sex"}


@pytest.mark.parametrize("name", ["survey", "census"])
def test_a_file_whose_identifiers_are_dropped_raises_no_alarm(name: str) -> None:
    made = getattr(flou.datasets, name)(2_000).collect()
    frame = made.to_frame().with_columns(who=pl.Series([f"P{i % 900}" for i in range(made.n_records)]))
    assert told(flou.Microdata(frame, made.schema.with_changes(identifiers=("who",)))) == set()


@pytest.mark.parametrize("copy", [lambda r: r.data.public(), lambda r: pickle.loads(pickle.dumps(r.data))])
def test_a_copy_of_a_release_is_not_released(copy: Any) -> None:
    """It does not know what it was made of, so that nobody can look what it tells."""
    data = people(identifiers=["name"], others=["surname", "region"])
    release = Hide(column="region", nth=9).protect(data, secret=SECRET)
    found = POLICY.judge(flou.risk.KAnonymity(k=3).measure(copy(release)))
    assert found.decision is Decision.WITHHOLD
    assert "these records are a copy of a release" in str(found)
    assert "copy of a release" not in str(POLICY.judge(flou.risk.KAnonymity(k=3).measure(release), release))
