"""Whether two versions publish the same bytes: every example plan is run with each, and the public files are compared.

    python -m tests.public_bytes OTHER_CHECKOUT

Both checkouts need their virtual environment (`make .venv/.dev`). The secret is one and the same. Files that differ are
listed with the first line that does; a change that the changelog does not name is a defect.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from itertools import zip_longest
from pathlib import Path

HERE = Path(__file__).parents[1]
PLANS = ("examples/apa/first.toml", "examples/apa/plan.toml", "examples/suppression/plan.toml",
         "examples/tables/plan.toml", "tests/small_plan/plan.toml")  # fmt: skip


def published(checkout: Path, plan: str, secret: Path, out: Path) -> dict[str, bytes]:
    """The public files of a plan, by name."""
    command = [checkout / ".venv/bin/python", "-m", "flou", "run", plan, "--out", out, "--secret", secret]
    nothing_kept = {**os.environ, "FLOU_STORE": "off"}
    done = subprocess.run(command, cwd=checkout, env=nothing_kept, capture_output=True, text=True, check=False)
    if done.returncode not in (0, 3):
        raise SystemExit(f"{checkout}: {plan} ended with {done.returncode}: {done.stderr.strip()}")
    return {p.relative_to(out).as_posix(): p.read_bytes() for p in sorted((out / "public").rglob("*")) if p.is_file()}


def first_difference(one: bytes, other: bytes) -> str:
    """The first line in which two files differ."""
    lines = zip_longest(one.splitlines(), other.splitlines(), fillvalue=b"(ends)")
    return next((f"{a[:200]!r} / {b[:200]!r}" for a, b in lines if a != b), "the last line's end")


def main(other: Path) -> int:
    """Compare both versions; the number of files that differ."""
    n_differ = 0
    with tempfile.TemporaryDirectory() as folder:
        secret = Path(folder) / "one.secret"
        subprocess.run([HERE / ".venv/bin/python", "-m", "flou", "secret", secret], check=True, capture_output=True)
        for plan in PLANS:
            ours = published(HERE, plan, secret, Path(folder) / f"ours {plan.replace('/', ' ')}")
            theirs = published(other, plan, secret, Path(folder) / f"theirs {plan.replace('/', ' ')}")
            for name in sorted({*ours, *theirs}):
                if ours.get(name) != theirs.get(name):
                    n_differ += 1
                    print(f"{plan}: {name} differs: {first_difference(ours.get(name, b''), theirs.get(name, b''))}")
            print(f"{plan}: {len(ours)} public files")
    print("The public bytes are the same." if not n_differ else f"{n_differ} public files differ.")
    return n_differ


if __name__ == "__main__":
    sys.exit(min(main(Path(sys.argv[1]).resolve()), 1))
