"""An office with a file, a secret, a plan and a store, whose runs are stopped and gone on with."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from flou.describe.microdata import Microdata
from flou.engine import registry
from flou.engine.method import Method
from flou.engine.plan import Plan
from flou.job.carry_out import Done, carry_out
from flou.job.folder import write_folder
from flou.job.source import plan_data

SECRET = hashlib.sha256(b"the office").hexdigest()
SCHEMA = """flou = 2
columns.pid = { role = "id" }
columns.name = { role = "identifier" }
columns.age = { role = "key", hierarchy = { bands = [5, 10, 20] } }
columns.sex = { role = "key" }
columns.region = { role = "key" }
columns.income = { role = "other" }
columns.spending = { role = "other" }
columns.illness = { role = "sensitive" }
"""
STEPS = (
    'method = "drop_identifiers"',
    'method = "recode"\ncolumn = "age"\nlevel = 2',
    'method = "top_code"\ncolumn = "income"\nat = 4000',
    'method = "round"\ncolumns = ["income"]\nunit = 10',
    'method = "additive_noise"\ncolumns = ["spending"]\nunit = 1',
    'method = "pram"\ncolumn = "illness"',
    'method = "random_swap"\ncolumns = ["income"]',
    'method = "drop_records"\nmeasure = { method = "k_anonymity", k = 2, missing = "category" }',
    'method = "rank_swap"\ncolumns = ["spending"]\nreach = 0.2',
)
SAMPLE = ('method = "sample"\nshare = 0.5', 'method = "calibrate_weights"\nframe = ["sex"]')
FINDINGS = """
[[measure]]
method = "k_anonymity"
k = 2
missing = "category"

[[measure]]
method = "global_risk"

[[compare]]
method = "summary"

[policy]
min_count = 2
rule = [{ method = "k_anonymity", settings = { k = 2, missing = "category" }, at_most = { release = 0.0 } }]
"""
CELL_KEY = 'method = "cell_key"\nD = 3\nV = 2'

TABLES = """
[[tabulate]]
name = "ages"
dims = ["age", "sex"]

[[tabulate]]
name = "regions"
dims = ["region", "sex"]

[[measure]]
method = "count_inference"
s = 3

[[measure]]
method = "k_anonymity"
k = 2

[[compare]]
method = "within_distance"
d = 2
"""
ONE_TABLE = TABLES.replace(TABLES[TABLES.index("[[tabulate]]", 20) : TABLES.index("[[measure]]")], "")
_STEPS = ("drop_identifiers", "recode", "top_code", "round", "additive_noise", "pram", "random_swap", "drop_records",
          "rank_swap", "sample", "calibrate_weights", "cell_key")  # fmt: skip
#: Whose calls are counted: methods of a stage, by what does their work.
COUNTED: tuple[tuple[registry.Stage, tuple[str, ...], str], ...] = (
    ("protect", _STEPS, "_protect"),
    ("measure", ("count_inference",), "measure"),
    ("compare", ("summary", "within_distance"), "compare"),
)


class StoppedError(Exception):
    """The run stops here."""


def people(n: int = 240) -> pl.DataFrame:
    draw = np.random.default_rng(5)
    return pl.DataFrame(
        {
            "pid": np.arange(n),
            "name": [f"person {i}" for i in range(n)],
            "age": draw.integers(20, 60, n),
            "sex": draw.choice(["F", "M"], n),
            "region": draw.choice(["north", "south"], n),
            "income": draw.lognormal(7.5, 0.6, n).round(2),
            "spending": draw.lognormal(6.5, 0.6, n).round(2),
            "illness": draw.choice(["flu", "asthma", "none"], n),
        }
    )


@dataclass
class Office:
    """Its folder, and the plan that it carries out."""

    folder: Path
    steps: tuple[str, ...] = STEPS
    more: str = FINDINGS
    release: str = '[release]\nseries = "people"\nperiod = "2026"\n'
    secret: str = SECRET
    #: How the file is read: polars, duckdb, or "memory", all of it at once.
    engine: str = "memory"
    #: What was carried out, by name.
    calls: list[str] = field(default_factory=list)
    #: The step at which a run stops, if it does.
    stops_at: str = ""
    n_runs: int = 0

    def __post_init__(self) -> None:
        people().write_parquet(self.folder / "people.parquet")
        (self.folder / "people.schema.toml").write_text(SCHEMA)

    @property
    def store(self) -> Path:
        return Path(os.environ["FLOU_STORE"])

    @property
    def text(self) -> str:
        (self.folder / "office.secret").write_text(self.secret + "\n")
        steps = "".join(f"\n[[protect]]\n{step}\n" for step in self.steps)
        head = 'flou = 2\n[data]\nsource = "people.parquet"\nschema = "people.schema.toml"\n'
        return f'{head}[secrets]\nfile = "office.secret"\n{self.release}{steps}{self.more}'

    def plan(self) -> Path:
        path = self.folder / "plan.toml"
        path.write_text(self.text)
        return path

    def carry_out(self, *, resume: bool = False, **options: Any) -> Done:
        self.calls.clear()
        options = {"engine": self.engine, "keep": True, "resume": resume, **options}
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(f"{carry_out.__module__}.plan_data", _read)
            return carry_out(Plan.load(self.plan()), **options)

    def run(self, **options: Any) -> tuple[dict[str, bytes], Done]:
        """The files of a run but for its log, and what it gave."""
        done = self.carry_out(**options)
        self.n_runs += 1
        out = write_folder(done, self.folder / f"out.{self.n_runs}")
        files = {str(p.relative_to(out)): p.read_bytes() for p in out.rglob("*") if p.is_file() and p.name != "log.txt"}
        return files, done

    def stop(self, at: str, **options: Any) -> None:
        """Begin a run that stops in a step."""
        self.stops_at = at
        with pytest.raises(StoppedError):
            self.carry_out(**options)
        self.stops_at = ""

    def undisturbed(self, **options: Any) -> dict[str, bytes]:
        """The files of a run that keeps nothing."""
        files, _ = self.run(keep=False, **options)
        return files

    def resumed(self) -> tuple[dict[str, bytes], str]:
        """The files of a run that goes on, and what it said about it."""
        files, done = self.run(resume=True)
        assert not done.keeper.lines
        return files, done.keeper.continues

    def entries(self) -> list[Path]:
        return sorted(path for path in self.store.iterdir() if not path.name.startswith("."))

    def of_steps(self) -> list[Path]:
        return [path for path in self.entries() if "." not in path.name]


def counting(office: Office, work: Callable[..., Any]) -> Callable[..., Any]:
    """The work of a method, which counts and may stop."""

    def counted(method: Method, *arguments: Any, **options: Any) -> Any:
        office.calls.append(method.name())
        if method.name() == office.stops_at:
            raise StoppedError
        return work(method, *arguments, **options)

    return counted


@contextmanager
def open_office(folder: Path, **plan: Any) -> Iterator[Office]:
    """An office with a store of its own, whose steps are counted."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FLOU_STORE", str(folder / "store"))
        office = Office(folder, **plan)
        for stage, names, work in COUNTED:
            for method in (registry.find(stage, name) for name in names):
                patch.setattr(method, work, counting(office, getattr(method, work)))
        yield office


def _read(plan: Plan, engine: str) -> Microdata:
    """The data of a plan, in memory if that is asked for."""
    return plan_data(plan).collect() if engine == "memory" else plan_data(plan, engine)
