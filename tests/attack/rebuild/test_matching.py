"""Match rates against plain Python: existence, multisets, and the most pairs within a tolerance."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.depth import examples

import flou
from flou.attack.table.rebuild.attribute import Attribute
from flou.attack.table.rebuild.matching import Likeness, match
from flou.attack.table.rebuild.universe import Universe, lay_out

AGE = Attribute("age", 0, tuple(range(6)), {"age": tuple(map(str, range(6)))}, {"age": "age"})
SEX = Attribute("sex", 0, ("f", "m"), {"sex": ("f", "m")}, {"sex": "sex"})
PRODUCT: Universe = lay_out([AGE, SEX], [])


def most_pairs(true: list[int], other: list[int], reach: float) -> int:
    """The most like pairs, by trying every order."""
    some, others = (true, other) if len(true) <= len(other) else (other, true)
    best = 0
    for chosen in permutations(range(len(others)), len(some)):
        best = max(best, sum(alike(a, others[i], reach) for a, i in zip(some, chosen, strict=True)))
    return best


def alike(a: int, b: int, reach: float) -> bool:
    (age, sex), (other_age, other_sex) = PRODUCT.codes[a], PRODUCT.codes[b]
    return bool(sex == other_sex and abs(age - other_age) <= reach)


cells = st.lists(st.integers(0, 11), max_size=6)


@examples(150)
@given(true=cells, other=cells, reach=st.sampled_from([0, 1, 2]), outside=st.integers(0, 2))
def test_matches_are_those_of_plain_python(true: list[int], other: list[int], reach: int, outside: int) -> None:
    likeness = Likeness.of(PRODUCT, {"age": reach} if reach else {})
    held = np.array([*true, *[-1] * outside], dtype=np.int64)
    found = match(likeness, held, np.array(other, dtype=np.int64))
    assert found.n == len(true) + outside
    assert found.exact == sum(t in other for t in true)
    assert found.exact_pairs == sum(min(true.count(c), other.count(c)) for c in set(true))
    assert found.near == sum(any(alike(t, o, reach) for o in other) for t in true)
    assert found.near_pairs == most_pairs(true, other, reach)


def test_a_tolerance_must_fit() -> None:
    with pytest.raises(flou.FlouError, match=r"tolerance names 'agee'.*Did you mean 'age'"):
        Likeness.of(PRODUCT, {"agee": 2})
    with pytest.raises(flou.FlouError, match="'sex', whose values are no numbers"):
        Likeness.of(PRODUCT, {"sex": 1})


def test_shares_of_nobody_are_nothing() -> None:
    nobody: Any = np.zeros(0, dtype=np.int64)
    found = match(Likeness.of(PRODUCT, {"age": 1}), nobody, nobody)
    assert found.share(found.exact) == 0.0
