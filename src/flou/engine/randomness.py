"""Randomness by keyed hash (SipHash-2-4, Aumasson & Bernstein 2012) of unit id and draw number.

Each draw is a function of (secret, series, method, what is drawn with, unit id and value, draw number) alone:
neither the engine nor the order of rows matters, and nobody without the secret can replay it. The
subkey of a step comes from HMAC-SHA256. Many whole-number ids are hashed by compiled loops that give the
same bits; normal draws are quantiles of the uniform ones.
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flou.engine.errors import DataError, SecretError
from flou.engine.secret import Secret
from flou.engine.series import NO_SERIES, Series

U64 = NDArray[np.uint64]
Floats = NDArray[np.float64]

#: From this many whole-number ids on, a compiled loop is worth loading.
_MANY = 20_000


class Draws:
    """The draws of one step, for units named by `ids` (integers or texts).

    A draw hangs on the secret, the series of releases, the method and what it is bound to: the column, the scale,
    matrix or classes actually used, the unit and its value. Neither the number of the step nor settings that do not
    matter change it. So the same file gives the same draws, and whatever changes gets draws of its own: two releases
    cannot be subtracted.
    """

    def __init__(
        self, secret: Secret, method: str, settings: str = "", *, series: Series = NO_SERIES, again: int = 0
    ) -> None:
        self._secret, self._series = secret, series
        self._purpose: tuple[str | int, ...] = ("draw", series.series, method, again)
        #: What draws hang on where the method binds them to nothing: all of its parameters.
        self._settings: tuple[str, ...] = (settings,)
        #: Whether anything was drawn, by this or by what was bound to it: else it is replayed without the secret.
        self._used = [False]
        #: What the same step of a former release drew with, where the plan names one.
        self.former: Mapping[str, Any] | None = None
        #: What columns were called when they were first drawn, where they have another name now.
        self.names: Mapping[str, str] = {}

    @classmethod
    def of_attack(cls, secret: Secret, method: str, settings: str) -> Draws:
        """The draws of an attack, of which nothing is published."""
        return cls(secret, method)._with("draw", 0, method, settings)

    @property
    def used(self) -> bool:
        return self._used[0]

    def _with(self, *purpose: str | int) -> Draws:
        made = copy(self)
        made._purpose, made._settings = purpose, ()
        return made

    def bound(self, *what: object) -> Draws:
        """Draws that hang on these, not on all parameters: columns, and the scale, matrix or classes that are used."""
        named = [self.first_name(part) if isinstance(part, str) else part for part in what]
        return self._with(*self._purpose, *(_exact(part) for part in named))

    def first_name(self, column: str) -> str:
        """What a column was called when it was first drawn in the series."""
        return self.names.get(column, column)

    def lasting(self, purpose: str) -> Draws:
        """Draws that depend on the secret, the purpose and the unit alone.

        For what is published more than once, such as a cell that stands in several tables: it is drawn in the same way
        each time, so that asking again tells nothing more. A secret from the operating system's entropy lasts for one
        call and is refused: two calls would draw twice, and figures that were drawn often average out.
        """
        if not self._secret.replayable:
            raise SecretError(
                "These draws must be the same at every call, or asking again would let them be averaged away. Give a "
                'secret that lasts: secret=flou.Secret.from_file("office.secret"), made once with `flou secret FILE`.'
            )
        self._used[0] = True
        return self._with("lasting draw", purpose)

    def lasting_key(self, purpose: str) -> bytes:
        """A key for what is not drawn, but must be known again in a later run: the chain of a ledger."""
        if not self._secret.replayable:
            raise SecretError(
                f"A {purpose} needs a secret that lasts. Name it in the plan: [secrets] with file = "
                '"office.secret", made once with `flou secret FILE`.'
            )
        return self._secret.derive(purpose)

    def of_period(self, purpose: str) -> Draws:
        """Draws that are the same within a period of the series and independent between periods."""
        if self._series.period is None:
            raise DataError(
                "A sample is drawn for a period, so that what is published twice in it shows the same people. Name it: "
                '[release] with period = "2026" in the plan, or period="2026" in Python.'
            )
        return self._with("period", self._series.series, self._series.period, purpose)

    def canonical(self, ids: NDArray[np.generic]) -> NDArray[np.int64]:
        """Ids as whole numbers: 5, 5.0 and the text "5" are one id; any other text is its hash."""
        if ids.dtype.kind in "iub":
            return ids.astype(np.int64, copy=False)
        held = ids.tolist()
        whole = [_whole_number(v) for v in held]
        out = keyed_hash(np.array([str(v) for v in held], dtype=object), self._key(-1))
        places = [i for i, number in enumerate(whole) if number is not None]
        out[places] = np.array([whole[i] for i in places], dtype=np.uint64)
        return out.view(np.int64)

    def units(self, ids: NDArray[np.generic], *values: NDArray[np.generic]) -> NDArray[np.int64]:
        """Units as numbers to draw by, which change with any of their values: numbers, or texts.

        A chain of keyed hashes (CBC-MAC of a fixed number of blocks), whose last link is the draw itself.
        """
        number = ids if ids.dtype.kind in "iub" else keyed_hash(ids, self._key(-1)).view(np.int64)
        for place, held in enumerate(values):
            chained = keyed_hash(number, self._key(-2 - place))
            number = (chained ^ _canonical(held, self._key(-1))).view(np.int64)
        return number.astype(np.int64, copy=False)

    def _key(self, number: int) -> bytes:
        self._used[0] = True
        return self._secret.derive(*self._purpose, *self._settings, number)[:16]

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


def _whole_number(value: object) -> int | None:
    """The 64 bits of a whole number, or of a text that writes one as a machine would; None for anything else.

    The text "05" is another id than "5": leading zeros tell two persons apart in some registers.
    """
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    elif isinstance(value, str):
        digits = value.removeprefix("-")
        written = digits.isascii() and digits.isdigit() and len(digits) < 20
        value = int(value) if written and str(int(value)) == value else None
    return value % 2**64 if isinstance(value, int) and -(2**63) <= value < 2**64 else None


def _exact(part: object) -> str | int:
    """What draws are bound to, as text that differs wherever it differs."""
    if isinstance(part, np.ndarray):
        return f"{part.dtype}{part.shape}:{np.ascontiguousarray(part).tobytes().hex()}"
    if isinstance(part, float | np.floating):
        return float(part).hex()
    return part if isinstance(part, str | int) else repr(part)


def _canonical(values: NDArray[np.generic], key: bytes) -> U64:
    """Values as words of 64 bits: numbers that are equal have one word, whatever their type; texts their hash."""
    if values.dtype.kind in "OUS":
        return keyed_hash(values, key)
    if values.dtype.kind in "iub":
        return _words(values)
    held = np.asarray(values, dtype=np.float64) + 0.0  # -0.0 is 0.0
    held[np.isnan(held)] = np.nan
    return held.view(np.uint64)


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
