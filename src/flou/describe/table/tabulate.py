"""Tables from records: one group-by at the finest level where the records are, the margins in memory.

    people.tabulate(["region>department", "age@decade>age", "sex"], value="income", weight="w")
    flou.tabulate_many(people, [["region", "sex"], ["commune|district", "age"]])

Every margin is a sum of finest cells, and so are its cell key, weights and amounts, all of them integers:
a table is the same on every engine and in any order of the records. What is the largest in a margin is
found among the largest of its parts.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import narwhals as nw
import numpy as np
import polars as pl

from flou.describe.check import check_weight
from flou.describe.keyed import RECORD_KEY
from flou.describe.microdata import Microdata
from flou.describe.schema import Schema
from flou.describe.table.atoms import Atoms, read_atoms
from flou.describe.table.cells import Cells
from flou.describe.table.dense import fits, roll_up_dense
from flou.describe.table.exact_sums import ExactSum
from flou.describe.table.grid import Grid, with_zeros
from flou.describe.table.largest import AMOUNT, WEIGHT, as_matrix, keep_largest
from flou.describe.table.request import TableRequest, check_spec
from flou.describe.table.roll_up import CELL, KEY, SIZE, Climb, Digits, add_up, roll_up
from flou.describe.table.table import Table
from flou.describe.table.table_set import TableSet
from flou.engine import native
from flou.engine.calls import in_words
from flou.engine.errors import DataError, ParameterError
from flou.engine.native.grouping import group_sets, largest_rows
from flou.engine.progress import tell
from flou.engine.several_rows import refuse_several_rows

HOLDER, _ABSOLUTE = f"{native.RESERVED}holder", f"{native.RESERVED}absolute"


def tabulate(data: Microdata, dims: Sequence[str] | str, **options: Any) -> Table:
    """A table of counts, and of the sums of `value`, by `dims` (see `flou.describe.table.spec`).

    `value`: a column of amounts to add up.
    `margins`: True for all levels and totals, False for the finest cells alone, or the dimensions that get them.
    `weight`: a column of sampling weights; counts and sums are then estimates.
    `holding`: the column that says which records belong together; contributions are merged by it.
    `largest`: how many of the largest contributions to keep for each cell.
    `cells`: "occupied" lists the cells that somebody is in, "all" every cell that the categories make, where those
    that the schema's incoherent combinations rule out are structural zeros.
    `total`: the label of totals; `name`: what the table is called in a set, in files and in reports.
    Record keys (`flou.record_keys`) become cell keys.
    """
    return _tabulated(data, [check_spec(data, dims, **options)])[0]


@in_words("flou.tabulate_many")
def tabulate_many(data: Microdata, tables: Sequence[Any] | Mapping[str, Any], **options: Any) -> TableSet:
    """Several tables of the same records in one pass: a `TableSet`.

    `tables` is a list of dims, or of dicts of `tabulate`'s arguments (`{"dims": […], "value": "income"}`), or a
    mapping from names to either; other arguments hold for all of them.
    """
    if not isinstance(data, Microdata):
        raise ParameterError(f"tabulate_many takes Microdata, not {type(data).__name__}.")
    asked = dict(tables) if isinstance(tables, Mapping) else None
    if asked is None:
        if isinstance(tables, str) or not isinstance(tables, Sequence) or not tables:
            raise ParameterError(f'tables is a list of lists of dimensions, [["region", "sex"], …]; given {tables!r}.')
        asked = {"": tables[0]} if len(tables) == 1 else {f"table {i + 1}": t for i, t in enumerate(tables)}
    specs = []
    for name, one in asked.items():
        held = dict(one) if isinstance(one, Mapping) else {"dims": one}
        if "dims" not in held:
            raise ParameterError(f"A table needs dims; {name or 'this one'} has {sorted(held)!r}.")
        specs.append(check_spec(data, **{"name": name, **options, **held}))
    return TableSet.of(_tabulated(data, specs))


def _tabulated(data: Microdata, specs: Sequence[TableRequest]) -> list[Table]:
    """The tables, grouped by what they need of the records: tables of the same sums share one pass."""
    refuse_several_rows(data, "A table")
    made: dict[int, Table] = {}
    # tables that are published together are read together: a rule may tie a column of one to a column of another
    shown = {column for spec in specs for dim in spec.dims for column in dim.columns}
    shown |= {spec.value for spec in specs if spec.value is not None}
    schema = data.schema.without({*data.columns, *data.schema.declared} - shown)
    alike: dict[tuple[Any, ...], list[int]] = {}
    for i, spec in enumerate(specs):
        alike.setdefault((spec.value, spec.weight, spec.holding, spec.largest), []).append(i)
    with data.watched(), native.engine_errors():
        for places in alike.values():
            chosen = [specs[i] for i in places]
            for i, table in zip(places, _same_sums(data, chosen, schema), strict=True):
                made[i] = table
                tell("tabulate", len(made), len(specs))
    return [made[i] for i in range(len(specs))]


def _same_sums(data: Microdata, specs: Sequence[TableRequest], schema: Schema) -> list[Table]:
    sums = _Sums.of(data, specs[0])
    rows = data.frame.select(*dict.fromkeys(c for s in specs for c in s.columns), *sums.expressions)
    # a table whose columns are among those of another one is made from that one's groups
    sets: list[tuple[str, ...]] = []
    for spec in sorted(specs, key=lambda s: -len(s.columns)):
        if not any(set(spec.columns) <= set(held) for held in sets):
            sets.append(spec.columns)
    beside = [HOLDER] if sums.holding else []
    grouped = group_sets(rows, [[*held, *beside] for held in sets], SIZE, sums.names)
    if grouped[0][SIZE].sum() == 0:
        raise DataError("The file has no records: there is nothing to tabulate.")
    tops = [largest_rows(rows, held, sums.order, specs[0].largest) for held in sets] if sums.order else []
    out = []
    for spec in specs:
        place = next(i for i, held in enumerate(sets) if set(spec.columns) <= set(held))
        out.append(_table(data, spec, schema, sums, grouped[place], tops[place] if tops else None))
    return out


@dataclass(frozen=True)
class _Sums:
    """What is added up over the records of a cell."""

    keyed: bool
    value: ExactSum | None
    weights: ExactSum | None
    holding: str | None
    #: By what contributions are ranked; empty where they are not wanted.
    order: tuple[str, ...]
    expressions: tuple[nw.Expr, ...]

    @classmethod
    def of(cls, data: Microdata, spec: TableRequest) -> _Sums:
        frame, expressions = data.frame, []
        keyed = RECORD_KEY in frame.collect_schema().names()
        if keyed:
            expressions.append(nw.col(RECORD_KEY).cast(nw.Int64).alias(KEY))
        weights = value = None
        if spec.weight is not None:
            _, problems = check_weight(frame, spec.weight)
            if problems:
                raise DataError(f"The weights cannot be used: {'; '.join(problems)}.")
            weights = ExactSum.of(frame, spec.weight, "weights")
            expressions += weights.split(nw.col(spec.weight))
        if spec.value is not None:
            amount = nw.col(spec.value).cast(nw.Float64)
            if spec.weight is not None:
                amount = amount * nw.col(spec.weight).cast(nw.Float64)
            dtype = frame.collect_schema()[spec.value]
            in_full = spec.weight is None and (dtype.is_integer() or dtype.is_decimal())
            value = ExactSum.of(frame.select(amount.alias(spec.value)), spec.value, "value", in_full=in_full)
            expressions += value.split(amount)
        ranked = _ranked(spec, value) if spec.holding is None else {}
        if spec.holding is not None:
            expressions.append(nw.col(spec.holding).alias(HOLDER))
        expressions += [held.alias(name) for name, held in ranked.items()]
        return cls(keyed, value, weights, spec.holding, tuple(ranked), tuple(expressions))

    @property
    def names(self) -> list[str]:
        both = [name for held in (self.weights, self.value) if held is not None for name in held.names]
        return [*([KEY] if self.keyed else []), *both]


def _ranked(spec: TableRequest, sums: ExactSum | None) -> dict[str, nw.Expr]:
    """By what the contributions to a cell are ranked: size, then amount, then weight, as far as these differ."""
    if sums is None or not spec.largest:
        return {}
    amount = nw.col(str(spec.value)).cast(nw.Float64)
    if spec.weight is not None:
        return {_ABSOLUTE: amount.abs(), AMOUNT: amount, WEIGHT: nw.col(spec.weight).cast(nw.Float64)}
    return {_ABSOLUTE: amount.abs(), AMOUNT: amount} if sums.signed else {AMOUNT: amount}


def _table(
    data: Microdata,
    spec: TableRequest,
    schema: Schema,
    sums: _Sums,
    grouped: pl.DataFrame,
    top: pl.DataFrame | None,
) -> Table:
    """One table from the groups of its columns, or of more; `schema` is what is known of the columns shown."""
    atoms = [read_atoms(dim, grouped, data.schema, spec.total, declared=spec.cells == "all") for dim in spec.dims]
    digits = Digits(tuple(max(a.n_atoms, a.dimension.n_nodes) for a in atoms))
    climbs = [Climb(a.dimension, a.finest, margins) for a, margins in zip(atoms, spec.margins, strict=True)]
    finest = pl.DataFrame([pl.Series(CELL, digits.pack([a.codes for a in atoms])), *grouped.select(SIZE, *sums.names)])
    holders = None
    if sums.holding is not None:
        holders = finest.with_columns(_holders(grouped, str(sums.holding)))
        holders = roll_up(add_up(holders, HOLDER), digits, climbs, _add_up_holders)
    merged = add_up(finest)
    grid = Grid.of(data.schema, spec.dims, atoms) if spec.cells == "all" else None
    if grid is not None:
        merged = with_zeros(merged, digits, grid)
    if fits(merged, climbs):
        rolled = roll_up_dense(merged, digits, climbs, SIZE, every=grid is not None)
    else:
        rolled = roll_up(merged, digits, climbs, add_up).sort(CELL)
    packed = rolled[CELL].to_numpy()
    more: dict[str, Any] = {}
    if holders is not None:
        more |= _of_holders(holders, packed, spec, sums)
    if top is not None:
        more |= _largest(top, spec, data, atoms, digits, climbs, packed)
    if grid is not None:
        more["possible"] = rolled[grid.POSSIBLE].to_numpy() > 0
        more["coherent"] = rolled[grid.COHERENT].to_numpy() > 0
    cells = Cells(
        codes=digits.unpack(packed),
        count=rolled[SIZE].to_numpy(),
        key=rolled[KEY].to_numpy() % 2**32 if sums.keyed else None,
        weighted=None if sums.weights is None else sums.weights.total(rolled),
        value=None if sums.value is None else sums.value.total(rolled),
        **more,
    )
    return Table(
        dims=tuple(a.dimension for a in atoms),
        cells=cells,
        value_name=spec.value,
        weight_name=spec.weight,
        listed=spec.cells,
        schema=schema,
        n_unlisted_zeros=math.prod(int(climb.wanted.sum()) for climb in climbs) - cells.n,
        # whatever was done to the records, nothing protects the table yet
        marks=replace(data.marks, released=False, frame=False),
        native_kind=data.native_kind,
        name=spec.name,
    )


def _holders(grouped: pl.DataFrame, name: str) -> pl.Series:
    if grouped[HOLDER].null_count():
        raise DataError(
            f"holding = {name!r} is null in some records: nobody knows with which others they belong. Give each record "
            "that stands alone a number of its own."
        )
    return grouped[HOLDER].rank("dense").cast(pl.Int64).alias(HOLDER)


def _add_up_holders(rows: pl.DataFrame) -> pl.DataFrame:
    return add_up(rows, HOLDER)


def _of_holders(holders: pl.DataFrame, packed: Any, spec: TableRequest, sums: _Sums) -> dict[str, Any]:
    """How many holdings are in each cell, and what the largest of them give."""
    cells, n = np.unique(holders[CELL].to_numpy(), return_counts=True)
    counted = np.zeros(len(packed), dtype=np.int64)
    places = np.searchsorted(packed, cells)
    counted[places] = n
    # of a cell of one holding the first line is its only one
    first = holders.group_by(CELL).agg(pl.col(HOLDER).min()).sort(CELL)[HOLDER].to_numpy()
    sole = np.full(len(packed), -1, dtype=np.int64)
    sole[places] = np.where(n == 1, first, -1)
    if sums.value is None or not spec.largest:
        return {"holdings": counted, "sole": sole}
    amounts = holders.select(CELL, pl.Series(AMOUNT, sums.value.total(holders)))
    return {
        "holdings": counted,
        "sole": sole,
        "largest": as_matrix(keep_largest(amounts, spec.largest), packed, spec.largest, AMOUNT),
    }


def _largest(
    top: pl.DataFrame,
    spec: TableRequest,
    data: Microdata,
    atoms: Sequence[Atoms],
    digits: Digits,
    climbs: Sequence[Climb],
    packed: Any,
) -> dict[str, Any]:
    """The largest contributions of each cell, from the largest of its atoms."""
    codes = [a.locate(top) for a in atoms]
    kept = [AMOUNT, WEIGHT] if spec.weight is not None else [AMOUNT]
    rows = pl.DataFrame([pl.Series(CELL, digits.pack(codes)), *top.select(kept)])
    merge = partial(keep_largest, most=spec.largest)
    rolled = merge(roll_up(merge(rows), digits, climbs, merge))
    found = {"largest": as_matrix(rolled, packed, spec.largest, AMOUNT)}
    if spec.weight is not None:
        found["largest_weights"] = as_matrix(rolled, packed, spec.largest, WEIGHT)
    return found
