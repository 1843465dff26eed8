"""Key spaces that do not fit in memory: the same figures as the dense array, a bound on the work, word on progress."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

import flou
from flou.describe import keyspace
from flou.describe.keyspace import KeySpace
from flou.engine.errors import KeySpaceTooLargeError
from flou.engine.progress import listening
from flou.engine.sense import MISSING, Missing
from flou.risk.micro import frequency, wide
from flou.risk.micro.individual import find_risks

SIZES = {"a": 3, "b": 12, "c": 7, "d": 2, "e": 9}
RULES = [
    {"a": "0", "b": "3", "c": "1"},
    {"a": "1", "d": "0", "e": "2"},
    {"b": "0", "e": "0"},
    {"a": "2", "b": "5", "d": "1"},
]


def space(n: int, nulls: float, *, rules: bool, strata: bool = False, seed: int = 0) -> KeySpace:
    rng = np.random.default_rng(seed)
    columns = {c: rng.zipf(1.6, n) % size for c, size in SIZES.items()}
    frame = pl.DataFrame({c: pl.Series(v).cast(pl.String) for c, v in columns.items()})
    if rules:
        for rule in RULES:
            frame = frame.filter(~pl.all_horizontal(pl.col(c) == v for c, v in rule.items()))
    holes = [pl.when(pl.Series(rng.random(frame.height) >= nulls)).then(pl.col(c)).alias(c) for c in SIZES]
    frame = frame.with_columns(holes, s=pl.Series(rng.integers(0, 3, frame.height)).cast(pl.String))
    modalities = {c: [str(v) for v in range(size + 1)] for c, size in SIZES.items()}  # the last one nobody has
    data = flou.Microdata(frame, keys=list(SIZES), modalities=modalities)
    by = ("s",) if strata else ()
    table = data.key_table((*SIZES, *by))
    return KeySpace(table, tuple(SIZES), by, modalities, RULES if rules else ())


@pytest.mark.parametrize("nulls", [0.02, 0.2, 0.6])
@pytest.mark.parametrize("strata", [False, True])
@pytest.mark.parametrize("rules", [False, True])
def test_the_search_gives_what_the_dense_array_gives(nulls: float, strata: bool, rules: bool) -> None:
    held = space(3000, nulls, rules=rules, strata=strata)
    assert held.is_dense
    assert np.array_equal(wide.add_orthodox(held, held.keys.counts), frequency.count_frequencies(held, "orthodox"))
    assert np.array_equal(
        wide.add_conservative(held, held.keys.counts), frequency.count_frequencies(held, "conservative")
    )
    for sense in ("optimistic", "pessimistic"):
        found, completions = wide.find_extremes(held, largest=sense == "optimistic")
        assert np.array_equal(found, frequency.count_frequencies(held, sense))
        _require_completions(held, found, completions)


def _require_completions(held: KeySpace, found: np.ndarray, completions: np.ndarray) -> None:
    """Each completion keeps what is known, is coherent, and has the frequency that was found."""
    known = held.free_codes
    assert ((known == -1) | (known == completions)).all()
    cells = held.filled(held.keys.counts)
    frequency.add_compatible(cells)
    held.exclude_incoherent(cells, -1)
    assert np.array_equal(cells[(held.anchors[1], *completions.T)], found)


def test_a_space_of_ten_thousand_million_keys_is_counted_through_the_public_call() -> None:
    rng = np.random.default_rng(3)
    n = 2000
    frame = pl.DataFrame({f"k{j}": pl.Series(rng.integers(0, 100, n)).cast(pl.String) for j in range(5)})
    frame = frame.with_columns(pl.when(pl.Series(rng.random(n) > 0.1)).then(pl.col(c)).alias(c) for c in frame.columns)
    declared = {c: [str(v) for v in range(100)] for c in frame.columns}
    data = flou.Microdata(frame, keys=frame.columns, modalities=declared)
    assert data.describe().n_possible_keys == 10**10
    results = {m: flou.risk.KAnonymity(k=2, missing=m).measure(data) for m in MISSING}
    assert (results["pessimistic"].units <= results["optimistic"].units).all()
    assert (results["optimistic"].units <= results["orthodox"].units).all()
    assert results["pessimistic"].by_key["completion.k0"].null_count() == 0


def test_a_search_that_would_take_too_long_says_what_to_declare() -> None:
    held = space(500, 0.3, rules=False)
    with pytest.raises(KeySpaceTooLargeError, match="Declare the combinations that cannot exist"):
        wide.find_extremes(held, largest=True, budget=3)


def test_progress_is_told_and_can_cancel() -> None:
    held = space(500, 0.2, rules=False)
    seen: list[tuple[str, int, int]] = []
    with listening(lambda stage, done, total: seen.append((stage, done, total))):
        wide.add_orthodox(held, held.keys.counts)
    assert seen[-1][1] == seen[-1][2] == held.keys.n_keys
    assert [done for _, done, _ in seen] == sorted(done for _, done, _ in seen)

    def stop(stage: str, done: int, total: int) -> None:
        raise RuntimeError("stop")

    with listening(stop), pytest.raises(RuntimeError, match="stop"):
        wide.find_extremes(held, largest=False)


@pytest.mark.parametrize("nulls", [0.05, 0.3, 0.6])
@pytest.mark.parametrize("rules", [False, True])
@pytest.mark.parametrize("missing", ["pessimistic", "optimistic", "orthodox", "conservative"])
def test_risks_with_weights_are_those_of_the_dense_array(
    nulls: float, rules: bool, missing: Missing, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The riskiest completion is not the rarest one when weights differ much."""
    held = space(2000, nulls, rules=rules, seed=3)
    heavy = np.round(np.random.default_rng(1).lognormal(2, 1.5, held.keys.n_keys), 3) + 1
    weighted = replace(held.keys, weights=held.keys.counts * heavy)
    dense = replace(held, keys=weighted)
    expected = find_risks(dense, missing)
    monkeypatch.setattr(keyspace, "MAX_CELLS", 0)
    searched = replace(held, keys=weighted)
    assert not searched.is_dense
    assert np.allclose(find_risks(searched, missing), expected, rtol=1e-9)
    if missing == "pessimistic" and nulls > 0.1:
        rarest = wide.find_extremes(searched, largest=False)[0]
        assert (expected > 0).all()
        assert len(np.unique(rarest)) > 1


def test_a_search_for_risks_that_would_not_end_is_refused() -> None:
    held = space(2000, 0.6, rules=False)
    weights = held.keys.counts * 3.0
    with pytest.raises(KeySpaceTooLargeError, match="too many to search"):
        wide.find_extreme_risks(held, weights, largest=True, budget=3)
