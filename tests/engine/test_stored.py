"""The stored form: values come back as they were, and what is not a value is refused on writing and on reading."""

from __future__ import annotations

import copy
import datetime as dt
import io
import json
import pickle
from collections.abc import Callable
from dataclasses import dataclass, field
from decimal import Decimal
from functools import partial
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays, scalar_dtypes
from polars.testing import assert_frame_equal
from polars.testing.parametric import dataframes
from tests.depth import examples
from tests.stored_form import stored

import flou
from flou.describe.table.suppression import State
from flou.engine.errors import DataError
from flou.engine.note import Note
from flou.engine.release import Change
from flou.engine.stored import Written, read, write
from flou.engine.values import Proportion
from flou.risk.micro.attack_map import attack_chart

PARIS = ZoneInfo("Europe/Paris")
NUMBERS = st.one_of(
    st.integers(), st.floats(), st.floats().map(Proportion), st.decimals().filter(lambda number: not number.is_snan()), st.floats().map(np.float64),
    st.integers(-9, 9).map(np.int8), st.booleans().map(np.bool_),
)  # fmt: skip
TIMES = st.one_of(
    st.dates(), st.datetimes(), st.datetimes(timezones=st.sampled_from([dt.UTC, PARIS])), st.times(), st.timedeltas()
)
PLAIN = st.one_of(st.none(), st.booleans(), st.text(), st.binary(max_size=9), NUMBERS, TIMES)
VALUES = st.recursive(
    PLAIN,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.lists(inner, max_size=4).map(tuple),
        st.frozensets(PLAIN, max_size=4),
        st.dictionaries(PLAIN, inner, max_size=4),
    ),
    max_leaves=12,
)


@dataclass(frozen=True)
class Kept:
    """A class of another distribution, imported by whoever reads."""

    name: str
    held: Any = field(repr=False)


class Loose:
    """No dataclass."""


@dataclass(frozen=True)
class Less:
    """What leaves the process is less."""

    shown: int
    hidden: str

    def __getstate__(self) -> dict[str, Any]:
        return {"shown": self.shown, "hidden": ""}


def exact(value: Any) -> Any:
    """What two values have in common that are alike in every part: types, order, signs, and that NaN is NaN."""
    if isinstance(value, dict):
        return [(exact(k), exact(v)) for k, v in value.items()]
    if isinstance(value, frozenset):
        return sorted(map(repr, map(exact, value)))
    if isinstance(value, list | tuple):
        return type(value), [exact(v) for v in value]
    return type(value), repr(value), getattr(value, "fold", None)


def refuse(value: object, match: str) -> None:
    with pytest.raises(DataError, match=match):
        write(value, str)


@examples(400)
@given(VALUES)
def test_values_come_back_as_they_were(value: Any) -> None:
    assert exact(stored(value)) == exact(value)


@examples(100)
@given(st.data())
def test_arrays_come_back_as_they_were(data: st.DataObject) -> None:
    held = data.draw(arrays(data.draw(scalar_dtypes()), data.draw(array_shapes(min_dims=0, min_side=0))))
    back = stored(held)
    assert (back.dtype, back.shape, back.tobytes()) == (held.dtype, held.shape, held.tobytes())


@examples(60)
@given(dataframes(max_cols=4, max_size=6, allow_null=True))
def test_frames_come_back_as_they_were(frame: pl.DataFrame) -> None:
    assert_frame_equal(stored(frame), frame, check_exact=True)
    for column in frame:
        assert_frame_equal(stored(column).to_frame(), column.to_frame(), check_exact=True)


