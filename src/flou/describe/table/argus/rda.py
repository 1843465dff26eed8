"""The description of a file of τ-ARGUS (`.rda`): one line a variable, and below it what the variable is.

    <SEPARATOR> ","                     of records in fixed columns there is none
    <SAFE> "s"   <UNSAFE> "u"   <PROTECT> "p"
    region                              of records: name, position, width, codes of missing values
      <RECODEABLE>
      <TOTCODE> "Total"
      <HIERARCHICAL> <HIERCODELIST> "region.hrc" <HIERLEADSTRING> "@"
    turnover
      <NUMERIC>

Every word is used, or named as not used (`Rda.unused`), or refused: what it means for the figures must not be lost. A
respondent's request for protection is refused unless the caller ignores it. After the τ-ARGUS manual (4.x).
"""

from __future__ import annotations

import re
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import Any, Literal

from flou.describe.table.apriori_rows import read_text
from flou.describe.table.argus.hrc import LEAD, Branch, CodeTree, read_hrc
from flou.engine.errors import DataError, ParameterError, did_you_mean, listed
from flou.engine.values import whole_number

Role = Literal[
    "dimension", "response", "shadow", "cost", "lower", "upper", "frequency", "largest", "status", "weight", "holding",
    "record key", "request", "other",
]  # fmt: skip
Kind = Literal["table", "microdata"]
_WORD = re.compile(r'"[^"]*"|<[^>]*>|[^\s<"]+')
#: What makes a variable what it is; of tables and of records, of tables alone, of records alone.
_ROLES: dict[str, Role] = {
    "RECODEABLE": "dimension", "RECODABLE": "dimension", "NUMERIC": "response", "RESPONSE": "response",
    "SHADOW": "shadow", "COST": "cost", "COSTVAR": "cost", "LOWERPL": "lower", "UPPERPL": "upper",
}  # fmt: skip
_ROLES_OF: dict[Kind, dict[str, Role]] = {
    "table": {**_ROLES, "FREQUENCY": "frequency", "MAXSCORE": "largest", "STATUS": "status"},
    "microdata": {
        **_ROLES, "WEIGHT": "weight", "HOLDING": "holding", "RECORDKEY": "record key", "REQUEST": "request",
    },
}  # fmt: skip
#: Variables whose fields are numbers.
NUMBERS: tuple[Role, ...] = ("response", "shadow", "cost", "lower", "upper", "weight", "record key")
_SETTINGS = ("TOTCODE", "DECIMALS", "HIERARCHICAL", "HIERCODELIST", "HIERLEADSTRING", "HIERLEVELS")
_OF_FILE: dict[Kind, tuple[str, ...]] = {
    "table": ("SEPARATOR", "SAFE", "UNSAFE", "PROTECT"),
    "microdata": ("SEPARATOR",),
}
#: Words that Flou has no use for, and what is therefore not used.
_NOT_USED = {
    "CODELIST": "labels of codes", "DISTANCE": "distances between codes", "TRUNCABLE": "that codes may be cut",
    **dict.fromkeys(("PFILE", "PFILE_FREQ", "PFILE_CONT", "PFILE_SEP"), "the file of a p-table"),
    **dict.fromkeys(("CKM", "INCLUDEZEROS", "PARITY", "SEPARATION", "SCALING"), "a setting of the cell key method"),
}  # fmt: skip
_NOT_USED_OF: dict[Kind, tuple[str, ...]] = {"table": ("CODELIST", "DISTANCE"), "microdata": tuple(_NOT_USED)}
#: Words that change what must be protected, and that are refused until the caller ignores them.
IGNORABLE = ("REQUEST",)


class UnusedWarning(UserWarning):
    """A file says something that is not used."""


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
    #: What the description says and nothing here uses.
    unused: tuple[str, ...] = ()

    def of_role(self, role: Role) -> list[Variable]:
        return [v for v in self.variables if v.role == role]


