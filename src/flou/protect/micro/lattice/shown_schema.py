"""What the schema says once every key stands at a level of its hierarchy."""

from __future__ import annotations

from flou.describe.hierarchy import ROOT
from flou.describe.schema import Schema
from flou.engine.values import text_of
from flou.protect.micro.lattice.key_file import KeyFile
from flou.protect.micro.lattice.ladder import generalised
from flou.protect.micro.lattice.problem import Levels
from flou.protect.micro.replaced import known_values, rest_of_hierarchy, schema_after


def schema_at(file: KeyFile, levels: Levels) -> Schema:
    """Modalities, hierarchies and rules in the words of the new values."""
    data, schema = file.data, file.data.schema
    modalities = {}
    for ladder, level in zip(file.problem.ladders, levels, strict=True):
        column = ladder.column
        # what a null of the release may stand for, also where nobody shows it any more
        if known := tuple(v for v in ladder.labels[level] if v is not None):
            modalities[column] = known
        if not level:
            continue
        values = known_values(data, column, [v for v in ladder.values if v is not None])
        if level == ladder.height:
            schema = schema_after(schema, column, dict.fromkeys(values, ROOT), None)
            continue
        keep = data.schema.not_applicable.get(column, ())
        labels = generalised(data.schema.hierarchies[column], column, values, level, {text_of(v) for v in keep})
        texts = {v: labels[text_of(v)] for v in values}
        schema = schema_after(schema, column, texts, rest_of_hierarchy(data, column, level, texts))
    return schema.with_changes(modalities={**modalities, **schema.modalities})
