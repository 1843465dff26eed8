"""Hierarchies: four ways to make one, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import flou
from flou.describe.bands import band_at
from flou.describe.hierarchy import ROOT, Hierarchy
from flou.engine.errors import HierarchyError


def test_bands_by_width_and_by_bounds() -> None:
    widths = Hierarchy.bands(5, 10, 20)
    assert widths.height == 4
    assert [widths.generalise([63], n)[63] for n in range(5)] == [63, "60-64", "60-69", "60-79", ROOT]
    bounds = Hierarchy.bands([60, 65, 75], [60, 75])
    assert bounds.generalise([59, 60, 64, 70, 99], 1) == {59: "<60", 60: "60-64", 64: "60-64", 70: "65-74", 99: "75+"}
    assert bounds.generalise([70], 2)[70] == "60-74"
    assert Hierarchy.bands(0.5).generalise([1.2], 1)[1.2] == "[1, 1.5)"


@given(st.lists(st.integers(-500, 500), min_size=1), st.sampled_from([(5, 10, 20), (3, 9, 27), (1, 100)]))
def test_bands_nest(values: list[int], widths: tuple[int, ...]) -> None:
    """Two values that share a band at one level share it at every coarser level."""
    hierarchy = Hierarchy.bands(*widths)
    for level in range(1, hierarchy.height):
        fine, coarse = hierarchy.generalise(values, level), hierarchy.generalise(values, level + 1)
        parent: dict[object, object] = {}
        for value in values:
            assert parent.setdefault(fine[value], coarse[value]) == coarse[value]


def test_bands_nest_beside_a_bound() -> None:
    """A number just below a bound lies below it at every level, on it above."""
    hierarchy = Hierarchy.bands(0.5, 1, [0, 1, 2])
    for value, labels in {0.9999999992: ["[0.5, 1)", "[0, 1)", "[0, 1)"], 1.0: ["[1, 1.5)", "[1, 2)", "[1, 2)"]}.items():  # fmt: skip
        assert [hierarchy.generalise([value, 1.25], n)[value] for n in (1, 2, 3)] == labels
    narrow = Hierarchy.bands(1e-12).generalise([3e-12, 7e-12, 1e308], 1)
    assert narrow[3e-12] == "[0.000000000003, 0.000000000004)"


@given(st.floats(-1e6, 1e6), st.sampled_from([0.1, 2, 7.5, 1000]))
def test_a_value_lies_in_its_band(value: float, width: float) -> None:
    label = band_at(value, (width,), 1, False)
    assert label is not None
    low, high = (float(x) for x in label[1:-1].split(","))
    assert low - 1e-4 * max(1, abs(low)) <= value <= high + 1e-4 * max(1, abs(high))


def test_prefix() -> None:
    hierarchy = Hierarchy.prefix(3, 2)
    assert [hierarchy.generalise(["75013"], n)["75013"] for n in range(4)] == ["75013", "750**", "75***", ROOT]


def test_tree_and_names() -> None:
    hierarchy = Hierarchy.tree({"France": {"North": ["59", "62"], "South": ["13"]}}, names=["region", "country"])
    assert hierarchy.height == 2
    assert hierarchy.generalise(["13", "59"], "region") == {"13": "South", "59": "North"}
    assert hierarchy.generalise([59], "country") == {59: "France"}
    with pytest.raises(flou.FlouError, match="region"):
        hierarchy.level_number("regoin")


@pytest.mark.parametrize("delimiter", [";", ","])
def test_csv_as_arx_writes_it(tmp_path: Path, delimiter: str) -> None:
    path = tmp_path / "age.csv"
    path.write_text(
        "\n".join(delimiter.join(r) for r in [("1", "0-4", "*"), ("2", "0-4", "*"), ("7", "5-9", "*")]) + "\n"
    )
    hierarchy = Hierarchy.from_csv(path)
    assert hierarchy.height == 2
    assert hierarchy.generalise([1, 7], 1) == {1: "0-4", 7: "5-9"}
    assert hierarchy.generalise(["2"], 2) == {"2": "*"}


def test_values_not_covered_are_listed() -> None:
    hierarchy = Hierarchy.tree({"North": ["59"], "South": ["13"]})
    with pytest.raises(flou.FlouError, match=r"'2A', '75'"):
        hierarchy.generalise(["59", "2A", "75"], 1)
    assert hierarchy.generalise(["59", "99"], 1, keep=["99"]) == {"59": "North", "99": "99"}


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Hierarchy.bands(5, 12), "contain"),
        (lambda: Hierarchy.bands([60, 70], [60, 65]), "contain"),
        (lambda: Hierarchy.bands([60, 70], 10), "contain"),
        (lambda: Hierarchy.bands(-1), "positive"),
        (lambda: Hierarchy.bands([3, 1]), "rise"),
        (lambda: Hierarchy.bands(), "at least one"),
        (lambda: Hierarchy.prefix(2, 3), "shorter"),
        (lambda: Hierarchy.prefix(0), "at least 1"),
        (lambda: Hierarchy.tree({"A": ["x"], "B": ["x"]}), "two parents"),
        (lambda: Hierarchy.tree({"A": ["x"], "B": {"C": ["y"]}}), "ancestors"),
        (lambda: Hierarchy.tree({}), "needs values"),
        (lambda: Hierarchy.bands(5, names=["a", "b", "c"]), "names"),
    ],
)
def test_what_is_not_a_hierarchy_is_refused(make: object, message: str) -> None:
    with pytest.raises(flou.FlouError, match=message):
        make()  # type: ignore[operator]


@pytest.mark.parametrize(
    "hierarchy",
    [
        Hierarchy.bands(5, 10, names=["five"]),
        Hierarchy.bands([1, 2]),
        Hierarchy.prefix(2, 1),
        Hierarchy.tree({"a": ["x"]}),
    ],
)
def test_round_trip_through_a_schema_file(tmp_path: Path, hierarchy: Hierarchy) -> None:
    schema = flou.Schema(keys=["x"], hierarchies={"x": hierarchy})
    schema.save(tmp_path / "s.toml")
    assert flou.Schema.load(tmp_path / "s.toml").hierarchies["x"] == hierarchy


def test_a_line_of_headings_is_not_taken_for_a_value(tmp_path: Path) -> None:
    path = tmp_path / "jobs.csv"
    path.write_text("occupation;collar;all\nclerk;white;*\nminer;blue;*\n", encoding="utf-8")
    with pytest.raises(flou.FlouError, match="headings"):
        Hierarchy.from_csv(path)


def test_a_value_that_is_a_group_is_not_asked_to_be_added() -> None:
    """It stands in the hierarchy, as what others lie in."""
    areas = flou.Hierarchy.tree({"North": ["59", "62"], "South": ["13"]})
    with pytest.raises(HierarchyError, match=r"groups of other values there: 'North'.*as not applicable\.$"):
        areas.generalise(["59", "North"], 1)
    with pytest.raises(HierarchyError, match=r"'North'.*Add the others to it"):
        areas.generalise(["59", "North", "2A"], 1)
    assert areas.generalise(["59", "North"], 1, keep=["North"]) == {"59": "North", "North": "North"}
