"""Loops of the keyed hash over many whole-number ids, down to normal draws, in one pass over memory.

SipHash-2-4 (Aumasson & Bernstein 2012) of one 8-byte id at a time, bit for bit what `randomness` computes
with NumPy; uniforms from its upper 52 bits; normals by inversion with algorithm AS 241 (Wichura 1988, PPND16,
relative accuracy 1e-16). Work goes in blocks that fit the cache, in loops without branches or calls, which the
compiler makes wide: the central part of the inversion is computed for all draws, then the tails, 15% of
them, are gathered and computed by themselves.
"""

from __future__ import annotations

import math

import numpy as np

from flou.engine.compiled import njit

_BLOCK = 2048
# a division that raises would keep loops from being made wide
_compiled = njit(cache=True, nogil=True, error_model="numpy")
_inlined = njit(inline="always", error_model="numpy")


@_inlined
def _rotated(x, by):  # type: ignore[no-untyped-def]
    return (x << np.uint64(by)) | (x >> np.uint64(64 - by))


@_inlined
def _round(v0, v1, v2, v3):  # type: ignore[no-untyped-def]
    v0 += v1
    v1 = _rotated(v1, 13) ^ v0
    v0 = _rotated(v0, 32)
    v2 += v3
    v3 = _rotated(v3, 16) ^ v2
    v0 += v3
    v3 = _rotated(v3, 21) ^ v0
    v2 += v1
    v1 = _rotated(v1, 17) ^ v2
    v2 = _rotated(v2, 32)
    return v0, v1, v2, v3


@_inlined
def _hashed(word, k0, k1):  # type: ignore[no-untyped-def]
    """SipHash-2-4 of eight bytes: the word, then the block that says how long it was."""
    length = np.uint64(8 << 56)
    v0 = np.uint64(0x736F6D6570736575) ^ k0
    v1 = np.uint64(0x646F72616E646F6D) ^ k1
    v2 = np.uint64(0x6C7967656E657261) ^ k0
    v3 = np.uint64(0x7465646279746573) ^ k1 ^ word
    v0, v1, v2, v3 = _round(v0, v1, v2, v3)
    v0, v1, v2, v3 = _round(v0, v1, v2, v3)
    v0 ^= word
    v3 ^= length
    v0, v1, v2, v3 = _round(v0, v1, v2, v3)
    v0, v1, v2, v3 = _round(v0, v1, v2, v3)
    v0 ^= length
    v2 ^= np.uint64(0xFF)
    v0, v1, v2, v3 = _round(v0, v1, v2, v3)
    v0, v1, v2, v3 = _round(v0, v1, v2, v3)
    v0, v1, v2, v3 = _round(v0, v1, v2, v3)
    v0, v1, v2, v3 = _round(v0, v1, v2, v3)
    return v0 ^ v1 ^ v2 ^ v3


@_inlined
def _uniform(bits):  # type: ignore[no-untyped-def]
    return (np.float64(bits >> np.uint64(12)) + 0.5) * 2.0**-52


@_compiled
def hash_words(words, k0, k1, out):  # type: ignore[no-untyped-def]
    """64 random bits a word."""
    for i in range(len(words)):
        out[i] = _hashed(words[i], k0, k1)


@_compiled
def draw_uniforms(words, k0, k1, out):  # type: ignore[no-untyped-def]
    """A uniform draw a word, in the open interval (0, 1)."""
    for i in range(len(words)):
        out[i] = _uniform(_hashed(words[i], k0, k1))


#: Coefficients of AS 241, highest power first: |q| up to 0.425, r up to 5, r above 5; numerator, denominator.
# fmt: off
_A = (2.5090809287301226727e3, 3.3430575583588128105e4, 6.7265770927008700853e4, 4.5921953931549871457e4,
      1.3731693765509461125e4, 1.9715909503065514427e3, 1.3314166789178437745e2, 3.3871328727963666080e0)
_B = (5.2264952788528545610e3, 2.8729085735721942674e4, 3.9307895800092710610e4, 2.1213794301586595867e4,
      5.3941960214247511077e3, 6.8718700749205790830e2, 4.2313330701600911252e1, 1.0)
_C = (7.74545014278341407640e-4, 2.27238449892691845833e-2, 2.41780725177450611770e-1, 1.27045825245236838258e0,
      3.64784832476320460504e0, 5.76949722146069140550e0, 4.63033784615654529590e0, 1.42343711074968357734e0)
_D = (1.05075007164441684324e-9, 5.47593808499534494600e-4, 1.51986665636164571966e-2, 1.48103976427480074590e-1,
      6.89767334985100004550e-1, 1.67638483018380384940e0, 2.05319162663775882187e0, 1.0)
