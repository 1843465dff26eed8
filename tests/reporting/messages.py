"""Every text that the report and the charts may show, gathered from the sources."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import flou

PACKAGE = Path(flou.__file__).parent
_CALLS = {"Note", "words", "_", "Words", "Detail"}
_TEMPLATE = re.compile(r"""(?<![\w.])_\(\s*(?:"([^"]+)"|'([^']+)')""")
#: Names whose texts are shown through the catalogue wherever they are assigned.
_LABELS = {"title", "value_label", "unit_label"}


def gather() -> set[str]:
    """Literal texts in `Note("…")`, `words("…")`, `_("…")`, titles and labels."""
    found: set[str] = set()
    for path in PACKAGE.rglob("*.py"):
        if path.parent.name == "cli":
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            found |= _texts(node)
    for path in (PACKAGE / "reporting" / "templates").rglob("*.html"):
        for match in _TEMPLATE.finditer(path.read_text(encoding="utf-8")):
            found.add(match[1] or match[2])
    return {text for text in found if re.search(r"[a-z]{2}", text)}


def _texts(node: ast.AST) -> set[str]:
    out: set[str] = set()
    if isinstance(node, ast.Call):
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        if name in _CALLS and node.args:
            out |= _strings(node.args[0])
        if name in ("Shown", "Figure", "called", "public") and len(node.args) > 1:
            out |= _strings(node.args[1])
        for keyword in node.keywords:
            if keyword.arg in _LABELS | {"absent", "titles", "flag_names"}:
                out |= _strings(keyword.value)
    if isinstance(node, ast.AnnAssign) and getattr(node.target, "id", "") == "title" and node.value is not None:
        out |= _strings(node.value)
    if isinstance(node, ast.ClassDef):
        out |= set().union(*(_strings(k.value) for k in node.keywords if k.arg == "link"))
    if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") in {"text", "meaning", "origins"}:
        out |= _strings(node.value)
    return out


def _strings(node: ast.AST) -> set[str]:
    """Literal texts in an expression, but not the keys of a dictionary of labels."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return {node.value}
    if isinstance(node, ast.Dict):
        return set().union(*(_strings(v) for v in node.values))
    if isinstance(node, ast.IfExp):
        return _strings(node.body) | _strings(node.orelse)
    if isinstance(node, ast.Tuple | ast.List):
        return set().union(*(_strings(v) for v in node.elts))
    if isinstance(node, ast.Subscript):
        return _strings(node.value)
    return set()
