"""Randomness by keyed hash (SipHash-2-4, Aumasson & Bernstein 2012) of unit id and draw number.

Each draw is a function of (secret, step, method and its parameters, unit id, draw number) alone:
neither the engine nor the order of rows matters, and nobody without the secret can replay it. The
subkey of a step comes from HMAC-SHA256. Many whole-number ids are hashed by compiled loops that give the
same bits; normal draws are quantiles of the uniform ones.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from flou.engine.errors import SecretError
from flou.engine.secret import Secret

U64 = NDArray[np.uint64]
Floats = NDArray[np.float64]

#: From this many whole-number ids on, a compiled loop is worth loading.
_MANY = 20_000


class Draws:
    """The draws of one step, for units named by `ids` (integers or texts).

    They depend on the method's parameters as well, so that two noises of different size on the same file
    are independent: their difference says nothing about anybody.
    """

    def __init__(self, secret: Secret, step: int, method: str, settings: str = "") -> None:
        self._secret = secret
        self._purpose: tuple[str | int, ...] = ("draw", step, method, settings)
        #: Whether anything was drawn: a step that drew nothing can be replayed without the secret.
        self.used = False

    def lasting(self, purpose: str) -> Draws:
        """Draws that depend on the secret, the purpose and the unit alone: neither on the step nor on the parameters.

        For what is published more than once, such as a cell that stands in several tables: it is drawn in the same way
        each time, so that asking again tells nothing more. A secret from the operating system's entropy lasts for one
        call and is refused: two calls would draw twice, and figures that were drawn often average out.
        """
        if not self._secret.replayable:
            raise SecretError(
                "These draws must be the same at every call, or asking again would let them be averaged away. Give a "
                'secret that lasts: secret=flou.Secret.from_file("office.secret"), made once with `flou secret FILE`.'
            )
        self.used = True
        lasting = Draws(self._secret, 0, "")
        lasting._purpose = ("lasting draw", purpose)
        return lasting

    def _key(self, number: int) -> bytes:
        self.used = True
        return self._secret.derive(*self._purpose, number)[:16]

    def bits(self, ids: NDArray[np.generic], number: int = 0) -> U64:
        """64 random bits a unit."""
        return keyed_hash(ids, self._key(number))

    def uniform(self, ids: NDArray[np.generic], number: int = 0) -> Floats:
        """Uniform in the open interval (0, 1), 52 bits of it: safe for logarithms and normal quantiles."""
        key = self._key(number)
        if _is_many(ids):
            from flou.engine.hash_kernels import draw_uniforms

            out = np.empty(len(ids))
            draw_uniforms(_words(ids), *_halves(key), out)
            return out
        high = (keyed_hash(ids, key) >> np.uint64(12)).astype(np.float64)
        return (high + 0.5) * 2.0**-52

    def normal(self, ids: NDArray[np.generic], number: int = 0) -> Floats:
        """Standard normal: the quantile of the uniform draw of the same number, to about 15 digits."""
        if _is_many(ids):
            from flou.engine.hash_kernels import draw_normals

            out = np.empty(len(ids))
            draw_normals(_words(ids), *_halves(self._key(number)), out)
            return out
        from scipy.special import ndtri

        quantiles: Floats = ndtri(self.uniform(ids, number))
        return quantiles

    def add_normal(self, values: Floats, scale: float | Floats, ids: NDArray[np.generic], number: int = 0) -> Floats:
        """Values with normal draws of standard deviation `scale` added: `values + scale * normal(ids)` in one pass."""
        if isinstance(scale, float) and _is_many(ids):
            from flou.engine.hash_kernels import add_normals

            out = np.empty(len(ids))
            add_normals(values, scale, _words(ids), *_halves(self._key(number)), out)
            return out
        return values + scale * self.normal(ids, number)

    def order(self, ids: NDArray[np.generic], number: int = 0) -> NDArray[np.intp]:
        """A random order of the units."""
        return np.argsort(self.bits(ids, number), kind="stable")


def keyed_hash(ids: NDArray[np.generic], key: bytes) -> U64:
    """SipHash-2-4 of each id under a 16-byte key: integers as 8 little-endian bytes, texts as UTF-8."""
    if _is_many(ids):
        from flou.engine.hash_kernels import hash_words

        out = np.empty(len(ids), dtype=np.uint64)
        hash_words(_words(ids), *_halves(key), out)
        return out
    if ids.dtype.kind in "iub":
        return siphash(_words(ids).reshape(-1, 1), np.full(len(ids), 8), key)
    encoded = [str(v).encode() for v in ids.tolist()]
    lengths = np.fromiter((len(e) for e in encoded), dtype=np.int64, count=len(encoded))
    width = int(lengths.max(initial=0)) // 8 * 8 + 8
    padded = np.frombuffer(b"".join(e.ljust(width, b"\0") for e in encoded), dtype="<u8")
    return siphash(padded.reshape(len(encoded), width // 8), lengths, key)


def _is_many(ids: NDArray[np.generic]) -> bool:
    return ids.dtype.kind in "iub" and len(ids) >= _MANY


def _words(ids: NDArray[np.generic]) -> U64:
    """Whole-number ids as words of 64 bits."""
    return np.ascontiguousarray(ids, dtype=np.int64).view(np.uint64)


def _halves(key: bytes) -> tuple[np.uint64, np.uint64]:
    return np.uint64(int.from_bytes(key[:8], "little")), np.uint64(int.from_bytes(key[8:16], "little"))


def siphash(words: U64, lengths: NDArray[np.integer], key: bytes) -> U64:
    """SipHash-2-4 of rows of little-endian words, row i being `lengths[i]` bytes long, zero-padded."""
    k0, k1 = _halves(key)
    out = np.empty(len(words), dtype=np.uint64)
    full = lengths // 8
    for blocks in np.unique(full):
        rows = np.flatnonzero(full == blocks)
        tail = words[rows, blocks] if blocks < words.shape[1] else np.zeros(len(rows), dtype=np.uint64)
        last = tail | ((lengths[rows].astype(np.uint64) & np.uint64(0xFF)) << np.uint64(56))
        out[rows] = _siphash_blocks([*words[rows, :blocks].T, last], k0, k1)
    return out


def _siphash_blocks(blocks: list[U64], k0: np.uint64, k1: np.uint64) -> U64:
    n = len(blocks[-1])
    constants = (0x736F6D6570736575, 0x646F72616E646F6D, 0x6C7967656E657261, 0x7465646279746573)
    v = [np.full(n, np.uint64(c) ^ k, dtype=np.uint64) for c, k in zip(constants, (k0, k1, k0, k1), strict=True)]
    for block in blocks:
        v[3] ^= block
        _rounds(v, 2)
        v[0] ^= block
    v[2] ^= np.uint64(0xFF)
    _rounds(v, 4)
    return v[0] ^ v[1] ^ v[2] ^ v[3]


def _rotate(x: U64, by: int) -> U64:
    return (x << np.uint64(by)) | (x >> np.uint64(64 - by))


def _rounds(v: list[U64], n: int) -> None:
    for _ in range(n):
        v[0] += v[1]
        v[1] = _rotate(v[1], 13) ^ v[0]
        v[0] = _rotate(v[0], 32)
        v[2] += v[3]
        v[3] = _rotate(v[3], 16) ^ v[2]
        v[0] += v[3]
        v[3] = _rotate(v[3], 21) ^ v[0]
        v[2] += v[1]
        v[1] = _rotate(v[1], 17) ^ v[2]
        v[2] = _rotate(v[2], 32)
