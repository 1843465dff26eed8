"""The intruder who knows all but one value: against tables made anew of the records with each candidate in place."""

from __future__ import annotations

import json
import pickle
from itertools import product
from typing import Any

import numpy as np
import polars as pl
import pytest
from tests.depth import at_depth

import flou
from flou.describe.mechanism.unchanged import Unchanged
from flou.engine.errors import LazyInputError

PAPER = [["gender", "age5"], ["gender", "marital"], ["gender", "age"], ["gender", "age5", "marital"]]
VALUES: dict[str, list[Any]] = {"a": ["x", "y"], "b": [0, 1, 2], "c": ["p", "q", "r"]}
RULES = [{"a": "y", "b": 0}]


def records(seed: int, n: int = 6) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    frame = pl.DataFrame({name: rng.choice(values, n) for name, values in VALUES.items()})
    return frame.with_columns(a=pl.when(pl.col("b") == 0).then(pl.lit("x")).otherwise("a"), pid=np.arange(n))


def microdata(frame: pl.DataFrame) -> flou.Microdata:
    return flou.Microdata(frame, keys=["a", "b", "c"], id="pid", modalities=VALUES, incoherent=RULES)


def tables_of(people: flou.Microdata, seed: int) -> flou.TableSet:
    shapes = [[["a", "b"], ["c"]], [["a", "b"], ["b", "c"]], [["a", "b", "c"]], [["a"], ["b"], ["c"]]]
    return flou.tabulate_many(people, shapes[seed % 4])


#: How tables are protected, by name; cell keys need keys of records.
def protect(how: str, people: flou.Microdata, seed: int) -> Any:
    if how == "raw":
        return tables_of(people, seed)
    if how == "random":
        return flou.protect.RandomRounding(3).protect(tables_of(people, seed), secret=seed)
    if how == "rounded":
        return flou.protect.Rounding(3).protect(tables_of(people, seed))
    keyed = flou.record_keys(people, secret=flou.Secret(bytes([seed]) * 32))
    if how == "random by keys":
        return flou.protect.RandomRounding(3).protect(tables_of(keyed, seed), secret=seed)
    return flou.protect.CellKey(D=3, V=2, js=1).protect(tables_of(keyed, seed))


Figures = dict[tuple[tuple[str, str], ...], int]


def figures(table: flou.Table) -> Figures:
    """What a table shows: the categories of a cell, totals left out, and its figure."""
    seen = table.public().shown_cells()
    names = [dim.columns[0] for dim in table.dims]
    totals = {dim.columns[0]: dim.total for dim in table.dims}
    return {
        tuple((n, str(row[n])) for n in names if row[n] != totals[n]): int(row["count"])
        for row in seen.iter_rows(named=True)
    }


def keys_of(table: flou.Table) -> list[tuple[tuple[str, str], ...]]:
    """All cells of a table, those that are not listed included."""
    names = [dim.columns[0] for dim in table.dims]
    return [
        tuple((n, v) for n, v in zip(names, labels, strict=True) if v is not None)
        for labels in product(*([None, *map(str, VALUES[n])] for n in names))
    ]


def log_chance(shown: flou.TableSet, made: flou.TableSet, frame: pl.DataFrame) -> float:
    """The log of the chance of what is published, figures of one cell counted once; minus infinity where none."""
    told: dict[Any, float] = {}
    figure_of: dict[frozenset[int], int] = {}
    rows = [{name: str(value) for name, value in row.items()} for row in frame.iter_rows(named=True)]
    for table, candidate in zip(shown, made, strict=True):
        mechanism = table.mechanism or Unchanged()
        published, true = figures(table), figures(candidate)
        for key in keys_of(table):
            told[key] = float(mechanism.log_likelihood(published.get(key, 0), true.get(key, 0)))
            if mechanism.shared_by != "contributors":
                continue
            # the same people are shown by the same figure, whatever describes them
            members = frozenset(i for i, row in enumerate(rows) if all(row[name] == value for name, value in key))
            if members and figure_of.setdefault(members, published.get(key, 0)) != published.get(key, 0):
                return -np.inf
    return sum(told.values())


