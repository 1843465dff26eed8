"""Areas one by one: nothing may be said of all of them that is not so, nor of an area of which nothing is listed."""

from __future__ import annotations

from dataclasses import replace

import polars as pl

import flou
from flou.engine.figure import with_values
from flou.engine.values import percent

PEOPLE = ["Aax", "Aby", "Bax", "Cax", "Cay", "Cby", "Cby", "Cby"]
DIMS = [["area", "u"], ["area", "v"], ["area", "u", "v"]]


def _town(people: list[str]) -> flou.Microdata:
    frame = pl.DataFrame([(i, *p) for i, p in enumerate(people)], schema=["pid", "area", "u", "v"], orient="row")
    values = {"area": ["A", "B", "C"], "u": ["a", "b"], "v": ["x", "y"]}
    return flou.Microdata(frame, id="pid", keys=list(values), modalities=values)


def test_an_area_of_which_nothing_is_listed_may_hold_somebody() -> None:
    shown = flou.protect.Rounding(3).protect(flou.tabulate_many(_town(PEOPLE), DIMS))
    assert "B" not in shown.data[0].to_frame()["area"]
    found = flou.attack.Reconstruction(mode="feasible", block="area").reconstruct(shown)
    assert (found.bounds(area="B").low, found.bounds(area="B").high) == (0, 1)
    assert found.bounds().low <= len(PEOPLE) <= found.bounds().high
    assert found.bounds(u="a").low <= 4 <= found.bounds(u="a").high


def test_bounds_over_areas_are_reached_if_they_say_so() -> None:
    shown = flou.protect.Rounding(3).protect(flou.tabulate_many(_town(PEOPLE), DIMS, cells="all"))
    together = flou.attack.Reconstruction(mode="feasible").reconstruct(shown)
    apart = flou.attack.Reconstruction(mode="feasible", block="area").reconstruct(shown)
    for query in ({}, {"u": "a"}, {"v": "y"}, {"area": "C"}):
        best, found = together.bounds(query), apart.bounds(query)
        assert found.low <= best.low <= best.high <= found.high
        assert not found.exact or (found.low, found.high) == (best.low, best.high), query


def test_an_area_called_zero() -> None:
    frame = pl.DataFrame({"pid": [1, 2, 3], "area": [0, 1, 0], "u": ["a", "b", "b"]})
    town = flou.Microdata(frame, id="pid", keys=["area", "u"])
    found = flou.attack.Reconstruction(block="area").reconstruct(town.tabulate(["area", "u"]))
    assert found.bounds(area=0).low == found.bounds(area="0").high == 2
    assert found.bounds(area=[]).high == 0


def test_an_area_of_its_own_is_proven_as_among_the_others() -> None:
    shown = flou.protect.RandomRounding(3).protect(flou.tabulate_many(_town(PEOPLE * 2), DIMS, cells="all"), secret=3)
    apart = flou.attack.Reconstruction(mode="feasible", block="area").run(shown, truth=_town(PEOPLE * 2), secret=1)
    true = {(p[0], p[1], p[2]): 2 * PEOPLE.count(p) for p in PEOPLE}
    rows = apart.certain.select("area", "u", "v", "count").rows()
    assert rows
    assert all(n <= true.get((area, u, v), 0) for area, u, v, n in rows)
    assert apart.figures["n_people"] == 16


def test_a_lift_below_zero_is_not_shown_as_nearly_zero() -> None:
    # a coarse table leaves the attack less than others have in common by accident
    shown = flou.protect.Rounding(3).protect(_town(PEOPLE).tabulate(["u"], margins=False, cells="all"))
    everybody = [f"{area}{u}{v}" for area in "ABC" for u in "ab" for v in "xy"]
    found = flou.attack.Reconstruction(mode="feasible").run(
        shown, truth=_town(PEOPLE), control=_town(everybody[:8]), secret=1
    )
    wide = replace(found, figures=with_values(flou.attack.Reconstruction.figures, {**found.figures, "lift": -1.63}))
    assert "what was left to find: -163.0%" in str(wide)
    assert percent(-0.00001) == "-0.001"


def test_an_area_is_compared_with_every_other_area_and_not_with_itself() -> None:
    made = flou.tabulate_many(_town(PEOPLE), DIMS, cells="all")
    found = flou.attack.Reconstruction(mode="feasible", block="area").run(made, truth=_town(PEOPLE), secret=1)
    hits = [area + p[1:] in PEOPLE for p in PEOPLE for area in "ABC" if area != p[0]]
    assert found.baseline == sum(hits) / len(hits) == 10 / 16
