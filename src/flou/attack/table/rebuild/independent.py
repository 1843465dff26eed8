"""Populations that have nothing to do with the one that was published, and so what is matched by accident.

Two communities of the same country share many a record by chance (15% of fifty people in Abado and Stefan 2024). What
an attack finds beyond that is due to the tables. The best such population is a real one that is given as a control, or
the people of other blocks; failing these, people are drawn: each attribute by the shares that the tables show at its
coarsest level, evenly among the values below it, as if attributes were independent of each other but for the rules.
"""

from __future__ import annotations

import numpy as np

from flou.attack.table.rebuild.case import Case
from flou.attack.table.rebuild.layout import ALL
from flou.attack.table.rebuild.universe import Universe
from flou.describe.microdata import Microdata
from flou.describe.table.cells import Floats, Ints
from flou.engine.errors import DataError
from flou.engine.randomness import Draws

#: How much is added to every possible cell of a prior, as a share of one person over all of them.
_SMOOTHING = 1.0


def even_chances(universe: Universe) -> Floats:
    """The same chance for every possible combination."""
    return np.full(universe.n_cells, 1.0 / universe.n_cells)


def chances_among(universe: Universe, people: Microdata) -> Floats:
    """The shares of combinations in a file; no possible one has none."""
    cells = universe.locate(people)
    if not (cells >= 0).any():
        raise DataError("No record of the prior has a combination of values that the tables speak of.")
    counts = np.bincount(cells[cells >= 0], minlength=universe.n_cells) + _SMOOTHING / universe.n_cells
    chances: Floats = counts / counts.sum()
    return chances


def margin_chances(case: Case, block: int) -> Floats:
    """The product of each attribute's published shares at its coarsest level, over the possible combinations."""
    universe, layout = case.universe, case.figures.layout
    published = np.maximum(case.figures.published(block), 0)
    chances = np.ones(universe.n_cells)
    for j, attribute in enumerate(universe.attributes):
        alone = [
            s for s in layout.sheets if [level != ALL for level in s.levels] == [i == j for i in range(len(s.levels))]
        ]
        if not alone:
            continue
        coarsest = min(alone, key=lambda sheet: sheet.n)
        at, labels = attribute.codes_at(coarsest.levels[j])
        shown = np.zeros(len(labels))
        places = np.unravel_index(coarsest.packed, coarsest.shape)[j]
        shown[places] = published[coarsest.first : coarsest.first + coarsest.n]
        shown += 0.5  # what is shown as zero may be there all the same
        chances *= (shown / np.bincount(at, minlength=len(labels)))[at][universe.codes[:, j]]
    out: Floats = chances / chances.sum()
    return out


def guess_population(chances: Floats, n: int) -> Ints:
    """The n likeliest people by these chances alone: as many of a combination as are likelier than one of another."""
    most = max(1, int(np.ceil(n * chances.max(initial=0.0))) + 3)
    from scipy.stats import poisson  # it takes half a second to load

    tails = poisson.sf(np.arange(most)[:, None], n * chances[None, :])  # so many or more of each combination
    order = np.argsort(-tails, axis=None, kind="stable")[:n]
    return (order % len(chances)).astype(np.int64)


def draw_population(chances: Floats, n: int, draw: Draws, number: int) -> Ints:
    """The cells of n people drawn by these chances."""
    u = draw.uniform(np.arange(n), number)
    return np.minimum(np.searchsorted(np.cumsum(chances), u), len(chances) - 1).astype(np.int64)
