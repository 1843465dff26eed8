"""Charts of transition matrices: what they draw, in both languages."""

from __future__ import annotations

from typing import Any

import pytest

from flou import TransitionMatrix
from flou.engine.charts import to_svg
from flou.engine.errors import ParameterError


def drawn_rows(chart: Any) -> list[dict[str, Any]]:
    (rows,) = chart.to_dict()["datasets"].values()
    return list(rows)


def test_one_panel_a_matrix_and_one_bar_a_deviation() -> None:
    matrices = [TransitionMatrix(5, 2.5), TransitionMatrix(10, 5, 2)]
    rows = drawn_rows(matrices[0].plot(1, beside=matrices[1:], within=1))
    panels = ["D = 5, V = 2.5, js = 0", "D = 10, V = 5, js = 2"]
    for panel, matrix in zip(panels, matrices, strict=True):
        drawn = {row["z"]: row["p"] for row in rows if row["panel"] == panel}
        assert drawn == dict(zip((matrix.targets(1) - 1).tolist(), matrix.row(1).tolist(), strict=True))
    assert [row["note"] for row in rows if row["note"]] == ["P(|Z| ≤ 1) = 90.0%", "P(|Z| ≤ 1) = 75.7%"]
    assert {row["group"] for row in rows if abs(row["z"]) <= 1} == {"moved by 1 at most"}


def test_large_counts_in_french() -> None:
    """Jamme 2025, figure 3: D = 5 and V = 10 is uniform, so five deviations of eleven are 2 at most."""
    chart = TransitionMatrix(5, 10).plot(language="fr")
    svg = to_svg(chart)
    for text in ("Bruit sur les grands comptages", "probabilité", "écart de 2 au plus", "= 45,5\u202f%"):
        assert text in svg
    assert "D = 5\u202f; V = 10\u202f; js = 0" in svg


def ticks(chart: Any) -> Any:
    return chart.to_dict()["spec"]["layer"][0]["encoding"]["x"]["axis"]["values"]


def test_the_lowest_deviation_has_its_tick() -> None:
    assert ticks(TransitionMatrix(10, 5, 2).plot(1)) == list(range(-1, 11))
    beside = TransitionMatrix(10, 5, 2).plot(1, beside=[TransitionMatrix(5, 5, 2)])
    assert ticks(beside) == [-1, 0, 2, 4, 6, 8, 10]
    assert ticks(TransitionMatrix(10, 5, 2).plot(beside=[TransitionMatrix(5, 5, 2)])) == [-10, -5, 0, 5, 10]


@pytest.mark.parametrize(("language", "short"), [("en", "deviation"), ("fr", "écart")])
def test_panels_side_by_side_have_a_short_title_each_and_the_whole_one_above(language: str, short: str) -> None:
    alone = TransitionMatrix(5, 10).plot(language=language).to_dict()
    beside = TransitionMatrix(5, 10).plot(beside=[TransitionMatrix(5, 5)], language=language).to_dict()
    long, title = (chart["spec"]["layer"][0]["encoding"]["x"]["title"] for chart in (alone, beside))
    assert title == short
    assert long in beside["title"]["text"]
    assert long not in alone["title"]["text"]


def test_probabilities_that_add_up_to_1_are_100_percent() -> None:
    assert drawn_rows(TransitionMatrix(2, 2).plot(1))[0]["note"] == "P(|Z| ≤ 2) = 100.0%"


def test_equal_matrices_have_panels_of_their_own() -> None:
    matrix = TransitionMatrix(2, 2)
    rows = drawn_rows(matrix.plot(beside=[matrix, TransitionMatrix(2, 2, stack=(3, 1))]))
    assert len({row["panel"] for row in rows}) == 3


@pytest.mark.parametrize("wrong", [{"count": -1}, {"count": "small"}, {"within": -1}, {"language": "de"}])
def test_wrong_settings_are_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(ParameterError):
        TransitionMatrix(2, 2).plot(**wrong)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="1 to 24"):
        TransitionMatrix(2, 2).plot(beside=[TransitionMatrix(2, 2)] * 24)
