"""Random codes: small areas are gone, codes are alike, and sizes match nothing."""

from __future__ import annotations

from collections import Counter
from typing import Any, ClassVar

import narwhals as nw
import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.depth import examples

import flou
from flou.engine.errors import DataError, GuaranteeBrokenError, Infeasible, ParameterError
from flou.engine.protection import Protection
from flou.engine.randomness import Draws
from flou.engine.release import Outcome
from flou.protect import RandomCode
from flou.protect.micro.random_code import matched_by_size

SIZES = {"A": 900, "B": 400, "C": 150, "D": 90, "E": 60, "F": 25, "G": 10, "H": 3}


def _areas(sizes: dict[str, int] = SIZES, n_null: int = 0, **roles: Any) -> flou.Microdata:
    area = [name for name, n in sizes.items() for _ in range(n)] + [None] * n_null
    rows = np.random.default_rng(1).permutation(len(area))
    frame = pl.DataFrame({"pid": np.arange(len(area)), "area": area}, schema={"pid": pl.Int64, "area": pl.String})
    return flou.Microdata(frame[rows], id="pid", keys=["area"], **roles)


def _shown(release: flou.Release) -> dict[str, int]:
    return dict(Counter(release.to_frame()["area"].to_list()))


@examples(40)
@given(
    st.lists(st.integers(1, 60), min_size=3, max_size=12),
    st.integers(2, 50),
    st.integers(3, 5),
    st.integers(0, 10**6),
)
def test_codes_are_of_one_size_and_no_small_area_is_left(
    counts: list[int], min_size: int, min_areas: int, secret: int
) -> None:
    sizes = {f"area {i}": n for i, n in enumerate(counts)}
    method = RandomCode("area", min_size=min_size, min_areas=min_areas)
    small = {name for name, n in sizes.items() if n < min_size}
    ordered, n = sorted(counts), len(small)
    while n < len(counts) and (n < min_areas or sum(ordered[:n]) < min_size):
        n += 1
    if small and n == len(counts):
        with pytest.raises(Infeasible, match="smaller min_size"):
            method.protect(_areas(sizes), secret=secret)
        return
    release = method.protect(_areas(sizes, n_null=4), secret=secret)
    shown = _shown(release)
    assert shown.pop(None) == 4  # type: ignore[call-overload]
    codes = {name: n for name, n in shown.items() if name not in sizes}
    left = {name: n for name, n in shown.items() if name in sizes}
    assert not small & set(left)
    assert all(sizes[name] == n for name, n in left.items()), "an area is shown in full or not at all"
    if not small:
        assert not codes
        return
    hidden = set(sizes) - set(left)
    assert len(hidden) >= min_areas
    assert max(codes.values()) - min(codes.values()) <= 1
    assert sum(codes.values()) == sum(sizes[name] for name in hidden) >= min_size
    largest_hidden = max(sizes[name] for name in hidden)
    assert all(n >= largest_hidden for n in left.values()), "the smallest others join"


def test_who_gets_which_code_is_drawn_anew_by_each_secret() -> None:
    method = RandomCode("area", min_size=100)
    data = _areas()
    of = [method.protect(data, secret=s).to_frame(reveal=True).sort("pid")["area"] for s in (1, 1, 2)]
    assert of[0].equals(of[1])
    assert not of[0].equals(of[2])
    # an area's people are spread over all codes as over any
    hits: Counter[str] = Counter()
    before = data.to_frame().sort("pid")["area"]
    for secret in range(60):
        after = method.protect(data, secret=secret).to_frame(reveal=True).sort("pid")["area"]
        hits.update(after.filter(before == "D").to_list())
    assert set(hits) == {"R1", "R2", "R3", "R4", "R5"}
    expected = 60 * 90 / 5
    assert all(abs(n - expected) < 5 * np.sqrt(expected) for n in hits.values())


def test_one_code_an_area_is_matched_by_size() -> None:
    area = np.repeat(np.arange(5), [90, 60, 25, 10, 3])
    planted = np.array(["R4", "R1", "R5", "R2", "R3"])[area]
    assert matched_by_size(area, planted) == len(area)
    dominated = np.repeat(np.arange(3), [1000, 3, 2])
    assert matched_by_size(dominated, np.array(["R3", "R1", "R2"])[dominated]) == 1005, "five of them are found"
    assert matched_by_size(area, np.full(len(area), "R1")) == 0, "one code tells nobody apart"
    assert matched_by_size(np.array([], dtype=np.int64), np.array([], dtype=object)) == 0


def test_dealt_codes_are_not_matched_over_many_secrets() -> None:
    data = _areas()
    for secret in range(150):
        assert RandomCode("area", min_size=100).protect(data, secret=secret).guarantees


class AreasPutBack(Protection):
    """A step that gives every hidden area a code of its own."""

    title: ClassVar[str] = "areas put back"

    def _protect(self, data: flou.Microdata, draw: Draws) -> Outcome:
        now, before = (d.frame.to_native().sort("pid") for d in (data, data.kin.original))
        own = before["area"].replace({"D": "R4", "E": "R1", "F": "R5", "G": "R2", "H": "R3"})
        coded = pl.when(now["area"].str.starts_with("R")).then(own).otherwise(now["area"])
        return Outcome(data.with_frame(nw.from_native(now.with_columns(area=coded), eager_only=True)))


def test_a_step_that_gives_each_area_its_code_breaks_the_promise() -> None:
    with pytest.raises(GuaranteeBrokenError, match="cannot be matched to areas by size"):
        flou.Plan([RandomCode("area", min_size=100), AreasPutBack()]).protect(_areas(), secret=1)