@pytest.mark.parametrize("how", ["raw", "random", "rounded", "cell key", "random by keys"])
@pytest.mark.parametrize("seed", range(at_depth(3, 8)))
def test_as_tables_made_anew_say(how: str, seed: int) -> None:
    frame = records(seed)
    people = microdata(frame)
    release = protect(how, people, seed)
    shown = release.data if isinstance(release, flou.Release) else release
    found = flou.attack.SingleUnknown(prior="uniform").run(release, truth=people)
    by_record = found.by_record(reveal=True)
    spoken = list(dict.fromkeys(dim.columns[0] for table in shown for dim in table.dims))
    n_determined = 0
    for i, variable in product(range(frame.height), spoken):
        own = frame.row(i, named=True)
        logs: dict[Any, float] = {}
        for value in VALUES[variable]:
            moved = {**own, variable: value}
            if (moved["a"], moved["b"]) == ("y", 0) and {"a", "b"} <= set(spoken):
                continue
            other = frame.with_columns(
                pl.when(pl.col("pid") == i).then(pl.lit(value)).otherwise(variable).alias(variable)
            )
            logs[value] = log_chance(shown, tables_of(microdata(other), seed), other)
        left = [v for v, log in logs.items() if log > -np.inf]
        best = [v for v in left if logs[v] >= max(logs.values()) - 1e-9]
        line = by_record.filter(pl.col("variable") == variable, *(pl.col(c) == own[c] for c in spoken)).row(
            0, named=True
        )
        assert line["n_candidates"] == len(logs)
        assert line["n_left"] == len(left)
        assert own[variable] in left
        n_determined += len(left) == 1
        if how not in ("cell key", "random by keys"):  # whose figures of the same people are not independent
            assert line["right"] == pytest.approx((own[variable] in best) / len(best))
    assert found.value == pytest.approx(n_determined / (frame.height * len(spoken)))


def test_raw_tables_determine_every_value() -> None:
    for i in range(3):
        town = flou.datasets.census(n=50, rng=i)
        found = flou.attack.SingleUnknown().run(flou.tabulate_many(town, PAPER), truth=town)
        assert found.value == found.right == found.feasible == found.left == 1
        assert found.by_variable["determined"].to_list() == [1, 1, 1]


def test_the_shape_of_the_paper() -> None:
    """Base-5 random rounding leaves most values open; the best guess stays above what is known without tables."""
    frames = []
    for i in range(10):
        town = flou.datasets.census(n=50, rng=i)
        shown = flou.protect.RandomRounding(5).protect(flou.tabulate_many(town, PAPER), secret=i)
        frames.append(flou.attack.SingleUnknown(tolerance={"age": 2}).run(shown, truth=town).by_variable)
    mean = pl.concat(frames).group_by("variable").agg(pl.all().mean())
    rows = {row["variable"]: row for row in mean.iter_rows(named=True)}
    for row in rows.values():
        assert 0.1 < row["determined"] < 0.6
        assert row["right"] > row["feasible"] > row["determined"]
        assert row["right"] > row["baseline"] + 0.15
        assert row["determined_low"] < row["determined"] < row["determined_high"]
    assert rows["gender"]["right"] > rows["marital"]["right"] > rows["age"]["right"]
    assert rows["marital"]["by_rules"] > 0.05, "nobody under 16 is married"
    assert rows["age"]["within"] > rows["age"]["right"]
    assert rows["age"]["within"] > rows["age"]["baseline_within"]
    assert rows["gender"]["within"] is None


def test_without_tables_the_value_is_guessed_that_most_people_have() -> None:
    """Six people with the same record outweigh three whose records differ."""
    rows = [("x", "p")] * 6 + [("y", "p"), ("y", "q"), ("y", "r")]
    frame = pl.DataFrame(rows, schema=["a", "c"], orient="row").with_columns(b=pl.lit(1), pid=pl.arange(9))
    people = microdata(frame)
    found = flou.attack.SingleUnknown().run(people.tabulate(["a", "c"]), truth=people).by_variable
    assert dict(found.select("variable", "baseline").rows()) == pytest.approx({"a": 6 / 9, "c": 7 / 9})


