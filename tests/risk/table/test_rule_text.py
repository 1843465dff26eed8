"""Rules as they are written on the command line."""

from __future__ import annotations

import pytest

import flou
from flou.engine.errors import ParameterError
from flou.risk.table.rule_text import parse_rules

R = flou.risk


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("threshold(5)", [R.Threshold(5)]),
        ("Threshold( n = 5 , zeros=TRUE )", [R.Threshold(5, zeros=True)]),
        ("threshold(5, true, 20)", [R.Threshold(5, zeros=True, margin=20)]),
        ("p%(10)", [R.PPercent(10)]),
        ("p% (12.5)", [R.PPercent(12.5)]),
        ("p(10)", [R.PPercent(10)]),
        ("p_percent(p=10)", [R.PPercent(10)]),
        ("pq(10,50)", [R.PQ(p=10, q=50)]),
        ("pq(q=50, p=10)", [R.PQ(p=10, q=50)]),
        ("dominance(1,80)", [R.Dominance(n=1, k=80)]),
        ("nk(1, k=80)", [R.Dominance(n=1, k=80)]),
        ("(1,80)-dominance", [R.Dominance(n=1, k=80)]),
        ("group_disclosure(health)", [R.GroupDisclosure("health")]),
        ('group_disclosure("état (de santé), and more", outsiders=1)',
         [R.GroupDisclosure("état (de santé), and more", outsiders=1)]),
        ("group_disclosure('2020')", [R.GroupDisclosure("2020")]),
        ("threshold(5), p%(10)", [R.Threshold(5), R.PPercent(10)]),
        ("threshold(5)|p%(10) | pq(10, 50)", [R.Threshold(5), R.PPercent(10), R.PQ(p=10, q=50)]),
        ("threshold(5) and (2,90)-dominance, and nk(1,80)",
         [R.Threshold(5), R.Dominance(n=2, k=90), R.Dominance(n=1, k=80)]),
    ],
)  # fmt: skip
def test_rules_are_read(text: str, expected: list[object]) -> None:
    assert parse_rules(text) == expected


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "No rule is given"),
        ("  ", "No rule is given"),
        ("treshold(5)", "Did you mean 'threshold'"),
        ("median(5)", "no primary rule 'median'.*'dominance'"),
        ("threshold", "cannot be read as a rule"),
        ("threshold 5", "cannot be read as a rule"),
        ("threshold(5", "cannot be read as a rule"),
        ("threshold(5) p%(10)", "behind a comma, a bar or `and`"),
        ("threshold(5),", "another rule should follow"),
        ("threshold(5),,p%(10)", "cannot be read as a rule"),
        ("threshold(5))", "another rule should follow"),
        ("threshold()", "'n' is required"),
        ("threshold(m=5)", "no parameter 'm'"),
        ("threshold(five)", "n = 'five' is not allowed"),
        ("threshold(5.0)", "n = 5.0 is not allowed"),
        ("threshold(5, n=5)", "gives 'n' twice"),
        ("threshold(5,,10)", "cannot be read from ',10' on"),
        ("dominance(1,80,3)", "takes n, k"),
        ("dominance(k=80, 1)", "takes n, k"),
        ("p%(0.1)", r"a percentage: 10, not 0\.1"),
        ("p%(nan)", "PPercent"),
        ("pq(50,10)", "p = 50 must be less than q = 10"),
    ],
)
def test_what_cannot_be_read_is_refused(text: str, complaint: str) -> None:
    with pytest.raises(ParameterError, match=complaint):
        parse_rules(text)
