"""Coefficients of the two files side by side, with their intervals and overlaps."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import stdtrit

from flou.utility.micro.design import Estimates, Term
from flou.utility.micro.least_squares import overlap_of_intervals

Line = dict[str, Any]


def coefficient_lines(
    first: Estimates, second: Estimates, level: float, reference: dict[str, str], by: str | None, group: str | None
) -> list[Line]:
    """One line a term that either file has, in the order of the design."""
    held = [_intervals(e, level) for e in (first, second)]
    terms: list[Term] = list(dict.fromkeys((*first.terms, *second.terms)))
    order = {name: i for i, name in enumerate(dict.fromkeys(c for c, _ in terms))}
    out = []
    for term in sorted(terms, key=lambda t: order[t[0]]):
        line: Line = {
            "by": by, "group": group, "column": term[0] or None, "level": term[1], "reference": reference.get(term[0]),
            "records_original": first.counts.get(term, 0), "records_released": second.counts.get(term, 0),
        }  # fmt: skip
        for which, found in zip(("original", "released"), held, strict=True):
            figures = found.get(term, (None, None, None, None))
            line |= {which: figures[0], f"se_{which}": figures[1], f"low_{which}": figures[2],
                     f"high_{which}": figures[3]}  # fmt: skip
        ends = [found[term][2:] for found in held if term in found]
        line["overlap"] = overlap_of_intervals(*ends) if len(ends) == 2 else None
        out.append(line)
    return out


def _intervals(found: Estimates, level: float) -> dict[Term, tuple[float, float, float, float]]:
    """Coefficient, standard error and the ends of its interval, by Student's t."""
    t = float(stdtrit(found.fit.n - len(found.terms), (1 + level) / 2))
    errors = np.sqrt(np.maximum(np.diag(found.fit.covariance), 0.0))
    return {
        term: (b, s, b - t * s, b + t * s)
        for term, b, s in zip(found.terms, found.fit.coefficients.tolist(), errors.tolist(), strict=True)
    }


def figures_of(lines: list[Line], by: str | None = None, group: str | None = None) -> dict[str, Any]:
    """The mean overlap of one regression (that on all records), and counts over all of them or over this one."""
    # a coefficient that one file alone has overlaps with nothing
    own = [x["overlap"] or 0.0 for x in lines if x["by"] == by and x["group"] == group]
    both = [x for x in lines if x["overlap"] is not None]
    return {
        "overlap": float(np.mean(own)) if own else 0.0,
        "n_coefficients": len(both),
        "n_sign_changed": sum(_sign_changed(x) for x in both),
        "n_apart": sum(x["overlap"] == 0 for x in both),
        "n_lost": len(lines) - len(both),
    }


def _sign_changed(line: Line) -> bool:
    significant = all(line[f"low_{f}"] > 0 or line[f"high_{f}"] < 0 for f in ("original", "released"))
    return bool(significant and (line["original"] > 0) != (line["released"] > 0))
