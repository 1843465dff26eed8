"""Primary rules as text, for the command line: "threshold(5), p%(10) | dominance(1, 80) and group_disclosure(health)".

A rule is a name with its parameters, by place or by name. The names that the field uses are known beside those of plan
files: p% and p for p_percent, nk for dominance, and (1,80)-dominance as it is written in papers.
"""

from __future__ import annotations

import re
from typing import Any

from flou.engine.errors import ParameterError, did_you_mean
from flou.risk.table.dominance import Dominance
from flou.risk.table.group_disclosure import GroupDisclosure
from flou.risk.table.p_percent import PPercent
from flou.risk.table.pq import PQ
from flou.risk.table.primary_rule import PrimaryRule
from flou.risk.table.threshold import Threshold

RULES: dict[str, type[PrimaryRule]] = {
    "threshold": Threshold,
    "p_percent": PPercent,
    "p%": PPercent,
    "p": PPercent,
    "pq": PQ,
    "dominance": Dominance,
    "nk": Dominance,
    "group_disclosure": GroupDisclosure,
}
_EXAMPLE = 'write it as "threshold(5), p%(10)"'
#: A name and its parameters, or parameters before a name; texts in quotes may hold anything.
_INNER = r"""((?:"[^"]*"|'[^']*'|[^()"'])*)"""
_RULE = re.compile(rf"\s*(?:(?P<name>[\w%]+)\s*\({_INNER}\)|\({_INNER}\)\s*-\s*(?P<after>[\w%]+))\s*")
_BETWEEN = re.compile(r",\s*and\b|[,|;]|\band\b", re.IGNORECASE)
_ARGUMENT = re.compile(r"""\s*(?:(?P<key>[A-Za-z_]\w*)\s*=)?\s*(?P<value>"[^"]*"|'[^']*'|[^,"'=]+)\s*(?:,|$)""")


def parse_rules(text: str) -> list[PrimaryRule]:
    """The rules of a text, joined by a comma, a bar or `and`."""
    if not isinstance(text, str) or not text.strip():
        raise ParameterError(f"No rule is given: {_EXAMPLE}.")
    found, at = [], 0
    while at < len(text):
        match = _RULE.match(text, at)
        if match is None:
            raise ParameterError(f"{text[at:].strip()!r} cannot be read as a rule with its parameters: {_EXAMPLE}.")
        found.append(_rule(match["name"] or match["after"], match[2] if match["name"] else match[3], match[0].strip()))
        at = match.end()
        if at < len(text):
            between = _BETWEEN.match(text, at)
            if between is None or not text[between.end() :].strip():
                raise ParameterError(
                    f"After {match[0].strip()!r} another rule should follow, behind a comma, a bar or `and`; there "
                    f"stands {text[at:].strip()!r}."
                )
            at = between.end()
    return found


def _rule(name: str, inner: str, shown: str) -> PrimaryRule:
    kind = RULES.get(name.lower())
    if kind is None:
        known = [known for known in RULES if known != "p"]
        raise ParameterError(f"There is no primary rule {name!r}.{did_you_mean(name.lower(), known)}")
    fields = list(kind.model_fields)
    given: dict[str, Any] = {}
    for key, value in _arguments(inner, shown):
        place = key or next((f for f in fields if f not in given), None)
        if place is None or (key is None and len(given) != fields.index(place)):
            raise ParameterError(f"{shown!r} has too many parameters, or one without a name behind one that has it: "
                                 f"{kind.name()} takes {', '.join(fields)}.")  # fmt: skip
        if place in given:
            raise ParameterError(f"{shown!r} gives {place!r} twice.")
        given[place] = value
    return kind(**given)


def _arguments(inner: str, shown: str) -> list[tuple[str | None, Any]]:
    out, at = [], 0
    while at < len(inner):
        match = _ARGUMENT.match(inner, at)
        if match is None or not match["value"].strip():
            raise ParameterError(f"The parameters of {shown!r} cannot be read from {inner[at:].strip()!r} on: "
                                 "write numbers, true, false or texts, with commas between.")  # fmt: skip
        out.append((match["key"], _value(match["value"].strip())))
        at = match.end()
    return out


def _value(word: str) -> Any:
    if word[0] in "\"'":
        return word[1:-1]
    if word.lower() in ("true", "false"):
        return word.lower() == "true"
    for kind in (int, float):
        try:
            return kind(word)
        except ValueError:
            continue
    return word
