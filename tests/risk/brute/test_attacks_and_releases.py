"""The map of attacks says what the single measures say; measures on a release are in the order of what is published."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import flou


def people(seed, n=60):
    rng = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "id": rng.permutation(n) + 1000,
            "age": rng.integers(20, 60, n),
            "sex": rng.choice(["f", "m"], n),
            "ill": rng.choice(list("pqrst"), n),
            "pay": np.round(rng.lognormal(7, 1, n), 2),
            "w": np.round(rng.uniform(1, 9, n), 2),
            "home": rng.integers(0, n // 2, n),
        }
    )


def microdata(frame, **more):
    roles = {"keys": ["age", "sex"], "sensitive": ["ill"], "id": "id", "household": "home", "weight": "w"}
    return flou.Microdata(frame, **(roles | {"hierarchies": {"age": flou.Hierarchy.bands(10, 20)}} | more))


@pytest.mark.parametrize("seed", range(6))
def test_attack_map(seed):
    """Each line of the map is the value of the measure that answers it."""
    data = microdata(people(seed).with_columns(age=pl.col("age") // 10))
    found = flou.risk.AttackMap(k=4, l=3, c=1.5, t=0.2).measure(data).figures
    assert found["identity"] == flou.risk.KAnonymity(k=4).measure(data).value
    assert found["homogeneity"] == flou.risk.LDiversity(l=3).measure(data).value
    assert found["skewness"] == flou.risk.TCloseness(t=0.2).measure(data).value
    groups = {"p": "1", "q": "1", "r": "2", "s": "2", "t": "3"}
    alike = flou.risk.AttackMap(l=3, groups=groups).measure(data).figures
    assert alike["similarity"] == flou.risk.LDiversity(l=3, groups=groups).measure(data).value
    options = [
        flou.risk.LDiversity(l=3, kind="recursive", c=1.5).measure(data).value,
        flou.risk.LDiversity(l=3, kind="entropy").measure(data).value,
    ]
    assert found["background"] in (*options, max(options))


def test_attack_map_without_sensitive_columns():
    """Nothing to learn: the attacks on it are not measured."""
    data = microdata(people(0), sensitive=[])
    result = flou.risk.AttackMap().measure(data)
    assert result.figures["homogeneity"] is None
    assert result.figures["skewness"] is None
    assert result.figures["identity"] == flou.risk.KAnonymity(k=3).measure(data).value
    assert result.value == max(result.figures["identity"], result.figures["amounts"])
    assert result.summary()


METHODS = {
    "individual": flou.risk.IndividualRisk(),
    "household": flou.risk.HouseholdRisk(),
    "global": flou.risk.GlobalRisk(),
    "diversity": flou.risk.LDiversity(l=2),
    "closeness": flou.risk.TCloseness(t=0.2),
    "delta": flou.risk.DisclosureDelta(delta=1),
    "beta": flou.risk.BetaLikeness(beta=1),
    "attacker": flou.risk.AttackerRisk(),
    "suda": flou.risk.Suda(),
    "poisson": flou.risk.PoissonRisk(),
    "uniqueness": flou.risk.PopulationUniqueness(model="zayatz"),
    "outlier": flou.risk.OutlierRisk(columns=["pay"]),
    "outlier_robust": flou.risk.OutlierRisk(robust=True, columns=["pay"]),
    "map": flou.risk.AttackMap(),
}


@pytest.mark.parametrize("name", METHODS)
def test_units_of_a_release_follow_what_is_published(name):
    """Each published row has the figure that its own record has when the same file is measured as it stands."""
    frame = people(1)
    release = flou.Plan([flou.protect.Recode("age", level=1)]).protect(
        microdata(frame), secret=flou.Secret(bytes(range(32)))
    )
    method = METHODS[name]
    result = method.measure(release)
    published = release.data.to_frame()
    assert len(result.units) == published.height
    joined = result.joined()
    assert not {"id", "home"} & set(joined.columns)
    assert joined.select(published.columns).equals(published)
    assert joined.drop(published.columns).to_series().to_list() == result.units.tolist()
    # the same rows, revealed: recoded by hand, in the file's own order
    bands = flou.Hierarchy.bands(10, 20).generalise(frame["age"].unique().to_list(), 1)
    plain = frame.with_columns(age=pl.col("age").replace_strict(bands))
    own = method.measure(microdata(plain, hierarchies={}))
    figures = {}
    for row, figure in zip(plain.select(published.columns).iter_rows(), own.units.tolist(), strict=True):
        figures.setdefault(row, []).append(figure)
    for row, figure in zip(published.iter_rows(), result.units.tolist(), strict=True):
        assert any(figure == pytest.approx(f) for f in figures[row]), row
    assert sorted(result.units.tolist()) == pytest.approx(sorted(own.units.tolist()))


@pytest.mark.parametrize("robust", [False, True])
def test_interval_risk_of_a_release(robust):
    """Amounts that nobody changed: every record is at risk, at distance 0."""
    data = microdata(people(2))
    release = flou.Plan([flou.protect.Recode("age", level=1)]).protect(data, secret=flou.Secret(bytes(range(32))))
    result = flou.risk.IntervalRisk(columns=["pay"], robust=robust).measure(release, against=data)
    assert result.value == 1
    assert result.units.tolist() == [0.0] * 60
    with pytest.raises(flou.FlouError, match="give the original back"):
        result.joined()


@pytest.mark.parametrize(
    "method",
    [flou.risk.TCloseness(t=0.2), flou.risk.BetaLikeness(beta=1), flou.risk.DisclosureDelta(delta=1)],
    ids=lambda m: m.name(),
)
def test_a_release_with_recoded_sensitive_values_against_its_original(method):
    """The original has other values: it is held against itself, and a note says so."""
    tree = flou.Hierarchy.tree({"A": ["p", "q"], "B": ["r", "s", "t"]})
    data = microdata(people(3), hierarchies={"ill": tree})
    release = flou.Plan([flou.protect.Recode("ill", level=1)]).protect(data, secret=flou.Secret(bytes(range(32))))
    result = method.measure(release, against=data)
    assert result.units.tolist() == method.measure(release).units.tolist()
    assert result.notes
