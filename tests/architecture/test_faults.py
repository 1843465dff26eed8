"""Fault patches apply to the sources as they are, and there are enough of them of every family."""

from __future__ import annotations

import re
import subprocess
from collections import Counter
from pathlib import Path

import pytest
from tests.faults.run import ROOT, Fault, faults

FAULTS = faults()


@pytest.mark.parametrize("fault", FAULTS, ids=lambda f: f.name)
def test_a_fault_still_applies(fault: Fault) -> None:
    done = subprocess.run(["git", "apply", "--check", str(fault.path)], cwd=ROOT, capture_output=True, text=True)
    assert not done.returncode, f"whoever moves code remakes its faults: {done.stderr}"


def test_faults_name_tests_that_exist() -> None:
    assert [(f.name, name) for f in FAULTS for name in f.tests if not Path(ROOT, name).exists()] == []


def test_every_family_has_two_faults_and_disclosure_fifteen() -> None:
    families = Counter(fault.family for fault in FAULTS)
    assert len(FAULTS) >= 40
    assert sum(fault.discloses for fault in FAULTS) >= 15
    assert [family for family, n in families.items() if n < 2] == []


def test_results_name_tests_that_exist() -> None:
    named = re.findall(r"`(\w+\.py)::(\w+)", Path(ROOT, "tests/faults/results.md").read_text(encoding="utf-8"))
    texts = {path.name: "" for path in Path(ROOT, "tests").rglob("test_*.py")}
    for path in Path(ROOT, "tests").rglob("test_*.py"):
        texts[path.name] += path.read_text(encoding="utf-8")
    assert len(named) > 100
    assert [(file, test) for file, test in named if f"def {test}(" not in texts.get(file, "")] == []
