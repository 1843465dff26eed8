"""The contract: base classes of every method, by stage.

A method is a frozen object that holds only parameters, checked when it is made. Data go to the verb.
A subclass implements the underscored hook; the base class checks the input, derives the draws, times
the work, verifies guarantees on the output and wraps the result.
"""

from __future__ import annotations

import time
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator, InstanceOf, PlainSerializer, WithJsonSchema

from flou.engine import registry
from flou.engine.data import Data, DataKind, data_kind
from flou.engine.errors import DataError, ParameterError, SecretError, did_you_mean
from flou.engine.guarantee import Guarantee
from flou.engine.parameters import Parameters
from flou.engine.progress import tell
from flou.engine.randomness import Draws
from flou.engine.release import Outcome, Release, Step
from flou.engine.result import Result, RiskResult
from flou.engine.secret import Origin, Secret


class Method(Parameters):
    """What the four kinds of method share."""

    #: Which section of a plan it stands in.
    stage: ClassVar[registry.Stage]
    #: Key of the publication in docs/reference/bibliography.md.
    reference: ClassVar[str] = ""
    #: Short name for people, in English; translated by the report.
    title: ClassVar[str] = ""
    #: Kinds of data it accepts.
    takes: ClassVar[tuple[DataKind, ...]] = ("microdata",)

    @classmethod
    def name(cls) -> str:
        """The name in plan files and on the command line."""
        return registry.method_name(cls.__name__)

    @classmethod
    def from_table(cls, table: dict[str, Any], stage: registry.Stage | None = None) -> Method:
        """A method from a plan's table: `method` names it, the rest are its parameters."""
        rest = dict(table)
        name = rest.pop("method", None)
        if not isinstance(name, str):
            raise ParameterError(f'A method in a plan needs a line `method = "…"`; this one has {sorted(table)!r}.')
        return registry.find(stage or cls.stage, name)(**rest)

    def to_table(self) -> dict[str, Any]:
        """The plan's table of this method: what differs from the defaults, as plain values."""
        fields = type(self).model_fields
        plain = self.model_dump(mode="json", exclude_none=True)
        changed = {
            n: v for n, v in plain.items() if fields[n].is_required() or getattr(self, n) != fields[n].get_default()
        }
        return {"method": self.name(), **changed}

    def _accept(self, data: object) -> Any:
        """Take the data out of a release and check their kind."""
        inner = data.data if isinstance(data, Release) else data
        if data_kind(inner) not in self.takes:
            raise DataError(
                f"{type(self).__name__} works on {' or '.join(self.takes)}, not on {type(inner).__name__}. "
                "Wrap a frame first: flou.Microdata(frame, keys=[…])."
            )
        return inner


def require_columns(data: Data, names: tuple[str, ...], parameter: str) -> None:
    """A missing column is an error that lists the columns there are."""
    for name in names:
        if name not in data.columns:
            raise DataError(
                f"{parameter} names the column {name!r}, which the data do not have."
                f"{did_you_mean(name, data.columns)} Columns: {', '.join(data.columns)}."
            )


class RiskMeasure(Method):
    """How exposed the records are. A subclass implements `_measure`."""

    stage: ClassVar[registry.Stage] = "measure"

    def measure(self, data: Any, *, against: Any = None, counts: Any = None) -> RiskResult:
        """Measure on microdata or a release; `against` and `counts` only where the method says so."""
        accepted = self._accept(data)
        if against is not None and not self.uses_against:
            raise ParameterError(f"{type(self).__name__} does not take against=.")
        if counts is not None and not self.uses_counts:
            raise ParameterError(f"{type(self).__name__} does not take counts=.")
        return self._measure(accepted, against, counts)

    #: Whether the verb's optional arguments mean something for this measure.
    uses_against: ClassVar[bool] = False
    uses_counts: ClassVar[bool] = False

    def _measure(self, data: Any, against: Any, counts: Any) -> RiskResult:
        raise NotImplementedError


