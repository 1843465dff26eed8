"""An assessment by attack: what an intruder could do with the file, and how many records each attack reaches.

Each attack is put to the file with the model that answers it (`flou.risk.attacks`, after Ben Fredj 2017): identity with
k-anonymity, homogeneity with distinct l-diversity, background knowledge with recursive l-diversity, similarity
with l-diversity on groups of values, skewness with t-closeness, presence with δ-presence against a public table,
exact amounts by counting the values that one record alone has, or one household where they are amounts of households.

An attack that could not be measured counts as open, and as reaching everybody: the result says what is missing.
It fails where a key or a sensitive column is not declared: nobody asks about a column that the schema does not name.
"""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray
from pydantic import Field, model_validator

from flou.describe.microdata import Microdata
from flou.describe.unique_ids import count_persons
from flou.engine.charts import Look, bars
from flou.engine.errors import DataError, KeySpaceTooLargeError, ParameterError
from flou.engine.figure import Figure
from flou.engine.keys import KeyTable
from flou.engine.measure import Names, RiskMeasure
from flou.engine.note import Note
from flou.engine.parameters import Columns, Number, Pairs, Share
from flou.engine.result import RiskResult
from flou.engine.risk_figure import SHARE, Vacuous, count_of
from flou.engine.sense import STRICT, Missing
from flou.engine.taxonomy import ATTACKS, Answers, AttackKind, AttackName
from flou.engine.values import percent, settings_text
from flou.engine.words import Words
from flou.risk.micro.closeness import TCloseness
from flou.risk.micro.diversity import LDiversity
from flou.risk.micro.k_anonymity import KAnonymity
from flou.risk.micro.presence import Presence
from flou.risk.micro.setting import require_keys, sensitive_columns
from flou.risk.micro.sole_values import count_alone, holders_of, suspicions

if TYPE_CHECKING:
    import altair as alt

#: Columns of a page.
_WIDTH = 79

Status = Literal["closed", "open", "not measured"]


@dataclass(frozen=True)
class Line:
    """One attack: what measured it, the share of records it reaches, or why it could not be measured."""

    attack: AttackKind
    measure: str = ""
    share: float | None = None
    why: Note | None = None
    #: What went wrong, word for word; for the analyst alone, since it may quote the data.
    detail: str = ""

    @property
    def status(self) -> Status:
        return "not measured" if self.share is None else "open" if self.share > 0 else "closed"


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Assessment(RiskResult):
    """A result with one line an attack: `.lines`, and `.open`, those that are not closed."""

    lines: tuple[Line, ...] = field(default=(), repr=False)

    @property
    def open(self) -> tuple[AttackName, ...]:
        """Attacks that reach somebody, or that nobody has measured."""
        return tuple(line.attack.name for line in self.lines if line.status != "closed")

    def summary(self) -> str:
        """One page of text, 80 columns wide."""
        rows = [("attack", "status", "records", "measured by")]
        for line in self.lines:
            shown = "" if line.share is None else f"{percent(line.share)}%"
            by = " ".join(text for text in (line.measure, line.detail or _plain(line.why)) if text)
            rows.append((line.attack.title, line.status, shown, by))
        widths = [max(len(row[i]) for row in rows) for i in range(3)]
        text = textwrap.wrap(self._heading, _WIDTH)
        for name, status, shown, by in rows:
            start = f"  {name:<{widths[0]}}  {status:<{widths[1]}}  {shown:>{widths[2]}}  "
            text += _wrapped(start, by)
        text.append(f"{self.value_label}: {percent(self.value)}%")
        if any(line.share is None for line in self.lines):
            measured = self.figures["measured"] or 0.0
            text.append(f"  of those measured: {percent(float(measured))}%; the others count as reaching everybody")
        return "\n".join(text)


def _plain(note: Note | None) -> str:
    """A reason without the attack it is about, which the line names already."""
    return "" if note is None else str(note).partition(": ")[2]


def _wrapped(start: str, text: str) -> list[str]:
    lines = textwrap.wrap(text, max(20, _WIDTH - len(start))) or [""]
    return [(start + lines[0]).rstrip(), *(" " * len(start) + line for line in lines[1:])]


