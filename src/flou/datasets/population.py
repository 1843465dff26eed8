"""Synthetic census: the whole population of an invented western country, one row a person.

The four variables of a classical census table (age, gender, marital status, place of residence) have a
plausible joint distribution: an ageing pyramid with a baby boom, women who outlive men and are widowed
more often, cities with students and villages with pensioners. Municipalities follow a rank-size law, so
that most of them are small and detailed tables are full of ones and twos, which is what makes them hard
to protect.

Nothing here is real data: the country, its places and every share are invented.
"""

from __future__ import annotations

from typing import Final, TypeAlias

import numpy as np
import polars as pl

from flou.datasets.draws import Floats, Ints, draw_category, labelled, logistic

__all__ = ["census_areas", "census_frame"]

AreaTree: TypeAlias = dict[str, dict[str, list[str]]]

MAX_AGE: Final = 104
#: Nobody is, or has been, married or in a registered partnership below this age.
MARRIAGE_AGE: Final = 16
#: Activity is asked from this age on.
ACTIVITY_AGE: Final = 15

GENDERS: Final = ("female", "male")
MARITAL: Final = ("single", "married", "registered partnership", "widowed", "divorced")
BIRTHS: Final = ("this country", "neighbouring country", "rest of the continent", "elsewhere")
ACTIVITIES: Final = ("employed", "unemployed", "in education", "retired", "other inactive")
NOT_APPLICABLE: Final = "not applicable"

_AGES: Final[Floats] = np.arange(MAX_AGE + 1, dtype=np.float64)

# A municipality has 300 people on average until their number stops growing: a file of 100,000 has some
# three hundred of them, and a toy town three quarters.
_PEOPLE_PER_AREA: Final = 300
_MIN_AREAS: Final = 3
_MAX_AREAS: Final = 400
_AREAS_PER_DISTRICT: Final = 8
_MAX_DISTRICTS: Final = 20
_DISTRICTS_PER_REGION: Final = 4
# Rank-size law: slightly steeper than Zipf's, flattened at the top so that no capital swallows the country.
_RANK_EXPONENT: Final = 1.15
_RANK_SHIFT: Final = 4.0

# Gompertz mortality (level, slope), women then men.
_MORTALITY: Final = ((0.7e-5, 0.105), (2.0e-5, 0.100))
_BOYS_AT_BIRTH: Final = 0.512

# People by birthplace in cities, towns and villages.
_BIRTH_SHARES: Final[Floats] = np.array(
    [[0.74, 0.11, 0.09, 0.06], [0.87, 0.07, 0.04, 0.02], [0.94, 0.04, 0.01, 0.01]]
)  # fmt: skip


def census_frame(n: int, rng: np.random.Generator) -> pl.DataFrame:
    """Draw the ``n`` inhabitants, one at least; the result depends on nothing but ``n`` and the state of ``rng``."""
    areas = [area for districts in census_areas(n).values() for below in districts.values() for area in below]
    pid = rng.permutation(n).astype(np.int64) + 1
    sizes = _area_sizes(len(areas), _n_districts(len(areas)))
    area = rng.choice(len(areas), size=n, p=sizes / sizes.sum()).astype(np.int64)
    settlement = _settlements(sizes)[area]
    person = draw_category(_pyramids(), settlement, rng)
    marital = draw_category(_marital_shares(), person, rng)
    birth = draw_category(_BIRTH_SHARES, settlement, rng)
    activity = draw_category(_activity_shares(), person, rng)
    gender, age = np.divmod(person, MAX_AGE + 1)
    return pl.DataFrame(
        [
            pl.Series("pid", pid),
            pl.Series("age", age),
            labelled("gender", gender, GENDERS),
            labelled("marital", marital, MARITAL),
            labelled("area", area, tuple(areas)),
            labelled("birth", birth, BIRTHS),
            labelled("activity", activity, (*ACTIVITIES, NOT_APPLICABLE)),
        ]
    )


