"""The cheapest local suppression of a small file, by integer programming."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import csr_array

from flou.protect.micro.nulls.parts import Nulling, Requirements, bits, compress, mask_costs, pack


def null_cells_exactly(
    codes: ArrayLike, counts: ArrayLike, k: int, cost: ArrayLike | None = None, requirements: Requirements | None = None
) -> Nulling:
    """The cheapest nulls, for some 60 records and 5 columns: takes seconds to minutes.

    Raises ValueError if there are fewer than k records.
    """
    codes = np.asarray(codes, np.int32)
    counts = np.asarray(counts, np.int64)
    n_keys, d = codes.shape
    cost = np.ones(d) if cost is None else np.asarray(cost, np.float64)
    if requirements is None:
        requirements = [(tuple(range(d)), k)]
    if counts.sum() < max(least for _, least in requirements):
        raise ValueError("there are fewer records than a class needs")

    key, mask = (a.ravel() for a in np.meshgrid(np.arange(n_keys), np.arange(1 << d), indexing="ij"))
    proper = (mask & bits(codes < 0)[key]) == 0  # what is null already is not nulled
    key, mask = key[proper], mask[proper]
    released = np.where(mask[:, None] >> np.arange(d) & 1, -1, codes[key])
    classes, least_of_class = number_classes(released, counts[key], key, requirements)
    possible = (classes >= 0).all(axis=1)
    key, mask, classes = key[possible], mask[possible], classes[possible]

    constraints, n_classes = constrain(key, classes, least_of_class, counts)
    n = len(key)
    solved = milp(
        np.concatenate([mask_costs(mask, cost), np.zeros(n_classes)]),
        constraints=constraints,
        integrality=np.ones(n + n_classes),
        bounds=Bounds(0, np.concatenate([counts[key], np.ones(n_classes)])),
        options={"mip_rel_gap": 0.0},
    )
    if solved.x is None:
        raise RuntimeError(f"no solution: {solved.message}")
    return compress(key, mask, np.rint(solved.x[:n]).astype(np.int64))


def number_classes(
    released: NDArray[np.int32], counts: NDArray[np.int64], key: NDArray[np.int64], requirements: Requirements
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Class of each row under each requirement (-1: it never has enough records), and their k."""
    classes = np.full((len(released), len(requirements)), -1)
    least_of_class: list[int] = []
    for r, (columns, least) in enumerate(requirements):
        _, group = np.unique(pack(released, columns), return_inverse=True)
        # A key counts once for a class, though several of its masks may lead there.
        pairs = np.unique(np.stack([group, key]), axis=1, return_index=True)[1]
        reach = np.bincount(group[pairs], counts[pairs])
        number = np.full(len(reach), -1)
        enough = np.flatnonzero(reach >= least)
        number[enough] = len(least_of_class) + np.arange(len(enough))
        classes[:, r] = number[group]
        least_of_class += [least] * len(enough)
    return classes, np.array(least_of_class)


def constrain(
    key: NDArray[np.int64], classes: NDArray[np.int64], least_of_class: NDArray[np.int64], counts: NDArray[np.int64]
) -> tuple[list[LinearConstraint], int]:
    """Every record is released, and a class has its k records or none.

    The variables are the records of each (key, mask), then one switch for each class.
    """
    n, n_classes = len(key), len(least_of_class)
    rows = np.arange(n)
    released = csr_array((np.ones(n), (key, rows)), shape=(len(counts), n + n_classes))
    flat = classes.T.ravel()
    row = np.tile(rows, classes.shape[1])
    members = csr_array(
        (
            np.concatenate([np.ones(len(flat)), -least_of_class.astype(float)]),
            (np.concatenate([flat, np.arange(n_classes)]), np.concatenate([row, n + np.arange(n_classes)])),
        ),
        shape=(n_classes, n + n_classes),
    )
    each = np.arange(len(flat))
    switched = csr_array(
        (
            np.concatenate([np.ones(len(flat)), -counts[key[row]].astype(float)]),
            (np.tile(each, 2), np.concatenate([row, n + flat])),
        ),
        shape=(len(flat), n + n_classes),
    )
    return [
        LinearConstraint(released, counts, counts),
        LinearConstraint(members, 0, np.inf),
        LinearConstraint(switched, -np.inf, 0),
    ], n_classes
