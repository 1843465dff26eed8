"""Record keys: one number in [0, 2^32) for each unit, which the cell key method adds up in every cell.

A lasting key is a keyed hash of the unit's id under the office's secret (SipHash-2-4 under a subkey that
HMAC-SHA256 derives): the same person has the same key in every file and every year, on every engine, and
nobody without the secret can tell it. Keys that were drawn once and stored are taken as they are, and so
are the keys in [0, 1) of other tools (ckm, cellKey), scaled to 2^32.

Whoever knows the keys can take the noise off: they are never written or shown.
"""

from __future__ import annotations

import narwhals as nw
import numpy as np
import polars as pl
from numpy.typing import NDArray

from flou.describe.mechanism.cell_keys import KEYS, require_uniform
from flou.describe.microdata import Microdata
from flou.describe.units import declared_ids
from flou.engine import native
from flou.engine.calls import in_words
from flou.engine.errors import DataError, ParameterError, SecretError
from flou.engine.randomness import keyed_hash
from flou.engine.secret import Secret
from flou.engine.several_rows import refuse_several_rows
from flou.engine.values import text_of

#: Where the keys stand; never shown.
RECORD_KEY = f"{native.RESERVED}record_key"
#: A whole number as text, in the one way to write it: hashed as the number, since files differ in this.
_WHOLE = r"^(?:0|-?[1-9][0-9]{0,18})$"
#: How improbable a number of repeated keys must be before it is taken for a mistake.
_ACCIDENT = 1e-4
#: How many keys are compared with each other.
_LOOKED_AT = 4_000_000


@in_words("flou.record_keys")
def record_keys(people: Microdata, *, secret: Secret | int | None = None, stored: str | None = None) -> Microdata:
    """The same records with a key each: lasting ones from the role `id` and a secret, or those of a column.

        keyed = flou.record_keys(people, secret=flou.Secret.from_file("office.secret"))
        keyed = flou.record_keys(people, stored="rkey")

    A secret must be given and kept: with another one every figure published so far would be perturbed anew.
    `stored` names a column of whole numbers in [0, 2^32) or of numbers in [0, 1); it is not among the columns of the
    result, which could be published.
    """
    if not isinstance(people, Microdata):
        raise ParameterError(f"record_keys takes Microdata, not {type(people).__name__}: flou.Microdata(frame, id=…).")
    refuse_several_rows(people, "record_keys")
    if (secret is None) == (stored is None):
        raise ParameterError(
            "record_keys takes secret= (lasting keys from the role id) or stored= (a column of keys drawn once), one "
            "of them. Keys drawn anew at each call would let noise be averaged away, so there is no default."
        )
    if stored is not None:
        return _stored(people, stored)
    chosen = Secret.of(secret)
    if not chosen.replayable:
        raise SecretError(
            "Lasting keys need a secret that lasts: another one would perturb every cell anew, and noise could be "
            'averaged away. Save it first, Secret.generate().save("office.secret"), and read it: Secret.from_file(…).'
        )
    chosen.require_allowed(synthetic=people.marks.synthetic)
    name = people.schema.id
    if name is None:
        raise DataError(
            "Lasting keys are made from each unit's id, but no column has this role. Declare it: "
            'flou.Microdata(frame, id="person_number", …), or give a column of keys: stored="rkey".'
        )
    _require_distinct(people, name)
    subkey = chosen.derive("record keys")[:16]

    def with_keys(rows: pl.DataFrame) -> pl.DataFrame:
        return rows.with_columns(pl.Series(RECORD_KEY, hashed_keys(rows[name], subkey)))

    keyed = people.with_frame(native.map_batches(people.frame, with_keys))
    return keyed.marked(test_only=chosen.test_only)


def hashed_keys(ids: pl.Series, subkey: bytes) -> NDArray[np.int64]:
    """The key of each id; `7`, `"7"`, and `7.0` or a decimal 7 as databases have it, are the same unit."""
    if ids.dtype.is_float() or ids.dtype.is_decimal():
        ids = pl.Series(ids.name, [text_of(v) for v in ids.to_list()], dtype=pl.String)
    if ids.dtype != pl.String:
        return (keyed_hash(ids.to_numpy(), subkey) & np.uint64(KEYS - 1)).astype(np.int64)
    written = pl.col(ids.name).str.contains(_WHOLE)
    # what does not fit in 64 bits stays null here, and a text
    numbers = ids.to_frame().select(pl.when(written).then(pl.col(ids.name)).cast(pl.Int64, strict=False)).to_series()
    whole = numbers.is_not_null().to_numpy()
    keys = np.empty(len(ids), dtype=np.uint64)
    keys[whole] = keyed_hash(numbers.drop_nulls().to_numpy(), subkey)
    keys[~whole] = keyed_hash(ids.filter(~whole).to_numpy(), subkey)
    return (keys & np.uint64(KEYS - 1)).astype(np.int64)


