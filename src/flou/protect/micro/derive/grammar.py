"""The small grammar of rules: `notpb = original.notpb / original.apa_amount * apa_amount`.

    rule    = name "=" sum
    sum     = product { ("+" | "-") product }
    product = factor { ("*" | "/") factor }
    factor  = "-" factor | number | [ "original" "." ] name | function "(" sum { "," sum } ")" | "(" sum ")"

Functions: min, max, abs, floor, sqrt, log, exp. A name that is no plain word stands between backquotes.
Nothing else can be written, so a rule from a plan file can do nothing else.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from flou.engine.errors import ParameterError, did_you_mean

#: Function → how many arguments it takes; None: two or more.
FUNCTIONS: dict[str, int | None] = {"min": None, "max": None, "abs": 1, "floor": 1, "sqrt": 1, "log": 1, "exp": 1}

_TOKEN = re.compile(
    r"\s*(?:(?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)|(?P<name>[^\W\d]\w*)|`(?P<quoted>[^`]+)`|(?P<sign>[-+*/(),.=]))"
)


@dataclass(frozen=True)
class Constant:
    value: float


@dataclass(frozen=True)
class Column:
    """A column of the file as it is at this step, or of the plan's input."""

    name: str
    original: bool = False

    def __str__(self) -> str:
        return f"original.{self.name}" if self.original else self.name


@dataclass(frozen=True)
class Call:
    """An operator (+ - * / and the sign "neg") or a function, and what it is applied to."""

    name: str
    arguments: tuple[Expression, ...]


Expression = Constant | Column | Call


@dataclass(frozen=True)
class Rule:
    """One column and how it is computed."""

    target: str
    expression: Expression
    text: str

    @property
    def columns(self) -> tuple[Column, ...]:
        """The columns that it names, each once."""
        return tuple(dict.fromkeys(_columns(self.expression)))


def _columns(expression: Expression) -> Iterator[Column]:
    if isinstance(expression, Column):
        yield expression
    elif isinstance(expression, Call):
        for argument in expression.arguments:
            yield from _columns(argument)


#: Signs, numbers and names that a rule may have: what reads and computes it goes as deep as it is long.
_MOST_TOKENS = 200


def read_rule(text: str) -> Rule:
    """A rule from its text; a fault is shown where it stands."""
    return _Reader(text).rule()


class _Reader:
    """Reads a rule from left to right, by recursive descent."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens: list[tuple[str, str, int]] = []
        at = 0
        while text[at:].strip():
            found = _TOKEN.match(text, at)
            if found is None:
                start = at + len(text[at:]) - len(text[at:].lstrip())
                raise self._fault(f"{text[start]!r} is no part of a rule", start)
            kind = str(found.lastgroup)
            self._tokens.append(("name" if kind == "quoted" else kind, found[kind], found.start(kind)))
            at = found.end()
            if len(self._tokens) > _MOST_TOKENS:
                raise ParameterError(
                    f"the rule {text[:40]!r}… is too long: it has more than {_MOST_TOKENS} signs, numbers and names. "
                    "Split it into several rules."
                )
        self._next = 0

    def _fault(self, what: str, at: int) -> ParameterError:
        shown = f"{self._text[:at]}»{self._text[at:]}"
        return ParameterError(
            f"the rule {shown!r}: {what} (at the mark »). A rule reads like "
            "'notpb = original.notpb / original.apa_amount * apa_amount'."
        )

    def _here(self) -> tuple[str, str, int]:
        return self._tokens[self._next] if self._next < len(self._tokens) else ("end", "", len(self._text))

    def _take(self, *signs: str) -> str | None:
        kind, text, _ = self._here()
        if kind == "sign" and text in signs:
            self._next += 1
            return text
        return None

    def _expect(self, sign: str) -> None:
        if self._take(sign) is None:
            _, found, at = self._here()
            raise self._fault(
                f"{sign!r} is expected, not {found!r}" if found else f"{sign!r} is missing at the end", at
            )

    def _name(self, what: str) -> str:
        kind, text, at = self._here()
        if kind != "name":
            raise self._fault(f"{what} is expected", at)
        self._next += 1
        return text

    def rule(self) -> Rule:
        target = self._name("the name of the column to compute")
        self._expect("=")
        expression = self._sum()
        kind, text, at = self._here()
        if kind != "end":
            raise self._fault(f"{text!r} does not belong here", at)
        return Rule(target, expression, self._text)

    def _sum(self) -> Expression:
        found = self._product()
        while sign := self._take("+", "-"):
            found = Call(sign, (found, self._product()))
        return found

    def _product(self) -> Expression:
        found = self._factor()
        while sign := self._take("*", "/"):
            found = Call(sign, (found, self._factor()))
        return found

    def _factor(self) -> Expression:
        if self._take("-"):
            return Call("neg", (self._factor(),))
        if self._take("("):
            inner = self._sum()
            self._expect(")")
            return inner
        kind, text, at = self._here()
        if kind == "number":
            self._next += 1
            return Constant(float(text))
        name = self._name("a number, a column or a function")
        if self._take("("):
            return self._call(name, at)
        if name == "original" and self._take("."):
            return Column(self._name("a column of the plan's input"), original=True)
        return Column(name)

    def _call(self, name: str, at: int) -> Call:
        if name not in FUNCTIONS:
            known = ", ".join(FUNCTIONS)
            raise self._fault(f"there is no function {name!r}.{did_you_mean(name, FUNCTIONS)} Functions: {known}", at)
        arguments = [self._sum()]
        while self._take(","):
            arguments.append(self._sum())
        self._expect(")")
        wanted = FUNCTIONS[name]
        if len(arguments) != wanted and (wanted is not None or len(arguments) < 2):
            asked = "two or more" if wanted is None else str(wanted)
            raise self._fault(f"{name} takes {asked} of them, not {len(arguments)}", at)
        return Call(name, tuple(arguments))
