"""The checks that every registered method passes: those of microdata here, those of tables in their own module."""

from __future__ import annotations

import contextlib
import json
import pickle
from typing import Any, get_args

import jsonschema
import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal
from tests.contracts.cases import (
    BAD_PARAMETERS,
    EXAMPLES,
    KEYS,
    ROLES,
    SPARK,
    crossed,
    measured,
    native,
    people,
    plan_validator,
    published,
    rows,
)

import flou
from flou.engine import registry
from flou.engine.comparison import ComparisonResult
from flou.engine.measure import RiskMeasure
from flou.engine.method import Method
from flou.engine.plan_schema import method_schema
from flou.engine.protection import Claim, Protection
from flou.engine.utility import Utility
from flou.engine.words import _catalogue

ALL = [pytest.param(m, id=f"{name}-{i}") for name, ms in EXAMPLES.items() for i, m in enumerate(ms)]
MEASURES = [p for p in ALL if isinstance(p.values[0], RiskMeasure)]
PROTECTIONS = [p for p in ALL if isinstance(p.values[0], Protection)]
COMPARISONS = [p for p in ALL if isinstance(p.values[0], Utility)]
FULL, EQUAL = ("polars", "pandas"), ("pyarrow", "polars-lazy", "duckdb", SPARK)
SECRET = flou.Secret(bytes(range(32)))
#: Methods that change the schema's weight without naming it.
REWEIGHTING = ("sample", "calibrate_weights")


def test_every_registered_method_has_examples() -> None:
    """Those that take microdata stand here; those of tables in `test_every_table_method`."""
    names = {m.name() for m in registry.every() if "microdata" in m.takes}
    assert set(EXAMPLES) == set(BAD_PARAMETERS) == names


@pytest.mark.parametrize("method", registry.every(), ids=lambda m: m.name())
def test_documented(method: type[Method]) -> None:
    assert method.__doc__
    assert method.title
    assert method.reference
    module = __import__(method.__module__, fromlist=["x"])
    assert len((module.__doc__ or "").split()) > 30, "say what it does, who published it, when it fails"
    for name, field in method.model_fields.items():
        assert field.description, f"{method.name()}.{name} has no description"


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
def test_plan_round_trip(method: Method) -> None:
    steps = [method] if isinstance(method, Protection) else []
    measures = [method] if isinstance(method, RiskMeasure) else []
    comparisons = [method] if isinstance(method, Utility) else []
    plan = flou.Plan(steps, measures=measures, comparisons=comparisons)
    again = flou.Plan.from_toml(plan.to_toml())
    assert again == plan
    table = method.to_table()
    jsonschema.validate(table, method_schema(type(method)))
    plan_validator().validate({"flou": 2, method.stage: [table]})


# measures


def _units(method: RiskMeasure, data: flou.Microdata) -> np.ndarray[Any, Any]:
    return measured(method, data).units


def _close(a: Any, b: Any) -> bool:
    """Equal, but for the last digits of what was computed in another order."""
    if isinstance(a, float) and isinstance(b, float):
        return bool(np.isclose(a, b, rtol=1e-9, atol=1e-12))
    return bool(a == b)


@pytest.mark.parametrize("method, engine", crossed(MEASURES, FULL))
def test_measure_has_the_result_contract(method: RiskMeasure, engine: str) -> None:
    data = people(engine)
    result = measured(method, data, engine)
    assert 0 <= result.value <= 1
    assert all(type(method).safe_direction(name) for name in ("value", *result.figures))
    assert len(result.units) == data.n_records
    assert result.units.dtype.kind in "if"
    assert result.flagged.sum() == result.n_flagged == result.n_at_risk
    assert result.n_records == data.n_records
    assert all(type(method).figure(figure.name) and figure.label for figure in result.figures.held)
    assert result.interval is not None or result.no_interval
    assert type(result.by_key) is type(data.to_frame())
    assert type(result.joined()) is type(data.to_frame())
    joined = flou.Microdata(result.joined())
    assert joined.columns[:-1] == data.columns
    assert np.array_equal(joined.frame[joined.columns[-1]].to_numpy(), result.units)
    assert result.settings == method.shown_settings()
    assert result.to_dict()["value"] == result.value
    assert result.value_label in result.summary()
    assert "<table>" in result._repr_html_()
    assert result.plot("fr").to_dict()["layer"]
    assert result.measured_on == "original"
    assert len(result.to_frame()) == 1 + len(result.figures)


