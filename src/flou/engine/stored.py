"""The stored form of guarantees, steps and results: a tree of plain values beside named binary parts, and back.

The tree is JSON: null, true, numbers, texts and lists stand for themselves, all else is `{tag: …}` (`_FORMS`). Arrays
are parts in NumPy's format, frames in Arrow's. An object is its class and its fields; a registered method is called as
in a plan. Nothing is pickled: reading calls constructors of dataclasses and of parameters, which check the fields
again, and imports Flou and packages with methods for it, nothing else.

Data are not written: the caller refers to them and finds them again. A class with `__getstate__` is written as a copy
that leaves the process is, one with `stored_state` by what that gives. The rest may hold values of the original: what
is written is for the office alone.
"""

from __future__ import annotations

import datetime as dt
import importlib
import io
import json
import math
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, fields, is_dataclass
from decimal import Decimal
from enum import Enum
from functools import partial
from types import FunctionType
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import polars as pl

from flou.engine import registry
from flou.engine.errors import DataError, FlouError
from flou.engine.method import Method
from flou.engine.parameters import Parameters
from flou.engine.secret import Secret
from flou.engine.values import Proportion

Tree = Any
#: Kinds of data that are referred to; a mechanism is a value like others.
_REFERRED = ("microdata", "table", "table set")
#: What reading a tree that somebody changed may raise.
_PROBLEMS = (LookupError, TypeError, ValueError, ArithmeticError, AttributeError, ImportError, EOFError, RecursionError,
             pl.exceptions.PolarsError, FlouError)  # fmt: skip


@dataclass(frozen=True)
class Written:
    """A value in stored form."""

    #: Plain values, as JSON has them.
    tree: Tree
    #: Arrays and frames, by the names that the tree calls them.
    parts: Mapping[str, bytes]


#: Keeps a part and names it: of an array or frame, with what makes its bytes, and the ending of its format.
KeepPart = Callable[[Any, Callable[[], bytes], str], str]


def write(value: object, refer: Callable[[Any], str], keep: KeepPart | None = None) -> Written:
    """Write a value; `refer` names the data that it holds. What has no stored form is refused.

    `keep` takes the parts, which are then not among what is written: it may have some of them already.
    """
    writer = _Writer(refer, keep)
    try:
        return Written(writer.tree(value), writer.parts)
    except RecursionError:
        raise DataError("What holds itself has no stored form.") from None


def read(written: Written, resolve: Callable[[str], Any]) -> Any:
    """Read what was written; `resolve` gives the data of a name."""
    try:
        return _Reader(written.parts, resolve).value(written.tree)
    except _PROBLEMS as problem:
        raise DataError(f"This is not what Flou wrote, and cannot be read: {problem!r}") from problem


def left_out(value: Any) -> dict[str, Any]:
    """The fields of an object that its stored form leaves empty: who may keep them writes them beside it."""
    leaves: Any = type(value).__getstate__
    if hasattr(type(value), "stored_state") or leaves is object.__getstate__:
        return {}
    state = value.__getstate__()
    held = {field.name: getattr(value, field.name) for field in fields(value) if field.init}
    return {name: inner for name, inner in held.items() if state.get(name) is not inner}


class _Writer:
    """Trees of values; their arrays and frames become parts."""

    def __init__(self, refer: Callable[[Any], str], keep: KeepPart | None) -> None:
        self.refer, self.parts, self.path = refer, dict[str, bytes](), list[str]()
        self.keep = keep or self._hold

    def tree(self, value: Any) -> Tree:
        if value is None or type(value) in (bool, int, str) or (type(value) is float and math.isfinite(value)):
            return value
        if type(value) is list:
            return [self.tree(v) for v in value]
        if getattr(type(value), "data_kind", None) in _REFERRED:
            return {"data": self.refer(value)}
        for tag, form in _FORMS.items():
            if form.fits(value):
                return {tag: form.write(self, value)}
        raise self.refusal(value)

    def trees(self, values: Any) -> list[Tree]:
        return [self.tree(value) for value in values]

    def part(self, value: Any, save: Callable[[io.BytesIO], object], ending: str) -> str:
        """The name of a new part."""

        def made() -> bytes:
            held = io.BytesIO()
            try:
                save(held)
            except (ValueError, pl.exceptions.PolarsError):  # it holds objects
                raise self.refusal(value) from None
            return held.getvalue()

        return self.keep(value, made, ending)

    def _hold(self, value: Any, made: Callable[[], bytes], ending: str) -> str:
        name = f"{len(self.parts)}.{ending}"
        self.parts[name] = made()
        return name

    def fields(self, value: Any) -> Tree:
        """The class of an object, and its fields."""
        held = {}
        for name, inner in _state(value).items():
            self.path.append(f"{type(value).__name__}.{name}")
            held[name] = self.tree(inner)
            self.path.pop()
        return [self.named(value, type(value), _found), held]

    def named(self, value: Any, thing: Any, find: Callable[[str], Any]) -> str:
        """The name of a class or function, by which it is found again."""
        own = f"{thing.__module__}:{thing.__qualname__}"
        is_method = isinstance(thing, type) and issubclass(thing, Method)
        for name in [f"{thing.stage}.{thing.name()}", own] if is_method else [own]:
            with suppress(*_PROBLEMS):
                if find(name) is thing:
                    return name
        raise self.refusal(value)

    def refusal(self, value: Any) -> DataError:
        place = f" ({' → '.join(self.path)})" if self.path else ""
        if isinstance(value, Secret):
            return DataError(f"A secret is never written{place}: keep its file.")
        what = getattr(value, "__qualname__", f"a value of the type {type(value).__name__}")
        return DataError(
            f"There is no stored form of {what}{place}. What is written holds plain values, notes, arrays, frames, "
            "methods, data and dataclasses of these, whose classes stand in modules that can be imported."
        )


