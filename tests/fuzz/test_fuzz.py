"""Spoilt files of every kind: each works or is refused in words, and leaves nothing behind."""

from __future__ import annotations

import random
import tempfile
from pathlib import Path
from typing import Any

import pytest
from tests.depth import at_depth
from tests.fuzz.runner import failure, write
from tests.fuzz.seeds import KINDS, valid
from tests.fuzz.uses import USES

#: Inputs of each kind: some dozens every day, two thousand in depth, in as many tests as workers can share.
N_INPUTS, N_TESTS = at_depth(6, 160), at_depth(1, 8)


class First(random.Random):
    """Draws the first of everything: a way through the uses that no input can fail on."""

    def choice(self, seq: Any) -> Any:
        return seq[0]

    def random(self) -> float:
        return 0.0

    def randrange(self, *args: Any, **kwargs: Any) -> int:
        return 0


@pytest.mark.parametrize(("kind", "number"), [(kind, n) for kind in KINDS for n in range(len(valid(kind)))])
def test_a_file_that_nobody_spoilt_works(kind: str, number: int, tmp_path: Path) -> None:
    folder = tmp_path / "in"
    file = write(valid(kind)[number], folder)
    assert USES[kind](folder, tmp_path / "out", file, First()) in (None, 0, 3, 4)


@pytest.mark.parametrize("part", range(N_TESTS))
@pytest.mark.parametrize("kind", KINDS)
def test_a_spoilt_file_works_or_is_refused_in_words(
    kind: str, part: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "temp").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temp"))
    found = [failure(kind, seed, tmp_path / "input") for seed in range(part, N_INPUTS, N_TESTS)]
    assert [text for text in found if text is not None] == []
