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
    """What an intruder does; `title` and `question` are translated by the report."""

    name: AttackName
    title: str
    question: str


ATTACKS: tuple[AttackKind, ...] = (
    AttackKind("identity", title="identity", question="Which record is his?"),
    AttackKind("homogeneity", title="homogeneity", question="Do all records with his key say the same?"),
    AttackKind("background", title="background knowledge", question="What is left when some values are ruled out?"),
    AttackKind("similarity", title="similarity", question="Are the values with his key all of one kind?"),
    AttackKind("skewness", title="skewness", question="Is a value more likely with his key than in general?"),
    AttackKind("presence", title="presence", question="Is he in the file at all?"),
    AttackKind("amounts", title="exact amounts", question="Is his amount, known from elsewhere, in the file?"),
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


def left_open(results: Iterable[Result]) -> list[AttackKind]:
    """The attacks that none of these results closes: a model closes its attacks when it flags nobody."""
    closed: set[AttackName] = set()
    for result in results:
        # an assessment has a line for each attack that it closes
        closed |= {line.attack.name for line in getattr(result, "lines", ()) if line.status == "closed"}
        if result.value == 0:
            closed |= {attack for attack, answer in answers_of(result).items() if answer == "closes"}
    return [attack for attack in ATTACKS if attack.name not in closed]