def census_areas(n: int) -> AreaTree:
    """Regions, their districts and municipalities, in a country of ``n`` people."""
    n_areas = min(max(n // _PEOPLE_PER_AREA, _MIN_AREAS), _MAX_AREAS)
    n_districts = _n_districts(n_areas)
    n_regions = max(n_districts // _DISTRICTS_PER_REGION, 1)
    tree: AreaTree = {f"R{region + 1}": {} for region in range(n_regions)}
    for district in range(n_districts):
        below = [f"M{district + 1:02d}{place + 1:02d}" for place in range(len(range(district, n_areas, n_districts)))]
        tree[f"R{district * n_regions // n_districts + 1}"][f"D{district + 1:02d}"] = below
    return tree


def _n_districts(n_areas: int) -> int:
    return min(max(n_areas // _AREAS_PER_DISTRICT, 1), _MAX_DISTRICTS)


def _area_sizes(n_areas: int, n_districts: int) -> Floats:
    """Relative sizes in the order of the tree; ranks are dealt in turn, so that each district has a main town."""
    dealt = np.concatenate([np.arange(district, n_areas, n_districts) for district in range(n_districts)])
    return np.asarray((dealt + _RANK_SHIFT) ** -_RANK_EXPONENT, dtype=np.float64)


def _settlements(sizes: Floats) -> Ints:
    """0 city, 1 town, 2 village: the largest areas with 30% of the people, the next with 35%, the rest."""
    order = np.argsort(-sizes, kind="stable")
    above = np.cumsum(sizes[order]) - sizes[order]
    settlement = np.empty(sizes.size, dtype=np.int64)
    settlement[order] = np.searchsorted((0.30, 0.65), above / sizes.sum(), side="right")
    return settlement


def _bell(centre: float, spread: float) -> Floats:
    """A bell over the ages."""
    return np.asarray(np.exp(-0.5 * ((_AGES - centre) / spread) ** 2), dtype=np.float64)


def _by_age(knots: dict[int, float]) -> Floats:
    """A curve over the ages through a few points."""
    return np.asarray(np.interp(_AGES, list(knots), list(knots.values())), dtype=np.float64)


def _pyramids() -> Floats:
    """People by gender and age (women of all ages, then men) in cities, towns and villages."""
    births = _by_age({0: 0.82, 10: 0.90, 20: 0.95, 45: 1.0, 55: 1.15, 70: 1.10, 78: 0.85, 90: 0.70, MAX_AGE: 0.60})
    alive = [np.exp(-level / slope * np.expm1(slope * _AGES)) for level, slope in _MORTALITY]
    country = np.concatenate([(1.0 - _BOYS_AT_BIRTH) * births * alive[0], _BOYS_AT_BIRTH * births * alive[1]])
    # Studies and first jobs draw the young to the cities; pensioners stay in, or return to, the villages.
    tilts = (1.0 + 0.55 * _bell(26.0, 6.0), np.ones(MAX_AGE + 1), 1.0 + 0.40 * _bell(70.0, 12.0))
    return np.stack([country * np.tile(tilt, 2) for tilt in tilts])


def _marital_shares() -> Floats:
    """Share of each marital status by gender and age."""
    return np.concatenate([_statuses(first_marriage=31.0, widowhood=80.0), _statuses(33.0, 92.0)])


def _statuses(first_marriage: float, widowhood: float) -> Floats:
    """``widowhood`` is the age at which half of those who ever married have lost their spouse."""
    ever = _by_age({20: 0.66, 50: 0.74, 75: 0.92}) * logistic((_AGES - first_marriage) / 3.2)
    # The curves alone leave too many very young spouses and partners.
    allowed = np.clip((_AGES - MARRIAGE_AGE + 1) / 8.0, 0.0, 1.0)
    ever *= allowed
    widowed = ever * logistic((_AGES - widowhood) / 6.5)
    divorced = (ever - widowed) * _by_age({18: 0.02, 30: 0.10, 45: 0.25, 58: 0.32, 75: 0.18, 90: 0.08})
    partnership = (1.0 - ever) * 0.09 * _bell(36.0, 11.0) * allowed
    return np.stack([1.0 - ever - partnership, ever - widowed - divorced, partnership, widowed, divorced], axis=1)


def _activity_shares() -> Floats:
    """Share of each activity by gender and age; the last column is for those who are not asked."""
    return np.concatenate([_activities(0.84, 0.60), _activities(0.91, 0.35)])


def _activities(top_employment: float, home: float) -> Floats:
    """``home`` is the share who do not look for work among those who have none and do not study.

    One in ten of as many never worked, and so do not retire either.
    """
    asked = _AGES >= ACTIVITY_AGE
    studies = np.where(_AGES < 18, 0.96, 0.97 * logistic((21.0 - _AGES) / 1.8)) * asked
    past_work = logistic((_AGES - 63.0) / 1.3) * (_AGES >= 50) * (1.0 - studies)
    working_age = (1.0 - studies - past_work) * asked
    employed = working_age * top_employment
    left = working_age - employed
    never_worked = 0.1 * home * past_work
    retired, inactive = past_work - never_worked, left * home + never_worked
    return np.stack([employed, left * (1.0 - home), studies, retired, inactive, 1.0 - asked], axis=1)
