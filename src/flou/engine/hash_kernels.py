"""Loops of the keyed hash over many whole-number ids, down to normal draws, in one pass over memory.

SipHash-2-4 (Aumasson & Bernstein 2012) of one 8-byte id at a time, bit for bit what `randomness` computes
with NumPy; uniforms from its upper 52 bits; normals by inversion with algorithm AS 241 (Wichura 1988, PPND16,
relative accuracy 1e-16). Work goes in blocks that fit the cache: hashing and the central part of the
inversion have no branch, so the compiler makes them wide; the tails, 15% of the draws, follow one by one.
"""

from __future__ import annotations

import math

import numba
import numpy as np

_BLOCK = 2048
_compiled = numba.njit(cache=True, nogil=True)
_inlined = numba.njit(inline="always")


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


@_inlined
def _polynomial(c, r):  # type: ignore[no-untyped-def]
    return ((((((c[0] * r + c[1]) * r + c[2]) * r + c[3]) * r + c[4]) * r + c[5]) * r + c[6]) * r + c[7]


@_inlined
def _central(q):  # type: ignore[no-untyped-def]
    """AS 241 for |u - 1/2| = |q| up to 0.425."""
    r = 0.180625 - q * q
    return q * _polynomial(_A, r) / _polynomial(_B, r)


@_inlined
def _tail(q):  # type: ignore[no-untyped-def]
    """AS 241 for |q| above 0.425; the distance to the nearer end is exact, for u has 52 bits."""
    r = math.sqrt(-math.log(0.5 - abs(q)))
    if r <= 5.0:
        found = _polynomial(_C, r - 1.6) / _polynomial(_D, r - 1.6)
    else:
        found = _polynomial(_E, r - 5.0) / _polynomial(_F, r - 5.0)
    return math.copysign(found, q)


@_compiled
def draw_normals(words, k0, k1, out):  # type: ignore[no-untyped-def]
    """A standard normal draw a word."""
    q = np.empty(_BLOCK)
    for start in range(0, len(words), _BLOCK):
        n = min(_BLOCK, len(words) - start)
        for i in range(n):
            q[i] = _uniform(_hashed(words[start + i], k0, k1)) - 0.5
        for i in range(n):
            out[start + i] = _central(q[i])
        for i in range(n):
            if abs(q[i]) > 0.425:
                out[start + i] = _tail(q[i])


@_compiled
def add_normals(values, scale, words, k0, k1, out):  # type: ignore[no-untyped-def]
    """Values with a normal draw of standard deviation `scale` added to each."""
    q, z = np.empty(_BLOCK), np.empty(_BLOCK)
    for start in range(0, len(words), _BLOCK):
        n = min(_BLOCK, len(words) - start)
        for i in range(n):
            q[i] = _uniform(_hashed(words[start + i], k0, k1)) - 0.5
        for i in range(n):
            z[i] = _central(q[i])
        for i in range(n):
            if abs(q[i]) > 0.425:
                z[i] = _tail(q[i])
        for i in range(n):
            out[start + i] = values[start + i] + scale * z[i]
