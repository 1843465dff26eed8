"""The checks that every registered method of tables passes."""

from __future__ import annotations

import contextlib
import pickle
from typing import Any

import jsonschema
import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal
from tests.contracts.cases import SPARK, crossed, native, plan_validator, rows
from tests.contracts.table_cases import (
    BAD_PARAMETERS,
    EXAMPLES,
    SECRET,
    TABLE_ROLES,
    WITHHOLDS,
    keyed,
    secret_for,
    shown,
    tables,
    tables_for,
    weighted,
)

import flou
from flou.engine import registry
from flou.engine.attack import Attack
from flou.engine.measure import RiskMeasure
from flou.engine.method import Method
from flou.engine.plan_schema import method_schema
from flou.engine.protection import Protection
from flou.engine.utility import Utility

ALL = [pytest.param(m, id=f"{name}-{i}") for name, ms in EXAMPLES.items() for i, m in enumerate(ms)]
PROTECTIONS = [p for p in ALL if isinstance(p.values[0], Protection)]
#: Those that put other figures in the place of the true ones, in one table or in several alike.
MOVING = [p for p in PROTECTIONS if p.values[0].name() not in WITHHOLDS]  # type: ignore[union-attr]
#: Those that choose the figures of all tables of a set together.
TOGETHER = [p for p in MOVING if getattr(p.values[0], "additive", "no") == "controlled"]
#: Those whose draws follow from the secret, or that draw nothing: the others draw from the operating system.
REPLAYED = [p for p in PROTECTIONS if "system entropy" not in p.values[0].uses]  # type: ignore[union-attr]
ENGINES = ["pandas", "pyarrow", "polars-lazy", "duckdb", SPARK]
KINDS = ["one", "all cells", "nested", "set"]
ON_KINDS = [
    pytest.param(p.values[0], kind, id=f"{p.id}-{kind}")
    for p in PROTECTIONS
    for kind in KINDS
    if p in MOVING or kind != "set"
]
REPLAYED_ON_KINDS = [p for p in ON_KINDS if "system entropy" not in p.values[0].uses]  # type: ignore[union-attr]
SYSTEM_ON_KINDS = [p for p in ON_KINDS if p not in REPLAYED_ON_KINDS]


def _each(data: Any) -> tuple[flou.Table, ...]:
    held = data.data if isinstance(data, flou.Release) else data
    return held.tables if isinstance(held, flou.TableSet) else (held,)


def test_every_registered_method_of_tables_has_examples() -> None:
    names = {m.name() for m in registry.every() if "microdata" not in m.takes}
    assert set(EXAMPLES) == set(BAD_PARAMETERS) == names


@pytest.mark.parametrize("name", list(BAD_PARAMETERS))
def test_bad_parameters_are_refused(name: str) -> None:
    method = next(m for m in registry.every() if m.name() == name)
    for parameters in BAD_PARAMETERS[name]:
        with pytest.raises(flou.FlouError) as caught:
            method(**parameters)
        assert method.__name__ in str(caught.value)


@pytest.mark.parametrize("method", ALL)
def test_frozen_hashable_and_equal(method: Method) -> None:
    with pytest.raises(ValueError, match="frozen"):
        setattr(method, next(iter(type(method).model_fields), "x"), 1)
    assert type(method)(**{n: getattr(method, n) for n in type(method).model_fields}) == method
    assert hash(method) == hash(method.model_copy())


@pytest.mark.parametrize("method", ALL)
def test_plan_round_trip(method: Method) -> None:
    steps = [method] if isinstance(method, Protection) else []
    measures = [method] if isinstance(method, RiskMeasure) else []
    comparisons = [method] if isinstance(method, Utility) else []
    attacks = [method] if isinstance(method, Attack) else []
    plan = flou.Plan(steps, measures=measures, attacks=attacks, comparisons=comparisons)
    assert flou.Plan.from_toml(plan.to_toml()) == plan
    table = method.to_table()
    jsonschema.validate(table, method_schema(type(method)))
    plan_validator().validate({"flou": 2, method.stage: [table]})


@pytest.mark.parametrize("method", ALL)
def test_microdata_are_refused(method: Method) -> None:
    people = keyed()
    verb: Any = {"measure": "measure", "protect": "protect", "attack": "run", "compare": "compare"}[method.stage]
    with pytest.raises(flou.FlouError, match=type(method).__name__):
        getattr(method, verb)(people, *([people] if verb == "compare" else []))


# protections


