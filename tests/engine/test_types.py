"""Columns of every type: moments, times and spans of time as keys, orders that a type brings, numbers too large."""

from __future__ import annotations

import datetime as dt
import pickle
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import flou
from flou.engine.values import text_of

P, R = flou.protect, flou.risk
SECRET = flou.Secret.from_seed(1)
RNG = np.random.default_rng(0)
MOMENTS = [dt.datetime(1990 + int(i) % 4, 1, 1, int(i) % 3) for i in RNG.integers(0, 30, 60)]
#: The same moments as each type holds them.
TIMES: dict[str, pl.Series] = {
    "datetime": pl.Series(MOMENTS),
    "in ns": pl.Series(MOMENTS).cast(pl.Datetime("ns")),
    "in Paris": pl.Series(MOMENTS).dt.replace_time_zone("Europe/Paris"),
    "time": pl.Series([m.time() for m in MOMENTS]),
    "duration": pl.Series([m - dt.datetime(1990, 1, 1) for m in MOMENTS]),
    "date": pl.Series([m.date() for m in MOMENTS]),
}
METHODS: list[Any] = [
    P.LocalSuppression(k=3, search="quick"), P.Generalise(k=3, no_hierarchy="suppress"),
    P.Datafly(3, no_hierarchy="suppress", suppression_limit=0.9), P.Samarati(k=3, no_hierarchy="suppress"),
    P.Mondrian(k=3), P.LocalRecode(k=3, no_hierarchy="suppress"), P.Pram("born"),
    P.DropRecords(R.KAnonymity(k=3), max_share=0.9),
]  # fmt: skip


def file_of(times: pl.Series, **roles: Any) -> flou.Microdata:
    frame = pl.DataFrame({"born": times, "sex": ["m", "f"] * 30, "id": range(60)})
    return flou.Microdata(frame, keys=["born", "sex"], id="id", **roles).marked(synthetic=True)


@pytest.mark.parametrize("method", METHODS, ids=lambda m: m.name())
@pytest.mark.parametrize("kind", TIMES)
def test_times_are_keys_like_others(kind: str, method: Any) -> None:
    """Each protects by them, and what is released is protected as a file of their texts would be."""
    release = method.protect(file_of(TIMES[kind]), secret=SECRET)
    assert release.data.n_records
    if not isinstance(method, P.Pram):
        assert R.KAnonymity(k=3).measure(release).value == 0.0


@pytest.mark.parametrize("kind", TIMES)
def test_times_are_counted_at_the_resolution_written(kind: str) -> None:
    """Nobody is cut to a date in silence, and a table has as many categories as the column has values."""
    data = file_of(TIMES[kind])
    n = TIMES[kind].n_unique()
    assert data.tabulate(["born"]).n_cells == n + 1
    texts = file_of(pl.Series(map(str, TIMES[kind].to_list())))
    assert R.KAnonymity(k=3).measure(data).value == R.KAnonymity(k=3).measure(texts).value


def test_equal_moments_are_one_whatever_holds_them() -> None:
    plain, fine = (file_of(TIMES[kind]) for kind in ("datetime", "in ns"))
    assert plain.tabulate(["born"]).labels().equals(fine.tabulate(["born"]).labels())
    utc = TIMES["in Paris"].dt.convert_time_zone("UTC")
    labels = [file_of(held).tabulate(["born"]).labels() for held in (TIMES["in Paris"], utc)]
    assert labels[0].equals(labels[1])
    for data in (plain, fine):
        assert R.KMap(1).measure(data, against=plain).value == R.KMap(1).measure(plain, against=plain).value


