"""The checks that every registered attack on tables passes beside those of all table methods."""

from __future__ import annotations

import json
import pickle
from typing import Any

import numpy as np
import polars as pl
import pytest
from tests.contracts.cases import SPARK, native
from tests.contracts.table_cases import EXAMPLES

import flou
from flou.engine.attack import Attack
from flou.engine.words import _catalogue

ALL = [
    pytest.param(m, id=f"{name}-{i}")
    for name, ms in EXAMPLES.items()
    for i, m in enumerate(ms)
    if isinstance(m, Attack)
]


def rows(n: int = 400, seed: int = 4) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "pid": np.arange(n),
            "région": rng.choice(["A", "B", "É"], n, p=[0.6, 0.3, 0.1]),
            "age": rng.choice(["0", "1", "2", "3"], n, p=[0.5, 0.3, 0.18, 0.02]),
            "sex": rng.choice(["f", "m"], n),
        }
    )


def released(engine: str = "polars", frame: pl.DataFrame | None = None) -> flou.Release:
    data = flou.Microdata(native(rows() if frame is None else frame, engine), id="pid")
    return flou.protect.CellSuppression([flou.risk.Threshold(5)]).protect(data.tabulate(["région", "age", "sex"]))


@pytest.mark.parametrize("kind", ["polars", "pandas", "pyarrow"])
@pytest.mark.parametrize("method", ALL)
def test_result_contract(method: Any, kind: str) -> None:
    release = released(kind)
    result = method.run(release)
    assert 0 <= result.value <= 1
    assert set(result.figures) <= set(result.figure_labels)
    assert result.interval is not None or result.no_interval
    assert result.settings == method.shown_settings()
    assert result.measured_on == "release"
    assert not result.test_only
    assert type(result.to_frame()) is type(release.data.to_frame())
    assert len(result.to_frame()) == 1 + len(result.figures)
    assert result.value_label in " ".join(result.summary().split())
    assert "<table>" in result._repr_html_()
    assert pickle.loads(pickle.dumps(result)).summary() == result.summary()
    assert result.to_dict() == method.run(release.data).to_dict() == method.run(released()).to_dict()
    assert result.to_dict() == method.run(release, truth=release.data.kin.original, secret=1).to_dict()


@pytest.mark.parametrize("method", ALL)
def test_order_of_records_is_irrelevant(method: Any) -> None:
    frame = rows()
    order = np.random.default_rng(0).permutation(frame.height)
    assert method.run(released(frame=frame)).to_dict() == method.run(released(frame=frame[order])).to_dict()


@pytest.mark.parametrize("engine", ["polars-lazy", "duckdb", SPARK])
@pytest.mark.parametrize("method", ALL)
def test_equal_on_every_engine(method: Any, engine: str) -> None:
    assert method.run(released(engine)).to_dict() == method.run(released()).to_dict()


@pytest.mark.parametrize("method", ALL)
def test_input_is_untouched(method: Any) -> None:
    release = released()
    before = release.data.to_frame(reveal=True)
    method.run(release)
    assert release.data.to_frame(reveal=True).equals(before)


@pytest.mark.parametrize("method", ALL)
def test_french_and_charts(method: Any) -> None:
    result = method.run(released())
    french = _catalogue("fr")
    reasons = () if result.interval is not None else (result.no_interval,)
    texts = (result.title, result.value_label, *reasons, *result.figure_labels.values())
    for text in (*texts, *(n.text for n in result.notes)):
        assert text in french, text
    drawn = [json.dumps(result.plot(language).to_dict()) for language in ("en", "fr")]
    assert drawn[0] != drawn[1]


@pytest.mark.parametrize("method", ALL)
@pytest.mark.parametrize("wrong", [flou.Microdata(rows(), id="pid"), rows(), None], ids=["microdata", "frame", "none"])
def test_other_data_are_refused(method: Any, wrong: Any) -> None:
    with pytest.raises(flou.FlouError, match="works on table"):
        method.run(wrong)


@pytest.mark.parametrize("method", ALL)
def test_a_single_cell(method: Any) -> None:
    table = flou.Microdata(pl.DataFrame({"a": ["x"]})).tabulate(["a"], margins=False)
    assert np.isfinite(method.run(table).value)
