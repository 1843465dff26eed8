"""Suppressed tables: those who protect see everything, everybody else that a cell is suppressed and nothing more."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from tests.describe.table.suppressed import (
    PRIMARY,
    REASONS,
    SECONDARY,
    audit,
    firms,
    pattern,
    suppress,
    suppressed_table,
    true_table,
)

import flou
from flou.describe.table.cells import Published
from flou.describe.table.suppression import State, Suppression
from flou.describe.table.table_set import TableSet
from flou.protect.table.protection import TableProtection

SHOWN = ["both", "value", "count"]
HIDDEN = {**PRIMARY, **SECONDARY}
#: Ways in which a table leaves: each gives the table as others get it.
LEAVING: list[Callable[[flou.Table], flou.Table]] = [
    lambda t: t.public(),
    lambda t: t.public().public(),
    lambda t: pickle.loads(pickle.dumps(t)),
    lambda t: copy.copy(t),
    lambda t: copy.deepcopy(t),
    lambda t: TableSet.of([t]).public().tables[0],
    lambda t: pickle.loads(pickle.dumps(TableSet.of([t]))).tables[0],
    lambda t: t.only(3).public(),
    lambda t: t.public().with_changes(
        suppression=Suppression(np.zeros(t.public().n_cells, dtype=np.uint8))
    ).public(),
]  # fmt: skip


def rows(frame: pl.DataFrame) -> dict[Any, dict[str, Any]]:
    return {(r["region"], r["department"], r["sector"]): r for r in frame.rows(named=True)}


@pytest.mark.parametrize("show", SHOWN)
@pytest.mark.parametrize("cells", ["occupied", "all"])
def test_the_public_frame(show: str, cells: Any) -> None:
    table = suppressed_table(show=show, cells=cells)
    shown = table.to_frame()
    figures = {"both": ["count", "value"], "value": ["value"], "count": ["count"]}[show]
    assert shown.columns == ["region", "department", "sector", *figures, "status"]
    if "count" in figures:
        assert shown["count"].dtype == pl.Int64, "whole counts stay whole although some are missing"
    truth = rows(true_table(cells=cells).to_frame())
    for cell, row in rows(shown).items():
        hidden = cell in HIDDEN
        assert row["status"] == ("suppressed" if hidden else "published" if truth[cell]["count"] else "zero")
        for figure in figures:
            assert row[figure] == (None if hidden else truth[cell][figure])
    assert set(rows(shown)) == set(truth)
    assert (shown["status"] == "suppressed").sum() == len(HIDDEN)


@pytest.mark.parametrize("show", SHOWN)
def test_those_who_protect_see_states_and_reasons(show: str) -> None:
    table = suppressed_table(show=show, cells="all")
    held = rows(table.to_frame(reveal=True))
    assert held["North", "59", "wood"]["status"] == "primary"
    assert held["North", "59", "wood"]["reason"] == "threshold (3), p% (10)"
    assert held["South", "13", "silk"]["reason"] == "threshold (3)"
    assert held["North", "59", "food"]["status"] == "secondary"
    assert held["North", "59", "food"]["reason"] == "protects 59 × wood"
    assert held["Total", "Total", "silk"]["reason"] == "protects 13 × silk"
    assert held["North", "Total", "food"]["status"] == "kept"
    assert held["North", "59", "silk"]["status"] == "zero"
    assert held["Total", "Total", "Total"] | {} == {
        **held["Total", "Total", "Total"], "status": "published", "reason": "",
        "true_count": 31, "true_value": true_table().cell()["value"],
    }  # fmt: skip
    assert held["North", "59", "wood"]["true_count"] == 2
    assert held["North", "59", "wood"]["true_value"] == 780.75
    assert ("count" in held["Total", "Total", "Total"]) == ("deviation" in held["Total", "Total", "Total"])
    assert ("count" in held["Total", "Total", "Total"]) == (show != "value")
    if show == "both":
        assert held["North", "59", "wood"]["count"] is None
        assert held["North", "59", "wood"]["deviation"] is None
        assert held["Total", "Total", "Total"]["deviation"] == 0


@pytest.mark.parametrize("leave", LEAVING)
@pytest.mark.parametrize("show", SHOWN)
def test_nothing_of_the_suppression_leaves(leave: Callable[[flou.Table], flou.Table], show: str) -> None:
    gone = leave(suppressed_table(show=show))
    assert gone.suppression is None
    assert set(gone.status) <= {"published", "suppressed", "zero"}
    with pytest.raises(flou.FlouError, match="not known"):
        gone.to_frame(reveal=True)
    with pytest.raises(flou.FlouError, match="not known"):
        gone.histogram()
    assert gone.published is not None
    for figures in (gone.published.count, gone.published.value):
        if figures is not None:
            assert np.isnan(figures[gone.published.hidden]).all()
    held = pickle.dumps(gone)
    for told in (*REASONS, "protects", "primary", "secondary", "by hand", "states", "n_attackers"):
        assert told.encode() not in held


def test_a_pickle_of_a_table_that_is_not_released_has_no_reasons() -> None:
    """True counts stay with it, as with every table of the office; the pattern and its audit do not."""
    table = suppress(true_table(), found=audit(), released=False)
    back = pickle.loads(pickle.dumps(table))
    assert back.suppression is None
    assert back.to_frame().equals(table.to_frame())


@pytest.mark.parametrize("show", SHOWN)
def test_files_hold_no_suppressed_figure(show: str, tmp_path: Path) -> None:
    table = suppressed_table(show=show)
    truth = rows(true_table().to_frame())
    secret = [repr(truth[cell]["value"]).encode() for cell in HIDDEN]
    assert b"780.75" in secret
    for kind in ("csv", "parquet", "arrow"):
        table.write(tmp_path / f"t.{kind}")
        held = (tmp_path / f"t.{kind}").read_bytes()
        for told in [*secret, b"primary", b"secondary", b"threshold", b"protects", b"reason"]:
            assert told not in held
        assert b"suppressed" in held or kind != "csv"
    runs = [np.float64(truth[cell]["value"]).tobytes() for cell in HIDDEN]
    assert not [run for run in runs if run in (tmp_path / "t.arrow").read_bytes()]


@pytest.mark.parametrize("show", SHOWN)
@pytest.mark.parametrize("cells", ["occupied", "all"])
def test_secondary_cells_look_as_primary_ones(show: str, cells: Any) -> None:
    """Whatever the states of the suppressed cells are, the public gets the same."""
    table = suppressed_table(show=show, cells=cells)
    assert table.suppression is not None
    states = table.suppression.states.copy()
    hidden = table.suppression.hidden
    states[hidden] = np.where(states[hidden] == State.PRIMARY, State.SECONDARY, State.PRIMARY)
    other = table.with_changes(suppression=Suppression(states, ("another",)))
    assert other.to_frame().equals(table.to_frame())
    assert repr(other) == repr(table) == repr(table.public())
    assert other._repr_html_() == table._repr_html_() == table.public()._repr_html_()
    assert pickle.dumps(other.public()) == pickle.dumps(table.public())


@pytest.mark.parametrize("cells", ["occupied", "all"])
@pytest.mark.parametrize("show", SHOWN)
def test_categories_with_nothing_but_suppressed_cells_stay(cells: Any, show: str) -> None:
    """Silk is shown nowhere: it is listed all the same, at its place."""
    public = suppressed_table(cells=cells, show=show).public()
    assert public.dims[1].labels["sector"].to_list() == ["Total", "food", "silk", "wood"]
    silk = public.to_frame().filter(pl.col("sector") == "silk")
    assert set(silk["status"]) == ({"suppressed"} if cells == "occupied" else {"suppressed", "zero"})
    assert public.labels().equals(true_table(cells=cells).labels()), "the cells and their order are those of the truth"
    assert public.n_unlisted_zeros == 0
    assert public.mechanism is None
    assert public.kin.original is None


def test_a_zero_that_is_withheld_is_listed_as_others_are() -> None:
    """Where a rule holds zeros sensitive, an empty cell and one with somebody look alike."""
    table = suppressed_table(cells="all")
    assert table.suppression is not None
    states = table.suppression.states.copy()
    empty = np.flatnonzero(table.true_counts == 0)[:1]
    states[empty] = State.PRIMARY
    held = table.with_changes(suppression=Suppression(states))
    line = held.to_frame().row(int(empty[0]), named=True)
    assert (line["count"], line["value"], line["status"]) == (None, None, "suppressed")


def test_a_structural_cell_that_is_withheld_says_only_that() -> None:
    rule = [{"department": "13", "sector": "silk"}]
    declared = {"department": ["13", "59", "62"], "sector": ["food", "silk", "wood"]}
    table = suppressed_table(cells="all", incoherent=rule, modalities=declared)
    assert table.cells.coherent is not None
    assert not table.cells.coherent.all()
    public = table.public()
    assert rows(public.to_frame())["South", "13", "silk"]["status"] == "suppressed"
    assert public.cells.possible is not None
    assert public.cells.possible[(public.status == "suppressed").to_numpy()].all()


def test_what_a_protection_forgets_is_blanked() -> None:
    """The true figures are handed in as they are: what the suppression withholds is not shown."""
    true = true_table()
    made = pattern(true, found=None)
    for published in (
        Published(true.true_counts, true.true_values),
        Published(true.true_counts, true.true_values, np.zeros(true.n_cells, dtype=np.bool_)),
        Published(true.true_counts, true.true_values, counted=False),
    ):
        table = true.with_changes(published=published, suppression=made)
        assert np.isnan(table.published_counts[made.hidden]).all()
        assert np.isnan(table.published_values[made.hidden]).all()  # type: ignore[index]
        assert set(table.status.filter(pl.Series(made.hidden))) == {"suppressed"}
    alone = Published(true.true_counts, true.true_values, made.hidden)
    assert (np.isnan(alone.count) == made.hidden).all()
    assert (np.isnan(alone.take(np.arange(4)).count) == made.hidden[:4]).all()
    assert alone.take(np.arange(4)).withheld(np.ones(4, dtype=np.bool_)).hidden.all()
    assert not Published(true.true_counts, true.true_values, counted=False).take(np.arange(4)).counted
    assert np.isnan(Published(true.true_counts, true.true_values, counted=False).count).all()


def test_what_does_not_fit_is_refused() -> None:
    true = true_table()
    with pytest.raises(flou.FlouError, match="published and suppression together"):
        true.with_changes(suppression=pattern(true, found=None))
    with pytest.raises(flou.FlouError, match="speaks of 3 cells"):
        true.with_changes(published=Published(true.true_counts), suppression=Suppression(np.zeros(3, dtype=np.uint8)))
    with pytest.raises(flou.FlouError, match="neither counts nor sums"):
        Published(true.true_counts, counted=False)


@pytest.mark.parametrize("show", SHOWN)
def test_one_cell(show: str) -> None:
    table = suppressed_table(show=show)
    for seen in (table, table.public()):
        hidden = seen.cell(department="59", sector="wood")
        assert hidden["status"] == "suppressed"
        assert hidden.get("count") is None
        assert hidden.get("value") is None
        shown = seen.cell(department="13", sector="wood")
        assert shown["status"] == "published"
        assert ("count" in shown) == (show != "value")
        assert ("value" in shown) == (show != "count")
        empty = seen.cell(department="59", sector="silk")
        assert empty == {k: 0 if k in ("count", "value") else v for k, v in empty.items()}
        assert empty["status"] == "zero"
        assert ("count" in empty) == (show != "value")


@pytest.mark.parametrize("show", SHOWN)
def test_ratios_and_means_are_refused(show: str) -> None:
    noise = flou.TransitionMatrix(D=2, V=2)
    for table in (suppressed_table(show=show), suppressed_table(show=show).public()):
        for ask in (
            lambda t: t.ratio({"sector": "food"}, mechanism=noise),
            lambda t: t.ratio({"sector": "wood"}),
            lambda t: t.ratios("sector", mechanism=noise),
            lambda t: t.mean("sector", {"food": 1, "silk": 2, "wood": 3}, mechanism=noise),
        ):
            with pytest.raises(flou.FlouError, match="withholds 10 of its cells"):
                ask(table)


def test_ratios_of_sums_alone_are_refused() -> None:
    true = true_table()
    table = true.with_changes(published=Published(true.true_counts, true.true_values, counted=False))
    with pytest.raises(flou.FlouError, match="no counts"):
        table.ratio({"sector": "food"}, mechanism=flou.TransitionMatrix(D=2, V=2))


def test_a_weighted_table_keeps_its_estimates() -> None:
    frame = firms().frame.to_native().with_columns(w=pl.lit(1.5))
    data = flou.Microdata(frame, keys=["region", "department", "sector"], weight="w")
    true = data.tabulate(["region>department", "sector"], value="turnover", weight="w")
    made = pattern(true, found=audit())
    table = true.with_changes(published=Published(true.cells.weighted, true.true_values, made.hidden), suppression=made)
    held = rows(table.to_frame())
    assert held["Total", "Total", "Total"]["count"] == 46.5
    assert held["North", "59", "wood"]["count"] is None
    assert table.to_frame()["count"].dtype == pl.Float64
    assert rows(table.to_frame(reveal=True))["North", "59", "wood"]["contributors"] == 2


def test_a_zero_goes_by_the_sum_where_counts_are_not_published() -> None:
    frame = pl.DataFrame({"a": ["x", "x", "y"], "amount": [0.0, 0.0, 5.0]})
    true = flou.Microdata(frame, keys=["a"]).tabulate("a", value="amount", cells="all")
    counts, values = true.true_counts, true.true_values
    alone = true.with_changes(published=Published(counts, values, counted=False))
    assert alone.status.to_list() == ["published", "zero", "published"]
    both = true.with_changes(published=Published(counts, values))
    assert both.status.to_list() == ["published"] * 3
    assert alone.public().to_frame()["a"].to_list() == ["Total", "y"], "nothing shows that x occurs"
    assert both.public().to_frame()["a"].to_list() == ["Total", "x", "y"]


class _Withhold(TableProtection):
    """A suppression that withholds what the pattern by hand does."""

    show: str = "both"

    def _protected(self, table: flou.Table, draw: Any) -> flou.Table:
        return suppress(table, show=self.show, found=audit(), released=False)


@pytest.mark.parametrize("show", SHOWN)
def test_the_step_counts_the_suppressed_cells(show: str) -> None:
    step = _Withhold(show=show)._protect(true_table(), None)  # type: ignore[arg-type]
    assert step.figures == {
        "n_cells": true_table().n_cells,
        "n_changed": len(HIDDEN),
        "mean_deviation": 0.0,
        "largest_deviation": 0.0,
    }
    assert step.changes[0].n_changed == len(HIDDEN)


@pytest.mark.parametrize(
    ("found", "decision"),
    [(audit(), "RELEASE"), (None, "WITHHOLD"), (audit(n_exact=1), "WITHHOLD"), (audit(n_narrow=2), "WITHHOLD")],
)
def test_a_policy_asks_for_the_audit(found: Any, decision: str) -> None:
    true = true_table()
    release = flou.Plan().protect(true, secret=flou.Secret(bytes(range(32))))
    held = flou.Release(suppress(true, found=found), release.trail)
    policy = flou.Policy(rules=[{"method": "within_distance", "settings": {"d": 2}, "at_least": {"release": 0.0}}])
    verdict = policy.judge(flou.utility.WithinDistance(2).compare(true, held), held)
    assert verdict.decision.name == decision
    said = [reason for reason in verdict.reasons if "audit" in str(reason)]
    assert len(said) == (decision == "WITHHOLD")


def test_cells_withheld_without_a_suppression_are_not_released() -> None:
    """A pattern that came from elsewhere was looked at by nobody."""
    true = true_table()
    counts = np.where(np.arange(true.n_cells) == 3, np.nan, true.true_counts)
    release = flou.Plan().protect(true, secret=flou.Secret(bytes(range(32))))
    held = flou.Release(true.with_changes(published=Published(counts)).marked(released=True), release.trail)
    policy = flou.Policy(rules=[{"method": "within_distance", "settings": {"d": 2}, "at_least": {"release": 0.0}}])
    verdict = policy.judge(flou.utility.WithinDistance(2).compare(true, held), held)
    assert verdict.decision.name == "WITHHOLD"


@pytest.mark.parametrize(("flags", "said"), [("sdmx", {"C": 10, "F": 14}), ("eurostat", {"c": 10, "": 14})])
def test_flags_as_offices_publish_them(flags: Any, said: dict[str, int], tmp_path: Path) -> None:
    """All suppressed cells have one code: D, secondary confidentiality, is between offices."""
    table = suppressed_table(cells="all")
    table.write(tmp_path / "t.parquet", flags=flags)
    held = pl.read_parquet(tmp_path / "t.parquet")
    assert held.columns == ["region", "department", "sector", "count", "value", "flag"]
    assert dict(held["flag"].value_counts().iter_rows()) == said
    assert held["count"].is_null().sum() == 10
    assert set(held.filter(pl.col("count").is_null())["flag"]) == {next(iter(said))}
    TableSet.of([table]).write(tmp_path / "set", flags=flags)
    TableSet.of([table]).write(tmp_path / "set.xlsx", flags=flags)
    back = pl.read_csv(tmp_path / "set" / "table_1.csv")["flag"].fill_null("")
    assert back.to_list() == held["flag"].to_list()
    assert pl.read_excel(tmp_path / "set.xlsx")["flag"].fill_null("").to_list() == held["flag"].to_list()
    with pytest.raises(flou.FlouError, match="flags = 'd' is not known"):
        table.write(tmp_path / "d.csv", flags="d")  # type: ignore[arg-type]
    assert not (tmp_path / "d.csv").exists()


def test_structural_zeros_have_their_flag(tmp_path: Path) -> None:
    rule = [{"department": "59", "sector": "silk"}]
    declared = {"department": ["13", "59", "62"], "sector": ["food", "silk", "wood"]}
    table = suppressed_table(cells="all", incoherent=rule, modalities=declared)
    table.write(tmp_path / "t.csv", flags="eurostat")
    held = rows(pl.read_csv(tmp_path / "t.csv", schema_overrides={"department": pl.String}))
    assert held["North", "59", "silk"]["flag"] == "z"
