"""With FLOU_REQUIRE_ALL=1 a skipped test is a failed one."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]


@pytest.mark.parametrize(("require", "code"), [("0", 0), ("1", 1)])
def test_a_skip_fails_when_everything_is_required(tmp_path: Path, require: str, code: int) -> None:
    shutil.copy(TESTS / "conftest.py", tmp_path)
    (tmp_path / "test_it.py").write_text("import pytest\n\ndef test_it():\n    pytest.skip('no engine')\n")
    environment = {**os.environ, "FLOU_REQUIRE_ALL": require, "PYTHONPATH": str(TESTS.parent)}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(tmp_path)]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == code, done.stdout
