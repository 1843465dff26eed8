"""What the report says, section by section, in one language and for one audience."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from flou.decide.verdict import Decision
from flou.describe.microdata import Microdata
from flou.describe.overview import ColumnOverview, Overview
from flou.engine import registry
from flou.engine.release import Step
from flou.reporting.attack_section import AttackSection
from flou.reporting.glossary import Term, glossary
from flou.reporting.risk_section import Pair
from flou.reporting.utility_section import UtilitySection
from flou.risk.attacks import left_open

#: Keys shown in the internal list of the rarest.
_N_KEYS_SHOWN = 10


@dataclass(frozen=True)
class Content(AttackSection, UtilitySection):
    """Everything the template prints."""

    @property
    def title(self) -> str:
        held = self.original.schema.title
        return held.get(self.words.language) or held.get("en") or self.words("Disclosure control report")

    def decision(self, decision: Decision) -> str:
        """The name of a decision."""
        return self.words(
            {Decision.RELEASE: "Release", Decision.REVIEW: "Review", Decision.WITHHOLD: "Withhold"}[decision]
        )

    def decision_meaning(self, decision: Decision) -> str:
        """What a decision asks of the office."""
        meaning = {
            Decision.RELEASE: "The file may be published.",
            Decision.REVIEW: "Somebody must look at it before the file is published.",
            Decision.WITHHOLD: "The file must not be published.",
        }
        if self.tables:
            meaning = {
                Decision.RELEASE: "The tables may be published.",
                Decision.REVIEW: "Somebody must look at them before the tables are published.",
                Decision.WITHHOLD: "The tables must not be published.",
            }
        return self.words(meaning[decision])

    @cached_property
    def file(self) -> Overview:
        """The original in the internal version, the released file in the public one, which has none beside tables."""
        data: Microdata = self.records.public() if self.public else self.original
        return data.describe()

    def size(self) -> str:
        """How large the file is, and its key space."""
        file, m = self.file, len(self.file.columns)
        if self.public:
            size = self.words("The released file has {n} records and {m} columns.", n=file.n_records, m=m)
        else:
            size = self.words("The original has {n} records and {m} columns.", n=file.n_records, m=m)
        if file.n_keys is None:
            return size
        keys = self.words(
            "Its quasi-identifiers take {n} distinct combinations, {c} of them complete; "
            "{m} complete ones are possible.",
            n=file.n_keys,
            c=file.n_complete_keys,
            m=file.n_possible_keys,
        )
        return f"{size} {keys}"

    @property
    def drafted(self) -> bool:
        """Whether nobody has decided yet to publish: what the page shows is a draft."""
        return not self.public and (self.verdict is None or self.verdict.decision is not Decision.RELEASE)

    @property
    def leading_pairs(self) -> list[Pair]:
        """The measure whose figures head the page, of what is published."""
        return [p for p in self.pairs if not self.lies_behind(p)][:1]

    def limits(self) -> list[str]:
        """What the verdict does not say, for those who sign."""
        words = self.words
        if self.tables:
            return self.table_limits()
        out = []
        # of a sample the frame protects: that is where measures close attacks
        judged = "release" if self.release.data.kin.frame is None else "frame"
        left = left_open((r for r in self.results if r.measured_on == judged), self.release.data.schema.sensitive)
        if left:
            names = ", ".join(words(attack.title) for attack in left)
            out.append(words("No measure of the release closes these attacks: {names}.", names=names))
        out += [
            words(
                "k-anonymity answers one question: can a person be singled out by the quasi-identifiers declared here? "
                "It says nothing about what people with the same key have in common."
            ),
            words("A column that is not declared as a key is not counted, even if somebody could know it."),
        ]
        released = self.release.data.public().describe()
        fine = [self.label(c.name) for c in released.columns if self._nearly_unique(c, released.n_records)]
        if fine and not self.public:
            text = (
                "Exact amounts and dates can be matched with other files. "
                "Published columns with very many distinct values: {columns}."
            )
            out.append(words(text, columns=", ".join(fine)))
        else:
            out.append(words("Exact amounts and dates can be matched with other files."))
        return out

    def may_leave_as_it_is(self, column: str) -> bool:
        """Whether the schema says of a column without another role that it may be released."""
        return column in (*self.original.schema.others, *self.records.schema.others)

    def _nearly_unique(self, column: ColumnOverview, n_records: int) -> bool:
        """A published column, no key or weight, with a distinct value for one record in twenty or more."""
        return not {"key", "weight"} & set(column.roles) and 20 * column.n_distinct >= n_records

    def steps(self) -> Iterator[dict[str, Any]]:
        """Each step: what it is, its parameters, and what it changed."""
        for step in self.release.steps:
            if self.public and not registry.speaks_publicly(type(step.method)):
                continue
            yield {
                "number": step.number,
                "title": self.words(step.method.title or step.method.name()),
                "name": step.method.name(),
                "settings": self.settings(step.method.name(), step.method.shown_settings()),
                "changed": self._changed(step),
                "notes": self.notes(step.notes),
            }

    def _changed(self, step: Step) -> list[str]:
        if step.unit == "cells":
            return self.changed_counts(step)
        return self._changed_columns(step) if self.public else self._changed_values(step)

    def _changed_columns(self, step: Step) -> list[str]:
        """For the public: which published columns a step touched; how much is the original's own affair."""
        touched = [self.label(c.column) for c in step.changes if self.published(c.column)]
        lines = [self.words("changed: {columns}", columns=", ".join(touched))] if touched else []
        if step.n_records_before > step.n_records_after:
            lines.append(self.words("some records were dropped"))
        return lines or [self.words("no published column changed")]

    def _changed_values(self, step: Step) -> list[str]:
        lines = []
        for change in step.changes:
            label = self.label(change.column)
            if change.dropped:
                lines.append(self.words("{column}: column dropped", column=label))
                continue
            if change.n_changed is None:
                lines.append(self.words("{column}: some values changed, how many is secret", column=label))
            else:
                lines.append(self.words("{column}: {n} values changed", column=label, n=change.n_changed))
            if change.n_values_before != change.n_values_after:
                text = "{column}: {before} distinct values became {after}"
                counts = {"before": change.n_values_before, "after": change.n_values_after}
                lines.append(self.words(text, column=label, **counts))
        n_dropped = step.n_records_before - step.n_records_after
        if n_dropped:
            share = self.share(n_dropped, step.n_records_before)
            lines.append(self.words("{n} records dropped ({share})", n=n_dropped, share=share))
        return lines or [self.words("nothing changed")]

    def proofs(self) -> list[tuple[str, list[str]]]:
        """What was promised and proven, by the file that it holds for."""
        held = self.release.guarantees
        parts = (
            (
                "Guarantees, checked on the final tables" if self.tables else "Guarantees, checked on the final file",
                [p for p in held if not p.guarantee.on_frame and not p.guarantee.on_records],
            ),
            (
                "Guarantees, checked on the records behind the tables",
                [p for p in held if not p.guarantee.on_frame and p.guarantee.on_records],
            ),
            (
                "Guarantees, checked on the file that the sample was drawn from",
                [p for p in held if p.guarantee.on_frame],
            ),
        )
        told = [(self.words(heading), self.notes(proof.promise for proof in proofs)) for heading, proofs in parts]
        return [(heading, promises) for heading, promises in told if promises]

    def secret(self) -> list[str]:
        """What is said about the secret: never its value."""
        if not self.keyed:
            return [self._drawn()]
        drawn = any(step.random for step in self.release.steps)
        return [self.record_keys(), *([self._drawn()] if drawn else [])]

    def _drawn(self) -> str:
        """What the draws of the steps hang on."""
        origins = {
            "file": "a secret read from a file: the same plan, data and secret give the same release",
            "environment": "a secret read from the environment: the same plan, data and secret give the same release",
            "entropy": "the operating system's entropy: this release cannot be replayed",
            "test": "a test seed, which anybody can guess: for tests only",
            "demonstration": "the published demonstration secret: for synthetic data only",
        }
        if not self.release.random and self.release.secret_origin != "test":
            return self.words("nothing was drawn at random: the same plan and data give the same release")
        return self.words(origins[self.release.secret_origin])

    def glossary(self) -> list[Term]:
        """The general terms, and those of the methods that were used; on tables none of what the page does not show."""
        used = {step.method.name() for step in self.release.steps} | {r.method for r in self.results}
        used = {name for name in used if self.is_told(name)}
        told = [t for t in glossary(self.words.language) if not t.when or used & set(t.when)]
        return [t for t in told if t.about not in self._untold]

    @property
    def _untold(self) -> set[str]:
        """Terms about records that a page on tables does not need."""
        if not self.tables:
            return set()
        on_records = any(step.unit == "records" for step in self.release.steps)
        on_keys = on_records or any(self.lies_behind(pair) for pair in self.pairs)
        columns = on_records or not self.public  # the office reads which columns there are
        return {"file"} | (set() if columns else {"records"}) | (set() if on_keys else {"keys"})
