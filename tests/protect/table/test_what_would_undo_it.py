"""Ways to undo noise that were found by trying: each is refused, or gives nothing more."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

import flou

SECRET = flou.Secret(bytes(range(32)))
NOISE = flou.protect.CellKey(D=10, V=5, js=2)


def people(n: int = 4_000) -> flou.Microdata:
    rng = np.random.default_rng(3)
    frame = pl.DataFrame(
        {
            "pid": np.arange(n),
            "area": rng.choice([f"a{i:02}" for i in range(40)], n),
            "age": rng.integers(0, 90, n),
            "w": rng.integers(1, 6, n).astype(float),
        }
    )
    bands = flou.Hierarchy.bands(10, 30, names=["decade", "thirty"])
    return flou.Microdata(frame, id="pid", keys=["area", "age"], others=["w"], hierarchies={"age": bands})


def keyed() -> flou.Microdata:
    return flou.record_keys(people(), secret=SECRET)


@pytest.mark.parametrize("kind", ["numbers", "counts", "zeros"])
@pytest.mark.parametrize("method", [NOISE, flou.protect.RandomRounding(5)], ids=["cell_key", "random_rounding"])
def test_cell_keys_that_are_not_random(kind: str, method: Any) -> None:
    """They would move all cells alike, and every promise of single cells would hold."""
    counts = np.random.default_rng(1).integers(1, 300, 200)
    keys = {"numbers": np.arange(200), "counts": counts, "zeros": np.zeros(200, dtype=np.int64)}[kind]
    frame = pl.DataFrame({"a": [f"c{i}" for i in range(200)], "n": counts, "k": keys})
    table = flou.Table.from_frame(frame, ["a"], count="n", key="k")
    with pytest.raises(flou.FlouError, match=r"not spread over their range|have the same cell key"):
        method.protect(table, secret=SECRET)


def test_keys_of_real_tables_pass() -> None:
    """Cells share people, and many cells are one and the same: their keys are random all the same."""
    for seed in range(20):
        table = flou.record_keys(people(300), secret=seed).tabulate(["area", "age@thirty>age@decade>age"])
        NOISE.protect(table)


def test_a_level_has_one_draw_however_it_is_written() -> None:
    rounded = []
    for level in ("age@1", "age@01", "age@001", "age@decade"):
        table = people().tabulate(["area", level])
        rounded.append(flou.protect.RandomRounding(5).protect(table, secret=SECRET).data.published_counts)
    for other in rounded[1:]:
        assert np.array_equal(rounded[0], other)


def test_a_plan_and_a_call_round_alike() -> None:
    method = flou.protect.RandomRounding(5)
    by_plan = flou.Plan([method], tables=[["area"]]).protect(people(), secret=SECRET)
    by_call = method.protect(keyed().tabulate(["area"]), secret=SECRET)
    assert np.array_equal(by_plan.data.published_counts, by_call.data.published_counts)


def test_weighted_and_unweighted_side_by_side() -> None:
    both = flou.tabulate_many(keyed(), {"n": {"dims": ["area"]}, "w": {"dims": ["area"], "weight": "w"}})
    with pytest.raises(flou.FlouError, match="weighted and unweighted"):
        NOISE.protect(both)


def test_weighted_estimates_have_no_digits() -> None:
    shown = NOISE.protect(keyed().tabulate(["area", "age@decade"], weight="w")).data.published_counts
    assert np.array_equal(shown, np.rint(shown))


def test_records_of_no_weight() -> None:
    frame = people().to_frame().with_columns(w=pl.when(pl.col("age") < 40).then(0.0).otherwise(pl.col("w")))
    data = flou.record_keys(flou.Microdata(frame, id="pid", keys=["area", "age"], others=["w"]), secret=SECRET)
    release = NOISE.protect(data.tabulate(["area", "age"], weight="w"))
    assert (release.data.published_counts[release.data.cells.weighted == 0] == 0).all()


def test_one_zero_line_does_not_list_all_cells() -> None:
    frame = pl.DataFrame({"a": ["x", "x", "y"], "b": ["p", "q", "p"], "count": [3, 0, 2]})
    assert flou.Table.from_frame(frame, ["a", "b"]).listed == "occupied"
    whole = pl.concat([frame, pl.DataFrame({"a": ["y"], "b": ["q"], "count": [0]})])
    assert flou.Table.from_frame(whole, ["a", "b"]).listed == "all"


def test_a_repair_is_not_calibrated() -> None:
    with pytest.raises(flou.FlouError, match="makes margins add up"):
        flou.calibrate(
            flou.protect.CellKey,
            on=keyed().tabulate(["area"]),
            over={"D": [5], "V": [3], "additive": ["repair"]},
            risk=flou.risk.CountInference(s=5),
            utility=flou.utility.WithinDistance(2),
        )


def test_a_table_of_released_records_is_not_protected_yet() -> None:
    release = flou.protect.DropIdentifiers().protect(people(), secret=SECRET)
    table = release.data.tabulate(["area"])
    assert not table.released
    assert flou.protect.Rounding(5).protect(table).data.released


def test_tables_that_nothing_protects_are_withheld_by_every_policy() -> None:
    """A release without a step: its mean risk may be small, its single counts are certain."""
    release = flou.Plan().protect(people().tabulate(["area"]))
    result = flou.risk.CountInference(s=5).measure(release)
    rules = [{"method": "count_inference", "settings": {"s": 5}, "at_most": {"release": 0.999}}]
    verdict = flou.Policy(rules=rules).judge(result, release)
    assert verdict.decision.name == "WITHHOLD"
    assert any("nothing protects the tables" in str(reason) for reason in verdict.reasons)
    done = NOISE.protect(keyed().tabulate(["area"]), secret=SECRET)
    assert flou.Policy(rules=rules).judge(flou.risk.CountInference(s=5).measure(done), done).decision.name == "RELEASE"
