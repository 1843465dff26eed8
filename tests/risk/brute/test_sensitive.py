"""Diversity, closeness, delta-disclosure and beta-likeness against their definitions, class by class."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import polars as pl
import pytest
from scipy.optimize import linprog

import flou

TREE = {"r": {"left": ["a", "b"], "right": ["c", "d", "e"]}, "q": {"top": ["f"], "low": ["g", "h"]}}
PATH = {leaf: (middle, top) for top, under in TREE.items() for middle, leaves in under.items() for leaf in leaves}


def classes(rows):
    """The records of each class: those with the same key, a null being like a null."""
    found = {}
    for i, row in enumerate(rows):
        found.setdefault(row, []).append(i)
    return found


def counts(values, missing="pessimistic"):
    """The frequencies of the values of a class; nulls join the most frequent value, or are a value."""
    some = Counter(values)
    if missing == "pessimistic":
        lost = some.pop(None, 0)
        if not some:
            return [lost]
        most = some.most_common(1)[0][0]
        some[most] += lost
    return sorted(some.values(), reverse=True)


def reached(values, kind, c, missing):
    r = counts(values, missing)
    n = sum(r)
    if kind == "distinct":
        return len(r)
    if kind == "entropy":
        return math.exp(-sum(x / n * math.log(x / n) for x in r))
    return max([1, *(l for l in range(1, len(r) + 1) if r[0] < c * sum(r[l - 1 :]))])


def random_file(seed, values="abcdefgh", nulls=0.2, n_sensitive=1):
    rng = np.random.default_rng(seed)
    size = int(rng.integers(1, 40))
    rows = [(None if rng.random() < 0.1 else int(rng.integers(3)), int(rng.integers(2))) for _ in range(size)]
    some = [
        [None if rng.random() < nulls else str(v) for v in rng.choice(list(values[: rng.integers(1, 9)]), size)]
        for _ in range(n_sensitive)
    ]
    frame = pl.DataFrame(
        {"x": pl.Series([r[0] for r in rows], dtype=pl.Int64), "y": [r[1] for r in rows]}
        | {f"s{j}": pl.Series(v, dtype=pl.String) for j, v in enumerate(some)}
    )
    return frame, rows, some, [f"s{j}" for j in range(n_sensitive)]


def microdata(frame, names, **roles):
    return flou.Microdata(frame, keys=["x", "y"], sensitive=names, **roles)


@pytest.mark.parametrize("missing", ["pessimistic", "category"])
@pytest.mark.parametrize("kind", ["distinct", "entropy", "recursive"])
@pytest.mark.parametrize("n_sensitive", [1, 3])
def test_diversity(kind, missing, n_sensitive):
    """Each class and each sensitive column by itself; the least diverse column counts."""
    for seed in range(50):
        frame, rows, some, names = random_file(seed, n_sensitive=n_sensitive)
        c, l = (1, 2, 3.5)[seed % 3], (1, 2, 3, 4)[seed % 4]
        result = flou.risk.LDiversity(l=l, kind=kind, c=c, missing=missing).measure(microdata(frame, names))
        expected = [0.0] * len(rows)
        bad = 0
        for where in classes(rows).values():
            found = min(reached([column[i] for i in where], kind, c, missing) for column in some)
            for i in where:
                expected[i] = found
            # The definition of (c, l) itself: a class where r1 < c (r_l + ... + r_m) does not hold fails, l = 1 too.
            bad += len(where) * (found < l - 1e-9)
        assert result.units.tolist() == pytest.approx(expected), seed
        assert result.l == pytest.approx(min(expected))
        assert result.value == pytest.approx(bad / len(rows)), seed
        assert result.by_key.height == len(classes(rows))


@pytest.mark.parametrize("l", [2, 3, 4, 5, 6, 7, 10, 11, 13, 49, 100])
@pytest.mark.parametrize("each", [1, 3, 7, 10])
def test_l_uniform_values_are_exactly_l_diverse(l, each):
    """On the boundary: l equally frequent values have entropy log l, and satisfy l, not the next."""
    frame = pl.DataFrame({"x": [1] * (l * each), "y": [1] * (l * each), "s": [f"v{i}" for i in range(l)] * each})
    for kind in ("distinct", "entropy"):
        assert flou.risk.LDiversity(l=l, kind=kind).measure(microdata(frame, ["s"])).value == 0
        result = flou.risk.LDiversity(l=l + 0.001 if kind == "entropy" else l + 1, kind=kind)
        assert result.measure(microdata(frame, ["s"])).value == 1
    # r1 = each; r_l = each: each < c * each holds for c > 1 only, strictly.
    assert flou.risk.LDiversity(l=l, kind="recursive", c=1).measure(microdata(frame, ["s"])).value == 1
    assert flou.risk.LDiversity(l=l, kind="recursive", c=1.0001).measure(microdata(frame, ["s"])).value == 0


@pytest.mark.parametrize(("c", "r"), [(0.1, [3, 30]), (1.1, [11, 10]), (0.3, [3, 10]), (0.7, [7, 10]), (2.3, [23, 10])])
def test_recursive_is_strict_with_decimals(c, r):
    """r1 = c r2 in decimals is no diversity, however c is rounded."""
    r = sorted(r, reverse=True)
    c = r[0] / r[1] if r[0] != c * r[1] else c
    values = ["p"] * r[0] + ["q"] * r[1]
    frame = pl.DataFrame({"x": [1] * len(values), "y": [1] * len(values), "s": values})
    assert flou.risk.LDiversity(l=2, kind="recursive", c=c).measure(microdata(frame, ["s"])).value == 1


@pytest.mark.parametrize("level", [0, 1, 2])
@pytest.mark.parametrize("kind", ["distinct", "entropy", "recursive"])
def test_diversity_of_generalised_values(level, kind):
    """With level= the values are those of the hierarchy; with groups= those of the groups."""
    for seed in range(15):
        frame, rows, some, names = random_file(seed)
        up = {leaf: (leaf, *path)[level] for leaf, path in PATH.items()}
        expected = [0.0] * len(rows)
        for where in classes(rows).values():
            values = [None if some[0][i] is None else up[some[0][i]] for i in where]
            for i in where:
                expected[i] = reached(values, kind, 2, "pessimistic")
        data = microdata(frame, names, hierarchies={"s0": flou.Hierarchy.tree(TREE)})
        if level:
            got = flou.risk.LDiversity(l=2, kind=kind, level=level).measure(data)
            assert got.units.tolist() == pytest.approx(expected)
        if any(v is not None for v in some[0]):
            got = flou.risk.LDiversity(l=2, kind=kind, groups={k: v for k, v in up.items() if k in some[0]}).measure(
                data
            )
            assert got.units.tolist() == pytest.approx(expected)


# --------------------------------------------------------------------------------------------- closeness


def transport(p, q, ground):
    """The smallest work that turns p into q: the transport problem itself."""
    m = len(p)
    into, out = np.zeros((m, m * m)), np.zeros((m, m * m))
    for i in range(m):
        for j in range(m):
            into[i, i * m + j] = out[j, i * m + j] = 1
    found = linprog(np.ravel(ground), A_eq=np.vstack([into, out]), b_eq=[*p, *q], method="highs")
    assert found.success
    return found.fun


def share(values, domain):
    return [sum(v == d for v in values) / len(values) for d in domain]


def height_of_meeting(one, other):
    """The level of the lowest common ancestor over the height of the tree (leaf, middle, top, root)."""
    if one == other:
        return 0.0
    for level, (a, b) in enumerate(zip(PATH[one], PATH[other], strict=True), start=1):
        if a == b:
            return level / 3
    return 1.0


def ground_distance(distance, domain):
    m = len(domain)
    if distance == "equal":
        return 1 - np.eye(m)
    if distance == "ordered":
        return np.abs(np.subtract.outer(np.arange(m), np.arange(m))) / max(m - 1, 1)
    return [[height_of_meeting(a, b) for b in domain] for a in domain]


@pytest.mark.parametrize("distance", ["equal", "ordered", "hierarchical"])
@pytest.mark.parametrize("original", [False, True])
def test_closeness(distance, original):
    """Against the file itself, or an original with more records and more values."""
    tree = flou.Hierarchy.tree(TREE)
    for seed in range(12):
        frame, rows, some, names = random_file(seed, nulls=0)
        whole = some[0]
        against = None
        roles = {"hierarchies": {"s0": tree}} if distance == "hierarchical" else {}
        if distance == "ordered":
            frame = frame.with_columns(
                pl.col("s0").replace_strict({v: i for i, v in enumerate("abcdefgh")}).alias("s0")
            )
            some = [frame["s0"].to_list()]
            whole = some[0]
        if original:
            extra = random_file(seed + 1000, nulls=0)[0]
            if distance == "ordered":
                extra = extra.with_columns(
                    pl.col("s0").replace_strict({v: i for i, v in enumerate("abcdefgh")}).alias("s0")
                )
            both = pl.concat([frame, extra])
            whole = both["s0"].to_list()
            against = microdata(both, names, **roles)
        domain = sorted(set(whole))
        ground = ground_distance(distance, domain)
        result = flou.risk.TCloseness(t=0.25, distance=distance).measure(
            microdata(frame, names, **roles), against=against
        )
        expected = [0.0] * len(rows)
        for where in classes(rows).values():
            d = transport(share([some[0][i] for i in where], domain), share(whole, domain), ground)
            for i in where:
                expected[i] = d
        assert result.units.tolist() == pytest.approx(expected, abs=1e-9), seed
        assert result.t == pytest.approx(max(expected), abs=1e-9)
        assert result.value == pytest.approx(np.mean([d > 0.25 + 1e-9 for d in expected]))


def test_ordered_closeness_counts_values_by_their_order_in_the_declared_list():
    """The order of the modalities, when declared, is that of the scale; values that nobody has keep a place."""
    frame = pl.DataFrame({"x": [1, 2, 1, 2], "y": [1, 1, 1, 1], "s": ["low", "high", "low", "middle"]})
    scale = ["low", "middle", "high"]
    data = microdata(frame, ["s"], modalities={"s": scale})
    result = flou.risk.TCloseness(t=0.1, distance="ordered").measure(data)
    whole = share(frame["s"].to_list(), scale)
    ground = ground_distance("ordered", scale)
    one = transport(share(["low", "low"], scale), whole, ground)
    two = transport(share(["high", "middle"], scale), whole, ground)
    assert result.units.tolist() == pytest.approx([one, two, one, two])


# -------------------------------------------------------------------------------- delta and beta


@pytest.mark.parametrize("original", [False, True])
@pytest.mark.parametrize("n_sensitive", [1, 2])
def test_disclosure_and_likeness(original, n_sensitive):
    """Gains of the values that a class has, over the whole; nulls apart."""
    for seed in range(60):
        frame, rows, some, names = random_file(seed, nulls=0, n_sensitive=n_sensitive)
        against, whole = None, some
        if original:
            both = pl.concat([frame, random_file(seed + 1000, nulls=0, n_sensitive=n_sensitive)[0]])
            whole = [both[name].to_list() for name in names]
            against = microdata(both, names)
        data = microdata(frame, names)
        delta, beta = 0.5 + seed % 3, (0.3, 1.0, 2.5)[seed % 3]
        n = len(rows)
        far, gain, breaks_d, breaks_b, breaks_e = [0.0] * n, [0.0] * n, [False] * n, [False] * n, [False] * n
        for where in classes(rows).values():
            for column, everyone in zip(some, whole, strict=True):
                for v in {column[i] for i in where}:
                    p = sum(column[i] == v for i in where) / len(where)
                    q = sum(w == v for w in everyone) / len(everyone)
                    for i in where:
                        far[i] = max(far[i], abs(math.log2(p / q)))
                        gain[i] = max(gain[i], (p - q) / q)
                        breaks_d[i] |= abs(math.log2(p / q)) >= delta
                        breaks_b[i] |= (p - q) / q > beta + 1e-12
                        breaks_e[i] |= (p - q) / q > min(beta, -math.log(q)) + 1e-12
        result = flou.risk.DisclosureDelta(delta=delta).measure(data, against=against)
        assert result.units.tolist() == pytest.approx(far)
        assert result.delta == pytest.approx(max(far))
        if not any(abs(d - delta) < 1e-9 for d in far):
            assert result.value == pytest.approx(np.mean(breaks_d))
        result = flou.risk.BetaLikeness(beta=beta, kind="basic").measure(data, against=against)
        assert result.units.tolist() == pytest.approx(gain, abs=1e-12)
        assert result.beta == pytest.approx(max(gain), abs=1e-12)
        assert result.value == pytest.approx(np.mean(breaks_b)), seed
        result = flou.risk.BetaLikeness(beta=beta, kind="enhanced").measure(data, against=against)
        assert result.value == pytest.approx(np.mean(breaks_e)), seed
        assert result.flagged.tolist() == breaks_e


def test_disclosure_is_strict():
    """p = 1 and q = 1/8 have |log2| = 3 exactly: delta = 3 is broken, anything above is not."""
    frame = pl.DataFrame({"x": range(8), "y": [0] * 8, "s": list("abcdefgh")})
    data = microdata(frame, ["s"])
    assert flou.risk.DisclosureDelta(delta=3).measure(data).value == 1
    assert flou.risk.DisclosureDelta(delta=3.0001).measure(data).value == 0
    # p = 3/4 against q = 3/8: a gain of exactly 1.
    frame = pl.DataFrame({"x": [1] * 4 + [2] * 4, "y": [0] * 8, "s": ["p", "p", "p", "q", "q", "q", "q", "q"]})
    result = flou.risk.BetaLikeness(beta=1, kind="basic").measure(microdata(frame, ["s"]))
    assert result.value == 0
    assert result.beta == pytest.approx(1)
