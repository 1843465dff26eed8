"""Synthetic beneficiaries of the French home-care allowance (APA à domicile).

The file imitates the individual records that the statistical office of the French social ministries
collects from the departments: about 618,000 people aged 60 or over who live at home, their four
quasi-identifiers (department, sex, life in couple, age), their degree of dependency (GIR and the
discriminating activities of the AGGIR grid), their resources and the amounts of their help plan.

Nothing here is real data. The shares, the ceilings and the shapes are plausible orders of magnitude,
chosen so that the identification keys are about as numerous, and about as often rare, as those
published for the real file: at full size some 5,000 keys (department, sex, couple, age in 12 classes),
of which about 5% are held by fewer than three people, mostly because life in couple is not known.

Amounts are handled in integer cents until the very end, so that the accounting identities between
columns hold to the cent.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from flou.datasets.draws import Bools, Floats, Ints, labelled, logistic

__all__ = ["apa_frame"]


REFERENCE_YEAR: Final = 2021
MIN_AGE: Final = 60
MAX_AGE: Final = 108

# Expected beneficiaries of each department in a file of about 618,000; only the ratios matter.
# Seven departments are small enough to stay under 2,000 people whatever the draw.
_DEPARTMENT_WEIGHTS: Final[dict[str, int]] = {
    "01": 4670, "02": 5770, "03": 5860, "04": 1510, "05": 1330, "06": 11360, "07": 4300, "08": 3210,
    "09": 1680, "10": 3300, "11": 6050, "12": 5130, "13": 23080, "14": 6410, "15": 2660, "16": 4760,
    "17": 8520, "18": 3940, "19": 4210, "21": 4580, "22": 7510, "23": 2840, "24": 7050, "25": 4210,
    "26": 5500, "27": 4850, "28": 3570, "29": 9250, "2A": 1650, "2B": 3020, "30": 8980, "31": 13370,
    "32": 3570, "33": 17130, "34": 14010, "35": 7880, "36": 3300, "37": 5400, "38": 9890, "39": 2560,
    "40": 4850, "41": 3760, "42": 9710, "43": 3020, "44": 9430, "45": 5590, "46": 3210, "47": 5040,
    "48": 970, "49": 6500, "50": 5680, "51": 4490, "52": 2150, "53": 2750, "54": 6690, "55": 1590,
    "56": 8330, "57": 10170, "58": 3390, "59": 25000, "60": 5500, "61": 3760, "62": 18680, "63": 8150,
    "64": 7600, "65": 3850, "66": 6690, "67": 7970, "68": 6140, "69": 12730, "70": 2380, "71": 7240,
    "72": 5130, "73": 3850, "74": 4490, "75": 17950, "76": 11270, "77": 6960, "78": 6780, "79": 3940,
    "80": 6140, "81": 6230, "82": 3390, "83": 11820, "84": 5860, "85": 6590, "86": 4210, "87": 4580,
    "88": 4300, "89": 3660, "90": 1140, "91": 7050, "92": 7790, "93": 9800, "94": 7880, "95": 6320,
}  # fmt: skip
_DEPARTMENTS: Final = tuple(_DEPARTMENT_WEIGHTS)

# Share of records without life in couple. Most departments always send it, some lose a few files,
# and three have an information system that often leaves it blank.
_COUPLE_UNKNOWN_RATES: Final[dict[str, float]] = {
    "02": 0.008, "07": 0.012, "10": 0.015, "11": 0.006, "16": 0.010, "18": 0.014, "24": 0.008,
    "28": 0.012, "2B": 0.060, "32": 0.011, "36": 0.020, "41": 0.009, "46": 0.016, "52": 0.015,
    "57": 0.060, "58": 0.010, "60": 0.007, "65": 0.013, "72": 0.010, "79": 0.008, "88": 0.012,
    "93": 0.090, "95": 0.005,
}  # fmt: skip

# Departure of log resources from the national level: the Paris region and the large or border cities
# are richer, the old industrial and the remote rural departments poorer.
_RESOURCE_EFFECTS: Final[dict[str, float]] = {
    "75": 0.34, "92": 0.30, "78": 0.30, "91": 0.16, "94": 0.14, "77": 0.10, "95": 0.10, "93": 0.02,
    "69": 0.09, "74": 0.10, "06": 0.08, "31": 0.07, "33": 0.05, "38": 0.05, "44": 0.04, "83": 0.04,
    "67": 0.04, "21": 0.03, "37": 0.03, "59": -0.05, "62": -0.09, "02": -0.07, "08": -0.08, "80": -0.06,
    "23": -0.12, "15": -0.11, "48": -0.10, "12": -0.07, "46": -0.05, "32": -0.08, "11": -0.07,
    "66": -0.05, "09": -0.06, "58": -0.06, "36": -0.07, "2A": -0.06, "2B": -0.10, "61": -0.07,
    "53": -0.06, "50": -0.06, "22": -0.04, "19": -0.05, "24": -0.05, "43": -0.07, "52": -0.05,
}  # fmt: skip

_AGE_MODE: Final = 87.0
_AGE_SPREAD_BELOW: Final = 9.0
_AGE_SPREAD_ABOVE: Final = 5.3
# People dependent early in life are rare but more common than a bell curve says.
_YOUNG_FLOOR: Final = 0.05

# Cuts of the dependency score, from the least to the most dependent: those between GIR 4
# and 3, 3 and 2, 2 and 1 leave 41.5%, 19.5% and 2.5% of people above them.
_GIR_CUTS: Final = (0.2147, 0.8596, 1.9600)
_AGE_EFFECT_ON_DEPENDENCY: Final = 0.15

# For each activity: share of its score due to dependency, share due to a cognitive factor common to
# coherence and orientation, then the cuts between A and B and between B and C. Washing is lost first,
# feeding last.
_ACTIVITIES: Final[dict[str, tuple[float, float, float, float]]] = {
    "coherence": (0.70, 0.60, 0.15, 1.15),
    "orientation": (0.70, 0.58, 0.20, 1.20),
    "toileting": (0.90, 0.05, -1.10, 0.75),
    "dressing": (0.90, 0.05, -0.80, 0.85),
    "feeding": (0.86, 0.15, 0.30, 1.55),
    "elimination": (0.87, 0.15, 0.10, 1.15),
    "transfers": (0.88, -0.10, 0.10, 1.20),
    "indoor_moves": (0.87, -0.12, 0.15, 1.25),
}

# Minimum old-age pension, in cents, of a single person and of a couple.
_MINIMUM_SINGLE: Final = 101_202
_MINIMUM_COUPLE: Final = 157_116

# Monthly legal ceilings of the plan in 2022, in cents, GIR 1 to 4.
_CEILINGS: Final[Ints] = np.array([180_789, 146_208, 105_657, 70_513], dtype=np.int64)
# Central log ratio of the need to the ceiling, GIR 1 to 4: it sets the share of saturated plans.
_NEED_CENTRES: Final[Floats] = np.array([-0.64, -0.53, -0.54, -0.52])
_NEED_SPREAD: Final = 0.50

# Participation scale, in cents of monthly resources.
_FREE_BELOW: Final = 84_677
_FULL_RATE_FROM: Final = 311_829
_FULL_RATE: Final = 0.9

_MEAN_TARIFF: Final = 22.0
_MEAN_YEARS_SINCE_ENTITLEMENT: Final = 4.0
_FIRST_ENTITLEMENT_YEAR: Final = 2002


def apa_frame(n: int, rng: np.random.Generator) -> pl.DataFrame:
    """Draw ``n`` synthetic beneficiaries of the home-care allowance.

    The result depends on nothing but ``n`` and the state of ``rng``. Only ``couple`` has nulls; they
    stand for "not known".
    """
    if n < 0:
        raise ValueError(f"n must not be negative, got {n}")
    pid = rng.permutation(n).astype(np.int64) + 1
    department = _draw_departments(n, rng)
    age = _draw_ages(n, rng)
    woman = _draw_women(age, rng)
    in_couple = _draw_couples(woman, age, rng)
    dependency = _draw_dependency(age, rng)
    gir = _gir_of(dependency)
    activities = _draw_activities(dependency, rng)
    resources = _draw_resources(department, woman, in_couple, rng)
    plan = _draw_plans(gir, dependency, in_couple, resources, rng)
    notpb = _participation(plan, resources)
    human = _draw_human_help(plan, rng)
    hours = _hours_of(human, department, rng)
    entitlement = _draw_entitlements(age, rng)
    unknown = _draw_couple_unknown(department, rng)
    return pl.DataFrame(
        [
            pl.Series("pid", pid),
            labelled("department", department, _DEPARTMENTS),
            labelled("sex", woman.astype(np.int64), ("M", "F")),
            labelled("couple", np.where(unknown, 2, in_couple.astype(np.int64)), ("no", "yes", None)),
            pl.Series("age", age),
            pl.Series("gir", gir),
            *(labelled(name, level, ("A", "B", "C")) for name, level in activities.items()),
            _euros("resources", resources),
            _euros("plan_amount", plan),
            _euros("notpb", notpb),
            _euros("apa_amount", plan - notpb),
            pl.Series("hours", hours),
            _euros("human_help", human),
            _euros("technical_help", plan - human),
            pl.Series("entitlement", entitlement),
        ]
    )


def _euros(name: str, cents: Ints) -> pl.Series:
    """Dividing an integer by 100 gives the double nearest to the decimal amount."""
    return pl.Series(name, cents / 100.0)


def _by_department(values: dict[str, float]) -> Floats:
    """Spread a sparse table over all departments, zero where it says nothing."""
    return np.array([values.get(code, 0.0) for code in _DEPARTMENTS])


def _draw_departments(n: int, rng: np.random.Generator) -> Ints:
    weights = np.array(list(_DEPARTMENT_WEIGHTS.values()), dtype=np.float64)
    return rng.choice(len(_DEPARTMENTS), size=n, p=weights / weights.sum()).astype(np.int64)


def _draw_ages(n: int, rng: np.random.Generator) -> Ints:
    """Two half bells of unequal widths: slow rise from 60, quick fall by mortality after the mode."""
    ages = np.arange(MIN_AGE, MAX_AGE + 1)
    spread = np.where(ages < _AGE_MODE, _AGE_SPREAD_BELOW, _AGE_SPREAD_ABOVE)
    weights = np.exp(-0.5 * ((ages - _AGE_MODE) / spread) ** 2)
    weights += np.where(ages <= _AGE_MODE, _YOUNG_FLOOR, 0.0)
    return rng.choice(ages, size=n, p=weights / weights.sum()).astype(np.int64)


def _draw_women(age: Ints, rng: np.random.Generator) -> Bools:
    """Women outlive men, so their share grows with age."""
    share = logistic(1.02 + 0.038 * (age - 84.0))
    return np.asarray(rng.random(age.size) < share)


def _draw_couples(woman: Bools, age: Ints, rng: np.random.Generator) -> Bools:
    """Widowhood comes earlier to women; men mostly keep a partner until very old."""
    years = age - 84.0
    women_share = logistic(-1.30 - 0.100 * years - 0.0020 * years**2)
    # Men dependent early have often lived alone: the share peaks before falling.
    men_share = logistic(0.75 - 0.028 * years - 0.0028 * (years + 4.0) ** 2)
    return np.asarray(rng.random(age.size) < np.where(woman, women_share, men_share))


def _draw_couple_unknown(department: Ints, rng: np.random.Generator) -> Bools:
    return np.asarray(rng.random(department.size) < _by_department(_COUPLE_UNKNOWN_RATES)[department])


def _draw_dependency(age: Ints, rng: np.random.Generator) -> Floats:
    """Score of unit variance, high for the most dependent, rising slightly with age."""
    standard_age = (age - 83.0) / 8.0
    noise = rng.standard_normal(age.size)
    effect = _AGE_EFFECT_ON_DEPENDENCY
    return np.asarray(effect * standard_age + np.sqrt(1.0 - effect**2) * noise, dtype=np.float64)


def _gir_of(dependency: Floats) -> Ints:
    return 4 - np.searchsorted(_GIR_CUTS, dependency).astype(np.int64)


def _draw_activities(dependency: Floats, rng: np.random.Generator) -> dict[str, Ints]:
    """Level (0 = A, done alone; 2 = C, not done) of each activity, tied by the dependency score."""
    cognitive = rng.standard_normal(dependency.size)
    levels: dict[str, Ints] = {}
    for name, (loading, cognitive_loading, cut_b, cut_c) in _ACTIVITIES.items():
        own_spread = np.sqrt(1.0 - loading**2 - cognitive_loading**2)
        own = rng.standard_normal(dependency.size)
        score = loading * dependency + cognitive_loading * cognitive + own_spread * own
        levels[name] = (score > cut_b).astype(np.int64) + (score > cut_c)
    return levels


def _draw_resources(department: Ints, woman: Bools, in_couple: Bools, rng: np.random.Generator) -> Ints:
    """Monthly resources in cents: lognormal body, Pareto tail, heaps at the minimum pension."""
    n = department.size
    centre = np.log(1150.0) + _by_department(_RESOURCE_EFFECTS)[department]
    centre += 0.22 * in_couple - 0.05 * woman
    # An exponential added to the log gives the Pareto tail that a lognormal alone lacks.
    wealthy = rng.random(n) < 0.14
    tail = np.where(wealthy, rng.exponential(0.30, n), 0.0)
    cents = np.rint(100.0 * np.exp(centre + 0.30 * rng.standard_normal(n) + tail)).astype(np.int64)
    return _heap_at_minimum(cents, in_couple, rng)


def _heap_at_minimum(cents: Ints, in_couple: Bools, rng: np.random.Generator) -> Ints:
    """The minimum pension tops up some of the poorest exactly to its amount; many never claim it."""
    minimum = np.where(in_couple, _MINIMUM_COUPLE, _MINIMUM_SINGLE)
    claims = rng.random(cents.size) < np.where(in_couple, 0.05, 0.15)
    return np.where(claims & (cents < minimum), minimum, cents)


def _draw_plans(gir: Ints, dependency: Floats, in_couple: Bools, resources: Ints, rng: np.random.Generator) -> Ints:
    """Monthly plan in cents: a lognormal need cut at the ceiling, which is what saturates plans.

    Inside a GIR the need grows with dependency; a partner at home, and the larger participation asked
    from the richer, both lower it.
    """
    ceiling = _CEILINGS[gir - 1]
    log_ratio = _NEED_CENTRES[gir - 1] + _NEED_SPREAD * rng.standard_normal(gir.size)
    log_ratio += 0.12 * dependency - 0.10 * in_couple - 0.06 * np.log(resources / 125_000.0)
    need = np.rint(ceiling * np.exp(log_ratio)).astype(np.int64)
    return np.minimum(need, ceiling)


def _participation(plan: Ints, resources: Ints) -> Ints:
    """Contribution of the beneficiary in cents, by a simplified form of the legal scale.

    The rate is nil for low resources, then linear, then constant; the law also makes it depend on the
    size of the plan, which is left out.
    """
    position = (resources - _FREE_BELOW) / (_FULL_RATE_FROM - _FREE_BELOW)
    rate = _FULL_RATE * np.clip(position, 0.0, 1.0)
    return np.rint(plan * rate).astype(np.int64)


def _draw_human_help(plan: Ints, rng: np.random.Generator) -> Ints:
    """Human help takes the whole plan of many people, and most of it for the others."""
    only_human = rng.random(plan.size) < 0.40
    share = np.where(only_human, 1.0, rng.beta(9.0, 1.4, plan.size))
    return np.rint(plan * share).astype(np.int64)


def _hours_of(human: Ints, department: Ints, rng: np.random.Generator) -> Floats:
    """Monthly hours, to the hundredth, paid by the human help at the tariff of the department."""
    tariff = np.clip(rng.normal(_MEAN_TARIFF, 1.2, len(_DEPARTMENTS)), 19.0, 25.0)
    return np.asarray(np.round(human / 100.0 / tariff[department], 2), dtype=np.float64)


def _january_first(year: Ints) -> Ints:
    """Days from the epoch to the first day of each year."""
    return (year - 1970).astype("datetime64[Y]").astype("datetime64[D]").astype(np.int64)


def _draw_entitlements(age: Ints, rng: np.random.Generator) -> NDArray[np.datetime64]:
    """Start of entitlement: recent starts dominate because people die or move to nursing homes.

    The time since the start is an exponential truncated to the years open to the person: from the
    creation of the allowance, or from the year of the 60th birthday.
    """
    first_year = np.maximum(_FIRST_ENTITLEMENT_YEAR, REFERENCE_YEAR - age + MIN_AGE)
    end = _january_first(np.array([REFERENCE_YEAR + 1], dtype=np.int64))[0]
    window = end - _january_first(first_year)
    mean_days = 365.25 * _MEAN_YEARS_SINCE_ENTITLEMENT
    reached = rng.random(age.size) * -np.expm1(-window / mean_days)
    elapsed = np.floor(-mean_days * np.log1p(-reached)).astype(np.int64)
    # Rounding in the logarithm could reach the far end of the window, one day too early.
    day = end - 1 - np.minimum(elapsed, window - 1)
    return np.asarray(day.astype("datetime64[D]"))