class _Reader:
    """Values of trees."""

    def __init__(self, parts: Mapping[str, bytes], resolve: Callable[[str], Any]) -> None:
        self.parts, self.resolve = parts, resolve

    def value(self, tree: Tree) -> Any:
        if tree is None or type(tree) in (bool, int, float, str):
            return tree
        if type(tree) is list:
            return self.values(tree)
        ((tag, held),) = tree.items()
        return self.resolve(held) if tag == "data" else _FORMS[tag].read(self, held)

    def values(self, trees: list[Tree]) -> list[Any]:
        return [self.value(tree) for tree in trees]

    def part(self, name: str) -> io.BytesIO:
        return io.BytesIO(self.parts[name])

    def made(self, held: Tree) -> Any:
        name, trees = held
        kind = _found(name)
        if not (isinstance(kind, type) and _has_fields(kind)):
            raise DataError(f"{name!r} is no dataclass and no method.")
        state = {field: self.value(tree) for field, tree in trees.items()}
        if not _has_own_state(kind):
            return kind(**state)
        made: Any = object.__new__(kind)
        made.__setstate__(state)
        return made


def _state(value: Any) -> dict[str, Any]:
    """The fields of an object, as they leave the process."""
    if _has_own_state(type(value)):
        return dict(value.__getstate__())
    plain = isinstance(value, Parameters)
    names = list(type(value).model_fields) if plain else [field.name for field in fields(value) if field.init]
    leaves: Any = getattr(type(value), "stored_state", None if plain else type(value).__getstate__)
    state = None if leaves in (None, object.__getstate__) else leaves(value)
    return {name: getattr(value, name) if state is None else state[name] for name in names}


def _has_fields(kind: type) -> bool:
    """Whether objects of a class are written by their fields."""
    if getattr(kind, "data_kind", None) in _REFERRED:
        return False
    return is_dataclass(kind) or issubclass(kind, Parameters) or _has_own_state(kind)


def _has_own_state(kind: type) -> bool:
    """Whether a class says itself what of it is written and how it is made of that again."""
    return {"__getstate__", "__setstate__"} <= set(vars(kind)) and _is_ours(kind.__module__)


def _is_ours(module: str) -> bool:
    """Whether a module is of Flou or of a package with methods for it."""
    return module.partition(".")[0] in registry.packages()


def _found(name: str) -> Any:
    """The class or function that has this name, a method by its stage and its name in a plan."""
    module, _, path = name.partition(":")
    if not path:
        stage, _, method = name.partition(".")
        return registry.find(stage, method)  # type: ignore[arg-type]
    if "__main__" in module or not (_is_ours(module) or module in sys.modules):
        raise DataError(f"{name!r} is not of Flou nor of a package with methods for it: import its module first.")
    found: Any = importlib.import_module(module)
    for part in path.split("."):
        found = getattr(found, part)
    if (found.__module__, found.__qualname__) != (module, path):
        raise DataError(f"{name!r} is called otherwise.")
    return found


def _found_function(name: str) -> Any:
    """A function that may be called on what was read: of Flou, of a package with methods for it, or `pl.DataFrame`."""
    found = _found(name)
    if found is not pl.DataFrame and not (isinstance(found, FunctionType) and _is_ours(found.__module__)):
        raise DataError(f"{name!r} is no function of Flou nor of a package with methods for it.")
    return found


@dataclass(frozen=True)
class _Form:
    """How values of some types are written, and read."""

    fits: Callable[[Any], bool]
    write: Callable[[_Writer, Any], Tree]
    read: Callable[[_Reader, Any], Any]