def read_rda(path: str | PathLike[str], kind: Kind, *, encoding: str = "utf-8", ignore: Sequence[str] = ()) -> Rda:
    """The description of a table's or of records' file; words in `ignore` are not refused."""
    unknown = [word for word in ignore if word not in IGNORABLE]
    if isinstance(ignore, str) or unknown:
        raise ParameterError(f"ignore = {ignore!r} lists words of a description; it can be [{IGNORABLE[0]!r}].")
    rda = Rda(())
    made: list[Variable] = []
    unused: list[str] = []
    hierarchical: set[str] = set()
    for number, words in _lines(read_text(path, "A description", encoding)):
        try:
            if not words[0].startswith("<"):
                made.append(_declared(words, kind, rda.separator is not None))
                continue
            for tag, values in _tags(words):
                if tag in _OF_FILE[kind]:
                    said: dict[str, Any] = {tag.lower(): _one(tag, values)}
                    rda = replace(rda, **said)
                elif tag == "SPSS":
                    raise DataError('<SPSS> says that the records are a file of SPSS: read that, flou.read("….sav").')
                elif not made:
                    raise DataError(f"<{tag}> stands before the first variable.")
                elif tag in _NOT_USED_OF[kind]:
                    unused.append(f"<{tag}> of {made[-1].name} ({_NOT_USED[tag]})")
                else:
                    if {made[-1].role, _ROLES_OF[kind].get(tag)} == {"dimension", "response"}:
                        unused.append(f"<NUMERIC> of {made[-1].name} (it is a dimension)")
                    if tag == "HIERARCHICAL":
                        hierarchical.add(made[-1].name)
                    made[-1] = _with(made[-1], tag, values, kind, ignore)
        except DataError as error:
            raise DataError(f"The description {str(path)!r}, line {number}: {error}") from None
    if not made:
        raise DataError(f"The description {str(path)!r} names no variable.")
    doubled = [name for name, n in Counter(v.name for v in made).items() if n > 1]
    if doubled:
        raise DataError(f"The description {str(path)!r} names {listed(doubled)} twice.")
    lost = [v.name for v in made if v.name in hierarchical and v.hrc is None and not v.levels]
    if lost:
        raise DataError(
            f"The description {str(path)!r} calls {listed(lost)} <HIERARCHICAL> and does not say how: it needs "
            "<HIERCODELIST> or <HIERLEVELS>."
        )
    if rda.separator is None and kind == "table":
        rda = replace(rda, separator=";")
    return replace(rda, variables=tuple(made), unused=(*unused, *_unused_variables(made, kind)))


def _unused_variables(variables: Sequence[Variable], kind: Kind) -> Iterator[str]:
    """The variables, and what is said of them, that have no use here."""
    roles = {v.role for v in variables}
    for v in variables:
        if v.role == "request":
            yield f"<REQUEST> of {v.name} (who asked for protection)"
        if kind == "table" and v.role == "other":
            yield f"{v.name} (the description does not say what it is)"
        if kind == "table" and v.role == "shadow" and "largest" not in roles:
            yield f"<SHADOW> of {v.name} (there are no largest contributions)"
        if kind == "microdata" and v.role in ("shadow", "cost", "lower", "upper"):
            yield f"what {v.name} is for: it is a column of numbers"
        if kind == "microdata" and v.total != Variable.total:
            yield f"<TOTCODE> of {v.name} (tabulate names totals: total={v.total!r})"


def warn_of_unused(path: object, rda: Rda) -> None:
    """Say what a description holds that nothing here uses."""
    if rda.unused:
        warnings.warn(
            f"Of the description {str(path)!r} these are not used: {'; '.join(rda.unused)}.",
            UnusedWarning,
            stacklevel=4,
        )


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


def _with(variable: Variable, tag: str, values: Sequence[str], kind: Kind, ignore: Sequence[str]) -> Variable:
    roles = _ROLES_OF[kind]
    if tag == "REQUEST" and kind == "microdata" and tag not in ignore:
        raise DataError(
            f"<REQUEST> says that {variable.name} tells which respondents asked for protection (codes "
            f"{listed(values) or 'not given'}). No rule here looks at requests: their cells would be protected no more "
            'than others. State these cells beforehand (apriori=), and read the file with ignore=["REQUEST"].'
        )
    if tag in roles:
        # <NUMERIC> says only that it is a number: what else is said of the variable goes before it
        if tag in ("NUMERIC", "RESPONSE") and variable.role != "other":
            return variable
        if variable.role not in ("other", "response", roles[tag]):
            raise DataError(f"<{tag}>: {variable.name!r} is the {variable.role} already.")
        return replace(variable, role=roles[tag])
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
    if tag == "HIERARCHICAL":
        return variable
    other = [k for k in _ROLES_OF if tag in (*_ROLES_OF[k], *_OF_FILE[k], *_NOT_USED_OF[k])]
    if other:
        what = {"table": "tables", "microdata": "records"}
        raise DataError(f"<{tag}> is a word of descriptions of {what[other[0]]}, and this is one of {what[kind]}.")
    known = (*roles, *_SETTINGS, *_OF_FILE[kind], *_NOT_USED_OF[kind])
    raise DataError(f"<{tag}> is no word of τ-ARGUS.{did_you_mean(tag, known)}")


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


def tree_for(variable: Variable, folder: Path, *, encoding: str = "utf-8") -> CodeTree | None:
    """The hierarchy file of a variable, if it has one."""
    if variable.hrc is None:
        return None
    found = Path(variable.hrc.replace("\\", "/"))
    # a file that was moved with its hierarchies names the folder where they were
    beside = folder / found.name
    return CodeTree.of(read_hrc(beside if beside.exists() else folder / found, variable.lead, encoding=encoding))


def branches_by_levels(variable: Variable, codes: Sequence[str]) -> dict[str, Branch]:
    """The branch of each code by the widths of levels within it; without levels the code alone."""
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
        "upper": "<NUMERIC> <UPPERPL>", "record key": "<RECORDKEY>",
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
    if v.role in (*NUMBERS, "largest"):
        yield f"<DECIMALS> {v.decimals}"
