"""Build the documentation: docs/**/*.md → build/docs/**/*.html, with every internal link checked.

    python docs/build.py [--out FOLDER]

The pages load nothing from outside. The glossary is written anew from the file that reports use.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from itertools import pairwise
from pathlib import Path
from urllib.parse import unquote, urlsplit

from markdown_it import MarkdownIt
from markdown_it.token import Token
from pygments import highlight  # type: ignore[import-untyped]
from pygments.formatters import HtmlFormatter  # type: ignore[import-untyped]
from pygments.lexers import get_lexer_by_name  # type: ignore[import-untyped]
from pygments.util import ClassNotFound  # type: ignore[import-untyped]

from flou.engine import registry
from flou.engine.method_facts import told_of
from flou.reporting.sections.glossary import glossary

DOCS = Path(__file__).resolve().parent
ROOT = DOCS.parent
#: Title of each group of the navigation, and what it holds: a folder, or pages.
GROUPS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("", ("index.md",)),
    ("Tutorials", ("tutorials",)),
    ("Methods", ("methods",)),
    ("Explanations", ("explain",)),
    ("Reference", ("reference", "glossary.md")),
    ("Decisions", ("decisions",)),
)
_GLOSSARY = DOCS / "glossary.md"
_FORMATTER = HtmlFormatter(nowrap=True, classprefix="c-")


class BrokenLinksError(Exception):
    """Internal links that lead nowhere, one a line."""


@dataclass(frozen=True)
class Page:
    """A page as parsed: where it stands below docs/, its title, its tokens and the anchors it offers."""

    path: Path
    title: str
    tokens: list[Token]
    anchors: frozenset[str]

    @property
    def target(self) -> Path:
        return self.path.with_suffix(".html")


def glossary_page() -> str:
    """The glossary in both languages side by side, in the order of the English names."""
    french = {term.code: term for term in glossary("fr")}
    lines = [
        "# Glossary / Glossaire",
        "",
        "The words of Flou's reports, in English and French.",
        "This page is written by `docs/build.py` from `src/flou/reporting/glossary.toml`: change that file instead.",
        "",
        "| English | Français |",
        "|---|---|",
    ]
    for term in glossary("en"):
        other = french[term.code]
        lines.append(f"| **{term.name}**. {term.definition} | **{other.name}**. {other.definition} |")
    return "\n".join(lines) + "\n"


def write_glossary() -> None:
    """Write docs/glossary.md where it is not up to date."""
    text = glossary_page()
    if not _GLOSSARY.exists() or _GLOSSARY.read_text(encoding="utf-8") != text:
        _GLOSSARY.write_text(text, encoding="utf-8")


def build(out: Path) -> int:
    """Write every page as HTML below `out`; the number of pages. A broken link raises, and nothing is written."""
    parser = _parser()
    pages = {page.path: page for page in (_parse(path, parser) for path in sorted(DOCS.rglob("*.md")))}
    problems = [problem for page in pages.values() for problem in _mend_links(page, pages, out)]
    if problems:
        raise BrokenLinksError("\n".join(problems))
    style = _style()
    for page in pages.values():
        target = out / page.target
        target.parent.mkdir(parents=True, exist_ok=True)
        body = parser.renderer.render(page.tokens, parser.options, {})
        body = body.replace("</h1>\n", f"</h1>\n{facts_box(page.path)}", 1)
        target.write_text(_document(page, body, _navigation(page, pages)), encoding="utf-8")
    for picture in sorted(DOCS.rglob("*.svg")):
        target = out / picture.relative_to(DOCS)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(picture.read_bytes())
    (out / "style.css").write_text(style, encoding="utf-8")
    return len(pages)


def facts_box(path: Path) -> str:
    """What a method says of itself, below the heading of its page."""
    name = path.stem
    stage = next((s for s in registry.STAGES if path.parent.name == "methods" and name in registry.names(s)), None)
    if stage is None:
        return ""
    rows = "".join(
        f"<div><dt>{escape(label)}</dt><dd>{escape(text)}</dd></div>"
        for label, text in told_of(registry.find(stage, name))
    )
    return f'<dl class="facts">{rows}</dl>\n'


def _parser() -> MarkdownIt:
    return MarkdownIt("commonmark", {"highlight": _highlighted}).enable("table")


def _highlighted(code: str, language: str, attributes: str) -> str:
    try:
        lexer = get_lexer_by_name(language)
    except ClassNotFound:
        return escape(code, quote=False)
    return str(highlight(code, lexer, _FORMATTER))


def _style() -> str:
    colours: str = _FORMATTER.get_style_defs("pre")
    return (DOCS / "style.css").read_text(encoding="utf-8") + colours + "\n"


def _parse(path: Path, parser: MarkdownIt) -> Page:
    tokens = parser.parse(path.read_text(encoding="utf-8"))
    title, anchors = "", set[str]()
    for token, inline in pairwise(tokens):
        if token.type == "heading_open":
            text = "".join(t.content for t in inline.children or ())
            anchor = slug(text)
            token.attrSet("id", anchor)
            anchors.add(anchor)
            title = title or text
    return Page(path.relative_to(DOCS), title or path.stem, tokens, frozenset(anchors))


def slug(heading: str) -> str:
    """The anchor of a heading, as GitHub makes it."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def _links(tokens: Iterable[Token]) -> Iterable[tuple[Token, str]]:
    for token in tokens:
        yield from _links(token.children or ())
        name = {"link_open": "href", "image": "src"}.get(token.type)
        if name is not None:
            yield token, name