@pytest.mark.parametrize(
    ("kind", "code", "n"),
    [
        ("datetime", "1990-01-01T01:00:00", None), ("datetime", dt.datetime(1990, 1, 1, 1), None),
        ("time", "01:00:00", None), ("time", dt.time(1), None), ("duration", "365 days, 1:00:00", None),
        ("duration", dt.timedelta(days=365, hours=1), None), ("in Paris", "1990-01-01T00:00:00+00:00", None),
        ("in Paris", "1990-01-01T01:00:00+01:00", None), ("in Paris", "1990-01-01T01:00:00", 0),
        ("time", "noon", 0), ("duration", "an hour", 0),
    ],
)  # fmt: skip
def test_codes_of_times_mean_null(kind: str, code: Any, n: int | None) -> None:
    data = file_of(TIMES[kind], undetermined={"born": [code]})
    found = data.frame.to_native()["born"].null_count()
    assert found == n if n is not None else found > 0


def test_modalities_of_times_are_declared_as_they_are_or_as_texts() -> None:
    values = sorted(set(MOMENTS))
    one = file_of(TIMES["datetime"], modalities={"born": values})
    two = file_of(TIMES["datetime"], modalities={"born": [text_of(v) for v in values]})
    assert one.tabulate(["born"], cells="all").n_cells == two.tabulate(["born"], cells="all").n_cells
    with pytest.raises(flou.FlouError, match="modalities"):
        file_of(TIMES["datetime"], modalities={"born": values[1:]})


# ------------------------------------------------------------------------------------------------------------- an order

ORDER = ["none", "mild", "grave"]
ILL = pl.DataFrame({"k": ["a", "b"] * 30, "s": RNG.choice(ORDER, 60).tolist()})
DECLARED = flou.Microdata(ILL, keys=["k"], sensitive=["s"], modalities={"s": ORDER})


def _pandas() -> Any:
    frame = ILL.to_pandas()
    frame["s"] = pd.Categorical(frame["s"], categories=ORDER, ordered=True)
    return frame


def _duckdb() -> Any:
    connection, held = duckdb.connect(), ILL
    connection.execute(f"CREATE TYPE grade AS ENUM ({', '.join(map(repr, ORDER))})")
    assert held.height
    return connection.sql("SELECT k, s::grade AS s FROM held")


def _pyarrow() -> Any:
    codes = pa.array([ORDER.index(value) for value in ILL["s"]], pa.int32())
    held = pa.DictionaryArray.from_arrays(codes, pa.array(ORDER), ordered=True)
    return pa.table({"k": ILL["k"].to_list(), "s": held})


@pytest.mark.parametrize(
    "frame",
    [
        ILL.with_columns(pl.col("s").cast(pl.Enum(ORDER))), ILL.with_columns(pl.col("s").cast(pl.Enum(ORDER))).lazy(),
        _pandas(), _duckdb(), ILL.with_columns(pl.col("s").cast(pl.Enum(ORDER))).to_arrow(), _pyarrow(),
    ],
    ids=["polars", "polars-lazy", "pandas", "duckdb", "arrow of polars", "pyarrow"],
)  # fmt: skip
def test_a_type_with_an_order_brings_it(frame: Any) -> None:
    method = R.TCloseness(0.1, distance="ordered")
    data = flou.Microdata(frame, keys=["k"], sensitive=["s"])
    assert method.measure(data).figures == method.measure(DECLARED).figures
    assert data.schema.modalities == {}, "an order is no list of values that everybody knows"
    again = data.with_schema(data.schema.with_changes(others=[]))
    assert again.orders == {"s": tuple(ORDER)}
    release = P.Recode("k", mapping={"a": "x", "b": "y"}).protect(data)
    assert method.measure(release).value == method.measure(DECLARED).value


@pytest.mark.parametrize("engine", ["polars", "duckdb"])
@pytest.mark.parametrize("ending", ["parquet", "feather"])
def test_a_file_of_pandas_brings_its_order(tmp_path: Path, ending: str, engine: str) -> None:
    getattr(_pandas(), f"to_{ending}")(tmp_path / f"t.{ending}")
    data = flou.read(tmp_path / f"t.{ending}", engine=engine, keys=["k"], sensitive=["s"])
    method = R.TCloseness(0.1, distance="ordered")
    assert method.measure(data).figures == method.measure(DECLARED).figures


