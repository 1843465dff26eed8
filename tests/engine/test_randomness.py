"""Secrets and draws."""

from __future__ import annotations

import copy
import pickle
import stat
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import flou
from flou.engine.randomness import Draws, keyed_hash, siphash
from flou.engine.secret import Secret

KEY = bytes(range(16))
#: First outputs of the reference implementation of SipHash-2-4 (Aumasson & Bernstein), key 00..0f, inputs
#: of 0, 1, 2, 7, 8 and 15 bytes 00 01 02 …
VECTORS = {
    0: 0x726FDB47DD0E0E31,
    1: 0x74F839C593DC67FD,
    2: 0x0D6C8009D9A94F5A,
    7: 0xAB0200F58B01D137,
    8: 0x93F5F5799A932462,
    15: 0xA129CA6149BE45E5,
}
#: What this version and all later ones draw for ids 1, 2, 10^15 and for "a", "é".
FIRST_BITS = [12622250893775173182, 6283659235064561198, 6294225330124716727]
FIRST_BITS_OF_TEXTS = [5841082900242112839, 4372787506831467235]
#: The same of lasting draws for ids 1, 2, 10^15.
FIRST_LASTING_BITS = [3284973603577577787, 14857185742344088377, 14715312935409242724]


@pytest.mark.parametrize("n", list(VECTORS))
def test_siphash_reference_vectors(n: int) -> None:
    padded = bytes(range(n)).ljust(24, b"\0")
    words = np.frombuffer(padded, dtype="<u8").reshape(1, 3)
    assert int(siphash(words, np.array([n]), KEY)[0]) == VECTORS[n]


def test_hash_of_integers_and_texts() -> None:
    assert int(keyed_hash(np.array([0x0706050403020100]), KEY)[0]) == VECTORS[8]
    texts = np.array(["", "a", "é" * 20, "a longer text of 32 bytes exactly"])
    alone = [int(keyed_hash(np.array([t]), KEY)[0]) for t in texts]
    assert keyed_hash(texts, KEY).tolist() == alone
    assert len(set(alone)) == 4
    assert keyed_hash(np.array([5], dtype=np.int32), KEY) == keyed_hash(np.array([5], dtype=np.uint64), KEY)


def test_draws_depend_on_unit_step_method_number_and_secret_alone() -> None:
    secret, other = Secret(bytes(32)), Secret(bytes(31) + b"\1")
    ids = np.arange(1000)
    draws = Draws(secret, "noise")
    once = draws.uniform(ids)
    assert np.array_equal(once[::-1], draws.uniform(ids[::-1]))
    different = [
        draws.uniform(ids, 1),
        Draws(secret, "noise", again=2).uniform(ids),
        Draws(secret, "swap").uniform(ids),
        Draws(other, "noise").uniform(ids),
    ]
    for values in different:
        assert abs(np.corrcoef(once, values)[0, 1]) < 0.15
    assert np.array_equal(np.sort(draws.order(ids)), ids)


def test_draws_are_uniform_and_open() -> None:
    values = Draws(Secret(bytes(32)), "x").uniform(np.arange(200_000))
    counts = np.histogram(values, bins=50, range=(0, 1))[0]
    chi2 = ((counts - 4000) ** 2 / 4000).sum()
    assert chi2 < 90  # 49 degrees of freedom: P < 0.0003
    assert values.min() > 0
    assert values.max() < 1


def test_unit_ids_do_not_depend_on_row_order_without_an_id() -> None:
    frame = pl.DataFrame({"a": [3, 1, 2, 1], "b": ["x", None, "y", "z"]})
    ids = flou.Microdata(frame).unit_ids()
    order = [2, 0, 3, 1]
    assert flou.Microdata(frame[order]).unit_ids().tolist() == ids[order].tolist()
    assert sorted(ids.tolist()) == [0, 1, 2, 3]
    with pytest.raises(flou.FlouError, match="id"):
        flou.Microdata(frame.lazy()).unit_ids()


@pytest.mark.parametrize("ids", [[1, 1, 2], [1, None, 2]])
def test_ids_must_be_unique_and_filled(ids: list[int | None]) -> None:
    with pytest.raises(flou.FlouError, match="unique"):
        flou.Microdata(pl.DataFrame({"pid": ids, "a": [1, 2, 3]}), id="pid").unit_ids()


