"""Tables that list some of their cells, as printed reports do: what is not listed is unknown, and may be anything."""

from __future__ import annotations

import itertools
import random
from functools import cache
from typing import Any, Literal

import numpy as np
import polars as pl
import pytest
from numpy.typing import NDArray
from tests.depth import at_depth

import flou
from flou.describe.mechanism.mechanism import Mechanism
from flou.engine.errors import DataError, ParameterError

Shown = dict[tuple[str, str], int | None]
#: The most people that the enumeration takes into account.
MOST = 9


def published(shown: Shown, **options: Any) -> flou.Table:
    rows = [(a, b, count) for (a, b), count in shown.items()]
    frame = pl.DataFrame(rows, schema={"a": pl.String, "b": pl.String, "count": pl.Int64}, orient="row")
    return flou.Table.from_published(frame, ["a", "b"], **options)


def in_part(rnd: random.Random, mechanism: Mechanism | None = None) -> tuple[Shown, dict[str, list[str]]]:
    """A table of two or three by two categories of which some cells are listed, some of these suppressed."""
    a, b = [f"a{i}" for i in range(rnd.choice([2, 3]))], ["b0", "b1"]
    true = {cell: rnd.choice([0, 0, 1, 1, 2, 3]) for cell in itertools.product(a, b)}
    whole = {
        (u, v): sum(n for (x, y), n in true.items() if u in (x, "Total") and v in (y, "Total"))
        for u in [*a, "Total"]
        for v in [*b, "Total"]
    }
    listed = {cell: n for cell, n in whole.items() if rnd.random() < 0.7}
    shown: Shown = {cell: None if rnd.random() < 0.3 else drawn(n, mechanism, rnd) for cell, n in listed.items()}
    named = [{cell[j] for cell in shown} - {"Total"} for j in (0, 1)]
    return shown, {"a": [x for x in a if x in named[0]], "b": [x for x in b if x in named[1]]}


def drawn(n: int, mechanism: Mechanism | None, rnd: random.Random) -> int:
    """A count as the mechanism publishes it."""
    if mechanism is None:
        return n
    return int(rnd.choices(mechanism.targets(n), mechanism.row(n))[0])


def fitting(
    shown: Shown, domain: dict[str, list[str]], least: int, mechanism: Mechanism | None = None
) -> tuple[list[tuple[str, str]], NDArray[np.int64]]:
    """Every table of at most `MOST` people of which this may be published: one row per table, one column per cell."""
    cells = list(itertools.product(*domain.values()))
    tables = every_table(len(cells))
    for cell, n in shown.items():
        tables = tables[may_be_shown(sums(cell, cells, tables), n, least, mechanism)]
    return cells, tables


def sums(cell: tuple[str, str], cells: list[tuple[str, str]], tables: NDArray[np.int64]) -> NDArray[np.int64]:
    """The count of a cell, or of a margin, in each table."""
    inside = [cell[0] in (x, "Total") and cell[1] in (y, "Total") for x, y in cells]
    return np.asarray(tables[:, inside].sum(axis=1))


def may_be_shown(true: NDArray[np.int64], n: int | None, least: int, mechanism: Mechanism | None) -> NDArray[np.bool_]:
    """Which true counts may be shown so; one that is withheld is `least` at least."""
    if n is None:
        return true >= least
    return true == n if mechanism is None else np.asarray(mechanism.probability(np.full_like(true, n), true) > 0)


@cache
def every_table(n_cells: int) -> NDArray[np.int64]:
    return np.array(at_most(MOST, n_cells), dtype=np.int64)


def at_most(n: int, parts: int) -> list[tuple[int, ...]]:
    """All ways to have at most `n` people in so many cells."""
    if parts == 0:
        return [()]
    return [(first, *rest) for first in range(n + 1) for rest in at_most(n - first, parts - 1)]


MECHANISMS = {
    "true": None,
    "rounding": flou.protect.Rounding(3).mechanism,
    "random rounding": flou.protect.RandomRounding(3).mechanism,
}