def areas(seed: int = 0) -> flou.Microdata:
    rng = np.random.default_rng(seed)
    n = 60
    frame = pl.DataFrame(
        {
            "area": rng.choice(["n", "s", "w"], n),
            "a": rng.choice(VALUES["a"], n),
            "b": rng.choice(VALUES["b"], n),
            "c": ["p"] * n,
            "pid": np.arange(n),
        }
    )
    alone = pl.DataFrame({"area": ["e"], "a": ["x"], "b": [1], "c": ["p"], "pid": [n]}, schema=frame.schema)
    return flou.Microdata(
        pl.concat([frame, alone]),
        keys=["area", "a", "b"],
        id="pid",
        modalities={**{k: VALUES[k] for k in "ab"}, "area": ["n", "s", "w", "e"]},
    )


def test_blocks_are_attacked_as_if_they_were_alone() -> None:
    people = areas()
    table = people.tabulate(["area", "a", "b"])
    shown = flou.protect.RandomRounding(5).protect(table, secret=3)
    assert "e" not in shown.data.to_frame()["area"].to_list(), "an area that is shown as zero throughout is not listed"
    found = flou.attack.SingleUnknown(block="area").run(shown, truth=people)
    assert found.n_people == 61
    lines = found.by_record(reveal=True)
    seen = figures(shown.data)
    frame = people.to_frame()
    mechanism = shown.data.mechanism
    assert mechanism is not None
    for row in frame.iter_rows(named=True):
        for variable in ("a", "b"):
            left = 0
            for value in VALUES[variable]:
                other = frame.with_columns(
                    pl.when(pl.col("pid") == row["pid"]).then(pl.lit(value)).otherwise(variable).alias(variable)
                )
                own = other.filter(pl.col("area") == row["area"])
                possible = True
                for a, b in product([None, *VALUES["a"]], [None, *VALUES["b"]]):
                    asked = [(n, v) for n, v in (("a", a), ("b", b)) if v is not None]
                    true = own.filter(*(pl.col(n) == v for n, v in asked)).height
                    key = (("area", row["area"]), *((n, str(v)) for n, v in asked))
                    possible &= bool(mechanism.probability(seen.get(key, 0), true) > 0)
                left += possible
            same = [pl.col(c) == row[c] for c in ("area", "a", "b")]
            assert lines.filter(pl.col("variable") == variable, *same)["n_left"].item() == left


def test_tables_without_the_block_are_left_out_and_named() -> None:
    people = areas()
    shown = flou.tabulate_many(people, [["area", "a"], ["a", "b"]])
    found = flou.attack.SingleUnknown(block="area").run(shown, truth=people)
    assert found.by_variable["variable"].to_list() == ["a"]
    assert any("do not show area" in str(note) for note in found.notes)


def rounded() -> tuple[flou.Microdata, flou.Release]:
    town = flou.datasets.census(n=50, rng=1)
    return town, flou.protect.RandomRounding(5).protect(flou.tabulate_many(town, PAPER), secret=1)


def test_records_stay_with_those_who_protect() -> None:
    town, shown = rounded()
    found = flou.attack.SingleUnknown().run(shown, truth=town)
    for text in (repr(found), found._repr_html_(), json.dumps(found.to_dict()), json.dumps(found.plot().to_dict())):
        for word in ("married", "widowed", "female"):
            assert word not in text
    with pytest.raises(LazyInputError, match="reveal=True"):
        found.by_record()
    left = found.by_record(reveal=True)
    assert left.filter("determined")["n_left"].unique().to_list() == [1]
    assert left["records"].sum() == 150
    gone = pickle.loads(pickle.dumps(found))
    assert gone.by_variable.equals(found.by_variable)
    with pytest.raises(LazyInputError, match="left its process"):
        gone.by_record(reveal=True)