@pytest.mark.parametrize(
    "later",
    [
        flou.protect.DropRecords(flou.risk.KAnonymity(k=2), max_share=1.0),
        flou.protect.Pram("area", stay=0.5),
    ],
    ids=["dropped", "drawn again"],
)
def test_a_later_step_that_makes_an_area_small_is_named(later: Protection) -> None:
    area = [name for name, n in {"A": 90, "B": 20, "C": 15, "D": 6, "E": 8}.items() for _ in range(n)]
    frame = pl.DataFrame({"pid": range(len(area)), "area": area, "age": range(len(area))})
    frame = frame.with_columns(age=pl.when(pl.col("pid") == 95).then(999).otherwise(0))
    people = flou.Microdata(frame, id="pid", keys=["area", "age"])
    plan = flou.Plan([RandomCode("area", min_size=20), later])
    with pytest.raises(GuaranteeBrokenError, match=rf"Step 2 \({later.name()}\) undoes what step 1 \(random_code\)"):
        plan.protect(people, secret=4)


def test_the_advice_of_the_refusal_leads_to_a_release() -> None:
    """A high importance of the area is what works, and what is said."""
    for seed in range(6):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(60, 300))
        frame = pl.DataFrame(
            {
                "area": rng.choice([f"a{i}" for i in range(8)], n),
                "age": rng.integers(20, 26, n),
                "sex": rng.choice(["m", "f"], n),
            }
        )
        people = flou.Microdata(frame, keys=["area", "age", "sex"]).marked(synthetic=True)
        code, null = RandomCode("area", min_size=n // 8), flou.protect.LocalSuppression(k=3, search="quick")
        with pytest.raises(GuaranteeBrokenError, match=r"local_suppression come last.*importance = \{area = 100\}"):
            flou.Plan([code, null]).protect(people, secret=4)
        better = flou.protect.LocalSuppression(k=3, search="quick", importance={"area": 100})
        assert flou.Plan([code, better]).protect(people, secret=4).guarantees


def test_areas_large_enough_stay_as_they_are() -> None:
    release = RandomCode("area", min_size=3).protect(_areas(), secret=1)
    assert _shown(release) == SIZES
    assert release.steps[0].n_areas_hidden == 0


def test_too_few_areas_or_people_are_infeasible() -> None:
    with pytest.raises(Infeasible, match="none would be left"):
        RandomCode("area", min_size=100).protect(_areas({"A": 500, "B": 20}), secret=1)
    with pytest.raises(Infeasible, match="none would be left"):
        RandomCode("area", min_size=100).protect(_areas({"A": 20, "B": 20, "C": 10, "D": 5}), secret=1)
    with pytest.raises(Infeasible):
        RandomCode("area", min_size=100, min_areas=9).protect(_areas(), secret=1)


def test_wrong_columns_and_prefixes_are_refused() -> None:
    with pytest.raises(ParameterError, match="R2"):
        RandomCode("area", min_size=100).protect(_areas({**SIZES, "R2": 500}), secret=1)
    with pytest.raises(ParameterError, match="R2"):
        RandomCode("area", min_size=100).protect(_areas({**SIZES, "R2": 5}), secret=1)
    assert "S1" in _shown(RandomCode("area", min_size=100, prefix="S").protect(_areas({**SIZES, "R2": 5}), secret=1))
    with pytest.raises(DataError, match="Columns:"):
        RandomCode("region").protect(_areas(), secret=1)
    with pytest.raises(DataError, match="never published"):
        RandomCode("pid").protect(_areas(), secret=1)


@pytest.mark.parametrize("name", ["n", "count", "size", "index"])
@pytest.mark.parametrize("kind", [pl.String, pl.Int64, pl.Float64])
def test_any_name_and_type_of_column(name: str, kind: Any) -> None:
    area = [str(i) for i, n in enumerate(SIZES.values()) for _ in range(n)]
    frame = pl.DataFrame({name: pl.Series(area).cast(kind)})
    shown = RandomCode(name, min_size=100).protect(flou.Microdata(frame, keys=[name]), secret=1).to_frame()[name]
    assert shown.n_unique() == 8
    assert shown.str.starts_with("R").sum() == 188


def test_what_the_schema_says_of_single_areas_is_dropped() -> None:
    data = _areas(modalities={"area": [*SIZES, "Z"]}, value_labels={"area": {"H": {"en": "Hamlet"}}})
    schema = RandomCode("area", min_size=100).protect(data, secret=1).data.schema
    assert "area" not in schema.modalities
    assert "area" not in schema.value_labels


def test_the_public_page_names_no_hidden_area() -> None:
    names = {"Ambercourt": 900, "Brigham": 400, "Cotterel": 150, "Dunmoor": 80, "Elswick": 25, "Fenwith": 10}
    data = _areas(names, value_labels={"area": {"Dunmoor": {"en": "Dunmoor on the hill"}}})
    release = flou.Plan([RandomCode("area", min_size=100)]).protect(data, secret=flou.Secret.generate())
    measure = flou.risk.KAnonymity(k=2)
    results = [measure.measure(data), measure.measure(release)]
    bound: dict[str, Any] = {"method": "k_anonymity", "settings": {"k": 2}, "at_most": {"release": 0.5}}
    verdict = flou.Policy(rules=[bound]).judge(*results, release)
    page = flou.Report(data, release, results=results, verdict=verdict).html(audience="public")
    for hidden in ("Dunmoor", "Elswick", "Fenwith"):
        assert hidden not in page
        assert hidden not in repr(release)
        assert hidden not in str(release.steps[0].figures)
        assert not any(hidden in str(note) for note in release.steps[0].notes)
    assert "hidden, 115 records" not in page
    assert release.steps[0].hidden == ("Fenwith", "Elswick", "Dunmoor"), "those who protect may see them"
