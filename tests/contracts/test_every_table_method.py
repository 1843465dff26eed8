"""The checks that every registered measure of tables and every comparison of tables passes."""

from __future__ import annotations

import json
import pickle
from typing import Any

import jsonschema
import numpy as np
import polars as pl
import pytest

import flou
from flou.engine import native, registry
from flou.engine.method import Method, RiskMeasure, Utility
from flou.engine.plan_schema import method_schema, plan_schema
from flou.engine.words import _catalogue

SECRET = flou.Secret(bytes(range(32)))
#: Method name → parameter settings worth checking.
EXAMPLES: dict[str, list[Any]] = {
    "count_inference": [
        flou.risk.CountInference(5),
        flou.risk.CountInference(3, I=[1], J=[1, 2, 4], prior="poisson"),
        flou.risk.CountInference(4, prior="uniform"),
    ],
    "difference_inference": [
        flou.risk.DifferenceInference(5),
        flou.risk.DifferenceInference(3, J=[-1, 0, 1], prior="uniform"),
    ],
    "zero_inference": [flou.risk.ZeroInference(), flou.risk.ZeroInference(4, prior="uniform")],
    "within_distance": [flou.utility.WithinDistance(2), flou.utility.WithinDistance(0)],
    "mean_deviation": [flou.utility.MeanDeviation()],
    "relative_deviation": [flou.utility.RelativeDeviation(), flou.utility.RelativeDeviation([2, 20])],
    "hellinger": [flou.utility.Hellinger()],
}
#: Parameters that must be refused when the object is made.
BAD_PARAMETERS: dict[str, list[dict[str, Any]]] = {
    "count_inference": [
        {},
        {"s": 1},
        {"s": 2.5},
        {"s": True},
        {"s": 5, "I": []},
        {"s": 5, "I": [-1]},
        {"s": 5, "J": [1, 1]},
        {"s": 5, "J": [1.5]},
        {"s": 5, "prior": "flat"},
    ],
    "difference_inference": [{}, {"s": 1}, {"s": 5, "I": [-1]}, {"s": 5, "J": []}, {"s": 5, "prior": "x"}],
    "zero_inference": [{"categories": 1}, {"prior": "x"}],
    "within_distance": [{}, {"d": -1}, {"d": 1.5}, {"d": "2"}],
    "mean_deviation": [{"d": 1}],
    "relative_deviation": [{"sizes": []}, {"sizes": [5, 5]}, {"sizes": [0, 5]}, {"sizes": ["a"]}],
    "hellinger": [{"kind": "x"}],
}
ALL = [pytest.param(m, id=f"{name}-{i}") for name, ms in EXAMPLES.items() for i, m in enumerate(ms)]
MEASURES = [p for p in ALL if isinstance(p.values[0], RiskMeasure)]
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


def test_every_registered_method_has_examples() -> None:
    names = {m.name() for s in ("measure", "compare") for m in _stage(s) if "microdata" not in m.takes}
    assert set(EXAMPLES) == set(BAD_PARAMETERS) == names


def _stage(stage: Any) -> list[type[Method]]:
    return [registry.find(stage, name) for name in registry.names(stage)]


@pytest.mark.parametrize("name", list(BAD_PARAMETERS))
def test_bad_parameters_are_refused(name: str) -> None:
    method = next(m for m in registry.every() if m.name() == name)
    for parameters in BAD_PARAMETERS[name]:
        with pytest.raises(flou.FlouError) as caught:
            method(**parameters)
        assert method.__name__ in str(caught.value)


@pytest.mark.parametrize("method", ALL)
def test_frozen_hashable_and_equal(method: Method) -> None:
    with pytest.raises(ValueError, match="frozen"):
        setattr(method, next(iter(type(method).model_fields), "x"), 1)
    assert type(method)(**{n: getattr(method, n) for n in type(method).model_fields}) == method
    assert hash(method) == hash(method.model_copy())


@pytest.mark.parametrize("method", ALL)
def test_plan_round_trip(method: Any) -> None:
    measures = [method] if isinstance(method, RiskMeasure) else []
    comparisons = [method] if isinstance(method, Utility) else []
    plan = flou.Plan([], measures=measures, comparisons=comparisons)
    assert flou.Plan.from_toml(plan.to_toml()) == plan
    table = method.to_table()
    jsonschema.validate(table, method_schema(type(method)))
    jsonschema.validate({"flou": 1, method.stage: [table]}, plan_schema())


@pytest.mark.parametrize("kind", ["polars", "pandas", "pyarrow"])
@pytest.mark.parametrize("method", ALL)
def test_result_contract(method: Any, kind: str) -> None:
    table, release = tables(kind)
    result = found(method, table, release)
    assert 0 <= result.value <= 1 or result.value_kind == "score"
    assert set(result.figures) <= set(result.figure_labels)
    assert result.interval is not None or result.no_interval
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
    for text in (result.title, result.value_label, *result.figure_labels.values(), *(n.text for n in result.notes)):
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
    assert result.n_cells == 22
    assert result.plot("fr").to_dict()
    assert pickle.loads(pickle.dumps(result)).summary() == result.summary()
