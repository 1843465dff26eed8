"""A policy releases tables whose columns and categories pass the same gate as records."""

from __future__ import annotations

import pickle
from typing import Any

import polars as pl
import pytest

import flou
from flou.decide.published import not_for_release
from flou.decide.verdict import Decision

RULE = {"method": "threshold", "settings": {"n": 3}, "figure": "value", "at_most": {"release": 0.0}}
N = 60


def people(**roles: Any) -> flou.Microdata:
    frame = pl.DataFrame(
        {
            "email": [f"person{i % 20}@example.org" for i in range(3 * N)],
            "number": [51_000 + i % N for i in range(3 * N)],
            "sex": ["F", "M", "M"] * N,
            "pay": [100.0 + i for i in range(3 * N)],
        }
    )
    return flou.Microdata(frame, **roles)


def judged(dims: list[str], value: str | None = None, schema: Any = None, **roles: Any) -> Any:
    table = people(**roles).tabulate(dims, value=value) if schema is None else schema
    release = flou.protect.CellSuppression(primary=flou.risk.Threshold(3)).protect(table, secret=flou.Secret.generate())
    return flou.Policy(rules=[RULE]).judge(flou.risk.Threshold(3).measure(release), release)


def test_a_table_whose_dimensions_nobody_declared_is_withheld() -> None:
    found = judged(["email", "sex"])
    assert found.decision is Decision.WITHHOLD
    assert "nobody has said what these columns are: 'email', 'sex'" in str(found)
    assert "email looks as if it held e-mail addresses" in str(found)


def test_a_declared_dimension_is_scanned_and_a_reason_explains_it() -> None:
    roles = {"keys": ["sex"], "others": ["email"]}
    assert judged(["email", "sex"], **roles).decision is Decision.WITHHOLD
    assert judged(["email", "sex"], **roles, scan={"email": "public desks"}).decision is Decision.RELEASE
    assert judged(["sex"], **roles).decision is Decision.RELEASE


def test_numbers_of_people_are_found_among_the_categories_of_a_table() -> None:
    once = flou.Microdata(people().frame.to_native().unique("number"), keys=["sex"], others=["number"])
    cells = once.tabulate(["number"])
    assert "numbers that count the records" in str(judged([], schema=cells))


def test_the_column_whose_sums_are_published_has_a_role_and_a_name_of_no_person() -> None:
    assert "'pay'" in str(judged(["sex"], value="pay", keys=["sex"]))
    assert judged(["sex"], value="pay", keys=["sex"], others=["pay"]).decision is Decision.RELEASE
    found = judged(["sex"], value="pay", keys=["sex"], not_released=["pay"])
    assert "the schema says that these columns do not leave, and a table shows them: 'pay'" in str(found)


def test_the_level_of_a_hierarchy_has_the_role_of_its_column() -> None:
    bands = {"number": flou.Hierarchy.bands(30)}
    assert judged(["number@1", "sex"], keys=["sex", "number"], hierarchies=bands).decision is Decision.RELEASE
    assert "'number'" in str(judged(["sex", "number"], keys=["sex"]))


def test_a_table_that_others_counted_needs_a_schema() -> None:
    counted = pl.DataFrame({"sex": ["F", "M", "Total"], "count": [5, 7, 12]})
    given = flou.Table.from_frame(counted, ["sex"])
    assert "'sex'" in str(judged([], schema=given))
    declared = flou.Table.from_frame(counted, ["sex"], schema=flou.Schema(keys=["sex"]))
    assert judged([], schema=declared).decision is Decision.RELEASE


@pytest.mark.parametrize("copy", [lambda r: r.data.public(), lambda r: pickle.loads(pickle.dumps(r.data))])
def test_a_copy_of_a_released_table_passes_the_same_gate(copy: Any) -> None:
    table = people(keys=["sex"], others=["email"]).tabulate(["email", "sex"])
    release = flou.protect.RandomRounding(base=5).protect(table, secret=flou.Secret(bytes(range(32))))
    found = [str(note) for note, _ in not_for_release([copy(release)])]
    assert any("email looks as if it held e-mail addresses" in text for text in found)
