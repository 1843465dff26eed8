"""Plans: what to do with a file, as an object and as a TOML file.

The same plan is read and written by the command line, the web app and a notebook. Paths in a plan file
are relative to it, with `/` on every system. Secret values never stand in a plan.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from os import PathLike
from pathlib import Path
from typing import Any, TypeVar, cast

from flou.engine import toml
from flou.engine.attack import Attack
from flou.engine.checkpoints import Checkpoints
from flou.engine.data import data_kind
from flou.engine.database_uri import has_password, is_database
from flou.engine.errors import FlouError, PlanError, did_you_mean
from flou.engine.former import FormerRelease
from flou.engine.measure import RiskMeasure
from flou.engine.method import Method
from flou.engine.native import require_engine
from flou.engine.output import Formulas, checked_path, require_formulas
from flou.engine.parsing import Unparsable, parsed_toml
from flou.engine.places import within
from flou.engine.plan_check import check_tables, require_tables
from flou.engine.progress import Progress, listening
from flou.engine.protection import Protection
from flou.engine.registry import STAGES, Stage
from flou.engine.release import Release
from flou.engine.secret import Secret
from flou.engine.series import NO_SERIES, Series
from flou.engine.steps import carry_out
from flou.engine.table_steps import carry_out_tables
from flou.engine.tabulation import RecordKeys, Tabulation, read_tabulations, tabulations
from flou.engine.utility import Utility
from flou.engine.words import LANGUAGES

M = TypeVar("M", bound=Method)


@dataclass(frozen=True)
class DataSource:
    """`[data]`: the file (or `dataset:NAME`), its schema, and how to read it."""

    source: str
    schema: str | None = None
    engine: str | None = None
    table: str | None = None
    sheet: str | None = None
    delimiter: str | None = None
    encoding: str | None = None
    decimal: str | None = None
    formulas: Formulas | None = None


@dataclass(frozen=True)
class SecretSource:
    """`[secrets]`: where the secret is; its value never stands in a plan."""

    file: str | None = None
    environment: str | None = None


@dataclass(frozen=True)
class Output:
    """`[output]`: the format of the protected file or tables and the languages of the reports."""

    #: Records are written as parquet and tables as csv where nothing else is said.
    format: str | None = None
    languages: tuple[str, ...] = ("en",)
    #: Write a folder of files with so many rows each instead of one file.
    rows_per_part: int | None = None
    #: Whether texts of CSV files that a spreadsheet would carry out are "escaped" or "plain".
    formulas: Formulas = "escaped"
    #: A database that the release is also written to, once it may leave, and the table there.
    database: str | None = None
    table: str | None = None


FORMATS = ("parquet", "csv", "arrow", "xlsx")
SECTIONS = ("title", "data", "population", "secrets", "release", "record_keys", *STAGES, "tabulate", "policy", "output")


@dataclass(frozen=True)
class Plan:
    """Protections in order, and what to measure, attack and compare before and after.

    plan = flou.Plan([flou.protect.Recode("age", level=1)])
    release = plan.protect(people, secret=secret)
    """

    steps: Sequence[Protection] = ()
    measures: Sequence[RiskMeasure] = field(default=(), kw_only=True)
    attacks: Sequence[Attack] = field(default=(), kw_only=True)
    comparisons: Sequence[Utility] = field(default=(), kw_only=True)
    #: The tables that are made of the protected records and published instead of them.
    tables: Sequence[Tabulation] = field(default=(), kw_only=True)
    #: Record keys that were drawn once and stored; without them lasting ones are made where a step needs them.
    record_keys: RecordKeys | None = field(default=None, kw_only=True)
    #: A text, or one a language.
    title: str | Mapping[str, str] = field(default="", kw_only=True)
    data: DataSource | None = field(default=None, kw_only=True)
    #: A public table of the people who could be in the file, for the measures that ask for one.
    population: DataSource | None = field(default=None, kw_only=True)
    secrets: SecretSource | None = field(default=None, kw_only=True)
    #: Which release of which series it makes.
    release: Series = field(default=NO_SERIES, kw_only=True)
    policy: Mapping[str, Any] | None = field(default=None, kw_only=True)
    output: Output = field(default_factory=Output, kw_only=True)
    folder: Path = field(default_factory=Path, kw_only=True, compare=False)

    def __post_init__(self) -> None:
        self._check_sections()
        for name, kind in (
            ("steps", Protection),
            ("measures", RiskMeasure),
            ("attacks", Attack),
            ("comparisons", Utility),
        ):
            methods = getattr(self, name)
            if isinstance(methods, Method) or not isinstance(methods, Sequence):
                raise PlanError(f"A plan's {name} are a list of methods; given {methods!r}.")
            object.__setattr__(self, name, tuple(methods))
            for method in getattr(self, name):
                if not isinstance(method, kind):
                    raise PlanError(f"A plan's {name} are objects of kind {kind.__name__}; given {method!r}.")
        object.__setattr__(self, "tables", tabulations(self.tables))
        check_tables(self)

    @property
    def file_format(self) -> str:
        """The format of what is released."""
        return self.output.format or ("csv" if self.tables else "parquet")

    def _check_sections(self) -> None:
        kinds = {
            "data": DataSource,
            "population": DataSource,
            "secrets": SecretSource,
            "release": Series,
            "record_keys": RecordKeys,
            "policy": Mapping,
            "output": Output,
        }
        for name, kind in kinds.items():
            held = getattr(self, name)
            if not (isinstance(held, kind) or (held is None and name not in ("output", "release"))):
                raise PlanError(f"A plan's {name} is a {kind.__name__}; given {type(held).__name__}.")
        texts = self.title.values() if isinstance(self.title, Mapping) else [self.title]
        languages = set(self.title) if isinstance(self.title, Mapping) else set()
        if not all(isinstance(t, str) for t in texts) or languages - set(LANGUAGES):
            raise PlanError(f"A plan's title is a text, or one a language (en, fr); given {self.title!r}.")
        self._check_output()

    def protect(
        self,
        data: Any,
        *,
        secret: Secret | int | None = None,
        progress: Progress | None = None,
        series: str | None = None,
        period: str | None = None,
        kept: Checkpoints | None = None,
    ) -> Release:
        """Carry the steps out in order and prove every guarantee on what is released.

        With tables, steps on records come first; the release is then the `Table`, or the `TableSet` of several.
        `series` and `period` take the place of those in `[release]`; `kept` keeps what each step gave.
        """
        given: dict[str, Any] = {n: held for n, held in (("series", series), ("period", period)) if held is not None}
        which = replace(self.release, **given)
        if progress is not None and not callable(progress):
            raise PlanError(f"progress= takes a function of (stage, done, total), not {progress!r}.")
        with listening(progress), within(self.folder):
            former, key, tables = self.former(), Secret.of(secret), self.tables
            if tables:
                return carry_out_tables(self.steps, tables, self.record_keys, data, key, which, former, kept)
            if data_kind(data.data if isinstance(data, Release) else data) == "microdata":
                require_tables(self)
            return carry_out(tuple(self.steps), data, key, which, former, kept)

    def former(self) -> FormerRelease | None:
        """The release before this one, where the plan names its folder."""
        if self.release.since is None:
            if self.release.renamed:
                raise PlanError("[release] renamed goes with since: it names columns of the former release.")
            return None
        folder = checked_path(self.folder / self.release.since, "since", PlanError)
        if not (any(s.noises for s in self.steps) or FormerRelease.is_in(folder)):
            return None  # a run of a former version: nothing was drawn that has to be drawn alike
        found = FormerRelease.load(folder)
        found.require_series(self.release)
        return found.linked(self.release.renamed)

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Plan:
        """Read a plan file."""
        return cls._from_table(toml.read(path, "plan"), Path(path).parent, f"plan {str(path)!r}")

    @classmethod
    def from_toml(cls, text: str, folder: Path = Path()) -> Plan:
        """Read a plan from TOML text; its paths are relative to `folder`."""
        if not isinstance(text, str):
            raise PlanError(f"Plan.from_toml takes the text of a plan, not {type(text).__name__}.")
        try:
            table = parsed_toml(text)
        except Unparsable as error:
            raise PlanError(f"The plan is not valid TOML: {error}.") from None
        toml.check_format(table, "plan", "plan")
        return cls._from_table(table, folder, "plan")

    @classmethod
    def _from_table(cls, table: dict[str, Any], folder: Path, where: str) -> Plan:
        for section in table:
            if section not in SECTIONS:
                raise PlanError(f"The {where} has an unknown section {section!r}.{did_you_mean(section, SECTIONS)}")
        try:
            output = _section(Output, table.get("output", {}), "output")
            policy = table.get("policy")
            if policy is not None and not isinstance(policy, dict):
                raise PlanError('[policy] is a table: file = "office.toml", or its rules.')
            return cls(
                _methods(table, "protect", Protection),
                measures=_methods(table, "measure", RiskMeasure),
                attacks=_methods(table, "attack", Attack),
                comparisons=_methods(table, "compare", Utility),
                tables=read_tabulations(table.get("tabulate", [])),
                record_keys=_section(RecordKeys, table["record_keys"], "record_keys")
                if "record_keys" in table
                else None,
                title=table.get("title", ""),
                data=_section(DataSource, table["data"], "data") if "data" in table else None,
                population=_section(DataSource, table["population"], "population") if "population" in table else None,
                secrets=_section(SecretSource, table["secrets"], "secrets") if "secrets" in table else None,
                release=_section(Series, table.get("release", {}), "release"),
                policy=policy,
                output=output,
                folder=folder,
            )
        except FlouError as error:
            raise PlanError(f"The {where} is wrong: {error}") from None

    def _check_output(self) -> None:
        wanted = self.output.format
        if wanted is not None and wanted not in FORMATS:
            raise PlanError(f"[output] asks for format {wanted!r}.{did_you_mean(wanted, FORMATS)}")
        languages = self.output.languages
        if not languages or set(languages) - set(LANGUAGES) or len(set(languages)) < len(languages):
            raise PlanError(f"[output] asks for languages {list(languages)!r}; known: en, fr, none twice.")
        for section, uri in (
            ("data", self.data.source if self.data else ""),
            ("population", self.population.source if self.population else ""),
            ("output", self.output.database or ""),
        ):
            if has_password(uri):
                raise PlanError(
                    f"[{section}] names a database with its password, which never stands in a plan: leave it to "
                    "PGPASSWORD or a password file."
                )
        if (self.output.database is None) != (self.output.table is None):
            raise PlanError("[output] database and table go together: the one says where, the other what to write.")
        if self.output.database is not None and not is_database(self.output.database):
            raise PlanError(f"[output] database = {self.output.database!r} is not postgresql://user@host/name.")
        for name, source in (("data", self.data), ("population", self.population)):
            if source is not None and source.engine is not None:
                require_engine(source.engine, PlanError, f"[{name}] ")

    def to_toml(self) -> str:
        """The plan as TOML text; reading it back gives an equal plan."""
        return toml.write(self._table())

    def to_public_toml(self) -> str:
        """The plan as TOML text with secret parameters masked: for manifests and reports, not to be run."""
        return toml.write(self._table(masked=True))

    def _table(self, *, masked: bool = False) -> dict[str, Any]:
        table: dict[str, Any] = {}
        if self.title:
            table["title"] = dict(self.title) if isinstance(self.title, Mapping) else self.title
        for name in ("data", "population", "secrets", "record_keys"):
            section = getattr(self, name)
            if section is not None:
                table[name] = {k: v for k, v in asdict(section).items() if v is not None}
        if self.release != NO_SERIES:
            table["release"] = {k: v for k, v in asdict(self.release).items() if v}
        for name, methods in (
            ("protect", self.steps),
            ("measure", self.measures),
            ("attack", self.attacks),
            ("compare", self.comparisons),
        ):
            if methods:
                table[name] = [m.to_table(masked=masked) for m in methods]
        if self.tables:
            table["tabulate"] = [t.to_table() for t in self.tables]
        if self.policy is not None:
            table["policy"] = dict(self.policy)
        if self.output != Output():
            given = {k: v for k, v in asdict(self.output).items() if v is not None}
            table["output"] = {**given, "languages": list(self.output.languages)}
        return table

    def save(self, path: str | PathLike[str], *, overwrite: bool = False) -> None:
        """Write the plan file."""
        toml.save(self._table(), path, overwrite=overwrite)


S = TypeVar("S")


def _section(kind: type[S], table: object, name: str) -> S:
    known = [f.name for f in fields(kind)]  # type: ignore[arg-type]
    if not isinstance(table, dict):
        raise PlanError(f"[{name}] is a table of {', '.join(known)}.")
    for word, value in table.items():
        if word not in known:
            raise PlanError(f"[{name}] has an unknown word {word!r}.{did_you_mean(word, known)}")
        if word == "languages":
            if not isinstance(value, list) or not all(isinstance(v, str) for v in value):
                raise PlanError(f'[output] languages = {value!r} should be a list: languages = ["en", "fr"].')
        elif word == "rows_per_part":
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                raise PlanError(f"[output] rows_per_part = {value!r} should be a whole number, 1 at least.")
        elif word == "formulas":
            require_formulas(value, PlanError)
        elif word != "renamed" and not (isinstance(value, str) and value):
            raise PlanError(f"[{name}] {word} = {value!r} should be a text that is not empty.")
    try:
        return kind(**{word: tuple(v) if word == "languages" else v for word, v in table.items()})
    except TypeError:
        raise PlanError(f"[{name}] needs at least {known[0]!r}.") from None


def _methods(table: dict[str, Any], section: Stage, kind: type[M]) -> tuple[M, ...]:
    """The methods of a section, which is named after its stage."""
    entries = table.get(section, [])
    if not isinstance(entries, list) or not all(isinstance(e, dict) for e in entries):
        raise PlanError(f"[[{section}]] is written with double brackets, once for each method.")
    out: list[M] = []
    for number, entry in enumerate(entries, start=1):
        try:
            out.append(cast(M, Method.from_table(entry, section)))
        except FlouError as error:
            raise PlanError(f"[[{section}]] number {number}: {error}") from None
    return tuple(out)
