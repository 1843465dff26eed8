"""Every parameter of every method, given values that nobody foresees."""

from __future__ import annotations

from contextlib import suppress
from datetime import date, time

import pytest

from flou.engine import registry
from flou.engine.errors import FlouError
from flou.engine.method import Method

_HUGE = 10**5_000
VALUES: tuple[object, ...] = (
    _HUGE, -_HUGE, 2**63, 1e308, float("nan"), float("inf"), None, True, "", "\0", "\ud800", "1" * 5_000, b"x", date.max,
    time.max, [], (), [[]], [()], ((),), [None], [""], [{}], [{"a": []}], [_HUGE], [1, 2, 3], range(0), {}, {"a": []},
    {"": []}, {"a": {"b": _HUGE}}, {"a": {"a": {"a": {}}}}, {1: 2}, {None: 1}, {_HUGE: 1}, {("a",): 1}, object(), len,
)  # fmt: skip


@pytest.mark.parametrize("method", registry.every(), ids=lambda m: m.__name__)
def test_no_value_of_a_parameter_is_answered_by_another_error(method: type[Method]) -> None:
    for name in method.model_fields:
        for value in VALUES:
            with suppress(FlouError):
                method(**{name: value})
