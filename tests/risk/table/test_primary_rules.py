"""The rules for counts and amounts against their definitions, contributor by contributor, on tables of all kinds."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import permutations, product
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.depth import examples

import flou
from flou.engine.errors import DataError, ParameterError
from flou.risk.table.contributions import fill_from_top
from flou.risk.table.primary_rule import PrimaryRule, combine

R = flou.risk

#: Records: two dimensions, an amount, a holding, a whole weight.
RECORDS = st.lists(
    st.tuples(
        st.sampled_from("ab"),
        st.sampled_from("xyz"),
        st.one_of(st.integers(0, 12), st.integers(0, 2000)),
        st.integers(0, 5),
        st.integers(1, 4),
    ),
    min_size=1,
    max_size=25,
)


def frame_of(records: list[tuple[Any, ...]]) -> pl.DataFrame:
    return pl.DataFrame(records, schema=["one", "two", "amount", "holder", "w"], orient="row")


def table_of(records: list[tuple[Any, ...]], kind: str, largest: int = 3) -> flou.Table:
    options: dict[str, Any] = {"holding": {"holding": "holder"}, "weight": {"weight": "w"}}.get(kind, {})
    return flou.Microdata(frame_of(records)).tabulate(["one", "two"], value="amount", largest=largest, **options)


def contributions(records: list[tuple[Any, ...]], kind: str) -> dict[tuple[str, str], list[int]]:
    """What each contributor gives to each cell, one by one: holdings merged, weights as copies."""
    out: dict[tuple[str, str], dict[Any, int]] = {}
    for number, (one, two, amount, holder, weight) in enumerate(records):
        for cell in {(a, b) for a in (one, "Total") for b in (two, "Total")}:
            held = out.setdefault(cell, {})
            for copy in range(weight if kind == "weight" else 1):
                name: Any = holder if kind == "holding" else (number, copy)
                held[name] = held.get(name, 0) + amount
    return {cell: sorted(held.values(), reverse=True) for cell, held in out.items()}


def levels_by_definition(rule: PrimaryRule, x: list[int]) -> Fraction:
    """The level of one cell in exact arithmetic; not above 0: not sensitive."""
    total, padded = sum(x), [*x, 0, 0]
    rest = total - padded[0] - padded[1]
    if isinstance(rule, R.PPercent):
        return Fraction(str(rule.p)) / 100 * padded[0] - rest
    if isinstance(rule, R.PQ):
        return Fraction(str(rule.p)) / Fraction(str(rule.q)) * padded[0] - rest
    assert isinstance(rule, R.Dominance)
    return Fraction(100) / Fraction(str(rule.k)) * sum(x[: rule.n]) - total


AMOUNT_RULES = [
    R.PPercent(10),
    R.PPercent(35.5),
    R.PPercent(99),
    R.PQ(p=10, q=50),
    R.PQ(p=20, q=25),
    R.Dominance(n=1, k=80),
    R.Dominance(n=2, k=90),
    R.Dominance(n=3, k=45),
]


@pytest.mark.parametrize("kind", ["records", "holding", "weight"])
@pytest.mark.parametrize("rule", AMOUNT_RULES, ids=lambda r: r.label)
@examples(40)
@given(records=RECORDS)
def test_amounts_by_definition(rule: PrimaryRule, kind: str, records: list[tuple[Any, ...]]) -> None:
    table = table_of(records, kind)
    found = rule.sensitive(table)
    held = contributions(records, kind)
    for cell, labels in enumerate(table.labels().iter_rows()):
        x = held[labels]
        level = levels_by_definition(rule, x)
        assert found.cells[cell] == (level > 0), (labels, x)
        expected = float(max(level, Fraction(0)))
        assert found.levels["value"].upper[cell] == pytest.approx(expected, rel=1e-9)
        assert found.levels["value"].lower[cell] == pytest.approx(min(expected, sum(x)), rel=1e-9)


@pytest.mark.parametrize("kind", ["records", "holding", "weight"])
@examples(60)
@given(records=RECORDS, n=st.integers(2, 6))
def test_thresholds_by_definition(kind: str, records: list[tuple[Any, ...]], n: int) -> None:
    table = table_of(records, kind)
    found = R.Threshold(n).sensitive(table)
    frame = frame_of(records)
    for cell, (one, two) in enumerate(table.labels().iter_rows()):
        inside = frame.filter((pl.col("one") == one) | (one == "Total"), (pl.col("two") == two) | (two == "Total"))
        m = inside["holder"].n_unique() if kind == "holding" else inside.height
        assert found.cells[cell] == (m < n)
        shown = inside["w"].sum() if kind == "weight" else inside.height
        asked = found.levels["count"].upper[cell]
        if m >= n:
            assert asked == 0
        elif kind == "weight":
            assert asked == pytest.approx((n - m) * shown / m)
        else:
            assert asked == -(-(n - m) * shown // m), "rounded up to whole people"
            assert shown + asked >= n
        value = float((inside["amount"] * (inside["w"] if kind == "weight" else 1)).sum())
        if m < n and value > 0:
            assert found.levels["value"].upper[cell] == found.levels["value"].lower[cell] == pytest.approx(value / 10)


@examples(60)
@given(records=RECORDS, small=st.integers(1, 98), more=st.integers(1, 98))
def test_stricter_parameters_never_free_a_cell(records: list[tuple[Any, ...]], small: int, more: int) -> None:
    low, high = min(small, more), max(small, more)
    for kind in ("records", "holding", "weight"):
        table = table_of(records, kind)
        for lax, strict in (
            (R.PPercent(low), R.PPercent(high)),
            (R.PQ(p=1, q=high + 1), R.PQ(p=1, q=low + 1)),
            (R.Dominance(n=2, k=high), R.Dominance(n=2, k=low)),
            (R.Dominance(n=1, k=high), R.Dominance(n=2, k=high)),
            (R.Threshold(low + 1), R.Threshold(high + 1)),
        ):
            few, many = lax.sensitive(table), strict.sensitive(table)
            assert not (few.cells & ~many.cells).any(), (lax, strict)
            for figure, levels in few.levels.items():
                assert (levels.upper <= many.levels[figure].upper * (1 + 1e-12)).all()


@examples(40)
@given(records=RECORDS, chosen=st.sets(st.integers(0, len(AMOUNT_RULES) - 1)))
def test_more_rules_never_free_a_cell(records: list[tuple[Any, ...]], chosen: set[int]) -> None:
    table = table_of(records, "records")
    some = combine([AMOUNT_RULES[i] for i in sorted(chosen)], table)
    all_of_them = combine([*AMOUNT_RULES, R.Threshold(3)], table)
    assert not (some.cells & ~all_of_them.cells).any()
    assert some.because.shape == (table.n_cells, len(chosen))
    if chosen:
        assert (some.levels["value"].upper <= all_of_them.levels["value"].upper).all()


@examples(40)
@given(records=RECORDS, p=st.integers(1, 99))
def test_pq_without_prior_knowledge_is_p_percent(records: list[tuple[Any, ...]], p: int) -> None:
    for kind in ("records", "holding", "weight"):
        table = table_of(records, kind)
        ours, theirs = R.PPercent(p).sensitive(table), R.PQ(p=p, q=100).sensitive(table)
        assert np.array_equal(ours.cells, theirs.cells)
        assert np.allclose(ours.levels["value"].upper, theirs.levels["value"].upper)


def amounts(x: list[float], **more: Any) -> flou.Table:
    """A table of one cell with these contributions."""
    frame = pl.DataFrame({"a": ["c"] * len(x), "x": x, **more})
    return flou.Microdata(frame).tabulate(["a"], value="x", margins=False, weight="w" if "w" in more else None)


def level(rule: PrimaryRule, table: flou.Table, figure: Any = "value") -> tuple[bool, float, float]:
    found = rule.sensitive(table)
    return bool(found.cells[0]), float(found.levels[figure].lower[0]), float(found.levels[figure].upper[0])


def test_a_tie_is_not_sensitive() -> None:
    assert level(R.PPercent(10), amounts([100.0, 50.0, 10.0])) == (False, 0, 0)
    assert level(R.PPercent(10), amounts([100.0, 50.0, 9.0]))[0]
    tenths = amounts([0.7, 0.7, 0.07])  # a tie but for what floats lose
    assert tenths.true_values[0] - 0.7 - 0.7 != 0.07
    assert not level(R.PPercent(10), tenths)[0]
    assert not level(R.Dominance(n=1, k=80), amounts([80.0, 20.0]))[0]
    assert level(R.Dominance(n=1, k=80), amounts([81.0, 19.0]))[0]


def test_one_contributor_and_none_who_gives() -> None:
    assert level(R.PPercent(10), amounts([50.0])) == (True, 5, 5)
    assert level(R.PQ(p=10, q=50), amounts([50.0])) == (True, 10, 10)
    assert level(R.Dominance(n=2, k=80), amounts([50.0])) == (True, 12.5, 12.5)
    for rule in AMOUNT_RULES:
        assert level(rule, amounts([0.0, 0.0])) == (False, 0, 0), "nobody's amount is close to another's"


def test_a_sum_of_0_has_levels_all_the_same() -> None:
    """Those who give 0 are in the cell, and a bound of 0 on either side would ask for nothing."""
    frame = pl.DataFrame({"a": ["c", "c", "d", "d", "d"], "x": [0.0, 0.0, 30.0, 30.0, 40.0]})
    table = flou.Microdata(frame).tabulate(["a"], value="x")
    found = R.Threshold(3).sensitive(table)
    place = table.labels()["a"].to_list().index("c")
    assert found.cells.tolist() == [label == "c" for label in table.labels()["a"]]
    assert found.levels["value"].upper[place] == pytest.approx(0.1 * 3 * 200 / 10), "3 contributors of the mean, 20"
    assert found.levels["value"].lower[place] == 0, "nothing in the table is negative: nobody looks below 0"
    nothing = amounts([0.0, 0.0])
    assert level(R.Threshold(3), nothing) == (True, 0, pytest.approx(0.3))


def test_gains_and_losses() -> None:
    """What the others give is known as a sum alone, in which they may cancel: no more than that sum protects."""
    cancelled = amounts([100.0, 60.0, -30.0, 30.0])
    assert level(R.PPercent(10), cancelled) == (True, 10, 10)
    assert level(R.PPercent(10), amounts([-100.0, -60.0, -3.0]))[1:] == pytest.approx((7, 7))
    assert level(R.PPercent(10), amounts([-100.0, 60.0, -15.0]))[0] is False
    assert level(R.Dominance(n=1, k=80), amounts([100.0, -100.0]))[0] is False, "each gives half of what moved"
    assert level(R.Dominance(n=2, k=80), amounts([100.0, -100.0]))[1:] == (50, 50)
    assert level(R.Threshold(3), amounts([100.0, -100.0])) == (True, 10, 10), "of the largest, where the sum is 0"


@examples(100)
@given(x=st.lists(st.integers(-50, 50), min_size=1, max_size=8))
def test_signs_never_free_a_cell(x: list[int]) -> None:
    """What is sensitive when all amounts are taken by their size is so with their signs."""
    signed, sizes = amounts([float(v) for v in x]), amounts([float(abs(v)) for v in x])
    for rule in AMOUNT_RULES:
        ours, bare = level(rule, signed), level(rule, sizes)
        assert ours[0] >= bare[0]
        assert ours[2] >= bare[2] * (1 - 1e-12)


def test_weights_fill_from_the_top() -> None:
    top = fill_from_top(np.array([330.0]), np.array([[100.0, 40.0]]), np.array([[2.5, 2.0]]), 3)
    assert (top.sizes[0], top.rest[0]) == (2.5 * 100 + 0.5 * 40, 330 - 270)
    # two estimated contributors of 100: neither is known by the other's share of one of 250
    heavy = amounts([100.0, 1.0], w=[2.5, 1.0])
    assert level(R.Dominance(n=1, k=80), heavy)[0] is False
    assert level(R.PPercent(60), heavy)[1:] == pytest.approx((9, 9))


def test_a_weight_below_1_is_a_whole_contributor() -> None:
    alone = amounts([100.0], w=[0.5])
    assert level(R.PPercent(10), alone) == (True, 10, 10)
    assert level(R.Dominance(n=1, k=80), alone) == (True, 25, 25)
    assert level(R.PPercent(60), alone) == (True, 50, 60), "the estimate is 50: nothing is below 0"
    # 320 is published; who gives 90 and subtracts it is 130 off the 100, not 180
    assert level(R.PQ(p=90, q=91), amounts([100.0, 90.0], w=[0.5, 3.0]))[0] is False
    top = fill_from_top(np.array([320.0]), np.array([[100.0, 90.0]]), np.array([[0.5, 3.0]]), 2)
    assert (top.sizes[0], top.rest[0]) == (190, 130)
    weightless = amounts([100.0, 90.0], w=[0.0, 0.0])
    assert level(R.Threshold(3), weightless, "count")[::2] == (True, 1.0), "an estimate of 0 asks for something too"


def test_zeros_are_sensitive_where_asked_for_and_possible() -> None:
    frame = pl.DataFrame({"a": ["p", "p", "q"], "b": ["x", "y", "x"], "v": [1.0, 2.0, 3.0]})
    data = flou.Microdata(
        frame, keys=["a", "b"], modalities={"a": ["p", "q"], "b": ["x", "y", "z"]}, incoherent=[{"a": "q", "b": "z"}]
    )
    table = data.tabulate(["a", "b"], cells="all", value="v")
    labels = list(table.labels().iter_rows())
    found = R.Threshold(2, zeros=True).sensitive(table)
    empty = [cell for cell, n, flag in zip(labels, table.true_counts, found.cells, strict=True) if not n and flag]
    assert empty == [("Total", "z"), ("p", "z"), ("q", "y")], "nobody can be in (q, z)"
    place = labels.index(("q", "y"))
    assert found.levels["count"].upper[place] == 2
    assert found.levels["value"].upper[place] == pytest.approx(0.1 * 2 * 24 / 12), "two contributors of the mean"
    assert found.levels["value"].lower[place] == 0
    assert not R.Threshold(2).sensitive(table).cells[place]
    with pytest.raises(flou.FlouError, match=r'cells="all"'):
        R.Threshold(2, zeros=True).measure(data.tabulate(["a", "b"]))


def test_tables_without_enough_contributions_are_refused() -> None:
    data = flou.Microdata(pl.DataFrame({"a": ["p", "q"], "v": [1.0, 2.0]}))
    for rule, table, needed in (
        (R.PPercent(10), data.tabulate(["a"]), 'value="turnover", largest=2'),
        (R.PQ(p=10, q=20), data.tabulate(["a"], value="v", largest=1), 'value="v", largest=2'),
        (R.Dominance(n=4, k=80), data.tabulate(["a"], value="v"), "largest=4"),
        (R.Dominance(n=1, k=80), flou.Table.from_frame(pl.DataFrame({"a": ["p"], "count": [1]}), ["a"]), "largest=1"),
    ):
        with pytest.raises(DataError, match="tabulate") as caught:
            rule.measure(table)
        assert needed in str(caught.value)


def test_a_share_given_for_a_percentage_is_named() -> None:
    for make in (lambda: R.PPercent(0.1), lambda: R.Dominance(n=1, k=0.8), lambda: R.PQ(p=0.1, q=50)):
        with pytest.raises(ParameterError, match=r"a percentage: 10, not 0\.1"):
            make()


def test_shares_of_value_leave_margins_out() -> None:
    frame = pl.DataFrame({"a": ["p", "p", "q"], "v": [10.0, 20.0, 70.0]})
    result = R.Threshold(2).measure(flou.Microdata(frame).tabulate(["a"], value="v"))
    assert result.n_sensitive == 1
    assert result.n_cells == 3
    assert result.value_share == pytest.approx(0.7)
    assert "value_share" not in R.Threshold(2).measure(flou.Microdata(frame).tabulate(["a"])).figures


def orders_of(x: Sequence[float]) -> set[tuple[float, ...]]:
    """The ways in which contributions can stand by size, whichever of equal sizes come first."""
    return {tuple(order) for order in permutations(x) if [abs(v) for v in order] == sorted(map(abs, x), reverse=True)}


def least_rest(x: Sequence[float], n: int) -> float:
    """What the others give beside the first n, whichever of equal sizes come first."""
    return min(abs(sum(x) - sum(order[:n])) for order in orders_of(x))


@examples(150)
@given(
    x=st.lists(st.integers(-4, 4).filter(bool), min_size=2, max_size=5),
    n=st.integers(1, 3),
    k=st.sampled_from([50, 70, 90]),
)
def test_of_equal_sizes_with_opposite_signs_the_cautious_ones_come_first(x: list[int], n: int, k: int) -> None:
    amount = [float(v) for v in x]
    first = sum(sorted((abs(v) for v in amount), reverse=True)[:n])
    rest = least_rest(amount, n)
    frame = pl.DataFrame({"a": ["c"] * len(x), "x": amount})
    whole = flou.Microdata(frame).tabulate(["a"], value="x", margins=False, largest=max(n, len(x)))
    sensitive, lower, upper = level(R.Dominance(n=n, k=k), whole)
    asked = first / (k / 100) - first - rest
    assert sensitive == (asked > 1e-9)
    assert max(lower, upper) == pytest.approx(max(asked, 0.0))
    # of a table that keeps fewer the signs of the others are not known: never less is asked
    few = flou.Microdata(frame).tabulate(["a"], value="x", margins=False, largest=n)
    assert level(R.Dominance(n=n, k=k), few)[0] >= sensitive


def test_a_tie_of_a_gain_and_a_loss() -> None:
    """Of 5, -5 and -1 whoever lost 5 sees the total of -1 within 4, whoever gained it within 6."""
    assert level(R.Dominance(n=1, k=55), amounts([5.0, -5.0, -1.0]))[0]
    assert not level(R.Dominance(n=1, k=56), amounts([5.0, -5.0, -1.0]))[0]


def cells_of(contributors: Sequence[Sequence[float]], **options: Any) -> flou.Table:
    """A table with one cell for each list of contributions."""
    frame = pl.DataFrame([(i, v) for i, x in enumerate(contributors) for v in x], schema=["a", "x"], orient="row")
    return flou.Microdata(frame).tabulate(["a"], value="x", margins=False, **options)


#: Gains and losses of one size, before smaller ones.
TIES = [
    [*[3.0] * gains, *[-3.0] * losses, *others]
    for gains, losses in product(range(6), repeat=2)
    for others in ([], [-1.0], [1.0], [2.0, -1.0])
    if gains + losses
]
TIE_RULES = [R.PPercent(60), R.PQ(p=15, q=50), R.Dominance(n=1, k=60), R.Dominance(n=2, k=80), R.Dominance(n=3, k=80)]


@pytest.mark.parametrize("larger", [[], [7.0], [-5.0, 4.0]], ids=str)
@pytest.mark.parametrize("rule", TIE_RULES, ids=lambda r: r.label)
def test_contributions_that_are_not_kept_never_free_a_cell(rule: PrimaryRule, larger: list[float]) -> None:
    cells = [[*larger, *x] for x in TIES]
    all_kept = rule.sensitive(cells_of(cells, largest=15))
    for largest in (3, 4, 5):
        few = rule.sensitive(cells_of(cells, largest=largest))
        freed = all_kept.cells & ~few.cells
        assert [x for x, free in zip(cells, freed, strict=True) if free] == []


@pytest.mark.parametrize("larger", [[], [4.0]], ids=str)
@pytest.mark.parametrize("n", [1, 2, 3])
def test_unseen_contributions_are_tried_with_every_sign(larger: list[float], n: int) -> None:
    """The least rest over all assignments of signs to those that are not kept, of which some are as large."""
    for x in TIES:
        held = sorted([*larger, *x], key=lambda v: (-abs(v), -v))
        kept, hidden = held[:3], len(held) - 3
        if hidden <= 0 or abs(kept[-1]) < 3:
            continue
        found = fill_from_top(np.array([sum(held)]), np.array([kept]), None, n, np.array([hidden]))
        unseen = [[s * 3.0 for s in signs] for k in range(min(hidden, n) + 1) for signs in product((1, -1), repeat=k)]
        least = min(abs(sum(held) - sum(order[:n])) for more in unseen for order in orders_of([*kept, *more]))
        assert found.rest[0] == least, (held, n)


def test_copies_of_a_weighted_contributor_take_turns_with_others_of_its_size() -> None:
    weighted = pl.DataFrame({"a": ["c"] * 4, "x": [3.0, 3.0, -3.0, 0.5], "w": [2, 1, 3, 1]})
    apart = weighted.select(pl.all().repeat_by("w").explode())
    for rule in TIE_RULES:
        by_weight, by_record = (
            flou.Microdata(frame).tabulate(["a"], value="x", margins=False, largest=7, weight=weight)
            for frame, weight in ((weighted, "w"), (apart.select("a", "x"), None))
        )
        assert level(rule, by_weight) == level(rule, by_record)
