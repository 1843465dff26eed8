"""What the pages show is what happens: code runs, output is as printed, plan files load, commands end as said."""

from pathlib import Path
from types import ModuleType

import pytest
from tests.depth import DEEP

ROOT = Path(__file__).resolve().parents[2]
PAGES = [*sorted((ROOT / "docs").rglob("*.md")), ROOT / "README.md"]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_page_does_what_it_says(
    page: Path, snippets: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("FLOU_ENGINE", "FLOU_SECRET", "FLOU_SECRET_FILE", "FLOU_DEBUG"):
        monkeypatch.delenv(name, raising=False)
    for printed in snippets.run_page(page, tmp_path, deep=DEEP):
        if not printed.agrees:
            assert printed.got == printed.expected, f"{page.name}, line {printed.block.first_line}"


def test_a_wrong_output_is_found(snippets: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = tmp_path / "page.md"
    page.write_text("```python\nprint(1)\n```\n\n```text\n2\n```\n\n```console\n$ flou --version\nflou …\n…\n```\n")
    folder = tmp_path / "run"
    folder.mkdir()
    monkeypatch.chdir(folder)
    python, console = snippets.run_page(page, folder)
    assert (python.expected, python.got, python.agrees) == ("2", "1", False)
    assert console.got.startswith("flou ")
    assert not console.agrees


def test_a_wrong_exit_code_is_found(snippets: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = tmp_path / "page.md"
    page.write_text("```console\n$ flou describe nothing.csv  # exit 2\n$ flou describe nothing.csv\n```\n")
    folder = tmp_path / "run"
    folder.mkdir()
    monkeypatch.chdir(folder)
    with pytest.raises(snippets.SnippetError, match="ended with 2, not 0"):
        list(snippets.run_page(page, folder))
