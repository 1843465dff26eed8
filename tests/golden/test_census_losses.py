"""Losses of MDAV on the file Census (1,080 records of 13 numbers), on which papers on microaggregation compare methods.

The file is of the CASC project, from the U.S. Census Bureau, and is not kept here. It is `CASCrefmicrodata` in the package
sdcMicro; saved as CSV and named by FLOU_CENSUS, it is looked at by

    FLOU_CENSUS=census.csv make test ARGS=tests/golden/test_census_losses.py

Without it MDAV is held against its definition in `tests/protect/test_microaggregation_groups.py` all the same.
"""

from __future__ import annotations

import os

import polars as pl
import pytest

import flou

CENSUS = os.environ.get("FLOU_CENSUS")

if CENSUS:

    @pytest.mark.parametrize(("size", "loss"), [(3, 5.6922), (5, 9.0884)])
    def test_share_of_the_squares_that_lies_within_groups(size: int, loss: float) -> None:
        """In percent, columns standardised, as the literature has it; an independent program gives the same."""
        amounts = pl.read_csv(CENSUS).cast(pl.Float64)
        people = flou.Microdata(amounts.with_row_index("row")).marked(synthetic=True)
        method = flou.protect.Microaggregation(amounts.columns, group_size=size, improve="none")
        shown = method.protect(people, secret=flou.Secret.from_seed(0)).to_frame().sort("row").select(amounts.columns)
        away = (amounts.to_numpy() - shown.to_numpy()) / amounts.to_numpy().std(axis=0)
        assert 100 * (away**2).mean() == pytest.approx(loss, abs=5e-5)
