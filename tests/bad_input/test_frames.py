"""Frames with odd types, odd names and odd weights, from every engine: a right result, or an error of ours."""

from __future__ import annotations

import datetime as dt
import decimal
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import flou
from flou.describe.overview import overview

ENGINES = ("polars", "polars-lazy", "pandas", "pyarrow", "duckdb")
SECRET = flou.Secret(bytes(range(32)))
Native = Callable[[pl.DataFrame, str], Any]
Rows = Callable[[Any], pl.DataFrame]


def _k(k: int = 2, missing: str = "category") -> flou.risk.KAnonymity:
    return flou.risk.KAnonymity(k=k, missing=missing)


# what is no frame

NO_FRAMES: dict[str, object] = {
    "nothing": None,
    "a list": [1],
    "a dict": {"a": [1]},
    "a text": "people.csv",
    "an array": np.eye(2),
    "a Polars series": pl.Series("a", [1]),
    "a pandas series": pd.Series([1]),
    "a group-by": pl.DataFrame({"a": [1]}).group_by("a"),
    "a connection": duckdb.connect(),
    "the class": pl.DataFrame,
}


@pytest.mark.parametrize("case", list(NO_FRAMES))
def test_what_is_no_frame_is_refused(case: str) -> None:
    with pytest.raises(flou.FlouError, match="frame"):
        flou.Microdata(NO_FRAMES[case], keys=["a"])


def test_doubled_names_are_refused_on_every_engine() -> None:
    frames = [
        pd.DataFrame([[1, 2]], columns=["a", "a"]),
        pa.table([[1], [2]], names=["a", "a"]),
        duckdb.connect().sql("SELECT 1 AS a, 2 AS a"),
        duckdb.connect().sql("SELECT * FROM (SELECT 1 AS a) t JOIN (SELECT 1 AS a, 2 AS b) u ON t.a = u.a"),
    ]
    for frame in frames:
        with pytest.raises(flou.FlouError, match="same name"):
            flou.Microdata(frame, keys=["a"])


@pytest.mark.parametrize("engine", ENGINES)
def test_a_missing_column_lists_the_columns_there_are(engine: str, native: Native) -> None:
    frame = native(pl.DataFrame({"age": [1], "sex": ["F"]}), engine)
    for roles in ({"keys": ["aeg"]}, {"weight": "aeg"}, {"id": "aeg"}, {"identifiers": ["aeg"]}, {"household": "aeg"}):
        with pytest.raises(flou.FlouError, match=r"Did you mean 'age'\? Columns: age, sex"):
            flou.Microdata(frame, **roles)


def test_pandas_with_names_that_are_not_texts() -> None:
    tuples = pd.MultiIndex.from_tuples([("a", "b"), ("a", "c")])
    for frame in (pd.DataFrame([[1, 2]]), pd.DataFrame([[1, 2]], columns=tuples), pd.DataFrame({None: [1]})):
        with pytest.raises(flou.FlouError, match="names must be texts"):
            flou.Microdata(frame)


def test_pandas_index_means_nothing() -> None:
    frame = pd.DataFrame({"a": [1, 1, 2, 2]}, index=[0, 0, 7, 0])
    assert _k().measure(flou.Microdata(frame, keys=["a"])).joined()["k_anonymity"].tolist() == [2, 2, 2, 2]


@pytest.mark.parametrize(
    "values", [[1, "x"], [1.5, "x", None], [True, "x"], [dt.date(2020, 1, 1), 3]], ids=["int", "float", "bool", "date"]
)
def test_pandas_columns_of_mixed_types(values: list[object]) -> None:
    with pytest.raises(flou.FlouError, match="mixes types"):
        flou.Microdata(pd.DataFrame({"a": pd.Series(values, dtype=object)}), keys=["a"])


@pytest.mark.parametrize("value", [1e300, float("inf"), -float("inf"), 2.0**63])
def test_pandas_numbers_beyond_integers_are_not_lost(value: float) -> None:
    """Whole numbers with gaps become integers again, but only where every one of them fits."""
    frame = pd.DataFrame({"a": [1.0, value, None]})
    held = flou.Microdata(frame, keys=["a"]).to_frame()["a"]
    assert held.notna().tolist() == [True, True, False]
    assert float(held[1]) == value


def test_pandas_integers_of_any_size() -> None:
    frame = pd.DataFrame({"a": [2**70, 1]})
    try:
        assert _k(1).measure(flou.Microdata(frame, keys=["a"])).n_keys == 2
    except flou.FlouError as error:
        assert "'a'" in str(error)


