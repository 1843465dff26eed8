"""Numbers of the source papers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import flou
from flou.describe.keyspace import KeySpace

K = flou.risk.KAnonymity
HERE = Path(__file__).parent


@pytest.mark.parametrize(
    ("missing", "expected"),
    [
        ("orthodox", [4, 4, 5, 5, 3, 6, 6]),  # Saoud, table 1
        ("optimistic", [4, 4, 4, 4, 2, 4, 4]),  # table 4
        ("pessimistic", [4, 4, 2, 2, 2, 4, 4]),  # table 4
    ],
)
def test_saoud_fm1(missing: Any, expected: list[int]) -> None:
    result = K(k=3, missing=missing).measure(flou.datasets.saoud_fm1())
    assert result.units.tolist() == expected
    assert result.k == min(expected)
    assert result.value == sum(f < 3 for f in expected) / 7


def test_saoud_fm1_with_a_modality_nobody_has() -> None:
    """Table 6: declaring Apatride changes the pessimistic count alone."""
    fm1 = flou.datasets.saoud_fm1().to_frame()
    declared = {"nationality": ["Marocaine", "Étrangère", "Apatride"]}
    people = flou.Microdata(fm1, keys=["sex", "nationality"], modalities=declared)
    assert K(k=2).measure(people).units.tolist() == [4, 4, 1, 1, 2, 4, 4]
    assert K(k=2, missing="optimistic").measure(people).units.tolist() == [4, 4, 4, 4, 2, 4, 4]
    completion = K(k=2).measure(people).by_key.filter(pl.col("frequency") == 1)["completion.nationality"]
    assert completion.to_list() == ["Apatride", "Apatride"]


def test_saoud_fm2_without_coherence() -> None:
    """Table 9."""
    fm2 = flou.datasets.saoud_fm2()
    naive = flou.Microdata(fm2.to_frame(), keys=fm2.schema.keys, modalities=fm2.schema.modalities)
    assert K(k=2).measure(naive).units.tolist() == [3, 3, 2, 3, 3, 1, 3]


def test_saoud_fm2_with_incoherent_pairs() -> None:
    """Table 10; card(C) = 2 × 5 - 5 = 5, and the orthodox and optimistic approaches find the file 3-anonymous."""
    fm2 = flou.datasets.saoud_fm2()
    assert K(k=2).measure(fm2).units.tolist() == [3, 3, 2, 3, 3, 2, 3]
    assert K(k=2, missing="optimistic").measure(fm2).k == 3
    assert K(k=2, missing="orthodox").measure(fm2).k == 3
    space = KeySpace(
        fm2.key_table(fm2.schema.keys), tuple(fm2.schema.keys), (), fm2.schema.modalities, fm2.schema.incoherent
    )
    cells = np.ones(space.shape, dtype=np.int32)
    space.exclude_incoherent(cells, 0)
    assert space.n_possible() == 10
    assert cells[0, :-1, :-1].sum() == 5


def test_benschop_frequencies() -> None:
    """The column f_k of the table in Benschop, Machingauta & Welch (2018)."""
    people = flou.datasets.benschop()
    result = K(k=2).measure(people)
    assert result.units.tolist() == [2, 2, 1, 2, 1, 2, 1, 1, 2, 2]
    weights = result.keys.weights
    assert weights is not None
    assert weights[result._key_of_rows].tolist() == [360, 360, 215, 152, 186, 152, 180, 215, 262, 262]


@pytest.mark.parametrize("missing", ["orthodox", "conservative"])
def test_sdcmicro_frequencies(missing: Any) -> None:
    """fk of sdcMicro 5.8.1 (alpha = 1 and alpha = 0) on a synthetic file of 2,000 records with 4% nulls."""
    golden = pl.read_csv(HERE / "sdcmicro_frequencies_2000.csv")
    people = flou.Microdata(golden, keys=["sex", "region", "age", "marital", "occ"])
    assert K(k=3, missing=missing).measure(people).units.tolist() == golden[missing].to_list()


def test_benschop_individual_risk() -> None:
    """The column risk of the table in Benschop, Machingauta & Welch (2018), to its four decimals."""
    found = flou.risk.IndividualRisk().measure(flou.datasets.benschop())
    expected = [0.0054, 0.0054, 0.0251, 0.0126, 0.0282, 0.0126, 0.0290, 0.0251, 0.0074, 0.0074]
    assert found.units.round(4).tolist() == expected
    assert flou.risk.GlobalRisk(k=2).measure(flou.datasets.benschop()).expected == pytest.approx(sum(found.units))


def test_exhaustive_file_expects_one_reidentification_a_key() -> None:
    """Without weights the expected number is the number of distinct keys: one right guess in each class."""
    people = flou.Microdata(
        flou.datasets.benschop().to_frame().drop("weight"), keys=flou.datasets.benschop().schema.keys
    )
    found = flou.risk.GlobalRisk().measure(people)
    assert found.expected == found.n_keys == 7
    assert found.value == 0.7
    assert found.interval is not None
    assert found.interval.low < 0.7 < found.interval.high


def test_benschop_suda() -> None:
    """Scores with uniques up to size 3; record 5 has {Rural} and three pairs."""
    found = flou.risk.Suda(max_size=3).measure(flou.datasets.benschop())
    assert found.units.tolist() == [0, 0, 6, 0, 12, 0, 6, 10, 0, 0]
    assert found.smallest_size == 1


def test_li_salaries() -> None:
    """t-closeness of Li, Li & Venkatasubramanian (2007): the classes of 3k, 4k, 5k and of 6k, 8k, 11k."""
    frame = pl.DataFrame({"class": ["a"] * 3 + ["b"] * 3 + ["c"] * 3, "salary": [3, 4, 5, 6, 8, 11, 7, 9, 10]})
    people = flou.Microdata(frame, keys=["class"], sensitive=["salary"])
    found = flou.risk.TCloseness(0.2, distance="ordered").measure(people)
    assert found.units[[0, 3]].tolist() == pytest.approx([0.375, 1 / 6])
    assert found.flagged.tolist() == [True] * 3 + [False] * 3 + [True] * 3
