"""The documentation is whole: a page a method, every command and every word of the files, links that lead somewhere."""

from dataclasses import fields
from itertools import pairwise
from pathlib import Path
from types import ModuleType
from typing import get_args

import pytest
import typer

from flou.cli.main import app
from flou.decide.policy import Policy
from flou.decide.rule import Bounds, Rule
from flou.describe.schema import ColumnType, Role
from flou.engine import plan, registry
from flou.engine.method import Method
from flou.engine.sense import MISSING

DOCS = Path(__file__).resolve().parents[2] / "docs"
METHODS = registry.every()


def read(name: str) -> str:
    return (DOCS / name).read_text(encoding="utf-8")


@pytest.mark.parametrize("method", METHODS, ids=lambda method: method.name())
def test_every_method_has_its_page(method: type[Method]) -> None:
    page = read(f"methods/{method.name()}.md")
    assert f"bibliography.md#{method.reference}" in page
    assert "```python" in page
    for name in method.model_fields:
        assert f"| `{name}` |" in page, f"{method.name()}.md does not list the parameter {name}"


def test_no_page_for_a_method_that_is_gone() -> None:
    assert {p.stem for p in (DOCS / "methods").glob("*.md")} == {m.name() for m in METHODS}


@pytest.mark.parametrize("reference", sorted({m.reference for m in METHODS}))
def test_every_reference_is_in_the_bibliography(reference: str) -> None:
    assert f"\n## {reference}\n" in read("reference/bibliography.md")


def test_every_command_and_option_is_explained() -> None:
    page = read("reference/command-line.md")
    group = typer.main.get_command(app)
    for name, command in group.commands.items():  # type: ignore[attr-defined]
        heading = f"\n## flou {name}\n"
        assert heading in page
        section = page.partition(heading)[2].partition("\n## ")[0]
        for parameter in command.params:
            for option in (o for o in parameter.opts if o.startswith("--")):
                assert f"`{option}" in section, f"{name} {option} is not explained"


@pytest.mark.parametrize("variable", ["FLOU_ENGINE", "FLOU_SECRET", "FLOU_SECRET_FILE", "FLOU_DEBUG"])
def test_every_variable_is_explained(variable: str) -> None:
    assert f"| `{variable}` |" in read("reference/command-line.md")


@pytest.mark.parametrize("page", sorted(DOCS.rglob("*.md")), ids=lambda page: str(page.relative_to(DOCS)))
def test_no_row_of_a_table_stands_twice(page: Path) -> None:
    tables = page.read_text(encoding="utf-8").split("\n\n")
    rows = [line for table in tables for line in sorted(table.splitlines()) if line.startswith("| ")]
    assert [row for row, following in pairwise(rows) if row == following] == []


def test_every_word_of_a_plan_is_explained() -> None:
    page = read("reference/plan-file.md")
    words = [f.name for kind in (plan.DataSource, plan.SecretSource, plan.Output) for f in fields(kind)]
    for word in (*words, *plan.SECTIONS):
        assert f"`{word}`" in page or f"[{word}]" in page, word


def test_every_word_of_a_schema_is_explained() -> None:
    page = read("reference/schema-file.md")
    words = ("role", "type", "label", "not_applicable", "undetermined", "modalities", "hierarchy", "values", "title")
    for word in (*words, "incoherent", "unlisted", "rows_per_person", *get_args(Role), *get_args(ColumnType)):
        assert f"`{word}`" in page or f"[{word}]" in page, word


def test_every_word_of_a_policy_is_explained() -> None:
    page = read("reference/policy-file.md")
    for word in (*Rule.model_fields, *Bounds.model_fields, *Policy.model_fields):
        shown = "[[rule]]" if word == "rules" else f"`{word}`"
        assert shown in page, word


@pytest.mark.parametrize("missing", MISSING)
def test_every_way_of_counting_is_explained(missing: str) -> None:
    for page in ("explain/missing-values.md", "tutorials/02-measure-risk.md", "methods/k_anonymity.md"):
        assert f"`{missing}`" in read(page)


def test_the_glossary_is_up_to_date(build: ModuleType) -> None:
    assert read("glossary.md") == build.glossary_page(), "run docs/build.py"


def test_pages_are_built_and_links_resolve(build: ModuleType, tmp_path: Path) -> None:
    build.main(["--out", str(tmp_path)])
    for source in DOCS.rglob("*.md"):
        page = (tmp_path / source.relative_to(DOCS)).with_suffix(".html").read_text(encoding="utf-8")
        assert 'aria-current="page"' in page, f"{source.name} is not in the navigation"
        assert "://" not in page.partition("<main>")[0], "a page loads nothing from outside"


@pytest.mark.parametrize("link", ["nowhere.md", "index.md#no-such-heading", "#no-such-heading", "../nothing.toml"])
def test_a_broken_link_is_found(build: ModuleType, link: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "index.md").write_text(f"# Start\n\n[here]({link}) and [there](index.md#start)\n")
    monkeypatch.setattr(build, "DOCS", docs)
    with pytest.raises(build.BrokenLinksError, match=r"index\.md"):
        build.build(tmp_path / "out")
