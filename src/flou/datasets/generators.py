"""Synthetic files of realistic size and shape, as microdata. Every figure in them is invented."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np
import polars as pl

from flou.datasets import answers, enterprises, households, population
from flou.datasets.beneficiaries import apa_frame
from flou.describe.hierarchy import Hierarchy
from flou.describe.microdata import Microdata
from flou.engine.errors import ParameterError

#: The twelve age classes of the example, by their lower bounds, and coarser ones made of them.
AGE_CLASSES = (60, 65, 70, 73, 76, 79, 82, 85, 88, 91, 94, 97)

#: People in the largest countries; no machine holds more of these records.
MOST_RECORDS = 1_000_000_000

#: A combination that cannot exist: column → value.
Rule = dict[str, str | int]


def apa(n: int = 618_000, *, rng: int | np.random.Generator = 0) -> Microdata:
    """Beneficiaries of a home-care allowance, shaped like the French APA file of Djiriguian et al. (2022).

    About 5,000 distinct keys with twelve age classes, about 5% of them below 3.
    """
    return Microdata(
        _drawn(apa_frame, n, rng),
        id="pid",
        keys=["department", "sex", "couple", "age"],
        sensitive=["gir", "resources", "apa_amount"],
        others=[
            *(
                "coherence",
                "orientation",
                "toileting",
                "dressing",
                "feeding",
                "elimination",
                "transfers",
                "indoor_moves",
            ),
            *("plan_amount", "notpb", "hours", "human_help", "technical_help", "entitlement"),
        ],
        hierarchies={"age": Hierarchy.bands(AGE_CLASSES, (60, 70, 76, 82, 88, 94), (60, 76, 88))},
        modalities={"sex": ["F", "M"], "couple": ["yes", "no"]},
    ).marked(synthetic=True)


def survey(n: int = 20_000, *, rng: int | np.random.Generator = 0) -> Microdata:
    """A sample survey of persons in whole households: weights, strata, undetermined values, coherence rules.

    Marital status, activity and occupation are left unanswered by 2 to 6% of persons, more in cities; marital
    status does not apply to children, nor occupation to those without work.
    """
    occupations = [name for below in answers.OCCUPATION_TREE.values() for name in below]
    not_applicable = (answers.NOT_APPLICABLE,)
    return Microdata(
        _drawn(households.survey_frame, n, rng),
        id="pid",
        household="hid",
        keys=["region", "sex", "age", "marital", "size", "activity", "occupation"],
        sensitive=["health", "income"],
        weight="weight",
        strata=["stratum"],
        others=["urbanisation", "relation", "household_type", "education", "birth"],
        not_applicable={"marital": not_applicable, "education": not_applicable, "occupation": not_applicable},
        modalities={
            "region": [name for below in households.REGION_TREE.values() for name in below],
            "sex": households.SEXES,
            "marital": households.MARITAL,
            "activity": answers.ACTIVITIES,
            "occupation": occupations,
            "urbanisation": households.URBANISATIONS,
            "relation": households.RELATIONS,
            "household_type": households.KINDS,
            "education": answers.EDUCATIONS,
            "birth": households.BIRTHS,
            "health": answers.HEALTH,
        },
        incoherent=_survey_rules(occupations),
        hierarchies={
            "region": Hierarchy.tree(households.REGION_TREE, names=["large region"]),
            "age": Hierarchy.bands(5, 10, (0, 20, 40, 60, 80), names=["age5", "age10", "age20"]),
            "size": Hierarchy.bands((1, 2, 3, 5), (1, 2, 3), names=["size class", "stratum size"]),
            "occupation": Hierarchy.tree(answers.OCCUPATION_TREE, names=["occupation group"]),
        },
    ).marked(synthetic=True)


def census(n: int = 100_000, *, rng: int | np.random.Generator = 0) -> Microdata:
    """The whole population of a country: age, gender, marital status and nested areas, most of them small.

    The number of areas follows the size of the file: some three hundred municipalities by default, and three
    in a toy town of fifty people.
    """
    frame = _drawn(population.census_frame, n, rng)
    tree = population.census_areas(n)
    after_marriage = [status for status in population.MARITAL if status != "single"]
    return Microdata(
        frame,
        id="pid",
        keys=["age", "gender", "marital", "area"],
        sensitive=["activity"],
        others=["birth"],
        not_applicable={"activity": (population.NOT_APPLICABLE,)},
        modalities={
            "age": range(population.MAX_AGE + 1),
            "gender": population.GENDERS,
            "marital": population.MARITAL,
            "area": [area for districts in tree.values() for below in districts.values() for area in below],
            "birth": population.BIRTHS,
            "activity": population.ACTIVITIES,
        },
        incoherent=_apart("age", range(population.MARRIAGE_AGE), "marital", after_marriage),
        hierarchies={
            "age": Hierarchy.bands(5, 10, names=["age5", "age10"]),
            "area": Hierarchy.tree(tree, names=["district", "region"]),
        },
    ).marked(synthetic=True)


def business(n: int = 20_000, *, rng: int | np.random.Generator = 0) -> Microdata:
    """Enterprises for magnitude tables: region, activity and size; skewed amounts, some of them a holding's.

    Amounts are in thousand euros. An enterprise that belongs to no holding is its own.
    """
    activities = [
        group for below in enterprises.ACTIVITY_TREE.values() for groups in below.values() for group in groups
    ]
    return Microdata(
        _drawn(enterprises.business_frame, n, rng),
        id="eid",
        # A holding names who contributes to a cell, as a tax number would: tables need it to add up the
        # contributions of one owner, and nobody may ever read it. It is no household, whose members would be
        # sampled, swapped or dropped together, and no key, because what an intruder knows is region,
        # activity and size.
        identifiers=["holding"],
        keys=["region", "activity", "size"],
        sensitive=["employees", "turnover", "value_added", "investment"],
        modalities={
            "region": [region for below in enterprises.REGION_TREE.values() for region in below],
            "activity": activities,
            "size": enterprises.SIZES,
        },
        hierarchies={
            "region": Hierarchy.tree(enterprises.REGION_TREE, names=["large region"]),
            "activity": Hierarchy.tree(enterprises.ACTIVITY_TREE, names=["division", "section"]),
        },
    ).marked(synthetic=True)


def _drawn(
    make: Callable[[int, np.random.Generator], pl.DataFrame], n: int, rng: int | np.random.Generator
) -> pl.DataFrame:
    """The frame of `n` records, from a seed or a generator of one's own."""
    if isinstance(n, bool) or not isinstance(n, int) or not 1 <= n <= MOST_RECORDS:
        shown = f"n = {n!r}" if not isinstance(n, int) or n.bit_length() < 64 else "n"
        raise ParameterError(f"{shown} must be a whole number of records, 1 at least and {MOST_RECORDS:,} at most.")
    if isinstance(rng, np.random.Generator):
        return make(n, rng)
    if isinstance(rng, bool) or not isinstance(rng, int) or rng < 0:
        raise ParameterError(f"rng = {rng!r} must be a seed (a whole number, 0 at least) or a NumPy generator.")
    return make(n, np.random.default_rng(rng))