@pytest.mark.parametrize(
    "kind", ["float16", "longdouble", "complex", "period", "interval", "sparse", "integer category", "timedelta"]
)
def test_pandas_types_that_are_seldom_met(kind: str) -> None:
    values: Any = {
        "float16": np.array([1, 1, 2], dtype=np.float16),
        "longdouble": np.array([1, 1, 2], dtype=np.longdouble),
        "complex": [1j, 1j, 2j],
        "period": pd.PeriodIndex(["2020-01", "2020-01", "2020-02"], freq="M"),
        "interval": pd.cut([1, 1, 3], 2),
        "sparse": pd.arrays.SparseArray([0, 0, 1]),
        "integer category": pd.Categorical([1, 1, 2]),
        "timedelta": pd.to_timedelta([1, 1, 2], unit="s"),
    }[kind]
    try:
        result = _k().measure(flou.Microdata(pd.DataFrame({"a": values}), keys=["a"]))
        assert result.units.tolist() == [2, 2, 1]
        assert len(result.by_key) == 2
        assert len(result.joined()) == 3
    except flou.FlouError as error:
        assert re.search(r"['\"]a\b", str(error))


ARROW: dict[str, Callable[[], Any]] = {
    "interval": lambda: pa.array([(1, 2, 3)], type=pa.month_day_nano_interval()),
    "map": lambda: pa.array([[(1, 2)]], type=pa.map_(pa.int64(), pa.int64())),
    "union": lambda: pa.UnionArray.from_dense(pa.array([0], pa.int8()), pa.array([0], pa.int32()), [pa.array([1])]),
    "decimal of 256 bits": lambda: pa.array([decimal.Decimal(1)], type=pa.decimal256(50, 2)),
}


@pytest.mark.parametrize("case", list(ARROW))
def test_arrow_types_that_cannot_be_read(case: str) -> None:
    with pytest.raises(flou.FlouError):
        _k(1).measure(flou.Microdata(pa.table({"a": ARROW[case]()}), keys=["a"]))


# lazy frames that fail when they are looked at

BROKEN: dict[str, Callable[[], Any]] = {
    "unknown column": lambda: pl.LazyFrame({"a": [1]}).select("b"),
    "a file that is gone": lambda: pl.scan_parquet("/none/none.parquet"),
    "a CSV file that is gone": lambda: pl.scan_csv("/none/none.csv"),
    "a cast that fails": lambda: pl.LazyFrame({"a": ["1", "z"]}).select(pl.col("a").cast(pl.Int64)),
    "DuckDB cast": lambda: duckdb.connect().sql("SELECT CAST(x AS INT) AS a FROM (VALUES ('1'), ('z')) AS t(x)"),
}


@pytest.mark.parametrize("case", list(BROKEN))
def test_lazy_frames_that_fail_later(case: str) -> None:
    frame = BROKEN[case]()
    with pytest.raises(flou.FlouError):
        _k(1).measure(flou.Microdata(frame, keys=["a"]))


def test_a_closed_connection() -> None:
    connection = duckdb.connect()
    relation = connection.sql("SELECT 1 AS a")
    connection.close()
    with pytest.raises(flou.FlouError):
        _ = flou.Microdata(relation, keys=["a"]).n_records


# types of a key

