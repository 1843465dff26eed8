"""Replacing the values of a column one for one, and what that means for the schema.

Shared by recoding and top coding: the new frame, how many cells changed, and a schema whose
modalities, hierarchy, labels and coherence rules speak of the new values.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import narwhals as nw
import polars as pl

from flou.describe.hierarchy import Hierarchy
from flou.describe.microdata import Microdata
from flou.describe.schema import Rule, Schema
from flou.engine import native
from flou.engine.release import Change
from flou.engine.values import distinct, text_of


def value_counts(data: Microdata, column: str) -> tuple[list[object], dict[object, int]]:
    """The distinct values of a column, and how many records have each."""
    counted = native.collect(data.frame.group_by(column).agg(nw.len().alias("__flou_n")))
    values = counted[column]
    return distinct(values), dict(zip(values.to_list(), counted["__flou_n"].to_list(), strict=True))


def known_values(data: Microdata, column: str, observed: list[object]) -> list[object]:
    """Observed values and the declared ones nobody has."""
    texts = {text_of(v) for v in observed}
    return [*observed, *(v for v in data.declared_modalities.get(column, ()) if text_of(v) not in texts)]


def replace_values(
    data: Microdata, column: str, mapping: Mapping[Any, Any], counts: Mapping[Any, int], schema: Schema
) -> tuple[Microdata, Change]:
    """Replace values by a mapping that covers all that were counted; null stays null."""
    observed = [v for v in counts if v is not None]
    new = [mapping[v] for v in observed]
    n_changed = sum(counts[v] for v in observed if text_of(v) != text_of(mapping[v]))
    if observed:
        dtype = nw.from_native(pl.Series(new, strict=True), series_only=True).dtype
        frame = data.frame.with_columns(
            nw.col(column).replace_strict(observed, new, default=nw.lit(None, dtype), return_dtype=dtype).alias(column)
        )
    else:
        frame = data.frame
    change = Change(column, n_changed, len(observed), len({text_of(v) for v in new}))
    return data.with_frame(frame, schema), change


def rest_of_hierarchy(data: Microdata, column: str, level: int | str, mapping: Mapping[Any, Any]) -> Hierarchy | None:
    """What is left of a column's hierarchy above the values of one of its levels."""
    hierarchy = data.schema.hierarchies[column]
    number = hierarchy.level_number(level)
    if number >= hierarchy.height or not mapping:
        return None
    keep = {text_of(v) for v in data.schema.not_applicable.get(column, ())}
    values = [v for v in mapping if text_of(v) not in keep]
    above = [hierarchy.generalise(values, n) for n in range(number + 1, hierarchy.height + 1)]
    rows = {text_of(mapping[v]): tuple(str(level[v]) for level in above) for v in values}
    return Hierarchy(table=tuple(rows.items()), names=hierarchy.names[number:]) if rows else None


def schema_after(schema: Schema, column: str, mapping: Mapping[Any, Any], hierarchy: Hierarchy | None) -> Schema:
    """The schema once the values of a column were mapped. `mapping` covers declared values too."""
    image = {text_of(old): new for old, new in mapping.items()}
    modalities = dict(schema.modalities)
    if column in modalities:
        mapped = {text_of(image.get(text_of(v), v)): image.get(text_of(v), v) for v in modalities[column]}
        modalities[column] = tuple(mapped.values())
    hierarchies = {c: h for c, h in schema.hierarchies.items() if c != column}
    if hierarchy is not None:
        hierarchies[column] = hierarchy
    kinds = {type(v) for v in mapping.values()}
    types = {c: t for c, t in schema.types.items() if c != column or (t == "text" and kinds == {str})}
    return schema.with_changes(
        modalities=modalities,
        hierarchies=hierarchies,
        types=types,
        not_applicable=_kept_codes(schema, column, image),
        undetermined={c: v for c, v in schema.undetermined.items() if c != column},
        value_labels={c: v for c, v in schema.value_labels.items() if c != column},
        incoherent=coarsened_rules(schema.incoherent, column, mapping),
    )


def _kept_codes(schema: Schema, column: str, image: Mapping[str, Any]) -> dict[str, Any]:
    """Not-applicable codes that the mapping left as they are; one that was mapped away is no code any more."""
    codes = {c: v for c, v in schema.not_applicable.items() if c != column}
    kept = tuple(c for c in schema.not_applicable.get(column, ()) if text_of(image.get(text_of(c), c)) == text_of(c))
    return {**codes, column: kept} if kept else codes


def coarsened_rules(rules: Sequence[Rule], column: str, mapping: Mapping[Any, Any]) -> tuple[Rule, ...]:
    """Coherence rules on the new values: a coarse combination is impossible only if all its parts are.

    Rules that speak of a part of a group are dropped: fewer rules make the key space larger, which is
    the cautious side for the pessimistic count.
    """
    children: dict[str, set[str]] = {}
    for old, new in mapping.items():
        children.setdefault(text_of(new), set()).add(text_of(old))
    new_value = {text_of(new): new for new in mapping.values()}
    kept: list[Rule] = []
    forbidden: dict[tuple[tuple[str, str], ...], set[str]] = {}
    others: dict[tuple[tuple[str, str], ...], dict[str, Any]] = {}
    for rule in rules:
        if column not in rule:
            kept.append(rule)
        else:
            rest = tuple(sorted((c, text_of(v)) for c, v in rule.items() if c != column))
            others[rest] = {c: v for c, v in rule.items() if c != column}
            forbidden.setdefault(rest, set()).add(text_of(rule[column]))
    for rest, values in forbidden.items():
        for parent, parts in children.items():
            if parts <= values:
                kept.append({**others[rest], column: new_value[parent]})
    return tuple(kept)


def schema_of_new_values(data: Microdata, column: str, new: pl.Series) -> Schema:
    """The schema once a column's values were drawn or computed anew: what it said of single values is dropped."""
    schema = data.schema
    hierarchy = schema.hierarchies.get(column)
    gone = {name: {c: v for c, v in getattr(schema, name).items() if c != column}
            for name in ("modalities", "undetermined", "value_labels")}  # fmt: skip
    hierarchies = dict(schema.hierarchies)
    if hierarchy is not None and not all(hierarchy.covers(v) for v in distinct(new)):
        del hierarchies[column]
    rules = tuple(r for r in schema.incoherent if column not in r)
    return schema.with_changes(**gone, hierarchies=hierarchies, incoherent=rules)
