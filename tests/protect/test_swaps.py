"""Random and rank swapping: what is exchanged, how far, what is kept, what is refused."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.depth import at_depth, examples

import flou
from flou.engine.errors import GuaranteeBrokenError
from flou.protect.micro.random_swap import count_pairs, pair_at_random
from flou.protect.micro.rank_swap import _ordered_bits, _partners
from flou.protect.micro.swap_kernels import sort_stably

P = flou.protect
SECRET = flou.Secret(bytes(range(32)))


def file(n: int = 4000, seed: int = 4) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    income = np.round(rng.lognormal(7, 1, n), 2)
    return pl.DataFrame(
        {
            "pid": rng.permutation(n) + 7,
            "income": income,
            "wage": np.round(income * rng.uniform(0.5, 1.0, n), 2),
            "age": rng.integers(20, 90, n),
            "job": pl.Series(rng.choice(["x", "y", ""], n)).replace("", None),
            "region": rng.choice(["A", "B", "C"], n),
        }
    )


def after(method: Any, frame: pl.DataFrame, secret: Any = SECRET) -> pl.DataFrame:
    out: pl.DataFrame = method.protect(flou.Microdata(frame, id="pid"), secret=secret).data.to_frame(reveal=True)
    return out


# random swapping


def test_random_swap_exchanges_values_together_within_groups() -> None:
    frame = file()
    out = after(P.RandomSwap(["income", "wage", "job"], share=0.2, by="region"), frame)
    together = ["region", "income", "wage", "job"]
    assert out.select(together).sort(together).equals(frame.select(together).sort(together))
    changed = (out["income"] != frame["income"]).sum()
    assert abs(changed - 0.2 * 4000) <= 10, "all incomes differ, and each group has its share of pairs"
    moved = out["income"] != frame["income"]
    back = dict(zip(frame["income"], frame["pid"], strict=True))
    if frame["income"].n_unique() == len(frame):
        partner = {p: back[v] for p, v in zip(out.filter(moved)["pid"], out.filter(moved)["income"], strict=True)}
        assert all(partner[q] == p for p, q in partner.items()), "pairs exchange"


@given(st.lists(st.integers(0, 4), min_size=2, max_size=60), st.floats(0.01, 1.0), st.integers(0, 1000))
def test_pairs(members: list[int], share: float, seed: int) -> None:
    groups = np.unique(np.array(members), return_inverse=True)[1].astype(np.int64)
    sizes = np.bincount(groups)
    rng = np.random.default_rng(seed)
    n_pairs = count_pairs(sizes, share, rng.random(len(sizes)))
    assert (np.abs(n_pairs - share * sizes / 2) < 1).all()
    assert (2 * n_pairs <= sizes).all()
    partner = pair_at_random(groups, sizes, n_pairs, rng.integers(0, 2**63, len(groups)).astype(np.uint64))
    assert np.array_equal(partner[partner], np.arange(len(groups))), "an exchange is mutual"
    assert np.array_equal(groups[partner], groups)
    moved = np.bincount(groups[partner != np.arange(len(groups))], minlength=len(sizes))
    assert np.array_equal(moved, 2 * n_pairs)


def test_everybody_is_as_likely_to_be_swapped() -> None:
    """Over many secrets each record is drawn as often as the share says, and with each partner alike."""
    frame = pl.DataFrame({"pid": range(10), "x": range(10)})
    n, share = at_depth(600, 3000), 0.4
    seen = np.zeros((10, 10))
    for seed in range(n):
        out = after(P.RandomSwap("x", share=share), frame, secret=seed)["x"].to_numpy()
        seen[np.arange(10), out] += 1
    assert (np.abs(np.diag(seen) - n * (1 - share)) < 5 * np.sqrt(n * share * (1 - share))).all()
    each = n * share / 9
    off = seen[~np.eye(10, dtype=bool)]
    assert (np.abs(off - each) < 5 * np.sqrt(each)).all()


def test_within_groups_too_everybody_is_as_likely_to_be_swapped() -> None:
    """Who is exchanged depends on the secret, not on the place in the group."""
    frame = pl.DataFrame({"pid": range(20), "x": range(20), "g": ["A", "B"] * 10})
    n, share = 100, 0.4
    swapped = np.zeros(20)
    for seed in range(n):
        swapped += (after(P.RandomSwap("x", share=share, by="g"), frame, secret=seed)["x"] != frame["x"]).to_numpy()
    assert (np.abs(swapped - n * share) < 5 * np.sqrt(n * share * (1 - share))).all()


def test_the_share_is_secret() -> None:
    frame = file(500)
    method = P.RandomSwap(["income"], share=0.1234)
    release = method.protect(flou.Microdata(frame, id="pid"), secret=SECRET)
    plan = flou.Plan([method])
    shown = [repr(method), repr(release), str(release.guarantees[0]), plan.to_public_toml(), repr(release.changes)]
    shown.append(json.dumps([method.shown_settings(), dict(release.steps[0].figures)]))
    n = release.steps[0].n_exchanged
    assert not any("0.1234" in text or str(n) in text for text in shown)
    assert "0.1234" in plan.to_toml()
    report = flou.Report(flou.Microdata(frame, id="pid"), release, results=[]).html(language="en")
    assert "how many is secret" in report
    assert "0.1234" not in report
    with pytest.raises(flou.FlouError) as caught:
        P.RandomSwap("a", share=1.234)
    assert "1.234" not in str(caught.value)
    assert "0.0777" not in repr(P.RankSwap("a", reach=0.0777))


# rank swapping


def distances(before: np.ndarray[Any, Any], now: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """How far each value went in rank at least: ties are as near as they can be."""
    order = np.sort(before)
    low, high = (np.searchsorted(order, before, side=s) for s in ("left", "right"))
    low_now, high_now = (np.searchsorted(order, now, side=s) for s in ("left", "right"))
    return np.maximum(0, np.maximum(low_now - (high - 1), low - (high_now - 1)))


@pytest.mark.parametrize("reach", [0.01, 0.05, 0.3, 1.0])
def test_rank_swap_keeps_marginals_and_stays_within_reach(reach: float) -> None:
    frame = file()
    out = after(P.RankSwap(["income", "age"], reach=reach), frame)
    for column in ("income", "age"):
        x, y = frame[column].to_numpy(), out[column].to_numpy()
        assert np.array_equal(np.sort(x), np.sort(y))
        assert distances(x, y).max() <= reach * 4000
    gap = distances(frame["income"].to_numpy(), out["income"].to_numpy())
    assert (frame["income"] == out["income"]).mean() < 0.01
    assert gap.max() > 0.8 * min(reach, 0.9) * 4000, "far partners are drawn too"


@examples(60)
@given(st.integers(2, 60), st.integers(1, 60), st.integers(0, 10_000))
def test_partners_against_the_definition(n: int, reach: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    bits = rng.integers(0, 2**63, n).astype(np.uint64)
    partner = _partners(np.array([n]), np.array([reach]), bits)
    assert np.array_equal(partner[partner], np.arange(n))
    assert np.abs(partner - np.arange(n)).max() <= reach
    for i in np.flatnonzero(partner == np.arange(n)):
        # whoever stays had nobody left: all above within reach were taken by ranks below
        above = np.arange(i + 1, min(i + reach, n - 1) + 1)
        assert (partner[above] < i).all()


def test_partners_are_drawn_alike_among_those_that_are_free() -> None:
    """The first of seven with a reach of 3: each of the three above as often; then the next free one."""
    rng = np.random.default_rng(3)
    n, first, second = 9000, np.zeros(7), np.zeros(7)
    for _ in range(n):
        partner = _partners(np.array([7]), np.array([3]), rng.integers(0, 2**63, 7).astype(np.uint64))
        first[partner[0]] += 1
        if partner[0] == 1:
            second[partner[2]] += 1
    assert first[[0, 4, 5, 6]].sum() == 0
    assert (np.abs(first[1:4] - n / 3) < 5 * np.sqrt(n * 2 / 9)).all()
    assert second[3:6].sum() == second.sum()
    assert (np.abs(second[3:6] - second.sum() / 3) < 5 * np.sqrt(second.sum() * 2 / 9)).all()


def test_sorting_is_stable() -> None:
    rng = np.random.default_rng(1)
    for n in (0, 1, 5, 1000, 30_000):
        values = np.round(rng.normal(0, 50, n)) + 0.0
        order = rng.permutation(n)
        assert np.array_equal(
            sort_stably(_ordered_bits(values), order), order[np.argsort(values[order], kind="stable")]
        )
    wide = np.concatenate([-(10.0 ** np.arange(-300, 300)), [0.0], 10.0 ** np.arange(-300, 300)])
    assert np.array_equal(sort_stably(_ordered_bits(wide), np.arange(len(wide))), np.argsort(wide, kind="stable"))


def test_rank_swap_within_groups_and_nulls() -> None:
    frame = file().with_columns(
        pl.when(pl.col("pid") % 4 == 0).then(None).when(pl.col("pid") % 4 == 1).then(999).otherwise("age").alias("age")
    )
    data = flou.Microdata(frame, id="pid", others=["age"], not_applicable={"age": [999]})
    out = P.RankSwap(["income", "age"], reach=0.1, by="region").protect(data, secret=SECRET).data.to_frame(reveal=True)
    assert (out["age"].is_null() == frame["age"].is_null()).all()
    assert ((out["age"] == 999) == (frame["age"] == 999)).fill_null(value=True).all()
    for region in "ABC":
        some = (frame["region"] == region).to_numpy()
        x, y = frame["income"].to_numpy()[some], out["income"].to_numpy()[some]
        assert np.array_equal(np.sort(x), np.sort(y))
        assert distances(x, y).max() <= 0.1 * some.sum()


def test_a_shorter_reach_keeps_more_of_a_correlation() -> None:
    frame = file()
    log = [pl.col(c).log() for c in ("income", "wage")]
    kept = []
    for reach in (0.01, 0.1, 0.5, 1.0):
        out = after(P.RankSwap(["income", "wage"], reach=reach), frame).select(log)
        kept.append(np.corrcoef(out["income"], out["wage"])[0, 1])
    assert kept == sorted(kept, reverse=True)
    true = frame.select(log)
    assert abs(kept[0] - np.corrcoef(true["income"], true["wage"])[0, 1]) < 0.02


# the proof


@pytest.mark.parametrize("method", [P.RandomSwap(["income", "age"], share=0.5), P.RankSwap(["income", "age"])])
def test_the_proof(method: Any) -> None:
    data = flou.Microdata(file(400), id="pid")
    release = method.protect(data, secret=SECRET)
    for proof in release.guarantees:
        assert proof.guarantee.violations(data) > 0
        assert proof.guarantee.violations(release.data) == 0
    one = release.data.to_frame(reveal=True)
    wrong = (one["income"] != file(400)["income"]).arg_true()[0]
    undone = one.with_columns(
        pl.when(pl.int_range(400) == wrong).then(file(400)["income"]).otherwise("income").alias("income")
    )
    assert release.guarantees[0].guarantee.violations(flou.Microdata(undone, id="pid")) == 0, (
        "changed since, most is left"
    )
    plan = flou.Plan([method, P.Round(["income", "age"], unit=5), P.TopCode("age", at=60)])
    assert plan.protect(data, secret=SECRET).guarantees
    kept = flou.Plan([method, P.DropRecords(flou.risk.KAnonymity(k=2, missing="category"))])
    keyed = flou.Microdata(file(400), id="pid", keys=["region", "job"])
    assert kept.protect(keyed, secret=SECRET).guarantees


def test_a_broken_swap_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """A kernel that went too far, or did nothing, would not be released."""
    import flou.protect.micro.rank_swap as module

    data = flou.Microdata(file(400), id="pid")
    monkeypatch.setattr(module, "_partners", lambda sizes, reaches, bits: np.arange(len(bits))[::-1].copy())
    with pytest.raises(GuaranteeBrokenError, match="close rank"):
        P.RankSwap("income").protect(data, secret=SECRET)
    monkeypatch.setattr(module, "_partners", lambda sizes, reaches, bits: np.arange(len(bits)))
    with pytest.raises(flou.FlouError, match="no value of 'income' changed"):
        P.RankSwap("income").protect(data, secret=SECRET)


# what is refused


def test_bad_input() -> None:
    frame = file(60)

    def refused(method: Any, match: str, held: pl.DataFrame = frame, **roles: Any) -> None:
        with pytest.raises(flou.FlouError, match=match):
            method.protect(flou.Microdata(held, id="pid", **roles), secret=SECRET)

    for kind in (P.RandomSwap, P.RankSwap):
        refused(kind("nothing"), "Columns: pid")
        refused(kind("pid"), "never published")
        refused(kind("wage"), "is the weight", weight="wage")
        refused(kind("income", by="income"), "both columns and by")
        refused(kind("income", by="pid"), "swapping in groups of one is impossible, and 60 groups")
        refused(kind("income"), "groups of one", frame.head(1))
        refused(kind("income"), "changed", frame.with_columns(income=pl.lit(1.0)))
    refused(P.RankSwap("job"), "numbers")
    refused(P.RankSwap("income"), "infinite", frame.with_columns(income=pl.lit(float("inf"))))
    refused(P.RandomSwap("income", share=0.001), "Raise share", frame.head(4))
