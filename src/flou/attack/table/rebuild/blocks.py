"""Many areas with the same tables: one ground for all, threads that share the work, results in the order of the areas.

A national file of small areas is thousands of problems whose rows and cells are the same and whose figures differ. Each
area has a seed of its own, so that its result depends neither on the other areas nor on the number of threads; compiled
loops run without the interpreter's lock, so that threads are enough. The caller's thread tells the progress, and an
exception from there ends the work after the areas at hand.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

import numpy as np

from flou.attack.table.rebuild.anneal import Likeliest, anneal_to_likeliest
from flou.attack.table.rebuild.ground import Ground, lay_ground
from flou.attack.table.rebuild.posterior import Posterior, sample_posterior
from flou.attack.table.rebuild.problem import Problem
from flou.describe.table.cells import Floats, Ints
from flou.engine.errors import Infeasible
from flou.engine.progress import tell

Found = TypeVar("Found")


def anneal_blocks(
    problems: Iterable[Problem],
    codes: Ints,
    seeds: Iterable[int],
    *,
    n_blocks: int,
    n_moves: int = 1_000_000,
    n_threads: int | None = None,
) -> Iterator[Likeliest | None]:
    """The likeliest counts of each area; None where no possible counts were found. Problems may be made on the way."""

    def work(problem: Problem, ground: Ground, seed: int) -> Likeliest:
        return anneal_to_likeliest(problem, codes, seed=seed, n_moves=n_moves, ground=ground)

    return _by_threads(work, problems, codes, seeds, n_blocks, n_threads)


def sample_blocks(
    problems: Iterable[Problem],
    codes: Ints,
    seeds: Iterable[int],
    *,
    n_blocks: int,
    prior: Floats | None = None,
    n_chains: int = 4,
    n_samples: int = 400,
    max_moves: int = 3_200_000,
    n_threads: int | None = None,
) -> Iterator[Posterior | None]:
    """The posterior of each area, with a smaller pool; None where no possible counts were found."""

    def work(problem: Problem, ground: Ground, seed: int) -> Posterior:
        return sample_posterior(
            problem, codes, prior, seed=seed, n_chains=n_chains, n_samples=n_samples, max_moves=max_moves, n_threads=1,
            ground=ground,
        )  # fmt: skip

    return _by_threads(work, problems, codes, seeds, n_blocks, n_threads)


def _by_threads(
    work: Callable[[Problem, Ground, int], Found],
    problems: Iterable[Problem],
    codes: Ints,
    seeds: Iterable[int],
    n_blocks: int,
    n_threads: int | None,
) -> Iterator[Found | None]:
    """Results in order, with a few areas ahead of the one that is waited for."""
    n_threads = n_threads or os.cpu_count() or 1
    shared: tuple[Problem, Ground] | None = None
    waiting: deque[Future[Found | None]] = deque()
    n_done = 0

    def safely(problem: Problem, ground: Ground, seed: int) -> Found | None:
        try:
            return work(problem, ground, seed)
        except Infeasible:
            return None

    with ThreadPoolExecutor(n_threads) as pool:
        try:
            for problem, seed in zip(problems, seeds, strict=True):
                if shared is None or not _same_rows(problem, shared[0]):
                    shared = problem, lay_ground(problem, codes)
                waiting.append(pool.submit(safely, problem, shared[1], int(seed)))
                if len(waiting) >= 4 * n_threads:
                    yield waiting.popleft().result()
                    n_done += 1
                    tell("areas", n_done, n_blocks)
            while waiting:
                yield waiting.popleft().result()
                n_done += 1
                tell("areas", n_done, n_blocks)
        finally:
            for future in waiting:
                future.cancel()


def _same_rows(problem: Problem, other: Problem) -> bool:
    """Whether two problems have one ground; pairs that are apart belong to it and are seldom the same."""
    return (
        problem.n_cells == other.n_cells
        and (problem.starts is other.starts or np.array_equal(problem.starts, other.starts))
        and (problem.members is other.members or np.array_equal(problem.members, other.members))
        and np.array_equal(problem.apart, other.apart)
    )
