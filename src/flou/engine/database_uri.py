"""Where a database is: its URI, whose password is never shown, and the name of a table in it.

The URI is split as libpq splits it. One that libpq could misunderstand (a password with a bare `@` or `/`)
is refused before the driver sees it: parts of the password would end up in the driver's messages.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from urllib.parse import unquote

from flou.engine.errors import FlouError, ParameterError

#: Other tools put a driver's name into the scheme; what is meant is clear.
_SCHEME = re.compile(r"postgres(?:ql)?(?:\+\w+)?://", re.IGNORECASE)
#: What looks as if a database were meant, and is written in another way: such a text may hold a password.
_MISTAKEN = re.compile(
    r"(?![a-z]:[\\/]).*:.*@|\W*(?:jdbc:|postgres\w*(?:\+\w+)?\s*(?::|//))|.*\b(?:password|passwd|pwd)\s*=",
    re.IGNORECASE | re.DOTALL,
)
_HOST = re.compile(r"(?:\[[^\]]*\]|[^:\[\]]*)(?::\d*)?")
_NOT_ENCODED = re.compile(r"%(?![0-9A-Fa-f]{2})|\s|\0")
_SECRETS = {"password", "sslpassword", "oauth_client_secret"}
#: Seconds to wait for a server that does not answer.
_TIMEOUT = "10"


@dataclass(frozen=True)
class _Uri:
    """A URI in pieces, each as it was written."""

    user: str
    password: str
    place: str
    query: tuple[str, ...]


def is_database(source: object) -> bool:
    """Is this the URI of a PostgreSQL database, `postgresql://…` or `postgres://…`?"""
    return isinstance(source, str) and _SCHEME.match(source) is not None


def is_mistaken(text: str) -> bool:
    """Is this meant for a database and no URI that Flou reads, so that nothing of it may be shown?"""
    return not is_database(text) and _MISTAKEN.match(text) is not None


#: What to say of such a text.
MISTAKEN = (
    "looks like the address of a database, and Flou cannot read it so; it is not repeated here, for it may hold a "
    "password. Write postgresql://user@host:port/name, and leave the password to PGPASSWORD or a password file."
)


def has_password(uri: str) -> bool:
    """Does the URI hold a password, or something that could be one?"""
    if is_mistaken(uri):
        return True
    split = _split(uri)
    return bool(_secrets(split)) if split is not None else is_database(uri) and "@" in uri


def without_password(uri: str) -> str:
    """The URI as it may be shown and kept; of one that cannot be split, nothing is shown."""
    if not is_database(uri):
        return "postgresql://…" if is_mistaken(uri) else uri
    split = _split(uri)
    if split is None:
        return "postgresql://…"
    return _joined(split.user, split.place, [q for q in split.query if _key(q) not in _SECRETS])


def without_secrets(text: str, uri: str) -> str:
    """A message of the driver, the URI's passwords taken out, as they were written and as they are meant."""
    split = _split(uri)
    written = _secrets(split) if split is not None else []
    for secret in sorted({*written, *map(unquote, written)}, key=len, reverse=True):
        text = text.replace(secret, "***")
    return text


def for_driver(uri: str, failure: type[FlouError]) -> str:
    """The URI that the driver gets: with a limit on waiting, and text as UTF-8 whatever the database holds."""
    split = _split(uri)
    if split is None:
        raise failure(
            "The URI of the database cannot be understood. Write postgresql://user@host:port/name; in a user or a "
            "password, special characters are percent-encoded: @ is %40, / is %2F, : is %3A, % is %25."
        )
    query = list(split.query)
    if "connect_timeout" not in map(_key, query) and "PGCONNECT_TIMEOUT" not in os.environ:
        query.append(f"connect_timeout={_TIMEOUT}")
    # the driver takes every text for UTF-8; of a setting given twice, libpq takes the last
    query.append("client_encoding=UTF8")
    userinfo = f"{split.user}:{split.password}" if split.password else split.user
    return _joined(userinfo, split.place, query)


def _joined(userinfo: str, place: str, query: list[str]) -> str:
    at = f"{userinfo}@" if userinfo else ""
    return f"postgresql://{at}{place}{'?' if query else ''}{'&'.join(query)}"


def _split(uri: str) -> _Uri | None:
    """The pieces of a URI by libpq's rules: a user comes before the first @, if that is before any slash."""
    scheme = _SCHEME.match(uri)
    if scheme is None:
        return None
    rest, userinfo = uri[scheme.end() :], ""
    first = re.search("[@/]", rest)
    if first is not None and first[0] == "@":
        userinfo, rest = rest[: first.start()], rest[first.end() :]
    place, _, query = rest.partition("?")
    hosts = place.partition("/")[0].split(",")
    if "@" in place or _NOT_ENCODED.search(uri) or not all(_HOST.fullmatch(host) for host in hosts):
        return None
    user, _, password = userinfo.partition(":")
    return _Uri(user, password, place, tuple(q for q in query.split("&") if q))


def _key(parameter: str) -> str:
    return unquote(parameter.partition("=")[0])


def _secrets(split: _Uri) -> list[str]:
    values = [q.partition("=")[2] for q in split.query if _key(q) in _SECRETS]
    return [secret for secret in (split.password, *values) if secret]


@dataclass(frozen=True)
class TableName:
    """The name of a table, with its schema if one was given; capitals and accents count."""

    schema: str
    name: str

    @classmethod
    def parse(cls, text: object) -> TableName:
        """`name` or `schema.name`; a part with a dot or a double quote is written in double quotes, as in SQL."""
        quoted = r'"(?:[^"]|"")+"'
        found = re.fullmatch(rf'(?:({quoted}|[^".]+)\.)?({quoted}|[^"]+)', text) if isinstance(text, str) else None
        if found is None or "\0" in found[0] or (found[1] is None and "." in found[2] and found[2][0] != '"'):
            raise ParameterError(
                f"table = {text!r} is not the name of a table. Write name or schema.name; a part with a dot or a "
                'double quote is written in double quotes, as in SQL: "a.b", "say ""so""".'
            )
        schema, name = (_unquoted(part or "") for part in found.groups())
        return cls(schema, name)

    @property
    def sql(self) -> str:
        """For a statement: quoted, so that nothing in it is taken for SQL."""
        return ".".join(quoted(part) for part in (self.schema, self.name) if part)

    def __str__(self) -> str:
        """As one would give it, for messages."""
        return ".".join(quoted(p) if re.search('[".]', p) else p for p in (self.schema, self.name) if p)


def quoted(identifier: str) -> str:
    """An identifier for a statement."""
    return '"' + identifier.replace('"', '""') + '"'


def _unquoted(part: str) -> str:
    return part[1:-1].replace('""', '"') if part.startswith('"') else part
