"""The checks that every registered primary rule passes beside those of all table methods."""

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
from flou.engine.words import _catalogue
from flou.risk.table.primary_rule import PrimaryRule, combine
from flou.risk.table.rule_text import parse_rules

ALL = [
    pytest.param(m, id=f"{name}-{i}")
    for name, ms in EXAMPLES.items()
    for i, m in enumerate(ms)
    if isinstance(m, PrimaryRule)
]


def rows(n: int = 300, seed: int = 4) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "pid": np.arange(n),
            "région": rng.choice(["A", "B", "É"], n, p=[0.7, 0.25, 0.05]),
            "age": rng.integers(0, 40, n).astype(str),
            "sex": rng.choice(["f", "m"], n),
            "income": np.round(rng.lognormal(3, 1.5, n), 1),
        }
    )


def table(engine: str = "polars", frame: pl.DataFrame | None = None, **options: Any) -> flou.Table:
    data = flou.Microdata(native(rows() if frame is None else frame, engine), id="pid")
    return flou.record_keys(data, secret=SECRET).tabulate(
        ["région", "age", "sex"], **{"value": "income", "cells": "all", **options}
    )


@pytest.mark.parametrize("kind", ["polars", "pandas", "pyarrow"])
@pytest.mark.parametrize("rule", ALL)
def test_result_contract(rule: PrimaryRule, kind: str) -> None:
    made = table(kind)
    result = rule.measure(made)
    assert 0 < result.value < 1, "the example finds some cells and not others"
    assert result.value == result.n_shown / result.n_cells
    assert result.n_shown == result.n_sensitive == result.units.sum()
    assert all(type(rule).figure(figure.name) and figure.label for figure in result.figures.held)
    assert result.interval is None
    assert result.no_interval
    assert all(type(rule).safe_direction(name) for name in ("value", *result.figures))
    assert result.settings == rule.shown_settings()
    assert result.measured_on == "original"
    assert not result.test_only
    assert type(result.to_frame()) is type(result.by_cell) is type(made.to_frame())
    assert len(result.to_frame()) == 1 + len(result.figures)
    assert len(result.by_cell) == len(result.units) == made.n_cells
    assert result.value_label in " ".join(result.summary().split())
    assert "<table>" in result._repr_html_()
    copy = pickle.loads(pickle.dumps(result))
    assert copy.summary() == result.summary()
    assert copy.data is None
    assert not copy.verdicts, "no cell leaves the process"
    assert result.to_dict() == rule.measure(table()).to_dict(), "the same on every kind of frame"


@pytest.mark.parametrize("rule", ALL)
def test_what_is_sensitive_has_levels(rule: PrimaryRule) -> None:
    made = table()
    found = rule.sensitive(made)
    assert found.reasons == (rule.label,)
    assert np.array_equal(found.because[:, 0], found.cells)
    for figure, levels in found.levels.items():
        assert figure in ("count", "value")
        for held in (levels.lower, levels.upper, levels.sliding):
            assert held.shape == found.cells.shape
            assert (held >= 0).all()
            assert not held[~found.cells].any(), "nothing is asked of other cells"
        assert (np.maximum(levels.lower, levels.upper)[found.cells] > 0).all(), "a sensitive cell asks for something"
        true = made.true_counts if figure == "count" else made.true_values
        assert (levels.lower <= true + 1e-9).all(), "no bound below 0 is asked for"
    impossible = made.cells.possible
    assert impossible is not None
    assert not found.cells[~impossible].any()


@pytest.mark.parametrize("rule", ALL)
def test_labels_are_read_back(rule: PrimaryRule) -> None:
    shown = rule.model_copy(update={"margin": 10}) if "margin" in type(rule).model_fields else rule
    assert parse_rules(rule.label) == [shown]


@pytest.mark.parametrize("rule", ALL)
def test_order_of_records_and_names_are_irrelevant(rule: PrimaryRule) -> None:
    frame = rows()
    order = np.random.default_rng(0).permutation(frame.height)
    once, again = rule.measure(table(frame=frame)), rule.measure(table(frame=frame[order]))
    assert once.to_dict() == again.to_dict()
    assert once.by_cell.equals(again.by_cell)


