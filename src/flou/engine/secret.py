"""Secrets: the only source of randomness, never shown.

A secret has at least 128 bits and comes from a file, the environment or the operating system. A
secret made from an integer seed is for tests: what it touches is marked "test only" and no policy
releases it. A demonstration secret is published with the examples and protects nothing, so it is
accepted on Flou's own synthetic data alone.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import re
import secrets
from pathlib import Path
from typing import Literal, NoReturn, get_args

from flou.engine.errors import OutputError, SecretError
from flou.engine.output import checked_path, written_whole

Origin = Literal["file", "environment", "entropy", "test", "demonstration"]

#: 128 bits, in bytes.
MIN_BYTES = 16
_DEMONSTRATION = "demonstration:"
#: The demonstration secret that Flou publishes, by its hash: it is recognised wherever it comes from.
_PUBLISHED = "eedb2375db13967d863eac5a3cf1f3483c9f3ebbd201fd69329aaa0bd2f2df64"


class Secret:
    """A key for keyed hashing. Its value is masked wherever it could be seen."""

    __slots__ = ("_key", "origin")

    _key: bytes
    origin: Origin

    def __init__(self, key: bytes, *, origin: Origin = "file") -> None:
        if not isinstance(key, bytes):
            raise SecretError(
                f"A secret is made of bytes, not {type(key).__name__}: use Secret.from_file or Secret.generate."
            )
        if len(key) < MIN_BYTES:
            raise SecretError(
                f"The secret has {8 * len(key)} bits; at least {8 * MIN_BYTES} are needed. "
                "Make one with `flou secret FILE` or flou.Secret.generate()."
            )
        if origin not in get_args(Origin):
            raise SecretError(f"origin = {origin!r} is not known; use one of {', '.join(get_args(Origin))}.")
        published = hashlib.sha256(key).hexdigest() == _PUBLISHED
        object.__setattr__(self, "_key", key)
        object.__setattr__(self, "origin", "demonstration" if published else origin)

    @classmethod
    def generate(cls) -> Secret:
        """A fresh 256-bit secret from the operating system; results cannot be replayed unless it is saved."""
        return cls(secrets.token_bytes(32), origin="entropy")

    @classmethod
    def from_file(cls, path: str | os.PathLike[str]) -> Secret:
        """Read a secret written by `flou secret`: one line of hexadecimal digits."""
        file = checked_path(path, "A secret file", SecretError)
        try:
            text = file.read_text(encoding="ascii").strip()
        except OSError as error:
            shown = "" if re.search(r"[0-9a-fA-F]{24}", str(path)) else f" {str(path)!r}"  # perhaps the secret itself
            raise SecretError(
                f"The secret file{shown} cannot be read ({error.strerror}). Make one with `flou secret FILE`."
            ) from None
        except UnicodeDecodeError:
            raise SecretError(f"The file {str(path)!r} is not a secret: one line of hexadecimal digits.") from None
        if text.startswith(_DEMONSTRATION):
            return cls(
                _digits(text.removeprefix(_DEMONSTRATION).strip(), f"file {str(path)!r}"),
                origin="demonstration",
            )
        return cls(_digits(text, f"file {str(path)!r}"), origin="file")

    @classmethod
    def from_environment(cls, name: str = "FLOU_SECRET") -> Secret:
        """Read a secret from an environment variable, in hexadecimal digits."""
        text = os.environ.get(name) if isinstance(name, str) else None
        if not text:
            raise SecretError(f"The environment variable {name} is not set. Set it to at least 32 hexadecimal digits.")
        return cls(_digits(text.strip(), f"variable {name}"), origin="environment")

    @classmethod
    def from_seed(cls, seed: int) -> Secret:
        """For tests only: whoever guesses the seed has the secret, so no policy releases the result."""
        if isinstance(seed, bool) or not isinstance(seed, int):
            raise SecretError(f"A test seed is an integer, not {seed!r}.")
        return cls(hashlib.sha256(f"flou test seed {seed}".encode()).digest(), origin="test")

    @classmethod
    def of(cls, value: Secret | int | None) -> Secret:
        """What a verb's `secret=` accepts: a Secret, None for the system's entropy, an integer for tests."""
        if value is None:
            return cls.generate()
        if isinstance(value, Secret):
            return value
        if isinstance(value, int) and not isinstance(value, bool):
            return cls.from_seed(value)
        raise SecretError(f"secret= takes a flou.Secret (or an integer, for tests), not {type(value).__name__}.")

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the secret, readable by its owner alone. An existing file is never overwritten."""
        if self.origin in ("test", "demonstration"):
            raise SecretError(
                f"A {self.origin} secret is not written to a file: make a real one with Secret.generate()."
            )
        try:
            with written_whole(path) as file:
                file.write(self._key.hex().encode() + b"\n")
        except OutputError as error:
            raise SecretError(f"The secret was not saved. {error} A secret is never overwritten.") from None

    @property
    def replayable(self) -> bool:
        return self.origin != "entropy"

    @property
    def test_only(self) -> bool:
        return self.origin == "test"

    def require_allowed(self, *, synthetic: bool) -> None:
        """Refuse the published demonstration secret on anything but Flou's own synthetic data."""
        if self.origin == "demonstration" and not synthetic:
            raise SecretError(
                "The demonstration secret is published with Flou and protects nobody: it is accepted on Flou's own "
                "synthetic data alone. Make your own with `flou secret FILE`."
            )

    def derive(self, *purpose: str | int) -> bytes:
        """A 256-bit subkey for one purpose (HMAC-SHA256); parts are length-prefixed, so no two collide."""
        message = b"".join(len(part := str(p).encode()).to_bytes(4, "big") + part for p in purpose)
        return hmac.new(self._key, message, hashlib.sha256).digest()

    def identify(self, path: Path) -> str:
        """HMAC of a file: lets the holder recognise an input without letting others guess it."""
        digest = hmac.new(self.derive("identify input"), digestmod=hashlib.sha256)
        with path.open("rb") as file:
            while block := file.read(1 << 20):
                digest.update(block)
        return digest.hexdigest()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and hmac.compare_digest(self._key, other._key)

    def __hash__(self) -> int:
        return hash(self.derive("hash"))

    def __repr__(self) -> str:
        return f"Secret(hidden, origin={self.origin!r})"

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError("a Secret is frozen")

    def __getstate__(self) -> NoReturn:
        raise SecretError("A secret does not show its state.")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError("a Secret is frozen")

    def __reduce__(self) -> NoReturn:
        raise SecretError("A secret is never pickled or copied to another process: pass the file's path instead.")


def _digits(text: str, where: str) -> bytes:
    if len(text.split()) > 1:
        raise SecretError(f"The secret in the {where} must be one line of hexadecimal digits; there is more.")
    try:
        return bytes.fromhex(text)
    except ValueError:
        raise SecretError(
            f"The secret in the {where} is not made of hexadecimal digits. Make one with `flou secret FILE`."
        ) from None
