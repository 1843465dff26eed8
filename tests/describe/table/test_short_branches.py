"""Trees whose branches differ in depth: a short branch is one category, counted once, however it is laid out."""

from __future__ import annotations

import random
from itertools import product
from typing import Any

import polars as pl
import pytest
from tests.depth import at_depth

import flou
from flou.describe.table.seen import public_table
from flou.describe.table.table import Table
from flou.protect.table.privacy_loss import count_queries
from flou.risk.table.bounds.seen_side import laid_out


def drawn_tree(rng: random.Random) -> dict[str, tuple[str, ...]]:
    """The codes from the first level down to each value, three at the most; a code belongs to one branch."""
    paths: dict[str, tuple[str, ...]] = {}
    for top in "ABCD"[: rng.randint(1, 4)]:
        if rng.random() < 0.3:
            paths[top] = (top,)
            continue
        for middle in range(rng.randint(1, 3)):
            code = f"{top}{middle}"
            if rng.random() < 0.4:
                paths[code] = (top, code)
            else:
                paths |= {f"{code}{leaf}": (top, code, f"{code}{leaf}") for leaf in range(rng.randint(1, 2))}
    return paths


def hierarchy_of(paths: dict[str, tuple[str, ...]]) -> flou.Hierarchy:
    """The tree with as many levels above each value: a short branch repeats its last code."""
    most = max(map(len, paths.values()))
    rows = [[*([code] * (most - len(path))), *reversed(path), "*"] for code, path in paths.items()]
    return flou.Hierarchy.from_dict({"rows": rows}, None)  # type: ignore[arg-type]


def counted(records: list[tuple[str, str]], paths: dict[str, tuple[str, ...]], depth: int) -> dict[Any, int]:
    """Each category of the tree beside each sex, and the totals: how many of the records are in it."""
    out: dict[Any, int] = {}
    for code, sex in records:
        path = paths.get(code, (code,))
        above = [path[:k] for k in range(len(path) + 1)]
        for held, shown in product(above, (sex, "Total")):
            padded = (*held, *["Total"] * (depth - len(held)))
            out[(*padded, shown)] = out.get((*padded, shown), 0) + 1
    return out


def cells_of(table: Table) -> dict[Any, int]:
    shown = table.shown_cells()
    found = {tuple(row[: len(table.columns)]): row[len(table.columns)] for row in shown.rows()}
    assert len(found) == shown.height
    return found


