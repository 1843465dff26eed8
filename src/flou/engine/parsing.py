"""What comes from outside as text: encodings, TOML and JSON, each parsed in one place.

Parsers fail in as many ways as there are bad files: a decoder raises UnicodeError, a number of 4,300 digits ValueError,
brackets within brackets RecursionError. Here each of them is a reason in words, for the caller's own error.
"""

from __future__ import annotations

import codecs
import json
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NoReturn

from flou.engine.errors import DataError, FlouError

#: Values within values: no plan, schema or hierarchy needs more, and the parsers bear little more.
DEEPEST = 64
_TOO_DEEP = f"it nests values more than {DEEPEST} deep"
_TOO_LARGE = "it holds too large a number: 64 bits hold less than 9.2e18"
#: Codecs of Python that no file is written in; some decode any bytes to something else.
_NO_FILES = ("punycode", "idna", "undefined", "unicode-escape", "raw-unicode-escape", "unicode_escape")


class Unparsable(ValueError):  # noqa: N818 - a reason, not an error that users meet
    """Why a text is not what it should be."""


def checked_encoding(encoding: object, failure: type[FlouError] = DataError) -> str:
    """The name of an encoding of text files; any other codec raises."""
    if isinstance(encoding, str):
        try:
            name = codecs.lookup(encoding).name
            if name not in _NO_FILES and isinstance("".encode(name), bytes):  # "hex" is a codec too, of no text
                return encoding
        except (LookupError, UnicodeError, ValueError):
            pass
    raise failure(f"encoding = {encoding!r:.60} is not known; use utf-8, latin-1, cp1252, …")


def decoded(path: Path, encoding: str, failure: type[FlouError] = DataError) -> str:
    """The text of a file without a byte-order mark, line ends as they are; raises UnicodeError and OSError."""
    name = checked_encoding(encoding, failure)
    with path.open(encoding="utf-8-sig" if codecs.lookup(name).name == "utf-8" else name, newline="") as file:
        return file.read()


def parsed_toml(text: str) -> dict[str, Any]:
    """A table from TOML; raises Unparsable."""
    try:
        table = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise Unparsable(str(error)) from None
    except ValueError:
        raise Unparsable(_TOO_LARGE) from None  # Python reads no more than 4,300 digits
    except RecursionError:
        raise Unparsable(_TOO_DEEP) from None
    require_plain(table)
    return table


def parsed_json(text: str) -> Any:
    """A value from JSON; raises Unparsable. NaN and infinity are no JSON, although Python reads them."""
    try:
        value = json.loads(text, parse_constant=_refuse, parse_float=_finite)
    except json.JSONDecodeError as error:
        raise Unparsable(str(error)) from None
    except RecursionError:
        raise Unparsable(_TOO_DEEP) from None
    except ValueError:
        raise Unparsable(_TOO_LARGE) from None
    require_plain(value)
    return value


def require_plain(value: object) -> None:
    """Refuse numbers that no engine holds and values nested deeper than recursion goes; raises Unparsable."""
    held: list[tuple[object, int]] = [(value, 0)]
    while held:
        inner, depth = held.pop()
        if depth > DEEPEST:
            raise Unparsable(_TOO_DEEP)
        if isinstance(inner, int) and not -(2**63) <= inner < 2**63:
            raise Unparsable(_TOO_LARGE)
        if isinstance(inner, Mapping):
            held += [(v, depth + 1) for pair in inner.items() for v in pair]
        elif isinstance(inner, list | tuple):
            held += [(v, depth + 1) for v in inner]


def _refuse(word: str) -> NoReturn:
    raise json.JSONDecodeError(f"{word} is no number", word, 0)


def _finite(text: str) -> float:
    number = float(text)
    if number in (float("inf"), -float("inf")):
        raise ValueError(text)
    return number
