"""Every guarantee of random plans, recounted from the file that is written, by code that knows nothing of the methods.

Plans of two to five steps in any order, on small files. Many are refused, for one step undoes what another guarantees;
of those that release (some 500 in depth), each guarantee is taken at its word and counted in the CSV file. What a file
cannot show, such as how noise was drawn, is named with the reason; a guarantee that is neither fails.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from tests.contracts import cases
from tests.depth import at_depth

import flou
from flou.engine.errors import FlouError
from flou.engine.guarantee import Proof
from flou.engine.values import text_of

P, R = flou.protect, flou.risk
ROW = "row"
SECRET = flou.Secret.from_seed(1)
#: A guarantee recounted: its values, the file, the input, and the release for what the office knows.
Recount = Callable[[dict[str, Any], pl.DataFrame, pl.DataFrame, flou.Release], int]


def _texts(values: pl.Series) -> list[str | None]:
    return [None if v is None else text_of(v) for v in values.to_list()]


def _numbers(values: pl.Series) -> np.ndarray[Any, Any]:
    return values.drop_nulls().cast(pl.Float64, strict=False).drop_nulls().to_numpy()


def _names(value: Any) -> list[str]:
    return [value] if isinstance(value, str) and ", " not in value else str(value).split(", ")


def _off(values: pl.Series, unit: float) -> int:
    shares = _numbers(values) / unit
    return int((np.abs(shares - np.rint(shares)) > 1e-6).sum())


def _too_few(file: pl.DataFrame, columns: list[str], least: int, *, nulls: bool) -> int:
    """Records whose combination of columns has too few; without nulls those that lack one are left aside."""
    held = [c for c in columns if c in file.columns]
    known = file if nulls else file.drop_nulls(held)
    sizes = known.group_by(held).len()
    return int(sizes.filter(pl.col("len") < least)["len"].sum())


def flagged(said: dict[str, Any], file: pl.DataFrame, before: pl.DataFrame, release: flou.Release) -> int:
    """Classes by all keys that the file shows, null being a category of its own."""
    keys = [c for c in cases.KEYS if c in file.columns]
    settings = said["settings"]
    strata = [settings["by"]] if isinstance(settings.get("by"), str) else list(settings.get("by") or ())
    if said["method"] == "k-anonymity":
        sets = combinations(keys, settings["subsets"]) if settings.get("subsets") else [keys]
        return sum(_too_few(file, [*chosen, *strata], int(settings["k"]), nulls=True) for chosen in sets)
    assert said["method"] == "l-diversity"
    kinds = file.group_by(keys).agg(pl.col("illness").n_unique().alias("kinds"), pl.len().alias("n"))
    return int(kinds.filter(pl.col("kinds") < settings["l"])["n"].sum())


def finer(said: dict[str, Any], file: pl.DataFrame, before: pl.DataFrame, release: flou.Release) -> int:
    """Values of the input are shown no more, unless they stand for themselves."""
    column = said["column"]
    own = {text for text in _texts(before[column].unique()) if text is not None}
    return sum(text in own for text in _texts(file[column])) if column in file.columns else 0


def out_of_class(said: dict[str, Any], file: pl.DataFrame, before: pl.DataFrame, release: flou.Release) -> int:
    """Each record shows a value of the class of its original one."""
    column = said["column"]
    blur = next(s for s in release.steps if s.method.name() == "interval_blur" and s.method.column == column)
    edges = np.array(blur.details["edges"][0][1:-1])
    both = before.select(ROW, pl.col(column).alias("was")).join(file.select(ROW, column), on=ROW).drop_nulls()
    was, now = (np.searchsorted(edges, both[c].to_numpy(), side="right") for c in ("was", column))
    return int((was != now).sum())


def few_areas(said: dict[str, Any], file: pl.DataFrame, before: pl.DataFrame, release: flou.Release) -> int:
    column = said["column"]
    if column not in file.columns:
        return 0
    sizes = file.drop_nulls(column).filter(~pl.col(column).str.contains(r"^R\d+$")).group_by(column).len()
    return int(sizes.filter(pl.col("len") < said["size"])["len"].sum())


def missed_totals(said: dict[str, Any], file: pl.DataFrame, before: pl.DataFrame, release: flou.Release) -> int:
    wrong = 0
    for step in release.steps:
        if step.method.name() == "calibrate_weights":
            for column, cells in step.method.margins:
                found = dict(file.group_by(column).agg(pl.col("w").sum()).rows())
                wrong += sum(abs(found.get(None if k == "null" else k, 0.0) - v) > 1e-3 * abs(v) for k, v in cells)
    return wrong


RECOUNTS: dict[str, Recount] = {
    "no record is flagged by {method} ({settings})": flagged,
    "no value of {column} finer than its recoding is left": finer,
    "no value of {column} above {bound} is shown": lambda s, f, b, r: int(
        (_numbers(f[s["column"]]) > s["bound"]).sum()
    ),
    "no value of {column} below {bound} is shown": lambda s, f, b, r: int(
        (_numbers(f[s["column"]]) < s["bound"]).sum()
    ),
    "every combination of {columns} that is shown is shown by at least {group_size} records": lambda s, f, b, r: (
        _too_few(f, _names(s["columns"]), s["group_size"], nulls=True)
    ),
    "within {by}, every value of {columns} is shown by at least {group_size} records": lambda s, f, b, r: sum(
        _too_few(f, [*_names(s["by"]), c], s["group_size"], nulls=False) for c in _names(s["columns"])
    ),
    "every combination of {columns} is shown by {k} records or more": lambda s, f, b, r: _too_few(
        f, _names(s["columns"]), s["k"], nulls=True
    ),
    "every value of {column} stays in its class": out_of_class,
    "{column} is shown in multiples of {unit}": lambda s, f, b, r: _off(f[s["column"]], s["unit"]),
    "only multiples of {unit} are shown in {column}": lambda s, f, b, r: _off(f[s["column"]], s["unit"]),
    "{columns}: shown in multiples of {unit}": lambda s, f, b, r: sum(
        _off(f[c], s["unit"]) for c in _names(s["columns"])
    ),
    "no area of {column} with fewer than {size} units is shown": few_areas,
    "the weights are positive and meet the totals of {columns} within {tolerance} of their size": missed_totals,
    "none of the columns that the schema declares as identifiers is left": lambda s, f, b, r: int("name" in f.columns),
    "the records are a sample, each as it stands in the file that it was drawn from": lambda s, f, b, r: (
        f.height - f.join(b.select(ROW), on=ROW, how="semi").unique(ROW).height
    ),
}
#: Guarantees that no file shows: how something was drawn, or who could be matched with whom.
NOT_IN_THE_FILE = {
    "{column} shows its original values no more often than chance, give or take 1%": "a test of how values were drawn",
    "the codes of {column} cannot be matched to areas by size": "a matching that the step itself tries",
    "the values of {column} carry noise of the size asked for": "a test of how noise was drawn",
    "the values of {column} were drawn again by the transition matrix": "a test of how values were drawn",
    "{columns}: nothing that a later step hides stands in a derived column": "what was hidden is not in the file",
    "{columns}: no original amount is computed back from the ratios": "an attack, which tests of its own recount",
    "values of {columns} were exchanged between records": "who exchanged with whom is not in the file",
    "values of {column} were exchanged between records of close rank": "who exchanged with whom is not in the file",
}


def totals_of(column: str, before: pl.DataFrame, rng: np.random.Generator) -> dict[str, float]:
    """Totals that the weights do not meet yet."""
    held = before.group_by(column).agg(pl.col("w").sum()).sort(column)
    return {"null" if key is None else str(key): round(total * rng.uniform(0.8, 1.3), 1) for key, total in held.rows()}


def drawn_step(rng: np.random.Generator, before: pl.DataFrame) -> Any:
    k = int(rng.integers(2, 6))
    steps: list[Callable[[], Any]] = [
        lambda: P.Recode("age", level=str(rng.choice(["five", "decade"]))),
        lambda: P.TopCode("income", at=int(rng.integers(1000, 3000))),
        lambda: P.BottomCode("income", at=int(rng.integers(300, 700))),
        lambda: P.Generalise(k=k, no_hierarchy="suppress", suppression_limit=0.3),
        lambda: P.LocalRecode(k=k, no_hierarchy="suppress"),
        lambda: P.Mondrian(k=k),
        lambda: P.Mondrian([R.LDiversity(2)], k=k),
        lambda: P.Samarati(k=k, no_hierarchy="suppress", suppression_limit=0.3),
        lambda: P.Datafly(k, no_hierarchy="suppress", suppression_limit=0.3),
        lambda: P.LocalSuppression(k=k, search="quick"),
        lambda: P.LocalSuppression(k=k, subsets=2, search="quick"),
        lambda: P.LocalSuppression(k=k, subsets=[["region", "sex"], ["age"]], search="quick"),
        lambda: P.LocalSuppression(k=k, search="quick", importance={"region": 100}),
        lambda: P.DropRecords(R.KAnonymity(k=k, missing="category"), max_share=0.9),
        lambda: P.Microaggregation(["income", "spending"], group_size=k),
        lambda: P.Microaggregation(["income", "spending"], group_size=k, partition="univariate", by="sex"),
        lambda: P.IntervalBlur("spending", given=["sex"], classes=4),
        lambda: P.Round("income", unit=float(rng.choice([1, 5, 50]))),
        lambda: P.RandomCode("region", min_size=int(rng.integers(10, 40))),
        lambda: P.AdditiveNoise("income", unit=1),
        lambda: P.MultiplicativeNoise("income", unit=1),
        lambda: P.RankSwap("income", reach=0.1),
        lambda: P.CalibrateWeights({"sex": totals_of("sex", before, rng)}),
        lambda: P.Derive(["extra = max(3 * age - 40, 0)"], unit=5),
        lambda: P.Derive(["extra = original.spending / original.income * income"], unit=1, at_most=5000),
        lambda: P.Pram(str(rng.choice(["region", "sex"]))),
        lambda: P.RandomSwap("illness", share=0.2),
        lambda: P.Sample(share=0.6),
        lambda: P.DropIdentifiers(),
    ]
    return steps[int(rng.integers(len(steps)))]()


def released(seed: int) -> tuple[flou.Release, pl.DataFrame] | None:
    """A random plan on a random file; None where it is refused."""
    rng = np.random.default_rng(seed)
    before = cases.rows(int(rng.integers(80, 240)), seed)
    areas = [f"a{i}" for i in range(int(rng.integers(4, 9)))]
    before = before.with_columns(
        pl.int_range(before.height).alias(ROW), region=pl.Series(rng.choice(areas, before.height))
    )
    data = flou.Microdata(before, **{**cases.ROLES, "others": ["income", "spending", ROW]}).marked(synthetic=True)
    try:
        steps = [drawn_step(rng, before) for _ in range(int(rng.integers(2, 6)))]
        if rng.random() < 0.3:  # what later steps undo most easily
            steps = [P.RandomCode("region", min_size=int(rng.integers(10, 30))), *steps]
        return flou.Plan(steps).protect(data, secret=flou.Secret.from_seed(seed), period="2026"), before
    except FlouError:
        return None


def violations(proof: Proof, file: pl.DataFrame, before: pl.DataFrame, release: flou.Release) -> int | None:
    """How often a file breaks a guarantee, by counting; None where it cannot be told from files."""
    text, values = proof.promise.text, proof.promise.values
    if text in NOT_IN_THE_FILE:
        return None
    assert text in RECOUNTS, f"nobody recounts «{text}»"
    if proof.guarantee.on_frame:
        # of a sample of a sample the guarantee is of the file before that one of them which came after it
        return min(_counted(text, values, frame, before, release) for frame in _frames(release.data))
    return _counted(text, values, file, before, release)


def _frames(data: Any) -> list[pl.DataFrame]:
    """The files that samples were drawn from, the last one first."""
    held = data.kin.frame
    return [] if held is None else [pl.DataFrame(held.shown().to_native()), *_frames(held)]


def _counted(text: str, values: dict[str, Any], file: pl.DataFrame, before: pl.DataFrame, release: flou.Release) -> int:
    named = [*_names(values.get("columns", ())), *_names(values.get("column", ()))] if values else []
    if any(c and c not in file.columns for c in named if re.fullmatch(r"\w+", c)):
        return 0  # what is not shown is not shown in the wrong way
    return RECOUNTS[text](values, file, before, release)


@pytest.mark.parametrize("block", range(10))
def test_each_guarantee_holds_in_the_written_file(block: int, tmp_path: Path) -> None:
    n_released = n_counted = 0
    for seed in range(block * 1000, block * 1000 + at_depth(15, 90)):
        made = released(seed)
        if made is None:
            continue
        release, before = made
        path = tmp_path / f"{seed}.csv"
        flou.write(release, path, unprotected=True)
        file = pl.read_csv(path, infer_schema_length=None)
        for proof in release.guarantees:
            found = violations(proof, file, before, release)
            assert not found, f"{seed}: «{proof}» has {found} violations after {[s.method for s in release.steps]}"
            n_counted += found is not None
        n_released += 1
    assert n_released > 1
    assert n_counted > n_released


#: A step, and a change of its file that breaks what it guarantees.
BROKEN: dict[str, tuple[Any, pl.Expr]] = {
    "totals": (P.CalibrateWeights({"sex": {"F": 900.0, "M": 800.0, "null": 90.0}}), pl.col("w") * 1.01),
    "subsets": (
        P.LocalSuppression(k=3, subsets=[["region", "sex"], ["age"]], search="quick"),
        pl.when(pl.col(ROW) == 7).then(pl.lit("alone")).otherwise(pl.col("region")).alias("region"),
    ),
    "multiples": (P.Derive(["extra = 3 * age"], unit=5), pl.col("extra") + 1),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_recount_notices_a_file_that_breaks_the_guarantee(name: str, tmp_path: Path) -> None:
    step, breaks = BROKEN[name]
    before = cases.rows(150, 3).with_columns(pl.int_range(150).alias(ROW))
    roles = {**cases.ROLES, "others": ["income", "spending", ROW]}
    release = step.protect(flou.Microdata(before, **roles).marked(synthetic=True), secret=SECRET)
    flou.write(release, tmp_path / "file.csv", unprotected=True)
    file = pl.read_csv(tmp_path / "file.csv", infer_schema_length=None)
    found = [
        [violations(proof, f, before, release) or 0 for proof in release.guarantees]
        for f in (file, file.with_columns(breaks))
    ]
    assert sum(found[0]) == 0 < sum(found[1])
