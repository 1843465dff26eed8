"""Methods of other distributions: found by entry point, carried out like ours, and secret until they say otherwise.

One method of each stage, whose every word and figure bears a mark, goes through a plan. The office reads all of it; on
public pages and in public files none of it stands unless the class says that the public may read of it.
"""

from __future__ import annotations

import sys
import types
from collections.abc import Iterator
from dataclasses import replace
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import polars as pl
import pytest
from numpy.typing import NDArray
from pydantic import Field

import flou
from flou.cli.main import main
from flou.engine import registry
from flou.engine.attack import GuessingAttack
from flou.engine.comparison import ComparisonResult
from flou.engine.figure import Figure
from flou.engine.guarantee import Guarantee
from flou.engine.measure import RiskMeasure
from flou.engine.note import Note
from flou.engine.protection import Protection
from flou.engine.release import Change, Outcome
from flou.engine.risk_figure import SHARE
from flou.engine.taxonomy import always
from flou.engine.utility import Utility
from flou.job.carry_out import carry_out
from flou.job.folder import write_folder

#: Stands in every word that a made-up method says; the figures are no others.
MARK, FIGURES = "xyzzy", ("0.6180", "61.8", "6180")


class MadeUpMeasure(RiskMeasure):
    """A measure of xyzzy."""

    title: ClassVar[str] = "xyzzy measured"
    headline: ClassVar[Figure] = Figure("value", "xyzzy risk", "share", SHARE)
    limit: str = Field("xyzzy-limit", description="a setting")

    def _measure(self, data: Any, against: Any, counts: Any) -> Any:
        found = flou.risk.KAnonymity(k=2, missing="category")._measure(data, against, counts)
        return replace(
            found, method=self.name(), title=self.title, settings=self.shown_settings(), notes=(Note("xyzzy is measured"),),
            **self.described({"value": 0.6180, "figures": {"undeclared": 6180}}),
        )  # fmt: skip


class MadeUpGuarantee(Guarantee):
    """A promise of xyzzy."""

    text = "xyzzy is guaranteed"

    def violations(self, data: Any) -> int:
        return 0


class MadeUpStep(Protection):
    """A protection by xyzzy."""

    title: ClassVar[str] = "xyzzy protected"
    limit: str = Field("xyzzy-limit", description="a setting")

    def _protect(self, data: Any, draw: Any) -> Outcome:
        return Outcome(data, (MadeUpGuarantee(),), (Change("age", 6180),), {"xyzzy": 6180}, (Note("xyzzy was done"),))


class MadeUpAttack(GuessingAttack):
    """An attack by xyzzy."""

    title: ClassVar[str] = "xyzzy attacked"
    limit: str = Field("xyzzy-limit", description="a setting")

    def _known(self, people: Any) -> list[int]:
        return list(range(people.n_records))

    def _guess(self, released: Any, known: list[int], draw: Any) -> list[int]:
        return known

    def _baseline(self, released: Any, known: list[int], draw: Any) -> list[int]:
        return known

    def _hits(self, guesses: list[int], people: Any, owners: Any) -> NDArray[np.bool_]:
        return np.arange(len(guesses)) < round(0.6180 * len(guesses))


class MadeUpComparison(Utility):
    """A comparison by xyzzy."""

    title: ClassVar[str] = "xyzzy compared"
    limit: str = Field("xyzzy-limit", description="a setting")

    def _compare(self, original: Any, released: Any, owners: Any) -> ComparisonResult:
        return self._result(
            original, owners, value=self.called("value", "xyzzy lost", 0.6180), notes=(Note("xyzzy was compared"),)
        )


CLASSES: dict[str, type] = {
    "measure": MadeUpMeasure, "protect": MadeUpStep, "attack": MadeUpAttack, "compare": MadeUpComparison,
}  # fmt: skip


@pytest.fixture
def registered(monkeypatch: pytest.MonkeyPatch) -> Iterator[types.ModuleType]:
    """The four classes as another distribution offers them."""
    module = types.ModuleType("made_up")
    for cls in CLASSES.values():
        setattr(module, cls.__name__, type(cls.__name__, (cls,), {"__doc__": cls.__doc__, "__module__": "made_up"}))
    monkeypatch.setitem(sys.modules, "made_up", module)
    points = [
        EntryPoint(f"{stage}.{c.__name__}", f"made_up:{c.__name__}", "flou.methods") for stage, c in CLASSES.items()
    ]
    monkeypatch.setattr(registry, "entry_points", lambda group: points)
    registry._listed.cache_clear()
    yield module
    registry._listed.cache_clear()


def people() -> flou.Microdata:
    rng = np.random.default_rng(0)
    frame = pl.DataFrame({"age": rng.integers(20, 25, 1000), "sex": rng.choice(["f", "m"], 1000), "id": range(1000)})
    return flou.Microdata(frame, keys=["age", "sex"], id="id").marked(synthetic=True)