@pytest.mark.parametrize(("method", "kind"), ON_KINDS)
def test_protect_has_the_release_contract(method: Protection, kind: str) -> None:
    data = tables_for(method)[kind]
    release = method.protect(data, secret=secret_for(method))
    assert type(release.data) is type(data)
    assert release.data.released
    assert [s.method for s in release.steps] == [method]
    assert release.guarantees, "a protection promises something and proves it"
    for proof in release.guarantees:
        assert proof.guarantee.violations(release.data) == 0
    figures = dict(release.steps[0].figures)
    assert figures["n_cells"] == data.n_cells
    assert 0 < figures["n_changed"] <= data.n_cells  # type: ignore[operator]
    assert figures["mean_deviation"] <= figures["largest_deviation"]  # type: ignore[operator]
    assert repr(release)
    with pytest.raises(flou.FlouError, match="protected already"):
        method.protect(release, secret=secret_for(method))


@pytest.mark.parametrize(("method", "kind"), ON_KINDS)
def test_guarantees_can_fail(method: Protection, kind: str) -> None:
    """The check of a guarantee is a real one: on the unprotected table it finds violations."""
    data = tables_for(method)[kind]
    release = method.protect(data, secret=secret_for(method))
    assert any(p.guarantee.violations(data) > 0 for p in release.guarantees)


@pytest.mark.parametrize("method", [p for p in PROTECTIONS if p not in MOVING])
def test_several_tables_are_refused(method: Protection) -> None:
    """Cells that tables share must be withheld alike, which one table after the other does not give."""
    with pytest.raises(flou.FlouError, match="one table at a time, and this is a set of 3"):
        method.protect(tables()["set"], secret=SECRET)


@pytest.mark.parametrize("method", [p for p in MOVING if p in REPLAYED])
def test_cells_shown_as_zero_are_not_listed(method: Protection) -> None:
    """In a table of the cells that somebody is in, a listed zero would be known to be false."""
    frame = pl.DataFrame({"a": [f"a{i:02}" for i in range(40)], "n": [1 + i % 3 for i in range(40)]})
    frame = frame.with_columns(key=pl.Series(np.random.default_rng(0).integers(0, 2**32, 40)))
    table = flou.Table.from_frame(frame, ["a"], count="n", key="key")
    assert table.listed == "occupied"
    release = method.protect(table, secret=SECRET)
    hidden = release.data.published_counts == 0
    assert hidden.any(), "the example has counts that are shown as zero"
    seen = release.data.to_frame()
    assert (seen["count"] > 0).all()
    assert seen.height == table.n_cells - hidden.sum()
    labels = set(release.data.public().dims[0].labels["a"])
    assert not labels & set(frame.filter(hidden)["a"]), "not even the category is told"
    assert not set(frame.filter(hidden)["a"]) & set(pickle.loads(pickle.dumps(release.data)).dims[0].labels["a"])


@pytest.mark.parametrize(("method", "kind"), ON_KINDS)
def test_nothing_true_is_in_what_is_published(method: Protection, kind: str) -> None:
    for table in _each(method.protect(tables_for(method)[kind], secret=secret_for(method)).data.public()):
        cells = table.cells
        assert cells.count is cells.key is cells.value is cells.weighted is cells.largest is None
        if method.name() in WITHHOLDS:  # what is shown is true; which cells are sensitive is told to nobody
            assert table.suppression is None
            assert table.published is not None
            assert np.isnan(table.published.figure[table.published.hidden]).all()
        else:
            assert table.published_values is None


@pytest.mark.parametrize(("method", "kind"), REPLAYED_ON_KINDS)
def test_same_secret_same_release_whatever_the_row_order(method: Protection, kind: str) -> None:
    frame = rows()
    order = np.random.default_rng(1).permutation(frame.height)
    once = method.protect(tables(frame=frame)[kind], secret=SECRET)
    again = method.protect(tables(frame=frame[order])[kind], secret=SECRET)
    assert_frame_equal(shown(once), shown(again))
    assert dict(once.steps[0].figures) == dict(again.steps[0].figures)


@pytest.mark.parametrize(("method", "kind"), SYSTEM_ON_KINDS)
def test_draws_from_the_system_differ_at_every_call_and_take_no_secret(method: Protection, kind: str) -> None:
    """What cannot be replayed says so: two runs differ, a secret is refused, the release is not replayable."""
    data = tables_for(method)[kind]
    once, again = method.protect(data), method.protect(data)
    assert not shown(once).equals(shown(again))
    assert (once.secret_origin, once.random, once.test_only) == ("entropy", True, False)
    for secret in (SECRET, 3):
        with pytest.raises(flou.FlouError, match="takes no secret"):
            method.protect(data, secret=secret)  # type: ignore[arg-type]


