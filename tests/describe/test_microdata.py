"""Schemas, microdata, files."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import flou
from flou.describe.overview import overview

FRAME = pl.DataFrame(
    {
        "pid": [3, 1, 2, 4],
        "name": ["a", "b", "c", "d"],
        "age": [30, 31, None, 40],
        "sex": ["F", "M", "F", None],
        "status": ["x", "9", "y", "x"],
        "w": [1.5, 2.0, 1.0, 3.0],
    }
)
ROLES: dict[str, Any] = {"id": "pid", "identifiers": ["name"], "keys": ["age", "sex"], "weight": "w"}


def test_public_hides_what_must_not_leave_and_says_nothing_by_order() -> None:
    people = flou.Microdata(FRAME, **ROLES)
    public = people.public()
    assert public.columns == ("age", "sex", "status", "w")
    shuffled = flou.Microdata(FRAME[[2, 0, 3, 1]], **ROLES).public()
    assert public.to_frame().equals(shuffled.to_frame())
    assert public.schema.identifiers == ()
    assert public.schema.id is None


def test_a_release_shows_only_what_would_be_published() -> None:
    release = flou.Plan().protect(flou.Microdata(FRAME, **ROLES), secret=1)
    assert release.data.to_frame().columns == ["age", "sex", "status", "w"]
    assert release.data.to_frame(reveal=True).columns == FRAME.columns
    copied = pickle.loads(pickle.dumps(release.data))
    assert copied.to_frame(reveal=True).columns == ["age", "sex", "status", "w"]
    assert copied.released


@pytest.mark.parametrize("role", ["id", "household"])
def test_internal_numbers_are_not_published(role: str, tmp_path: Path) -> None:
    people = flou.Microdata(FRAME, keys=["age", "sex"], **{role: "pid"})
    release = flou.Plan().protect(people, secret=1)
    flou.write(release, tmp_path / "released.csv", unprotected=True)
    copied = pickle.loads(pickle.dumps(release.data))
    for shown in (people.public().to_frame(), release.data.to_frame(), copied.to_frame(reveal=True)):
        assert shown.columns == ["name", "age", "sex", "status", "w"]
    assert pl.read_csv(tmp_path / "released.csv").columns == ["name", "age", "sex", "status", "w"]


def test_the_rows_of_a_release_do_not_tell_the_order_of_the_input() -> None:
    frames = [FRAME[rows] for rows in ([0, 1, 2, 3], [2, 0, 3, 1])]
    releases = [flou.Plan().protect(flou.Microdata(frame, **ROLES), secret=1) for frame in frames]
    shown, shuffled = (release.data.to_frame() for release in releases)
    assert shown.equals(shuffled)
    assert shown.sort("w").equals(FRAME.select(shown.columns).sort("w")), "the rows themselves stay"


def test_nan_is_null_and_a_column_of_pandas_keeps_its_type() -> None:
    """Whether a number has a gap says nothing of what the column is: next year's file may have none."""
    frame = pd.DataFrame({"a": [1.0, float("nan"), 2.0], "b": [1.5, float("nan"), 2.0], "c": ["x", None, "y"]})
    frame["d"] = pd.array([1, None, 2], dtype="Int64")
    inner = flou.Microdata(frame, keys=["a", "b", "c"]).frame.to_polars()
    assert inner["a"].to_list() == [1.0, None, 2.0]
    assert (inner.schema["a"], inner.schema["d"]) == (pl.Float64, pl.Int64)
    assert inner["b"].to_list() == [1.5, None, 2.0]
    assert inner["c"].to_list() == ["x", None, "y"]
    floats = flou.Microdata(pl.DataFrame({"a": [1.0, float("nan")]})).frame.to_polars()
    assert floats["a"].to_list() == [1.0, None]


def test_pandas_goes_out_as_it_came() -> None:
    frame = pd.DataFrame(
        {
            "i": [1, 2],
            "f": [1.5, 2.5],
            "s": ["a", "b"],
            "b": [True, False],
            "d": pd.to_datetime(["2020-01-01", "2021-05-05"]),
            "c": pd.Categorical(["u", "v"]),
            "n": pd.array([1, None], dtype="Int64"),
        }
    )
    out = flou.Microdata(frame).to_frame()
    assert isinstance(out, pd.DataFrame)
    assert out["i"].tolist() == [1, 2]
    assert out["s"].tolist() == ["a", "b"]
    assert out["d"].tolist() == frame["d"].tolist()
    assert out["c"].tolist() == ["u", "v"]
    assert out["n"].tolist() == [1, pd.NA]