@pytest.mark.parametrize("seed", range(at_depth(40, 400)))
@pytest.mark.parametrize("way", ["dense", "sparse"])
def test_against_counting_by_hand(seed: int, way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if way == "sparse":
        monkeypatch.setattr("flou.describe.table.tabulate.fits", lambda *_: False)
    rng = random.Random(seed)
    paths = drawn_tree(rng)
    depth = max(map(len, paths.values()))
    codes = [*paths, "9"] if rng.random() < 0.5 else [*paths]
    records = [(rng.choice(codes), rng.choice("fm")) for _ in range(rng.randint(1, 25))]
    frame = pl.DataFrame(records, schema=["code", "sex"], orient="row")
    data = flou.Microdata(
        frame, keys=["code", "sex"], hierarchies={"code": hierarchy_of(paths)}, undetermined={"code": ["9"]}
    )
    assert cells_of(data.tabulate(["code@*", "sex"])) == counted(records, paths, depth)
    finest = data.tabulate(["code@*", "sex"], margins=False)
    assert finest.true_counts.sum() == len(records)
    assert finest.n_cells == len(set(records))


def test_a_category_with_others_below_it_keeps_the_one_that_bears_its_name() -> None:
    """Paris the region holds Paris the city and its suburb, also where nobody of the suburb is in the file."""
    tree = flou.Hierarchy.tree({"Paris": ["Paris", "suburb"], "Monaco": ["Monaco"]})
    data = flou.Microdata(pl.DataFrame({"city": ["Paris", "Monaco"]}), keys=["city"], hierarchies={"city": tree})
    shown = data.tabulate(["city@*"]).shown_cells().select("city@1", "city", "count").rows()
    assert shown == [("Total", "Total", 2), ("Monaco", "Total", 1), ("Paris", "Total", 1), ("Paris", "Paris", 1)]


def test_a_short_branch_is_found_by_its_finest_label() -> None:
    """As of any nested dimension the finest label is enough."""
    tree = flou.Hierarchy.tree({"Paris": ["Paris"], "Monaco": ["Port", "Rock"]})
    data = flou.Microdata(pl.DataFrame({"city": ["Paris", "Port"]}), keys=["city"], hierarchies={"city": tree})
    table = data.tabulate(["city@*"])
    assert table.cell(city="Paris")["count"] == 1
    assert table.cell(city="Paris") == table.cell(**{"city@1": "Paris"})
    assert table.cell(**{"city@1": "Paris", "city": "Paris"})["count"] == 1
    with pytest.raises(flou.FlouError, match="no category"):
        table.cell(city="Monaco")


def test_a_label_of_two_zonings_side_by_side_is_that_of_the_column() -> None:
    frame = pl.DataFrame({"commune": ["5", "6", "6"], "district": ["a", "5", "5"]})
    table = flou.Microdata(frame, keys=["commune", "district"]).tabulate(["commune|district"])
    assert (table.cell(commune="5")["count"], table.cell(district="5")["count"]) == (1, 2)


def towns(seed: int, n: int = 60) -> flou.Microdata:
    """Records by a code of three levels, one branch of which is short, and one code of which is unknown."""
    rng = random.Random(seed)
    tree = {"111": ("11", "1"), "112": ("11", "1"), "121": ("12", "1"), "2": ("2", "2"), "31": ("31", "3")}
    rows = [[code, *above, "*"] for code, above in tree.items()]
    codes = [rng.choice([*tree, "9"]) for _ in range(n)]
    frame = pl.DataFrame({"code": codes, "sex": [rng.choice("fm") for _ in codes]})
    hierarchy = flou.Hierarchy.from_dict({"rows": rows}, None)  # type: ignore[arg-type]
    return flou.Microdata(
        frame, keys=["code", "sex"], hierarchies={"code": hierarchy}, undetermined={"code": ["9"]}
    ).marked(synthetic=True)


@pytest.mark.parametrize("seed", range(at_depth(6, 60)))
def test_a_short_branch_is_one_cell_in_every_table(seed: int) -> None:
    """Its noise is one, whatever levels a table shows: two draws for the same people could be averaged."""
    data = towns(seed)
    lasting = flou.protect.RandomRounding(base=5)
    shown: dict[str, set[int]] = {"2": set(), "9": set(), "31": set()}
    for dims in ("code@*", "code", "code@1", "code@2", "code@1>code", "code@2>code@1"):
        table = lasting.protect(data.tabulate([dims]), secret=flou.Secret.from_seed(seed)).data
        labels, counts = table.labels().rows(), table.published_counts.tolist()
        for code, held in shown.items():
            held |= {
                n for row, n in zip(labels, counts, strict=True) if [x for x in row if x != "Total"][-1:] == [code]
            }
    assert {code: len(held) for code, held in shown.items()} == {"2": 1, "9": 1, "31": 1}


def test_an_attacker_who_averages_knows_it_as_one_cell() -> None:
    data = towns(3)
    dims = [["code@*", "sex"], ["code", "sex"], ["code@1"], ["code@2>code@1"]]
    tables = flou.tabulate_many(data, dims)
    release = flou.protect.RandomRounding(base=5).protect(tables, secret=flou.Secret.from_seed(1))
    for truth in (data, tables):
        found = flou.attack.Averaging().run(release, truth=truth)
        assert found.value is not None
        assert not any("drawn anew" in str(note) for note in found.notes)


def test_its_labels_are_read_back_with_and_without_the_total() -> None:
    table = towns(1).tabulate(["code@*", "sex"])
    places = [{"code@2": "2"}, {"code": "2"}, {"code@2": "2", "code@1": "Total", "code": "Total"}, {"code@1": "2"}]
    assert len({str(table.cell(**place)) for place in places}) == 1


@pytest.mark.parametrize("seed", range(at_depth(4, 40)))
def test_the_finest_cells_alone_say_nothing_of_levels_that_are_not_listed(seed: int) -> None:
    """A table without margins has short branches above its last level, and no cell of an inner category."""
    table = towns(seed, 25).tabulate(["code@*", "sex"], margins=False)
    release = flou.protect.RandomRounding(base=3).protect(table, secret=flou.Secret.from_seed(seed))
    seen = laid_out(public_table(release.data))
    assert seen.n_cells > public_table(release.data).n_cells
    assert seen.dims[0].is_finest[seen.cells.codes[:, 0]].all()
    assert count_queries(table) == 1  # each record counts in one cell alone


@pytest.mark.parametrize("seed", range(at_depth(3, 30)))
@pytest.mark.parametrize("dims", [["code@*", "sex"], ["code@2>code", "sex"]])
def test_reconstruction_knows_what_it_knows_of_the_flat_table(seed: int, dims: list[str]) -> None:
    """The same figures with their tree, and as two flat tables of them: the bounds of every finest cell are the same."""
    data = towns(seed, 12)
    declared = {"code": ["111", "112", "121", "2", "31"], "sex": ["f", "m"]}
    data = data.with_schema(data.schema.with_changes(modalities=declared))
    secret = flou.Secret.from_seed(seed)
    nested = flou.protect.RandomRounding(base=3).protect(data.tabulate(dims), secret=secret)
    flat = flou.protect.RandomRounding(base=3).protect(
        flou.tabulate_many(
            data, [["code", "sex"], *([["code@1", "sex"]] if len(dims[0]) < 8 else []), ["code@2", "sex"]]
        ),
        secret=secret,
    )
    ours, theirs = (flou.attack.Reconstruction().reconstruct(r) for r in (nested, flat))
    for code in ("111", "2", "9", "31"):
        assert ours.bounds(code=code, sex="f") == theirs.bounds(code=code, sex="f")


def test_a_category_that_is_shown_nowhere_is_told_by_nothing() -> None:
    """Two people of an unknown code are rounded away: no part of what is published says that the code occurs."""
    tree = flou.Hierarchy.tree({"1": ["11", "12"], "Atlantis": ["Atlantis"], "3": ["31", "32"]})
    codes = ["11"] * 30 + ["12"] * 30 + ["31"] * 30 + ["Atlantis"]
    frame = pl.DataFrame({"code": codes})
    data = flou.Microdata(frame, keys=["code"], hierarchies={"code": tree}).marked(synthetic=True)
    for dims in ("code@*", "code@1"):
        release = flou.protect.Rounding(base=5).protect(data.tabulate([dims]))
        seen = public_table(release.data)
        assert all(label != "Atlantis" for dim in seen.dims for _, label in dim.values)
        assert "Atlantis" not in str([dim.labels.rows() for dim in seen.dims])
        listed = [dim.values for dim in public_table(data.tabulate([dims])).dims]
        assert any(label == "Atlantis" for values in listed for _, label in values)
