"""Every node of a small lattice, row by row: the definitions written out, with nothing of the library's kernels.

A `Case` is a small table with the hierarchies of its keys, made by `random_case`. `Case.nodes` goes through the whole
lattice; `failing` says what a class fails; `untrue` and `unsafe` look at a released frame.
"""

from __future__ import annotations

import math
import random
import re
from collections import Counter
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import product
from typing import Any

import polars as pl

import flou

QUALITIES = ("loss", "mean_loss", "precision", "discernibility", "average_class_size", "non_uniform_entropy")
LIMITS = (0, 0.1, 0.5, 1)
Value = Any
Row = dict[str, Value]


def text(value: Value) -> str | None:
    if value is None:
        return None
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)


# ------------------------------------------------------------------------------------------------ hierarchies


@dataclass
class Key:
    """A key and its hierarchy: `above` gives the labels of a value from level 0 on, without the root."""

    name: str
    hierarchy: flou.Hierarchy | None
    above: Any
    #: What records may have; and the leaves that are declared: rows of the table, or modalities.
    values: list[Value]
    declared: list[Value]
    not_applicable: list[Value] = field(default_factory=list)
    modalities: list[Value] | None = None
    height: int = 1

    def shown(self, value: Value, level: int) -> str | None:
        """What a record with this value shows at a level."""
        if level == self.height:
            return "*"
        if value is None or value in self.not_applicable:
            return text(value)
        return self.above(value)[level]

    def labels(self, value: Value) -> set[str | None]:
        """All that is true of a value."""
        return {self.shown(value, level) for level in range(self.height + 1)} | {"*", None}

    def leaves(self, column: list[Value]) -> set[Value]:
        """The domain: what is declared, and what occurs."""
        return {*self.declared, *self.not_applicable, *column}

    def n_below(self, label: str | None, level: int, leaves: set[Value]) -> int:
        """How many leaves show this label at this level."""
        return sum(self.shown(leaf, level) == label for leaf in leaves)


def tree_key(name: str, rng: random.Random) -> Key:
    """A tree of two or three levels below the root; sometimes an inner node is called like one of its leaves."""
    n_top, deep = rng.randint(1, 3), rng.random() < 0.5
    paths: dict[str, list[str]] = {}
    tree: dict[str, Any] = {}
    for t in range(n_top):
        top = f"{name}{t}"
        middles: dict[str, list[str]] = {}
        for m in range(rng.randint(1, 2) if deep else 1):
            leaves = [f"{top}.{m}.{i}" for i in range(rng.randint(1, 3))]
            middle = leaves[0] if rng.random() < 0.3 else f"{top}.{m}"
            middles[middle] = leaves
            for leaf in leaves:
                paths[leaf] = [leaf, middle, top] if deep else [leaf, top]
        tree[top] = middles if deep else [leaf for part in middles.values() for leaf in part]
    # One top for all is the root already.
    height = (3 if deep else 2) - (n_top == 1)
    return Key(name, flou.Hierarchy.tree(tree), paths.__getitem__, list(paths), list(paths), height=height)


