"""What belongs together is told by content, not by the object that holds it."""

from __future__ import annotations

import copy

import polars as pl
import pytest

import flou

SECRET = flou.Secret(bytes(range(32)))


def people(age: int = 20) -> flou.Microdata:
    frame = pl.DataFrame({"age": [age, 21, 22] * 10, "sex": ["f", "m"] * 15, "pid": range(30)})
    return flou.Microdata(frame, keys=["age", "sex"], id="pid").marked(synthetic=True)


def test_equal_records_have_one_content_id() -> None:
    assert people().content_id == people().content_id
    assert people().content_id != people(age=23).content_id


def test_the_schema_is_part_of_the_content() -> None:
    frame = people().to_frame()
    assert flou.Microdata(frame, keys=["age"]).content_id != flou.Microdata(frame, keys=["sex"]).content_id


@pytest.mark.parametrize("step", [flou.protect.CellKey(D=5, V=3, js=2), flou.protect.Rounding(3)])
def test_equal_tables_have_one_content_id(step: flou.protect.Rounding) -> None:
    def release() -> flou.Table:
        keyed = flou.record_keys(people(), secret=SECRET)
        table: flou.Table = step.protect(keyed.tabulate(["age", "sex"], margins=True), secret=SECRET).data
        return table

    assert release().content_id == release().content_id
    assert release().content_id != people().tabulate(["age", "sex"], margins=True).content_id


def test_a_result_of_an_equal_release_is_no_stranger() -> None:
    plan = flou.Plan([flou.protect.Recode("age", mapping={20: "a", 21: "b", 22: "b"})])
    release, again = plan.protect(people(), secret=SECRET), plan.protect(people(), secret=SECRET)
    other = plan.protect(people(), secret=SECRET).data
    result = flou.risk.KAnonymity(k=2).measure(again)
    assert not release.is_strange(result)
    assert release.is_strange(flou.risk.KAnonymity(k=2).measure(flou.protect.DropRecords(
        flou.risk.KAnonymity(k=6, missing="category")).protect(other, secret=SECRET)))  # fmt: skip


def test_results_that_say_the_same_of_equal_data_have_one_content_id() -> None:
    first, second = (flou.risk.KAnonymity(k=3).measure(people()) for _ in range(2))
    assert first.content_id == second.content_id
    assert first.content_id != flou.risk.KAnonymity(k=4).measure(people()).content_id
    assert copy.copy(people()).content_id == people().content_id