_DATES = [dt.date(2020, 1, 1)] * 3 + [dt.date(2021, 1, 1)] * 2 + [None]
_TIMES = [dt.datetime(2020, 1, 1, 3)] * 3 + [dt.datetime(2021, 1, 1)] * 2 + [None]
_DECIMALS = [decimal.Decimal(x) if x else None for x in ("1.5", "1.5", "2.5", "", "2.5", "3.5")]
TYPES: dict[str, pl.Series] = {
    "decimal": pl.Series(_DECIMALS),
    "categorical": pl.Series(["z", "z", "a", "a", None, "b"], dtype=pl.Categorical),
    "enum": pl.Series(["z", "z", "a", "a", None, "b"], dtype=pl.Enum(["z", "a", "b", "c"])),
    "date": pl.Series(_DATES),
    "datetime": pl.Series(_TIMES),
    "datetime with zone": pl.Series(_TIMES).dt.replace_time_zone("Europe/Paris"),
    "time": pl.Series([dt.time(3)] * 3 + [dt.time(4)] * 2 + [None]),
    "duration": pl.Series([dt.timedelta(3)] * 3 + [dt.timedelta(4)] * 2 + [None]),
    "boolean": pl.Series([True, True, False, False, None, None]),
    "unsigned 64": pl.Series([2**64 - 1, 2**64 - 1, 2**64 - 2, 5, None, 5], dtype=pl.UInt64),
    "integer 128": pl.Series([2**100, 2**100, 3, 3, None, 4], dtype=pl.Int128),
    "largest integers": pl.Series([2**63 - 1, 2**63 - 1, -(2**63), -(2**63), None, 0]),
    "small integers": pl.Series([127, 127, -128, -128, None, 126], dtype=pl.Int8),
    "float 32": pl.Series([0.1, 0.1, 0.2, 0.2, None, 0.3], dtype=pl.Float32),
    "infinite": pl.Series([1.5, 1.5, float("inf"), -float("inf"), float("nan"), None]),
    "two zeros": pl.Series([0.0, -0.0, 0.0, 1.0, 1.0, None]),
    "empty texts": pl.Series(["", "", None, "a", "a", " "]),
    "quotes": pl.Series(["o'x", "o'x", '"q"', '"q"', None, "\\"]),
    "zero bytes": pl.Series(["a\0b", "a\0b", "c", "c", None, "d"]),
    "all null texts": pl.Series([None] * 6, dtype=pl.String),
    "all null": pl.Series([None] * 6),
    "list": pl.Series([[1], [1], [2], [2], [3], None]),
    "struct": pl.Series([{"x": 1}] * 6),
    "binary": pl.Series([b"a", b"a", b"b", b"b", None, b"c"]),
}


def _made(native: Native, kind: str, engine: str) -> Any:
    frame = pl.DataFrame({"k": TYPES[kind], "b": ["x", "x", "y", "y", "y", None]})
    try:
        return native(frame, engine)
    except Exception:  # noqa: BLE001 - the engine itself does not know the type
        return None


def _n_null(series: pl.Series) -> int:
    return (series.fill_nan(None) if series.dtype.is_float() else series).null_count()


def _counts(rows: Rows, frame: Any) -> list[int]:
    """How often each key occurs, counted without Flou."""
    exact = rows(frame).with_columns(pl.col(pl.Float64, pl.Float32).fill_nan(None))
    return sorted(exact.group_by("k", "b").len()["len"].to_list())


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("kind", list(TYPES))
def test_keys_of_any_type_are_counted_or_refused(kind: str, engine: str, native: Native, rows: Rows) -> None:
    frame = _made(native, kind, engine)
    if frame is None:
        return
    try:
        data = flou.Microdata(frame, keys=["k", "b"])
        result = _k().measure(data)
        assert result.by_key is not None
        joined = rows(result.joined())
    except flou.FlouError as error:
        assert len(str(error)) > 20
        return
    counted = _counts(rows, frame)
    assert sorted(result.keys.counts.tolist()) == counted
    assert sorted(joined["k_anonymity"].to_list()) == sorted(n for n in counted for _ in range(n))


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("kind", list(TYPES))
def test_records_with_keys_of_any_type_are_dropped_or_refused(
    kind: str, engine: str, native: Native, rows: Rows, tmp_path: Path
) -> None:
    frame = _made(native, kind, engine)
    if frame is None:
        return
    try:
        release = flou.protect.DropRecords(_k()).protect(flou.Microdata(frame, keys=["k", "b"]), secret=SECRET)
    except flou.FlouError:
        return
    kept = sum(n for n in _counts(rows, frame) if n >= 2)
    assert release.data.n_records == kept
    for ending in ("csv", "parquet", "arrow"):
        target = tmp_path / f"out.{ending}"
        try:
            flou.write(release, target)
        except flou.FlouError:
            assert not list(tmp_path.glob(f"*{ending}*"))


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("kind", list(TYPES))
@pytest.mark.parametrize(
    "method",
    [
        flou.protect.TopCode("k", at=3),
        flou.protect.TopCode("k", quantile=0.5),
        flou.protect.Recode("k", level=1),
        flou.protect.Recode("k", level=2),
    ],
    ids=["top", "quantile", "bands", "root"],
)
def test_columns_of_any_type_are_protected_or_refused(
    method: Any, kind: str, engine: str, native: Native, rows: Rows
) -> None:
    frame = _made(native, kind, engine)
    if frame is None:
        return
    try:
        data = flou.Microdata(frame, keys=["k", "b"], hierarchies={"k": flou.Hierarchy.bands(10)})
        release = method.protect(data, secret=SECRET)
        shown = rows(release.data.to_frame())
    except flou.FlouError as error:
        assert len(str(error)) > 20
        return
    assert shown.height == 6
    assert _n_null(shown["k"]) == _n_null(TYPES[kind]), "no value may be lost"


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("kind", list(TYPES))
def test_columns_of_any_type_are_described(kind: str, engine: str, native: Native) -> None:
    frame = _made(native, kind, engine)
    if frame is None:
        return
    try:
        assert overview(flou.Microdata(frame, keys=["b"])).n_records == 6
    except flou.FlouError as error:
        assert re.search(r"\bk\b", str(error))