def _measure_from_table(value: object) -> object:
    return RiskMeasure.from_table(value) if isinstance(value, dict) else value


def _to_table(method: Method) -> dict[str, Any]:
    return method.to_table()


#: A measure as a parameter of another method: an object, or an inline table with `method = "…"`.
Measure = Annotated[
    InstanceOf[RiskMeasure],
    BeforeValidator(_measure_from_table),
    PlainSerializer(_to_table),
    WithJsonSchema({"type": "object", "required": ["method"], "properties": {"method": {"type": "string"}}}),
]


class Protection(Method):
    """What changes the data. A subclass implements `_protect` and states its guarantees."""

    stage: ClassVar[registry.Stage] = "protect"
    #: What it claims to keep unchanged; contract tests check each claim on every release.
    preserves: ClassVar[tuple[Literal["records", "marginal", "untouched columns"], ...]] = ()

    def protect(self, data: Any, *, secret: Secret | int | None = None) -> Release:
        """Protect microdata (or go on from a release): a plan of one step."""
        return carry_out((self,), data, Secret.of(secret))

    def _protect(self, data: Any, draw: Draws) -> Outcome:
        raise NotImplementedError

    def _guarantees(self, before: Any, after: Any) -> tuple[Guarantee, ...]:
        """The promises about the output, with what must be remembered of the input to check them."""
        raise NotImplementedError


def carry_out(methods: tuple[Protection, ...], data: Any, secret: Secret) -> Release:
    """Run protections one after the other and prove every guarantee, at its step and again at the end."""
    earlier = data if isinstance(data, Release) else None
    current = data.data if isinstance(data, Release) else data
    if data_kind(current) is None:
        raise DataError(
            f"A plan protects microdata or tables, not {type(current).__name__}. Wrap a frame first: "
            "flou.Microdata(frame, keys=[…])."
        )
    if secret.origin == "demonstration" and not current.marks.synthetic:
        raise SecretError(
            "The demonstration secret is published with Flou and protects nobody: it is accepted on Flou's own "
            "synthetic data alone. Make your own with `flou secret FILE`."
        )
    current = current.marked(released=True, test_only=secret.test_only)
    steps = list(earlier.steps) if earlier else []
    promised = [proof.guarantee for proof in earlier.guarantees] if earlier else []
    for i, method in enumerate(methods):
        tell(f"protect: {method.name()}", i, len(methods))
        started = time.perf_counter()
        number = len(steps) + 1
        outcome = method._protect(method._accept(current), Draws(secret, number, method.name()))
        guarantees = method._guarantees(current, outcome.data)
        for guarantee in guarantees:
            guarantee.prove(outcome.data)
        promised += guarantees
        n_before = current.n_records
        steps.append(
            Step(
                number=number,
                method=method,
                n_records_before=n_before,
                n_records_after=n_before - outcome.n_dropped,
                changes=outcome.changes,
                figures=outcome.figures,
                notes=outcome.notes,
                seconds=time.perf_counter() - started,
            )
        )
        current = outcome.data
    tell("protect: verify", len(methods), len(methods))
    proofs = tuple(g.prove(current) for g in promised)
    # a release is as little trustworthy as the least trustworthy secret behind it
    origin: Origin = "test" if current.marks.test_only else secret.origin
    return Release(data=current, steps=tuple(steps), guarantees=proofs, secret_origin=origin)


class Utility(Method):
    """What the analyst loses. A subclass implements `_compare`, which sees the release as published."""

    stage: ClassVar[registry.Stage] = "compare"

    def compare(self, original: Any, release: Any) -> Result:
        """Compare a release with the original it was made from."""
        truth, published = self._accept(original), self._accept(release).public()
        return self._compare(truth, published)

    def _compare(self, original: Any, released: Any) -> Result:
        raise NotImplementedError
