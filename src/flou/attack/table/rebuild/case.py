"""The case that published tables make: what an intruder reads off them before anything is solved.

It takes what would be published and nothing else. True figures that the tables hold in this process are looked at for
one question only: whether figures that come without a mechanism are true ones, for a proof from moved figures would be
worth nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from flou.attack.table.rebuild.attribute import Attribute, find_attributes, level_names, names_of
from flou.attack.table.rebuild.figures import Figures, read_figures
from flou.attack.table.rebuild.layout import lay_figures
from flou.attack.table.rebuild.universe import Universe, lay_out
from flou.describe.mechanism.mechanism import Mechanism
from flou.describe.mechanism.unchanged import Unchanged
from flou.describe.microdata import Microdata
from flou.describe.table.cells import Ints
from flou.describe.table.table import Table
from flou.describe.table.table_set import TableSet, tables_of
from flou.describe.table.unseen_cells import leaves_zeros_open
from flou.engine import native
from flou.engine.errors import DataError, did_you_mean
from flou.engine.values import text_of


@dataclass(frozen=True, eq=False)
class Case:
    """The attribute product and the published figures over it, block by block."""

    universe: Universe
    figures: Figures
    #: The attribute that splits the tables, if any.
    block: Attribute | None = None
    #: Tables that say nothing of single blocks, and so are left out.
    left_out: tuple[str, ...] = ()
    #: Whether figures over several blocks are left out, which could tell more of each.
    coupled: bool = False

    @property
    def n_blocks(self) -> int:
        return len(self.figures.blocks)

    @property
    def assumed(self) -> tuple[str, ...]:
        """The attributes whose values nobody declares: the attack takes those that the tables name."""
        if all(table.unlisted == "zero" for table in self.figures.tables):
            return ()  # somebody with another value would be listed
        return tuple(a.name for a in self.universe.attributes if not a.base)

    @property
    def if_zeros_are_shown(self) -> Case | None:
        """The same case if no suppressed cell were empty; None where the tables say whether some are."""
        tables = self.figures.tables
        unsaid = [leaves_zeros_open(table) for table in tables]
        if not any(unsaid):
            return None
        shown = tuple(t.with_changes(zeros_withheld=False) if u else t for t, u in zip(tables, unsaid, strict=True))
        return replace(self, figures=replace(self.figures, tables=shown))

    def block_of(self, people: Microdata) -> Ints:
        """The block of each record; -1 where there is none."""
        split = self.block
        if split is None:
            return np.zeros(people.n_records, dtype=np.int64)
        if split.column not in people.columns:
            raise DataError(
                f"The records have no column {split.column!r}, which splits the tables into blocks. Columns: "
                f"{', '.join(people.columns)}."
            )
        held = native.collect(people.frame.select(split.column))
        return split.place_of(held[split.column].to_list(), people.schema)


def read_case(
    data: Table | TableSet,
    *,
    block: str | None = None,
    domain: Mapping[str, Sequence[Any]] | None = None,
    incoherent: Sequence[Mapping[str, Any]] = (),
    max_total: int | None = None,
) -> Case:
    """What is published of tables, as an intruder reads it."""
    for table in tables_of(data):
        _require_counts(table)
    tables = [table.public() for table in tables_of(data)]
    mechanisms: list[Mechanism] = [table.mechanism or Unchanged() for table in tables]
    attributes = find_attributes(tables, [isinstance(m, Unchanged) for m in mechanisms], domain or {})
    rules = [*incoherent, *(rule for t in tables if t.schema is not None for rule in t.schema.incoherent)]
    _require_known(incoherent, attributes)
    splitting = _splitting(block, attributes)
    left_out: list[str] = []
    if splitting is not None:
        kept = [splitting.finest in names_of(table) for table in tables]
        left_out = [t.name for t, k in zip(tables, kept, strict=True) if not k]
        tables = [t for t, k in zip(tables, kept, strict=True) if k]
        mechanisms = [m for m, k in zip(mechanisms, kept, strict=True) if k]
        shown = {name for table in tables for name in names_of(table)}
        attributes = tuple(a for a in attributes if a is not splitting and set(a.labels) & shown)
        if not attributes:
            raise DataError(f"block = {block!r} is the only dimension of the tables: nothing is left to reconstruct.")
    hint = (
        'Attack areas one by one (block="area"), or fewer tables.'
        if splitting is None
        else "Leave out tables with the finest categories."
    )
    universe = lay_out(attributes, _once(rules), hint=hint)
    name = "" if splitting is None else splitting.finest
    layout = lay_figures(tables, universe, mechanisms, name)
    # by the places of the attribute's values; a block of which nothing is listed may hold somebody all the same
    blocks = [""] if splitting is None else list(splitting.labels[name])
    figures = read_figures(layout, tables, blocks, name, max_total)
    coupled = bool(left_out) or any(_spans(table, name) for table in tables if splitting is not None)
    return Case(universe, figures, splitting, tuple(left_out), coupled)


def _spans(table: Table, block: str) -> bool:
    """Whether a table has figures over several blocks."""
    at = next(j for j, dim in enumerate(table.dims) if block in level_names(dim))
    depth = level_names(table.dims[at]).index(block) + 1
    return any(combination[at] < depth for combination in table.level_combinations)


def _once(rules: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    return list({tuple(sorted((k, str(v)) for k, v in rule.items())): rule for rule in rules}.values())


def _require_known(rules: Sequence[Mapping[str, Any]], attributes: Sequence[Attribute]) -> None:
    """A misspelt rule would exclude nothing, and weaken the attack unseen."""
    columns = {a.column: a for a in attributes}
    for rule in rules:
        for column, value in rule.items():
            if column not in columns:
                raise DataError(
                    f"incoherent names {column!r}, which the tables do not speak of.{did_you_mean(column, columns)}"
                )
            values = {text_of(v) for v in columns[column].base} | {text_of(v) for v in columns[column].values}
            if text_of(value) not in values:
                raise DataError(
                    f"incoherent has {column} = {value!r}, which nobody can have.{did_you_mean(text_of(value), values)}"
                )


def _splitting(block: str | None, attributes: Sequence[Attribute]) -> Attribute | None:
    if block is None:
        return None
    found = [a for a in attributes if block in (a.finest, a.name, a.column)]
    if not found:
        names = [a.name for a in attributes]
        raise DataError(f"block = {block!r} is no attribute of the tables.{did_you_mean(block, names)}")
    return found[0]


def _require_counts(table: Table) -> None:
    """Whole counts of people, as they are or moved by a mechanism that is known."""
    name = f" {table.name!r}" if table.name else ""
    if table.weight_name is not None or table.cells.weighted is not None:
        raise DataError(
            f"The table{name} shows weighted estimates, which are no numbers of people: it cannot be reconstructed "
            "from. Leave it out."
        )
    if table.published is not None and not table.published.counted:
        raise DataError(
            f"The table{name} shows sums and no counts: reconstruction goes by counts of people. Leave it out."
        )
    if table.published is None or table.mechanism is not None or table.cells.count is None:
        return
    shown = ~table.published.hidden
    wrong = int((table.published.count[shown] != table.true_counts[shown]).sum())
    if wrong:
        raise DataError(
            f"{wrong:,} figures of the table{name} are not the true ones, and no mechanism of single cells describes "
            'them (margins that were made to add up, for one). Attack what was published before: additive="no".'
        )