_E = (2.01033439929228813265e-7, 2.71155556874348757815e-5, 1.24266094738807843860e-3, 2.65321895265761230930e-2,
      2.96560571828504891230e-1, 1.78482653991729133580e0, 5.46378491116411436990e0, 6.65790464350110377720e0)
_F = (2.04426310338993978564e-15, 1.42151175831644588870e-7, 1.84631831751005468180e-5, 7.86869131145613259100e-4,
      1.48753612908506148525e-2, 1.36929880922735805310e-1, 5.99832206555887937690e-1, 1.0)
# fmt: on
#: The second pair serves while -log(1/2 - |q|) is 25 at most.
_FAR = math.exp(-25.0)
_LOG_2 = math.log(2.0)
_BITS_OF_ROOT_HALF = int(np.float64(math.sqrt(0.5)).view(np.int64))


@_inlined
def _polynomial(c, r):  # type: ignore[no-untyped-def]
    return ((((((c[0] * r + c[1]) * r + c[2]) * r + c[3]) * r + c[4]) * r + c[5]) * r + c[6]) * r + c[7]


@_inlined
def _central(q):  # type: ignore[no-untyped-def]
    """AS 241 for |u - 1/2| = |q| up to 0.425."""
    r = 0.180625 - q * q
    return q * _polynomial(_A, r) / _polynomial(_B, r)


@_inlined
def _log_of_mantissa(m):  # type: ignore[no-untyped-def]
    """log m = 2 artanh((m - 1) / (m + 1)) for m between 0.7 and 1.42: twelve terms of the series are exact enough."""
    s = (m - 1.0) / (m + 1.0)
    w = s * s
    low = (((1 / 23 * w + 1 / 21) * w + 1 / 19) * w + 1 / 17) * w + 1 / 15
    series = (((((low * w + 1 / 13) * w + 1 / 11) * w + 1 / 9) * w + 1 / 7) * w + 1 / 5) * w + 1 / 3
    return 2.0 * (s + s * w * series)


@_compiled
def _centred_uniforms(words, k0, k1, q):  # type: ignore[no-untyped-def]
    """u - 1/2 of each word: 52 random bits as the mantissa of a number in [1, 2), less 1.5, plus half of the last."""
    bits = q.view(np.uint64)
    for i in range(len(words)):
        bits[i] = (_hashed(words[i], k0, k1) >> np.uint64(12)) | np.uint64(0x3FF0000000000000)
    for i in range(len(words)):
        q[i] = (q[i] - 1.5) + 2.0**-53


@_compiled
def _invert(q, z, spare):  # type: ignore[no-untyped-def]
    """Normal quantiles of u = q + 1/2. The distance 1/2 - |q| to the nearer end is exact, for u has 53 bits."""
    for i in range(len(q)):
        z[i] = _central(q[i])
    ends, mantissas, found, where = spare[0], spare[1], spare[2], spare[3].view(np.int64)
    n = 0
    for i in range(len(q)):
        ends[n] = 0.5 - abs(q[i])
        where[n] = i
        n += ends[n] < 0.075
    end_bits, mantissa_bits = ends.view(np.int64), mantissas.view(np.int64)
    for i in range(n):
        exponent = (end_bits[i] - _BITS_OF_ROOT_HALF) >> 52
        mantissa_bits[i] = end_bits[i] - (exponent << 52)
        found[i] = exponent
    for i in range(n):
        r = math.sqrt(-(found[i] * _LOG_2 + _log_of_mantissa(mantissas[i]))) - 1.6
        found[i] = _polynomial(_C, r) / _polynomial(_D, r)
    for i in range(n):
        if ends[i] < _FAR:
            r = math.sqrt(-math.log(ends[i])) - 5.0
            found[i] = _polynomial(_E, r) / _polynomial(_F, r)
        z[where[i]] = math.copysign(found[i], q[where[i]])


@_compiled
def draw_normals(words, k0, k1, out):  # type: ignore[no-untyped-def]
    """A standard normal draw a word."""
    q, spare = np.empty(_BLOCK), np.empty((4, _BLOCK))
    for start in range(0, len(words), _BLOCK):
        end = min(start + _BLOCK, len(words))
        _centred_uniforms(words[start:end], k0, k1, q)
        _invert(q[: end - start], out[start:end], spare)


@_compiled
def add_normals(values, scale, words, k0, k1, out):  # type: ignore[no-untyped-def]
    """Values with a normal draw of standard deviation `scale` added to each."""
    q, z, spare = np.empty(_BLOCK), np.empty(_BLOCK), np.empty((4, _BLOCK))
    for start in range(0, len(words), _BLOCK):
        end = min(start + _BLOCK, len(words))
        _centred_uniforms(words[start:end], k0, k1, q)
        _invert(q[: end - start], z, spare)
        for i in range(end - start):
            out[start + i] = values[start + i] + scale * z[i]
