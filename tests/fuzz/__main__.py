"""Try inputs by hand: `python -m tests.fuzz csv 17`, or many: `python -m tests.fuzz csv 0-5000`; `all` for every kind."""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

from tests import machine

machine.set_up(Path(__file__).resolve().parents[2])

from tests.fuzz.runner import failure  # noqa: E402
from tests.fuzz.seeds import KINDS  # noqa: E402


def main() -> int:
    kind, seeds = sys.argv[1:]
    first, _, last = seeds.partition("-")
    n_failed, n_tried, started = 0, 0, time.monotonic()
    with tempfile.TemporaryDirectory() as place:
        (Path(place) / "temp").mkdir()
        tempfile.tempdir = f"{place}/temp"
        for seed in range(int(first), int(last or first) + 1):
            for each in KINDS if kind == "all" else [kind]:
                n_tried += 1
                found = failure(each, seed, Path(place) / "input")
                if found is not None:
                    n_failed += 1
                    sys.stdout.write(f"FAILED {found}\n")
                    sys.stdout.flush()
    sys.stdout.write(f"{n_tried:,} inputs, {n_failed:,} failed, {time.monotonic() - started:.0f} s\n")
    return int(n_failed > 0)


if __name__ == "__main__":
    raise SystemExit(main())