@pytest.mark.parametrize("method", MEASURES)
def test_measure_of_a_release_says_so(method: RiskMeasure) -> None:
    release = flou.Plan([]).protect(people(), secret=SECRET, period="2026")
    result = measured(method, release)
    assert result.measured_on == "release"
    assert measured(method, release.data).measured_on == "release"
    assert not result.test_only
    assert measured(method, flou.Plan([]).protect(people(), secret=7, period="2026")).test_only
    # what would be published is shown, households and ids are not; figures stand beside the right rows
    assert not {"pid", "hid"} & set(flou.Microdata(result.by_key).columns)
    if result.needs_reveal:
        with pytest.raises(flou.FlouError, match="give the original back"):
            result.joined()
        assert "pid" in flou.Microdata(result.joined(reveal=True)).columns
    else:
        shown = flou.Microdata(result.joined())
        assert not {"pid", "name", "hid"} & set(shown.columns)
        assert np.array_equal(shown.frame[shown.columns[-1]].to_numpy(), result.units)
    if {"pid", "hid"} & set(result.keys.columns):
        with pytest.raises(flou.FlouError, match="never published"):
            pickle.dumps(result)
    else:
        assert pickle.loads(pickle.dumps(result)).value == result.value
    assert np.allclose(np.sort(result.units), np.sort(measured(method, people(), as_release=True).units))