@pytest.mark.parametrize("mechanism", MECHANISMS.values(), ids=MECHANISMS)
@pytest.mark.parametrize("zeros", ["may be withheld", "shown"])
def test_bounds_and_certain_records_of_a_table_listed_in_part(
    zeros: Literal["may be withheld", "shown"], mechanism: Mechanism | None
) -> None:
    """Three attacks against enumeration: a cell that is not listed allows whatever the others allow."""
    tried = 0
    for seed in range(at_depth(10, 300)):
        shown, domain = in_part(random.Random(seed), mechanism)
        cells, tables = fitting(shown, domain, int(zeros == "shown"), mechanism)
        if not len(tables) or not cells:
            continue
        tried += 1
        table = published(shown, zeros=zeros, mechanism=mechanism)
        rebuilt = flou.attack.Reconstruction(max_total=MOST, domain=domain).reconstruct(table, secret=1)
        certain = {(row["a"], row["b"]): row["count"] for row in rebuilt.certain.to_dicts()}
        for (a, b), low, high in zip(cells, tables.min(axis=0), tables.max(axis=0), strict=True):
            bounds = rebuilt.bounds({"a": a, "b": b})
            assert (bounds.low, bounds.high, bounds.exact) == (low, high, True), (shown, a, b)
            assert certain.get((a, b), 0) == low, (shown, a, b)
        # programs know of no largest number of people
        ends = tables.sum(axis=1).max() < MOST
        for a, b, low, high in flou.attack.CellBounds().run(table).bounds().select("a", "b", "low", "high").rows():
            true = sums((a, b), cells, tables)
            reached = (low, high) == (true.min(), true.max())
            assert reached if ends else low <= true.min() <= true.max() <= high, (shown, a, b)
    assert tried > at_depth(3, 150)


@pytest.mark.parametrize("cells", ["as given", "all"])
def test_a_margin_that_is_not_listed_is_no_published_zero(cells: Any) -> None:
    shown: Shown = {("a0", "b0"): None, ("a0", "b1"): None, ("a1", "b0"): 3, ("a1", "b1"): 4, ("a1", "Total"): 7}
    domain = {"a": ["a0", "a1"], "b": ["b0", "b1"]}
    attack = flou.attack.Reconstruction(domain=domain, max_total=100)
    bounds = attack.reconstruct(published(shown, cells=cells), secret=1).bounds({"a": "a0"})
    assert (bounds.low, bounds.high, bounds.exact) == (0, 93, True)


def test_a_list_of_all_occupied_cells_has_the_margins_of_all_of_them() -> None:
    shown: Shown = {("a0", "b0"): None, ("a1", "b0"): 3, ("a1", "Total"): 3}
    with pytest.raises(DataError, match="a0 × Total is not, though a0 × b0 is"):
        published(shown, cells="occupied")
    shown |= {("a0", "Total"): None}
    table = published({**shown, ("Total", "Total"): 5, ("Total", "b0"): 5}, cells="occupied")
    found = flou.attack.CellBounds().run(table).bounds()
    assert found.filter(a="a0", b="Total").select("low", "high").row(0) == (2, 2)


def test_an_empty_cell_needs_no_margin() -> None:
    shown: Shown = {("a0", "b0"): 0, ("a1", "b0"): 3, ("a1", "Total"): 3}
    assert flou.attack.CellBounds().run(published(shown, cells="occupied")).value == 0


def test_categories_that_are_declared_may_hold_those_who_are_missing() -> None:
    """x is 2 if the table names all categories, and 0 to 2 if there is a third one."""
    frame = pl.DataFrame({"a": ["x", "y", "Total"], "count": [None, 3, 5]})
    schema = flou.Schema(keys=["a"], modalities={"a": ["x", "y", "z"]})
    named = flou.attack.CellBounds().run(flou.Table.from_published(frame, ["a"]))
    assert named.bounds().select("low", "high").rows() == [(2, 2)]
    assert "the values of a are taken to be those that the tables name" in str(named)
    table = flou.Table.from_published(frame, ["a"], schema=schema)
    declared = flou.attack.CellBounds().run(table)
    assert declared.bounds().select("low", "high").rows() == [(0, 2)]
    assert "are taken to be" not in str(declared)
    bounds = flou.attack.Reconstruction().reconstruct(table, secret=1).bounds(a="x")
    assert (bounds.low, bounds.high, bounds.exact) == (0, 2, True)


def test_nothing_is_shown_of_a_cell_that_is_not_listed() -> None:
    shown: Shown = {("a0", "b0"): 3, ("a1", "Total"): 6, ("a0", "Total"): 6, ("Total", "Total"): 12, ("a1", "b1"): 3}
    noise = flou.protect.RandomRounding(3).mechanism
    table = published(shown, mechanism=noise)
    assert table.cell(a="a1", b="b0") == {"a": "a1", "b": "b0", "count": None, "status": "not listed"}
    assert table.to_html().count('<td class="nil"></td>') == 4
    for compute in (
        lambda t: t.ratio({"a": "a1", "b": "b0"}, {"a": "a1"}),
        lambda t: t.mean("b", {"b0": 0, "b1": 1}),
    ):
        with pytest.raises(DataError, match="not listed, and nothing is known of them"):
            compute(table)
        compute(published(shown, mechanism=noise, cells="occupied"))
    assert table.ratio({"a": "a0", "b": "b0"}, {"a": "a0"}).value == 0.5