def _mend_links(page: Page, pages: dict[Path, Page], out: Path) -> Iterable[str]:
    """Point the links of a page to the HTML pages; what leads nowhere is given back."""
    for token, name in _links(page.tokens):
        given = str(token.attrGet(name))
        parts = urlsplit(given)
        if parts.scheme:
            continue
        path = (DOCS / page.path.parent / unquote(parts.path)).resolve() if parts.path else DOCS / page.path
        inside = path.is_relative_to(DOCS) and path.relative_to(DOCS) in pages
        if not path.exists() or (path.suffix == ".md" and path.is_relative_to(DOCS) and not inside):
            yield f"docs/{page.path}: the link {given!r} leads nowhere"
            continue
        if inside:
            other = pages[path.relative_to(DOCS)]
            if parts.fragment and parts.fragment not in other.anchors:
                yield f"docs/{page.path}: the link {given!r} names a heading that {other.path} does not have"
                continue
            path = out / other.target
        elif path.suffix == ".svg" and path.is_relative_to(DOCS):
            path = out / path.relative_to(DOCS)  # pictures go along
        url = _relative(path, out / page.target.parent) if parts.path else ""
        token.attrSet(name, url + (f"#{parts.fragment}" if parts.fragment else ""))


def _relative(path: Path, start: Path) -> str:
    return Path(os.path.relpath(path, start)).as_posix()


def _navigation(page: Page, pages: dict[Path, Page]) -> str:
    lines = []
    for title, holds in GROUPS:
        items = [p for name in holds for p in pages.values() if p.path.as_posix() == name or p.path.parts[0] == name]
        if not items:
            continue
        lines.append((f"<h2>{escape(title)}</h2>" if title else "") + "<ul>")
        for item in items:
            here = ' aria-current="page"' if item is page else ""
            url = _relative(item.target, page.path.parent)
            lines.append(f'<li><a href="{escape(url)}"{here}>{escape(item.title)}</a></li>')
        lines.append("</ul>")
    return "\n".join(lines)


def _document(page: Page, body: str, navigation: str) -> str:
    style = _relative(Path("style.css"), page.path.parent)
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{escape(page.title)} · Flou</title>
<link rel="stylesheet" href="{style}">
</head>
<body>
<nav aria-label="Pages">
{navigation}
</nav>
<main>
{body}</main>
</body>
</html>
"""


def main(arguments: Sequence[str] | None = None) -> None:
    options = argparse.ArgumentParser(description="Build the documentation as HTML.")
    options.add_argument("--out", type=Path, default=ROOT / "build" / "docs", help="folder to write")
    out: Path = options.parse_args(arguments).out.resolve()
    write_glossary()
    if out == ROOT / "build" / "docs":
        shutil.rmtree(out, ignore_errors=True)
    try:
        n = build(out)
    except BrokenLinksError as error:
        sys.exit(str(error))
    sys.stdout.write(f"{n} pages written; open {out / 'index.html'}\n")


if __name__ == "__main__":
    main()
