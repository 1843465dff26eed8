"""Calibration: the paper's example, the frontier by brute force, and grids that cannot be."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import flou
from flou.decide.calibration.frontier import mark_frontier
from flou.engine.charts import PADDING

CENSUS = pl.read_csv(Path(__file__).parents[1] / "golden" / "census_count_frequencies.csv")
PAPER: dict[str, Any] = {"D": [5, 10], "V": [2.5, 5, 10, 15], "js": [0, 2, 4]}
RISK, UTILITY = flou.risk.CountInference(s=5), flou.utility.WithinDistance(2)


def calibrated(protection: Any = flou.TransitionMatrix, over: Any = None, **more: Any) -> Any:
    given_: dict[str, Any] = {"on": CENSUS, "risk": RISK, "utility": UTILITY, "limit": 0.8, **more}
    return flou.calibrate(protection, over=PAPER if over is None else over, **given_)


@pytest.fixture(scope="module")
def found() -> Any:
    return calibrated()


def test_the_choice_of_the_paper(found: Any) -> None:
    """Jamme (2025, 3.1): (10, 5, 2) under a limit of 0.8, and (10, 10, 4) when js must be 4."""
    best = found.best(limit=0.8)
    assert best.parameters == {"D": 10, "V": 5, "js": 2}
    assert (best.risk, best.utility) == pytest.approx((0.787, 0.860), abs=6e-4)
    assert found.chosen is best
    without_small = found.best(limit=0.8, js=4)
    assert without_small.parameters == {"D": 10, "V": 10, "js": 4}
    assert (without_small.risk, without_small.utility) == pytest.approx((0.685, 0.760), abs=6e-4)
    assert best.made == flou.TransitionMatrix(10, 5, 2)


def test_points_that_cannot_be_stay_with_their_reason(found: Any) -> None:
    frame = found.to_frame()
    assert frame.height == 24
    wrong = frame.filter(~pl.col("feasible"))
    assert sorted(wrong.select("D", "V", "js").rows()) == [(5, 2.5, 4), (5, 5.0, 4), (10, 2.5, 4), (10, 5.0, 4)]
    assert all("smallest feasible V is 6" in reason for reason in wrong["reason"])
    assert wrong["risk"].null_count() == 4
    assert not wrong["on_frontier"].any()
    assert frame.filter("feasible")["risk"].null_count() == 0
    assert (frame.filter("feasible")["reason"] == "").all()
    assert frame["chosen"].sum() == 1
    with pytest.raises(flou.Infeasible, match="smallest feasible V is 6"):
        found.best(limit=0.8, V=5, js=4)


def test_each_point_is_what_the_methods_say(found: Any) -> None:
    for line in found.to_frame().filter("feasible").sample(5, seed=1).iter_rows(named=True):
        matrix = flou.TransitionMatrix(line["D"], line["V"], line["js"])
        risk = RISK.measure(matrix, counts=CENSUS)
        assert (line["risk"], line["worst"]) == (risk.value, risk.worst)
        assert line["risk_uniform"] == flou.risk.CountInference(s=5, prior="uniform").measure(matrix).value
        assert line["utility"] == UTILITY.expect(matrix, counts=CENSUS).value


def test_threads_and_progress_change_nothing(found: Any) -> None:
    told: list[tuple[str, int, int]] = []
    again = calibrated(n_jobs=2, progress=lambda *args: told.append(args))
    assert again.to_frame().equals(found.to_frame())
    assert told == [("calibrate", i, 24) for i in range(1, 25)]


def test_a_listener_may_cancel() -> None:
    def stop(stage: str, done: int, total: int) -> None:
        if done == 3:
            raise KeyboardInterrupt

    for n_jobs in (1, 2):
        with pytest.raises(KeyboardInterrupt):
            calibrated(n_jobs=n_jobs, progress=stop)


def test_no_point_under_the_limit(found: Any) -> None:
    with pytest.raises(flou.Infeasible, match=r"0\.602 with D = 10, V = 15, js = 4"):
        found.best(limit=0.1)
    none = calibrated(limit=0.1)
    assert none.chosen is None
    assert "0.602" in repr(none)
    assert not none.to_frame()["chosen"].any()
    assert none.plot().to_dict()["layer"]


@given(
    points=st.lists(
        st.tuples(st.integers(0, 5), st.one_of(st.integers(0, 5), st.just(float("nan")))), min_size=1, max_size=12
    )
)
def test_frontier_by_brute_force(points: list[tuple[float, float]]) -> None:
    risk, utility = (np.array([p[k] for p in points], dtype=float) for k in (0, 1))
    expected = [
        not np.isnan(u) and not any(r2 <= r and u2 >= u and (r2 < r or u2 > u) for r2, u2 in points if not np.isnan(u2))
        for r, u in points
    ]
    assert mark_frontier(risk, utility).tolist() == expected


def test_a_loss_is_the_better_the_smaller() -> None:
    by_loss = calibrated(utility=flou.utility.MeanDeviation())
    best = by_loss.best(limit=0.8)
    under = [p for p in by_loss.points if p.feasible and p.risk <= 0.8]
    assert best.utility == min(p.utility for p in under)
    assert best.parameters["js"] == 2
    losses = [p.utility for p in by_loss.frontier]
    assert losses == sorted(losses, reverse=True), "less risk costs more"


def test_tables_and_sets_of_tables() -> None:
    rng = np.random.default_rng(1)
    frame = pl.DataFrame({"id": np.arange(500), "a": rng.integers(0, 30, 500), "b": rng.integers(0, 3, 500)})
    keyed = flou.record_keys(flou.Microdata(frame.with_columns(pl.col("a", "b").cast(pl.String)), id="id"),
                             secret=flou.Secret(bytes(range(32))))  # fmt: skip
    both = flou.tabulate_many(keyed, [["a", "b"], ["a"]])
    over = {"D": [5, 10], "V": [5.0], "js": [0, 2]}
    for on in (both, both.tables[0]):
        result = calibrated(flou.protect.CellKey, over, on=on)
        counts, n = on.histogram()
        same = calibrated(flou.protect.CellKey, over, on=pl.DataFrame({"i": counts, "N": n}))
        assert result.to_frame().drop("told", "empty").equals(same.to_frame())
    best = result.best(limit=0.9)
    assert isinstance(best.made, flou.protect.CellKey)
    assert best.made.protect(both).data.released


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"over": {}}, "over"),
        ({"over": {"D": 5}}, "list of values"),
        ({"over": {"D": []}}, "list of values"),
        ({"over": [("D", 5)]}, "over"),
        ({"over": {"D": [5], "W": [5]}}, "W"),
        ({"over": {"D": [-5], "V": [5]}}, "D"),
        ({"risk": flou.risk.KAnonymity(3)}, "CountInference"),
        ({"risk": 0.8}, "CountInference"),
        ({"utility": flou.utility.Correlations()}, "WithinDistance"),
        ({"limit": 80}, "limit"),
        ({"limit": True}, "limit"),
        ({"n_jobs": 0}, "n_jobs"),
        ({"progress": "bar"}, "progress"),
        ({"on": 3}, "frame"),
        ({"on": flou.TransitionMatrix(5, 5)}, "table"),
        ({"on": pl.DataFrame({"i": [1, 1], "N": [1, 1]})}, "several lines"),
        ({"protection": dict}, "mechanism"),
    ],
)
def test_wrong_calibrations_are_refused(wrong: dict[str, Any], said: str) -> None:
    with pytest.raises(flou.FlouError, match=said):
        calibrated(**wrong)


def test_wrong_questions_are_refused(found: Any) -> None:
    for question, said in (({"js": 7}, "js = 7"), ({"jss": 2}, "jss"), ({"limit": 2}, "limit")):
        with pytest.raises(flou.FlouError, match=said):
            found.best(**question)
    with pytest.raises(flou.FlouError, match="frontier"):
        found.plot(kind="pie")
    with pytest.raises(flou.FlouError, match="limit"):
        calibrated(limit=None).best()


def test_some_wrong_parameters_are_points_without_a_figure() -> None:
    result = calibrated(over={"D": [5, -1], "V": [5]})
    assert [p.feasible for p in result.points] == [True, False]
    assert "D" in result.points[1].reason


@pytest.mark.parametrize("kind", ["frontier", "priors"])
def test_charts_speak_both_languages(found: Any, kind: str) -> None:
    english, french = (str(found.plot(language, kind=kind).to_dict()) for language in ("en", "fr"))
    assert "disclosure risk" in english
    assert "risque de divulgation" in french
    assert "2,5" in french
    assert "2.5" in english


def test_charts_leave_room_for_their_labels(found: Any) -> None:
    assert found.plot("fr", kind="priors").to_dict()["padding"] == PADDING
    chart = found.plot().to_dict()
    assert chart["layer"][0]["encoding"]["x"]["title"] == "utility: share of cells within 2 of the true count"
    label = chart["layer"][-1]["mark"]
    assert (label["align"], label["dx"] < 0) == ("right", True), "the legend stands at the right"


def test_shown_in_a_notebook(found: Any) -> None:
    page = found._repr_html_()
    assert page.count("<tr") == 25
    assert "smallest feasible V is 6" in page
    assert "best with risk at most 0.8: D = 10, V = 5, js = 2" in repr(found)


def test_values_may_come_from_a_generator() -> None:
    result = calibrated(over={"D": (d for d in (5, 10)), "V": iter([5.0])})
    assert [p.parameters for p in result.points] == [{"D": 5, "V": 5.0}, {"D": 10, "V": 5.0}]
