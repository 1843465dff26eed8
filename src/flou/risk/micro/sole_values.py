"""Values that one holder alone has: whoever knows an exact amount finds the record by it.

A holder is a record, a person with all his rows, or a household whose members share the amount.
"""

from __future__ import annotations

import narwhals as nw

from flou.describe.microdata import Microdata
from flou.engine import native
from flou.engine.values import codes_in

_N, _KNOWN, _LOW, _HIGH = (f"{native.RESERVED}{name}" for name in ("n", "known", "low", "high"))


def count_alone(data: Microdata, column: str, holder: str | None = None) -> int:
    """The number of records whose value of a column no other holder has; codes that are not applicable are no values.

    Without a `holder` each record is one; a record whose holder is null is one by itself.
    """
    rows = data.frame.select(column, *([holder] if holder else [])).filter(~nw.col(column).is_null())
    codes = codes_in(rows.collect_schema()[column], data.schema.not_applicable.get(column, ()))
    if codes:
        rows = rows.filter(~nw.col(column).is_in(codes))
    figures = [nw.len().cast(nw.Int64).alias(_N)]
    alone = nw.col(_N) == 1
    if holder:
        held = nw.col(holder)
        figures += [held.count().cast(nw.Int64).alias(_KNOWN), held.min().alias(_LOW), held.max().alias(_HIGH)]
        alone |= (nw.col(_KNOWN) == nw.col(_N)) & (nw.col(_LOW) == nw.col(_HIGH))
    single = rows.group_by(column).agg(*figures).filter(alone.fill_null(False))
    return int(native.collect(single.select(nw.col(_N).sum().cast(nw.Int64))).item() or 0)