def test_object_columns_are_refused(tmp_path: Path) -> None:
    frame = pl.DataFrame({"a": pl.Series([object()], dtype=pl.Object), "b": [1]})
    with pytest.raises(flou.FlouError, match="'a"):
        flou.write(flou.Microdata(frame, keys=["b"]), tmp_path / "o.parquet", unprotected=True)
    with pytest.raises(flou.FlouError, match="'a"):
        overview(flou.Microdata(frame, keys=["b"]))


def test_decimals_that_floats_cannot_tell_apart_stay_apart(rows: Rows) -> None:
    relation = duckdb.connect().sql(
        "SELECT 12345678901234567890.123456789::DECIMAL(38,9) AS a UNION ALL "
        "SELECT 12345678901234567890.123456788::DECIMAL(38,9)"
    )
    result = _k(1).measure(flou.Microdata(relation, keys=["a"]))
    assert rows(result.joined())["k_anonymity"].to_list() == [1, 1]


# names of columns

NAMES = (
    "records", "frequency", "at_risk", "k_anonymity", "__flou_count", "__flou_weight", "__flou_key", "__flou_row",
    "__flou_n", "completion.b", "n", "len", "count", "literal", "a b", " ", "a'b", "é🦊", "a.b", "a,b", "*", "^k.*$",
    "rows_", "keys_", "literal_", "select", "[/bold]", "weight null", "null 0", "value", "class", "index",
)  # fmt: skip


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", NAMES)
def test_a_key_of_any_name(name: str, engine: str, native: Native, rows: Rows, tmp_path: Path) -> None:
    """Every name works, or is refused by name when the data are described."""
    frame = native(pl.DataFrame({name: [1, 1, 2, 2, None, None], "b": ["x", "x", "y", "y", "z", "z"]}), engine)
    hierarchies = {name: flou.Hierarchy.bands(10)}
    try:
        data = flou.Microdata(frame, keys=[name, "b"], hierarchies=hierarchies)
    except flou.FlouError as error:
        assert repr(name) in str(error)
        return
    result = _k(2, "pessimistic").measure(data)
    assert result.k == 2
    assert len(rows(result.by_key)) == 3
    assert rows(result.joined()).width == 3
    for method in (
        flou.protect.DropRecords(_k()),
        flou.protect.Recode(name, level=1),
        flou.protect.TopCode(name, at=1),
    ):
        release = method.protect(data, secret=SECRET)
        assert rows(release.data.to_frame()).height == 6
    assert flou.read(flou.write(release, tmp_path / "out.csv")).columns == (name, "b")
    assert [c.name for c in overview(data).columns] == [name, "b"]
    data.schema.save(tmp_path / "s.toml")
    assert flou.Schema.load(tmp_path / "s.toml").keys == (name, "b")
    plan = flou.Plan([flou.protect.Recode(name, level=1)])
    assert flou.Plan.from_toml(plan.to_toml()) == plan


@pytest.mark.parametrize("engine", ENGINES)
def test_a_column_without_a_name(engine: str, native: Native) -> None:
    frame = native(pl.DataFrame({"": [1, 1], "b": ["x", "x"]}), engine)
    try:
        assert _k().measure(flou.Microdata(frame, keys=["", "b"])).k == 2
    except flou.FlouError as error:
        assert "''" in str(error)


def test_all_the_names_of_a_result_at_once() -> None:
    names = ["records", "frequency", "at_risk", "completion.frequency", "k_anonymity"]
    frame = pl.DataFrame({n: [1, 1, None] for n in names})
    result = _k(1, "pessimistic").measure(flou.Microdata(frame, keys=names))
    assert result.by_key.columns[:5] == names
    assert len(set(result.by_key.columns)) == len(result.by_key.columns)
    assert result.joined().width == 6


# weights