def band_key(name: str, rng: random.Random) -> Key:
    kind = rng.randrange(3)
    widths = [(5,), (5, 10), (2, 10, 20)][kind]

    def above(value: int) -> list[str]:
        lows = [(value // w * w, w) for w in widths]
        return [str(value), *(f"{low}-{low + w - 1}" for low, w in lows)]

    some = sorted(rng.sample(range(40), rng.randint(1, 6)))
    modalities = sorted({*some, *rng.sample(range(40), 3)}) if rng.random() < 0.4 else None
    return Key(
        name,
        flou.Hierarchy.bands(*widths),
        above,
        modalities or some,
        modalities or [],
        modalities=modalities,
        height=len(widths) + 1,
    )


def prefix_key(name: str, rng: random.Random) -> Key:
    lengths = rng.choice([(1,), (2,), (3, 1), (2, 1)])

    def above(value: str) -> list[str]:
        return [value, *(value[:n] + "*" * max(0, len(value) - n) for n in lengths)]

    letters = "AB1"
    some = sorted({"".join(rng.choice(letters) for _ in range(rng.choice([4, 4, 4, 3, 2]))) for _ in range(6)})
    modalities = sorted({*some, "AAA1", "BBB1"}) if rng.random() < 0.4 else None
    return Key(
        name,
        flou.Hierarchy.prefix(*lengths),
        above,
        modalities or some,
        modalities or [],
        modalities=modalities,
        height=len(lengths) + 1,
    )


def plain_key(name: str, rng: random.Random) -> Key:
    """A key without hierarchy: kept as it is, or hidden."""
    return Key(name, None, lambda value: [text(value)], [f"{name}{c}" for c in "xyz"], [])


def number_key(name: str, rng: random.Random) -> Key:
    """Numbers without hierarchy, with signs and decimals: for Mondrian's ranges."""
    if rng.random() < 0.5:
        return Key(name, None, lambda value: [text(value)], [rng.randint(-20, 20) for _ in range(9)], [])
    return Key(name, None, lambda value: [text(value)], [rng.randint(-80, 80) / 4 for _ in range(9)], [])


# ------------------------------------------------------------------------------------------------ models


def shares(values: list[Value]) -> dict[Value, Fraction]:
    return {v: Fraction(c, len(values)) for v, c in Counter(values).items()}


def exact(number: float) -> Fraction:
    return Fraction(str(number))


@dataclass(frozen=True)
class Model:
    """A privacy model by its definition; `of` is Flou's, `fails` says whether a class of rows breaks it."""

    kind: str
    number: float
    c: float = 2

    @property
    def of(self) -> Any:
        risk = flou.risk
        kind, number = self.kind, self.number
        if kind == "k":
            return risk.KAnonymity(k=int(number), missing="category")
        if kind in ("distinct", "entropy", "recursive"):
            return risk.LDiversity(l=number, kind=kind, c=self.c)
        if kind == "t":
            return risk.TCloseness(t=number)
        if kind == "t-hierarchical":
            return risk.TCloseness(t=number, distance="hierarchical")
        if kind == "t-ordered":
            return risk.TCloseness(t=number, distance="ordered")
        if kind == "delta":
            return risk.DisclosureDelta(delta=number)
        return risk.BetaLikeness(beta=number, kind=kind)

    def fails(self, rows: list[Row], case: Case) -> bool:
        if self.kind == "k":
            return len(rows) < self.number
        return any(self._fails([r[s] for r in rows], case.whole(s), case) for s in case.sensitive)

    def _fails(self, values: list[Value], whole: list[Value], case: Case) -> bool:
        if self.kind in ("distinct", "entropy", "recursive"):
            return self._not_diverse(values)
        p, q = shares(values), shares(whole)
        if self.kind.startswith("t"):
            return self._distance(p, q, case) > exact(self.number)
        for v in p:
            ratio = p[v] / q[v]
            if self.kind == "delta":
                far = max(ratio, 1 / ratio)
                if float(self.number).is_integer():
                    if far >= 2 ** int(self.number):
                        return True
                elif math.log2(far) >= self.number:
                    return True
                continue
            if self.kind == "basic" and ratio - 1 > exact(self.number):
                return True
            if self.kind == "enhanced" and float(ratio - 1) > min(self.number, -math.log(q[v])) + 1e-12:
                return True
        return False

    def _not_diverse(self, values: list[Value]) -> bool:
        counts = Counter(values)
        lost = counts.pop(None, 0)
        r = sorted(counts.values(), reverse=True) or [0]
        r[0] += lost
        n = sum(r)
        if self.kind == "distinct":
            return len(r) < self.number
        if self.kind == "entropy":
            return math.exp(-sum(x / n * math.log(x / n) for x in r)) < self.number - 1e-9
        l = int(self.number)
        return not r[0] < exact(self.c) * sum(r[l - 1 :])

    def _distance(self, p: dict[Value, Fraction], q: dict[Value, Fraction], case: Case) -> Fraction:
        zero = Fraction(0)
        excess = {v: p.get(v, zero) - q[v] for v in q}
        if self.kind == "t":
            return sum((abs(e) for e in excess.values()), zero) / 2
        if self.kind == "t-ordered":
            run, total = zero, zero
            for v in sorted(q, key=SCALE.index):
                run += excess[v]
                total += abs(run)
            return total / max(len(q) - 1, 1)
        # From the leaves up: what is too much and too little under an inner node meets there, as far as it goes.
        height, total = SENSITIVE_HEIGHT, zero
        below = dict(excess)
        for level in range(1, height + 1):
            groups: dict[str, list[Fraction]] = {}
            for node, e in below.items():
                groups.setdefault(_sensitive_parent(node, level), []).append(e)
            for es in groups.values():
                plus = sum((e for e in es if e > 0), zero)
                minus = -sum((e for e in es if e < 0), zero)
                total += Fraction(level, height) * min(plus, minus)
            below = {node: sum(es, zero) for node, es in groups.items()}
        return total


#: The sensitive values in their declared order.
SCALE = "abcdef"
#: The tree of the sensitive values a to f: two groups, one of which has two groups itself; and the root.
SENSITIVE_TREE = {"x": {"x1": ["a", "b"], "x2": ["c", "d"]}, "y": {"y1": ["e", "f"]}}
SENSITIVE_HEIGHT = 3
_PARENT = {
    1: {"a": "x1", "b": "x1", "c": "x2", "d": "x2", "e": "y1", "f": "y1"},
    2: {"x1": "x", "x2": "x", "y1": "y"},
    3: {"x": "*", "y": "*"},
}


def _sensitive_parent(node: str, level: int) -> str:
    return _PARENT[level][node]


def failing(rows: list[Row], models: list[Model], case: Case) -> bool:
    return any(m.fails(rows, case) for m in models)


# ------------------------------------------------------------------------------------------------ the table


@dataclass
class Node:
    levels: tuple[int, ...]
    n_suppressed: int
    score: float
    safe: bool
    suppressed: list[int]


@dataclass
class Case:
    keys: list[Key]
    rows: list[Row]
    sensitive: list[str]

    def whole(self, column: str) -> list[Value]:
        return [r[column] for r in self.rows]

    def frame(self, order: list[int] | None = None) -> pl.DataFrame:
        rows = self.rows if order is None else [self.rows[i] for i in order]
        types = {k.name: _type(k) for k in self.keys} | dict.fromkeys(self.sensitive, pl.String)
        columns = {name: [r[name] for r in rows] for name in self.rows[0]}
        return pl.DataFrame({n: pl.Series(n, v, dtype=types.get(n)) for n, v in columns.items()})

    def people(self, order: list[int] | None = None, **more: Any) -> flou.Microdata:
        hierarchies = {k.name: k.hierarchy for k in self.keys if k.hierarchy is not None}
        hierarchies |= {s: flou.Hierarchy.tree(SENSITIVE_TREE) for s in self.sensitive}
        roles: dict[str, Any] = {
            "keys": [k.name for k in self.keys],
            "sensitive": self.sensitive,
            "hierarchies": hierarchies,
            "not_applicable": {k.name: k.not_applicable for k in self.keys if k.not_applicable},
            "modalities": {k.name: [*k.modalities, *k.not_applicable] for k in self.keys if k.modalities is not None}
            | {s: list(SCALE) for s in self.sensitive},
        }
        return flou.Microdata(self.frame(order), flou.Schema(**(roles | more)))

    @property
    def lattice(self) -> list[tuple[int, ...]]:
        return list(product(*(range(k.height + 1) for k in self.keys)))

    def classes(self, levels: tuple[int, ...]) -> dict[tuple[str | None, ...], list[int]]:
        found: dict[tuple[str | None, ...], list[int]] = {}
        for i, row in enumerate(self.rows):
            shown = tuple(k.shown(row[k.name], l) for k, l in zip(self.keys, levels, strict=True))
            found.setdefault(shown, []).append(i)
        return found

    def node(
        self,
        levels: tuple[int, ...],
        models: list[Model],
        limit: float,
        quality: str = "loss",
        importance: dict[str, float] | None = None,
    ) -> Node:
        classes = self.classes(levels)
        bad = {c for c, where in classes.items() if failing([self.rows[i] for i in where], models, self)}
        gone = sorted(i for c in bad for i in classes[c])
        # a file that is suppressed whole is no release
        safe = len(gone) <= math.floor(exact(limit) * len(self.rows)) and len(gone) < len(self.rows)
        kept = [where for c, where in classes.items() if c not in bad]
        score = self.score(levels, kept, gone, quality, importance or {})
        return Node(levels, len(gone), score, safe, gone)

    def nodes(self, *args: Any, **more: Any) -> list[Node]:
        return [self.node(levels, *args, **more) for levels in self.lattice]

    def score(
        self, levels: tuple[int, ...], kept: list[list[int]], gone: list[int], quality: str, weight: dict[str, float]
    ) -> float:
        """The measures of quality as ARX defines them, without its cut at ten decimals."""
        n, s, d = len(self.rows), len(gone), len(self.keys)
        if quality == "average_class_size":
            return n / (len(kept) + (s > 0))
        if quality == "discernibility":
            return sum(len(where) ** 2 for where in kept) + n * s
        w = [weight.get(k.name, 1) for k in self.keys]
        if quality == "precision":
            return sum(wi * ((n - s) * l / k.height + s) / n for wi, l, k in zip(w, levels, self.keys, strict=True)) / d
        if quality == "non_uniform_entropy":
            return sum(wi * self._entropy(k, l, gone) for wi, l, k in zip(w, levels, self.keys, strict=True))
        losses = [self._loss(k, l, set(gone)) for k, l in zip(self.keys, levels, strict=True)]
        if quality == "mean_loss":
            return sum(wi * x for wi, x in zip(w, losses, strict=True)) / d
        return math.prod((wi * x + 1) ** (1 / d) for wi, x in zip(w, losses, strict=True)) - 1

    def _loss(self, key: Key, level: int, gone: set[int]) -> float:
        leaves = key.leaves(self.whole(key.name))
        n, size = len(self.rows), len(leaves)
        raw = Fraction(0)
        share: dict[str | None, Fraction] = {}
        for i, row in enumerate(self.rows):
            label = key.shown(row[key.name], level)
            if label not in share:
                share[label] = Fraction(key.n_below(label, level, leaves), size)
            raw += 1 if i in gone else share[label]
        if size == 1:
            return 0.0  # one leaf: there is nothing to lose
        return float(max(Fraction(0), (raw - Fraction(n, size)) / (n - Fraction(n, size))))

    def _entropy(self, key: Key, level: int, gone: list[int]) -> float:
        column = self.whole(key.name)
        leaf, up = Counter(column), Counter(key.shown(v, level) for v in column)
        total = -sum(c * math.log2(c / up[key.shown(v, level)]) for v, c in leaf.items())
        lost = Counter(key.shown(column[i], level) for i in gone)
        return total - sum(c * math.log2(c / len(gone)) for c in lost.values())


def _type(key: Key) -> Any:
    if any(isinstance(v, float) for v in key.values):
        return pl.Float64
    return pl.Int64 if any(isinstance(v, int) for v in key.values) else pl.String


MAKERS = {"tree": tree_key, "bands": band_key, "prefix": prefix_key, "plain": plain_key, "numbers": number_key}


def random_case(
    rng: random.Random,
    n_keys: int | None = None,
    *,
    plain: bool = False,
    numbers: bool = False,
    sensitive_nulls: bool = True,
) -> Case:
    """Two to four keys of all sorts, with nulls and codes of not applicable, and one or two sensitive columns."""
    keys: list[Key] = []
    kinds = ["tree", "bands", "prefix", *["plain"] * plain, *["numbers"] * numbers]
    for j in range(n_keys or rng.randint(2, 4)):
        kind = rng.choice(kinds)
        key = MAKERS[kind](f"q{j}", rng)
        if rng.random() < 0.3 and kind != "numbers":
            key.not_applicable = [99] if kind == "bands" else ["none"]
        keys.append(key)
    n = rng.randint(5, rng.choice([12, 30, 60]))
    columns: dict[str, list[Value]] = {"rid": list(range(n))}
    for key in keys:
        values = [*key.values, *key.not_applicable]
        some = rng.sample(values, rng.randint(1, min(len(values), rng.choice([2, 4, 8]))))
        nulls = rng.choice([0, 0, 0.15])
        columns[key.name] = [None if rng.random() < nulls else rng.choice(some) for _ in range(n)]
    sensitive = [f"s{j}" for j in range(rng.choice([1, 1, 2]))]
    nulls = rng.choice([0, 0, 0.1]) if sensitive_nulls else 0
    for name in sensitive:
        some = SCALE[: rng.randint(2, 6)]
        columns[name] = [rng.choice(some) if rng.random() < 0.7 else some[0] for _ in range(n)]
        columns[name] = [None if rng.random() < nulls else v for v in columns[name]]
    columns["other"] = [rng.randrange(100) for _ in range(n)]
    rows = [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]
    return Case(keys, rows, sensitive)


def without_empty_keys(case: Case) -> Case:
    """The case with no record whose keys are all null from the start."""
    for row in case.rows:
        key = case.keys[row["rid"] % len(case.keys)]
        if all(row[k.name] is None for k in case.keys):
            row[key.name] = key.values[0]
    return case


def random_models(rng: random.Random, case: Case, only_k: bool = False, monotone: bool = False) -> list[Model]:
    """One to three models: k alone, k with another, or others alone."""
    k = Model("k", rng.choice([1, 2, 2, 3, 5]))
    if only_k or rng.random() < 0.25:
        return [k]
    others = [
        Model("distinct", rng.choice([2, 3])),
        Model("entropy", rng.choice([1.5, 2, 2.5])),
        Model("recursive", rng.choice([2, 3]), rng.choice([1, 2, 3.5])),
        Model("t", rng.choice([0.2, 0.3, 0.5])),
        Model("t-hierarchical", rng.choice([0.2, 0.3, 0.4])),
        Model("t-ordered", rng.choice([0.2, 0.3, 0.4])),
        Model("delta", rng.choice([1, 1.3, 2])),
        Model("basic", rng.choice([0.5, 1, 2])),
        Model("enhanced", rng.choice([0.5, 1, 2])),
    ]
    if any(v is None for s in case.sensitive for v in case.whole(s)):
        others = [m for m in others if m.kind not in ("t-hierarchical", "t-ordered")]
    if monotone:
        others = others[:1]
    chosen = rng.sample(others, rng.choice([1, 1, 2]) if len(others) > 1 else 1)
    return [k, *chosen] if rng.random() < 0.7 else chosen


# ------------------------------------------------------------------------------------------------ a released frame


def released(release: Any) -> list[Row]:
    return release.data.to_frame(reveal=True).sort("rid").to_dicts()


def unsafe(rows: list[Row], models: list[Model], case: Case) -> list[tuple[str | None, ...]]:
    """The keys whose records, those that show the very same, break a model against the whole input."""
    classes: dict[tuple[str | None, ...], list[Row]] = {}
    for row in rows:
        classes.setdefault(tuple(text(row[k.name]) for k in case.keys), []).append(row)
    return [c for c, members in classes.items() if failing(members, models, case)]


def untrue(rows: list[Row], case: Case, ranges: bool = False) -> list[tuple[int, str, Value, Value]]:
    """What is shown and not true of the record, and what should have stayed and did not."""
    wrong: list[tuple[int, str, Value, Value]] = []
    origin = {r["rid"]: r for r in case.rows}
    if len({r["rid"] for r in rows}) != len(rows):
        wrong.append((-1, "rid", None, "twice"))
    for row in rows:
        was = origin.get(row["rid"])
        if was is None:
            wrong.append((row["rid"], "rid", None, "invented"))
            continue
        wrong += [(row["rid"], c, was[c], row[c]) for c in ("other", *case.sensitive) if was[c] != row[c]]
        for key in case.keys:
            value, shown = was[key.name], text(row[key.name])
            if shown not in key.labels(value) and not (ranges and in_range(value, shown)):
                wrong.append((row["rid"], key.name, value, shown))
    return wrong


def in_range(value: Value, shown: str | None) -> bool:
    """Whether a range such as 23-37 or -15 to 25 holds a number."""
    number = r"(-?\d+(?:\.\d+)?)"
    found = re.fullmatch(rf"{number}(?:-| to ){number}", shown or "")
    return value is not None and bool(found) and float(found[1]) <= float(value) <= float(found[2])
