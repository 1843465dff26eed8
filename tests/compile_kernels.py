"""Compile the kernels once, in two processes, before the workers of a test run start.

Two workers that begin with the same file would each compile what it calls. Every job here runs a method on the little
files of the contract tests, which compiles its kernels into the cache that the workers then read.

    python -m tests.compile_kernels
"""

from __future__ import annotations

from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

from tests import machine

machine.set_up(Path(__file__).resolve().parents[1])  # before anything that reads the environment

import polars as pl
from tests.contracts import cases, table_cases, test_every_table_attack

import flou
from flou.risk.micro.inferable.inferable import inferable

#: Methods whose kernels take a second or more, those that share some in one job; the longest first.
JOBS = (
    ("cell_suppression",),
    ("microaggregation",),
    ("wide keys",),
    ("local_suppression",),
    ("reconstruction",),
    ("generalise", "datafly", "samarati", "local_recode"),
    ("interval_blur", "derive"),
    ("random_swap", "rank_swap"),
    ("many ids", "inferable"),
)


def measure_wide_keys() -> None:
    """Measure keys of so many values that their space is searched, not held; with weights and without."""
    columns = {c: [None if i % 7 == j else i for i in range(600)] for j, c in enumerate("abc")}
    frame = pl.DataFrame(columns).with_columns(w=pl.lit(2.0))
    for weight in (None, "w"):
        people = flou.Microdata(frame, keys=list("abc"), weight=weight)
        for missing in ("orthodox", "pessimistic"):
            flou.risk.KAnonymity(k=2, missing=missing).measure(people)
            flou.risk.IndividualRisk(missing=missing).measure(people)


def add_noise_to_many() -> None:
    """Draw for so many whole-number ids that a compiled loop does it."""
    people = flou.Microdata(pl.DataFrame({"pid": range(20_000), "x": range(20_000)}), id="pid")
    for method in (flou.protect.AdditiveNoise("x"), flou.protect.MultiplicativeNoise("x")):
        method.protect(people, secret=1)


def look_what_is_told() -> None:
    """Look what a release tells of an amount that was rounded and of a key that was nulled."""
    frame = pl.DataFrame({"pid": range(200), "a": [i % 7 for i in range(200)], "x": [i * 1.5 for i in range(200)]})
    frame = frame.with_columns(b=pl.col("a") * 2, y=pl.col("x") * 2)
    people = flou.Microdata(frame, id="pid", keys=["a"])
    coarse = flou.protect.Recode("a", mapping=dict.fromkeys(range(7), 0))
    inferable(flou.Plan([coarse, flou.protect.Round(columns=["x"], unit=100.0)]).protect(people, secret=1))


OTHERS = {"wide keys": measure_wide_keys, "many ids": add_noise_to_many, "inferable": look_what_is_told}


def run(names: tuple[str, ...]) -> None:
    """Run the examples of some methods."""
    for name in names:
        if name in OTHERS:
            OTHERS[name]()
        elif name in cases.EXAMPLES:
            for method in cases.EXAMPLES[name]:
                method.protect(cases.people(), secret=table_cases.SECRET)  # type: ignore[attr-defined]
        elif name == "reconstruction":
            for method in table_cases.EXAMPLES[name]:
                test_every_table_attack.run(method, test_every_table_attack.released())
        else:
            for method in table_cases.EXAMPLES[name]:
                method.protect(table_cases.tables()["one"], secret=table_cases.SECRET)  # type: ignore[attr-defined]


def main() -> None:
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        list(pool.map(run, JOBS))


if __name__ == "__main__":
    main()
