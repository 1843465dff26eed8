"""The attacks that methods answer, and what a method can do about each.

Attacks on records after the summary of Ben Fredj (2017, table of privacy models), in its cautious reading: where that
table and its text disagree, a model does not close the attack. No l-diversity closes skewness or similarity.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

AttackName = Literal[
    "identity", "homogeneity", "background", "similarity", "skewness", "presence", "amounts",
    "inference", "differencing", "reconstruction",
]  # fmt: skip
#: A model closes an attack when it flags nobody, or a protection by a guarantee; others make it harder, or say how far
#: it reaches.
Answer = Literal["closes", "reduces", "measures"]
Answers = Mapping[AttackName, Answer]
ANSWERS: tuple[Answer, ...] = ("closes", "reduces", "measures")

#: What a method may require or use: a plan of several tables refuses one that requires "one table", and makes cell keys
#: where one requires them; noise from "system entropy" cannot be drawn again with the secret.
Requirement = Literal[
    "one table", "cell keys", "counts", "original", "public table", "true tables", "true records", "sensitive columns",
    "household numbers", "system entropy",
]  # fmt: skip


@dataclass(frozen=True)
class AttackKind:
    """What an intruder does; `title` is translated by the report."""

    name: AttackName
    title: str
    #: What he finds, in a line.
    meaning: str = ""


#: Attacks on records; amounts are asked of tables as well.
ATTACKS: tuple[AttackKind, ...] = (
    AttackKind("identity", title="identity", meaning="which record is whose"),
    AttackKind("homogeneity", title="homogeneity", meaning="a value that all records with the same key share"),
    AttackKind("background", title="background knowledge", meaning="a value that is left when others are ruled out"),
    AttackKind("similarity", title="similarity", meaning="values of a key that mean nearly the same"),
    AttackKind("skewness", title="skewness", meaning="a value that is far more likely for a key than in the file"),
    AttackKind("presence", title="presence", meaning="whether somebody is in the file"),
    AttackKind("amounts", title="exact amounts", meaning="the exact amount of a person or firm"),
)
#: Attacks on tables.
TABLE_ATTACKS: tuple[AttackKind, ...] = (
    AttackKind("inference", title="inference", meaning="the true figure behind a published one"),
    AttackKind("differencing", title="differencing", meaning="the few who lie between two published cells"),
    AttackKind("reconstruction", title="reconstruction", meaning="the records behind published tables"),
)
EVERY_ATTACK = (*ATTACKS, *TABLE_ATTACKS)
#: Those that privacy models close on a file by itself, and with them the protections that go by models.
CLOSED_BY_MODELS: tuple[AttackName, ...] = ("identity", "homogeneity", "background", "similarity", "skewness")


def always(**answers: Answer) -> Mapping[str, Answers]:
    """What a method does about each attack whatever its parameters are."""
    known = {attack.name for attack in EVERY_ATTACK}
    assert set(answers) <= known, f"there are no attacks {set(answers) - known}"
    return {"": {attack.name: answers[attack.name] for attack in EVERY_ATTACK if attack.name in answers}}
