"""Rounding of counts: the nearest multiple, or one of two at random, always the same for a cell."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from tests.contracts.table_cases import SECRET, TABLE_ROLES, keyed, rows

import flou
from flou.describe.table.cells import Published


def people() -> flou.Microdata:
    """Records without keys."""
    return flou.Microdata(rows(), **TABLE_ROLES)


def counted(counts: list[int], **more: list[int] | list[float]) -> flou.Table:
    frame = pl.DataFrame({"a": [f"c{i}" for i in range(len(counts))], "count": counts, **more})
    return flou.Table.from_frame(frame, ["a"], cells="all", **{name: name for name in more})


def in_order(release: flou.Release) -> list[float]:
    shown = release.data.shown_cells(reveal=True)
    return shown.with_columns(at=pl.col("a").str.slice(1).cast(pl.Int64)).sort("at")["count"].to_list()


def test_nearest_multiple_halves_up() -> None:
    assert in_order(flou.protect.Rounding(5).protect(counted(list(range(13))))) == [0, 0, 0, *[5] * 5, *[10] * 5]
    assert in_order(flou.protect.Rounding(10).protect(counted([4, 5, 14, 15]))) == [0, 10, 10, 20]


def test_rounding_draws_nothing() -> None:
    release = flou.protect.Rounding(5).protect(people().tabulate(["region", "sex"]))
    assert not release.random


@pytest.mark.parametrize("base", [2, 3, 5, 7])
def test_random_rounding_by_key_has_the_chances_of_its_mechanism(base: int) -> None:
    """Keys laid out evenly over [0, 2^32): the share that goes up is remainder / base, to the last key."""
    n = base * 1000
    keys = [(2 * k + 1) * 2**32 // (2 * n) for k in range(n)]
    for count in range(2 * base + 1):
        shown = np.array(in_order(flou.protect.RandomRounding(base).protect(counted([count] * n, key=keys))))
        below = count // base * base
        assert set(shown) <= {below, below + base}
        assert (shown == below + base).sum() == count % base * 1000
        assert shown.mean() == pytest.approx(count)


def test_thresholds_are_exact_whole_numbers() -> None:
    # 1 at base 3: up for keys below 2^32 / 3 = 1431655765.33
    assert in_order(flou.protect.RandomRounding(3).protect(counted([1, 1], key=[1431655765, 1431655766]))) == [3, 0]


def cells_of(release: flou.Release, columns: list[str]) -> dict[tuple[str, ...], float]:
    """The figures of the cells of some columns, all other columns being totals."""
    shown = release.data.shown_cells(reveal=True)
    others = [c for c in release.data.columns if c not in columns]
    shown = shown.filter(pl.all_horizontal([pl.lit(value=True), *(pl.col(c) == "Total" for c in others)]))
    return {tuple(row[:-1]): row[-1] for row in shown.select(*columns, "count").rows()}


def test_a_cell_is_rounded_alike_wherever_it_stands() -> None:
    method = flou.protect.RandomRounding(7)
    data = people()
    alone = cells_of(method.protect(data.tabulate(["region", "sex"]), secret=SECRET), ["region", "sex"])
    assert len(alone) > 9
    for dims in (["sex", "region"], ["illness", "sex", "region"], ["region", "age@decade>age", "sex"]):
        again = cells_of(method.protect(data.tabulate(dims), secret=SECRET), ["region", "sex"])
        assert again == alone
    together = method.protect(flou.tabulate_many(data, [["illness"], ["region", "sex"]]), secret=SECRET)
    assert cells_of(flou.Release(together.data[1], together.trail), ["region", "sex"]) == alone
    # a nested category is known by its own name
    nested = method.protect(data.tabulate(["age@decade>age@five"]), secret=SECRET).data
    plain = method.protect(data.tabulate(["age@five"]), secret=SECRET).data
    ours = dict(zip(nested.labels()["age@five"], nested.published_counts, strict=True))
    # who is of no known age is one category of the nested table, on its first level
    ours["-1"] = nested.cell(**{"age@decade": "-1"})["count"]
    for label, shown in zip(plain.labels()["age@five"], plain.published_counts, strict=True):
        if label != "Total":
            assert ours[label] == shown


def test_another_secret_rounds_otherwise_and_is_unbiased() -> None:
    table = people().tabulate(["region", "sex", "illness"])
    method = flou.protect.RandomRounding(5)
    shown = np.array(
        [method.protect(table, secret=flou.Secret(bytes([i]) * 32)).data.published_counts for i in range(120)]
    )
    assert (shown != shown[0]).any()
    error = 5 * np.sqrt(6.25 / 120)
    assert (np.abs(shown.mean(axis=0) - table.true_counts) < error).all()
    # cells are drawn independently: neighbours are no more alike than chance
    moved = (shown > table.true_counts)[:, table.true_counts % 5 != 0].astype(float)
    correlation = np.corrcoef(moved.T)[np.triu_indices(moved.shape[1], 1)]
    assert np.abs(correlation).mean() < 2 / np.sqrt(120)


def test_the_cell_of_another_year_has_a_draw_of_its_own() -> None:
    """What is learnt of a cell's draw in one year does not serve for the next, when other people are in it."""
    method = flou.protect.RandomRounding(1000)
    first, second = (np.array(in_order(method.protect(counted([n] * 400), secret=SECRET))) for n in (500, 1501))
    assert 100 < ((first > 0) == (second > 1000)).sum() < 300
    again = np.array(in_order(method.protect(counted([500] * 400), secret=SECRET)))
    assert (again == first).all()


