"""What the persons of the synthetic survey answer: education, activity, occupation, income and health.

Members of a household resemble each other, through effects that they share on education, income and health.
Whether a question is answered at all depends on the household and on where it lives. Every share and every
amount is invented.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from flou.datasets.draws import Bools, Floats, Ints, draw_category, logistic

__all__ = ["OCCUPATION_TREE", "Answers", "Persons", "draw_answers", "draw_silence"]

#: Marital status, education and activity are asked from this age on.
ASKED_AGE: Final = 15
#: Age of marriage, of a couple of one's own, and of living alone without a job.
FULL_AGE: Final = 18

EDUCATIONS: Final = ("lower secondary or less", "upper secondary", "short tertiary", "degree")
ACTIVITIES: Final = ("employed", "unemployed", "inactive")
HEALTH: Final = ("very good", "good", "fair", "bad", "very bad")
NOT_APPLICABLE: Final = "not applicable"

_EMPLOYED, _UNEMPLOYED, _INACTIVE = range(len(ACTIVITIES))

# Cuts of the education score of people born lately; the older had to score higher for the same level.
_EDUCATION_CUTS: Final = (-1.10, 0.10, 0.62)
# Youngest age at which each level can be reached.
_EDUCATION_AGES: Final = (FULL_AGE, 20, 22)
_HEALTH_CUTS: Final = (-0.45, 0.75, 1.60, 2.40)

# Non-response to each question, in an average place.
_NO_ANSWER: Final = {"marital": 0.034, "education": 0.042, "activity": 0.027, "occupation": 0.060, "birth": 0.032}
# Cities answer worse than towns, and towns worse than the country.
_NO_ANSWER_RATIOS: Final[Floats] = np.array([1.5, 0.9, 0.6])


class Job(NamedTuple):
    """An occupation: how common at each education, the ratio for women and in the country, and its yearly pay."""

    shares: tuple[float, float, float, float]
    women: float
    rural: float
    pay: int


_OCCUPATIONS: Final[dict[str, dict[str, Job]]] = {
    "managers and professionals": {
        "business managers": Job((2, 4, 7, 13), 0.6, 0.7, 41_000),
        "science and engineering professionals": Job((0, 1, 4, 18), 0.4, 0.5, 36_000),
        "health professionals": Job((0, 0, 3, 11), 1.5, 0.8, 39_000),
        "teaching professionals": Job((0, 1, 4, 22), 2.1, 0.8, 28_000),
        "legal, social and cultural professionals": Job((0, 1, 4, 14), 1.3, 0.5, 30_000),
    },
    "technicians and clerks": {
        "technicians": Job((2, 9, 21, 7), 0.4, 0.9, 26_500),
        "health and care associates": Job((3, 6, 17, 3), 3.2, 1.0, 23_500),
        "office clerks": Job((6, 12, 14, 6), 2.2, 0.7, 21_500),
    },
    "service and sales workers": {
        "personal service workers": Job((13, 11, 4, 1), 1.8, 0.9, 17_000),
        "sales workers": Job((10, 12, 7, 2), 1.8, 0.8, 18_500),
        "protective service workers": Job((2, 4, 2, 1), 0.3, 0.8, 23_000),
    },
    "manual workers": {
        "farmers and foresters": Job((5, 5, 2, 1), 0.5, 5.0, 17_500),
        "building trades workers": Job((13, 9, 1, 0), 0.05, 1.3, 20_500),
        "industrial trades workers": Job((10, 9, 2, 0), 0.2, 1.2, 21_500),
        "machine operators and drivers": Job((14, 8, 1, 0), 0.2, 1.3, 20_500),
        "cleaners and labourers": Job((22, 6, 1, 0.5), 1.5, 1.0, 15_000),
    },
}
#: Large groups of occupations and the occupations in them.
OCCUPATION_TREE: Final[dict[str, list[str]]] = {group: list(below) for group, below in _OCCUPATIONS.items()}
_JOBS: Final = tuple(job for below in _OCCUPATIONS.values() for job in below.values())


class Persons(NamedTuple):
    """What is known of the persons before they answer, a place each in every array."""

    home: Ints
    size: Ints
    urbanisation: Ints
    prosperity: Floats
    age: Ints
    woman: Bools


class Answers(NamedTuple):
    """What they answer, as positions in the lists of labels; one past the end of a list is "not applicable"."""

    education: Ints
    activity: Ints
    occupation: Ints
    health: Ints
    income: Floats


def draw_answers(people: Persons, rng: np.random.Generator) -> Answers:
    """One answer a person and question, coherent with each other and with what is known."""
    education = _draw_education(people, rng)
    activity = _draw_activity(people, education, rng)
    occupation = _draw_occupations(people, education, activity, rng)
    income = _draw_income(people, education, activity, occupation, rng)
    return Answers(education, activity, occupation, _draw_health(people, income, rng), income)


def draw_silence(people: Persons, activity: Ints, rng: np.random.Generator) -> dict[str, Bools]:
    """Which questions each person leaves unanswered.

    One household in five answers badly throughout. Questions that do not apply are not asked, so that there
    is no silence about them; who does not say whether they work is seldom asked as what.
    """
    n = people.home.size
    reluctant = rng.random(int(people.home[-1]) + 1) < 0.2
    ratio = np.where(reluctant[people.home], 3.0, 0.5) * _NO_ANSWER_RATIOS[people.urbanisation]
    silent = {question: rng.random(n) < rate * ratio for question, rate in _NO_ANSWER.items()}
    for question in ("marital", "education", "activity"):
        silent[question] &= people.age >= ASKED_AGE
    silent["occupation"] &= activity == _EMPLOYED
    silent["occupation"] |= silent["activity"] & (rng.random(n) < 0.8)
    return silent


def _shared(people: Persons, share: float, rng: np.random.Generator) -> Floats:
    """A score of unit variance, of which the members of a household have a share in common."""
    common = rng.standard_normal(int(people.home[-1]) + 1)[people.home]
    own = rng.standard_normal(people.home.size)
    return np.asarray(np.sqrt(share) * common + np.sqrt(1.0 - share) * own, dtype=np.float64)


def _draw_education(people: Persons, rng: np.random.Generator) -> Ints:
    score = _shared(people, 0.4, rng) - 0.016 * np.clip(people.age - 35, 0, 45)
    score += np.array([0.18, -0.04, -0.12])[people.urbanisation]
    level = np.zeros(people.age.size, dtype=np.int64)
    for cut, youngest in zip(_EDUCATION_CUTS, _EDUCATION_AGES, strict=True):
        level += (score > cut) & (people.age >= youngest)
    return np.where(people.age < ASKED_AGE, len(EDUCATIONS), level)


def _draw_activity(people: Persons, education: Ints, rng: np.random.Generator) -> Ints:
    """Work starts after school, later for the more educated, and ends around 63; a minor alone lives on a job."""
    age, level = people.age, np.minimum(education, len(EDUCATIONS) - 1)
    in_work = logistic((age - 20.0 - level) / 1.8) * logistic((63.0 - age) / 1.6)
    employed = in_work * (0.76 + 0.055 * level) * np.where(people.woman, 0.93, 1.0)
    employed = np.where(age < FULL_AGE, 0.07, employed)
    employed[(age < FULL_AGE) & (people.size == 1)] = 1.0
    unemployed = np.where(age < FULL_AGE, 0.02, 0.085 * in_work * (1.25 - 0.2 * level))
    # Somebody older may still work, but nobody looks for a first pension in vain.
    unemployed[age >= 67] = 0.0
    asked = age >= ASKED_AGE
    drawn = rng.random(age.size)
    return np.where(
        asked & (drawn < employed),
        _EMPLOYED,
        np.where(asked & (drawn < employed + unemployed), _UNEMPLOYED, _INACTIVE),
    )


def _draw_occupations(people: Persons, education: Ints, activity: Ints, rng: np.random.Generator) -> Ints:
    """By education, sex and place; who works below full age is an apprentice, in the last two groups."""
    shares = np.array([job.shares for job in _JOBS]).T
    women = np.array([job.women for job in _JOBS])
    rural = np.array([job.rural for job in _JOBS])
    n_first = sum(len(below) for below in list(OCCUPATION_TREE.values())[:2])
    apprentice = shares[0] * (np.arange(len(_JOBS)) >= n_first)
    levels = np.concatenate([shares, apprentice[None, :]])
    table = np.stack([levels, levels * women, levels * rural, levels * women * rural])
    level = np.where(people.age < FULL_AGE, len(EDUCATIONS), education)
    row = ((people.urbanisation == 2) * 2 + people.woman) * len(levels) + level
    drawn = draw_category(table.reshape(-1, len(_JOBS)), row.astype(np.int64), rng)
    return np.where(activity == _EMPLOYED, drawn, len(_JOBS))


def _draw_income(
    people: Persons, education: Ints, activity: Ints, occupation: Ints, rng: np.random.Generator
) -> Floats:
    """Yearly income of the person: pay, benefits or a pension, none for children and many students."""
    n, age = people.age.size, people.age
    pay = np.array([*(job.pay for job in _JOBS), 0], dtype=np.float64)[occupation]
    experience = 0.70 + 0.30 * np.clip((age - 18) / 25.0, 0.0, 1.0)
    pension = 13_500.0 + 3_600.0 * np.minimum(education, 3)
    student = age < 25
    centre = np.select(
        [activity == _EMPLOYED, activity == _UNEMPLOYED, age >= 62, student],
        [pay * experience, 9_500.0, pension, 3_200.0],
        7_800.0,
    )
    centre = centre * np.where(people.woman, 0.88, 1.0) * np.exp(people.prosperity)
    # An exponential added to the log gives the Pareto tail that a lognormal alone lacks.
    tail = np.where(rng.random(n) < 0.06, rng.exponential(0.45, n), 0.0)
    amount = 10.0 * np.rint(centre * np.exp(0.36 * _shared(people, 0.3, rng) + tail) / 10.0)
    without = rng.random(n) < np.where(student, 0.60, np.where(age < 62, 0.30, 0.02))
    return np.where((age < ASKED_AGE) | ((activity == _INACTIVE) & without), 0.0, amount)


def _draw_health(people: Persons, income: Floats, rng: np.random.Generator) -> Ints:
    """Self-perceived health: worse with age, and with a low income among adults."""
    poor = (people.age >= 25) & (income < 12_000.0)
    score = _shared(people, 0.1, rng) + 0.024 * (people.age - 45.0) + 0.30 * poor
    return np.asarray(np.searchsorted(_HEALTH_CUTS, score), dtype=np.int64)