def test_an_order_outlives_a_pickle() -> None:
    data = pickle.loads(pickle.dumps(flou.Microdata(_pandas(), keys=["k"], sensitive=["s"])))
    method = R.TCloseness(0.1, distance="ordered")
    assert method.measure(data).figures == method.measure(DECLARED).figures


@pytest.mark.parametrize("unit", ["D", "s", "ms", "us", "ns"])
def test_moments_of_pandas_have_any_unit(unit: str) -> None:
    frame = pd.DataFrame({"t": np.array(["2020-01-01", "2020-01-02", "NaT"] * 3, dtype=f"datetime64[{unit}]")})
    held = flou.Microdata(frame, keys=["t"]).frame.to_native()["t"]
    assert held.to_list() == [dt.datetime(2020, 1, 1), dt.datetime(2020, 1, 2), None] * 3


def test_moments_of_pandas_of_no_calendar_are_refused() -> None:
    frame = pd.DataFrame({"t": np.array(["300000-01-01"], dtype="datetime64[s]")})
    with pytest.raises(flou.FlouError, match="'t' has dates outside the years 1 to 9999"):
        flou.Microdata(frame, keys=["t"])


def test_texts_have_no_order_until_one_is_declared() -> None:
    frames: list[Any] = [ILL, ILL.with_columns(pl.col("s").cast(pl.Categorical)), ILL.to_pandas().astype("category")]
    for frame in frames:
        with pytest.raises(flou.FlouError, match="declare its modalities in their order"):
            R.TCloseness(0.1, distance="ordered").measure(flou.Microdata(frame, keys=["k"], sensitive=["s"]))


# ------------------------------------------------------------------------------------------- values that nobody has now


def test_groups_may_name_values_that_are_declared_or_that_a_step_took_away() -> None:
    groups = {"mild": "ill", "grave": "ill"}
    frame = ILL.filter(pl.col("s") != "grave")
    method = R.LDiversity(2, groups=groups)
    with pytest.raises(flou.FlouError, match="groups names 'grave', which 's' never holds"):
        method.measure(flou.Microdata(frame, keys=["k"], sensitive=["s"]))
    for declared in ({"modalities": {"s": ORDER}}, {}):
        held = frame if declared else frame.with_columns(pl.col("s").cast(pl.Enum(ORDER)))
        assert method.measure(flou.Microdata(held, keys=["k"], sensitive=["s"], **declared)).value == 0.0
    one = pl.concat([frame, pl.DataFrame({"k": ["c"], "s": ["grave"]})])
    plan = flou.Plan([P.DropRecords(R.KAnonymity(k=2)), P.LocalRecode([method], k=2, no_hierarchy="suppress")])
    release = plan.protect(flou.Microdata(one, keys=["k"], sensitive=["s"]).marked(synthetic=True), secret=SECRET)
    assert release.data.n_records == frame.height


# ------------------------------------------------------------------------------------------------- in words, and exactly


@pytest.mark.parametrize("kind", ["polars", "polars-lazy", "pandas", "pyarrow", "duckdb"])
def test_numbers_beyond_64_bits_are_refused_in_words(kind: str, tmp_path: Path) -> None:
    frame = pl.DataFrame({"u": pl.Series([2**63 + 5, 1], dtype=pl.UInt64)})
    held: Any = {"polars": frame, "polars-lazy": frame.lazy(), "pandas": frame.to_pandas(), "pyarrow": frame.to_arrow(),
                 "duckdb": duckdb.connect().from_arrow(frame.to_arrow())}[kind]  # fmt: skip
    with pytest.raises(flou.FlouError, match=r"whole numbers above 9.2e18 .*Make them texts") as caught:
        R.KAnonymity(k=2).measure(flou.Microdata(held, keys=["u"]))
    assert str(2**63 + 5) not in str(caught.value)


