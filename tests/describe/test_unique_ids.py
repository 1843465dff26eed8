"""The role id names each person once: checked when data are described, on every engine."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.contracts.cases import SPARK
from tests.contracts.cases import native as in_engine

import flou
from flou.engine.errors import DataError, SchemaError

ENGINES = ["polars", "pandas", "pyarrow", "polars-lazy", "duckdb", SPARK]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("ids", [[7, 3, 7, 9, 7, 3], [10**15, 3, 10**15, 9, 10**15, 3], list("cacbca")])
def test_repeated_ids_are_refused_with_examples_and_what_to_do(engine: str, ids: list[Any]) -> None:
    frame = in_engine(pl.DataFrame({"pid": ids, "age": [30] * 6}), engine)
    with pytest.raises(SchemaError) as caught:
        flou.Microdata(frame, keys=["age"], id="pid")
    message = str(caught.value)
    assert "the 6 records are of 3 persons, and 2 of the ids occur more than once" in message
    assert f"{ids[0]!r} (3 times), {ids[1]!r} (2 times)" in message
    assert 'declare rows_per_person = "several"' in message
    assert "make the ids unique, or take the role id away" in message


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("rows", ["one", "several"])
def test_ids_that_are_null_are_always_refused(engine: str, rows: Any) -> None:
    frame = in_engine(pl.DataFrame({"pid": [1, None, 2, None]}), engine)
    with pytest.raises(SchemaError, match="2 are null"):
        flou.Microdata(frame, id="pid", rows_per_person=rows)


def test_a_person_with_three_rows_is_not_three_people() -> None:
    """The attack: three rows of one person passed for a class of three."""
    frame = pl.DataFrame({"pid": [1, 1, 1], "age": [30, 30, 30]})
    with pytest.raises(SchemaError, match="never null"):
        flou.Microdata(frame, keys=["age"], id="pid")
    data = flou.Microdata(frame, keys=["age"], id="pid", rows_per_person="several")
    assert flou.risk.KAnonymity(k=1).measure(data).k == 1


@given(st.lists(st.integers(-(2**62), 2**62) | st.integers(-20, 20), min_size=1, max_size=30))
def test_every_set_of_whole_numbers_is_judged_right(ids: list[int]) -> None:
    for frame in (pl.DataFrame({"pid": ids}), pl.DataFrame({"pid": ids}).lazy()):
        if len(set(ids)) == len(ids):
            flou.Microdata(frame, id="pid")
        else:
            with pytest.raises(SchemaError, match="occur more than once"):
                flou.Microdata(frame, id="pid")


def test_a_file_without_records_has_unique_ids() -> None:
    for dtype in (pl.Int64, pl.String):
        assert len(flou.Microdata(pl.DataFrame({"pid": []}, schema={"pid": dtype}), id="pid")) == 0


def test_another_schema_is_checked_too() -> None:
    data = flou.Microdata(pl.DataFrame({"pid": [1, 1], "age": [30, 31]}), keys=["age"])
    with pytest.raises(SchemaError, match="1 of the ids"):
        data.with_schema(flou.Schema(keys=["age"], id="pid"))
    assert data.with_schema(flou.Schema(keys=["age"], id="pid", rows_per_person="several")).n_records == 2


def test_a_file_is_checked_when_it_is_read(tmp_path: Path) -> None:
    pl.DataFrame({"pid": [1, 2, 1], "age": [1, 2, 3]}).write_csv(tmp_path / "file.csv")
    with pytest.raises(SchemaError, match=r"1 \(2 times\)"):
        flou.read(tmp_path / "file.csv", keys=["age"], id="pid")


def test_several_rows_need_an_id() -> None:
    with pytest.raises(SchemaError, match="needs the role id"):
        flou.Microdata(pl.DataFrame({"age": [1]}), keys=["age"], rows_per_person="several")


def test_a_schema_file_declares_several_rows(tmp_path: Path) -> None:
    file = tmp_path / "people.schema.toml"
    schema = flou.Schema(id="pid", keys=["age"], rows_per_person="several")
    schema.save(file)
    assert 'rows_per_person = "several"' in file.read_text()
    assert flou.Schema.load(file).rows_per_person == "several"
    flou.Schema(keys=["age"]).save(file, overwrite=True)
    assert "rows_per_person" not in file.read_text()
    file.write_text('flou = 2\nrows_per_persons = "several"\n')
    with pytest.raises(SchemaError, match=r"rows_per_persons.*rows_per_person"):
        flou.Schema.load(file)
    file.write_text('flou = 2\nrows_per_person = "two"\n')
    with pytest.raises(SchemaError, match="several"):
        flou.Schema.load(file)


def test_a_draft_keeps_what_was_declared() -> None:
    from flou.describe.overview import draft_schema

    data = flou.Microdata(pl.DataFrame({"pid": [1, 1]}), id="pid", rows_per_person="several")
    assert draft_schema(data).rows_per_person == "several"


def test_ids_by_content_make_no_lasting_keys() -> None:
    data = flou.Microdata(pl.DataFrame({"age": [1, 2]}), keys=["age"])
    with pytest.raises(DataError, match=r"made from each unit's id, but no column has this role. Declare it"):
        flou.record_keys(data, secret=flou.Secret(bytes(range(32))))