@pytest.mark.parametrize("method", [p for p in PROTECTIONS if p not in REPLAYED])
def test_lists_that_hang_on_the_records_are_refused(method: Protection) -> None:
    for data in tables().values():
        with pytest.raises(flou.FlouError, match='cells="all"'):
            method.protect(data)


@pytest.mark.parametrize("method, engine", crossed([p for p in PROTECTIONS if p not in REPLAYED], ENGINES))
def test_draws_from_the_system_work_alike_on_every_engine(method: Protection, engine: str) -> None:
    """Figures differ; the cells, what is spent and what is promised do not."""
    ours, theirs = tables_for(method, engine), tables_for(method)
    found, expected = (method.protect(t["set"]) for t in (ours, theirs))
    assert_frame_equal(shown(found).drop("count", "status"), shown(expected).drop("count", "status"))
    for figure in ("n_cells", "n_queries", "scale", "epsilon", "delta"):
        assert found.steps[0].figures[figure] == expected.steps[0].figures[figure]
    assert list(map(str, found.guarantees)) == list(map(str, expected.guarantees))


@pytest.mark.parametrize("method, engine", crossed(REPLAYED, ENGINES))
def test_protect_is_equal_on_every_engine(method: Protection, engine: str) -> None:
    ours, theirs = tables(engine), tables()
    for kind in KINDS if method.name() not in WITHHOLDS else KINDS[:-1]:
        found, expected = (method.protect(t[kind], secret=SECRET) for t in (ours, theirs))
        assert_frame_equal(shown(found), shown(expected))
        assert dict(found.steps[0].figures) == dict(expected.steps[0].figures)
    if getattr(method, "additive", "no") == "no":
        found, expected = (method.protect(weighted(e), secret=SECRET) for e in (engine, "polars"))
        assert_frame_equal(shown(found), shown(expected))


@pytest.mark.parametrize(("method", "kind"), ON_KINDS)
def test_protect_leaves_input_untouched(method: Protection, kind: str) -> None:
    data = tables_for(method)[kind]
    before = [t.shown_cells(reveal=True) for t in _each(data)]
    method.protect(data, secret=secret_for(method))
    for table, copy in zip(_each(data), before, strict=True):
        assert_frame_equal(table.shown_cells(reveal=True), copy)
        assert table.published is None
        assert not table.released


@pytest.mark.parametrize("method", [p for p in MOVING if p in REPLAYED and p not in TOGETHER])
def test_one_table_as_in_a_set(method: Protection) -> None:
    people = keyed()
    dims = [["region", "sex"], ["sex", "illness"]]
    together = method.protect(flou.tabulate_many(people, dims), secret=SECRET)
    for part, held in zip(together.data, dims, strict=True):
        alone = method.protect(people.tabulate(held), secret=SECRET)
        assert np.array_equal(part.published_counts, alone.data.published_counts)


@pytest.mark.parametrize("method", REPLAYED)
def test_test_seed_marks_the_release(method: Protection) -> None:
    assert method.protect(tables()["one"], secret=3).test_only
    assert not method.protect(tables()["one"], secret=SECRET).test_only


DEGENERATE = {
    "empty": rows().clear(),
    "one row": rows().head(1),
    "constant": pl.concat([rows().head(1)] * 5).with_columns(pid=pl.Series(range(5))),
    "all missing": rows().head(20).with_columns(pl.lit(None).cast(pl.String).alias("region")),
    "unicode": rows().head(40).with_columns(region=pl.lit("Þórr 🦊 'x'; DROP")),
}


@pytest.mark.parametrize("method, engine", crossed(PROTECTIONS, ["polars", "pandas", "duckdb"]))
@pytest.mark.parametrize("kind", list(DEGENERATE))
def test_degenerate_data(method: Protection, kind: str, engine: str) -> None:
    data = flou.Microdata(native(DEGENERATE[kind], engine), **TABLE_ROLES)
    with contextlib.suppress(flou.FlouError):  # anything else fails the test
        people = flou.record_keys(data, secret=SECRET)
        for cells in ("occupied", "all"):
            table = people.tabulate(["region", "sex"], cells=cells)  # type: ignore[arg-type]
            release = method.protect(table, secret=secret_for(method))
            assert shown(release).height <= table.n_cells
            assert kind != "empty"
