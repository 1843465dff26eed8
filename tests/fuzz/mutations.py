"""Ways to spoil a file: in its bytes, its lines, its words, or, of a zip archive, in what is packed."""

from __future__ import annotations

import io
import random
import re
import zipfile
from collections.abc import Callable

_NUMBERS = (
    "0", "-1", "1e999", "nan", "inf", "-inf", "9" * 25, "9" * 5_000, str(2**63), "-" + str(2**63 + 1), "0x" + "f" * 40,
    "1e-320", "²", "１", "1_000", "true", '"text"', "[]", "{}", "2020-02-30", "9999-12-31", "0001-01-01", "1.5", "-0.0",
    "12:00:00", "[1, 2]", '{ a = 1 }', "1e308", "0.1", "",
)  # fmt: skip
_WORDS = (
    "", " ", "\0", "\ufeff", "\u202e", "é", "𝔘", "\U0010ffff", "x" * 300, "*", "..", "/", "/etc/passwd", "~", "%s", "{}",
    "Total", "null", "None", "NaN", "-", '"', "'", ";", ",", "\t", "@", "<", ">", "#", "=", "[", "]", "\\", "true", "age",
)  # fmt: skip
_NESTS = (10, 63, 70, 200, 5_000)
_ENCODINGS = ("utf-16", "utf-16-le", "utf-32", "latin-1", "cp1252", "utf-7", "cp037", "utf-8-sig")


def _flip(data: bytes, rng: random.Random) -> bytes:
    held = bytearray(data)
    for _ in range(rng.choice((1, 1, 3, 20))):
        if held:
            held[rng.randrange(len(held))] ^= 1 << rng.randrange(8)
    return bytes(held)


def _cut(data: bytes, rng: random.Random) -> bytes:
    return data[: rng.randrange(len(data) + 1)]


def _leave_out(data: bytes, rng: random.Random) -> bytes:
    start = rng.randrange(len(data) + 1)
    return data[:start] + data[start + rng.choice((1, 4, 64)) :]


def _put_in(data: bytes, rng: random.Random) -> bytes:
    start = rng.randrange(len(data) + 1)
    piece = rng.choice((b"\0" * 8, b"\xff" * 4, bytes(rng.randrange(256) for _ in range(16)), data[start : start + 50]))
    return data[:start] + piece + data[start:]


def _replace(data: bytes, rng: random.Random) -> bytes:
    return rng.choice((b"", b"\0", b"\n", b"\xef\xbb\xbf", b"\xff\xfe", b"PK\3\4", b"PAR1", b"\0" * 10_000))


BYTES: tuple[Callable[[bytes, random.Random], bytes], ...] = (_flip, _flip, _flip, _cut, _leave_out, _put_in, _replace)


def _lines(text: str, rng: random.Random) -> str:
    lines = text.split("\n")
    i, j = rng.randrange(len(lines)), rng.randrange(len(lines))
    what = rng.randrange(5)
    if what == 0:
        lines.insert(j, lines[i])
    elif what == 1:
        del lines[i]
    elif what == 2:
        lines[i], lines[j] = lines[j], lines[i]
    elif what == 3:
        lines[i : i + 1] = [lines[i]] * 300
    else:
        lines[i] += lines[j]
    return "\n".join(lines)


def _substitute(pattern: str, choices: tuple[str, ...]) -> Callable[[str, random.Random], str]:
    def change(text: str, rng: random.Random) -> str:
        found = list(re.finditer(pattern, text))
        if not found:
            return text + rng.choice(choices)
        where = rng.choice(found)
        return text[: where.start()] + rng.choice(choices) + text[where.end() :]

    return change


def _swap_words(text: str, rng: random.Random) -> str:
    found = list(re.finditer(r"[\w.@]+", text))
    if len(found) < 2:
        return text
    first, second = sorted(rng.sample(found, 2), key=lambda m: m.start())
    between = text[first.end() : second.start()]
    return text[: first.start()] + second[0] + between + first[0] + text[second.end() :]


def _nest(text: str, rng: random.Random) -> str:
    n, (before, after) = rng.choice(_NESTS), rng.choice((("[", "]"), ("{a=", "}"), ('{"a":', "}"), ("a.", "")))
    found = list(re.finditer(r"[\w.\"-]+", text))
    where = rng.choice(found) if found else None
    start, end = (where.start(), where.end()) if where else (0, 0)
    return text[:start] + before * n + text[start:end] + after * n + text[end:]


def _column(text: str, rng: random.Random) -> str:
    """A column of separated fields left out, doubled or moved, as far as this is one."""
    sign = max(",;\t|", key=text.count)
    rows = [line.split(sign) for line in text.split("\n")]
    place, other = rng.randrange(len(rows[0])), rng.randrange(len(rows[0]))
    what = rng.randrange(3)
    for row in rows:
        if place < len(row) and other < len(row):
            if what == 0:
                row.insert(other, row[place])
            elif what == 1:
                del row[place]
            else:
                row[place], row[other] = row[other], row[place]
    return "\n".join(sign.join(row) for row in rows)


TEXT: tuple[Callable[[str, random.Random], str], ...] = (
    _lines,
    _lines,
    _substitute(r"-?\d+(?:\.\d+)?", _NUMBERS),
    _substitute(r"-?\d+(?:\.\d+)?", _NUMBERS),
    _substitute(r"(?<==)\s*[^\n]+", _NUMBERS),
    _substitute(r"[\w@]+", _WORDS),
    _substitute(r"[\w@]+", _WORDS),
    _substitute(r"[^\w\s]", _WORDS),
    _swap_words,
    _nest,
    _column,
)


def spoil_text(data: bytes, rng: random.Random) -> bytes:
    """One to three changes of a text; now and then its encoding, or its bytes, as well."""
    text = data.decode("utf-8", "replace")
    for _ in range(rng.choice((1, 1, 2, 3))):
        text = rng.choice(TEXT)(text, rng)
    if rng.random() < 0.08:
        return text.encode(rng.choice(_ENCODINGS), "replace")
    spoilt = text.encode("utf-8", "replace")
    return spoil_bytes(spoilt, rng) if rng.random() < 0.15 else spoilt


def spoil_bytes(data: bytes, rng: random.Random) -> bytes:
    """One change of some bytes."""
    return rng.choice(BYTES)(data, rng)


def spoil_archive(data: bytes, rng: random.Random) -> bytes:
    """A zip archive whose frame is whole and one of whose files is spoilt."""
    with zipfile.ZipFile(io.BytesIO(data)) as held:
        files = {name: held.read(name) for name in held.namelist()}
    name = rng.choice(sorted(files))
    files[name] = spoil_text(files[name], rng)
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as made:
        for path, content in files.items():
            made.writestr(path, content)
    return stream.getvalue()