def test_draws_that_would_not_last_are_refused() -> None:
    table = people().tabulate(["region", "sex"])
    with pytest.raises(flou.FlouError, match="from_file"):
        flou.protect.RandomRounding(5).protect(table)
    # with keys nothing is drawn, so no secret is needed
    assert not flou.protect.RandomRounding(5).protect(keyed().tabulate(["region", "sex"])).random
    assert flou.protect.RandomRounding(5).protect(table, secret=SECRET).random


@pytest.mark.parametrize("method", [flou.protect.Rounding(5), flou.protect.RandomRounding(5)])
def test_weighted_estimates_become_multiples(method: flou.protect.Rounding | flou.protect.RandomRounding) -> None:
    light, heavy = (flou.Microdata(rows().with_columns(pl.col("w") * k), **TABLE_ROLES) for k in (0.9, 20))
    table = light.tabulate(["region", "age"], weight="w")
    release = method.protect(table, secret=SECRET)
    shown = release.data.published_counts
    assert (shown % 5 == 0).all()
    assert shown.dtype.kind == "i"
    assert np.abs(shown - table.cells.weighted).max() < 5
    assert release.data.mechanism is None
    assert not release.steps[0].notes
    notes = method.protect(heavy.tabulate(["region"], weight="w"), secret=SECRET).steps[0].notes
    assert "does not hide whether a single record" in str(notes[0])


@pytest.mark.parametrize(
    ("method", "promise", "added"),
    [
        (flou.protect.Rounding(4), "no count is moved", 4),
        (flou.protect.Rounding(4), "every count shown", 1),
        (flou.protect.RandomRounding(4), "no count is moved", 8),
        (flou.protect.RandomRounding(4), "a multiple of 4", 4),
        (flou.protect.RandomRounding(4), "every count shown", 1),
    ],
)
def test_each_promise_can_fail(method: flou.protect.Rounding, promise: str, added: int) -> None:
    release = method.protect(counted([0, 4, 5, 6, 7, 8]), secret=SECRET)
    guarantee = next(p.guarantee for p in release.guarantees if str(p.promise).startswith(promise))
    data = release.data
    assert guarantee.violations(data) == 0
    assert guarantee.violations(data.with_changes(published=Published(data.published_counts + added))) > 0
