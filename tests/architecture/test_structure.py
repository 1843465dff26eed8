"""Imports point one way, importing is cheap, nothing draws from a global generator."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import flou

PACKAGE = Path(flou.__file__).parent
#: A package may import those before it; protect, attack and utility do not import each other.
ORDER = ["engine", "describe", "risk", "protect", "attack", "utility", "decide", "reporting", "job", "cli"]
MODULES = sorted(p for p in PACKAGE.rglob("*.py") if "examples" not in p.parts)


def imports(path: Path) -> set[str]:
    """The packages of Flou that a module imports, those for type checking left out."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    typing_only = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and getattr(node.test, "id", "") == "TYPE_CHECKING"
        for inner in ast.walk(node)
    }
    found: set[str] = set()
    for node in ast.walk(tree):
        if id(node) in typing_only:
            continue
        if isinstance(node, ast.ImportFrom) and node.module:
            names = [node.module] if node.module != "flou" else [f"flou.{a.name}" for a in node.names]
        elif isinstance(node, ast.Import):
            names = [a.name for a in node.names]
        else:
            continue
        found |= {n.split(".")[1] for n in names if n.startswith("flou.")}
    return found


def allowed(package: str) -> set[str]:
    """What the modules of a package may import."""
    found = {*ORDER[: ORDER.index(package) + 1], "_version"}
    if package in ("job", "cli"):
        found.add("datasets")
    sides = {"protect", "attack", "utility"}
    return found - (sides - {package} if package in sides else set())


def test_imports_point_one_way() -> None:
    wrong = {}
    for path in MODULES:
        here = path.relative_to(PACKAGE).parts[0]
        if here in ORDER and imports(path) - allowed(here):
            wrong[str(path.relative_to(PACKAGE))] = imports(path) - allowed(here)
    assert not wrong


def test_every_package_is_in_the_order() -> None:
    packages = {p.parent.relative_to(PACKAGE).parts[0] for p in PACKAGE.glob("*/__init__.py")}
    assert packages == {*ORDER, "datasets"}


def test_no_global_randomness() -> None:
    """Randomness comes from a secret, or from a generator that is passed in."""
    for path in MODULES:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                assert not any(a.name == "random" for a in node.names), path
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Attribute):
                dotted = f"{getattr(node.value.value, 'id', '')}.{node.value.attr}"
                if dotted == "np.random":
                    assert node.attr in ("Generator", "default_rng"), f"{path}: np.random.{node.attr}"
                    if node.attr == "default_rng":
                        assert path.parent.name == "datasets", path


def test_importing_is_cheap() -> None:
    """`import flou`, and its namespaces, load none of the heavy libraries."""
    code = (
        "import flou, flou.risk, flou.protect, flou.utility, sys; dir(flou); "
        "print([m for m in ('polars', 'numpy', 'scipy', 'numba', 'altair', 'pandas', 'pydantic') if m in sys.modules])"
    )
    found = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert found.stdout.strip() == "[]"


def test_every_public_name_loads() -> None:
    for name in flou.__all__:
        assert getattr(flou, name) is not None
    for namespace in (flou.risk, flou.protect, flou.utility, flou.datasets):
        for name in namespace.__all__:
            assert getattr(namespace, name) is not None
    with pytest.raises(AttributeError, match="nonsense"):
        flou.nonsense  # noqa: B018


def test_modules_are_small() -> None:
    """Around 120 lines, seldom over 350: a longer one has two ideas."""
    long = {
        str(p.relative_to(PACKAGE)): n for p in MODULES if (n := len(p.read_text(encoding="utf-8").splitlines())) > 350
    }
    assert not long


def test_no_module_hides_a_public_name() -> None:
    """Importing `flou.datasets.x` sets `x` on the package: a function of that name would turn into a module."""
    for package in (flou, flou.risk, flou.protect, flou.attack, flou.utility, flou.datasets):
        folder = Path(str(package.__file__)).parent
        modules = {p.stem for p in folder.glob("*.py")} | {p.parent.name for p in folder.glob("*/__init__.py")}
        for name in modules & set(dir(package)):
            assert getattr(package, name).__name__ == f"{package.__name__}.{name}", f"{package.__name__}.{name}"