@pytest.mark.parametrize("rule, engine", crossed(ALL, ["polars-lazy", "duckdb", SPARK]))
def test_equal_on_every_engine(rule: PrimaryRule, engine: str) -> None:
    assert rule.measure(table(engine)).to_dict() == rule.measure(table()).to_dict()


@pytest.mark.parametrize("rule", ALL)
def test_sets_of_tables(rule: PrimaryRule) -> None:
    data = flou.Microdata(rows(), id="pid")
    both = flou.tabulate_many(data, [["région", "sex"], ["age", "sex"]], value="income", cells="all")
    result = rule.measure(both)
    alone = [rule.measure(t) for t in both.tables]
    assert result.n_sensitive == sum(r.n_sensitive for r in alone)
    assert result.n_cells == sum(r.n_cells for r in alone)
    assert np.array_equal(result.units, np.concatenate([r.units for r in alone]))
    assert len(result.by_cell) == sum(t.n_cells for t in both.tables)
    assert set(result.by_cell["table"]) == set(both.names)
    assert result.plot().to_dict()


@pytest.mark.parametrize("rule", ALL)
def test_of_a_release_the_shown_cells_count(rule: PrimaryRule) -> None:
    made = table()
    found = rule.sensitive(made).cells
    counts = made.true_counts.astype(np.float64)
    counts[found] = np.nan
    values = np.where(found, np.nan, made.true_values)
    published = flou.describe.table.cells.Published(counts, values)
    result = rule.measure(made.with_changes(published=published, marks=made.marks.add(released=True)))
    assert result.value == 0
    assert result.n_shown == 0
    assert result.n_sensitive == found.sum()
    assert result.measured_on == "release"
    assert not result.notes
    noisy = rule.measure(flou.protect.CellKey(D=6, V=4, js=2).protect(made))
    assert noisy.n_shown == found.sum()
    assert any("noise" in str(note) for note in noisy.notes)


@pytest.mark.parametrize("rule", ALL)
def test_french_and_charts(rule: PrimaryRule) -> None:
    result = rule.measure(flou.protect.CellKey(D=6, V=4, js=2).protect(table()))
    french = _catalogue("fr")
    texts = (result.title, result.value_label, result.no_interval, *(figure.label for figure in result.figures.held))
    for text in (*texts, *(n.text for n in result.notes)):
        assert text in french, text
    drawn = [json.dumps(result.plot(language).to_dict()) for language in ("en", "fr")]
    assert drawn[0] != drawn[1]


@pytest.mark.parametrize("rule", ALL)
def test_public_tables_are_refused(rule: PrimaryRule) -> None:
    release = flou.protect.CellKey(D=6, V=4, js=2).protect(table())
    with pytest.raises(flou.FlouError):
        rule.measure(release.data.public())


@pytest.mark.parametrize("rule", ALL)
@pytest.mark.parametrize("wrong", [flou.Microdata(rows(), id="pid"), rows(), None], ids=["microdata", "frame", "none"])
def test_other_data_are_refused(rule: PrimaryRule, wrong: Any) -> None:
    with pytest.raises(flou.FlouError, match="works on table"):
        rule.measure(wrong)


@pytest.mark.parametrize("rule", ALL)
def test_a_single_cell(rule: PrimaryRule) -> None:
    data = flou.Microdata(pl.DataFrame({"sex": ["x"], "income": [3.0]}))
    result = rule.measure(data.tabulate(["sex"], margins=False, value="income"))
    assert result.value == float(type(rule).name() != "group_disclosure"), "there is no other category"


def test_rules_together_ask_for_the_most() -> None:
    made = table()
    rules = [p.values[0] for p in ALL]
    found = combine(rules, made)  # type: ignore[arg-type]
    alone = [rule.sensitive(made) for rule in rules]  # type: ignore[union-attr]
    assert np.array_equal(found.cells, np.any([a.cells for a in alone], axis=0))
    assert found.reasons == tuple(rule.label for rule in rules)  # type: ignore[union-attr]
    assert np.array_equal(found.because, np.stack([a.cells for a in alone], axis=1))
    for figure in ("count", "value"):
        asked = [a.levels[figure].upper for a in alone if figure in a.levels]  # type: ignore[index]
        assert np.array_equal(found.levels[figure].upper, np.max(asked, axis=0))  # type: ignore[index]
    assert not combine([], made).cells.any()
