"""Every figure that a step states, recounted from its input and its output.

Files are small and full of holes: records without any key, repeated values, strata of a few. What a figure says of a
search cannot be recounted from the files; those are named here with the reason. A figure that is neither fails.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl
import pytest
from tests.contracts import cases
from tests.depth import at_depth

import flou
from flou.engine.errors import FlouError
from flou.engine.protection import Protection
from flou.engine.values import text_of

ROW = "row"
Frame = pl.DataFrame
#: A figure of a step, from the method, the records before and those that are left, in one order.
Recount = Callable[[Any, Frame, Frame, flou.Release], Any]


def held(frame: Frame, columns: list[str]) -> list[tuple[Any, ...]]:
    return frame.select(columns).rows()


def keys_of(method: Any) -> list[str]:
    return [c for c in cases.KEYS if getattr(method, "keys", None) in (None, ()) or c in method.keys]


def lost_every_key(method: Any, before: Frame, after: Frame, release: flou.Release) -> int:
    """Records that had a key and show none; where records are dropped, all of these."""
    gone = before.height - after.height
    if gone:
        return gone
    pairs = zip(held(before, cases.KEYS), held(after, cases.KEYS), strict=True)
    return sum(1 for b, a in pairs if any(x is not None for x in b) and all(x is None for x in a))


def differ(before: Frame, after: Frame, column: str) -> int:
    return sum(
        (None if b is None else text_of(b)) != (None if a is None else text_of(a))
        for b, a in zip(before[column].to_list(), after[column].to_list(), strict=True)
    )


def nulled(before: Frame, after: Frame) -> list[int]:
    """How many keys each record lost."""
    pairs = zip(held(before, cases.KEYS), held(after, cases.KEYS), strict=True)
    return [sum(b is not None and a is None for b, a in zip(bs, as_, strict=True)) for bs, as_ in pairs]


def known_keys(frame: Frame) -> list[tuple[Any, ...]]:
    return [row for row in held(frame, cases.KEYS) if any(x is not None for x in row)]


def beyond(method: Any, before: Frame, after: Frame, release: flou.Release) -> int:
    """Values beyond the stated bound."""
    bound, values = release.steps[0].bound, before[method.column].drop_nulls()
    return int((values > bound).sum() if type(method).__name__ == "TopCode" else (values < bound).sum())


def ratios(before: Frame, after: Frame, method: Any) -> np.ndarray[Any, Any]:
    return after["w"].to_numpy() / before["w"].to_numpy()


def effect(weights: pl.Series) -> float:
    w = weights.to_numpy()
    return float(len(w) * (w**2).sum() / w.sum() ** 2)


def variance_lost(method: Any, before: Frame, after: Frame, release: flou.Release) -> float | None:
    """The share of the variance that lies within groups: records that show the same values, stratum by stratum."""
    if method.partition != "mdav" or not all(before[c].dtype.is_numeric() for c in method.columns):
        return None  # groups of single columns, whose means may be alike
    strata = [before[c] for c in ([method.by] if isinstance(method.by, str) else method.by)]
    group = pl.DataFrame([*strata, *(after[c].alias(f"shown {c}") for c in method.columns)])
    shares, n_known = [], []
    for column in method.columns:
        n_known.append(before[column].drop_nulls().len())
        frame = group.with_columns(value=before[column]).filter(pl.col("value").is_not_null())
        within = frame.with_columns(mean=pl.col("value").mean().over(group.columns))
        whole = frame["value"] - frame["value"].mean()
        shares.append(((within["value"] - within["mean"]) ** 2).sum() / (whole**2).sum())
    return float(np.average(shares, weights=n_known))  # columns have one variance for each value that is known


RECOUNTS: dict[str, dict[str, Recount]] = {
    **{
        name: {"n_suppressed": lost_every_key}
        for name in ("generalise", "local_recode", "mondrian", "datafly", "samarati")
    },
    "top_code": {"n_coded": beyond},
    "bottom_code": {"n_coded": beyond},
    "local_suppression": {
        "n_keys": lambda m, b, a, r: len(set(held(b, keys_and_strata(m)))),
        "n_nulls": lambda m, b, a, r: sum(nulled(b, a)),
        "n_changed": lambda m, b, a, r: sum(n > 0 for n in nulled(b, a)),
    },
    "random_code": {
        "n_records_hidden": lambda m, b, a, r: differ(b, a, m.column),
        "n_areas_hidden": lambda m, b, a, r: len(set(b[m.column]) - set(a[m.column])),
        "n_codes": lambda m, b, a, r: len(set(a[m.column]) - set(b[m.column])),
    },
    "drop_records": {"n_dropped": lambda m, b, a, r: b.height - a.height},
    "pram": {
        "share_changed": lambda m, b, a, r: differ(b, a, m.column) / b[m.column].drop_nulls().len(),
    },
    "calibrate_weights": {
        "smallest_ratio": lambda m, b, a, r: ratios(b, a, m).min(),
        "largest_ratio": lambda m, b, a, r: ratios(b, a, m).max(),
        "ratio_cv": lambda m, b, a, r: ratios(b, a, m).std() / ratios(b, a, m).mean(),
        "design_effect_before": lambda m, b, a, r: effect(b["w"]),
        "design_effect": lambda m, b, a, r: effect(a["w"]),
        "n_totals": lambda m, b, a, r: sum(len(cells) for _, cells in m.margins) + len(m.totals),
    },
    "interval_blur": {
        "mean_deviation": lambda m, b, a, r: a[m.column].mean() / b[m.column].mean() - 1,
        "close": lambda m, b, a, r: (
            ((a[m.column] - b[m.column]).abs() <= 0.01 * b[m.column].abs()).filter(b[m.column] != 0).mean()
        ),
        "n_saturated": lambda m, b, a, r: 0 if m.saturated is None else int((b[m.column] >= m.saturated).sum()),
        "n_zeros": lambda m, b, a, r: int((b[m.column] == 0).sum()) if m.scale == "log" else 0,
    },
    "microaggregation": {"variance_lost": variance_lost},
    "rank_swap": {
        f"share_unchanged_{c}": lambda m, b, a, r, c=c: 1 - differ(b, a, c) / b[c].drop_nulls().len()  # type: ignore[misc]
        for c in ("income", "age", "spending")
    },
}
#: What no file tells: the course of a search or a fit, or numbers that the method was given.
NOT_OF_THE_FILES = {
    "score": "the loss that a search minimised, checked against exhaustive search in tests/protect/brute",
    "n_nodes": "the size of the lattice", "n_evaluated": "nodes that a search looked at", "bound": "a search or a limit",
    "optimal": "whether a search ended", "second_score": "a search", "granularity": "a loss, checked in brute/",
    "n_levels": "rounds of a search", "n_classes": "classes of a model", "n_steps": "rounds", "height": "a node's height",
    "replacement": "a parameter", "n_rare_keys": "classes of the input by a rule", "cost": "a weighted number of nulls",
    "n_groups": "groups of equal means may be alike", "n_covariates": "a model", "sigma": "a model",
    "n_divided_by_zero": "intermediate results", "n_recovered": "intermediate results", "rounds": "rounds",
    "expected_share_changed": "an expectation", "n_iterations": "rounds of a fit",
}  # fmt: skip


def keys_and_strata(method: Any) -> list[str]:
    return [*cases.KEYS, *([method.by] if isinstance(method.by, str) else method.by or ())]


def file_of(seed: int) -> Frame:
    """A small file, some records of which have no key at all."""
    rng = np.random.default_rng(seed)
    frame = cases.rows(int(rng.integers(60, 140)), seed)
    gone = pl.Series(rng.random(frame.height) < rng.choice([0.0, 0.02, 0.1]))
    holes = [pl.when(gone).then(None).otherwise(pl.col(c)).alias(c) for c in cases.KEYS]
    return frame.with_columns(*holes, pl.int_range(frame.height).alias(ROW))


PROTECTIONS = [
    pytest.param(method, id=f"{name}-{i}")
    for name, methods in cases.EXAMPLES.items()
    for i, method in enumerate(methods)
    if isinstance(method, Protection)
]


@pytest.mark.parametrize("method", PROTECTIONS)
def test_figures_of_a_step_on_records(method: Protection) -> None:
    n = at_depth(5, 60)
    released = [recounted(method, seed) for seed in range(n)]
    assert any(released), "every file was refused: nothing was recounted"


def recounted(method: Protection, seed: int) -> bool:
    """Recount the figures of a step on one file; False where the step is refused, and states none."""
    before = file_of(seed)
    data = cases.people(frame=before)
    data = data.with_schema(data.schema.with_changes(others=[*data.schema.others, ROW]))
    try:
        release = method.protect(data, secret=flou.Secret.from_seed(seed), period="2026")
    except FlouError:
        return False
    step, after = release.steps[-1], pl.DataFrame(release.to_frame())
    recount = RECOUNTS.get(method.name(), {})
    unknown = set(step.figures) - set(recount) - set(NOT_OF_THE_FILES)
    assert not unknown, f"nobody recounts {unknown}"
    assert (step.n_records_before, step.n_records_after) == (before.height, after.height)
    kept = before.join(after.select(ROW), on=ROW, how="semi").sort(ROW)
    after = after.sort(ROW)
    whole = before.sort(ROW) if after.height < before.height else kept
    for name, figure in step.figures.items():
        expected = recount[name](method, whole, after, release) if name in recount else None
        if expected is not None:
            assert figure == pytest.approx(expected, rel=2e-3, abs=1e-6), name
    changed = {change.column: change for change in step.changes}
    for column in kept.columns:
        if column in after.columns and column not in changed:
            assert not differ(kept, after, column), column
    for column, change in changed.items():
        assert change.dropped == (column in kept.columns and column not in after.columns)
        if change.n_changed is not None and column in kept.columns and not change.dropped:
            assert change.n_changed == differ(kept, after, column), column
    return True


@pytest.mark.parametrize("name", ["Generalise", "Datafly", "Samarati", "LocalRecode"])
def test_suppressed_records_are_counted_whether_they_are_kept_or_dropped(name: str) -> None:
    """Some had no key before; with the suppressed ones they are too few to be shown, and all of them are dropped."""
    n_dropped = 0
    for seed in range(at_depth(25, 300)):
        rng = np.random.default_rng(seed)
        limit = {} if name == "LocalRecode" else {"suppression_limit": 0.3}
        method = getattr(flou.protect, name)(k=int(rng.integers(2, 7)), no_hierarchy="suppress", **limit)
        n = int(rng.integers(25, 60))
        frame = cases.rows(n, seed).with_columns(pl.int_range(n).alias(ROW), region=pl.lit("A"))
        gone = pl.int_range(n) < rng.integers(0, 4)
        frame = frame.with_columns(pl.when(~gone).then(pl.col(c)).alias(c) for c in cases.KEYS)
        data = cases.people(frame=frame)
        data = data.with_schema(data.schema.with_changes(others=[*data.schema.others, ROW]))
        try:
            release = method.protect(data, secret=flou.Secret.from_seed(seed))
        except FlouError:
            continue
        after = pl.DataFrame(release.to_frame()).sort(ROW)
        assert release.steps[0].n_suppressed == lost_every_key(method, frame, after, release), seed
        n_dropped += after.height < n
    assert n_dropped or name == "LocalRecode"  # which generalises further before it drops