@pytest.mark.parametrize(
    "column",
    [
        pl.Series("x", ["a", None], dtype=pl.Enum(["b", "a"])),
        pl.Series("x", ["a", None, "b"], dtype=pl.Categorical),
        pl.Series("x", [dt.datetime(2026, 3, 29), None], dtype=pl.Datetime("ns", "Europe/Paris")),
        pl.Series("x", [Decimal("1.20"), None], dtype=pl.Decimal(20, 2)),
        pl.Series("x", [1.0, None, float("nan")]),
        pl.Series("", [], dtype=pl.Null),
    ],
    ids=lambda column: str(column.dtype)[:9],
)
def test_columns_keep_their_type_and_tell_null_from_nan(column: pl.Series) -> None:
    back = stored(column)
    assert (back.dtype, back.name, back.is_null().to_list()) == (column.dtype, column.name, column.is_null().to_list())
    assert repr(back.to_list()) == repr(column.to_list())


def test_a_frame_without_columns_keeps_its_rows() -> None:
    assert stored(pl.DataFrame(height=3)).shape == (3, 0)


@pytest.mark.parametrize(
    "value",
    [
        Kept("a", ({"b": [1.5]}, float("inf"))),
        Note("{n} records", {"n": 3}, internal=True),
        Change("age", None, 4, 2),
        State.PRIMARY,
        flou.Hierarchy.bands(5, 10, names=["five", "ten"]),
        flou.Schema(keys=["age"], modalities={"age": [1, 2]}, not_applicable={"age": [9]}),
        flou.protect.DropRecords(flou.risk.KAnonymity(k=3, missing="category"), max_share=0.5),
        flou.protect.RandomSwap("income", share=0.25),
        flou.protect.CellKey(matrix=flou.TransitionMatrix(D=3, V=1.5)),
    ],
    ids=lambda value: type(value).__name__,
)
def test_objects_come_back_equal(value: Any) -> None:
    back = stored(value)
    assert type(back) is type(value)
    assert back == value
    assert str(back) == str(value)


def test_a_method_is_called_as_in_a_plan() -> None:
    assert write(flou.risk.KAnonymity(k=3), str).tree["object"][0] == "measure.k_anonymity"


def test_a_transition_matrix_is_not_solved_again() -> None:
    made = flou.TransitionMatrix(D=3, V=1.5)
    back = stored(made)
    assert (back.name, back.chances.tobytes()) == (made.name, made.chances.tobytes())


def test_charts_come_back_as_functions() -> None:
    assert stored(attack_chart) is attack_chart
    made = stored(partial(attack_chart, 3, look="x"))
    assert (made.func, made.args, made.keywords) == (attack_chart, (3,), {"look": "x"})
    assert stored(partial(pl.DataFrame, {"a": [1]}))().equals(pl.DataFrame({"a": [1]}))


def test_data_are_referred_to() -> None:
    people = flou.Microdata(pl.DataFrame({"age": [1, 2]}), keys=["age"])
    written = write([people, people.tabulate("age")], lambda data: data.data_kind)
    assert written == Written([{"data": "microdata"}, {"data": "table"}], {})
    assert read(written, str.upper) == ["MICRODATA", "TABLE"]


def test_a_class_that_hides_something_is_written_without_it() -> None:
    assert stored(Less(3, "Kilda")) == Less(3, "")
    assert "Kilda" not in json.dumps(write(Less(3, "Kilda"), str).tree)


@pytest.mark.parametrize("place", [lambda s: s, lambda s: {"a": [s]}, lambda s: Kept("a", s)])
def test_a_secret_is_never_written(place: Callable[[object], object]) -> None:
    refuse(place(flou.Secret.from_seed(1)), "A secret is never written")


def test_a_refusal_says_where_it_stands() -> None:
    refuse(Kept("a", Kept("b", Loose())), r"type Loose \(Kept.held → Kept.held\)")


def _local() -> type:
    @dataclass(frozen=True)
    class Hidden:
        x: int

    return Hidden


