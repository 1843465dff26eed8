"""The column that weights stand in: the one that the schema declares, or a new one."""

from __future__ import annotations

from flou.describe.microdata import Microdata
from flou.engine import native
from flou.engine.errors import ParameterError


def weight_column(data: Microdata, given: str | None) -> str:
    """The name of the weights' column, `given` by the user or not; one that means something else is refused."""
    name = given or data.schema.weight or "weight"
    if name.startswith(native.RESERVED):
        raise ParameterError(f"weight = {name!r} begins like the columns that Flou adds for itself: name another.")
    if data.schema.weight not in (None, name):
        raise ParameterError(f"weight = {name!r}, but the schema declares the weight {data.schema.weight!r}.")
    if data.schema.weight is None and name in data.columns:
        raise ParameterError(f"the data have a column {name!r} already, which is not the weight: name another.")
    return name