WEIGHTS: dict[str, list[Any]] = {
    "null": [1.0, None, 1.0, 1.0],
    "not a number": [float("nan"), 1.0, 1.0, 1.0],
    "negative": [-1.0, 1.0, 1.0, 1.0],
    "infinite": [float("inf"), 1.0, 1.0, 1.0],
    "text": ["1", "2", "3", "4"],
    "boolean": [True, False, True, True],
    "dates": [dt.date(2020, 1, 1)] * 4,
    "durations": [dt.timedelta(1)] * 4,
    "all null": [None] * 4,
}


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("case", list(WEIGHTS))
def test_wrong_weights_are_refused(case: str, engine: str, native: Native) -> None:
    """In memory when the data are described; in an engine, at the latest when the weights are summed."""
    frame = native(pl.DataFrame({"a": [1, 1, 2, 2], "w": WEIGHTS[case]}), engine)
    with pytest.raises(flou.FlouError, match=r"weight|'w "):
        _ = _k(1).measure(flou.Microdata(frame, keys=["a"], weight="w"))


def test_a_recoded_weight_is_no_weight_any_more() -> None:
    data = flou.Microdata(pl.DataFrame({"a": [1, 1], "w": [1, 2]}), keys=["a"], weight="w")
    with pytest.raises(flou.FlouError, match="weight"):
        _k(1).measure(flou.protect.Recode("w", mapping={"1": "low", "2": "low"}).protect(data, secret=SECRET))


def test_a_weight_cannot_become_negative() -> None:
    data = flou.Microdata(pl.DataFrame({"a": [1, 1], "w": [1.0, 2.0]}), keys=["a"], weight="w")
    with pytest.raises(flou.FlouError, match="weight"):
        _k(1).measure(flou.protect.BottomCode("w", at=1.5, replacement=-3.0).protect(data, secret=SECRET))


# coherence and modalities


@pytest.mark.parametrize("engine", ENGINES)
def test_a_record_without_a_coherent_completion(engine: str, native: Native) -> None:
    frame = native(pl.DataFrame({"a": [1, 1, 2], "b": ["x", None, "y"]}), engine)
    outright = flou.Microdata(frame, keys=["a", "b"], incoherent=[{"a": 1, "b": "x"}])
    for missing in ("category", "orthodox", "optimistic", "pessimistic", "conservative"):
        with pytest.raises(flou.FlouError, match="no coherent completion"):
            _k(1, missing).measure(outright)
    frame = native(pl.DataFrame({"a": [1, 2, 2], "b": [None, "x", "y"]}), engine)
    hidden = flou.Microdata(frame, keys=["a", "b"], incoherent=[{"a": 1, "b": "x"}, {"a": 1, "b": "y"}])
    for missing in ("optimistic", "pessimistic"):
        with pytest.raises(flou.FlouError, match="no coherent completion"):
            _k(1, missing).measure(hidden)


@pytest.mark.parametrize("engine", ENGINES)
def test_values_that_are_not_declared_modalities(engine: str, native: Native) -> None:
    frame = native(pl.DataFrame({"a": ["x", "z"]}), engine)
    with pytest.raises(flou.FlouError, match="'z'"):
        _k(1).measure(flou.Microdata(frame, keys=["a"], modalities={"a": ["x", "y"]}))


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    "codes", [["zz"], [1.5], [None], [True], [2**70], 9], ids=["text", "float", "null", "bool", "huge", "no list"]
)
def test_undetermined_codes_that_the_column_cannot_hold(codes: Any, engine: str, native: Native) -> None:
    frame = native(pl.DataFrame({"a": [1, 9]}), engine)
    try:
        data = flou.Microdata(frame, keys=["a"], undetermined={"a": codes})
        assert _k(1).measure(data).n_keys == 2
    except flou.FlouError as error:
        assert "'a'" in str(error) or "undetermined" in str(error)


def test_an_id_must_be_unique_and_complete() -> None:
    for ids in ([1, 1], [1, None]):
        with pytest.raises(flou.FlouError, match="unique"):
            flou.Microdata(pl.DataFrame({"i": ids}), id="i").unit_ids()


@pytest.mark.parametrize("engine", ENGINES)
def test_a_file_without_records(engine: str, native: Native) -> None:
    data = flou.Microdata(native(pl.DataFrame({"a": [1]}).clear(), engine), keys=["a"])
    with pytest.raises(flou.FlouError, match="no records"):
        _k(1).measure(data)
    with pytest.raises(flou.FlouError):
        flou.protect.DropRecords(_k(1)).protect(data, secret=SECRET)
