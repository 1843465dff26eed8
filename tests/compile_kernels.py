"""Compile the kernels once, in two processes, before the workers of a test run start.

Two workers that begin with the same file would each compile what it calls. Every job here runs a method on the little
files of the contract tests, which compiles its kernels into the cache that the workers then read.

    python -m tests.compile_kernels
"""

from __future__ import annotations

from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

#: Methods whose kernels take a second or more, those that share some in one job; the longest first.
JOBS = (
    ("cell_suppression",),
    ("microaggregation",),
    ("local_suppression",),
    ("reconstruction",),
    ("generalise", "datafly", "samarati", "local_recode"),
    ("interval_blur", "derive"),
    ("random_swap", "rank_swap"),
)


def run(names: tuple[str, ...]) -> None:
    """Run the examples of some methods."""
    from tests.contracts import cases, table_cases, test_every_table_attack

    for name in names:
        if name in cases.EXAMPLES:
            for method in cases.EXAMPLES[name]:
                method.protect(cases.people(), secret=table_cases.SECRET)  # type: ignore[attr-defined]
            continue
        for method in table_cases.EXAMPLES[name]:
            if name == "reconstruction":
                test_every_table_attack.run(method, test_every_table_attack.released())
            else:
                method.protect(table_cases.tables()["one"], secret=table_cases.SECRET)  # type: ignore[attr-defined]


def main() -> None:
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        list(pool.map(run, JOBS))


if __name__ == "__main__":
    from pathlib import Path

    from tests import machine

    machine.set_up(Path(__file__).resolve().parents[1])
    main()
