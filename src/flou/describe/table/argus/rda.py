"""The description of a file of τ-ARGUS (`.rda`): one line a variable, and below it what the variable is.

    <SEPARATOR> ","                     of records in fixed columns there is none
    <SAFE> "s"   <UNSAFE> "u"   <PROTECT> "p"
    region                              of records: name, position, width, codes of missing values
      <RECODEABLE>
      <TOTCODE> "Total"
      <HIERARCHICAL> <HIERCODELIST> "region.hrc" <HIERLEADSTRING> "@"
    turnover
      <NUMERIC>

Words that say nothing of the figures (labels of codes, distances, settings of protections) are passed over; a word that
is not τ-ARGUS's is an error, since what it means for the figures would be lost. After the τ-ARGUS manual (4.x).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import Any, Literal

from flou.describe.table.apriori_rows import read_text
from flou.describe.table.argus.hrc import LEAD, paths_of, read_hrc
from flou.engine.errors import DataError, did_you_mean, listed
from flou.engine.values import whole_number

Role = Literal[
    "dimension", "response", "shadow", "cost", "lower", "upper", "frequency", "largest", "status", "weight", "holding",
    "other",
]  # fmt: skip
Kind = Literal["table", "microdata"]
_WORD = re.compile(r'"[^"]*"|<[^>]*>|[^\s<"]+')
#: What makes a variable what it is.
_ROLES: dict[str, Role] = {
    "RECODEABLE": "dimension", "RECODABLE": "dimension", "NUMERIC": "response", "RESPONSE": "response",
    "SHADOW": "shadow", "COST": "cost", "COSTVAR": "cost", "LOWERPL": "lower", "UPPERPL": "upper",
    "FREQUENCY": "frequency", "MAXSCORE": "largest", "STATUS": "status", "WEIGHT": "weight", "HOLDING": "holding",
}  # fmt: skip
#: Words that this package has no use for, and that change no figure.
_PASSED_OVER = (
    "CODELIST", "DISTANCE", "REQUEST", "TRUNCABLE", "RECORDKEY", "PFILE", "PFILE_FREQ", "PFILE_CONT", "PFILE_SEP",
    "CKM", "INCLUDEZEROS", "PARITY", "SEPARATION", "SCALING",
)  # fmt: skip
_SETTINGS = ("TOTCODE", "DECIMALS", "HIERARCHICAL", "HIERCODELIST", "HIERLEADSTRING", "HIERLEVELS")
_OF_FILE = ("SEPARATOR", "SAFE", "UNSAFE", "PROTECT")


@dataclass(frozen=True)
class Variable:
    """One variable of a file."""

    name: str
    role: Role = "other"
    #: The column where it begins, the first being 1, and how many it takes; of records alone.
    position: int | None = None
    width: int | None = None
    missing: tuple[str, ...] = ()
    total: str = "Total"
    decimals: int = 0
    #: Its hierarchy: a file and what leads its lines, or the widths of the levels within a code.
    hrc: str | None = None
    lead: str = LEAD
    levels: tuple[int, ...] = ()


@dataclass(frozen=True)
class Rda:
    """What a file is: how its fields stand apart, its variables, and what its statuses are called."""

    variables: tuple[Variable, ...]
    separator: str | None = None
    safe: str = "S"
    unsafe: str = "U"
    protect: str = "P"

    def of_role(self, role: Role) -> list[Variable]:
        return [v for v in self.variables if v.role == role]


def read_rda(path: str | PathLike[str], kind: Kind, *, encoding: str = "utf-8") -> Rda:
    """The description of a table's or of records' file."""
    rda = Rda(())
    made: list[Variable] = []
    for number, words in _lines(read_text(path, "A description", encoding)):
        try:
            if not words[0].startswith("<"):
                made.append(_declared(words, kind, rda.separator is not None))
                continue
            for tag, values in _tags(words):
                if tag in _OF_FILE:
                    said: dict[str, Any] = {tag.lower(): _one(tag, values)}
                    rda = replace(rda, **said)
                elif not made:
                    raise DataError(f"<{tag}> stands before the first variable.")
                else:
                    made[-1] = _with(made[-1], tag, values)
        except DataError as error:
            raise DataError(f"The description {str(path)!r}, line {number}: {error}") from None
    if not made:
        raise DataError(f"The description {str(path)!r} names no variable.")
    doubled = [name for name, n in Counter(v.name for v in made).items() if n > 1]
    if doubled:
        raise DataError(f"The description {str(path)!r} names {listed(doubled)} twice.")
    if rda.separator is None and kind == "table":
        rda = replace(rda, separator=";")
    return replace(rda, variables=tuple(made))


def describes(path: str | PathLike[str], *, encoding: str = "utf-8") -> Kind:
    """Whether a description is of records, whose variables have widths, or of a table."""
    for _, words in _lines(read_text(path, "A description", encoding)):
        if not words[0].startswith("<"):
            # of a table a quoted number is the code of a missing value
            return "microdata" if len(words) > 1 and whole_number(words[1]) is not None else "table"
    raise DataError(f"The description {str(path)!r} names no variable.")


def _lines(text: str) -> Iterator[tuple[int, list[str]]]:
    for number, line in enumerate(text.splitlines(), start=1):
        words = _WORD.findall(line)
        if words:
            yield number, words


def _tags(words: Sequence[str]) -> Iterator[tuple[str, list[str]]]:
    """Each `<WORD>` of a line with what stands behind it."""
    tag = ""
    values: list[str] = []
    for word in words:
        if word.startswith("<"):
            if tag:
                yield tag, values
            tag, values = word[1:-1].strip().upper(), []
        else:
            values.append(_unquoted(word))
    yield tag, values


def _unquoted(word: str) -> str:
    return word[1:-1] if len(word) > 1 and word[0] == word[-1] == '"' else word


def _declared(words: Sequence[str], kind: Kind, separated: bool) -> Variable:
    name, *rest = [_unquoted(w) for w in words]
    if kind == "table":
        return Variable(name, missing=tuple(w.strip() for w in rest if w.strip()))
    n_places = 1 if separated else 2
    places = rest[:n_places]
    if len(places) < n_places or not all(whole_number(p) for p in places):
        needs = "its width" if separated else "the column where it begins and its width"
        raise DataError(f"the variable {name!r} needs {needs}, whole numbers from 1; given {' '.join(rest)!r}.")
    missing = tuple(w.strip() for w in rest[n_places : n_places + 2] if w.strip())
    return Variable(name, position=None if separated else int(places[0]), width=int(places[-1]), missing=missing)


def _with(variable: Variable, tag: str, values: Sequence[str]) -> Variable:
    if tag in _ROLES:
        # <NUMERIC> says only that it is a number: what else is said of the variable goes before it
        weaker = tag in ("NUMERIC", "RESPONSE") and variable.role != "other"
        return variable if weaker else replace(variable, role=_ROLES[tag])
    if tag == "TOTCODE":
        return replace(variable, total=_one(tag, values).strip())
    if tag == "DECIMALS":
        return replace(variable, decimals=_whole(tag, values)[0])
    if tag == "HIERCODELIST":
        return replace(variable, hrc=_one(tag, values))
    if tag == "HIERLEADSTRING":
        return replace(variable, lead=_one(tag, values))
    if tag == "HIERLEVELS":
        return replace(variable, levels=tuple(n for n in _whole(tag, values) if n))
    if tag in (*_PASSED_OVER, "HIERARCHICAL"):
        return variable
    raise DataError(f"<{tag}> is no word of τ-ARGUS.{did_you_mean(tag, (*_ROLES, *_SETTINGS, *_OF_FILE))}")


def _one(tag: str, values: Sequence[str]) -> str:
    if len(values) != 1:
        raise DataError(f"<{tag}> takes one text; given {listed(values) or 'none'}.")
    if tag == "SEPARATOR" and len(values[0]) != 1:
        raise DataError(f"<SEPARATOR> is one sign; given {values[0]!r}.")
    return values[0]


def _whole(tag: str, values: Sequence[str]) -> list[int]:
    found = [n for v in values if (n := whole_number(v)) is not None]
    if not values or len(found) < len(values):
        raise DataError(f"<{tag}> takes whole numbers; given {listed(values) or 'none'}.")
    return found


def paths_for(
    variable: Variable, codes: Sequence[str], folder: Path, *, encoding: str = "utf-8"
) -> dict[str, tuple[str, ...]]:
    """The way from the first level down to each code: by its hierarchy file or the widths of levels, else the code."""
    if variable.hrc is not None:
        found = Path(variable.hrc.replace("\\", "/"))
        # a file that was moved with its hierarchies names the folder where they were
        beside = folder / found.name
        return paths_of(read_hrc(beside if beside.exists() else folder / found, variable.lead, encoding=encoding))
    if not variable.levels:
        return {code: (code,) for code in codes}
    ends = [sum(variable.levels[: i + 1]) for i in range(len(variable.levels))]
    odd = [code for code in codes if len(code) not in ends]
    if odd:
        raise DataError(
            f"The codes of {variable.name!r} have levels of {listed(ends)} characters; these do not fit: {listed(odd)}."
        )
    return {code: tuple(code[:end] for end in ends if end <= len(code)) for code in codes}


def rda_text(rda: Rda) -> str:
    """The text of a description."""
    out = [] if rda.separator is None else [f'<SEPARATOR> "{rda.separator}"']
    if rda.of_role("status"):
        out += [f'<SAFE> "{rda.safe}"', f'<UNSAFE> "{rda.unsafe}"', f'<PROTECT> "{rda.protect}"']
    for v in rda.variables:
        places = [str(n) for n in (v.position, v.width) if n is not None]
        out.append(" ".join([v.name, *places, *(f'"{code}"' for code in v.missing)]))
        out += [f"  {line}" for line in _described(v)]
    return "\n".join(out) + "\n"


def _described(v: Variable) -> Iterator[str]:
    words: dict[Role, str] = {
        "dimension": "<RECODEABLE>", "response": "<NUMERIC>", "shadow": "<NUMERIC> <SHADOW>",
        "frequency": "<FREQUENCY>", "cost": "<NUMERIC> <COST>", "lower": "<NUMERIC> <LOWERPL>",
        "upper": "<NUMERIC> <UPPERPL>",
        "largest": "<MAXSCORE>", "status": "<STATUS>", "weight": "<WEIGHT>", "holding": "<HOLDING>",
    }  # fmt: skip
    if v.role in words:
        yield words[v.role]
    if v.role == "dimension":
        yield f'<TOTCODE> "{v.total}"'
        if v.hrc is not None:
            yield "<HIERARCHICAL>"
            yield f'<HIERCODELIST> "{v.hrc}"'
            yield f'<HIERLEADSTRING> "{v.lead}"'
    if v.role in ("response", "shadow", "cost", "lower", "upper", "largest", "weight"):
        yield f"<DECIMALS> {v.decimals}"