def _form(kind: type, write: Callable[[_Writer, Any], Tree], read: Callable[[_Reader, Any], Any]) -> _Form:
    return _Form(lambda value: type(value) is kind, write, read)


def _moment(value: Any) -> list[Any]:
    """A time with its zone, and whether it is the second of two that read alike."""
    zone = value.tzinfo.key if isinstance(value.tzinfo, ZoneInfo) else None
    return [(value if zone is None else value.replace(tzinfo=None)).isoformat(), zone, value.fold]


def _moment_of(kind: Any, held: list[Any]) -> Any:
    text, zone, fold = held
    made = kind.fromisoformat(text).replace(fold=fold)
    return made if zone is None else made.replace(tzinfo=ZoneInfo(zone))


def _enumerated(name: str, member: str) -> Enum:
    kind = _found(name)
    if not (isinstance(kind, type) and issubclass(kind, Enum)):
        raise DataError(f"{name!r} is no enumeration.")
    return kind[member]


def _array(held: io.BytesIO) -> Any:
    return np.lib.format.read_array(held, allow_pickle=False)


def _is_sparse(value: Any) -> bool:
    """Whether a value is a sparse array by rows; nothing is imported to find out."""
    return type(value).__name__ == "csr_array" and type(value).__module__.startswith("scipy.sparse")


def _sparse(data: Any, places: Any, starts: Any, shape: Any) -> Any:
    from scipy.sparse import csr_array

    return csr_array((data, places, starts), shape=shape)


def _save_array(writer: _Writer, value: Any) -> str:
    return writer.part(
        value, lambda held: np.lib.format.write_array(held, np.asarray(value), allow_pickle=False), "npy"
    )


def _save_frame(writer: _Writer, value: pl.DataFrame | pl.Series) -> str:
    frame = value if isinstance(value, pl.DataFrame) else value.to_frame()
    return writer.part(value, lambda held: frame.write_ipc(held, compression="zstd"), "arrow")


#: By tag; the first that fits a value is its form.
_FORMS = {
    "float": _form(float, lambda w, v: repr(v), lambda r, h: float(h)),  # infinite, or no number
    "proportion": _form(Proportion, lambda w, v: repr(v), lambda r, h: Proportion(h)),
    "decimal": _form(Decimal, lambda w, v: str(v), lambda r, h: Decimal(h)),
    "bytes": _form(bytes, lambda w, v: v.hex(), lambda r, h: bytes.fromhex(h)),
    "tuple": _form(tuple, lambda w, v: w.trees(v), lambda r, h: tuple(r.values(h))),
    "frozenset": _form(frozenset, lambda w, v: sorted(w.trees(v), key=json.dumps), lambda r, h: frozenset(r.values(h))),
    "dict": _form(dict, lambda w, v: [w.trees(pair) for pair in v.items()], lambda r, h: dict(map(r.values, h))),
    "date": _form(dt.date, lambda w, v: v.isoformat(), lambda r, h: dt.date.fromisoformat(h)),
    "datetime": _form(dt.datetime, lambda w, v: _moment(v), lambda r, h: _moment_of(dt.datetime, h)),
    "time": _form(dt.time, lambda w, v: _moment(v), lambda r, h: _moment_of(dt.time, h)),
    "timedelta": _form(dt.timedelta, lambda w, v: [v.days, v.seconds, v.microseconds], lambda r, h: dt.timedelta(*h)),
    "array": _form(np.ndarray, _save_array, lambda r, h: _array(r.part(h))),
    "sparse": _Form(
        _is_sparse, lambda w, v: w.trees((v.data, v.indices, v.indptr, v.shape)), lambda r, h: _sparse(*r.values(h))
    ),
    "scalar": _Form(lambda v: isinstance(v, np.generic), _save_array, lambda r, h: _array(r.part(h))[()]),
    "frame": _form(pl.DataFrame, _save_frame, lambda r, h: pl.read_ipc(r.part(h))),
    "series": _form(pl.Series, _save_frame, lambda r, h: pl.read_ipc(r.part(h)).to_series()),
    "enum": _Form(
        lambda v: isinstance(v, Enum), lambda w, v: [w.named(v, type(v), _found), v.name], lambda r, h: _enumerated(*h)
    ),
    "function": _Form(
        lambda v: v is pl.DataFrame or type(v) is FunctionType,
        lambda w, v: w.named(v, v, _found_function),
        lambda r, h: _found_function(h),
    ),
    "partial": _form(
        partial,
        lambda w, v: [w.named(v.func, v.func, _found_function), w.trees(v.args), w.tree(v.keywords)],
        lambda r, h: partial(_found_function(h[0]), *r.values(h[1]), **r.value(h[2])),
    ),
    "object": _Form(lambda v: _has_fields(type(v)), lambda w, v: w.fields(v), lambda r, h: r.made(h)),
}