def pages(module: types.ModuleType) -> tuple[str, str]:
    """The internal and the public report of a release that all four had a part in."""
    data = people()
    release = flou.Plan([module.MadeUpStep(), flou.protect.Recode("sex", mapping={"f": "x", "m": "y"})]).protect(data)
    results = [
        module.MadeUpMeasure().measure(data), module.MadeUpMeasure().measure(release),
        flou.risk.KAnonymity(k=2).measure(release), module.MadeUpAttack().run(release, truth=data),
        module.MadeUpComparison().compare(data, release),
    ]  # fmt: skip
    rules = [
        {"method": "k_anonymity", "settings": {"k": 2}, "at_most": {"release": 0.01}},
        {"method": "made_up_measure", "figure": "value", "at_most": {"release": 0.7}},
    ]
    policy = flou.Policy.from_table({"rule": rules})
    verdict = policy.judge(*results, release)
    report = flou.Report(data, release, results=results, verdict=verdict)
    return report.html(audience="internal"), report.html(audience="public")


def test_the_office_reads_all_of_it_and_the_public_nothing(registered: types.ModuleType) -> None:
    internal, public = pages(registered)
    for word in ("measured", "protected", "attacked", "compared"):
        assert f"xyzzy {word}" in internal
    for said in ("xyzzy is measured", "xyzzy was done", "xyzzy was compared", "xyzzy is guaranteed", "xyzzy-limit"):
        assert said in internal
    assert MARK not in public
    assert not any(figure in public for figure in FIGURES)
    assert "made_up" not in public


@pytest.mark.parametrize("stage", CLASSES)
def test_a_class_that_speaks_publicly_is_read_and_no_other(registered: types.ModuleType, stage: str) -> None:
    getattr(registered, CLASSES[stage].__name__).audience = "public"
    _, public = pages(registered)
    words = {"measure": "measured", "protect": "protected", "attack": "attacked", "compare": "compared"}
    assert f"xyzzy {words[stage]}" in public
    assert not any(f"xyzzy {word}" in public for other, word in words.items() if other != stage)


@pytest.mark.parametrize("stage", ["measure", "attack"])
def test_a_method_without_public_figures_is_named_and_no_more(registered: types.ModuleType, stage: str) -> None:
    getattr(registered, CLASSES[stage].__name__).audience = "public"
    internal, public = pages(registered)
    assert "What was measured is for the office alone." in public
    assert "What was measured is for the office alone." not in internal
    assert not any(figure in public for figure in FIGURES)
    assert public.count("<svg") == 1, "of k-anonymity alone"


def test_each_of_ours_says_who_may_read_of_it() -> None:
    """How often these attacks are right would tell an intruder how far to trust what he found."""
    for_the_office = {"averaging", "reconstruction", "single_unknown"}
    assert {method.name() for method in registry.every() if not registry.speaks_publicly(method)} == for_the_office


def test_what_is_inherited_says_nothing_of_a_class() -> None:
    class Finer(flou.risk.KAnonymity):
        """A subclass of a measure that the public may read of."""

    assert registry.speaks_publicly(flou.risk.KAnonymity)
    assert not registry.speaks_publicly(Finer)
    assert not registry.is_public("nothing_of_this_name")


def test_the_command_line_knows_them(
    registered: types.ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["flou", "methods"])
    with pytest.raises(SystemExit, match=r"^0$"):
        main()
    shown = capsys.readouterr().out
    assert all(registry.method_name(cls.__name__) in shown for cls in CLASSES.values())
    plan = flou.Plan.from_toml('flou = 2\n[[protect]]\nmethod = "made_up_step"\n')
    assert plan.protect(people()).steps[0].figures == {"xyzzy": 6180}


PLAN = """flou = 2
[data]
source = "people.csv"
schema = "people.schema.toml"
[[protect]]
method = "made_up_step"
[[protect]]
method = "recode"
column = "sex"
mapping = { f = "x", m = "y" }
[[measure]]
method = "made_up_measure"
[[measure]]
method = "k_anonymity"
k = 2
[[attack]]
method = "made_up_attack"
[[compare]]
method = "made_up_comparison"
[policy]
[[policy.rule]]
method = "k_anonymity"
settings = { k = 2 }
at_most = { release = 0.01 }
[[policy.rule]]
method = "made_up_measure"
at_most = { release = 0.7 }
[output]
format = "csv"
languages = ["en", "fr"]
"""


def test_a_run_tells_the_office_and_writes_nothing_of_them_for_the_public(
    registered: types.ModuleType, tmp_path: Path
) -> None:
    data = people()
    data.to_frame().write_csv(tmp_path / "people.csv")
    data.schema.save(tmp_path / "people.schema.toml")
    (tmp_path / "plan.toml").write_text(PLAN)
    flou.Secret.generate().save(tmp_path / "one.secret")
    done = carry_out(flou.Plan.load(tmp_path / "plan.toml"), secret=str(tmp_path / "one.secret"))
    out = write_folder(done, tmp_path / "out")
    internal = "".join(p.read_text() for p in sorted((out / "internal").glob("report.*.html")))
    assert all(f"xyzzy {word}" in internal for word in ("measured", "protected", "attacked", "compared"))
    public = [p for p in (out / "public").rglob("*") if p.is_file()]
    assert len(public) == 3
    assert not any(MARK in p.read_text() or "made_up" in p.read_text() for p in public)


@pytest.mark.parametrize("arguments", [["methods", "made_up_attack"], ["methods", "--answers", "identity"], ["schema"]])
def test_the_command_line_explains_them(
    registered: types.ModuleType,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
) -> None:
    monkeypatch.setattr(registered.MadeUpAttack, "answers_by", always(identity="measures"))
    monkeypatch.setattr("sys.argv", ["flou", *arguments])
    with pytest.raises(SystemExit, match=r"^0$"):
        main()
    assert "made_up_attack" in capsys.readouterr().out