@pytest.mark.parametrize("dtype", [pl.Int128, pl.UInt128])
@pytest.mark.parametrize("kind", ["polars", "polars-lazy"])
def test_numbers_of_128_bits_are_taken_or_refused_in_words(kind: str, dtype: Any) -> None:
    for value in (2**70, 2**63, 2**62):
        frame = pl.DataFrame({"u": pl.Series([value, 1], dtype=pl.Int128).cast(dtype)})
        made = frame if kind == "polars" else frame.lazy()
        if value < 2**63:
            assert R.KAnonymity(k=2).measure(flou.Microdata(made, keys=["u"])).value == 1.0
            continue
        with pytest.raises(flou.FlouError, match=r"whole numbers above 9.2e18 .*'u'. Make them texts") as caught:
            R.KAnonymity(k=2).measure(flou.Microdata(made, keys=["u"]))
        assert str(value) not in str(caught.value)


def test_a_hugeint_of_duckdb_is_refused_in_words() -> None:
    relation = duckdb.connect().sql("SELECT 170141183460469231731687303715884105727::hugeint AS u")
    with pytest.raises(flou.FlouError, match=r"whole numbers above 9.2e18 .*Make them texts") as caught:
        R.KAnonymity(k=2).measure(flou.Microdata(relation, keys=["u"]))
    assert "1701411834" not in str(caught.value)


def test_options_that_there_are_not_are_refused_in_words() -> None:
    table = flou.Microdata(ILL, keys=["k", "s"]).tabulate(["k", "s"])
    with pytest.raises(flou.FlouError, match=r"Table.from_published has no option 'value'"):
        flou.Table.from_published(table.to_frame(), ["k", "s"], value="v")
    with pytest.raises(flou.FlouError, match=r"Table.from_frame has no option 'totals'. Did you mean 'total'"):
        flou.Table.from_frame(table.to_frame(), ["k", "s"], totals="All")


#: Calls with an option that there is not, or without what they need.
WRONG_CALLS: dict[str, Any] = {
    "Table.mean": lambda table: table.mean(cell="1"),
    "Table.ratios": lambda table: table.ratios(dimension="s"),
    "Table.ratio": lambda table: table.ratio(),
    "Table.from_published": lambda table: flou.Table.from_published(table.to_frame()),  # type: ignore[call-arg]
    "Table.read": lambda table: flou.Table.read(),  # type: ignore[call-arg]
    "Table.write": lambda table: table.write("t.csv", unprotect=True),
    "Table.to_frame": lambda table: table.to_frame(revealed=True),
    "Table.histogram": lambda table: table.histogram(bins=3),
    "Table.labels": lambda table: table.labels(column="k"),
    "Microdata.tabulate": lambda table: flou.Microdata(ILL).tabulate(),  # type: ignore[call-arg]
    "Microdata.to_frame": lambda table: flou.Microdata(ILL).to_frame(revealed=True),  # type: ignore[call-arg]
    "flou.write": lambda table: flou.write(table, "t.csv", overwrites=True),  # type: ignore[call-arg]
    "flou.read": lambda table: flou.read(),  # type: ignore[call-arg]
    "flou.calibrate": lambda table: flou.calibrate(P.Round, measure=1),  # type: ignore[call-arg]
    "flou.record_keys": lambda table: flou.record_keys(flou.Microdata(ILL), seed=1),  # type: ignore[call-arg]
    "flou.read_argus": lambda table: flou.read_argus(),  # type: ignore[call-arg]
    "flou.write_argus": lambda table: flou.write_argus(table),  # type: ignore[call-arg]
}


@pytest.mark.parametrize("name", WRONG_CALLS)
def test_a_call_with_other_options_is_refused_in_words(name: str) -> None:
    table = flou.Microdata(ILL, keys=["k", "s"]).tabulate(["k", "s"])
    with pytest.raises(flou.FlouError, match=rf"^{name}(:| has no option) "):
        WRONG_CALLS[name](table)


