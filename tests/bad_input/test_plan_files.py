"""Plan and policy files with words that nobody knows, of another format, or not TOML at all."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import flou
from flou.decide.verdict import Decision

HEAD = "flou = 2\n"
PLANS: dict[str, tuple[str, str]] = {
    "no bytes": ("", "flou = 2"),
    "no format": ('[data]\nsource = "people.csv"\n', "flou = 2"),
    "a newer format": ("flou = 3\n", "Upgrade"),
    "format of zero": ("flou = 0\n", "flou = 2"),
    "format as a text": ('flou = "1"\n', "flou = 2"),
    "format as a boolean": ("flou = true\n", "flou = 2"),
    "no TOML": (HEAD + "[data\n", "TOML"),
    "a key twice": (HEAD + HEAD, "TOML"),
    "unknown section": (HEAD + '[[protct]]\nmethod = "recode"\n', "Did you mean 'protect'"),
    "section in capitals": (HEAD + '[[Protect]]\nmethod = "recode"\n', "Did you mean 'protect'"),
    "single brackets": (HEAD + '[protect]\nmethod = "recode"\n', "double brackets"),
    "methods as texts": (HEAD + 'protect = ["recode"]\n', "double brackets"),
    "unknown method": (HEAD + '[[protect]]\nmethod = "recod"\n', "Did you mean 'recode'"),
    "no method": (HEAD + '[[protect]]\ncolumn = "age"\n', "method ="),
    "method as a number": (HEAD + "[[protect]]\nmethod = 3\n", "method ="),
    "method of another stage": (HEAD + '[[protect]]\nmethod = "k_anonymity"\nk = 3\n', "[[measure]]"),
    "unknown parameter": (HEAD + '[[measure]]\nmethod = "k_anonymity"\nk = 3\nmising = "x"\n', "'missing'"),
    "k of zero": (HEAD + '[[measure]]\nmethod = "k_anonymity"\nk = 0\n', "k = 0"),
    "k as a text": (HEAD + '[[measure]]\nmethod = "k_anonymity"\nk = "3"\n', "k = '3'"),
    "bound that is no number": (HEAD + '[[protect]]\nmethod = "top_code"\ncolumn = "age"\nat = nan\n', "nan"),
    "bound as a day": (HEAD + '[[protect]]\nmethod = "top_code"\ncolumn = "a"\nat = 2020-01-01\n', "at ="),
    "unknown parameter within": (
        HEAD + '[[protect]]\nmethod = "drop_records"\nmeasure = { method = "k_anonymity", kk = 3 }\n',
        "Did you mean 'k'",
    ),
    "unknown word of data": (HEAD + '[data]\nsorce = "people.csv"\n', "Did you mean 'source'"),
    "data without a source": (HEAD + '[data]\nschema = "people.schema.toml"\n', "'source'"),
    "source as a number": (HEAD + "[data]\nsource = 3\n", "source = 3"),
    "data as a text": (HEAD + 'data = "people.csv"\n', "[data]"),
    "unknown engine": (HEAD + '[data]\nsource = "people.csv"\nengine = "polar"\n', "Did you mean 'polars'"),
    "unknown word of secrets": (HEAD + '[secrets]\nfil = "a.secret"\n', "Did you mean 'file'"),
    "a secret in the plan": (HEAD + '[secrets]\nvalue = "0123456789abcdef0123456789abcdef"\n', "unknown word 'value'"),
    "unknown word of output": (HEAD + '[output]\nformt = "csv"\n', "Did you mean 'format'"),
    "unknown format of output": (HEAD + '[output]\nformat = "cvs"\n', "Did you mean 'csv'"),
    "unknown language": (HEAD + '[output]\nlanguages = ["de"]\n', "en, fr"),
    "languages as a text": (HEAD + '[output]\nlanguages = "en"\n', "languages"),
    "languages as a number": (HEAD + "[output]\nlanguages = 3\n", "languages"),
    "no language": (HEAD + "[output]\nlanguages = []\n", "languages"),
    "a language twice": (HEAD + '[output]\nlanguages = ["en", "en"]\n', "twice"),
    "policy as a text": (HEAD + 'policy = "office.toml"\n', "[policy]"),
    "title as a number": (HEAD + "title = 3\n", "title"),
    "title in an unknown language": (HEAD + '[title]\nde = "x"\n', "title"),
    "unknown attack": (HEAD + '[[attack]]\nmethod = "linkag"\n', "linkag"),
}


@pytest.mark.parametrize("case", list(PLANS))
def test_a_wrong_plan_is_refused(case: str, tmp_path: Path, job: Any, refused: Callable[..., str]) -> None:
    text, word = PLANS[case]
    job.plan.write_text(text, encoding="utf-8")
    message = refused("run", job.plan, "--out", job.out)
    assert word in message
    with pytest.raises(flou.FlouError) as caught:
        flou.Plan.from_toml(text)
    assert word in str(caught.value)


def test_plans_that_cannot_be_read(tmp_path: Path, refused: Callable[..., str]) -> None:
    (tmp_path / "latin.toml").write_bytes(b"flou = 2\ntitle = '\xe9'\n")
    sources: list[Any] = [tmp_path / "none.toml", tmp_path, tmp_path / "latin.toml"]
    for source in sources:
        with pytest.raises(flou.FlouError):
            flou.Plan.load(source)
        refused("run", source, "--out", tmp_path / "out")
        refused("report", source, "--out", tmp_path / "out.html")
    for text in (None, b"flou = 2", 3):
        with pytest.raises(flou.FlouError):
            flou.Plan.from_toml(text)  # type: ignore[arg-type]
    for source in (None, 3):
        with pytest.raises(flou.FlouError):
            flou.Plan.load(source)  # type: ignore[arg-type]


def test_a_plan_is_never_written_over_anything(tmp_path: Path, nothing_written: Any) -> None:
    (tmp_path / "plan.toml").write_text("something else", encoding="utf-8")
    plan = flou.Plan([flou.protect.DropIdentifiers()])
    with nothing_written():
        for target in (tmp_path / "plan.toml", tmp_path, tmp_path / "none" / "plan.toml"):
            with pytest.raises(flou.FlouError):
                plan.save(target)
        with pytest.raises(flou.FlouError):
            plan.save(tmp_path, overwrite=True)


SPOILT: dict[str, tuple[str, str, str, str]] = {
    "no such column": ("plan.toml", 'column = "age"', 'column = "agee"', "Did you mean 'age'"),
    "no such level": ("plan.toml", "level = 1", "level = 9", "level = 9"),
    "no hierarchy": ("people.schema.toml", "hierarchy = { bands = [10, 20] }", "", "no hierarchy"),
    "k larger than the file": ("plan.toml", "k = 2", "k = 200", "larger than the file"),
    "every record dropped": ("plan.toml", "k = 2, missing", "k = 8, missing", "every record"),
    "no such file": ("plan.toml", 'source = "people.csv"', 'source = "poeple.csv"', "Did you mean 'people.csv'"),
    "no such schema": ("plan.toml", 'schema = "people.schema.toml"', 'schema = "none.toml"', "none.toml"),
    "no such data set": ("plan.toml", 'source = "people.csv"', 'source = "dataset:appa"', "Did you mean 'apa'"),
    "size of a data set": ("plan.toml", 'source = "people.csv"', 'source = "dataset:apa(many)"', "whole number"),
    "size with two bars": ("plan.toml", 'source = "people.csv"', 'source = "dataset:apa(1__0)"', "whole number"),
    "size in superscript": ("plan.toml", 'source = "people.csv"', 'source = "dataset:apa(²)"', "whole number"),
    "size of nothing": ("plan.toml", 'source = "people.csv"', 'source = "dataset:apa(0)"', ""),
    "size without an end": ("plan.toml", 'source = "people.csv"', 'source = "dataset:apa(10"', "dataset:apa(10"),
    "size where it is fixed": ("plan.toml", 'source = "people.csv"', 'source = "dataset:benschop(5)"', "fixed size"),
    "no source": ("plan.toml", 'source = "people.csv"', 'source = ""', "source"),
    "no data": (
        "plan.toml",
        '[data]\nsource = "people.csv"\nschema = "people.schema.toml"\n',
        "",
        "no [data] section",
    ),
    "unknown role": ("people.schema.toml", 'role = "sensitive"', 'role = "sensitiv"', "Did you mean 'sensitive'"),
    "unknown word": ("people.schema.toml", "hierarchy =", "hierarchie =", "Did you mean 'hierarchy'"),
    "column unknown to the schema": ("people.csv", "name,age", "nome,age", "'nome'"),
    "doubled column": ("people.csv", "name,age", "age,age", "same name"),
    "text among numbers": ("people.csv", "Ada,31", "Ada,young", "does not cover"),
    "weight of text": ("people.schema.toml", 'role = "sensitive"', 'role = "weight"', "numbers"),
    "wrong delimiter": ("plan.toml", 'source = "people.csv"', 'source = "people.csv"\ndelimiter = ";"', "suggests ','"),
    "unknown encoding": ("plan.toml", 'source = "people.csv"', 'source = "people.csv"\nencoding = "x"', "encoding"),
    "no such policy": ("plan.toml", "min_count = 2", 'file = "office.toml"', ""),
    "unknown word of policy": ("plan.toml", "min_count", "mincount", "Did you mean 'min_count'"),
    "unknown word of a rule": ("plan.toml", "at_most", "at_mots", "Did you mean 'at_most'"),
    "unknown bound": ("plan.toml", "release = 0.0", "relese = 0.0", "Did you mean 'release'"),
    "unknown figure": ("plan.toml", "at_most", 'figure = "kk"\nat_most', "Did you mean 'k'"),
    "rule on an unknown method": (
        "plan.toml",
        'method = "k_anonymity"\nsettings',
        'method = "k_anonymty"\nsettings',
        "Did you mean 'k_anonymity'",
    ),
    "rule on an unknown setting": (
        "plan.toml",
        "settings = { k = 2 }",
        "settings = { k = 2, kk = 3 }",
        "Did you mean 'k'",
    ),
    "rule with a bound that is no number": ("plan.toml", "release = 0.0", "release = nan", "nan"),
}


@pytest.mark.parametrize("case", list(SPOILT))
def test_a_plan_that_its_data_do_not_allow(case: str, job: Any, refused: Callable[..., str]) -> None:
    file, old, new, word = SPOILT[case]
    job.edit(file, old, new)
    assert word in refused("run", job.plan, "--out", job.out)


def test_a_policy_file_that_is_a_plan(job: Any, refused: Callable[..., str]) -> None:
    job.edit("plan.toml", "min_count = 2", 'file = "plan.toml"').edit(
        "plan.toml", '[[policy.rule]]\nmethod = "k_anonymity"\nsettings = { k = 2 }\nat_most = { release = 0.0 }\n', ""
    )
    assert "unknown word" in refused("run", job.plan, "--out", job.out)


def test_a_policy_is_read_before_the_data(job: Any, refused: Callable[..., str]) -> None:
    """A typo in the policy shows at once, not after an hour of work."""
    job.edit("plan.toml", "min_count", "mincount").edit("plan.toml", "people.csv", "none.csv")
    assert "mincount" in refused("run", job.plan, "--out", job.out)


def test_a_plan_that_holds_a_function_is_not_written() -> None:
    from flou.engine import toml

    with pytest.raises(flou.FlouError, match="Python alone"):
        toml.write({"protect": [{"method": "x", "key": len}]})


# verdicts


def test_no_policy_withholds(job: Any, run: Callable[..., Any]) -> None:
    text = job.plan.read_text(encoding="utf-8")
    start, end = text.index("[policy]"), text.index("[output]")
    job.plan.write_text(text[:start] + text[end:], encoding="utf-8")
    ran = run("run", job.plan, "--out", job.out)
    assert ran.code == 4
    assert sorted(p.name for p in job.out.iterdir()) == ["internal"]
    assert not list(job.out.rglob("data*"))


@pytest.mark.parametrize(
    "bounds, code, decision",
    [
        ("{ release = 0.0 }", 0, Decision.RELEASE),
        ("{ release = -0.5, review = 0.0 }", 3, Decision.REVIEW),
        ("{ release = -0.5 }", 4, Decision.WITHHOLD),
        ("{ release = -0.5, review = -0.25 }", 4, Decision.WITHHOLD),
    ],
)
def test_exit_codes_are_the_verdict(
    bounds: str, code: int, decision: Decision, job: Any, run: Callable[..., Any]
) -> None:
    job.edit("plan.toml", "{ release = 0.0 }", bounds)
    ran = run("run", job.plan, "--out", job.out)
    assert ran.code == code
    assert decision.name in ran.out
    assert (job.out / "public").exists() == (decision is not Decision.WITHHOLD)
    assert (job.out / "internal" / "manifest.json").is_file()
    assert sorted(p.name for p in job.out.parent.iterdir()) == ["job", "out"], "nothing temporary is left"


def test_a_withheld_release_has_no_public_report(job: Any, run: Callable[..., Any]) -> None:
    job.edit("plan.toml", "{ release = 0.0 }", "{ release = -0.5 }")
    out = job.out.with_suffix(".html")
    ran = run("report", job.plan, "--out", out, "--audience", "public")
    assert ran.code == 4
    assert "withheld" in ran.out
    assert not out.exists()


def test_what_the_plan_does_not_measure_is_said_before_the_work(job: Any, refused: Callable[..., str]) -> None:
    job.edit("plan.toml", "settings = { k = 2 }", "settings = { k = 5 }")
    assert "the plan measures k_anonymity (k = 2" in refused("run", job.plan, "--out", job.out)
