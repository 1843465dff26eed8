"""Run the code of the documentation: what a page shows is what happened.

Blocks of a page run in order, in one folder that holds a copy of `examples/`, and Python blocks share one
namespace:

- ```python is executed; a ```text block directly behind it is what it prints;
- ```console: each line `$ flou …` is executed and must end with exit code 0, or N if the line ends with
  `# exit N`. Lines behind it are its output, where a line `…` stands for any lines. Other commands are not run;
- ```toml with `flou = 1` is loaded as the comment above it says, `<!-- plan -->`, `<!-- schema -->` or
  `<!-- policy -->`; with a name, `<!-- plan plan.toml -->`, it is also written to that file;
- a block with the comment `<!-- deep -->` above it takes long: the tests of every day leave it out.

    python docs/snippets.py                  # write what was printed into the text blocks of every page
    python docs/snippets.py docs/index.md    # of one page
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl
from markdown_it import MarkdownIt

import flou

ROOT = Path(__file__).resolve().parents[1]
_LOAD = {"plan": flou.Plan.load, "schema": flou.Schema.load, "policy": flou.Policy.load}
_EXIT = re.compile(r"\s+# exit (\d+)$")


@dataclass(frozen=True)
class Block:
    """A fenced block: its language, its text, the lines it spans, and the comment above it."""

    kind: str
    text: str
    first_line: int
    last_line: int
    remark: str
    #: The `text` block directly behind a python block.
    shown: Block | None = None


@dataclass(frozen=True)
class Printed:
    """What a block printed, beside what the page says it prints."""

    page: Path
    block: Block
    expected: str
    got: str

    @property
    def agrees(self) -> bool:
        if self.block.kind == "console":
            lines = [".*" if line == "…" else re.escape(line) for line in self.expected.splitlines()]
            return re.fullmatch("\n".join(lines), self.got, re.DOTALL) is not None
        return self.expected == self.got


class SnippetError(AssertionError):
    """A block of a page does not do what the page says."""


def pages() -> list[Path]:
    """Every page of the documentation, and the README."""
    return [*sorted((ROOT / "docs").rglob("*.md")), ROOT / "README.md"]


def blocks(page: Path) -> list[Block]:
    """The fenced blocks of a page, in order."""
    tokens = MarkdownIt("commonmark").parse(page.read_text(encoding="utf-8"))
    out: list[Block] = []
    for i, token in enumerate(tokens):
        if token.type != "fence" or token.map is None:
            continue
        before = tokens[i - 1] if i else None
        remark = ""
        if before is not None and before.type == "html_block":
            remark = before.content.strip().removeprefix("<!--").removesuffix("-->").strip()
        block = Block(token.info.strip(), token.content, token.map[0] + 1, token.map[1] - 1, remark)
        if block.kind == "text" and before is not None and before.type == "fence" and out and out[-1].kind == "python":
            out[-1] = Block(**{**vars(out[-1]), "shown": block})
        else:
            out.append(block)
    return out


def run_page(page: Path, folder: Path, *, deep: bool = True) -> Iterator[Printed]:
    """Run the blocks of a page in `folder`, the current one; give what was printed where the page shows it.

    In depth each command has a process of its own; else they run in this one, which saves a second each.
    """
    shutil.copytree(ROOT / "examples", folder / "examples")
    names: dict[str, Any] = {"__name__": "__main__"}
    for block in blocks(page):
        if block.remark == "deep" and not deep:
            continue
        if block.kind == "python":
            got = _run_python(page, block, names)
            if block.shown is not None:
                yield Printed(page, block, _stripped(block.shown.text), got)
        elif block.kind == "console":
            yield from _run_console(page, block, _in_a_process if deep else _here)
        elif block.kind == "toml" and block.text.startswith("flou = "):
            _load_toml(page, block, folder)


def _run_python(page: Path, block: Block, names: dict[str, Any]) -> str:
    # empty lines in front, so that a traceback points into the page
    code = compile("\n" * block.first_line + block.text, str(page), "exec")
    out = io.StringIO()
    with contextlib.redirect_stdout(out), pl.Config(tbl_width_chars=100):
        exec(code, names)
    return _stripped(out.getvalue())


def _run_console(page: Path, block: Block, flou_command: Callable[[list[str]], Ended]) -> Iterator[Printed]:
    commands: list[tuple[str, list[str]]] = []
    for line in block.text.replace("\\\n", " ").splitlines():
        if line.startswith("$ "):
            commands.append((line.removeprefix("$ "), []))
        elif commands:
            commands[-1][1].append(line)
    for command, shown in commands:
        if not command.startswith("flou "):
            continue
        found = _EXIT.search(command)
        wanted = int(found[1]) if found else 0
        arguments = shlex.split(_EXIT.sub("", command))
        done = flou_command(arguments[1:])
        if done.returncode != wanted:
            raise SnippetError(
                f"{page}:{block.first_line}: `{command}` ended with {done.returncode}, not {wanted}.\n{done.stderr}"
            )
        if any(line.strip() for line in shown):
            yield Printed(page, block, _stripped("\n".join(shown)), _stripped(done.stdout))


@dataclass(frozen=True)
class Ended:
    """How a command ended."""

    returncode: int
    stdout: str
    stderr: str


def _environment() -> dict[str, str]:
    clean = {k: v for k, v in os.environ.items() if not k.startswith("FLOU_")}
    own = {"FLOU_STORE": str(Path.cwd() / "store")}  # what pages keep is not left in the home folder
    return {**clean, **own, "COLUMNS": "80", "NO_COLOR": "1", "PYTHONIOENCODING": "utf-8"}


def _in_a_process(arguments: list[str]) -> Ended:
    """Run the installed command."""
    program = Path(sys.executable).with_name("flou.exe" if os.name == "nt" else "flou")
    done = subprocess.run(
        [str(program), *arguments], env=_environment(), capture_output=True, text=True, encoding="utf-8", check=False
    )
    return Ended(done.returncode, done.stdout, done.stderr)


def _here(arguments: list[str]) -> Ended:
    """Run the command in this process, which has loaded everything already."""
    from flou.cli.main import main as command

    before, argv, handler = dict(os.environ), sys.argv, signal.getsignal(signal.SIGTERM)
    out, err, code = io.StringIO(), io.StringIO(), 0
    os.environ.clear()
    os.environ.update(_environment(), FLOU_WORKER="inline")  # a process of its own would load everything anew
    sys.argv = ["flou", *arguments]
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            command()
    except SystemExit as end:
        code = int(end.code or 0)
    finally:
        os.environ.clear()
        os.environ.update(before)
        sys.argv = argv
        signal.signal(signal.SIGTERM, handler)
    return Ended(code, out.getvalue(), err.getvalue())


def _load_toml(page: Path, block: Block, folder: Path) -> None:
    what, _, name = block.remark.partition(" ")
    if what not in _LOAD:
        raise SnippetError(f"{page}:{block.first_line}: say above the block what it is: <!-- plan -->, schema, policy.")
    target = folder / (name or "unnamed.toml")
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(block.text, encoding="utf-8")
    _LOAD[what](target)


def _stripped(text: str) -> str:
    return "\n".join(line.rstrip() for line in text.rstrip().splitlines())


def update(page: Path) -> int:
    """Write what python blocks print into the text blocks behind them; the number of blocks that changed."""
    here = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            found = [p for p in run_page(page, Path(folder)) if not p.agrees]
        finally:
            os.chdir(here)
    lines = page.read_text(encoding="utf-8").splitlines()
    for printed in reversed(found):
        shown = printed.block.shown
        if shown is None:
            sys.stdout.write(f"{page}:{printed.block.first_line}: mend by hand; it prints\n{printed.got}\n")
        else:
            lines[shown.first_line : shown.last_line] = printed.got.splitlines()
    page.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return len(found)


def main(arguments: list[str]) -> None:
    for page in [Path(a).resolve() for a in arguments] or pages():
        changed = update(page)
        if changed:
            sys.stdout.write(f"{page.relative_to(ROOT)}: {changed} changed\n")


if __name__ == "__main__":
    main(sys.argv[1:])