def test_an_empty_cell_that_is_withheld_against_the_rules_is_not_held_occupied() -> None:
    frame = pl.DataFrame({"a": ["x", "y", "z", "Total"], "count": [0, 2, 8, 10]})
    made = flou.Table.from_frame(frame, ["a"], cells="all")
    rules = [flou.risk.Threshold(3)]
    said = [{"a": "x", "action": "protect"}]
    release = flou.protect.CellSuppression(rules, apriori=said).protect(made)
    assert release.data.published.hidden.tolist()[1:3] == [True, True]
    bounds = flou.attack.Reconstruction().reconstruct(release, secret=1).bounds(a="x")
    assert bounds.low == 0


def test_zeros_may_be_withheld_unless_the_caller_says_that_they_are_shown() -> None:
    frame = pl.DataFrame({"a": ["x", "y", "z", "w", "Total"], "count": [None, None, 0, 10, 13]})

    def bounds(**options: Any) -> Any:
        found = flou.attack.CellBounds().run(flou.Table.from_published(frame, ["a"], **options))
        return found, found.bounds().select("low", "high").rows()

    cautious, rows = bounds()
    assert rows == [(0, 3), (0, 3)] == bounds(zeros="may be withheld")[1]
    assert bounds(zeros="shown")[1] == [(1, 2), (1, 2)]
    assert "if none were, no further cell would be known exactly" in str(cautious)
    with pytest.raises(ParameterError, match='must be "shown" or "may be withheld"'):
        bounds(zeros="published")


@pytest.mark.parametrize(
    ("counts", "said"),
    [([None, None, 8, 10], "if none were, 2 cells would be known exactly"),
     ([None, None, 8, 9], "a suppressed cell is empty for certain")],
)  # fmt: skip
def test_what_shown_zeros_would_prove_stands_beside_the_bounds(counts: list[int | None], said: str) -> None:
    frame = pl.DataFrame({"a": ["x", "y", "z", "Total"], "count": counts})
    found = flou.attack.CellBounds().run(flou.Table.from_published(frame, ["a"]))
    assert found.n_exact == 0
    assert said in str(found)


def test_what_shown_zeros_would_prove_of_people() -> None:
    frame = pl.DataFrame({"a": ["x", "y", "z", "w", "Total"], "count": [None, None, 0, 10, 13]})
    attack = flou.attack.Reconstruction()
    found = attack.reconstruct(flou.Table.from_published(frame, ["a"]), secret=1)
    assert found.found.n_certain == 10
    assert "if none were, 12 people would be certain" in str(found)
    assert "the values of a are taken to be those that the tables name" in str(found)
    said = flou.Table.from_published(
        frame, ["a"], zeros="shown", schema=flou.Schema(keys=["a"], modalities={"a": list("wxyz")})
    )
    assert str(attack.reconstruct(said, secret=1)) == "13 people rebuilt from tables, 12 of them for certain"
    assert attack.reconstruct(said, secret=1).found.n_certain == 12


def test_linked_tables_typed_from_a_page_need_nothing_but_their_cells() -> None:
    """Three tables of one population, two of three attributes each, against every population that fits."""
    people = {("f", "young", "in"): 1, ("f", "old", "in"): 2, ("m", "young", "out"): 1, ("m", "old", "in"): 1}
    axes = {"sex": ["f", "m"], "age": ["young", "old"], "work": ["in", "out"]}
    names = list(axes)
    cells = list(itertools.product(*axes.values()))
    tables, shown = [], []
    for i, j in [(0, 1), (0, 2), (1, 2)]:
        rows = []
        for u, v in itertools.product([*axes[names[i]], "Total"], [*axes[names[j]], "Total"]):
            n = sum(c for who, c in people.items() if u in (who[i], "Total") and v in (who[j], "Total"))
            count = None if n in (1, 2) else n
            inside = [k for k, who in enumerate(cells) if u in (who[i], "Total") and v in (who[j], "Total")]
            rows.append((u, v, count))
            shown.append((inside, count))
        schema = {names[i]: pl.String, names[j]: pl.String, "count": pl.Int64}
        frame = pl.DataFrame(rows, schema=schema, orient="row")
        tables.append(flou.Table.from_published(frame, [names[i], names[j]], name=f"{names[i]} by {names[j]}"))
    fit = [t for t in at_most(5, 8) if all(n is None or sum(t[k] for k in inside) == n for inside, n in shown)]
    assert len(fit) > 1
    found = flou.attack.Reconstruction().reconstruct(flou.TableSet.of(tables), secret=1)
    for k, who in enumerate(cells):
        bounds = found.bounds(dict(zip(names, who, strict=True)))
        assert (bounds.low, bounds.high, bounds.exact) == (min(t[k] for t in fit), max(t[k] for t in fit), True)