class AttackMap(RiskMeasure):
    """Assess a file by attack: which ones reach whom, which stay open because nothing measures them.

    Reference: Ben Fredj (2017), in its cautious reading.
    Result: `.value` the share that the most successful attack reaches, `.lines` one line an attack, `.open` the attacks
    that are not closed, `.units` how many attacks by key reach each record,
    `.summary()` one page. Exact amounts are a matter of columns, not of keys: they are in `.value` and `.lines` alone.
    """

    reference: ClassVar[str] = "benfredj2017"
    title: ClassVar[str] = "assessment by attack"
    audience = "public"
    answers_by: ClassVar[Mapping[str, Answers]] = {"": {attack.name: "measures" for attack in ATTACKS}}
    loose: ClassVar[Mapping[str, Vacuous]] = {
        "k": ("<", 2), "l": ("<", 2), "c": (">", 4), "t": (">", 0.5), "high": (">", 0.9),
    }  # fmt: skip
    uses = ("public table",)
    allows_several_rows: ClassVar[bool] = True
    headline: ClassVar[Figure] = Figure(
        "value", "share of records that the most successful attack reaches", "share", SHARE, "public"
    )
    figures: ClassVar[tuple[Figure, ...]] = (
        Figure.public("identity", "identity", "share", SHARE, absent="not measured"),
        Figure.public("homogeneity", "homogeneity", "share", SHARE, absent="not measured"),
        Figure.public("background", "background knowledge", "share", SHARE, absent="not measured"),
        Figure.public("similarity", "similarity", "share", SHARE, absent="not measured"),
        Figure.public("skewness", "skewness", "share", SHARE, absent="not measured"),
        Figure.public("presence", "presence", "share", SHARE, absent="not measured"),
        Figure.public("amounts", "exact amounts", "share", SHARE, absent="not measured"),
        Figure.public("measured", "of the attacks measured: share that the most successful reaches", "share", SHARE),
        Figure.public("n_open", "attacks that are not closed", "count", "low"),
        Figure.public("n_at_risk", "records that an attack by keys reaches", "count", count_of("n_records")),
        Figure.public("n_records", "records", "count"),
    )
    vacuous: ClassVar[Mapping[str, Vacuous]] = {"k": ("<=", 1)}
    flag_figures: ClassVar[tuple[str, ...]] = ("value", "measured", "identity", "n_at_risk")
    compares_with: ClassVar[Literal["original", "population"] | None] = "population"
    has_sense: ClassVar[bool] = True

    k: int = Field(3, ge=1, description="identity: smallest number of records that must share a key")
    l: Number = Field(2, ge=1, description="homogeneity, background and similarity: smallest diversity")  # noqa: E741
    c: Number = Field(2, gt=0, description="background: how often the most frequent value may occur")
    t: Share = Field(0.3, description="skewness: largest distance from the whole file")
    high: Share = Field(0.5, description="presence: largest share of a class that may be in the file")
    missing: Missing = Field("category", description="identity: what an undetermined key may stand for")
    sensitive: Columns | None = Field(None, description="sensitive columns; default: those declared")
    groups: Pairs | None = Field(None, description="similarity: sensitive values that are alike, value = group")

    @model_validator(mode="after")
    def _consistent(self) -> AttackMap:
        if not float(self.l).is_integer():
            raise ParameterError(f"l = {self.l} is not a whole number.")
        return self

    def attacks_shown(self, result: RiskResult) -> tuple[Names, Names]:
        """Each line speaks for itself; a loose one closes nothing."""
        assert isinstance(result, Assessment)
        wild = self.sense != STRICT and any(result.keys.frame[c].null_count() for c in result.keys.columns)
        closed = tuple(line.attack.name for line in result.lines if line.status == "closed")
        return (() if wild or self.is_loose else closed), result.open

    @property
    def no_drop(self) -> str:
        return "an assessment flags files, not records"

    def _measure(self, data: Microdata, against: Microdata | None, counts: Any) -> Assessment:
        keys = data.key_table(require_keys(data))
        reached = np.zeros(keys.n_keys, dtype=np.int64)
        lines = []
        for attack in ATTACKS:
            line, flags = self._put(attack, data, against, keys)
            lines.append(line)
            if flags is not None:
                reached += flags
        at_risk = reached > 0
        n, n_at_risk = keys.n_records, int(keys.counts[at_risk].sum())
        measured = max(line.share or 0.0 for line in lines)
        return self._result(
            data,
            Assessment,
            # what nobody has measured may reach everybody
            value=measured if all(line.share is not None for line in lines) else 1.0,
            no_interval="the file is measured as it is: nothing is estimated",
            figures={
                **{line.attack.name: line.share for line in lines},
                "measured": measured,
                "n_open": sum(line.status != "closed" for line in lines),
                "n_at_risk": n_at_risk,
                "n_records": n,
            },
            notes=(*(line.why for line in lines if line.why is not None), *suspicions(data, _beside_keys(data))),
            keys=keys,
            key_values=reached,
            unit_label="attacks",
            at_risk=at_risk,
            largest_first=True,
            chart=attack_chart,
            lines=tuple(lines),
        )

    def _put(
        self, attack: AttackKind, data: Microdata, against: Microdata | None, keys: KeyTable
    ) -> tuple[Line, NDArray[np.int64] | None]:
        """Put one attack to the file: its line, and which keys it reaches where it goes by keys."""
        if attack.name == "amounts":
            return _amounts(attack, data), None
        if attack.name == "identity" and self.k > count_persons(data, keys):
            return Line(attack, "the file has fewer records than k", 1.0), np.ones(keys.n_keys, dtype=np.int64)
        why = self._missing(attack, data, against)
        if why is not None:
            return Line(attack, why=why), None
        models = self._models(attack.name, data)
        flags, failed, share = np.zeros(keys.n_keys, dtype=bool), "", 0.0
        for model in models:
            try:
                result = model.measure(data, against=against if attack.name == "presence" else None)
            except (DataError, KeySpaceTooLargeError) as error:
                failed = str(error)
                continue
            flags[keys.locate(result.keys.frame)] |= result.at_risk
            # presence is a matter of the people of the public table, not of the records alone
            share = result.value if len(models) == 1 else int(keys.counts[flags].sum()) / keys.n_records
        shown = "; ".join(f"{model.title} ({_short(model)})" for model in models)
        if failed:
            why = Note("{type_attack}: the data do not allow all of it to be measured", {"type_attack": attack.title})
            # what was found stays found; that nothing was found means nothing
            return Line(attack, shown if share else "", share or None, why, failed), flags.astype(np.int64)
        return Line(attack, shown, share), flags.astype(np.int64)

    def _missing(self, attack: AttackKind, data: Microdata, against: Microdata | None) -> Note | None:
        """What the file lacks for an attack to be measured."""
        named: dict[str, object] = {"type_attack": attack.title}
        if attack.name == "presence" and against is None:
            return Note("{type_attack}: no public table of the people who could be in the file was given", named)
        if attack.name in ("homogeneity", "background", "similarity", "skewness"):
            columns = self._columns(data)
            if not columns:
                return Note("{type_attack}: no sensitive column is declared", named)
            if attack.name == "similarity":
                alike = len(columns) == 1 if self.groups is not None else set(columns) <= set(data.schema.hierarchies)
                if not alike:
                    text = "{type_attack}: nothing says which values of every sensitive column are alike"
                    return Note(text, named)
        return None

    def _columns(self, data: Microdata) -> tuple[str, ...]:
        return () if not (self.sensitive or data.schema.sensitive) else sensitive_columns(data, self.sensitive)

    def _models(self, attack: AttackName, data: Microdata) -> list[RiskMeasure]:
        columns = self.sensitive
        if attack == "identity":
            return [KAnonymity(k=self.k, missing=self.missing)]
        if attack == "homogeneity":
            return [LDiversity(l=self.l, sensitive=columns)]
        if attack == "background":
            return [LDiversity(l=self.l, kind="recursive", c=self.c, sensitive=columns)]
        if attack == "presence":
            return [Presence(low=0.0, high=self.high)]
        if attack == "similarity":
            if self.groups is not None:
                return [LDiversity(l=self.l, sensitive=columns, groups=self.groups)]
            return [LDiversity(l=self.l, sensitive=columns, level=1)]
        # amounts are the farther apart the more they differ, categories are not
        schema = data.frame.collect_schema()
        amounts = tuple(c for c in self._columns(data) if schema[c].is_numeric())
        others = tuple(c for c in self._columns(data) if c not in amounts)
        found: list[RiskMeasure] = [TCloseness(t=self.t, sensitive=others)] if others else []
        return [*found, TCloseness(t=self.t, distance="ordered", sensitive=amounts)] if amounts else found


