"""What measures on keys ask of a file before they count: keys, weights, the share of the population it holds."""

from __future__ import annotations

from collections.abc import Sequence

import narwhals as nw

from flou.describe.keyspace import KeySpace
from flou.describe.microdata import Microdata
from flou.describe.units import count_where
from flou.engine.errors import DataError, ParameterError, listed
from flou.engine.keys import KeyTable
from flou.engine.method import require_columns


def require_keys(data: Microdata) -> tuple[str, ...]:
    """The declared keys; a file without any cannot be measured."""
    if not data.schema.keys:
        raise DataError(
            "No keys are declared: say which columns an intruder may know, with keys=[…], --keys or a schema."
        )
    return data.schema.keys


def key_space(data: Microdata, strata: Sequence[str] = ()) -> KeySpace:
    """The keys of a file and those that could exist, within strata that people see."""
    columns = require_keys(data)
    require_columns(data, tuple(strata), "by")
    hidden = [c for c in strata if c in data.schema.hidden]
    if hidden:
        raise DataError(f"by names {listed(hidden)}, which is never published: strata are columns that people see.")
    table = data.key_table((*columns, *(s for s in strata if s not in columns)))
    return KeySpace(table, columns, tuple(strata), data.declared_modalities, data.schema.incoherent)


def require_sampling_weights(data: Microdata) -> None:
    """Refuse weights below 1: a record stands for itself at least, and a smaller weight makes a risk above 1."""
    weight = data.schema.weight
    if weight is not None and data.lowest_weight() < 1:
        n_small = count_where(data, nw.col(weight) < 1)
        if not n_small:
            return  # a file without records
        raise DataError(
            f"The weight {weight!r} is below 1 in {n_small:,} records: a record stands for itself at least. Give "
            "sampling weights that add up to the population; weights scaled to a mean of 1 do not."
        )


def sampling_fraction(data: Microdata, table: KeyTable, given: float | None) -> float:
    """The share of the population that the file holds: as given, else by the weights, else all of it."""
    if given is not None:
        return given
    if table.weights is None:
        return 1.0
    require_sampling_weights(data)
    return float(table.n_records / table.weights.sum())


def sensitive_columns(data: Microdata, given: tuple[str, ...] | None) -> tuple[str, ...]:
    """The columns that nobody should learn: as given, else as declared; none of them a key."""
    columns = given if given is not None else data.schema.sensitive
    if not columns:
        raise DataError(
            "No sensitive column is declared: say what nobody should learn, with sensitive=[…] here or in a schema."
        )
    require_columns(data, columns, "sensitive")
    keys = [c for c in columns if c in data.schema.keys]
    if keys:
        raise ParameterError(
            f"{listed(keys)} is both key and sensitive: an intruder either knows it or wants to. Leave it out of one."
        )
    hidden = [c for c in columns if c in data.schema.hidden]
    if hidden:
        raise ParameterError(f"sensitive names {listed(hidden)}, which is never published: nobody learns it.")
    return columns
