"""The checks that every registered measure and comparison of tables passes beside those of all table methods."""

from __future__ import annotations

import json
import pickle
from typing import Any

import numpy as np
import polars as pl
import pytest
from tests.contracts.table_cases import EXAMPLES, SECRET

import flou
from flou.engine import native
from flou.engine.measure import RiskMeasure
from flou.engine.utility import Utility
from flou.engine.words import _catalogue
from flou.risk.table.primary_rule import PrimaryRule

ALL = [
    pytest.param(m, id=f"{name}-{i}")
    for name, ms in EXAMPLES.items()
    for i, m in enumerate(ms)
    if isinstance(m, RiskMeasure | Utility) and not isinstance(m, PrimaryRule)  # these have checks of their own
]
COMPARISONS = [p for p in ALL if isinstance(p.values[0], Utility)]


def rows(n: int = 600, seed: int = 4) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "pid": np.arange(n),
            "région": rng.choice(["A", "B", "É"], n, p=[0.7, 0.25, 0.05]),
            "age": rng.integers(0, 60, n).astype(str),
            "sex": rng.choice(["f", "m"], n),
        }
    )


def as_kind(frame: pl.DataFrame, kind: str) -> Any:
    return {"pandas": frame.to_pandas, "pyarrow": frame.to_arrow, "polars": frame.clone}[kind]()


def tables(kind: str = "polars", frame: pl.DataFrame | None = None) -> tuple[flou.Table, flou.Release]:
    data = flou.Microdata(as_kind(rows() if frame is None else frame, kind), id="pid")
    table = flou.record_keys(data, secret=SECRET).tabulate(["région", "age", "sex"])
    return table, flou.protect.CellKey(D=6, V=4, js=2).protect(table)


def found(method: Any, table: flou.Table, release: flou.Release) -> Any:
    return method.measure(release) if isinstance(method, RiskMeasure) else method.compare(table, release)


@pytest.mark.parametrize("kind", ["polars", "pandas", "pyarrow"])
@pytest.mark.parametrize("method", ALL)
def test_result_contract(method: Any, kind: str) -> None:
    table, release = tables(kind)
    result = found(method, table, release)
    assert 0 <= result.value <= 1 or result.headline.unit == "number"
    assert all(type(method).figure(figure.name) and figure.label for figure in result.figures.held)
    assert result.interval is not None or result.no_interval
    assert all(type(method).safe_direction(name) for name in ("value", *result.figures))
    assert result.settings == method.shown_settings()
    assert result.measured_on == "release"
    assert not result.test_only
    assert type(result.to_frame()) is type(table.to_frame())
    assert len(result.to_frame()) == 1 + len(result.figures)
    detail = result.by_count if isinstance(method, RiskMeasure) else result.by_size
    assert type(detail) is type(table.to_frame())
    assert result.value_label in " ".join(result.summary().split())
    assert "<table>" in result._repr_html_()
    assert pickle.loads(pickle.dumps(result)).summary() == result.summary()
    assert result.to_dict() == found(method, table, release.data).to_dict()
    assert result.value == found(method, *tables()).value, "the same on every kind of frame"


@pytest.mark.parametrize("method", ALL)
def test_order_of_records_is_irrelevant(method: Any) -> None:
    frame = rows()
    order = np.random.default_rng(0).permutation(frame.height)
    assert found(method, *tables(frame=frame)).to_dict() == found(method, *tables(frame=frame[order])).to_dict()


@pytest.mark.parametrize("method", ALL)
def test_input_is_untouched(method: Any) -> None:
    table, release = tables()
    before = release.data.to_frame(reveal=True)
    found(method, table, release)
    assert release.data.to_frame(reveal=True).equals(before)


@pytest.mark.parametrize("method", ALL)
def test_sets_of_tables(method: Any) -> None:
    keyed = flou.record_keys(flou.Microdata(rows(), id="pid"), secret=SECRET)
    both = flou.tabulate_many(keyed, [["région", "sex"], ["age", "sex"]])
    release = flou.protect.CellKey(D=6, V=4, js=2).protect(both)
    result = found(method, both, release)  # type: ignore[arg-type]
    assert result.measured_on == "release"
    one = flou.tabulate_many(keyed, [["age", "sex"]])
    alone = found(method, one, flou.protect.CellKey(D=6, V=4, js=2).protect(one))  # type: ignore[arg-type]
    table = one.tables[0]
    assert alone.value == found(method, table, flou.protect.CellKey(D=6, V=4, js=2).protect(table)).value


@pytest.mark.parametrize("method", ALL)
def test_french_and_charts(method: Any) -> None:
    result = found(method, *tables())
    french = _catalogue("fr")
    for text in (
        result.title,
        result.value_label,
        *(figure.label for figure in result.figures.held),
        *(n.text for n in result.notes),
    ):
        assert text in french, text
    drawn = [json.dumps(result.plot(language).to_dict()) for language in ("en", "fr")]
    assert drawn[0] != drawn[1]


@pytest.mark.parametrize("method", ALL)
def test_public_tables_are_refused(method: Any) -> None:
    """What the public sees has no true counts to speak of."""
    table, release = tables()
    with pytest.raises(flou.FlouError, match="published"):
        found(method, table, release.data.public())  # type: ignore[arg-type]


@pytest.mark.parametrize("method", ALL)
@pytest.mark.parametrize("wrong", [flou.Microdata(rows(), id="pid"), rows(), None], ids=["microdata", "frame", "none"])
def test_other_data_are_refused(method: Any, wrong: Any) -> None:
    with pytest.raises(flou.FlouError, match="works on table"):
        found(method, wrong, wrong)


@pytest.mark.parametrize("method", ALL)
def test_a_single_cell(method: Any) -> None:
    data = flou.record_keys(flou.Microdata(pl.DataFrame({"pid": [1], "a": ["x"]}), id="pid"), secret=SECRET)
    table = data.tabulate(["a"], margins=False)
    release = flou.protect.CellKey(D=6, V=4, js=2).protect(table)
    assert np.isfinite(found(method, table, release).value)


@pytest.mark.parametrize("method", COMPARISONS)
def test_expected_results(method: Any) -> None:
    counts = native.like(pl.DataFrame({"i": [0, 1, 5, 300], "N": [7, 6, 5, 4]}), "pandas")
    result = method.expect(flou.TransitionMatrix(6, 4, 2), counts=counts)
    assert result.measured_on == "original"
    # an empty cell has no relative deviation
    assert result.n_cells == (15 if method.name() == "relative_deviation" else 22)
    assert result.plot("fr").to_dict()
    assert pickle.loads(pickle.dumps(result)).summary() == result.summary()
