"""The five ways of counting undetermined values, beside the k-anonymity that a report shows."""

from __future__ import annotations

import pickle

import polars as pl

import flou
from flou.decide.rule import Rule
from flou.engine.sense import MISSING
from flou.risk.micro.senses import count_ways, find_ways

SECRET = flou.Secret(bytes(range(32)))
K = flou.risk.KAnonymity


def people(n: int = 60) -> flou.Microdata:
    return flou.Microdata(
        pl.DataFrame({"a": [i % 4 for i in range(n)], "b": ["x", None, "y"] * (n // 3)}), keys=["a", "b"]
    )


def test_each_file_is_counted_in_every_way() -> None:
    data = people()
    release = flou.Plan().protect(data, secret=SECRET)
    before, after = count_ways([K(k=6).measure(release)], data, release)
    assert (before.measured_on, after.measured_on) == ("original", "release")
    assert tuple(after.ways) == MISSING
    assert after.value == max(K(k=6, missing=way).measure(release).value for way in MISSING)


def test_the_measure_that_the_public_reads_first_is_counted_too() -> None:
    data = people()
    release = flou.Plan().protect(data, secret=SECRET)
    results = [K(k=6).measure(data), K(k=4).measure(release)]
    found = count_ways(results, data, release)
    assert [result.settings["k"] for result in found] == [6, 6, 4, 4]
    assert count_ways([*results, *found], data, release) == ()


def test_files_that_are_smaller_than_k_have_no_ways() -> None:
    data = people(9)
    (found,) = count_ways([K(k=9).measure(data)], data, flou.Release(data, flou.Plan().protect(data).trail))
    assert find_ways([found], {"k": 9, "missing": "category"}, released=False) is found
    assert find_ways([found], {"k": 9}, released=True) is None


def test_no_rule_fits_it() -> None:
    data = people()
    (found, _) = count_ways([K(k=6).measure(data)], data, flou.Plan().protect(data, secret=SECRET))
    rule = Rule(method="k_anonymity", settings={"k": 6}, at_most={"release": 0.5})
    assert not rule.fits(found)
    assert not found.closes


def test_a_copy_takes_the_figures_alone() -> None:
    data = people()
    (found, _) = count_ways([K(k=6).measure(data)], data, flou.Plan().protect(data, secret=SECRET))
    back = pickle.loads(pickle.dumps(found))
    assert back.data is None
    assert back.figures["pessimistic"] == found.figures["pessimistic"]