@pytest.mark.parametrize("method, engine", crossed(MEASURES, FULL))
def test_measure_ignores_row_order(method: RiskMeasure, engine: str) -> None:
    frame = rows()
    order = np.random.default_rng(0).permutation(frame.height)
    straight = measured(method, people(engine, frame), engine, frame).units
    shuffled = measured(method, people(engine, frame[order]), engine, frame[order]).units
    assert np.allclose(straight[order], shuffled, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("method", MEASURES)
def test_measure_ignores_category_names(method: RiskMeasure) -> None:
    frame = rows()
    renamed = frame.with_columns(
        pl.col("region").replace({"A": "Zürich", "B": "a b;c", "C": "0", "É": "Ω'\""}),
        pl.col("sex").replace({"F": "2", "M": "1"}),
    )
    roles = {**ROLES, "modalities": {"sex": ["2", "1"]}}
    straight, other = _units(method, people(frame=frame)), _units(method, flou.Microdata(renamed, **roles))
    assert np.allclose(straight, other, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("method, engine", crossed(MEASURES, EQUAL))
def test_measure_is_equal_on_every_engine(method: RiskMeasure, engine: str) -> None:
    expected, found = measured(method, people()), measured(method, people(engine), engine)
    assert set(found.figures) == set(expected.figures)
    assert all(_close(found.figures[name], value) for name, value in expected.figures.items())
    assert _close(found.value, expected.value)
    ours = pl.DataFrame(flou.Microdata(found.by_key).frame.to_polars())
    keys = list(found.keys.columns)
    assert_frame_equal(ours.sort(keys), expected.by_key.sort(keys), check_dtypes=False)
    if engine == "pyarrow":
        assert np.allclose(found.units, expected.units, rtol=1e-9, atol=1e-12)
    else:
        with pytest.raises(flou.FlouError, match="joined"):
            _ = found.units
        joined = flou.Microdata(found.joined()).collect().frame.to_polars().sort("pid")
        ours, theirs = joined.to_series(-1), expected.joined().sort("pid").to_series(-1)
        assert np.allclose(ours.to_numpy(), theirs.to_numpy(), rtol=1e-9, atol=1e-12)


#: Whole numbers as a file with gaps, a database or a spreadsheet holds them.
AS_FLOATS = rows().with_columns(pl.col("age").cast(pl.Float64))


@pytest.mark.parametrize("method", MEASURES)
def test_measure_goes_by_the_value_whatever_its_type(method: RiskMeasure) -> None:
    """1 is 1.0: in the file, and between the file and a public table."""
    expected = measured(method, people())
    found = measured(method, people(frame=AS_FLOATS), frame=AS_FLOATS)
    assert np.allclose(found.units, expected.units, rtol=1e-9, atol=1e-12)
    assert found.value == expected.value
    if method.needs_against and method.compares_with != "original":
        assert method.measure(people(), against=people(frame=AS_FLOATS)).value == expected.value


#: Means and noise of a column of whole numbers are whole, those of other numbers are not.
BY_TYPE = ("microaggregation", "additive_noise", "multiplicative_noise")


@pytest.mark.parametrize("method", [p for p in PROTECTIONS if p.values[0].name() not in BY_TYPE])
def test_codes_labels_and_draws_go_by_the_value_whatever_its_type(method: Protection) -> None:
    found, expected = (
        published(method.protect(data, secret=SECRET, period="2026")) for data in (people(frame=AS_FLOATS), people())
    )
    assert found.equals(expected)


@pytest.mark.parametrize("method, engine", crossed(MEASURES, FULL))
def test_measure_leaves_input_untouched(method: RiskMeasure, engine: str) -> None:
    frame = native(rows(), engine)
    copy = frame.copy() if engine == "pandas" else frame.clone()  # type: ignore[attr-defined]
    _ = measured(method, flou.Microdata(frame, **ROLES), engine).units
    assert frame.equals(copy)  # type: ignore[attr-defined]


# protections


@pytest.mark.parametrize("method, engine", crossed(PROTECTIONS, FULL))
def test_protect_has_the_release_contract(method: Protection, engine: str) -> None:
    data = people(engine)
    release = method.protect(data, secret=SECRET, period="2026")
    assert type(release.data) is flou.Microdata
    assert type(release.data.to_frame()) is type(data.to_frame())
    assert type(release.changes) is type(data.to_frame())
    assert [s.method for s in release.steps] == [method]
    assert release.guarantees, "a protection promises something and proves it"
    for proof in release.guarantees:
        assert proof.guarantee.violations(release.data) == 0
    assert release.steps[0].n_records_after == release.data.n_records
    for hidden in ("pid", "name", "hid"):
        assert hidden not in flou.Microdata(release.data.to_frame()).columns
    assert repr(release)


@pytest.mark.parametrize("method", PROTECTIONS)
def test_guarantees_can_fail(method: Protection) -> None:
    """The check of a guarantee is a real one: on the unprotected file it finds violations."""
    data = people()
    release = method.protect(data, secret=SECRET, period="2026")
    assert any(p.guarantee.violations(data) > 0 for p in release.guarantees)


@pytest.mark.parametrize("method, engine", crossed(PROTECTIONS, FULL))
def test_same_secret_same_release_whatever_the_row_order(method: Protection, engine: str) -> None:
    frame = rows()
    order = np.random.default_rng(1).permutation(frame.height)
    once = published(method.protect(people(engine, frame), secret=SECRET, period="2026"))
    again = published(method.protect(people(engine, frame[order]), secret=SECRET, period="2026"))
    assert_frame_equal(once, again)


@pytest.mark.parametrize("method, engine", crossed(PROTECTIONS, ["pandas", *EQUAL]))
def test_protect_is_equal_on_every_engine(method: Protection, engine: str) -> None:
    expected = method.protect(people(), secret=SECRET, period="2026")
    found = method.protect(people(engine), secret=SECRET, period="2026")
    assert_frame_equal(published(found), published(expected))
    assert [s.changes for s in found.steps] == [s.changes for s in expected.steps]
    assert [dict(s.figures) for s in found.steps] == [dict(s.figures) for s in expected.steps]


@pytest.mark.parametrize("method, engine", crossed(PROTECTIONS, FULL))
def test_protect_leaves_input_untouched(method: Protection, engine: str) -> None:
    frame = native(rows(), engine)
    copy = frame.copy() if engine == "pandas" else frame.clone()  # type: ignore[attr-defined]
    method.protect(flou.Microdata(frame, **ROLES), secret=SECRET, period="2026")
    assert frame.equals(copy)  # type: ignore[attr-defined]


@pytest.mark.parametrize("method", PROTECTIONS)
def test_claims_hold(method: Protection) -> None:
    data = people()
    release = method.protect(data, secret=SECRET, period="2026")
    before = data.to_frame()
    after = release.data.to_frame(reveal=True)
    if "records" in method.claims:
        assert before["pid"].to_list() == after["pid"].to_list()
    if "untouched columns" in method.claims:
        touched = {*method.touches, *(["w"] if method.name() in REWEIGHTING else [])}
        kept = before.join(after.select("pid"), on="pid", how="semi", maintain_order="left")
        for column in set(after.columns) - touched:
            assert kept[column].to_list() == after[column].to_list(), column
    for column in method.touches:
        if "marginal" in method.claims:
            assert sorted(before[column].to_list(), key=str) == sorted(after[column].to_list(), key=str)
        if "mean" in method.claims and before[column].dtype.is_numeric():
            rounding = 0.5 if before[column].dtype.is_integer() else 1e-9
            assert before[column].mean() == pytest.approx(after[column].mean(), rel=1e-9, abs=rounding)
    assert set(method.claims) <= set(get_args(Claim))


AVERAGED = [p for p in PROTECTIONS if {"expected mean", "expected marginal"} & set(p.values[0].claims)]  # type: ignore[union-attr]


@pytest.mark.parametrize("method", AVERAGED)
def test_claims_on_average_hold(method: Protection) -> None:
    """Over many secrets the mean, or the count of each value, is that of the original: within five standard errors."""
    data, n_secrets = people(), 60
    secrets = [flou.Secret(bytes([i]) * 32) for i in range(n_secrets)]
    released = [method.protect(data, secret=s).data.to_frame(reveal=True) for s in secrets]
    for column in method.touches:
        before = data.to_frame()[column]
        if "expected mean" in method.claims:
            expected = [float(before.mean())]  # type: ignore[arg-type]
            found = np.array([[r[column].mean()] for r in released], dtype=float)
        else:
            values = before.unique(maintain_order=True).to_list()
            expected = [float(before.eq_missing(v).sum()) for v in values]
            found = np.array([[r[column].eq_missing(v).sum() for v in values] for r in released], dtype=float)
        assert found.std(axis=0).max() > 0, "it draws"
        error = 5 * found.std(axis=0, ddof=1) / np.sqrt(n_secrets) + 1e-9
        assert (np.abs(found.mean(axis=0) - expected) <= error).all(), column


@pytest.mark.parametrize("method", PROTECTIONS)
def test_test_seed_marks_the_release(method: Protection) -> None:
    assert method.protect(people(), secret=3, period="2026").test_only
    assert not method.protect(people(), secret=SECRET, period="2026").test_only


# comparisons


def _changed(engine: str = "polars", frame: pl.DataFrame | None = None) -> flou.Release:
    """A release that lost something in every example."""
    steps = [flou.protect.TopCode("income", at=900), flou.protect.BottomCode("age", at=30)]
    return flou.Plan(steps).protect(people(engine, frame), secret=SECRET, period="2026")


def _compared(method: Utility, original: flou.Microdata, release: flou.Release) -> ComparisonResult:
    result = method.compare(original, release)
    assert isinstance(result, ComparisonResult)
    return result


def _lossless(method: Utility) -> float:
    return 1.0 if method.name() == "regression" else 0.0


def _same(found: ComparisonResult, expected: ComparisonResult) -> None:
    assert list(found.figures) == list(expected.figures)
    assert all(_close(found.figures[name], value) for name, value in expected.figures.items())
    assert _close(found.value, expected.value)
    assert found.notes == expected.notes
    for name, detail in expected.details.items():
        assert_frame_equal(found.details[name].frame, detail.frame, rel_tol=1e-7, abs_tol=1e-9)


@pytest.mark.parametrize("method, engine", crossed(COMPARISONS, FULL))
def test_compare_has_the_result_contract(method: Utility, engine: str) -> None:
    data, release = people(engine), _changed(engine)
    result = _compared(method, data, release)
    assert result.value >= 0
    assert not _close(result.value, _lossless(method)), "a release that lost something is told from its original"
    assert all(type(method).figure(figure.name) and figure.label for figure in result.figures.held)
    assert result.interval is not None or result.no_interval
    assert result.settings == method.shown_settings()
    assert result.measured_on == "release"
    assert type(result.table) is type(result.to_frame()) is type(data.to_frame())
    assert len(result.to_frame()) == 1 + len(result.figures)
    assert all(getattr(result, name) is table for name, table in result.tables.items())
    assert result.value_label in " ".join(result.summary().split())
    assert max(map(len, result.summary().splitlines())) <= 80
    assert "<table>" in result._repr_html_()
    assert pickle.loads(pickle.dumps(result)).summary() == result.summary()
    assert method.compare(data, release.data).value == result.value
    assert not result.test_only
    assert method.compare(data, flou.Plan([]).protect(data, secret=7, period="2026")).test_only


@pytest.mark.parametrize("method", COMPARISONS)
def test_compare_speaks_french_and_draws(method: Utility) -> None:
    result = _compared(method, people(), _changed())
    french = _catalogue("fr")
    shown = [c.title for detail in result.details.values() for c in detail.columns]
    for text in (result.title, result.value_label, *(figure.label for figure in result.figures.held), *shown):
        assert text in french, text
    assert all(note.text in french for note in result.notes)
    drawn = [json.dumps(result.plot(language).to_dict()) for language in ("en", "fr")]
    assert drawn[0] != drawn[1]
    hidden = json.dumps(result.plot("en", min_count=10**6).to_dict())
    assert len(hidden) < len(drawn[0]), "what few records stand behind is not drawn"


@pytest.mark.parametrize("method", COMPARISONS)
def test_compare_finds_no_loss_in_an_equal_file(method: Utility) -> None:
    frame = rows()
    order = np.random.default_rng(2).permutation(frame.height)
    release = flou.Plan([]).protect(people(frame=frame[order]), secret=SECRET, period="2026")
    result = _compared(method, people(frame=frame), release)
    assert result.value == _lossless(method)
    for detail in result.details.values():
        assert set(detail.frame[detail.worst].drop_nulls()) <= {_lossless(method)}


@pytest.mark.parametrize("method, engine", crossed(COMPARISONS, FULL))
def test_compare_ignores_row_order(method: Utility, engine: str) -> None:
    frame = rows()
    order = np.random.default_rng(0).permutation(frame.height)
    straight = _compared(method, people(engine, frame), _changed(engine, frame))
    _same(_compared(method, people(engine, frame[order]), _changed(engine, frame[order])), straight)


@pytest.mark.parametrize("method, engine", crossed(COMPARISONS, ["pandas", *EQUAL]))
def test_compare_is_equal_on_every_engine(method: Utility, engine: str) -> None:
    _same(_compared(method, people(engine), _changed(engine)), _compared(method, people(), _changed()))


@pytest.mark.parametrize("method, engine", crossed(COMPARISONS, FULL))
def test_compare_leaves_input_untouched(method: Utility, engine: str) -> None:
    frame = native(rows(), engine)
    copy = frame.copy() if engine == "pandas" else frame.clone()  # type: ignore[attr-defined]
    data = flou.Microdata(frame, **ROLES)
    _ = method.compare(data, flou.Plan([]).protect(data, secret=SECRET, period="2026")).to_frame()
    assert frame.equals(copy)  # type: ignore[attr-defined]


# degenerate data: a result, or an error of ours

DEGENERATE = {
    "empty": rows().clear(),
    "one row": rows().head(1),
    "constant": pl.concat([rows().head(1)] * 5).with_columns(pid=pl.Series(range(5))),
    "all missing": rows().head(20).with_columns(pl.lit(None).cast(rows().schema[c]).alias(c) for c in KEYS),
    "unicode": rows().head(40).with_columns(region=pl.lit("Þórr 🦊 'x'; DROP")),
}


@pytest.mark.parametrize("method, engine", crossed(ALL, ["polars", "pandas", "duckdb"]))
@pytest.mark.parametrize("kind", list(DEGENERATE))
def test_degenerate_data(method: Method, kind: str, engine: str) -> None:
    with contextlib.suppress(flou.FlouError):  # anything else fails the test
        data = people(engine, DEGENERATE[kind])
        if isinstance(method, RiskMeasure):
            assert 0 <= measured(method, data, engine, DEGENERATE[kind]).value <= 1
        elif isinstance(method, Utility):
            assert method.compare(data, flou.Plan([]).protect(data, secret=SECRET, period="2026")).value >= 0
        else:
            assert isinstance(method, Protection)
            release = method.protect(data, secret=SECRET, period="2026")
            published(release)