def test_secret_from_file_round_trip(tmp_path: Path) -> None:
    path = tmp_path / "office.secret"
    secret = Secret.generate()
    secret.save(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    again = Secret.from_file(path)
    assert again == secret
    assert again.origin == "file"
    assert again.replayable
    assert not secret.replayable
    with pytest.raises(flou.FlouError, match="never overwritten"):
        Secret.generate().save(path)


def test_secret_from_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FLOU_SECRET", "ab" * 16)
    assert Secret.from_environment() == Secret(b"\xab" * 16)


def test_secret_is_never_shown() -> None:
    secret = Secret(b"0123456789abcdef0123456789abcdef")
    assert "0123" not in repr(secret) + str(secret)
    with pytest.raises(flou.FlouError):
        pickle.dumps(secret)
    with pytest.raises(flou.FlouError):
        copy.deepcopy(secret)
    with pytest.raises(AttributeError):
        secret.origin = "test"  # type: ignore[misc]


def test_test_seeds_are_marked() -> None:
    assert Secret.of(3).test_only
    assert Secret.of(3) == Secret.from_seed(3)
    assert Secret.of(None).origin == "entropy"
    with pytest.raises(flou.FlouError):
        Secret.of(True)
    with pytest.raises(flou.FlouError):
        Secret.from_seed(1).save("x")


@pytest.mark.parametrize("dtype", [np.int64, np.int32, np.uint64])
def test_many_ids_draw_what_few_do(dtype: type[np.generic]) -> None:
    """From 20,000 whole-number ids on a compiled loop draws: the same bits, and the same normals to 14 digits."""
    ids = np.random.default_rng(3).integers(0, 2**31 - 1, 25_000).astype(dtype)
    draws, parts = Draws(Secret(bytes(32)), "noise"), np.array_split(ids, 2)
    for number in (0, 3):
        for draw in (draws.bits, draws.uniform, draws.order):
            few = [draw(part, number) for part in parts]
            if draw == draws.order:
                assert np.array_equal(draw(ids, number), np.argsort(draws.bits(ids, number), kind="stable"))
            else:
                assert np.array_equal(draw(ids, number), np.concatenate(few))
        many = draws.normal(ids, number)
        assert np.allclose(many, np.concatenate([draws.normal(p, number) for p in parts]), rtol=1e-14, atol=1e-15)
    values = np.linspace(-5, 5, len(ids))
    assert np.array_equal(draws.add_normal(values, 2.5, ids, 3), values + 2.5 * many)
    assert np.array_equal(draws.add_normal(values, values, ids, 3), values + values * many)
    assert np.array_equal(draws.add_normal(values[:9], 2.5, ids[:9], 3), values[:9] + 2.5 * draws.normal(ids[:9], 3))


def test_draws_are_those_of_the_second_format() -> None:
    """Releases can be replayed only if no later version draws otherwise."""
    draws = Draws(Secret(bytes(range(32))), "noise", "{}", again=2)
    assert draws.bits(np.array([1, 2, 10**15]), 1).tolist() == FIRST_BITS
    assert draws.bits(np.array(["a", "é"]), 1).tolist() == FIRST_BITS_OF_TEXTS


def test_normals_are_normal() -> None:
    from scipy.stats import kstest

    draws = Draws(Secret(bytes(32)), "x")
    for n in (5_000, 200_000):
        assert kstest(draws.normal(np.arange(n)), "norm").pvalue > 1e-4
    extremes = draws.normal(np.arange(2_000_000))
    assert 4.5 < extremes.max() < 6.5
    assert -6.5 < extremes.min() < -4.5


def test_lasting_draws_depend_on_secret_purpose_and_unit_alone() -> None:
    secret, ids = Secret(bytes(range(32))), np.array([1, 2, 10**15])
    first = Draws(secret, "random_rounding")
    other = Draws(secret, "another", again=7)
    found = first.lasting("cells").bits(ids)
    assert (found == other.lasting("cells").bits(ids)).all()
    assert (found != other.lasting("cell").bits(ids)).all()
    assert (found != other.bits(ids)).all()
    assert (found != Draws(Secret(bytes(32)), "random_rounding").lasting("cells").bits(ids)).all()
    assert found.tolist() == FIRST_LASTING_BITS
    assert first.used, "a step that draws lastingly cannot be replayed without its secret"


def test_lasting_draws_need_a_secret_that_lasts() -> None:
    with pytest.raises(flou.FlouError, match="from_file"):
        Draws(Secret.generate(), "m").lasting("cells")
