"""The cell key method on tables: what it promises, what it refuses, what it leaves out."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.contracts.table_cases import SECRET, keyed
from tests.depth import examples

import flou
from flou.describe.table.cells import Published
from flou.engine.errors import Infeasible

METHOD = flou.protect.CellKey(D=5, V=3, js=2)


def promised(release: flou.Release, text: str) -> Any:
    """The guarantee whose promise begins with a text."""
    return next(p.guarantee for p in release.guarantees if str(p.promise).startswith(text))


def test_the_same_people_are_moved_alike_in_every_table() -> None:
    people = keyed()
    wide = METHOD.protect(people.tabulate(["region", "sex", "illness"]))
    for dims in (["region", "sex"], ["illness", "region"], ["sex"], ["age@decade>age", "sex"]):
        other = METHOD.protect(people.tabulate(dims))
        seen: dict[tuple[int, int], int] = {}
        for table in (wide.data, other.data):
            for n, key, shown in zip(table.true_counts, table.cells.key, table.published_counts, strict=True):
                assert seen.setdefault((int(n), int(key)), int(shown)) == shown


def test_one_person_hidden_under_several_descriptions() -> None:
    """A category with all of its parent's people has its parent's figure, whatever it is called."""
    frame = pl.DataFrame(
        {"pid": range(60), "region": ["A"] * 25 + ["B"] * 35, "part": ["a"] * 25 + ["b", "c"] * 17 + ["b"]}
    )
    people = flou.record_keys(flou.Microdata(frame, id="pid"), secret=SECRET)
    release = METHOD.protect(people.tabulate(["region>part"]))
    assert release.data.cell(region="A")["count"] == release.data.cell(region="A", part="a")["count"]


def test_a_table_without_keys_is_refused() -> None:
    table = flou.Table.from_frame(pl.DataFrame({"a": ["x", "y"], "count": [3, 4]}), ["a"])
    with pytest.raises(flou.FlouError, match="record_keys"):
        METHOD.protect(table, secret=SECRET)


def test_a_variance_too_small_names_the_bound() -> None:
    with pytest.raises(Infeasible, match="smallest feasible V is 6") as caught:
        flou.protect.CellKey(D=10, V=5, js=4)
    assert caught.value.best == "V = 6"


def test_parameters_from_a_plan() -> None:
    plan = flou.Plan.from_toml('flou = 2\n[[protect]]\nmethod = "cell_key"\nD = 3\nV = 2\nstack = [6, 4.0]\n')
    assert plan.steps[0] == flou.protect.CellKey(D=3, V=2, stack=(6, 4.0))


def test_a_matrix_made_elsewhere_goes_through_a_plan_to_the_bit() -> None:
    ours = flou.protect.CellKey(D=5, V=3, js=2)
    imported = flou.protect.CellKey(matrix=flou.TransitionMatrix.from_ptable(ours.mechanism.to_ptable()))
    again = flou.Plan.from_toml(flou.Plan([imported]).to_toml()).steps[0]
    assert again.mechanism.chances.tobytes() == imported.mechanism.chances.tobytes()  # type: ignore[attr-defined]
    table = keyed().tabulate(["region", "age"])
    shown = [method.protect(table).data.published_counts for method in (ours, imported, again)]
    assert (shown[0] == shown[1]).all()
    assert (shown[1] == shown[2]).all()
    assert [str(p.promise) for p in imported.protect(table).guarantees] == [
        str(p.promise) for p in ours.protect(table).guarantees
    ]


def test_sums_of_amounts_are_left_out_and_it_is_said() -> None:
    release = METHOD.protect(keyed().tabulate(["region", "sex"], value="income"))
    assert release.data.published_values is None
    assert "value" not in release.data.to_frame().columns
    assert "the sums of income are not published" in str(release.steps[0].notes[0])
    assert not METHOD.protect(keyed().tabulate(["region", "sex"])).steps[0].notes
    with_sums = release.data.with_changes(published=Published(release.data.published_counts, release.data.true_values))
    assert promised(release, "no sum of amounts").violations(with_sums) == release.data.n_cells


@pytest.mark.parametrize(
    ("promise", "change"),
    [
        ("no count is moved", lambda n: n + 6),
        ("no count from 1 to 2", lambda n: np.full_like(n, 2)),
        ("a cell that nobody is in", lambda n: n + 3),
        ("each cell is moved as its key says", lambda n: np.where(n > 9, n + 1, n)),
    ],
)
@pytest.mark.parametrize("weight", [None, "w"])
def test_each_promise_can_fail(promise: str, change: Any, weight: str | None) -> None:
    table = keyed().tabulate(["region", "age"], cells="all", weight=weight)
    release = METHOD.protect(table)
    wrong = change(table.true_counts)
    if weight:
        per_head = table.cells.weighted / np.maximum(table.true_counts, 1)
        wrong = np.where(table.true_counts > 0, wrong * per_head, wrong)
    broken = release.data.with_changes(published=Published(wrong))
    assert promised(release, promise).violations(broken) > 0
    assert promised(release, promise).violations(release.data) == 0


def test_weighted_estimates_are_scaled_by_their_contributors() -> None:
    table = keyed().tabulate(["region", "age@decade>age"], weight="w")
    plain = METHOD.protect(keyed().tabulate(["region", "age@decade>age"])).data.published_counts
    shown = METHOD.protect(table).data
    # in whole units: the digits behind them would tell the number of contributors
    assert np.array_equal(shown.published_counts, np.rint(table.cells.weighted * plain / table.true_counts))
    assert (plain == 0).any()
    assert ((shown.published_counts == 0) == (plain == 0)).all()
    assert shown.mechanism is None, "the figures are no counts of the mechanism"
    assert METHOD.protect(keyed().tabulate(["region"])).data.mechanism == METHOD.mechanism


@examples(60)
@given(
    counts=st.lists(st.integers(0, 40), min_size=1, max_size=60),
    seed=st.integers(0, 2**32 - 1),
    matrix=st.sampled_from([(2, 2.0, 0), (5, 3.0, 2), (10, 5.0, 2), (6, 9.0, 4)]),
)
def test_promises_hold_on_any_table(counts: list[int], seed: int, matrix: tuple[int, float, int]) -> None:
    D, V, js = matrix
    keys = np.random.default_rng(seed).integers(0, 2**32, len(counts))
    frame = pl.DataFrame({"a": [str(i) for i in range(len(counts))], "count": counts, "key": keys})
    release = flou.protect.CellKey(D=D, V=V, js=js).protect(flou.Table.from_frame(frame, ["a"], key="key"))
    shown = release.data.published_counts
    true = release.data.true_counts
    assert (np.abs(shown - true) <= D).all()
    assert (shown[true == 0] == 0).all()
    assert not ((shown >= 1) & (shown <= js)).any()
    assert (shown >= 0).all()
