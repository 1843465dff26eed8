"""Which attack each model answers: one table for assessments, reports and documentation.

After the summary of Ben Fredj (2017, table of privacy models), in its cautious reading: where that table and its text
disagree, the attack counts as open. No l-diversity closes skewness or similarity.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from flou.engine.result import Result

AttackName = Literal["identity", "homogeneity", "background", "similarity", "skewness", "presence", "amounts"]
#: Whether a model closes an attack when it flags nobody, or only says how exposed people are.
Answer = Literal["closes", "measures"]


@dataclass(frozen=True)
class AttackKind:
    """What an intruder does; `title` is translated by the report."""

    name: AttackName
    title: str


ATTACKS: tuple[AttackKind, ...] = (
    AttackKind("identity", title="identity"),
    AttackKind("homogeneity", title="homogeneity"),
    AttackKind("background", title="background knowledge"),
    AttackKind("similarity", title="similarity"),
    AttackKind("skewness", title="skewness"),
    AttackKind("presence", title="presence"),
    AttackKind("amounts", title="exact amounts"),
)

#: Method, and for some the kind or distance it is used with → what it does about each attack.
ANSWERS: dict[str, dict[AttackName, Answer]] = {
    "k_anonymity": {"identity": "closes"},
    "k_map": {"identity": "measures"},
    "individual_risk": {"identity": "measures"},
    "household_risk": {"identity": "measures"},
    "global_risk": {"identity": "measures"},
    "poisson_risk": {"identity": "measures"},
    "population_uniqueness": {"identity": "measures"},
    "attacker_risk": {"identity": "measures"},
    "suda": {"identity": "measures"},
    "l_diversity: distinct": {"identity": "closes", "homogeneity": "closes", "background": "measures"},
    "l_diversity: entropy": {"identity": "closes", "homogeneity": "closes", "background": "closes"},
    "l_diversity: recursive": {"identity": "closes", "homogeneity": "closes", "background": "closes"},
    "l_diversity: grouped": {
        "identity": "closes", "homogeneity": "closes", "background": "measures", "similarity": "closes",
    },
    "t_closeness: equal": {"homogeneity": "measures", "skewness": "closes", "similarity": "measures"},
    "t_closeness: ordered": {"homogeneity": "measures", "skewness": "closes", "similarity": "closes"},
    "t_closeness: hierarchical": {"homogeneity": "measures", "skewness": "closes", "similarity": "closes"},
    "disclosure_delta": {"homogeneity": "measures", "skewness": "closes"},
    "beta_likeness": {"homogeneity": "measures", "skewness": "closes", "similarity": "measures"},
    "presence": {"presence": "closes"},
    "interval_risk": {"amounts": "measures"},
    "outlier_risk": {"amounts": "measures"},
}  # fmt: skip


def answers_of(result: Result) -> dict[AttackName, Answer]:
    """What the model behind a result does about each attack."""
    settings = result.settings
    if result.method == "l_diversity":
        grouped = "groups" in settings or "level" in settings
        return ANSWERS[f"l_diversity: {'grouped' if grouped else settings['kind']}"]
    if result.method == "t_closeness":
        return ANSWERS[f"t_closeness: {settings['distance']}"]
    return ANSWERS.get(result.method, {})


#: Settings beyond which a model asks for next to nothing, and closes no attack however few it flags.
_LOOSEST: dict[str, tuple[str, float]] = {
    "t_closeness": ("t", 0.5),
    "disclosure_delta": ("delta", 2.0),
    "beta_likeness": ("beta", 4.0),
    "presence": ("high", 0.9),
}
_MOST_FREQUENT = 4.0


def asks_for_something(result: Result, sensitive: Iterable[str] = ()) -> bool:
    """Whether a model asks for enough, of every sensitive column, for a zero to mean something."""
    settings = result.measured_with
    named = settings.get("sensitive")
    if named is not None and not set(sensitive) <= set(named):
        return False
    if result.method in ("k_anonymity", "attack_map"):
        # nulls as wildcards carry the count: only as a category do they hide somebody
        certain = settings["missing"] == "category" or not _has_nulls(result)
        if not (certain and settings["k"] >= 2 and settings.get("subsets") is None):
            return False
    if result.method == "attack_map":
        strict = settings["t"] <= _LOOSEST["t_closeness"][1] and settings["high"] <= _LOOSEST["presence"][1]
        return bool(strict and settings["l"] >= 2 and settings["c"] <= _MOST_FREQUENT)
    if result.method == "l_diversity":
        loose = settings["kind"] == "recursive" and settings["c"] > _MOST_FREQUENT
        return bool(settings["l"] >= 2 and not loose)
    name, loosest = _LOOSEST.get(result.method, ("", 0.0))
    return not name or bool(settings[name] <= loosest)


def _has_nulls(result: Result) -> bool:
    keys = getattr(result, "keys", None)
    return keys is None or any(keys.frame[c].null_count() for c in keys.columns)


def left_open(results: Iterable[Result], sensitive: Iterable[str] = ()) -> list[AttackKind]:
    """The attacks that these results do not close: one of them does when it asks for enough and flags nobody.

    An attack that any of them finds open is open. `sensitive` are the columns that nobody should learn.
    """
    closed: set[AttackName] = set()
    found: set[AttackName] = set()
    columns = tuple(sensitive)
    for result in results:
        means_something = asks_for_something(result, columns)
        for line in getattr(result, "lines", ()):
            if line.status != "closed":
                found.add(line.attack.name)
            elif means_something:
                closed.add(line.attack.name)
        answers = {attack for attack, answer in answers_of(result).items() if answer == "closes"}
        if result.value != 0:
            # l-diversity speaks of identity only when it is met
            found |= {a for a in answers if a != "identity" or result.method == "k_anonymity"}
        elif means_something:
            closed |= answers
    return [attack for attack in ATTACKS if attack.name not in closed - found]
