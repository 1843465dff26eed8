"""Record keys: they last, nobody sees them, and what cannot be a key is refused."""

from __future__ import annotations

import pickle
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import flou
from flou.describe.keyed import RECORD_KEY
from flou.engine import native

IDS = [7, 12, 0, -3, 999, 123456789012, 2**62, 42]


def keys(ids: Any, secret: Any = 1) -> dict[str, int]:
    """The key of each id, by its text."""
    data = flou.record_keys(flou.Microdata(pl.DataFrame({"pid": ids}), id="pid"), secret=secret)
    rows = native.collect(data.frame)
    return {str(i): k for i, k in zip(rows["pid"].to_list(), rows[RECORD_KEY].to_list(), strict=True)}


def test_a_key_lasts() -> None:
    """In another file, another order, beside other people."""
    first = keys(IDS)
    again = keys([*reversed(IDS), 5, 6, *range(1000, 30_000)])
    assert {i: again[i] for i in first} == first
    assert all(0 <= k < 2**32 for k in again.values())
    assert keys(IDS) == first


def test_another_secret_gives_other_keys() -> None:
    one, two = keys(IDS, 1), keys(IDS, 2)
    assert not {one[i] for i in one} & set(two.values())


@pytest.mark.parametrize(
    "other",
    [
        pl.Series([str(i) for i in IDS]),
        pl.Series([*map(str, IDS), "B7"]),  # beside one that is no number
        pl.Series([*map(str, IDS), "99999999999999999999"]),  # beside one of more than 64 bits
        pl.Series([Decimal(i) for i in IDS], dtype=pl.Decimal(20, 0)),
        pl.Series([Decimal(i) for i in IDS], dtype=pl.Decimal(22, 2)),
    ],
    ids=["text", "text beside other texts", "text beside long texts", "decimal", "decimal with places"],
)
def test_a_number_has_one_key_however_a_file_writes_it(other: pl.Series) -> None:
    expected, found = keys(IDS), list(keys(other).values())
    assert found[: len(IDS)] == list(expected.values())


def test_a_float_has_the_key_of_its_number() -> None:
    small = [i for i in IDS if abs(i) < 2**53]
    assert list(keys([float(i) for i in small]).values()) == list(keys(small).values())
    assert list(keys([7, 12]).values()) == list(keys(pl.Series([7, 12], dtype=pl.Int16)).values())


def test_large_numbers_and_their_texts() -> None:
    large = [10**18, 2**63 - 1, -(2**63) + 1, 1234567890123456789]
    assert list(keys(large).values()) == list(keys([str(i) for i in large]).values())


def test_texts_that_are_not_the_same_have_other_keys() -> None:
    texts = ["7", "07", "7 ", "+7", "7.0", "seven", "Ａ", "é", "e\u0301", "", "-0", "0"]
    assert len(set(keys(texts).values())) == len(texts)


def test_keys_are_uniform() -> None:
    """Chi-square over 256 bins, of high and of low bits, on numbers in a row and on texts: fixed secret."""
    from scipy.stats import chi2

    for ids in (np.arange(50_000), [f"p{i}" for i in range(20_000)]):
        drawn = np.array(list(keys(ids).values()))
        for bins in (drawn >> 24, drawn & 255):
            counts = np.bincount(bins, minlength=256)
            expected = len(drawn) / 256
            assert chi2.sf(((counts - expected) ** 2 / expected).sum(), 255) > 1e-4


def microdata(**columns: Any) -> flou.Microdata:
    return flou.Microdata(pl.DataFrame(columns, strict=False), keys=["a"] if "a" in columns else [])


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: flou.record_keys(pl.DataFrame({"a": [1]}), secret=1), "takes Microdata, not DataFrame"),
        (lambda: flou.record_keys(microdata(a=[1])), "takes secret=.*or stored="),
        (lambda: flou.record_keys(microdata(a=[1]), secret=1, stored="a"), "one of them"),
        (lambda: flou.record_keys(microdata(a=[1]), secret=1), "no column has this role. Declare it"),
        (lambda: keys([1, 2, 2]), r"the 3 records are of 2 persons.*2 \(2 times\)"),
        (lambda: keys([1, 2, None]), "must be unique and never null: 1 are null"),
        (lambda: flou.record_keys(microdata(a=[1]), stored="b"), "stored = 'b' names no column.*Columns: a"),
        (lambda: flou.record_keys(microdata(a=["1"]), stored="a"), "should be numbers, but the column is String"),
        (lambda: flou.record_keys(microdata(a=[1, None]), stored="a"), "missing in 1 records"),
        (lambda: flou.record_keys(microdata(a=[0.5, float("nan")]), stored="a"), "missing in 1 records"),
        (lambda: flou.record_keys(microdata(a=[1, -1]), stored="a"), r"whole numbers in \[0, 2\^32\).*between -1 and 1"),
        (lambda: flou.record_keys(microdata(a=[1, 2**32]), stored="a"), "between 1 and 4294967296"),
        (lambda: flou.record_keys(microdata(a=[0.5, 1.0]), stored="a"), r"numbers in \[0, 1\)"),
        (lambda: flou.record_keys(microdata(a=[0.5, -0.1]), stored="a"), r"numbers in \[0, 1\)"),
        (lambda: flou.record_keys(microdata(a=[0.5, float("inf")]), stored="a"), r"numbers in \[0, 1\)"),
        (lambda: flou.record_keys(microdata(a=[5, 5, 6]), stored="a"), "1 of 3 record keys 'a' are repeated"),
        (lambda: flou.record_keys(microdata(a=[i % 1000 / 1000 for i in range(3000)]), stored="a"), "2,000 of 3,000.*repeated"),
    ],
)  # fmt: skip
def test_what_cannot_be(call: Any, words: str) -> None:
    with pytest.raises(flou.FlouError, match=words):
        call()


