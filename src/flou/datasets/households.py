"""Synthetic sample survey of persons in households, in an invented country.

It has what makes survey microdata hard: households kept whole, whose members share a weight and resemble
each other; questions that do not apply (the marital status of a child, the occupation of somebody without
work); questions left unanswered, more often in cities and by whole households at a time; answers that
cannot go together; and design weights from a sample that over-represents small regions.

Nothing here is real data: the places are made up, the shares and amounts are plausible orders of magnitude.
A household is made first (place, kind, size, age of the reference person); its members follow from it.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
import polars as pl

from flou.datasets.answers import (
    ACTIVITIES,
    ASKED_AGE,
    EDUCATIONS,
    FULL_AGE,
    HEALTH,
    NOT_APPLICABLE,
    OCCUPATION_TREE,
    Persons,
    draw_answers,
    draw_silence,
)
from flou.datasets.draws import Bools, Floats, Ints, draw_category, labelled, logistic

__all__ = ["REGION_TREE", "survey_frame"]

MAX_AGE: Final = 100

SEXES: Final = ("M", "F")
URBANISATIONS: Final = ("city", "town", "rural")
KINDS: Final = ("person alone", "couple without children", "couple with children", "lone parent", "other")
RELATIONS: Final = ("reference person", "partner", "child", "other")
MARITAL: Final = ("single", "married", "widowed", "divorced")
BIRTHS: Final = ("this country", "neighbouring country", "elsewhere")

_ALONE, _COUPLE, _FAMILY, _LONE_PARENT, _OTHER = range(len(KINDS))
_REFERENCE, _PARTNER, _CHILD, _RELATIVE = range(len(RELATIONS))


class Region(NamedTuple):
    """A region: its people in thousands, how many live in cities and towns, its departure in log income."""

    people: int
    city: float
    town: float
    income: float


_REGIONS: Final[dict[str, dict[str, Region]]] = {
    "North": {
        "Aldermark": Region(1840, 0.38, 0.36, -0.06), "Brenholt": Region(960, 0.22, 0.40, -0.04),
        "Corvale": Region(540, 0.10, 0.35, -0.08),
    },
    "Capital": {"Dunmere": Region(3910, 0.82, 0.15, 0.20)},
    "East": {
        "Estervale": Region(1720, 0.34, 0.38, 0.04), "Fallowmoor": Region(880, 0.18, 0.37, -0.05),
        "Greywater": Region(1130, 0.25, 0.42, 0.00),
    },
    "South": {
        "Harrowfield": Region(2260, 0.48, 0.34, 0.02), "Ilmarsh": Region(1410, 0.36, 0.39, -0.03),
        "Kestrelby": Region(690, 0.14, 0.33, -0.07), "Norrisle": Region(290, 0.06, 0.34, -0.10),
    },
    "West": {"Lowenford": Region(1650, 0.33, 0.37, 0.03), "Marrowdale": Region(1120, 0.19, 0.38, -0.02)},
}  # fmt: skip
#: Large regions and the regions in them.
REGION_TREE: Final[dict[str, list[str]]] = {large: list(below) for large, below in _REGIONS.items()}
_REGION_NAMES: Final = tuple(name for below in _REGIONS.values() for name in below)
_PLACES: Final = tuple(region for below in _REGIONS.values() for region in below.values())
#: People of the country, which the weights sum to.
POPULATION: Final = 1000 * sum(region.people for region in _PLACES)

# The sample is stratified by region and size of household. Share of the people in each class of size: those
# who live alone are harder to find at home, so that the sample has fewer of them.
_SIZE_CLASSES: Final = ("1", "2", "3+")
_SIZE_SHARES: Final[Floats] = np.array([0.185, 0.275, 0.540])
_STRATA: Final = tuple(f"{region} {size}" for region in _REGION_NAMES for size in _SIZE_CLASSES)

# Kinds of household in cities, towns and the country; then sizes 1 to 8 of each kind.
_KIND_SHARES: Final[Floats] = np.array(
    [[0.42, 0.25, 0.19, 0.09, 0.05], [0.34, 0.32, 0.23, 0.08, 0.03], [0.28, 0.38, 0.25, 0.06, 0.03]]
)
_SIZES_OF_KIND: Final[Floats] = np.array(
    [
        [1, 0, 0, 0, 0, 0, 0, 0],
        [0, 1, 0, 0, 0, 0, 0, 0],
        [0, 0, 0.42, 0.38, 0.14, 0.04, 0.015, 0.005],
        [0, 0.56, 0.31, 0.10, 0.025, 0.005, 0, 0],
        [0, 0.55, 0.24, 0.12, 0.05, 0.02, 0.015, 0.005],
    ]
)
# Age of the reference person of each kind: youngest, oldest, then bells (share, centre, spread).
_REFERENCE_AGES: Final = (
    (16, MAX_AGE, ((0.30, 27, 4.2), (0.28, 48, 12), (0.42, 76, 10))),
    (FULL_AGE, 96, ((0.28, 29, 5), (0.72, 67, 9))),
    (20, 66, ((1.0, 42, 8),)),
    (19, 72, ((1.0, 43, 9),)),
    (FULL_AGE, 85, ((0.6, 25, 6), (0.4, 52, 12))),
)

_OCCUPATIONS: Final = tuple(name for below in OCCUPATION_TREE.values() for name in below)

# Birthplace of the household in cities, towns and the country.
_BIRTH_SHARES: Final[Floats] = np.array([[0.77, 0.10, 0.13], [0.88, 0.07, 0.05], [0.94, 0.04, 0.02]])


class Homes(NamedTuple):
    """The households, a place each in every array."""

    region: Ints
    urbanisation: Ints
    kind: Ints
    size: Ints


def survey_frame(n: int, rng: np.random.Generator) -> pl.DataFrame:
    """Draw ``n`` persons, one at least, household by household; the last household is cut short if need be.

    The result depends on nothing but ``n`` and the state of ``rng``. Nulls stand for questions left unanswered.
    """
    homes = _draw_homes(n, rng)
    home = np.repeat(np.arange(homes.size.size), homes.size)
    relation = _relations(homes, home)
    age = _draw_ages(homes, home, relation, rng)
    woman = _draw_women(homes, home, relation, age, rng)
    prosperity = np.array([region.income for region in _PLACES])[homes.region]
    people = Persons(home, homes.size[home], homes.urbanisation[home], prosperity[home], age, woman)
    marital = _draw_marital(home, relation, age, woman, rng)
    birth = _draw_births(people, relation, rng)
    answers = draw_answers(people, rng)
    silent = draw_silence(people, answers.activity, rng)
    stratum = _strata(homes)[home]

    def answered(question: str, given: Ints, *labels: str) -> pl.Series:
        return labelled(question, np.where(silent[question], len(labels), given), (*labels, None))

    return pl.DataFrame(
        [
            pl.Series("pid", rng.permutation(n).astype(np.int64) + 1),
            pl.Series("hid", (rng.permutation(homes.size.size).astype(np.int64) + 1)[home]),
            labelled("region", homes.region[home], _REGION_NAMES),
            labelled("urbanisation", people.urbanisation, URBANISATIONS),
            labelled("relation", relation, RELATIONS),
            labelled("sex", woman.astype(np.int64), SEXES),
            pl.Series("age", age),
            answered("marital", marital, *MARITAL, NOT_APPLICABLE),
            pl.Series("size", people.size),
            labelled("household_type", homes.kind[home], KINDS),
            answered("education", answers.education, *EDUCATIONS, NOT_APPLICABLE),
            answered("activity", answers.activity, *ACTIVITIES),
            answered("occupation", answers.occupation, *_OCCUPATIONS, NOT_APPLICABLE),
            answered("birth", birth, *BIRTHS),
            labelled("health", answers.health, HEALTH),
            pl.Series("income", answers.income),
            labelled("stratum", stratum, _STRATA),
            pl.Series("weight", _weights(stratum)),
        ]
    )


def _draw_homes(n: int, rng: np.random.Generator) -> Homes:
    """As many households as could be needed, of which those that hold the first ``n`` persons are kept."""
    # Power allocation (Bankier): small regions get more than their share, so that each can be described.
    allocation = np.sqrt([region.people for region in _PLACES])
    region = rng.choice(len(_PLACES), size=n, p=allocation / allocation.sum()).astype(np.int64)
    settled = np.array([(r.city, r.town, 1.0 - r.city - r.town) for r in _PLACES])
    urbanisation = draw_category(settled, region, rng)
    kind = draw_category(_KIND_SHARES, urbanisation, rng)
    size = draw_category(_SIZES_OF_KIND, kind, rng) + 1
    ends = np.cumsum(size)
    last = int(np.searchsorted(ends, n))
    size[last] -= ends[last] - n
    if size[last] == 1:
        kind[last] = _ALONE
    elif size[last] == 2 and kind[last] == _FAMILY:
        kind[last] = _COUPLE
    return Homes(region[: last + 1], urbanisation[: last + 1], kind[: last + 1], size[: last + 1])


def _relations(homes: Homes, home: Ints) -> Ints:
    """The reference person comes first, then a partner where there is a couple, then children or others."""
    kind = homes.kind[home]
    place = np.arange(home.size) - (np.cumsum(homes.size) - homes.size)[home]
    couple = (kind == _COUPLE) | (kind == _FAMILY)
    others = np.where(kind == _OTHER, _RELATIVE, _CHILD)
    return np.where(place == 0, _REFERENCE, np.where((place == 1) & couple, _PARTNER, others)).astype(np.int64)


def _draw_ages(homes: Homes, home: Ints, relation: Ints, rng: np.random.Generator) -> Ints:
    years = np.arange(MAX_AGE + 1)
    curves = [
        sum(share / spread * np.exp(-0.5 * ((years - centre) / spread) ** 2) for share, centre, spread in bells)
        * ((years >= youngest) & (years <= oldest))
        for youngest, oldest, bells in _REFERENCE_AGES
    ]
    reference = draw_category(np.stack(curves), homes.kind, rng)
    age = reference[home]
    noise = rng.standard_normal(home.size)
    partner = relation == _PARTNER
    age = np.where(partner, _adult(age - 0.5 + 3.6 * noise), age)
    # Flat-mates and siblings are of the same generation, elderly parents of the one before.
    elder = (rng.random(home.size) < 0.35) & (age < 65)
    age = np.where(relation == _RELATIVE, _adult(age + np.where(elder, 28.0, 0.0) + 4.0 * noise), age)
    youngest = reference.astype(np.float64)
    youngest[home[partner]] = np.minimum(youngest[home[partner]], age[partner])
    child = _child_ages(youngest[home], rng)
    return np.where(relation == _CHILD, child, age).astype(np.int64)


def _adult(age: Floats) -> Floats:
    """Whole years between full age and the oldest; what falls below is reflected, so that it does not heap."""
    return np.asarray(np.minimum(FULL_AGE + np.abs(np.rint(age) - FULL_AGE), MAX_AGE), dtype=np.float64)


def _child_ages(parent: Floats, rng: np.random.Generator) -> Floats:
    """Children are born when the younger parent is 18 to 45; most leave home in their early twenties."""
    oldest_at_home = 17.0 + np.floor(rng.exponential(4.5, parent.size))
    low = np.maximum(parent - 45, 0)
    high = np.minimum(parent - FULL_AGE, np.maximum(oldest_at_home, low + 8))
    return np.asarray(low + np.floor(rng.random(parent.size) * (high - low + 1)), dtype=np.float64)


def _draw_women(homes: Homes, home: Ints, relation: Ints, age: Ints, rng: np.random.Generator) -> Bools:
    """Women outlive men, hence live alone when old; they head most lone-parent households."""
    first = relation == _REFERENCE
    share = np.array([0.0, 0.42, 0.42, 0.83, 0.50])[homes.kind]
    share = np.where(homes.kind == _ALONE, logistic(-0.2 + 0.0227 * (age[first] - 25)), share)
    reference = rng.random(homes.kind.size) < share
    other_sex = ~reference[home] ^ (rng.random(home.size) < 0.015)
    born = rng.random(home.size) < np.where(relation == _CHILD, 0.488, 0.53)
    return np.select([first, relation == _PARTNER], [reference[home], other_sex], born)


def _draw_births(people: Persons, relation: Ints, rng: np.random.Generator) -> Ints:
    """Partners mostly come from the same part of the world; their children are mostly born here."""
    origin = draw_category(_BIRTH_SHARES, people.urbanisation[relation == _REFERENCE], rng)[people.home]
    same = rng.random(relation.size) < np.array([1.0, 0.75, 0.10, 0.75])[relation]
    return np.where(same, origin, 0)


def _draw_marital(home: Ints, relation: Ints, age: Ints, woman: Bools, rng: np.random.Generator) -> Ints:
    """Partners are married or not together; anybody else by age and sex, a few living apart from a spouse."""
    first = relation == _REFERENCE
    wedded = rng.random(int(first.sum())) < logistic(-0.5 + 0.07 * (age[first] - 30))
    paired = np.zeros(wedded.size, dtype=bool)
    paired[home[relation == _PARTNER]] = True
    paired = paired[home] & ((relation == _REFERENCE) | (relation == _PARTNER))
    shares = np.concatenate([_statuses(1, apart) for apart in (0.0, 0.05)] + [_statuses(0, a) for a in (0.0, 0.05)])
    row = ((1 - woman.astype(np.int64)) * 2 + ~paired) * (MAX_AGE + 1) + age
    return np.where(paired & wedded[home], MARITAL.index("married"), draw_category(shares, row, rng))


def _statuses(woman: int, apart: float) -> Floats:
    """Shares of single, married, widowed, divorced and not asked by age, among those not living with a spouse."""
    years = np.arange(MAX_AGE + 1)
    adult = years >= FULL_AGE
    widowed = adult * (0.85 * logistic((years - 73.0) / 6.0) if woman else 0.6 * logistic((years - 80.0) / 7.0))
    divorced = adult * (1.0 - widowed) * 0.42 * np.exp(-0.5 * ((years - 56.0) / 14.0) ** 2)
    married = adult * (1.0 - widowed - divorced) * apart * (years >= 22)
    asked = years >= ASKED_AGE
    return np.stack([asked - married - widowed - divorced, married, widowed, divorced, 1.0 - asked], axis=1)


def _strata(homes: Homes) -> Ints:
    return homes.region * len(_SIZE_CLASSES) + np.minimum(homes.size, len(_SIZE_CLASSES)) - 1


def _weights(stratum: Ints) -> Floats:
    """People of the stratum over persons interviewed in it; strata that a small sample misses go to the others."""
    people = np.outer([1000.0 * region.people for region in _PLACES], _SIZE_SHARES).ravel()
    sampled = np.bincount(stratum, minlength=people.size)
    reached = sampled > 0
    people *= POPULATION / people[reached].sum()
    return np.asarray(people[stratum] / sampled[stratum], dtype=np.float64)