def test_a_type_error_inside_of_a_call_is_not_taken_for_a_wrong_call() -> None:
    with pytest.raises(TypeError, match="unhashable"):
        flou.Microdata(ILL).remembered([], lambda: 1)


@pytest.mark.parametrize("ending", ["csv", "xlsx", "parquet", "arrow"])
def test_an_empty_category_and_every_digit_are_read_back(tmp_path: Path, ending: str) -> None:
    frame = pl.DataFrame(
        {"k": ["a", "", "b", ""] * 20, "s": ["m", "f"] * 40, "v": RNG.random(80) * 10.0 ** RNG.integers(-3, 9, 80)}
    )
    table = flou.Microdata(frame, keys=["k", "s"], others=["v"]).tabulate(["k", "s"], value="v")
    table.write(tmp_path / f"t.{ending}", unprotected=True)
    back = flou.Table.read(tmp_path / f"t.{ending}", ["k", "s"], value="value")
    assert back.labels().equals(table.labels())
    assert back.true_values.tolist() == table.true_values.tolist()


def test_records_of_a_spreadsheet_have_every_digit(tmp_path: Path) -> None:
    values = [0.1 + 0.2, 30319.02628523444, 1e-7, 123456789.123456789, 5.0, 1e22]
    pl.DataFrame({"v": values}).write_excel(tmp_path / "a.xlsx")
    found = flou.read(tmp_path / "a.xlsx").collect().frame.to_native()["v"].to_list()
    assert found == [float(f"{v:.16G}") for v in values], "xlsxwriter holds sixteen digits, and no more are lost"


# ------------------------------------------------------------------------------------ moments as the caller names them

