"""The story of the example: what a ministry's anonymisation found, and what the same way finds here.

The figures beside ours are those of Djiriguian, Missègue & Ricroch (2022) for the real file; ours are of
synthetic people who resemble them.
"""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl
from rich.table import Table

from flou.cli.show import console
from flou.engine.comparison import ComparisonResult
from flou.engine.release import Step
from flou.engine.result import Result
from flou.engine.values import percent
from flou.job.carry_out import Done
from flou.protect.micro.random_code import RandomCode


def tell_story(done: Done) -> None:
    """Print the figures of the release beside the paper's."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name, right in (("", False), ("here", True), ("paper", True)):
        table.add_column(name, justify="right" if right else "left", overflow="fold")
    for what, here, paper in story(done):
        table.add_row(what, here, paper)
    console().print(table)


def story(done: Done) -> Iterator[tuple[str, str, str]]:
    """What was found, here and in the paper."""
    steps = {step.method.name(): step for step in done.release.steps}
    yield "beneficiaries", f"{done.original.n_records:,}", "618,000"
    yield "departments under 2,000, with a random code", str(steps["random_code"].n_areas_hidden), "7"
    blurred = [s for s in done.release.steps if s.method.name() == "interval_blur"]
    yield "columns blurred within their class", str(len(blurred)), "4"
    worst = max(abs(s.mean_deviation) for s in blurred)
    yield "  largest deviation of a blurred mean", f"{percent(worst)}%", ""
    yield from _keys(steps["local_suppression"], steps["random_code"])
    dropped = steps["drop_records"]
    yield "people dropped for l = 2 on GIR", f"{dropped.n_dropped:,}", "140"
    yield from _risks(done)
    yield "records released, a half sample", f"{done.release.data.n_records:,}", "309,000"
    weights = steps["calibrate_weights"]
    yield "  calibrated weights over design weights", f"{weights.smallest_ratio:.3f} to {weights.largest_ratio:.3f}", ""
    yield from _utility(done)


def _keys(nulling: Step, coding: Step) -> Iterator[tuple[str, str, str]]:
    rare: pl.DataFrame = nulling.rare_keys
    code = coding.method
    assert isinstance(code, RandomCode)
    explained = rare.filter(
        pl.col(code.column).str.starts_with(code.prefix).fill_null(True) | pl.any_horizontal(pl.all().is_null())
    )
    share = nulling.n_rare_keys / nulling.n_keys
    yield "keys: department, sex, couple, 12 age classes", f"{nulling.n_keys:,}", "5,000"
    yield "  below 3 people", f"{nulling.n_rare_keys:,} ({percent(share)}%)", "250 (5%)"
    yield "    with a random code or an unknown value", f"{explained.height:,}", "220"
    yield "    others", f"{rare.height - explained.height:,}", "30"
    yield "  values nulled for k = 3", f"{nulling.n_nulls:,}", ""


def _risks(done: Done) -> Iterator[tuple[str, str, str]]:
    found = {(r.method, r.measured_on): r for r in done.results}
    expected: Result = found["global_risk", "frame"]
    yield "expected re-identifications", f"{expected.expected:,.0f} ({percent(expected.value)}%)", "5,000 (0.8%)"
    for method, letter, paper in (("k_anonymity", "k", "3"), ("l_diversity", "l", "2")):
        yield f"{letter} of the frame", str(found[method, "frame"].figures[letter]), paper
        yield f"{letter} of the sample, if one knew who is in it", str(found[method, "release"].figures[letter]), ""


def _utility(done: Done) -> Iterator[tuple[str, str, str]]:
    compared = {r.method: r for r in done.results if isinstance(r, ComparisonResult)}
    summary, regression, coherence = compared["summary"], compared["regression"], compared["coherence"]
    yield "largest deviation of a mean", f"{percent(summary.mean_deviation)}%", "< 10%"
    yield "  by GIR and by income class", f"{percent(summary.group_deviation)}%", "< 10%"
    yield "regression of human help: intervals overlap", f"{percent(regression.value)}%", "same message"
    apart = f"{regression.n_sign_changed} of {regression.n_coefficients}"
    yield "  coefficients that changed sign", apart, ""
    yield "Hellinger distance of the allowance, worst GIR", f"{coherence.worst_group:.3f}", ""
