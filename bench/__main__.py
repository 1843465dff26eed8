"""`python -m bench [NAME …] [--data FOLDER] [--peer PYTHON]`: run benchmarks, print their tables and save them."""

from __future__ import annotations

import argparse
import importlib
from pathlib import Path

BENCHES = (
    "frequencies", "risks", "large", "wide", "generalise", "perturb", "calibrate", "tables", "eliminate", "suppress",
    "reconstruct", "reconstruct_study", "cluster", "startup", "demo",
)  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(prog="bench", description=__doc__)
    parser.add_argument("names", nargs="*", help=f"which to run: {', '.join(BENCHES)} (default: all)")
    parser.add_argument("--data", type=Path, default=Path("build/bench"), help="folder for generated files")
    parser.add_argument("--peer", type=Path, help="interpreter that has pytauargus, for suppress")
    parser.add_argument("--populations", type=int, default=30, help="populations of reconstruct and its study")
    parser.add_argument("--areas", type=int, default=500, help="areas of 50 people, for reconstruct")
    options = parser.parse_args()
    more = {
        "suppress": (options.peer,),
        "reconstruct": (options.populations, options.areas),
        "reconstruct_study": (options.populations,),
    }
    for name in options.names or BENCHES:
        if name not in BENCHES:
            parser.error(f"there is no benchmark {name!r}; known: {', '.join(BENCHES)}")
        importlib.import_module(f"bench.{name}").run(options.data, *more.get(name, ()))


if __name__ == "__main__":
    main()
