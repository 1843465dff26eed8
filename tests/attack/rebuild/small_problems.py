"""Problems for tests: tables over attribute codes, published by a mechanism, as rows over cells; tiny ones in full."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from flou.attack.table.rebuild.problem import Problem
from flou.describe.mechanism.mechanism import Mechanism


@dataclass
class Geometric:
    """Two-sided geometric noise, as far out as it matters: soft rows."""

    share: float = 0.5
    reach: int = 12

    def published(self, totals: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        noise = rng.geometric(1 - self.share, len(totals)) - rng.geometric(1 - self.share, len(totals))
        return totals + noise

    def rows(self, published: np.ndarray) -> list[tuple[int, int, np.ndarray]]:
        low = np.maximum(published - self.reach, 0)
        high = np.maximum(published + self.reach, 0)
        return [
            (int(a), int(b), np.abs(np.arange(a, b + 1) - p) * np.log(self.share))
            for a, b, p in zip(low, high, published, strict=True)
        ]


def product_codes(sizes: Sequence[int]) -> np.ndarray:
    return np.array(list(itertools.product(*[range(s) for s in sizes])), dtype=np.int64)


def rows_of(groups: Sequence[np.ndarray]) -> list[np.ndarray]:
    """The cells of each row of a table with margins: every crossing of the groupings, each group or all of them.

    `groups` has, for each dimension, the group of every cell.
    """
    n_cells = len(groups[0]) if groups else 0
    found: dict[bytes, np.ndarray] = {}
    for used in itertools.product([False, True], repeat=len(groups)):
        chosen = [g for g, u in zip(groups, used, strict=True) if u]
        if not chosen:
            parts = np.zeros(n_cells, dtype=np.int64)
        else:
            parts = np.unique(np.stack(chosen), axis=1, return_inverse=True)[1].reshape(-1)
        for part in range(parts.max() + 1):
            cells = np.flatnonzero(parts == part)
            found[cells.tobytes()] = cells
    return list(found.values())


def distinct_rows(tables: Sequence[Sequence[np.ndarray]]) -> list[np.ndarray]:
    found: dict[bytes, np.ndarray] = {}
    for table in tables:
        for cells in rows_of(table):
            found.setdefault(cells.tobytes(), cells)
    return list(found.values())


def publish(
    truth: np.ndarray, rows: Sequence[np.ndarray], how: Mechanism | Geometric, rng: np.random.Generator
) -> Problem:
    """The problem of somebody who sees these rows of the true counts through a mechanism."""
    totals = np.array([truth[cells].sum() for cells in rows], dtype=np.int64)
    if isinstance(how, Geometric):
        entries, hard = how.rows(how.published(totals, rng)), False
    else:
        shown = np.array([rng.choice(how.targets(int(t)), p=how.row(int(t))) for t in totals], dtype=np.int64)
        low, high = how.support(shown)
        entries, hard = [], True
        for a, b, p in zip(low.tolist(), high.tolist(), shown.tolist(), strict=True):
            counts = np.arange(a, b + 1)
            entries.append((a, b, how.log_likelihood(np.full_like(counts, p), counts)))
    return problem_of(len(truth), rows, entries, hard=hard)


def problem_of(n_cells, rows, entries, *, hard=True, apart=()) -> Problem:
    lengths = [len(cells) for cells in rows]
    widths = [b - a + 1 for a, b, _ in entries]
    return Problem(
        n_cells=n_cells,
        starts=np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
        members=np.concatenate(rows).astype(np.int64),
        low=np.array([a for a, _, _ in entries], dtype=np.int64),
        high=np.array([b for _, b, _ in entries], dtype=np.int64),
        offsets=np.concatenate([[0], np.cumsum(widths)]).astype(np.int64),
        log_chances=np.concatenate([np.asarray(c, dtype=np.float64) for _, _, c in entries]),
        hard=np.full(len(rows), hard),
        apart=np.array(list(apart), dtype=np.int64).reshape(-1, 2),
    )


def all_counts(n_cells: int, n_most: int) -> Iterator[np.ndarray]:
    """Every vector of counts of up to `n_most` people."""
    for n in range(n_most + 1):
        for bars in itertools.combinations(range(n + n_cells - 1), n_cells - 1):
            edges = (-1, *bars, n + n_cells - 1)
            yield np.diff(edges) - 1


def exact_posterior(problem: Problem, prior: np.ndarray, n_most: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Mean counts, presence and the distribution of the number of people, by enumeration."""
    from scipy.special import gammaln, logsumexp

    vectors = np.array(list(all_counts(problem.n_cells, n_most)))
    chances = np.array([problem.log_likelihood(x) for x in vectors])
    n = vectors.sum(axis=1)
    with np.errstate(divide="ignore"):
        logs = np.where(vectors > 0, vectors * np.log(np.where(prior > 0, prior, 1e-300)), 0.0)
    chances = chances + gammaln(n + 1) + (logs - gammaln(vectors + 1)).sum(axis=1)
    weights = np.exp(chances - logsumexp(chances))
    return weights @ vectors, weights @ (vectors > 0), np.bincount(n, weights=weights, minlength=n_most + 1)


@dataclass
class Town:
    """A census population as cells of age × gender × marital status, with the rows of the four tables of seed 004."""

    codes: np.ndarray
    rows: list[np.ndarray]
    lookup: np.ndarray

    def counts(self, people: object) -> np.ndarray:
        frame = people.frame.collect() if hasattr(people.frame, "collect") else people.frame  # type: ignore[attr-defined]
        age = np.asarray(frame["age"].to_numpy())
        gender = np.searchsorted(["female", "male"], frame["gender"].to_list())
        marital = np.array([MARITAL.index(m) for m in frame["marital"].to_list()])
        return np.bincount(self.lookup[age, gender, marital], minlength=len(self.codes))


MARITAL = ["single", "married", "registered partnership", "widowed", "divorced"]


def town() -> Town:
    codes = product_codes([105, 2, 5])
    codes = codes[(codes[:, 0] >= 16) | (codes[:, 2] == 0)]
    lookup = np.full((105, 2, 5), -1)
    lookup[tuple(codes.T)] = np.arange(len(codes))
    age, gender, marital = codes.T
    age5 = age // 5
    rows = distinct_rows([[gender, age5], [gender, marital], [gender, age], [gender, age5, marital]])
    return Town(codes, rows, lookup)