def test_undetermined_codes_become_null_and_not_applicable_codes_stay() -> None:
    people = flou.Microdata(
        FRAME, keys=["status", "age"], undetermined={"status": ["9"], "age": [40]}, not_applicable={"status": ["x"]}
    )
    inner = people.frame.to_polars()
    assert inner["status"].to_list() == ["x", None, "y", "x"]
    assert inner["age"].to_list() == [30, 31, None, None]
    described = {c.name: c for c in overview(people).columns}
    assert described["status"].n_not_applicable == 2
    assert described["status"].n_undetermined == 1


def test_not_applicable_codes_are_modalities_and_pass_through_recoding() -> None:
    frame = pl.DataFrame({"age": [30, 31, 999, 999, None]})
    people = flou.Microdata(
        frame,
        keys=["age"],
        not_applicable={"age": [999]},
        modalities={"age": [30, 31]},
        hierarchies={"age": flou.Hierarchy.bands(10)},
    )
    assert flou.risk.KAnonymity(k=2).measure(people).units.tolist() == [2, 2, 3, 3, 2]
    release = flou.protect.Recode("age", level=1).protect(people, secret=1)
    assert sorted(release.data.to_frame()["age"].drop_nulls().to_list()) == ["30-39", "30-39", "999", "999"]
    assert flou.protect.TopCode("age", at=30).protect(people, secret=1).data.to_frame()["age"].to_list() == [
        30,
        30,
        999,
        999,
        None,
    ]


@pytest.mark.parametrize(
    ("roles", "message"),
    [
        ({"keys": ["agee"]}, "'age'"),
        ({"keys": ["age"], "identifiers": ["age"]}, "stand alone"),
        ({"keys": ["age"], "sensitive": ["age"]}, "both key and sensitive"),
        ({"keys": ["age", "age"]}, "twice"),
        ({"weight": "sex"}, "numbers"),
        ({"keys": ["age"], "types": {"age": "text"}}, "text"),
        ({"keys": ["age"], "modalities": {"age": [30]}}, "31"),
        ({"keys": ["age", "sex"], "incoherent": [{"age": 30}]}, "at least two"),
        ({"keys": ["age"], "incoherent": [{"age": 30, "sex": "F"}]}, "not a key"),
        ({"key": ["age"]}, "'keys'"),
        ({"keys": ["age"], "unlisted": "refuse"}, "does not know"),
        ({"keys": ["status"], "undetermined": {"status": ["9"]}, "not_applicable": {"status": ["9"]}}, "both"),
    ],
)
def test_what_does_not_fit_is_refused(roles: dict[str, Any], message: str) -> None:
    with pytest.raises(flou.FlouError, match=message):
        flou.Microdata(FRAME, **roles)


def test_schema_file_round_trip(tmp_path: Path) -> None:
    schema = flou.Schema(
        title={"en": "People", "fr": "Personnes"},
        keys=["age", "sex"],
        strata=["sex"],
        id="pid",
        identifiers=["name"],
        weight="w",
        others=["status"],
        types={"age": "integer"},
        labels={"age": {"en": "Age", "fr": "Âge"}},
        value_labels={"sex": {"F": {"en": "women", "fr": "femmes"}}},
        modalities={"sex": ("F", "M")},
        not_applicable={"status": ("9",)},
        incoherent=({"age": 30, "sex": "M"},),
        hierarchies={"age": flou.Hierarchy.bands(5)},
        unlisted="refuse",
    )
    schema.save(tmp_path / "s.toml")
    assert flou.Schema.load(tmp_path / "s.toml") == schema
    assert schema.label("age", "fr") == "Âge"
    assert schema.label("w", "fr") == "w"
    assert schema.roles("sex") == ("key", "stratum")


@pytest.mark.parametrize("engine", ["polars", "duckdb"])
@pytest.mark.parametrize("name", ["p.parquet", "p.csv", "p.arrow"])
def test_write_then_read(tmp_path: Path, name: str, engine: Any) -> None:
    people = flou.Microdata(FRAME, **ROLES)
    flou.write(people, tmp_path / name, unprotected=True)
    again = flou.read(tmp_path / name, keys=["age", "sex"], weight="w", engine=engine)
    assert again.is_lazy
    assert again.collect().to_frame().equals(people.public().to_frame())
    assert list(tmp_path.iterdir()) == [tmp_path / name]
    with pytest.raises(flou.FlouError, match="exists"):
        flou.write(people, tmp_path / name, unprotected=True)
    flou.write(people, tmp_path / name, overwrite=True, unprotected=True)