def _apart(column: str, values: Iterable[str | int], other: str, others: Sequence[str | int]) -> list[Rule]:
    """The rules that no value of one column goes with any of the values of the other."""
    return [{column: value, other: another} for value in values for another in others]


def _survey_rules(occupations: list[str]) -> list[Rule]:
    """What cannot be in the survey."""
    children = range(answers.ASKED_AGE)
    minors = range(answers.ASKED_AGE, answers.FULL_AGE)
    asked = range(answers.ASKED_AGE, households.MAX_AGE + 1)
    without_work = [activity for activity in answers.ACTIVITIES if activity != "employed"]
    after_marriage = [status for status in households.MARITAL if status != "single"]
    return [
        # The marital status of children is not asked, that of everybody else is.
        *_apart("age", children, "marital", households.MARITAL),
        *_apart("age", asked, "marital", [answers.NOT_APPLICABLE]),
        *_apart("age", minors, "marital", after_marriage),
        # Children are inactive; an occupation is that of those in work, all of whom have one.
        *_apart("age", children, "activity", ["employed", "unemployed"]),
        *_apart("activity", without_work, "occupation", occupations),
        {"activity": "employed", "occupation": answers.NOT_APPLICABLE},
        # No child lives alone, and a minor does only with a job: there it takes three variables to see it.
        *_apart("age", children, "size", [1]),
        *({"size": 1, **rule} for rule in _apart("age", minors, "activity", without_work)),
    ]
