"""Synthetic enterprises, for magnitude tables.

Employment follows a Pareto law (Axtell), turnover follows employment, and both are so skewed that many
cells of a table by region and activity hold one or two enterprises, or many enterprises of which one makes
most of the total: what the dominance and the p% rules are about. Some enterprises belong to a holding,
which spans activities and regions, and whose share of a cell is that of all its enterprises together.

Nothing here is real data: the codes look like NACE and NUTS, but the regions, the parts of activities in
them and every amount are invented. Amounts are whole thousands of euros, so that sums are exact in
whatever order a table adds them.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
import polars as pl

from flou.datasets.draws import Bools, Floats, Ints, draw_category, labelled

__all__ = ["ACTIVITY_TREE", "REGION_TREE", "SIZES", "business_frame"]


class Division(NamedTuple):
    """A two-digit activity: how many groups it has, and what its enterprises look like."""

    groups: int
    share: float  # of enterprises, in thousandths
    tail: float  # of the Pareto law of employment: the smaller, the more giants
    turnover: float  # a person employed, in thousand euros
    margin: float  # value added as a share of turnover


_SECTIONS: Final[dict[str, dict[str, Division]]] = {
    "B": {"08": Division(2, 4, 1.05, 210, 0.42)},
    "C": {
        "10": Division(4, 34, 1.05, 240, 0.22), "13": Division(3, 12, 1.10, 130, 0.34),
        "16": Division(2, 18, 1.15, 140, 0.32), "20": Division(3, 8, 0.88, 420, 0.27),
        "25": Division(4, 38, 1.12, 150, 0.38), "28": Division(3, 14, 0.92, 230, 0.33),
        "30": Division(2, 3, 0.80, 330, 0.25),
    },
    "D": {"35": Division(2, 9, 0.85, 640, 0.30)},
    "E": {"38": Division(2, 10, 1.00, 190, 0.37)},
    "F": {"41": Division(2, 52, 1.20, 210, 0.27), "43": Division(4, 128, 1.25, 110, 0.42)},
    "G": {
        "45": Division(3, 42, 1.20, 330, 0.15), "46": Division(5, 78, 1.08, 560, 0.15),
        "47": Division(5, 118, 1.18, 210, 0.20),
    },
    "H": {"49": Division(3, 56, 1.05, 130, 0.41), "52": Division(2, 12, 0.92, 240, 0.38)},
    "I": {"55": Division(2, 26, 1.18, 90, 0.47), "56": Division(3, 82, 1.28, 65, 0.45)},
    "J": {"58": Division(2, 12, 1.00, 210, 0.48), "62": Division(3, 38, 1.05, 140, 0.55)},
    "M": {"69": Division(2, 46, 1.22, 110, 0.62), "71": Division(2, 44, 1.15, 120, 0.55)},
    "N": {"77": Division(3, 14, 1.08, 260, 0.48), "81": Division(3, 40, 1.02, 48, 0.68)},
    "S": {"95": Division(2, 12, 1.30, 70, 0.45), "96": Division(1, 50, 1.38, 40, 0.58)},
}  # fmt: skip
_DIVISIONS: Final = tuple(division for below in _SECTIONS.values() for division in below.values())

#: Sections, their divisions and groups. The letter stays in front: a bare 08.1 turns into a number in a CSV file.
ACTIVITY_TREE: Final[dict[str, dict[str, list[str]]]] = {
    section: {
        f"{section}{code}": [f"{section}{code}.{i + 1}" for i in range(division.groups)]
        for code, division in below.items()
    }
    for section, below in _SECTIONS.items()
}
_GROUPS: Final = tuple(group for below in ACTIVITY_TREE.values() for groups in below.values() for group in groups)

# Enterprises of each region, in thousandths.
_REGION_SHARES: Final[dict[str, dict[str, float]]] = {
    "XA": {"XA1": 190, "XA2": 84, "XA3": 41},
    "XB": {"XB1": 96, "XB2": 63, "XB3": 38, "XB4": 22},
    "XC": {"XC1": 88, "XC2": 57, "XC3": 46, "XC4": 15},
    "XD": {"XD1": 102, "XD2": 52, "XD3": 31, "XD4": 12},
    "XE": {"XE1": 44, "XE2": 19},
}
#: Large regions and the regions in them.
REGION_TREE: Final[dict[str, list[str]]] = {large: list(below) for large, below in _REGION_SHARES.items()}
_REGIONS: Final = tuple(region for below in REGION_TREE.values() for region in below)

SIZES: Final = ("0-9", "10-49", "50-249", "250+")
_SIZE_BOUNDS: Final = (10, 50, 250)
_MAX_EMPLOYEES: Final = 15_000
_EMPLOYMENT_SCALE: Final = 1.7

# How much the mix of activities differs between regions: some cells have hundreds of enterprises, others one.
_SPECIALISATION: Final = 0.8

# Share of enterprises that belong to a holding, by size class, and members of a holding in this file.
_HOLDING_RATES: Final[Floats] = np.array([0.058, 0.19, 0.46, 0.75])
_MEMBERS_PER_HOLDING: Final = 4


def business_frame(n: int, rng: np.random.Generator) -> pl.DataFrame:
    """Draw ``n`` enterprises, one at least; the result depends on nothing but ``n`` and the state of ``rng``.

    An enterprise that belongs to no holding is its own: its ``holding`` is E and its own number.
    """
    eid = rng.permutation(n).astype(np.int64) + 1
    region, group = _draw_places(n, rng)
    division = np.repeat(np.arange(len(_DIVISIONS)), [d.groups for d in _DIVISIONS])[group]
    employees = _draw_employees(division, rng)
    size = np.searchsorted(_SIZE_BOUNDS, employees, side="right").astype(np.int64)
    turnover = _draw_turnover(division, employees, rng)
    return pl.DataFrame(
        [
            pl.Series("eid", eid),
            labelled("region", region, _REGIONS),
            labelled("activity", group, _GROUPS),
            labelled("size", size, SIZES),
            pl.Series("employees", employees),
            pl.Series("turnover", turnover),
            pl.Series("value_added", _draw_value_added(division, turnover, rng)),
            pl.Series("investment", _draw_investment(size, turnover, rng)),
            _draw_holdings(eid, size, rng),
        ]
    )


def _of_division(field: str, division: Ints) -> Floats:
    return np.array([getattr(d, field) for d in _DIVISIONS], dtype=np.float64)[division]


def _draw_places(n: int, rng: np.random.Generator) -> tuple[Ints, Ints]:
    """Region and group of activity. Within a division, each group is half as common as the one before."""
    regions = np.array([share for below in _REGION_SHARES.values() for share in below.values()])
    groups = np.concatenate([d.share * 0.5 ** np.arange(d.groups) / (2.0 - 0.5 ** (d.groups - 1)) for d in _DIVISIONS])
    mix = np.exp(_SPECIALISATION * rng.standard_normal((len(_REGIONS), len(_GROUPS))))
    cells = (regions[:, None] * groups[None, :] * mix).ravel()
    drawn = rng.choice(cells.size, size=n, p=cells / cells.sum()).astype(np.int64)
    region, group = np.divmod(drawn, len(_GROUPS))
    return region, group


def _draw_employees(division: Ints, rng: np.random.Generator) -> Ints:
    """A Pareto law that starts at zero, truncated (not heaped) at the largest employer."""
    tail = _of_division("tail", division)
    beyond = (1.0 + _MAX_EMPLOYEES / _EMPLOYMENT_SCALE) ** -tail
    # 1 - random lies in (0, 1]: the share of enterprises that are larger.
    larger = beyond + (1.0 - beyond) * (1.0 - rng.random(division.size))
    return np.floor(_EMPLOYMENT_SCALE * (larger ** (-1.0 / tail) - 1.0)).astype(np.int64)


def _draw_turnover(division: Ints, employees: Ints, rng: np.random.Generator) -> Floats:
    """Lognormal around the turnover a person of the activity, with a Pareto tail; dormant enterprises have none."""
    n = division.size
    # The owner works too, so that an enterprise without employees has a turnover.
    centre = np.log(_of_division("turnover", division)) + 1.02 * np.log(employees + 0.6)
    # An exponential added to the log gives the Pareto tail: traders, and seats that invoice for a whole group.
    tail = np.where(rng.random(n) < 0.04, rng.exponential(0.9, n), 0.0)
    amount = np.rint(np.exp(centre + 0.70 * rng.standard_normal(n) + tail))
    dormant = (rng.random(n) < 0.03) & (employees < 3)
    return np.where(dormant, 0.0, amount)


def _draw_value_added(division: Ints, turnover: Floats, rng: np.random.Generator) -> Floats:
    """A share of the turnover that the activity sets, more or less: never negative, never above it."""
    margin = _of_division("margin", division)
    return np.asarray(np.rint(turnover * rng.beta(8.0 * margin, 8.0 * (1.0 - margin))), dtype=np.float64)


def _draw_investment(size: Ints, turnover: Floats, rng: np.random.Generator) -> Floats:
    """Many small enterprises invest nothing in a year; what the others invest is more skewed than turnover."""
    invests = rng.random(size.size) < np.array([0.45, 0.80, 0.95, 1.0])[size]
    amount = np.rint(turnover * np.exp(-3.4 + 1.1 * rng.standard_normal(size.size)))
    return np.where(invests, amount, 0.0)


def _draw_holdings(eid: Ints, size: Ints, rng: np.random.Generator) -> pl.Series:
    """The holding of each enterprise, drawn without regard to region and activity, so that holdings span both.

    Holdings follow a rank-size law: a few have many enterprises, many have one in this file.
    """
    held: Bools = rng.random(size.size) < _HOLDING_RATES[size]
    n_holdings = max(int(held.sum()) // _MEMBERS_PER_HOLDING, 1)
    shares = 1.0 / np.sqrt(np.arange(n_holdings) + 3.0)
    members = draw_category(shares[None, :], np.zeros(size.size, dtype=np.int64), rng)
    # Numbers in no order: a low one must not say that the holding is large.
    names = tuple(f"H{number + 1:05d}" for number in rng.permutation(n_holdings))
    drawn = labelled("holding", np.where(held, members, n_holdings), (*names, None))
    return drawn.to_frame().select(pl.coalesce("holding", pl.format("E{}", pl.Series(eid)))).to_series()
