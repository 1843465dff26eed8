"""Noise without a bound: the likeliest population and the confidences, against all populations worth looking at."""

from __future__ import annotations

import itertools
import math
import random

import polars as pl
import pytest

import flou
from flou.describe.mechanism.noise import GaussianNoise, GeometricNoise

COMBOS = [(u, v) for u in "ab" for v in "xyz"]
#: Each published cell and who is in it.
CELLS = [
    ((u, v), [i for i, (a, b) in enumerate(COMBOS) if u in ("Total", a) and v in ("Total", b)])
    for u in ("Total", "a", "b")
    for v in ("Total", "x", "y", "z")
]
MOST, TAIL = 9, 60


@pytest.mark.parametrize("kind", ["geometric", "gaussian"])
def test_noise_without_a_bound_against_all_populations(kind: str) -> None:
    for seed in range(3):
        rnd = random.Random(f"{kind} {seed}")
        scale = 0.7
        weights = [_weight(kind, scale, z) for z in range(-TAIL, TAIL + 1)]
        people = [rnd.randrange(6) for _ in range(rnd.randint(1, 5))]
        shown = [
            max(sum(p in inside for p in people) + rnd.choices(range(-TAIL, TAIL + 1), weights)[0], 0)
            for _, inside in CELLS
        ]
        logs: dict[tuple[int, ...], float] = {}
        for counts in itertools.product(range(MOST + 1), repeat=6):
            if sum(counts) <= MOST:
                pairs = zip(CELLS, shown, strict=True)
                logs[counts] = sum(_log_chance(weights, sum(counts[i] for i in inside), s) for (_, inside), s in pairs)
        best = max(logs.values())
        found = _reconstructed(kind, scale, shown, "likelihood")
        assert found.certain.height == 0
        held = {(u, v): n for u, v, n in found.records.select("u", "v", "count").rows()}
        assert logs[tuple(held.get(c, 0) for c in COMBOS)] == pytest.approx(best, abs=1e-6)

        posterior = {c: math.exp(value - best + _log_prior(c)) for c, value in logs.items()}
        whole = sum(posterior.values())
        for u, v, confidence in (
            _reconstructed(kind, scale, shown, "posterior").records.select("u", "v", "confidence").rows()
        ):
            i = COMBOS.index((u, v))
            assert confidence == pytest.approx(sum(w for c, w in posterior.items() if c[i]) / whole, abs=0.05)


def _weight(kind: str, scale: float, z: int) -> float:
    return math.exp(-abs(z) / scale) if kind == "geometric" else math.exp(-z * z / (2 * scale**2))


def _log_chance(weights: list[float], true: int, shown: int) -> float:
    """What falls below zero is shown as zero."""
    chosen = weights[shown - true + TAIL] if shown else sum(weights[: TAIL - true + 1])
    return math.log(max(chosen / sum(weights), 1e-300))


def _log_prior(counts: tuple[int, ...]) -> float:
    return math.lgamma(sum(counts) + 1) - sum(counts) * math.log(6) - sum(math.lgamma(x + 1) for x in counts)


def _reconstructed(kind: str, scale: float, shown: list[int], mode: str) -> object:
    frame = pl.DataFrame({"u": [u for (u, _), _ in CELLS], "v": [v for (_, v), _ in CELLS], "count": shown})
    mechanism = (GeometricNoise if kind == "geometric" else GaussianNoise)(scale)
    table = flou.Table.from_published(frame, ["u", "v"], mechanism=mechanism, cells="all")
    domain = {"u": ["a", "b"], "v": ["x", "y", "z"]}
    return flou.attack.Reconstruction(mode=mode, domain=domain).reconstruct(table, secret=4)
