"""k-anonymity on every m of the keys, against one measurement a subset."""

from __future__ import annotations

from itertools import combinations, pairwise

import numpy as np
import polars as pl
import pytest

import flou
from flou.engine.sense import MISSING

KEYS = ["a", "b", "c", "d"]


def people(seed: int = 0, n: int = 300, nulls: float = 0.08) -> flou.Microdata:
    rng = np.random.default_rng(seed)
    columns = {c: pl.Series(rng.integers(0, 3 + j, n)).cast(pl.String) for j, c in enumerate(KEYS)}
    frame = pl.DataFrame({**columns, "s": rng.choice(["u", "v"], n), "w": rng.uniform(1, 5, n)})
    frame = frame.with_columns(pl.when(pl.Series(rng.random(n) >= nulls)).then(pl.col(c)).alias(c) for c in KEYS)
    declared = {"a": ["0", "1", "2", "nobody"]}
    return flou.Microdata(frame, keys=KEYS, modalities=declared, weight="w", strata=["s"])


@pytest.mark.parametrize("by", [None, "s", "a"])
@pytest.mark.parametrize("m", [1, 2, 3, 4])
@pytest.mark.parametrize("missing", MISSING)
def test_the_smallest_over_every_subset(missing: str, m: int, by: str | None) -> None:
    data = people()
    found = flou.risk.KAnonymity(k=5, missing=missing, subsets=m, by=by).measure(data)
    alone = [
        flou.risk.KAnonymity(k=5, missing=missing, by=by)
        .measure(
            flou.Microdata(
                data.to_frame(), keys=list(s), modalities={c: v for c, v in data.schema.modalities.items() if c in s}
            )
        )
        .units
        for s in combinations(KEYS, m)
    ]
    assert np.array_equal(found.units, np.min(alone, axis=0))
    assert found.n_subsets == len(alone)
    named = found.by_key["rarest_subset"].to_list()
    assert all(len(name.split(", ")) == m for name in named)


def test_all_keys_at_once_is_the_plain_measure() -> None:
    data = people()
    plain, whole = flou.risk.KAnonymity(k=3).measure(data), flou.risk.KAnonymity(k=3, subsets=4).measure(data)
    assert np.array_equal(plain.units, whole.units)


def test_more_keys_are_never_safer() -> None:
    data = people()
    units = [flou.risk.KAnonymity(k=3, subsets=m).measure(data).units for m in (1, 2, 3, 4)]
    for fewer, more in pairwise(units):
        assert (more <= fewer).all()


def test_a_record_that_breaks_a_rule_is_refused_whatever_the_subset() -> None:
    frame = pl.DataFrame({"a": ["x", "y"], "b": ["x", "y"], "c": ["x", "y"]})
    data = flou.Microdata(frame, keys=["a", "b", "c"], incoherent=[{"a": "x", "b": "x", "c": "x"}])
    with pytest.raises(flou.FlouError, match="no coherent completion"):
        flou.risk.KAnonymity(k=1, subsets=1).measure(data)


def test_more_than_there_are_keys_is_refused() -> None:
    with pytest.raises(flou.FlouError, match="subsets = 5 is larger than the number of keys: there are 4"):
        flou.risk.KAnonymity(k=2, subsets=5).measure(people())


def test_too_many_subsets_are_refused_before_the_work() -> None:
    frame = pl.DataFrame({f"c{j}": ["x", "y"] for j in range(30)})
    with pytest.raises(flou.FlouError, match="more than 200,000"):
        flou.risk.KAnonymity(k=1, subsets=15).measure(flou.Microdata(frame, keys=frame.columns))


@pytest.mark.parametrize("subsets", [None, 1, 2])
def test_wholly_undetermined_records_are_named_on_subsets_too(subsets: int | None) -> None:
    data = flou.Microdata(pl.DataFrame({"a": [1, None, None], "b": [1, None, None]}), keys=["a", "b"])
    (note,) = flou.risk.KAnonymity(k=2, subsets=subsets).measure(data).notes
    assert note.values == {"n_wholly": 2, "n_carried": 1}