def test_a_category_that_no_table_names_is_no_contradiction() -> None:
    """21 of the 22 are men, and the one woman is printed nowhere."""
    people = pl.DataFrame({"live": ["A", "B"], "count": [22, 9]})
    men = pl.DataFrame({"live": ["A"], "sex": ["male"], "count": [21]})

    def rebuilt(schema: flou.Schema | None = None, **options: Any) -> Any:
        tables = [
            flou.Table.from_published(people, ["live"], schema=schema, name="people"),
            flou.Table.from_published(men, ["live", "sex"], schema=schema, name="men"),
        ]
        return flou.attack.Reconstruction(**options).reconstruct(flou.TableSet.of(tables), secret=1)

    with pytest.raises(DataError, match="or there are categories that they do not name") as caught:
        rebuilt()
    assert "  - sex: 'male'\nIf not, name all: domain={'live': […], 'sex': […]}" in str(caught.value)
    women = rebuilt(domain={"live": ["A", "B"], "sex": ["male", "female"]}).bounds(live="A", sex="female")
    assert (women.low, women.high) == (1, 1)
    with pytest.raises(DataError, match="The tables contradict each other: no population has all that they show"):
        rebuilt(flou.Schema(keys=["live", "sex"], modalities={"live": ["A", "B"], "sex": ["male"]}))


def test_who_knows_a_cell_of_a_published_table_says_its_figure() -> None:
    frame = pl.DataFrame({"a": ["x", "y", "z", "Total"], "count": [None, None, None, 13]})
    table = flou.Table.from_published(frame, ["a"])
    with pytest.raises(ParameterError, match="does not hold them") as caught:
        flou.attack.CellBounds().run(table).bounds(known=[{"a": "x"}])
    said = str(caught.value)
    known = eval(said[said.index("apriori=") + 8 : said.rindex(")")])  # the message gives the line that works
    assert flou.attack.CellBounds(apriori=known).run(table).bounds().select("low", "high").rows() == [
        (3, 3), (0, 10), (0, 10)
    ]  # fmt: skip


def test_an_attack_sees_that_somebody_is_in_a_withheld_cell() -> None:
    """The same people and the same pattern, whether empty cells are listed or not."""
    people = [("x", "u")] + [("x", "v")] * 5 + [("y", "u")] * 2 + [("y", "v")] * 4
    rows = pl.DataFrame(people, schema=["a", "b"], orient="row")
    found = {}
    for cells in ("occupied", "all"):
        made = flou.Microdata(rows).tabulate(["a", "b"], cells=cells)
        release = flou.protect.CellSuppression([flou.risk.Threshold(3)]).protect(made)
        rebuilt = flou.attack.Reconstruction(max_total=20).reconstruct(release, secret=1)
        closest = flou.attack.CellBounds().run(release.data.public()).bounds()
        hidden = closest.filter((pl.col("a") != "Total") & (pl.col("b") != "Total"))
        for a, b, low, high in hidden.select("a", "b", "low", "high").rows():
            bounds = rebuilt.bounds({"a": a, "b": b})
            assert (bounds.low, bounds.high, bounds.exact) == (low, high, True)
        found[cells] = rebuilt.certain.sort("a", "b").rows()
    assert found["all"] == found["occupied"]
    assert min(count for *_, count in found["all"]) >= 1
    assert len(found["all"]) == 4


def test_averaging_takes_no_missing_cell_for_a_zero() -> None:
    """A total that is listed without all of its parts is no sum of those that are."""
    frame = pl.DataFrame({"a": ["x", "Total"], "b": ["Total", "Total"], "count": [3, 9]})
    more = pl.DataFrame({"a": ["x", "x", "y"], "b": ["u", "v", "u"], "count": [3, 0, 3]})
    noise = flou.protect.RandomRounding(3).mechanism
    people = flou.Microdata(pl.DataFrame({"a": ["x"] * 3 + ["y"] * 6, "b": ["u"] * 3 + ["v", "u"] * 3}))
    seen = flou.Table.from_published(pl.concat([frame, more]), ["a", "b"], mechanism=noise)
    found = flou.attack.Averaging().run(seen, truth=people)
    cells = found.cells.filter(a="y", b="v")
    assert cells["estimates"].to_list() == [0]
    assert found.cells.filter(a="Total", b="Total")["estimates"].to_list() == [1]
