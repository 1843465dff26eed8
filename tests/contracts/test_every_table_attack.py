"""The checks that every registered attack on tables passes beside those of all table methods."""

from __future__ import annotations

import json
import pickle
from typing import Any

import numpy as np
import polars as pl
import pytest
from tests.contracts.cases import SPARK, crossed, native
from tests.contracts.table_cases import EXAMPLES, SECRET

import flou
from flou.engine.attack import Attack
from flou.engine.words import _catalogue

ALL = [
    pytest.param(m, id=f"{name}-{i}")
    for name, ms in EXAMPLES.items()
    for i, m in enumerate(ms)
    if isinstance(m, Attack)
]

#: Attacks that search by chance: the same with the same secret alone.
SEARCHES = ("reconstruction",)


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


def people(engine: str = "polars", frame: pl.DataFrame | None = None) -> flou.Microdata:
    return flou.Microdata(native(rows() if frame is None else frame, engine), id="pid")


def released(engine: str = "polars", frame: pl.DataFrame | None = None) -> flou.Release:
    table = people(engine, frame).tabulate(["région", "age", "sex"])
    return flou.protect.CellSuppression([flou.risk.Threshold(5)]).protect(table)


def run(method: Any, release: Any, records: flou.Microdata | None = None, **more: Any) -> Any:
    """Attack with the true records where the attack is judged by them, with a secret where it draws."""
    if method.scored_by == "records":
        more["truth"] = people() if records is None else records
    if method.name() in SEARCHES:
        more["secret"] = SECRET
    return method.run(release, **more)


@pytest.mark.parametrize("kind", ["polars", "pandas", "pyarrow"])
@pytest.mark.parametrize("method", ALL)
def test_result_contract(method: Any, kind: str) -> None:
    release = released(kind)
    result = run(method, release)
    assert 0 <= result.value <= 1
    assert all(type(method).figure(figure.name) and figure.label for figure in result.figures.held)
    assert result.interval is not None or result.no_interval
    assert all(type(method).safe_direction(name) for name in ("value", *result.figures))
    assert result.settings == method.shown_settings()
    assert result.measured_on == "release"
    assert not result.test_only
    assert type(result.to_frame()) is type(release.data.to_frame())
    assert len(result.to_frame()) == 1 + len(result.figures)
    assert result.value_label in " ".join(result.summary().split())
    assert "<table>" in result._repr_html_()
    assert pickle.loads(pickle.dumps(result)).summary() == result.summary()
    assert result.to_dict() == run(method, release.data).to_dict() == run(method, released()).to_dict()
    assert result.to_dict() == run(method, release, truth=release.data.kin.original, secret=1).to_dict()


@pytest.mark.parametrize("method", ALL)
def test_order_of_records_is_irrelevant(method: Any) -> None:
    frame = rows()
    order = np.random.default_rng(0).permutation(frame.height)
    shuffled = run(method, released(frame=frame[order]), people(frame=frame[order]))
    assert run(method, released(frame=frame)).to_dict() == shuffled.to_dict()


@pytest.mark.parametrize("method, engine", crossed(ALL, ["polars-lazy", "duckdb", SPARK]))
def test_equal_on_every_engine(method: Any, engine: str) -> None:
    assert run(method, released(engine), people(engine)).to_dict() == run(method, released()).to_dict()


@pytest.mark.parametrize("method", ALL)
def test_input_is_untouched(method: Any) -> None:
    release = released()
    before = release.data.to_frame(reveal=True)
    run(method, release)
    assert release.data.to_frame(reveal=True).equals(before)


@pytest.mark.parametrize("method", ALL)
def test_french_and_charts(method: Any) -> None:
    result = run(method, released())
    french = _catalogue("fr")
    reasons = () if result.interval is not None else (result.no_interval,)
    texts = (result.title, result.value_label, *reasons, *(figure.label for figure in result.figures.held))
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
    records = flou.Microdata(pl.DataFrame({"région": ["A"], "age": ["1"], "sex": ["f"]}))
    table = records.tabulate(["région", "age", "sex"], margins=False)
    assert np.isfinite(run(method, table, records).value)


@pytest.mark.parametrize("method", [p for p in ALL if p.values[0].scored_by == "records"])  # type: ignore[union-attr]
def test_records_that_are_needed(method: Any) -> None:
    with pytest.raises(flou.FlouError, match="truth="):
        method.run(released())
    with pytest.raises(flou.FlouError, match="truth="):
        method.run(released(), truth=released().data.kin.original)
