"""The best table in whole numbers, by the mixed-integer programs of HiGHS, where a linear program ends at fractions.

Intruders know that counts are whole. Along two dimensions linear programs end at whole numbers by themselves; along
three and more they may end at a bound that no whole table reaches, and the true one lies further in. The search is
exact: it ends with a table that is checked in whole numbers and a proof that no better one exists, or it raises.
"""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array

from flou.describe.table.cells import Floats
from flou.engine.errors import NotConvergedError
from flou.risk.table.bounds.programs import Program

#: Branches that are looked into at most: an amount of work, not of time, so that it ends alike on every machine.
_BRANCHES = 200_000


def whole_base(equations: csr_array, low: Floats, high: Floats, sums: Floats) -> Floats | None:
    """Some whole columns within bounds whose equations have these sums; None where there are none."""
    return best_whole(equations, low, high, np.zeros(len(low)), sums)


def best_whole(
    equations: csr_array, low: Floats, high: Floats, cost: Floats, sums: Floats | None = None
) -> Floats | None:
    """The whole columns within bounds, satisfying every equation, whose cost is least; None where there are none.

    Costs must be whole numbers, so that two tables differ in cost by 1 or more.
    """
    import highspy  # `Program` says how to get it

    still = np.zeros(equations.shape[0]) if sums is None else sums
    program = Program(equations, np.ceil(low - 1e-9), np.floor(high + 1e-9), cost, still, still)
    n = len(low)
    solver = program.solver
    solver.changeColsIntegrality(n, np.arange(n, dtype=np.int32), np.full(n, highspy.HighsVarType.kInteger))
    for option, value in (
        ("presolve", "on"),
        ("solver", "choose"),
        ("mip_rel_gap", 0.0),
        ("mip_abs_gap", 0.5),
        ("mip_max_nodes", _BRANCHES),
        ("random_seed", 1),
    ):
        solver.setOptionValue(option, value)
    found = program.solve()
    if found is None:
        return None
    whole: Floats = np.rint(found)
    inside = bool((whole >= low - 1e-9).all() and (whole <= high + 1e-9).all())
    if not inside or np.any(equations @ whole != still) or np.abs(whole - found).max(initial=0.0) > 1e-4:
        raise NotConvergedError(
            f"A program in whole numbers of {n:,} cells ended with figures that are not whole: the bounds of these "
            "cells are not known exactly. Coarsen the table, or look at bounds of sums."
        )
    return whole
