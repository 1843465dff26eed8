"""The key table, packing and key spaces."""

from __future__ import annotations

import datetime as dt

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from tests.depth import at_depth

import flou
from flou.describe.keyspace import KeySpace
from flou.engine.errors import KeySpaceTooLargeError
from flou.engine.keys import factorise, pack


@given(
    st.lists(st.integers(1, 2**20), min_size=1, max_size=8).flatmap(
        lambda sizes: st.tuples(
            st.just(sizes),
            arrays(np.int32, (12, len(sizes)), elements=st.integers(-1, 2)).map(
                lambda a: np.minimum(a, np.array(sizes) - 1)
            ),
        )
    )
)
def test_packed_keys_are_equal_exactly_where_rows_are(case: tuple[list[int], np.ndarray]) -> None:  # type: ignore[type-arg]
    sizes, codes = case
    packed = pack(codes, sizes)
    for i in range(len(codes)):
        for j in range(len(codes)):
            assert (packed[i] == packed[j]) == bool((codes[i] == codes[j]).all())


@pytest.mark.parametrize(
    "values",
    [
        [3, None, 1, 3, -7],
        [2**40, 5, None],
        ["b", "a", None, "é"],
        [True, None, False],
        [1.5, None, -2.0],
        [dt.date(2020, 1, 2), None, dt.date(1999, 1, 1)],
        [None, None],
    ],
)
def test_factorise(values: list[object]) -> None:
    series = pl.Series("x", values)
    categories, codes = factorise(series)
    assert categories == sorted({v for v in values if v is not None})  # type: ignore[type-var]
    assert [None if c < 0 else categories[c] for c in codes] == values


def test_categoricals_count_as_text() -> None:
    frame = pl.DataFrame({"a": ["x", "y", "x", None]})
    plain = flou.risk.KAnonymity(k=2).measure(flou.Microdata(frame, keys=["a"], modalities={"a": ["x", "y"]}))
    for dtype in (pl.Categorical, pl.Enum(["y", "x"])):
        cast = flou.Microdata(frame.with_columns(pl.col("a").cast(dtype)), keys=["a"], modalities={"a": ["x", "y"]})
        assert flou.risk.KAnonymity(k=2).measure(cast).units.tolist() == plain.units.tolist()


def test_columns_without_nulls_share_one_axis() -> None:
    frame = pl.DataFrame({"a": range(1000), "b": range(1000), "c": [1, None] * 500})
    table = flou.Microdata(frame, keys=["a", "b", "c"]).key_table(["a", "b", "c"])
    space = KeySpace(table, ("a", "b", "c"))
    assert space.shape == (1000, 2)
    assert space.n_possible() == 1_000_000


def test_a_key_space_that_does_not_fit_is_not_filled_but_searched() -> None:
    n = at_depth(600, 1500)
    columns = {c: [None if i % 7 == j else i for i in range(n)] for j, c in enumerate("abc")}
    people = flou.Microdata(pl.DataFrame(columns), keys=list("abc"))
    space = KeySpace(people.key_table(("a", "b", "c")), ("a", "b", "c"))
    with pytest.raises(KeySpaceTooLargeError, match="Recode"):
        space.filled(space.keys.counts)
    assert flou.risk.KAnonymity(k=2).measure(people).k == 1


def test_keys_may_be_named_like_our_own_columns() -> None:
    frame = pl.DataFrame({"records": ["a", "a", "b"], "frequency": [1, 1, None], "k_anonymity": [1, 2, 3]})
    result = flou.risk.KAnonymity(k=2).measure(flou.Microdata(frame, keys=["records", "frequency"]))
    assert result.by_key.columns[:5] == ["records", "frequency", "records_", "frequency_", "at_risk"]
    assert result.joined().columns == ["records", "frequency", "k_anonymity", "k_anonymity_"]
