"""Cell suppression against an intruder who is written independently, and what leaves the house of its reasons."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.depth import examples
from tests.protect.table.intruder import Dims, Intruder, Key, contributions, key_of, lone_cells, others_part, text_of

import flou
from flou.describe.table.argus.tab_writing import write_tab
from flou.describe.table.suppression import State
from flou.engine.errors import DataError, FlouError, Infeasible, MissingExtraError, OutputError, ParameterError

SHAPES: dict[str, Dims] = {
    "one dimension": [[["town"]]],
    "two dimensions": [[["town"]], [["sex"]]],
    "three dimensions": [[["town"]], [["sex"]], [["trade"]]],
    "nested": [[["region", "town"]], [["sex"]]],
    "both nested": [[["region", "town"]], [["sector", "trade"]]],
}


def _records(seed: int, n: int) -> pl.DataFrame:
    """People or firms; some towns and regions are small, amounts of very different size, some of them nothing."""
    rng = np.random.default_rng(seed)
    town = rng.choice(6, n, p=rng.dirichlet(np.full(6, 0.8)))
    trade = rng.integers(0, 4, n)
    amount = rng.lognormal(2, 1.5, n) * 10.0 ** rng.integers(-1, 3, n) * (rng.random(n) > 0.1)
    return pl.DataFrame(
        {
            "region": [f"r{t % 3}" for t in town],
            "town": [f"t{t}" for t in town],
            "basin": [f"b{b}" for b in rng.integers(0, 3, n)],
            "sex": [("f", "m")[s] for s in rng.integers(0, 2, n)],
            "sector": [f"s{t // 2}" for t in trade],
            "trade": [f"c{t}" for t in trade],
            "amount": [float(f"{a:.6g}") for a in amount],
            "firm": rng.integers(0, max(2, n // 3), n),
            "number": np.arange(n),
        }
    )


def _table(frame: pl.DataFrame, dims: Dims, **options: Any) -> flou.Table:
    columns = sorted({c for dim in dims for zoning in dim for c in zoning})
    return flou.Microdata(frame, keys=columns).tabulate(text_of(dims), **options)


def _asked(inside: Sequence[Mapping[str, Any]], rule: str, size: int, who: str, figure: str) -> tuple[float, float]:
    """Levels of a cell below and above by hand; nothing where it is not sensitive."""
    given: dict[Any, float] = {}
    for record in inside:
        given[record[who]] = given.get(record[who], 0.0) + record["amount"]
    total = sum(given.values())
    if rule == "threshold":
        if not 0 < len(given) < size:
            return 0.0, 0.0
        if figure == "count":
            return 0.0, float(np.ceil((size - len(given)) * len(inside) / len(given)))
        return 0.1 * total, 0.1 * total
    ranked = sorted([*given.values(), 0.0, 0.0], reverse=True)
    level = size / 100 * ranked[0] - (total - ranked[0] - ranked[1])
    return (min(level, total), level) if level > 1e-9 * total else (0.0, 0.0)


@examples(40)
@given(
    seed=st.integers(0, 10**6),
    n=st.sampled_from([5, 12, 25, 50]),
    shape=st.sampled_from(sorted(SHAPES)),
    rule=st.sampled_from(["threshold", "p%"]),
    size=st.integers(2, 7),
    search=st.sampled_from(["modular", "gauss"]),
    cost=st.sampled_from(["value", "count", "rank", "cells"]),
    firms=st.booleans(),
    all_cells=st.booleans(),
    counted=st.booleans(),
)
def test_nobody_gets_closer_than_the_levels_allow(
    seed: int, n: int, shape: str, rule: str, size: int, search: Any, cost: Any, firms: bool, all_cells: bool,
    counted: bool,
) -> None:  # fmt: skip
    dims = SHAPES[shape]
    counted = counted and rule == "threshold"
    frame = _records(seed, n)
    options: dict[str, Any] = {"cells": "all" if all_cells else "occupied"}
    options |= {"holding": "firm"} if firms else {}
    options |= {} if counted else {"value": "amount"}
    table = _table(frame, dims, **options)
    asked: Any = flou.risk.Threshold(n=size) if rule == "threshold" else flou.risk.PPercent(p=5 * size)
    try:
        release = flou.protect.CellSuppression([asked], search=search, cost=cost).protect(table)
    except Infeasible:
        return
    who, figure, least = "firm" if firms else "number", "count" if counted else "value", 1.0 if counted else 0.0
    intruder = Intruder(release.data.public().to_frame().to_dicts(), dims, figure, least=least)
    inside = contributions(frame.to_dicts(), dims)
    true = {key_of(line, dims): line[f"true_{figure}"] for line in release.data.to_frame(reveal=True).to_dicts()}
    needed = {k: _asked(i, rule, 5 * size if rule == "p%" else size, who, figure) for k, i in inside.items()}
    sensitive = [key for key, levels in needed.items() if max(levels) > 0]
    assert set(sensitive) <= set(intruder.withheld)
    for own in [set(), *lone_cells(inside, intruder.withheld, who)]:
        for key in sorted(set(sensitive) - own):
            low, high = intruder.bounds(key, {k: true[k] for k in own})
            part = 1.0 if counted else others_part(inside[key], own, inside, who)
            below, above = (level * part for level in needed[key])
            lost = 1e-5 * max(needed[key]) + 1e-8 * abs(true[key])
            assert high >= true[key] + above - lost, (key, own)
            assert low <= true[key] - below + lost, (key, own)


def test_a_withheld_count_is_known_not_to_be_zero() -> None:
    frame = pl.DataFrame({"g": ["Total", "a", "b", "c"], "count": [24, 3, 2, 19]})
    kept = tuple({"g": g, "action": "keep"} for g in ("Total", "c"))
    # a + b = 5 and b is not empty, so that a cannot be 5
    with pytest.raises(Infeasible, match=r"cannot be protected whatever else is suppressed: .*, a"):
        flou.protect.CellSuppression([flou.risk.Threshold(n=5)], apriori=kept).protect(
            flou.Table.from_frame(frame, ["g"])
        )
    enough = flou.protect.CellSuppression([flou.risk.Threshold(n=4)], apriori=kept)
    shown = enough.protect(flou.Table.from_frame(frame, ["g"])).data.to_frame()
    assert shown["count"].to_list() == [24, None, None, 19]


def test_a_holding_that_is_alone_in_two_cells_does_not_compute_a_third() -> None:
    rows = [("a", 1, 50.0), ("a", 1, 10.0), ("b", 1, 40.0), ("c", 2, 70.0), *(("d", k, 90.0) for k in range(3, 9))]
    frame = pl.DataFrame(rows, schema=["g", "firm", "amount"], orient="row")
    table = flou.Microdata(frame, keys=["g"]).tabulate(["g"], value="amount", holding="firm")
    release = flou.protect.CellSuppression([flou.risk.PPercent(p=10)]).protect(table)
    intruder = Intruder(release.data.public().to_frame().to_dicts(), [[["g"]]], "value")
    low, high = intruder.bounds((("c",),), {(("a",),): 60.0, (("b",),): 40.0})
    assert low <= 63
    assert high >= 77


def _example(**options: Any) -> flou.Table:
    return _table(_records(11, 80), SHAPES["nested"], **options)


RULES = [flou.risk.Threshold(n=6), flou.risk.PPercent(p=20)]


@pytest.mark.parametrize("search", ["modular", "gauss"])
@pytest.mark.parametrize("value", [None, "amount"])
def test_neither_the_order_of_records_nor_the_engine_matters(search: Any, value: str | None) -> None:
    frame, dims = _records(3, 120), SHAPES["nested"]
    method = flou.protect.CellSuppression([flou.risk.Threshold(n=7)], search=search)

    def status(records: Any) -> list[str]:
        people = flou.Microdata(records, keys=["region", "town", "sex"])
        shown = method.protect(people.tabulate(text_of(dims), value=value)).data.public()
        return [f"{'/'.join(labels)} {word}" for labels, word in zip(shown.labels().rows(), shown.status, strict=True)]

    first = status(frame)
    assert sum("suppressed" in line for line in first) > 3
    assert status(frame) == first
    assert status(frame.sample(fraction=1, shuffle=True, seed=1)) == first
    assert status(frame.to_pandas().sample(frac=1, random_state=2)) == first
    duckdb = pytest.importorskip("duckdb")
    with duckdb.connect() as connection:
        assert status(connection.sql("select * from frame order by number desc")) == first


def test_a_new_process_finds_the_same_pattern() -> None:
    code = (
        "from tests.protect.table.test_cell_suppression import RULES, _example; import flou; "
        "shown = flou.protect.CellSuppression(RULES).protect(_example(value='amount')).data; "
        "print(''.join(str(int(h)) for h in shown.suppression.hidden))"
    )
    here = flou.protect.CellSuppression(RULES).protect(_example(value="amount")).data
    assert here.suppression is not None
    root = Path(__file__).parents[3]
    places = os.pathsep.join([str(root), str(root / "src"), os.environ.get("PYTHONPATH", "")])
    there = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=root, timeout=120,
        env={**os.environ, "PYTHONPATH": places, "PYTHONHASHSEED": "77"},
    )  # fmt: skip
    assert there.stdout.strip() == "".join(str(int(h)) for h in here.suppression.hidden)


@pytest.mark.parametrize("show", ["auto", "both"])
def test_nothing_public_tells_primary_from_secondary(show: Any, tmp_path: Path) -> None:
    release = flou.protect.CellSuppression(RULES, show=show).protect(_example(value="amount"))
    data, held = release.data, release.data.suppression
    assert held is not None
    swap = {int(State.PRIMARY): int(State.SECONDARY), int(State.SECONDARY): int(State.PRIMARY)}
    assert (held.states == State.SECONDARY).any()
    turned = replace(
        held, states=np.array([swap.get(s, s) for s in held.states.tolist()], dtype=np.uint8), reasons=(), because=None,
        protects=None, audit=None,
    )  # fmt: skip
    other = data.with_changes(suppression=turned)
    assert other.to_frame().equals(data.to_frame())
    assert other.public().to_frame().equals(data.public().to_frame())
    assert (repr(other), other._repr_html_(), other.to_html("fr")) == (
        repr(data), data._repr_html_(), data.to_html("fr"),
    )  # fmt: skip
    assert pickle.dumps(other) == pickle.dumps(data)
    for ending in ("csv", "parquet"):
        data.write(tmp_path / f"one.{ending}")
        other.write(tmp_path / f"two.{ending}")
        assert (tmp_path / f"one.{ending}").read_bytes() == (tmp_path / f"two.{ending}").read_bytes()


def test_no_withheld_figure_leaves(tmp_path: Path) -> None:
    data = flou.protect.CellSuppression(RULES, show="both").protect(_example(value="amount")).data
    hidden = data.suppression.hidden
    withheld = data.true_values[hidden]
    data.write(tmp_path / "t.csv")
    data.write(tmp_path / "t.xlsx")
    texts = (tmp_path / "t.csv").read_text() + data.to_html() + data._repr_html_() + repr(data)
    shown = {float(v) for v in data.to_frame()["value"].drop_nulls()}
    for figure in set(withheld.tolist()) - shown - {0.0}:
        assert str(figure) not in texts
    left = pickle.loads(pickle.dumps(data))
    assert left.suppression is None
    assert left.cells.count is None
    assert left.cells.value is None
    assert np.isnan(left.published.value[hidden]).all()
    back = pl.read_excel(tmp_path / "t.xlsx") if _reads_excel() else None
    assert back is None or back["value"].null_count() == int(hidden.sum())
    one = data.labels().row(int(np.flatnonzero(hidden)[0]))
    cell = data.cell(**dict(zip(data.columns, one, strict=True)))
    assert (cell["count"], cell["value"], cell["status"]) == (None, None, "suppressed")
    for derived in (lambda: data.ratios("sex"), lambda: data.mean("sex", {"f": 0, "m": 1}), lambda: data.ratio({})):
        with pytest.raises(DataError, match="withholds"):
            derived()
    with pytest.raises(OutputError, match="true figures"):
        write_tab(data, tmp_path / "t.tab")


def _reads_excel() -> bool:
    try:
        import fastexcel  # noqa: F401
    except ImportError:
        return False
    return True


def test_zeros_are_shown_and_never_withheld() -> None:
    data = flou.protect.CellSuppression([flou.risk.Threshold(n=6)]).protect(_example(cells="all")).data
    frame = data.to_frame(reveal=True)
    assert (frame["true_count"] == 0).any()
    assert frame.filter(pl.col("true_count") == 0)["status"].unique().to_list() == ["zero"]


def _line(*counts: int) -> flou.Table:
    names = ["Total", *"abcdefgh"[: len(counts)]]
    return flou.Table.from_frame(pl.DataFrame({"g": names, "count": [sum(counts), *counts]}), ["g"])


def test_statements_of_the_office_are_kept() -> None:
    table = _line(3, 9, 10, 11, 30)
    threshold = [flou.risk.Threshold(n=5)]
    plain = flou.protect.CellSuppression(threshold).protect(table).data.to_frame()
    assert plain["status"].to_list() == ["published", "suppressed", "suppressed", *["published"] * 3]
    said = ({"g": "b", "action": "keep"}, {"g": "e", "action": "protect"}, {"g": "Total", "action": "keep"})
    shown = flou.protect.CellSuppression(threshold, apriori=said).protect(table).data
    by_name = dict(zip(shown.to_frame()["g"], shown.suppression.words(), strict=True))
    assert (by_name["b"], by_name["e"], by_name["Total"], by_name["a"]) == ("kept", "primary", "kept", "primary")
    dear = tuple({"g": g, "action": "cost", "first": 1e6} for g in "bcd")
    shown = flou.protect.CellSuppression(threshold, apriori=dear).protect(table).data
    assert dict(zip(shown.to_frame()["g"], shown.to_frame()["status"], strict=True))["e"] == "suppressed"
    safe = ({"g": "a", "action": "safe"},)
    assert (flou.protect.CellSuppression(threshold, apriori=safe).protect(table).data.status == "published").all()


@pytest.mark.parametrize(
    ("said", "message"),
    [
        (({"g": "b", "action": "bounds", "first": 20},), "outside their bounds(.|\n)*at least 20"),
        (({"g": "b", "action": "keep"}, {"g": "b", "action": "protect"}), "contradicts itself"),
        (({"g": "a", "action": "keep"},), "call it safe if the office answers"),
        (({"g": "b", "action": "hide"},), "'hide' is no action. Known: 'bounds'"),
        (({"g": "zz", "action": "keep"},), "zz"),
    ],
)
def test_lists_that_cannot_be_followed_are_refused(said: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        flou.protect.CellSuppression([flou.risk.Threshold(n=5)], apriori=said).protect(_line(3, 9, 10))


@pytest.mark.parametrize("search", ["modular", "gauss"])
def test_what_cannot_be_protected_is_not_released(search: Any) -> None:
    kept = tuple({"g": g, "action": "keep"} for g in ("Total", "b", "c"))
    with pytest.raises(Infeasible, match=r"suppressed: 1 of 1, a\..*Keep fewer"):
        flou.protect.CellSuppression([flou.risk.Threshold(n=5)], apriori=kept, search=search).protect(_line(3, 9, 10))


def test_tables_that_are_no_tables_are_refused() -> None:
    threshold = flou.protect.CellSuppression([flou.risk.Threshold(n=5)])
    wrong = pl.DataFrame({"g": ["Total", "a", "b"], "count": [13, 3, 9]})
    with pytest.raises(DataError, match=r"not additive: 1 of 1(.|\n)*Total: 13, its 2 parts along g add up to 12"):
        threshold.protect(flou.Table.from_frame(wrong, ["g"]))
    for odd in (float("nan"), float("inf")):
        with pytest.raises(DataError, match=r"infinite|numbers, in every cell"):
            flou.Table.from_frame(wrong.with_columns(v=pl.Series([odd, 1.0, 2.0])), ["g"], value="v")
    with pytest.raises(DataError, match="at least one cell"):
        flou.Table.from_frame(wrong.clear(), ["g"])
    done = threshold.protect(_line(3, 9, 10)).data
    for again in (done, done.public()):
        with pytest.raises(DataError, match=r"protected already|start again from the original"):
            threshold.protect(again)
    with pytest.raises(DataError, match="no rule and no list of cells"):
        flou.protect.CellSuppression().protect(_line(3, 9))
    with pytest.raises(DataError, match='show = "both"'):
        flou.protect.CellSuppression([flou.risk.PPercent(p=10)], show="count").protect(_example(value="amount"))
    with pytest.raises(DataError, match="largest"):
        flou.protect.CellSuppression([flou.risk.PPercent(p=10)]).protect(_line(3, 9))


@pytest.mark.parametrize("p", [0, 0.1, -3, 100, float("nan"), "10", True])
def test_percentages_that_are_none_are_refused(p: Any) -> None:
    with pytest.raises(ParameterError, match="p = "):
        flou.protect.CellSuppression([flou.risk.PPercent(p=p)])


@pytest.mark.parametrize("search", ["modular", "gauss"])
def test_tables_with_little_in_them(search: Any) -> None:
    method = flou.protect.CellSuppression([flou.risk.Threshold(n=5)], search=search)
    alone = flou.Table.from_frame(pl.DataFrame({"g": ["a"], "count": [3]}), ["g"])
    assert method.protect(alone).data.status.to_list() == ["suppressed"]
    assert method.protect(_line(3)).data.status.to_list() == ["suppressed", "suppressed"]
    nothing = method.protect(_line(7, 9)).data
    assert nothing.status.to_list() == ["published"] * 3
    assert nothing.suppression.audit.n_primary == 0


def _square(seed: int, **options: Any) -> flou.Table:
    return _table(_records(seed, 150), [[["town"]], [["trade"]]], **options)


def test_a_search_that_is_stopped_releases_nothing_and_goes_on(tmp_path: Path) -> None:
    file, threshold = tmp_path / "search.json", [flou.risk.Threshold(n=8)]
    table = _square(4)
    with pytest.raises(Infeasible, match=r"proved nothing(.|\n)*name a file, state="):
        flou.protect.CellSuppression(threshold, seconds=1e-9).protect(table)
    stopped = flou.protect.CellSuppression(threshold, seconds=1e-9, state=str(file))
    with pytest.raises(Infeasible, match="goes on from"):
        stopped.protect(table)
    assert file.stat().st_mode & 0o077 == 0
    # it serves the same table and the same question alone
    for other in (_square(5), _square(4, value="amount")):
        with pytest.raises(DataError, match="another table"):
            flou.protect.CellSuppression(threshold, state=str(file)).protect(other)
    with pytest.raises(DataError, match="other rules"):
        flou.protect.CellSuppression([flou.risk.Threshold(n=9)], state=str(file)).protect(table)
    done = flou.protect.CellSuppression(threshold, state=str(file)).protect(table).data
    assert done.suppression.audit.n_disclosed == 0
    intruder = Intruder(done.public().to_frame().to_dicts(), [[["town"]], [["trade"]]], "count", least=1.0)
    lines = {key_of(line, [[["town"]], [["trade"]]]): line for line in done.to_frame(reveal=True).to_dicts()}
    primary: list[Key] = [key for key, line in lines.items() if line["status"] == "primary"]
    assert primary
    assert all(intruder.bounds(key)[1] >= 8 for key in primary)
    assert not file.exists()


@pytest.mark.parametrize("text", ["", "{}", "[1]", "null"])
def test_a_torn_state_file_is_refused(text: str, tmp_path: Path) -> None:
    file = tmp_path / "search.json"
    file.write_text(text)
    with pytest.raises(DataError, match=r"no state of a search(.|\n)*Name another file"):
        flou.protect.CellSuppression([flou.risk.Threshold(n=8)], state=str(file)).protect(_square(4))


def test_without_a_solver_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    from flou.risk.table.bounds import programs

    programs._highs.cache_clear()
    monkeypatch.setitem(sys.modules, "highspy", None)
    try:
        with pytest.raises(MissingExtraError, match=r"pip install 'flou\[tables\]'"):
            flou.protect.CellSuppression([flou.risk.Threshold(n=8)]).protect(_square(4))
    finally:
        programs._highs.cache_clear()


def test_every_failure_is_one_of_ours() -> None:
    """Tables of all kinds end in a release that was audited, or in an error of the library."""
    for seed in range(25):
        rng = np.random.default_rng(seed)
        scale = 10.0 ** rng.integers(-3, 9)
        frame = _records(seed, int(rng.integers(1, 40))).with_columns(pl.col("amount") * scale * rng.choice([1, -1]))
        table = _table(frame, SHAPES[str(rng.choice(sorted(SHAPES)))], value="amount")
        try:
            data = flou.protect.CellSuppression(RULES, search=str(rng.choice(["modular", "gauss"]))).protect(table).data  # type: ignore[arg-type]
        except FlouError:
            continue
        assert data.suppression.audit.n_disclosed == 0
