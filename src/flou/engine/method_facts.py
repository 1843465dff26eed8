"""What a method says of itself, as values for editors and forms, and in words for people."""

from __future__ import annotations

from typing import Any

from flou.engine import registry
from flou.engine.method import Method
from flou.engine.protection import Protection
from flou.engine.taxonomy import ANSWERS, EVERY_ATTACK, Answer


def facts_of(method: type[Method]) -> dict[str, Any]:
    """What a method says of itself: editors and forms choose by it."""
    return {
        "data": list(method.takes),
        **({"perturbative": method.perturbative} if issubclass(method, Protection) else {}),
        "audience": "public" if registry.speaks_publicly(method) else "internal",
        "requires": list(method.requires),
        "uses": list(method.uses),
        "answers": {variant: dict(answers) for variant, answers in method.answers_by.items()},
        "reference": method.reference,
    }


def summary_of(method: type[Method]) -> str:
    """The first sentence of a method's docstring."""
    return " ".join((method.__doc__ or "").strip().split("\n\n")[0].split())


def told_of(method: type[Method]) -> list[tuple[str, str]]:
    """The same in words: a heading and what stands behind it."""
    found = [("Works on", ", ".join(method.takes))]
    if issubclass(method, Protection) and method.perturbative is not None:
        found.append(("Released values", _PERTURBATIVE[method.perturbative]))
    found += [
        (n.capitalize(), ", ".join(held)) for n, held in (("requires", method.requires), ("uses", method.uses)) if held
    ]
    for answer in ANSWERS:
        told = {attack.name: _variants(method, attack.name, answer) for attack in EVERY_ATTACK}
        attacks = [f"{attack}{variants}" for attack, variants in told.items() if variants is not None]
        if attacks:
            found.append((answer.capitalize(), ", ".join(attacks)))
    return [*found, ("Results are read by", _READERS[registry.speaks_publicly(method)])]


_PERTURBATIVE = {True: "may be other than the true ones", False: "are true, only coarser or gone"}
_READERS = {True: "the public as well", False: "the office alone"}


def told_answer(method: type[Method], attack: str) -> str:
    """What a method does about an attack: `closes`, or by variant where they differ."""
    by_answer = {answer: _variants(method, attack, answer) for answer in ANSWERS}
    return "; ".join(f"{answer}{variants}" for answer, variants in by_answer.items() if variants is not None)


def _variants(method: type[Method], attack: str, answer: Answer) -> str | None:
    """With which parameters a method gives an answer; None if with none, empty if with all."""
    found = [variant or "else" for variant, given in method.answers_to(attack).items() if given == answer]
    if not found:
        return None
    return "" if len(found) == len(method.answers_by) else f" ({', '.join(found)})"
