"""The populations, tables and protections that reconstruction is tried on, after Abado and Stefan (2024).

Their protocol: populations of 50 people, four tables of gender, age and marital status. Tables list all of
their cells, so that what is lost is measured on the same ones whatever protects them; of suppressed tables those that
somebody is in, since no empty cell is ever withheld. Suppression protects single tables: here each of the four by
itself, which an office should not do, and the most detailed one alone, which it may.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

import polars as pl

import flou

DIMS = (("gender", "age5"), ("gender", "marital"), ("gender", "age"), ("gender", "age5", "marital"))
DETAILED = DIMS[3]
#: How far ages may differ in a near match.
TOLERANCE = {"age": 2}
Counts = Mapping[tuple[Any, ...], int]


@dataclass(frozen=True)
class Case:
    """A protection: its name in both languages, and what it makes of a population."""

    code: str
    name: str
    french: str
    group: str
    protect: Callable[[Any, int], Any]
    #: Whether the most detailed table is published alone, and whether its cells have keys.
    alone: bool = False
    keyed: bool = False


@cache
def population(number: int) -> flou.Microdata:
    """Fifty people of the same distribution."""
    return flou.datasets.census(n=50, rng=number)


@cache
def similar() -> flou.Microdata:
    """What an intruder may know beforehand: 20,000 other people of the same distribution."""
    return flou.datasets.census(n=20_000, rng=999)


@cache
def published(number: int, alone: bool, keyed: bool, cells: Literal["occupied", "all"] = "all") -> Any:
    """The tables of a population before anything protects them."""
    people = flou.record_keys(population(number), secret=number) if keyed else population(number)
    return people.tabulate(DETAILED, cells=cells) if alone else flou.tabulate_many(people, DIMS, cells=cells)


def _suppressed(tables: Any, number: int) -> Any:
    method = flou.protect.CellSuppression(primary=(flou.risk.Threshold(n=3),))
    if isinstance(tables, flou.TableSet):
        return flou.TableSet.of([method.protect(table).data for table in tables])
    return method.protect(tables)


def _rounded(base: int) -> Callable[[Any, int], Any]:
    return lambda tables, number: flou.protect.RandomRounding(base=base).protect(tables, secret=number)


def _keyed(D: int, V: float, js: int) -> Callable[[Any, int], Any]:
    return lambda tables, number: flou.protect.CellKey(D=D, V=V, js=js).protect(tables)


def _noisy(epsilon: float) -> Callable[[Any, int], Any]:
    return lambda tables, number: flou.protect.NoisyCounts(epsilon=epsilon).protect(tables)


def _raw(tables: Any, number: int) -> Any:
    return tables


def _conventional(tables: Any, number: int) -> Any:
    return flou.protect.Rounding(base=5).protect(tables)


_CELL_KEYS = ((2, 1.0, 0), (5, 3.0, 2))
_BUDGETS = (20.0, 10.0, 5.0, 2.0, 1.0, 0.5)


def cases() -> dict[str, Case]:
    """Every protection by its code, the most open first in its group."""
    found = [
        Case("raw", "none", "aucune", "none", _raw),
        Case("suppressed", "suppression below 3, table by table", "secret sous 3, tableau par tableau", "suppression",
             _suppressed),
        Case("rounding5", "conventional rounding, base 5", "arrondi classique, base 5", "rounding", _conventional),
        *(Case(f"random{b}", f"random rounding, base {b}", f"arrondi aléatoire, base {b}", "rounding", _rounded(b))
          for b in (3, 5, 10)),
        Case("random5-keys", "random rounding by keys, base 5", "arrondi aléatoire par clés, base 5", "rounding",
             _rounded(5), keyed=True),
        *(Case(f"key{D}-{V:g}-{js}", f"cell keys, D = {D}, V = {V:g}, js = {js}",
               f"clés de cases, D = {D}, V = {V:g}, js = {js}", "cell keys", _keyed(D, V, js), keyed=True)
          for D, V, js in _CELL_KEYS),
    ]  # fmt: skip
    if hasattr(flou.protect, "NoisyCounts"):
        for e in _BUDGETS:
            code = f"noise{e:g}"
            found.append(Case(code, f"noise, ε = {e:g}", f"bruit, ε = {e:g}".replace(".", ","), "noise", _noisy(e)))
    found += [
        Case("one-raw", "none", "aucune", "none", _raw, True),
        Case("one-suppressed", "suppression below 3", "secret sous 3", "suppression", _suppressed, True),
        Case("one-random5", "random rounding, base 5", "arrondi aléatoire, base 5", "rounding", _rounded(5), True),
    ]  # fmt: skip
    return {case.code: case for case in found}


def columns(alone: bool) -> list[str]:
    """What a record consists of."""
    return list(DETAILED) if alone else ["gender", "age", "marital"]


@cache
def counted(number: int, alone: bool) -> dict[tuple[Any, ...], int]:
    """How many people have each record, read off the file by itself."""
    return _counted(population(number), alone)


@cache
def commonest(alone: bool, n: int = 50) -> dict[tuple[Any, ...], int]:
    """The records that most people of the similar population have: a guess without any table."""
    held = sorted(_counted(similar(), alone).items(), key=lambda item: (-item[1], item[0]))
    return dict(held[:n])


def _counted(people: flou.Microdata, alone: bool) -> dict[tuple[Any, ...], int]:
    frame = pl.DataFrame(people.frame.to_native())
    if alone:
        low = pl.col("age") // 5 * 5
        frame = frame.with_columns(age5=pl.format("{}-{}", low, low + 4))
    wanted = frame.select(pl.col(columns(alone)).cast(pl.String))
    return {tuple(row[:-1]): row[-1] for row in wanted.group_by(wanted.columns).len().iter_rows()}


def shared(some: Counts, others: Counts, years: int, at: int) -> int:
    """How many of some people others have a record of, ages `years` apart at the most."""
    if not years:
        return sum(n for record, n in some.items() if record in others)
    held = {(*r[:at], *r[at + 1 :], int(r[at])) for r in others}
    return sum(
        n
        for r, n in some.items()
        if any((*r[:at], *r[at + 1 :], int(r[at]) + d) in held for d in range(-years, years + 1))
    )
