"""Synthetic files of realistic size and shape, as microdata. Every figure in them is invented."""

from __future__ import annotations

import numpy as np

from flou.datasets.beneficiaries import apa_frame
from flou.describe.hierarchy import Hierarchy
from flou.describe.microdata import Microdata
from flou.engine.errors import ParameterError

#: The twelve age classes of the example, by their lower bounds, and coarser ones made of them.
AGE_CLASSES = (60, 65, 70, 73, 76, 79, 82, 85, 88, 91, 94, 97)


def apa(n: int = 618_000, *, rng: int | np.random.Generator = 0) -> Microdata:
    """Beneficiaries of a home-care allowance, shaped like the French APA file of Djiriguian et al. (2022).

    About 5,000 distinct keys with twelve age classes, about 5% of them below 3.
    """
    if isinstance(n, bool) or not isinstance(n, int) or n < 1:
        raise ParameterError(f"n = {n!r} must be a whole number of records, 1 at least.")
    generator = rng if isinstance(rng, np.random.Generator) else np.random.default_rng(rng)
    return Microdata(
        apa_frame(n, generator),
        id="pid",
        keys=["department", "sex", "couple", "age"],
        sensitive=["gir", "resources", "apa_amount"],
        hierarchies={"age": Hierarchy.bands(AGE_CLASSES, (60, 70, 76, 82, 88, 94), (60, 76, 88))},
        modalities={"sex": ["F", "M"], "couple": ["yes", "no"]},
    ).marked(synthetic=True)
