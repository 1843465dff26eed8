"""Generalising and suppressing, beside what ARX and sdcMicro take for the same job on the same files.

The Adult file is read from DATA/adult.csv where it lies there, else made from the distinct rows that the golden tests
hold. The figures of the peers are CPU seconds of ARX 3.9.2 and sdcMicro 5.8.1, measured once on a like machine.
"""

from __future__ import annotations

import time
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import flou
from bench.data import KEYS, key_frame
from bench.timing import Line, alternate, publish, table

_ROOT = Path(__file__).parent.parent
_SCHEMA = _ROOT / "examples" / "adult" / "schema.toml"
_DISTINCT = _ROOT / "tests" / "golden" / "adult_keys.parquet"
#: CPU seconds of ARX for the optimum at k = 5 by loss: keys, suppression limit.
_ARX = {(8, 0.0): 0.03, (8, 0.05): 0.33, (8, 1.0): 0.61, (9, 0.0): 0.06, (9, 0.05): 1.5, (9, 1.0): 5.5}


def adult_rows(folder: Path) -> pl.DataFrame:
    """The 30,162 records of the Adult file."""
    given = folder / "adult.csv"
    if given.exists():
        return pl.read_csv(given, separator=";")
    distinct = pl.read_parquet(_DISTINCT)
    return distinct.select(pl.exclude("n").repeat_by("n").explode())


def adult(rows: pl.DataFrame, n_keys: int) -> flou.Microdata:
    """Eight keys, occupation being sensitive; or nine."""
    schema = flou.Schema.load(_SCHEMA)
    if n_keys == 9:
        schema = schema.with_changes(keys=tuple(rows.columns), sensitive=())
    return flou.Microdata(rows, schema)


def mixed(rows: pl.DataFrame, n: int) -> pl.DataFrame:
    """n records, the first four columns of one and the last five of another: many more distinct keys."""
    steps, x = np.empty(2 * n, dtype=np.int64), 43
    for i in range(2 * n):
        x = (x * 6364136223846793005 + 1442695040888963407) % 2**64
        steps[i] = (x >> 33) % rows.height
    return pl.concat([rows[steps[::2], :4], rows[steps[1::2], 4:]], how="horizontal")


def searched(people: flou.Microdata, limit: float) -> Any:
    """The whole step: search, released rows, and the guarantee proven twice."""
    return flou.protect.Generalise(k=5, suppression_limit=limit).protect(people, secret=1).steps[0]


def search_alone(people: flou.Microdata, limit: float) -> Any:
    """What ARX's figures are of: distinct keys, hierarchies and the search."""
    from flou.protect.micro.lattice.key_file import KeyFile
    from flou.protect.micro.lattice.requirement import models_of
    from flou.protect.micro.lattice.search import Search

    method = flou.protect.Generalise(k=5, suppression_limit=limit)
    file = KeyFile.of(people, models_of(5, ()))
    return Search(method._evaluator(file)).run().best


def optima(rows: pl.DataFrame) -> list[Line]:
    lines = []
    for (n_keys, limit), peer in _ARX.items():
        people = adult(rows, n_keys)
        alone, whole = alternate(7, partial(search_alone, people, limit), partial(searched, people, limit))
        bound = 1.0 if limit == 0 else 0.333
        name = f"optimum, Adult, {n_keys} keys, k = 5, {limit:.0%} suppression"
        lines += [Line(f"{name}: search", alone, peer, bound), Line(f"{name}: released and proven", whole, peer, bound)]
    return lines


def once(job: Any) -> tuple[float, Any]:
    started = time.process_time()
    found = job()
    return time.process_time() - started, found


def large(rows: pl.DataFrame) -> list[Line]:
    people = adult(mixed(rows, 1_000_000), 9)
    n_keys = people.key_table(people.schema.keys).n_keys
    spent, step = once(lambda: searched(people, 0.05))
    print(f"1 million rows, {n_keys:,} distinct keys: score {step.score:.6f}, {step.n_evaluated} nodes evaluated")
    return [Line(f"optimum, 1 million rows, {n_keys:,} distinct keys, 5% suppression", spent, 60.0, 0.25)]