def _require_distinct(people: Microdata, name: str) -> None:
    """Every unit once: a unit that stands in the file twice would count, and be perturbed, as two."""
    if people.native_kind == "spark":
        held = nw.col(name)
        row = native.collect(
            people.frame.select(
                held.n_unique().cast(nw.Int64).alias("distinct"),
                held.is_null().cast(nw.Int64).sum().alias("null"),
            )
        ).row(0, named=True)
        null = int(row["null"] or 0)  # sums over no rows are null
        repeated = people.n_records - null - int(row["distinct"] or 0) + (1 if null else 0)
        if null or repeated:
            raise DataError(
                f"The id {name!r} must be unique and never null: {null:,} are null, {repeated:,} are repeated."
            )
        return
    declared_ids(native.collect(people.frame.select(name))[name])


def _stored(people: Microdata, column: str) -> Microdata:
    if column not in people.columns:
        raise DataError(f"stored = {column!r} names no column of the data. Columns: {', '.join(people.columns)}.")
    if column == people.schema.id:
        raise DataError(f"{column!r} is the id of the units, not a key: flou.record_keys(people, secret=…) makes keys.")
    dtype = people.frame.collect_schema()[column]
    if not dtype.is_numeric():
        raise DataError(f"The record keys {column!r} should be numbers, but the column is {dtype}.")
    held = nw.col(column)
    row = native.collect(
        people.frame.select(
            held.min().alias("low"),
            held.max().alias("high"),
            held.is_null().cast(nw.Int64).sum().alias("null"),
        )
    ).row(0, named=True)
    if row["low"] is None and not row["null"]:
        raise DataError("The file has no records: there is nobody to give a key to.")
    if row["null"]:
        raise DataError(
            f"The record key {column!r} is missing in {row['null']:,} records. Each unit needs one that lasts: draw "
            "keys for new units once, and store them with the others."
        )
    top, values = (KEYS, "whole numbers in [0, 2^32)") if dtype.is_integer() else (1, "numbers in [0, 1)")
    if row["low"] < 0 or row["high"] >= top:
        raise DataError(
            f"The record keys {column!r} should be {values}; they lie between {row['low']} and {row['high']}."
        )
    _require_few_repeated(people, column, top, KEYS if dtype.is_integer() else 10**8)
    keys = held if dtype.is_integer() else (held.cast(nw.Float64) * float(KEYS)).floor().cast(nw.Int64)
    frame = people.frame.with_columns(keys.alias(RECORD_KEY))
    _require_random(frame, people.n_records, column)
    if column in people.schema.hidden:
        return people.with_frame(frame)
    return people.with_frame(frame.drop(column), people.schema.without([column]))


def _require_random(frame: native.Frame, n: int, column: str) -> None:
    """Keys must be spread over their range; looked at in 256 equal steps, counted where the records are."""
    step = (nw.col(RECORD_KEY) / (KEYS // 256)).floor().cast(nw.Int64).alias("step")
    grouped = native.collect(frame.select(step).group_by("step").agg(nw.len().cast(nw.Int64).alias("n")))
    counted = np.zeros(256, dtype=np.int64)
    counted[grouped["step"].to_numpy()] = grouped["n"].to_numpy()
    require_uniform(np.cumsum(counted) / n, n, f"record keys {column!r}")


def _require_few_repeated(people: Microdata, column: str, top: int, n_values: int) -> None:
    """Among many keys a few fall together by accident; more than that, and units are in the file twice.

    Of a large file only the lowest keys are looked at: whoever stands in it twice has one key.
    """
    from scipy.stats import poisson

    share = min(1.0, _LOOKED_AT / max(people.n_records, 1))
    held = nw.col(column)
    row = native.collect(
        people.frame.filter(held < top * share).select(
            nw.len().cast(nw.Int64).alias("n"), held.n_unique().cast(nw.Int64).alias("distinct")
        )
    ).row(0, named=True)
    n, cells = row["n"], n_values * share
    by_accident = float(n + cells * np.expm1(n * np.log1p(-1.0 / cells)))
    repeated = n - row["distinct"]
    if repeated > int(poisson.isf(_ACCIDENT, max(by_accident, 1e-12))):
        raise DataError(
            f"{repeated:,} of {n:,} record keys {column!r} are repeated; by accident it would be about "
            f"{by_accident:.2g}. Is a unit in the file twice, or were the keys drawn from too few numbers?"
        )