@pytest.mark.parametrize("engine", ["polars", "polars-lazy", "duckdb"])
def test_repeated_and_missing_ids_are_refused_on_every_engine(engine: str) -> None:
    from tests.contracts.cases import native as in_engine

    for ids, words in (([1, 2, 2, 2], r"the 4 records are of 2 persons"), ([1, None, 2, None], "2 are null")):
        frame = in_engine(pl.DataFrame({"pid": ids}), engine)
        with pytest.raises(flou.FlouError, match=words):
            flou.Microdata(frame, id="pid")


def test_a_few_keys_may_fall_together_by_accident() -> None:
    drawn = np.random.default_rng(1).integers(0, 2**32, 300_000)
    n_repeated = len(drawn) - len(np.unique(drawn))
    assert n_repeated > 2  # about 10 are to be expected
    flou.record_keys(microdata(a=drawn), stored="a")


def test_stored_keys_are_taken_as_they_are() -> None:
    whole = flou.record_keys(microdata(k=[5, 2**32 - 1, 0], a=["x", "x", "y"]), stored="k")
    table = whole.tabulate("a")
    assert table.cells.key is not None
    assert table.cells.key.tolist() == [4, 4, 0]  # 5 + 2^32 - 1 modulo 2^32
    floats = flou.record_keys(microdata(k=[0.5, 0.75, 0.0], a=["x", "x", "y"]), stored="k").tabulate("a")
    assert floats.cells.key is not None
    assert floats.cells.key.tolist() == [2**30, 2**30, 0]


def _keyed(how: str) -> flou.Microdata:
    frame = pl.DataFrame({"pid": [1, 2, 3, 4], "rkey": [3735928559, 2, 3, 4], "a": ["x", "x", "y", "y"]})
    data = flou.Microdata(frame if how != "id" else frame.drop("rkey"), id="pid", keys=["a"])
    return flou.record_keys(data, secret=1) if how == "id" else flou.record_keys(data, stored="rkey")


@pytest.mark.parametrize("how", ["id", "stored"])
def test_nobody_sees_the_keys(how: str, tmp_path: Path) -> None:
    keyed = _keyed(how)
    held = native.collect(keyed.frame)[RECORD_KEY].to_list()
    assert held
    release = flou.Plan([flou.protect.Recode("a", mapping={"x": "z", "y": "z"})]).protect(keyed, secret=1)
    for data in (keyed, release.data, keyed.public(), release.data.public()):
        assert not {RECORD_KEY, "rkey"} & set(data.columns)
        assert not {RECORD_KEY, "rkey"} & set(data.to_frame().columns)
        assert not {RECORD_KEY, "rkey"} & set(data.to_frame(reveal=True).columns)
        stored = pickle.dumps(data)
        for key in held[:1] if how == "stored" else held:
            assert key.to_bytes(4, "little") not in stored
        assert b"record_key" not in stored
        assert "key" not in repr(data).replace("keys: a", "")
    for ending in ("csv", "parquet"):
        flou.write(release, tmp_path / f"t.{ending}")
        written = flou.read(tmp_path / f"t.{ending}", schema=flou.Schema()).columns
        assert written == ("a",)


def test_stored_keys_that_have_a_hidden_role_keep_it() -> None:
    frame = pl.DataFrame({"rkey": [3, 4], "a": ["x", "y"]})
    keyed = flou.record_keys(flou.Microdata(frame, identifiers=["rkey"], keys=["a"]), stored="rkey")
    assert keyed.schema.identifiers == ("rkey",)
    assert keyed.public().columns == ("a",)


def test_an_id_is_no_key() -> None:
    frame = pl.DataFrame({"pid": [3, 4], "a": ["x", "y"]})
    with pytest.raises(flou.FlouError, match="is the id of the units, not a key"):
        flou.record_keys(flou.Microdata(frame, id="pid", keys=["a"]), stored="pid")


@pytest.mark.parametrize("engine", ["polars", "duckdb"])
@pytest.mark.parametrize("top", [2**24, 2**31, 0.5, 200])
def test_keys_that_are_not_spread_over_their_range(top: float, engine: str) -> None:
    """Drawn from a shorter range, or numbers of something else: all cells would be moved alike."""
    rng = np.random.default_rng(1)
    keys = rng.permutation(200) if top == 200 else rng.random(200) * top
    held = pl.Series("rkey", keys if isinstance(top, float) else keys.astype(np.int64))
    frame: Any = pl.DataFrame({"a": ["x", "y"] * 100}).with_columns(held)
    if engine == "duckdb":
        frame = pytest.importorskip("duckdb").from_arrow(frame.to_arrow())
    with pytest.raises(flou.FlouError, match="not spread over their range"):
        flou.record_keys(flou.Microdata(frame, keys=["a"]), stored="rkey")


def test_a_secret_that_does_not_last_makes_no_lasting_keys() -> None:
    people = flou.Microdata(pl.DataFrame({"pid": [3, 4], "a": ["x", "y"]}), id="pid")
    with pytest.raises(flou.FlouError, match="Save it first"):
        flou.record_keys(people, secret=flou.Secret.generate())


def test_keys_travel_into_a_release_but_not_out_of_it() -> None:
    keyed = _keyed("id")
    table = keyed.tabulate("a")
    assert table.has_keys
    assert not flou.Microdata(keyed.to_frame(), id="pid").tabulate("a").has_keys
    with pytest.raises(flou.FlouError, match="no cell keys"):
        flou.protect.CellKey(D=5, V=3).protect(flou.Microdata(keyed.to_frame(), id="pid").tabulate("a"))