def local(rows: pl.DataFrame) -> list[Line]:
    people = adult(rows, 9)
    lines = []
    for method in (flou.protect.LocalRecode(k=5), flou.protect.Mondrian(k=5)):
        spent = alternate(3, partial(method.protect, people, secret=1))[0]
        step = method.protect(people, secret=1).steps[0]
        name = f"{method.title}, Adult, 9 keys, granularity {step.granularity:.4f} (ARX 0.932)"
        lines.append(Line(name, spent, 5.5, 0.91))
    spent = alternate(3, lambda: flou.protect.Generalise(k=5).frontier(adult(rows, 8)))[0]
    lines.append(Line("frontier, Adult, 8 keys, every k from 2 to 20 and every limit", spent, None, 1.1, " s"))
    return lines


def suppressed(n: int) -> list[Line]:
    people = flou.Microdata(key_frame(n, 0.0), keys=KEYS)
    spent, release = once(lambda: flou.protect.LocalSuppression(k=3).protect(people, secret=1))
    step = release.steps[0]
    name = f"local suppression, k = 3, {n:,} rows × 6 keys: {step.n_nulls:,} nulls in {step.n_changed:,} records"
    return [Line(name, spent, None, 30.0, " s")]


def wide_suppressed(n: int) -> list[Line]:
    """Half a million distinct keys, most of them unique."""
    sizes = {"sex": 2, "region": 26, "age": 90, "marital": 5, "occupation": 12, "education": 8}
    people = flou.Microdata(key_frame(n, 0.0, sizes=sizes), keys=list(sizes))
    n_keys = people.key_table(people.schema.keys).n_keys
    spent, release = once(lambda: flou.protect.LocalSuppression(k=3).protect(people, secret=1))
    step = release.steps[0]
    name = f"local suppression, k = 3, {n:,} rows × 6 keys, {n_keys:,} distinct: {step.n_nulls:,} nulls"
    return [Line(name, spent, None, 30.0, " s")]


def small(folder: Path) -> list[Line]:
    """The synthetic file of 2,000 that sdcMicro was run on, where it lies in DATA/micro_2000.csv."""
    given = folder / "micro_2000.csv"
    if not given.exists():
        return []
    people = flou.Microdata(pl.read_csv(given), keys=["sex", "region", "age", "marital", "occ"])
    spent, release = once(lambda: flou.protect.LocalSuppression(k=3).protect(people, secret=1))
    name = f"local suppression, k = 3, 2,000 rows × 5 keys: {release.steps[0].n_nulls:,} nulls"
    return [Line(name, spent, 18.8, 1.0)]


def gaps(n_instances: int) -> str:
    """How far the search stays from the minimum, on random instances of 40 records."""
    from flou.protect.micro.nulls.exact import null_cells_exactly
    from flou.protect.micro.nulls.parts import mask_costs
    from flou.protect.micro.nulls.solve import null_cells

    found: list[float] = []
    for seed in range(1000, 1000 + n_instances):
        rng = np.random.default_rng(seed)
        d, k = int(rng.integers(3, 6)), int(rng.integers(2, 5))
        rows = np.stack([rng.integers(0, size, 40) for size in rng.integers(2, 7, d)], axis=1)
        codes, counts = np.unique(rows, axis=0, return_counts=True)
        ours, least = null_cells(codes, counts, k), null_cells_exactly(codes, counts, k)
        cost = [float(mask_costs(x.mask, np.ones(d)) @ x.n) for x in (ours, least)]
        found.append(cost[0] / cost[1] - 1 if cost[1] else 0.0)
    return (
        f"Local suppression beside the exact minimum, {n_instances} random instances of 40 records, 3 to 5 keys, k = 2 "
        f"to 4: {np.mean(found):.2%} dearer on average, {np.max(found):.2%} at most, "
        f"{sum(g < 1e-9 for g in found)} exact.\n"
    )


def run(folder: Path) -> None:
    rows = adult_rows(folder)
    publish("generalise", table("Generalising", "ARX 3.9.2", [*optima(rows), *large(rows), *local(rows)]))
    warm = flou.Microdata(key_frame(1000, 0.0), keys=KEYS)
    flou.protect.LocalSuppression(k=3).protect(warm, secret=1)
    lines = [*small(folder), *suppressed(1_000_000), *wide_suppressed(1_000_000)]
    publish("local_suppression", table("Local suppression", "sdcMicro 5.8.1", lines) + "\n" + gaps(40))