NO_VALUES: dict[str, Any] = {
    "lambda": lambda: 0,
    "object": Loose(),
    "class": Loose,
    "dataclass of a function": _local()(1),
    "partial of a built-in function": partial(sorted),
    "partial of a class": partial(Kept, "a"),
    "function of others": json.dumps,
    "array of objects": np.array([Loose()]),
    "column of objects": pl.Series("x", [Loose()], dtype=pl.Object),
    "lazy frame": pl.LazyFrame({"x": [1]}),
    "set": {1, 2},
    "budget": flou.PrivacyBudget(epsilon=1.0),
    "budget in a method": flou.protect.NoisyCounts(1.0, budget=flou.PrivacyBudget(epsilon=1.0)),
}


@pytest.mark.parametrize("name", NO_VALUES)
def test_what_is_no_value_is_refused(name: str) -> None:
    refuse(NO_VALUES[name], "no stored form")


def test_what_holds_itself_is_refused() -> None:
    circle: list[Any] = []
    circle.append(circle)
    refuse(circle, "holds itself")


ARRAY = write(np.arange(3), str)


@pytest.mark.parametrize(
    "tree",
    [
        {"object": ["tests.engine.test_stored:Loose", {}]},
        {"object": ["subprocess:Popen", {"args": "false"}]},
        {"object": ["flou.describe.microdata:Microdata", {"rows": None}]},
        {"object": ["flou.engine.secret:Secret", {"key": {"bytes": "00" * 32}}]},
        {"object": ["flou.engine.note:Note", {"text": "a", "more": 1}]},
        {"object": ["flou.engine.note:Note", {}]},
        {"object": ["flou.engine.release:Note", {"text": "a"}]},
        {"object": ["flou.engine.note:Nothing", {}]},
        {"object": ["flou.__main__:main", {}]},
        {"object": ["antigravity:x", {}]},
        {"object": ["measure.k_anonymity", {"k": 0}]},
        {"object": ["measure.nothing", {}]},
        {"object": ["nowhere.k_anonymity", {"k": 3}]},
        {"function": "os:system"},
        {"function": "posix:system"},
        {"function": "builtins:eval"},
        {"partial": ["subprocess:run", [["false"]], {"dict": []}]},
        {"enum": ["flou.describe.table.suppression:State", "NONE"]},
        {"enum": ["flou.engine.note:Note", "text"]},
        {"tuple": 3},
        {"dict": [[1]]},
        {"dict": [[[], 1]]},
        {"date": "yesterday"},
        {"decimal": "many"},
        {"array": "1.npy"},
        {"frame": "0.npy"},
        {"nothing": 1},
        {"tuple": [], "list": []},
        {},
        (1, 2),
        b"x",
    ],
    ids=repr,
)
def test_a_tree_that_was_changed_is_refused(tree: Any) -> None:
    with pytest.raises(DataError, match="not what Flou wrote"):
        read(Written(tree, ARRAY.parts), str)


@pytest.mark.parametrize("part", [b"", b"PK\x03\x04", pickle.dumps([1]), ARRAY.parts["0.npy"][:-4]])
def test_a_part_that_was_changed_is_refused(part: bytes) -> None:
    with pytest.raises(DataError, match="not what Flou wrote"):
        read(Written(ARRAY.tree, {"0.npy": part}), str)


def test_an_array_of_objects_is_not_unpickled() -> None:
    held = io.BytesIO()
    np.save(held, np.array([Loose()]), allow_pickle=True)
    with pytest.raises(DataError, match="Object arrays cannot be loaded"):
        read(Written(ARRAY.tree, {"0.npy": held.getvalue()}), str)


@pytest.mark.parametrize("copied", [pickle.dumps, copy.copy, copy.deepcopy])
def test_a_guarantee_is_not_pickled(copied: Callable[[object], object]) -> None:
    people = flou.Microdata(pl.DataFrame({"age": [1, 1, 2]}), keys=["age"])
    release = flou.protect.DropRecords(flou.risk.KAnonymity(k=2)).protect(people, secret=1)
    with pytest.raises(DataError, match="may hold values of the original"):
        copied(release.guarantees[0].guarantee)