HOURS = [dt.datetime(2020, 6, 1, hour % 3, 30) for hour in range(60)]
NAMED: dict[str, pl.Series] = {
    "in Paris": pl.Series(HOURS).dt.replace_time_zone("Europe/Paris"),
    "datetime": pl.Series(HOURS),
    "time": pl.Series([m.time() for m in HOURS]),
    "duration": pl.Series([m - dt.datetime(2020, 6, 1) for m in HOURS]),
}
#: The same values, as Python has them, as texts, and as texts of another zone.
WAYS: dict[str, Any] = {
    "values": lambda v: v,
    "texts": text_of,
    "another zone": lambda v: v.isoformat() if isinstance(v, dt.datetime) else str(v),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kind", NAMED)
def test_moments_are_found_however_they_are_named(kind: str, way: str) -> None:
    values = [WAYS[way](v) for v in NAMED[kind].unique().to_list()]
    assert file_of(NAMED[kind], modalities={"born": values}).tabulate(["born"], cells="all").n_cells == 4
    tree = flou.Hierarchy.tree({"A": values})
    for data, recode in (
        (file_of(NAMED[kind], hierarchies={"born": tree}), P.Recode("born", level=1)),
        (file_of(NAMED[kind]), P.Recode("born", mapping=dict.fromkeys(values, "A"))),
    ):
        assert set(recode.protect(data).to_frame()["born"]) <= {"A", "*"}
    assert file_of(NAMED[kind]).tabulate(["born"]).cell(born=values[0])["count"] == 20


def test_an_instant_is_recoded_once() -> None:
    twice = {"2020-05-31T22:30:00+00:00": "A", "2020-06-01T00:30:00+02:00": "B"}
    with pytest.raises(flou.FlouError, match="twice, in two time zones"):
        P.Recode("born", mapping=twice).protect(file_of(NAMED["in Paris"]))


def test_an_incoherent_combination_may_name_a_moment() -> None:
    rule = {"born": NAMED["in Paris"][1], "sex": "m"}
    sexes = {"born": NAMED["in Paris"].unique().to_list(), "sex": ["m", "f"]}
    data = file_of(NAMED["in Paris"], modalities=sexes, incoherent=[rule])
    assert data.schema.incoherent == ({"born": "2020-05-31T23:30:00+00:00", "sex": "m"},)


@pytest.mark.parametrize("kind", [*NAMED, "date"])
def test_a_released_csv_file_agrees_with_the_register(kind: str, tmp_path: Path) -> None:
    register = file_of({**TIMES, **NAMED}[kind])
    flou.write(register, tmp_path / "release.csv", unprotected=True)
    back = flou.read(tmp_path / "release.csv", keys=["born"])
    assert R.KMap(2).measure(back, against=register).value == 0.0


def test_spans_of_time_are_areas_like_others() -> None:
    release = P.RandomCode("born", min_size=6).protect(file_of(TIMES["duration"]), secret=SECRET)
    codes = {f"R{i + 1}" for i in range(60)}
    assert set(release.to_frame()["born"]) - codes <= set(map(text_of, TIMES["duration"].to_list()))
    assert release.steps[0].figures["n_records_hidden"] > 0


def test_a_released_span_of_time_is_written_by_its_text(tmp_path: Path) -> None:
    release = P.LocalSuppression(k=2, search="quick").protect(file_of(NAMED["duration"]))
    flou.write(release, tmp_path / "t.csv", unprotected=True)
    assert set(pl.read_csv(tmp_path / "t.csv")["born"]) == {"0:30:00", "1:30:00", "2:30:00"}


@pytest.mark.parametrize("ending", ["csv", "xlsx"])
@pytest.mark.parametrize(
    "amount", [9.0e15, 2.0**53 + 2, 1e15 + 0.3, 1e16, 1e17, 1e300, 5e-324, -2.5e11, -1.2e15, -1e300], ids=str
)
def test_sums_of_every_size_are_read_back(tmp_path: Path, ending: str, amount: float) -> None:
    frame = pl.DataFrame({"k": ["a", "b"], "v": [amount, 0.0]})
    table = flou.Microdata(frame, keys=["k"], others=["v"]).tabulate(["k"], value="v")
    table.write(tmp_path / f"t.{ending}", unprotected=True)
    back = flou.Table.read(tmp_path / f"t.{ending}", ["k"], value="value")
    assert back.true_values.tolist() == table.true_values.tolist()


@pytest.mark.parametrize("text", ["9007199254740993.0", "1234567890123456789.5", "1e400", "00012345678901234.5"])
def test_codes_that_no_float_is_stay_texts(tmp_path: Path, text: str) -> None:
    (tmp_path / "t.csv").write_text(f"code\n{text}\n2.5\n")
    assert flou.read(tmp_path / "t.csv").collect().frame.to_native()["code"].to_list() == [text, "2.5"]


@pytest.mark.parametrize("values", [[2**53 + 1, 0], [2**52, 2**52 + 1], [Decimal("12345678901234567.89"), Decimal(1)]])
def test_sums_of_more_digits_than_a_float_has_are_refused(values: list[Any]) -> None:
    data = flou.Microdata(pl.DataFrame({"k": ["a", "b"], "v": values}), keys=["k"], others=["v"])
    with pytest.raises(flou.FlouError, match=r"'v' holds whole numbers or decimals .* lose the last digits. Divide"):
        data.tabulate(["k"], value="v")


@pytest.mark.parametrize("blank", [" ", "\t", "\u00a0", "  "])
@pytest.mark.parametrize("ending", ["csv", "xlsx"])
def test_a_category_of_blanks_is_read_back(tmp_path: Path, ending: str, blank: str) -> None:
    table = flou.Microdata(pl.DataFrame({"k": [blank, "", "x"], "s": ["m", blank, "f"]})).tabulate(["k", "s"])
    table.write(tmp_path / f"t.{ending}", unprotected=True)
    assert flou.Table.read(tmp_path / f"t.{ending}", ["k", "s"]).labels().equals(table.labels())