def test_read_folder_and_pattern(tmp_path: Path) -> None:
    FRAME[:2].write_parquet(tmp_path / "a.parquet")
    FRAME[2:].write_parquet(tmp_path / "b.parquet")
    for engine in ("polars", "duckdb"):
        assert flou.read(tmp_path, keys=["age"], engine=engine).n_records == 4  # type: ignore[arg-type]
        assert flou.read(tmp_path / "*.parquet", keys=["age"], engine=engine).n_records == 4  # type: ignore[arg-type]


def test_csv_types(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text(
        'code;n;x;d;b;t;empty\n01;1;1.5;2020-01-31;true;"a;b";\n02;-2;;2021-12-01;false;;\n', encoding="utf-8"
    )
    frame = flou.read(path).collect().to_frame()
    assert frame.dtypes == [pl.String, pl.Int64, pl.Float64, pl.Date, pl.Boolean, pl.String, pl.String]
    assert frame["code"].to_list() == ["01", "02"]
    assert frame["t"].to_list() == ["a;b", None]
    typed = flou.read(path, types={"n": "text"}).collect().to_frame()
    assert typed["n"].to_list() == ["1", "-2"]
    with pytest.raises(flou.FlouError, match="'01'"):
        flou.read(path, types={"code": "integer"})


def test_csv_in_another_encoding(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_bytes("ville,n\nNîmes,1\n".encode("latin-1"))
    with pytest.raises(flou.FlouError, match="latin-1"):
        flou.read(path)
    assert flou.read(path, encoding="latin-1").collect().to_frame()["ville"].to_list() == ["Nîmes"]


def test_lazy_input_stays_in_its_engine(tmp_path: Path) -> None:
    FRAME.write_parquet(tmp_path / "a.parquet")
    people = flou.read(tmp_path / "a.parquet", **ROLES)
    release = flou.protect.TopCode("age", at=31).protect(people, secret=1)
    assert release.data.is_lazy
    assert isinstance(release.data.to_frame(), pl.LazyFrame)
    result = flou.risk.KAnonymity(k=2).measure(release)
    with pytest.raises(flou.FlouError, match="joined"):
        _ = result.units
    assert result.joined().collect().height == 4


def test_overview_counts() -> None:
    found = overview(flou.datasets.saoud_fm2())
    assert found.n_records == 7
    assert found.n_keys == 6
    assert found.n_possible_keys == 10
    assert {c.name: (c.n_distinct, c.n_undetermined) for c in found.columns} == {"activity": (2, 1), "status": (4, 2)}


def test_objects_are_frozen() -> None:
    people = flou.Microdata(FRAME, **ROLES)
    with pytest.raises(AttributeError):
        people.schema = flou.Schema()  # type: ignore[misc]
    result = flou.risk.KAnonymity(k=2).measure(people)
    with pytest.raises(AttributeError):
        result.value = 0.0  # type: ignore[misc]


def test_weights_are_summed_by_key() -> None:
    table = flou.Microdata(FRAME, keys=["sex"], weight="w").key_table(["sex"])
    assert table.weights is not None
    found = dict(zip(table.frame["sex"].to_list(), table.weights.tolist(), strict=True))
    assert found == {"F": 2.5, "M": 2.0, None: 3.0}
    assert np.issubdtype(table.counts.dtype, np.integer)


def test_csv_cells_and_lines_that_are_empty(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text('"sex","age"\n"F","30"\n"","30"\n')
    assert flou.read(path).collect().to_frame()["sex"].null_count() == 1
    for text in ("a,b\n1,2\n\n3,4\n", "a,b\n1,2\n3,4\n\n", 'a,b\n"1",2\n\n', "a,b\r\n1,2\r\n\r\n"):
        path.write_bytes(text.encode())
        with pytest.raises(flou.FlouError, match="blank"):
            flou.read(path)
    path.write_text("a\n1\n\n3\n")
    assert flou.read(path).collect().to_frame()["a"].to_list() == [1, None, 3]


def test_long_codes_in_csv_do_not_collide(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text("code\n1234567890123456789\n1234567890123456788\n")
    assert flou.read(path, keys=["code"]).collect().to_frame()["code"].n_unique() == 2


def test_csv_in_utf_16(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_bytes("ville;n\nNîmes;1\nSète;2\n".encode("utf-16"))
    assert flou.read(path, encoding="utf-16").collect().to_frame()["ville"].to_list() == ["Nîmes", "Sète"]