def _short(measure: RiskMeasure) -> str:
    """The settings that tell a measure apart from its defaults."""
    table = measure.to_table()
    table.pop("method")
    shown = settings_text({k: v for k, v in table.items() if k != "groups"})
    return f"{shown}, on groups of values" if "groups" in table else shown


def _amounts(attack: AttackKind, data: Microdata) -> Line:
    """Columns that would be published beside the keys, and the share of records that are alone with a value of one."""
    columns = _beside_keys(data)
    holders = holders_of(data, columns)
    shares = {c: count_alone(data, c, holders[c].column) / data.n_records for c in columns}
    if not shares:
        return Line(attack, "no column but keys", 0.0)
    worst = max(shares, key=lambda c: shares[c])
    if not shares[worst]:
        who = " or ".join(dict.fromkeys(holder.name for holder in holders.values()))
        return Line(attack, f"no value that one {who} alone has", 0.0)
    return Line(attack, f"values that one {holders[worst].name} alone has: {worst}", shares[worst])


def _beside_keys(data: Microdata) -> tuple[str, ...]:
    """The columns that would be published beside the keys."""
    return tuple(c for c in data.columns if c not in {*data.schema.keys, *data.schema.hidden})


def attack_chart(result: RiskResult, look: Look) -> alt.Chart:
    """The share of records that each attack reaches; what was not measured is not drawn."""
    words = Words(look.language)
    lines = [line for line in getattr(result, "lines", ()) if line.share is not None]
    n = result.keys.n_records
    # a share of few records could be counted back: it is not drawn, neither as it is nor as none
    lines = [line for line in lines if not 0 < line.share * n < look.min_count]
    shown = [line.share for line in lines]
    frame = pl.DataFrame(
        {
            "attack": [words(line.attack.title) for line in lines],
            "share": shown,
            "at_risk": [s > 0 for s in shown],
        }
    )
    return bars(
        frame,
        category="attack",
        value="share",
        flag="at_risk",
        titles=("attack", "share of records"),
        flag_names=("open", "closed"),
        look=look,
    )