def test_no_secret_and_no_draw_change_anything() -> None:
    town, shown = rounded()
    attack = flou.attack.SingleUnknown()
    assert attack.run(shown, truth=town, secret=1).to_dict() == attack.run(shown, truth=town, secret=2).to_dict()


@pytest.mark.parametrize("words", [{}, {"tolerance": {"age": 2}}])
def test_a_plot_of_shares(words: dict[str, Any]) -> None:
    town, shown = rounded()
    drawn = flou.attack.SingleUnknown(**words).run(shown, truth=town).plot("fr").to_dict()
    assert "devinée juste sans les tableaux" in json.dumps(drawn, ensure_ascii=False)


def test_bad_input() -> None:
    town, shown = rounded()
    attack = flou.attack.SingleUnknown()
    with pytest.raises(flou.FlouError, match="needs truth="):
        attack.run(shown)
    with pytest.raises(flou.FlouError, match=r"as flou\.Microdata, not DataFrame"):
        attack.run(shown, truth=town.to_frame())
    with pytest.raises(flou.FlouError, match="does not take control="):
        attack.run(shown, truth=town, control=town)
    with pytest.raises(flou.FlouError, match="no column 'marital'"):
        attack.run(shown, truth=flou.Microdata(town.to_frame().drop("marital"), keys=["age"]))
    with pytest.raises(flou.FlouError, match="published figures cannot come of the records"):
        attack.run(shown, truth=flou.datasets.census(n=50, rng=2))
    with pytest.raises(flou.FlouError, match="max_total is too small"):
        flou.attack.SingleUnknown(max_total=40).run(shown, truth=town)
    older = town.to_frame().with_columns(age=pl.lit(200))
    with pytest.raises(flou.FlouError, match="50 records of truth= have a value that the tables know nothing of"):
        attack.run(shown, truth=flou.Microdata(older, keys=["age", "gender", "marital"]))
    with pytest.raises(flou.FlouError, match="tolerance names 'height'"):
        flou.attack.SingleUnknown(tolerance={"height": 2}).run(shown, truth=town)
    with pytest.raises(flou.FlouError, match="whose values are no numbers"):
        flou.attack.SingleUnknown(tolerance={"gender": 2}).run(shown, truth=town)
    with pytest.raises(flou.FlouError, match="block = 'areas' is no attribute"):
        flou.attack.SingleUnknown(block="areas").run(shown, truth=town)
    with pytest.raises(flou.FlouError, match="domain names 'height'"):
        flou.attack.SingleUnknown(domain={"height": [1, 2]}).run(shown, truth=town)


def test_a_wrong_rule_is_found_out() -> None:
    town, shown = rounded()
    male = {"gender": "male", "marital": "married"}
    with pytest.raises(flou.FlouError, match=r"rules exclude|nobody can be by the structural rules"):
        flou.attack.SingleUnknown(incoherent=[male]).run(shown, truth=town)


def test_a_level_of_which_nothing_is_listed_is_read() -> None:
    """Who is in x × u cannot be in x × v: 5 people there would be shown as 9. Margins allow it."""
    pairs = [("x", "u")] * 4 + [("x", "v")] * 4 + [("y", "u")] * 2 + [("y", "v")] * 2
    frame = pl.DataFrame(pairs, schema=["a", "b"], orient="row").with_row_index("pid")
    people = flou.Microdata(frame, id="pid", keys=["a", "b"], modalities={"a": ["x", "y"], "b": ["u", "v"]})

    def determined(*dims: list[str]) -> Any:
        release = flou.protect.Rounding(9).protect(flou.tabulate_many(people, list(dims)))
        found = flou.attack.SingleUnknown().run(release.data.public(), truth=people)
        return dict(found.by_variable.select("variable", "determined").rows())["b"]

    assert determined(["a"], ["b"]) == 0
    assert determined(["a", "b"]) == pytest.approx(8 / 12)
