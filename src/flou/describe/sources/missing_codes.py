"""What the missing values of a survey file mean.

A code is *not applicable* (the question does not concern the person: a category of its own) or
*undetermined* (null: it may stand for any value). The schema decides; else the code's own label; else it is
undetermined, the cautious side, for a pessimistic count takes the rarest value it could be.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from flou.describe.schema import Schema
from flou.describe.sources.survey_column import Column, is_letter
from flou.engine.values import text_of

_NOT_APPLICABLE = (
    "not applicable", "n/a", "inapplicable", "does not apply", "doesn't apply", "valid skip", "logical skip",
    "legitimate skip", "not in universe", "out of universe", "non applicable", "sans objet", "non concerne",
    "non concernee", "non concernes", "non concernees", "pas concerne", "pas concernee", "ne s'applique pas",
    "hors champ",
)  # fmt: skip
#: A label that names one of these too says nothing certain: "not applicable or refused".
_UNKNOWN = (
    "don't know", "dont know", "do not know", "dk", "refused", "refusal", "refuse", "no answer", "not answered",
    "not stated", "not ascertained", "missing", "unknown", "ne sait pas", "nsp", "refus", "sans reponse",
    "non reponse", "pas de reponse", "non declare", "manquant", "inconnu",
)  # fmt: skip


def _any_of(phrases: Iterable[str]) -> re.Pattern[str]:
    return re.compile(r"(?<!\w)(?:" + "|".join(map(re.escape, phrases)) + r")(?!\w)")


_SAYS_NOT_APPLICABLE, _SAYS_UNKNOWN = _any_of(_NOT_APPLICABLE), _any_of(_UNKNOWN)


def says_not_applicable(label: str) -> bool:
    """Whether a label, in English or French, says that the question does not concern the person."""
    plain = "".join(c for c in unicodedata.normalize("NFKD", label.casefold()) if not unicodedata.combining(c))
    plain = re.sub(r"[\s_\u2010-\u2015-]+", " ", plain.replace("\u2019", "'"))
    return bool(_SAYS_NOT_APPLICABLE.search(plain)) and not _SAYS_UNKNOWN.search(plain)


@dataclass(frozen=True)
class Codes:
    """The missing-value codes of one column: those the schema declares, and the file's labels for the others."""

    not_applicable: frozenset[str]
    undetermined: frozenset[str]
    labels: Mapping[str, tuple[str, ...]]

    @classmethod
    def of(cls, column: Column, schema: Schema) -> Codes:
        own = {v: tuple(label.values()) for v, label in schema.value_labels.get(column.name, {}).items()}
        labels = {v: (label,) for v, label in (column.value_labels or {}).items()} | own
        declared = _texts(schema.undetermined.get(column.name, ()))
        found = {
            v
            for v, texts in labels.items()
            if v not in declared and column.declares_missing(v) and any(says_not_applicable(t) for t in texts)
        }
        return cls(_texts(schema.not_applicable.get(column.name, ())) | found, declared, labels)

    @property
    def letters(self) -> list[str]:
        """Lettered codes that are categories of their own."""
        return sorted(c for c in self.not_applicable if is_letter(c))


def _texts(values: Iterable[object]) -> frozenset[str]:
    return frozenset(text_of(v) for v in values)


def contradictions(column: Column, codes: Codes, schema: Schema) -> Iterable[str]:
    """What file and schema cannot both mean, with the ways out."""
    name = column.name
    own = _texts(schema.not_applicable.get(name, ())) | codes.undetermined
    hierarchy = schema.hierarchies.get(name)
    categories = {text_of(v): "modalities" for v in schema.modalities.get(name, ())}
    categories |= {leaf: "hierarchy" for leaf, _ in (hierarchy.table if hierarchy else ())}
    for code, place in categories.items():
        if code not in own and column.declares_missing(code):
            yield (
                f"the column {name!r}: the file declares {code!r} as a missing value, and the schema has it as a "
                f"category in its {place}; take it out there, or declare it as not_applicable, which makes it a "
                "category of its own"
            )
    wanted = [c for c in sorted(own - codes.undetermined) if is_letter(c) and column.has_letters]
    if wanted and not can_hold_letters(column, codes, schema):
        yield (
            f"the column {name!r}: {wanted[0]!r} is declared not applicable, but cannot be a category among numbers; "
            'declare it as undetermined, or the column as type = "text"'
        )


def can_hold_letters(column: Column, codes: Codes, schema: Schema) -> bool:
    """Whether a lettered code can be a category: in text, or in a column whose ordinary values are labelled."""
    if column.kind != "number":
        return False
    declared = schema.types.get(column.name)
    if declared is None:
        return any(not column.declares_missing(v) for v in codes.labels)
    return declared == "text"
