"""Compiled code is run: it is never taken from a folder that somebody else can write."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from flou.engine.compiled import require_private
from flou.engine.errors import ParameterError

SRC = Path(__file__).parents[2] / "src" / "flou"
pytestmark = pytest.mark.skipif(not hasattr(os, "getuid"), reason="Windows has no such modes")


@pytest.mark.parametrize("mode", [0o777, 0o707, 0o1777])
def test_a_folder_that_everybody_can_write_is_refused(tmp_path: Path, mode: int) -> None:
    folder = tmp_path / "cache"
    folder.mkdir()
    folder.chmod(mode)
    with pytest.raises(ParameterError, match="NUMBA_CACHE_DIR"):
        require_private(folder)


def test_a_folder_whose_parent_everybody_can_write_is_refused(tmp_path: Path) -> None:
    (tmp_path / "shared" / "cache").mkdir(parents=True, mode=0o700)
    (tmp_path / "shared").chmod(0o777)
    with pytest.raises(ParameterError, match=r"'.*shared'"):
        require_private(tmp_path / "shared" / "cache")


def test_a_link_is_followed_to_the_folder_itself(tmp_path: Path) -> None:
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(0o777)
    (tmp_path / "link").symlink_to(tmp_path / "open")
    with pytest.raises(ParameterError, match="NUMBA_CACHE_DIR"):
        require_private(tmp_path / "link")


def test_a_folder_of_ones_own_is_taken(tmp_path: Path) -> None:
    folder = tmp_path / "own"
    folder.mkdir(mode=0o700)
    require_private(folder)


@pytest.mark.skipif(hasattr(os, "getuid") and os.getuid() != 0, reason="only root gives files away")
def test_a_folder_of_somebody_else_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "theirs"
    folder.mkdir(mode=0o700)
    os.chown(folder, 65_534, 65_534)
    with pytest.raises(ParameterError, match="others can write"):
        require_private(folder)


def test_kernels_are_not_loaded_from_an_open_folder(tmp_path: Path) -> None:
    tmp_path.chmod(0o777)
    program = "import flou.engine.hash_kernels"
    env = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", program], env=env, capture_output=True, text=True)
    assert done.returncode
    assert "others can write" in done.stderr


def test_every_kernel_is_compiled_in_one_way() -> None:
    borrowed = [p.name for p in SRC.rglob("*.py") if re.search(r"from numba import|numba\.njit", p.read_text())]
    assert borrowed == ["compiled.py"]
