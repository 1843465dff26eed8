"""A plan with tables carried out: steps on the records, the tables made of them, steps on the tables.

What was promised of the records goes on to hold of those behind the tables, and is proven there; the records
themselves are not released. The tables as they were made are what comparisons compare with.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from flou.engine import native
from flou.engine.checkpoints import Checkpoints, latest
from flou.engine.data import data_kind
from flou.engine.errors import DataError, PlanError, SecretError
from flou.engine.former import FormerRelease
from flou.engine.method import Method
from flou.engine.protection import Protection
from flou.engine.release import Release, Trail
from flou.engine.released_file import require_alone
from flou.engine.secret import Secret
from flou.engine.series import NO_SERIES, Series
from flou.engine.steps import carry_on, carry_out
from flou.engine.tabulation import RecordKeys, Tabulation


def works_on_tables(method: Method | type[Method]) -> bool:
    """Whether a method is for tables; one that takes both is used on what is published, the tables."""
    return any(kind in method.takes for kind in ("table", "table set"))


def require_order(steps: Sequence[Protection]) -> None:
    """Records first, tables after: what changes records comes too late once they are counted."""
    seen: Protection | None = None
    for step in steps:
        if works_on_tables(step):
            seen = step
        elif seen is not None:
            raise PlanError(
                f"{step.name()} changes records, but stands after {seen.name()}, which changes tables: put it before. "
                "Tables are made of the records once every step on records is done."
            )


def carry_out_tables(
    steps: Sequence[Protection],
    tables: Sequence[Tabulation],
    keys: RecordKeys | None,
    data: Any,
    secret: Secret,
    series: Series = NO_SERIES,
    former: FormerRelease | None = None,
    kept: Checkpoints | None = None,
) -> Release:
    """Protect records, make tables of them, protect the tables."""
    current = data.data if isinstance(data, Release) else data
    if data_kind(current) != "microdata":
        raise DataError(
            f"The plan makes tables of records, but was given {type(current).__name__}: protect the table by a plan "
            "without tables, or give the records."
        )
    on_records = tuple(s for s in steps if not works_on_tables(s))
    on_tables = tuple(s for s in steps if works_on_tables(s))
    secret.require_allowed(synthetic=current.marks.synthetic)
    has_ids = current.schema.id is not None
    keyed = any("cell keys" in s.requires or ("cell keys" in s.uses and has_ids) for s in on_tables)
    if keyed and keys is None and secret.origin == "entropy":
        raise SecretError(
            "Record keys are made from a secret, and noise that another secret draws anew next time could be averaged "
            "away. Make one that lasts, flou secret office.secret, and name it: [secrets] file, --secret or secret=."
        )
    found = latest(kept, len(on_records), len(steps))
    if found is not None:
        return carry_on(on_tables, found, len(on_records), secret, series, former, kept)
    records = carry_out(on_records, current, secret, series, former, kept).data if on_records else current
    require_alone(records.kin.files, "[[tabulate]]")
    trail = records.trail or Trail(secret_origin=secret.origin)
    with native.engine_errors():
        made = records.tabulated(
            [table.options() for table in tables],
            secret=secret if keyed and keys is None else None,
            stored=None if keys is None else keys.stored,
        )
    behind = tuple(replace(proof, guarantee=proof.guarantee.of_records()) for proof in trail.guarantees)
    made = made.with_kin(records=records).with_trail(
        replace(trail, guarantees=behind, keyed=trail.keyed or (keyed and keys is None))
    )
    return carry_out(on_tables, made, secret, series, former, kept)
