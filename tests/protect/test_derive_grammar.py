"""The grammar of rules: what can be written, what it means, and where a fault stands."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from flou.engine.errors import ParameterError
from flou.protect.micro.derive.evaluate import Evaluation, as_monomial
from flou.protect.micro.derive.grammar import Column, read_rule

NAMES = {"a": 2.0, "b": -3.0, "part": 0.5, "original": 7.0, "min": 4.0, "my col": 1.5, "été_2": 10.0}
FUNCTIONS: dict[str, Any] = {"min": min, "max": max, "abs": abs, "floor": math.floor}


def _value(text: str) -> float:
    rule = read_rule(f"x = {text}")
    values = {c: np.array([NAMES[c.name] + (100.0 if c.original else 0.0)]) for c in rule.columns}
    return float(Evaluation(values, 1).of(rule.expression)[0])


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1 + 2 * 3", 7), ("(1 + 2) * 3", 9), ("8 / 4 / 2", 1), ("8 - 4 - 2", 2), ("8 / 4 * 2", 4), ("-2 * 3", -6),
        ("2 * -3", -6), ("2 - -3", 5), ("--2", 2), ("-(2 + 3)", -5), ("- 2 - 3", -5), ("1e3 + .5 + 2.", 1002.5),
        ("2E-1", 0.2), ("min(3, 1 + 1, 5)", 2), ("max(-1, -2)", -1), ("abs(-2) + floor(2.9)", 4), ("floor(-0.5)", -1),
        ("sqrt(16) * exp(0) + log(1)", 4), ("a * b", -6), ("`my col` * 2", 3), ("été_2 / 4", 2.5),
        ("original.a / original.b", 102 / 97), ("original", 7), ("original . a", 102), ("original.`my col`", 101.5),
        ("min * 2", 8), ("min(min, 9)", 4), ("max(min(1, 2), 0)", 1), ("1/2*4", 2), ("1/(2*4)", 0.125),
    ],
)  # fmt: skip
def test_values_of_rules(text: str, value: float) -> None:
    assert _value(text) == pytest.approx(value, rel=1e-15)


FAULTS = [
    ("x", "'=' is missing", 1), ("x = ", "expected", 4), ("= 3", "name of the column", 0), ("3 = x", "name of the", 0),
    ("x = 3 +", "expected", 7), ("x = (3", "')' is missing", 6), ("x = 3)", "does not belong", 5),
    ("x = 3 4", "does not belong", 6), ("x = a b", "does not belong", 6), ("x = * 3", "expected", 4),
    ("x = + 3", "expected", 4), ("x = foo(3)", "no function 'foo'", 4), ("x = abs(1, 2)", "takes 1", 4),
    ("x = min(1)", "two or more", 4), ("x = sqrt()", "expected", 9), ("x = min(1,)", "expected", 10),
    ("x = a ** 2", "expected", 7), ("x = a % 2", "'%' is no part", 6), ("x = a.b", "does not belong", 5),
    ("x = original.", "plan's input", 13), ("x = original.3", "does not belong", 12), ("x = `a", "no part", 4), ("x = ``", "no part", 4),
    ("x == 3", "expected", 3), ("x = a = b", "does not belong", 6), ("x = 'a'", "no part", 4), ("x = 1_000", "does not belong", 5),
    ("x = __import__('os')", "no part", 15), ("x = a; b", "';' is no part", 5), ("", "name of the column", 0),
    ("x = min(1 2)", "')' is expected", 10), ("x = 1e", "does not belong", 5),
]  # fmt: skip


@pytest.mark.parametrize(("text", "what", "at"), FAULTS, ids=[f[0] or "empty" for f in FAULTS])
def test_a_fault_is_named_and_marked_where_it_stands(text: str, what: str, at: int) -> None:
    with pytest.raises(ParameterError, match="at the mark »") as caught:
        read_rule(text)
    message = str(caught.value)
    assert what in message
    assert repr(f"{text[:at]}»{text[at:]}") in message


@pytest.mark.parametrize(
    "text", ["x = " + "(" * 9000 + "1" + ")" * 9000, "x = " + "-" * 9000 + "1", "x = 1" + " + 1" * 9000]
)
def test_a_rule_without_end_is_refused(text: str) -> None:
    with pytest.raises(ParameterError, match="too long"):
        read_rule(text)


def test_a_misspelt_function_is_corrected() -> None:
    with pytest.raises(ParameterError, match=r"flor.*floor"):
        read_rule("x = flor(2)")


Tree = tuple[str, float | None]
leaves = st.one_of(
    st.floats(0, 1e6).map(lambda v: (repr(v), v)),
    st.integers(0, 10**6).map(lambda v: (str(v), float(v))),
    st.sampled_from(["a", "b", "part"]).map(lambda n: (n, NAMES[n])),
)


def _joined(trees: tuple[Tree, str, Tree]) -> Tree:
    """A node with its text fully bracketed, so that Python's own arithmetic says its value."""
    (left, x), sign, (right, y) = trees
    text = f"({left} {sign} {right})"
    if x is None or y is None or (sign == "/" and y == 0):
        return text, None
    return text, {"+": x + y, "-": x - y, "*": x * y, "/": x / y if y else None}[sign]


def _called(node: tuple[str, list[Tree]]) -> Tree:
    name, arguments = node
    values = [v for _, v in arguments]
    text = f"{name}({', '.join(t for t, _ in arguments)})"
    if any(v is None for v in values):
        return text, None
    return text, float(FUNCTIONS[name](*values))


trees = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from("+-*/"), inner).map(_joined),
        inner.map(lambda t: (f"-{t[0]}", None if t[1] is None else -t[1])),
        st.tuples(st.sampled_from(["min", "max"]), st.lists(inner, min_size=2, max_size=4)).map(_called),
        st.tuples(st.just("abs"), st.lists(inner, min_size=1, max_size=1)).map(_called),
    ),
    max_leaves=12,
)


@given(trees)
def test_random_trees_have_the_value_that_python_gives(tree: Tree) -> None:
    text, value = tree
    found = _value(text)
    if value is not None:
        assert found == value or (math.isnan(found) and math.isnan(value))


@given(st.lists(st.tuples(st.sampled_from("+-*/"), st.integers(1, 50)), min_size=1, max_size=8), st.integers(1, 50))
def test_precedence_is_that_of_python(steps: list[tuple[str, int]], first: int) -> None:
    text = f"{first} " + " ".join(f"{sign} {n}" for sign, n in steps)
    assert _value(text) == eval(text)


@given(trees)
def test_a_product_of_powers_has_the_value_of_its_rule(tree: Tree) -> None:
    rule = read_rule(f"x = {tree[0]}")
    found = as_monomial(rule.expression)
    if found is None or tree[1] is None or not np.isfinite(tree[1]):
        return
    values = {Column(n): np.array([v]) for n, v in NAMES.items()}
    assert found.released(values, 1)[0] == pytest.approx(tree[1], rel=1e-9, abs=1e-300)
