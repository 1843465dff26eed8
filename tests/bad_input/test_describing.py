"""Schemas and hierarchies that contradict themselves, or are not what their words say."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest
from tests.contracts.cases import native

import flou

FRAME = pl.DataFrame({"a": [1, 1, 2, 2], "b": ["x", "x", "y", None], "w": [1.0, 2.0, 3.0, 4.0]})
BANDS = flou.Hierarchy.bands

ROLES: dict[str, dict[str, Any]] = {
    "no list": {"keys": None},
    "a number": {"keys": 3},
    "names that are numbers": {"keys": [1]},
    "a name that is not there": {"keys": [""]},
    "id as a list": {"id": ["a"]},
    "id as a number": {"id": 3},
    "weight as a list": {"weight": ["w"]},
    "weight as a number": {"weight": 1},
    "household as a list": {"household": []},
    "types as a list": {"types": ["a"]},
    "types of nothing": {"types": None},
    "unknown type": {"types": {"a": "int"}},
    "type as a list": {"types": {"a": ["integer"]}},
    "not applicable as a number": {"keys": ["a"], "not_applicable": {"a": 99}},
    "not applicable as a text": {"keys": ["b"], "not_applicable": {"b": "xy"}},
    "not applicable of nothing": {"not_applicable": None},
    "undetermined as a number": {"undetermined": {"a": 9}},
    "undetermined as a text": {"undetermined": {"b": "xy"}},
    "hierarchies as a list": {"keys": ["a"], "hierarchies": ["a"]},
    "hierarchy as a text": {"keys": ["a"], "hierarchies": {"a": "bands"}},
    "hierarchy as a dict": {"keys": ["a"], "hierarchies": {"a": {"bands": [5]}}},
    "hierarchy of nothing": {"keys": ["a"], "hierarchies": {"a": None}},
    "hierarchy without a role": {"hierarchies": {"a": BANDS(5)}},
    "modalities as a number": {"keys": ["a"], "modalities": {"a": 1}},
    "modalities as a text": {"keys": ["b"], "modalities": {"b": "xy"}},
    "modalities as a list": {"keys": ["a"], "modalities": ["a"]},
    "modalities in lists": {"keys": ["a"], "modalities": {"a": [[1], [2]]}},
    "no modality": {"keys": ["b"], "modalities": {"b": []}},
    "null as a modality": {"keys": ["a"], "modalities": {"a": [None, 1, 2]}},
    "modality twice": {"keys": ["a"], "modalities": {"a": [1, 2, "1"]}},
    "modality and undetermined": {"keys": ["a"], "modalities": {"a": [1, 2]}, "undetermined": {"a": [2]}},
    "undetermined and not applicable": {"keys": ["a"], "undetermined": {"a": [2]}, "not_applicable": {"a": [2]}},
    "rules as a text": {"keys": ["a", "b"], "incoherent": "ab"},
    "rules as a dict": {"keys": ["a", "b"], "incoherent": {"a": 1, "b": "x"}},
    "rules as a number": {"keys": ["a", "b"], "incoherent": 3},
    "rules of nothing": {"keys": ["a", "b"], "incoherent": None},
    "a rule that is none": {"keys": ["a", "b"], "incoherent": [3]},
    "a rule on one column": {"keys": ["a", "b"], "incoherent": [{"a": 1}]},
    "a rule on what is no key": {"keys": ["a"], "incoherent": [{"a": 1, "b": "x"}]},
    "a rule with a list": {"keys": ["a", "b"], "incoherent": [{"a": [1], "b": "x"}]},
    "labels as a list": {"labels": ["a"]},
    "label as a number": {"labels": {"a": 3}},
    "title as a number": {"title": 3},
    "unknown word for unlisted": {"unlisted": "drop"},
    "columns that nobody listed": {"keys": ["a"], "unlisted": "refuse"},
    "unknown role": {"key": ["a"]},
    "key twice": {"keys": ["a", "a"]},
    "key and sensitive": {"keys": ["a"], "sensitive": ["a"]},
    "id and key": {"id": "a", "keys": ["a"]},
    "identifier and sensitive": {"identifiers": ["a"], "sensitive": ["a"]},
    "weight and household": {"weight": "w", "household": "w"},
    "weight of text": {"weight": "b"},
    "not applicable in a missing column": {"not_applicable": {"c": [1]}},
    "schema and roles": {"schema": flou.Schema(), "keys": ["a"]},
    "schema as a dict": {"schema": {"keys": ["a"]}},
    "schema as a path": {"schema": "people.schema.toml"},
}


@pytest.mark.parametrize("case", list(ROLES))
def test_roles_that_make_no_sense_are_refused(case: str) -> None:
    with pytest.raises(flou.FlouError) as caught:
        flou.Microdata(FRAME, **ROLES[case])
    assert len(str(caught.value)) > 15


def test_a_misspelt_role_suggests_the_nearest() -> None:
    for call in (lambda: flou.Microdata(FRAME, kyes=["a"]), lambda: flou.Schema(kyes=["a"])):  # type: ignore[call-arg]
        with pytest.raises(flou.FlouError, match="'keys'"):
            call()


HEAD = 'flou = 2\n[columns.a]\nrole = "key"\n'
SCHEMAS: dict[str, tuple[str, str]] = {
    "no format": ('[columns.a]\nrole = "key"\n', "flou = 2"),
    "a newer format": ("flou = 3\n", "Upgrade"),
    "no TOML": ("flou = 2\n[columns.a", "TOML"),
    "the same column twice": (HEAD + '[columns.a]\nrole = "id"\n', "TOML"),
    "unknown role": ('flou = 2\n[columns.a]\nrole = "keys"\n', "Did you mean 'key'"),
    "role as a number": ("flou = 2\n[columns.a]\nrole = 3\n", "role"),
    "role as a table": ("flou = 2\n[columns.a]\nrole = { key = true }\n", "role"),
    "unknown word of a column": ('flou = 2\n[columns.a]\nrol = "key"\n', "Did you mean 'role'"),
    "unknown word": ('flou = 2\ncolumn = "a"\n', "Did you mean 'columns'"),
    "two ids": ('flou = 2\n[columns.a]\nrole = "id"\n[columns.b]\nrole = "id"\n', "only one column can be the id"),
    "two weights": ('flou = 2\n[columns.a]\nrole = "weight"\n[columns.b]\nrole = "weight"\n', "only one column"),
    "id and key": ('flou = 2\n[columns.a]\nrole = ["id", "key"]\n', "stand alone"),
    "unknown type": (HEAD + 'type = "int"\n', "integer"),
    "type as a number": (HEAD + "type = 3\n", "3"),
    "label as a number": (HEAD + "label = 3\n", "3"),
    "labels of values as a text": (HEAD + 'values = "x"\n', "value"),
    "labels of values as a list": (HEAD + 'values = ["x"]\n', "value"),
    "not applicable as a table": (HEAD + "not_applicable = { x = 1 }\n", "not_applicable"),
    "modalities in lists": (HEAD + "modalities = [[1]]\n", "modalities"),
    "modality twice": (HEAD + 'modalities = [1, "1"]\n', "twice"),
    "hierarchy as a text": (HEAD + 'hierarchy = "age.csv"\n', 'csv = "file"'),
    "hierarchy as a list": (HEAD + "hierarchy = [5, 10]\n", "bands"),
    "hierarchy as a number": (HEAD + "hierarchy = 5\n", "bands"),
    "hierarchy of unknown kind": (HEAD + "hierarchy = { band = [5] }\n", "bands"),
    "bands as a number": (HEAD + "hierarchy = { bands = 5 }\n", "'a'"),
    "bands that do not nest": (HEAD + "hierarchy = { bands = [5, 7] }\n", "two parents"),
    "bounds of mixed types": (HEAD + 'hierarchy = { bands = [[1, "x"]] }\n', "'a'"),
    "prefix as a number": (HEAD + "hierarchy = { prefix = 3 }\n", "'a'"),
    "hierarchy file that is not there": (HEAD + 'hierarchy = { csv = "none.csv" }\n', "none.csv"),
    "hierarchy file as a number": (HEAD + "hierarchy = { csv = 3 }\n", "'a'"),
    "names as a text": (HEAD + 'hierarchy = { bands = [5], names = "xy" }\n', "names"),
    "names as a number": (HEAD + "hierarchy = { bands = [5], names = 3 }\n", "names"),
    "rows that are none": (HEAD + "hierarchy = { rows = [1, 2] }\n", "'a'"),
    "delimiter of two characters": (HEAD + 'hierarchy = { csv = "h.csv", delimiter = ";;" }\n', "delimiter"),
    "unknown encoding": (HEAD + 'hierarchy = { csv = "h.csv", encoding = "klingon" }\n', "klingon"),
    "columns as a list": ('flou = 2\ncolumns = ["a"]\n', "[columns.age]"),
    "column as a text": ('flou = 2\n[columns]\na = "key"\n', "[columns.age]"),
    "title as a number": ("flou = 2\ntitle = 3\n", "3"),
    "unknown word for unlisted": ('flou = 2\nunlisted = "drop"\n', "unlisted"),
    "unlisted as a boolean": ("flou = 2\nunlisted = true\n", "unlisted"),
    "rules as a number": ("incoherent = 3\n" + HEAD, "incoherent"),
    "a rule that is none": ("incoherent = [3]\n" + HEAD, "incoherent"),
    "a rule on what is no key": (HEAD + "[[incoherent]]\na = 1\nb = 2\n", "not a key"),
    "a rule with a list": (HEAD + '[columns.b]\nrole = "key"\n[[incoherent]]\na = 1\nb = [2]\n', "incoherent"),
}


def _schema(folder: Path, text: str) -> Path:
    (folder / "h.csv").write_text("1;x\n2;y\n", encoding="utf-8")
    path = folder / "people.schema.toml"
    first = text.split("\n", 1)[0]
    path.write_text("flou = 2\n" + text.replace("flou = 2\n", "") if "incoherent = " in first else text, "utf-8")
    return path


@pytest.mark.parametrize("case", list(SCHEMAS))
def test_a_wrong_schema_file_is_refused(case: str, tmp_path: Path) -> None:
    text, word = SCHEMAS[case]
    with pytest.raises(flou.FlouError) as caught:
        flou.Schema.load(_schema(tmp_path, text))
    assert word in str(caught.value)


def test_schema_files_that_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "latin.toml").write_bytes(b"flou = 2\ntitle = '\xe9'\n")
    sources: list[Any] = [tmp_path / "none.toml", tmp_path, tmp_path / "latin.toml", None, 3]
    for source in sources:
        with pytest.raises(flou.FlouError):
            flou.Schema.load(source)


def test_a_column_that_the_schema_does_not_know_is_refused(tmp_path: Path) -> None:
    schema = flou.Schema.load(_schema(tmp_path, HEAD))
    with pytest.raises(flou.FlouError, match="does not know these columns: 'b', 'w'"):
        flou.Microdata(FRAME, schema)


def test_a_schema_file_never_overwrites(tmp_path: Path) -> None:
    """A schema written beside another must not erase it."""
    path = _schema(tmp_path, HEAD)
    before = path.read_bytes()
    with pytest.raises(flou.FlouError, match="exists"):
        flou.Schema(keys=["b"]).save(path)
    assert path.read_bytes() == before


def test_a_schema_file_in_a_folder_that_is_not_there(tmp_path: Path) -> None:
    for target in (tmp_path / "none" / "s.toml", tmp_path):
        with pytest.raises(flou.FlouError):
            flou.Schema(keys=["b"]).save(target)


# hierarchies

BAD_HIERARCHIES: dict[str, Any] = {
    "no band": lambda: BANDS(),
    "band of zero": lambda: BANDS(0),
    "negative band": lambda: BANDS(-5),
    "band that is no number": lambda: BANDS(float("nan")),
    "infinite band": lambda: BANDS(float("inf")),
    "band as a text": lambda: BANDS("5"),  # type: ignore[arg-type]
    "band as a boolean": lambda: BANDS(True),
    "band too large for a float": lambda: BANDS(10**400),
    "bands that do not nest": lambda: BANDS(5, 7),
    "the same band twice": lambda: BANDS(5, 5),
    "finer after coarser": lambda: BANDS(10, 5),
    "bounds then a width": lambda: BANDS([0, 5, 10], 10),
    "bounds that do not nest": lambda: BANDS([0, 5, 10], [0, 7]),
    "bounds of text": lambda: BANDS(["a", "b"]),  # type: ignore[list-item]
    "bounds of mixed types": lambda: BANDS([1, "b"]),  # type: ignore[list-item]
    "bounds with null": lambda: BANDS([None, 1]),  # type: ignore[list-item]
    "bounds in lists": lambda: BANDS([[1], [2]]),  # type: ignore[list-item]
    "bound that is no number": lambda: BANDS([float("nan"), 1]),
    "infinite bound": lambda: BANDS([1, float("inf")]),
    "no bound": lambda: BANDS([]),
    "bounds that fall": lambda: BANDS([5, 3]),
    "names as a number": lambda: BANDS(5, names=3),  # type: ignore[arg-type]
    "names as a text": lambda: BANDS(5, names="fi"),
    "names that are numbers": lambda: BANDS(5, names=[1]),  # type: ignore[list-item]
    "names of nothing": lambda: BANDS(5, names=None),  # type: ignore[arg-type]
    "too many names": lambda: BANDS(5, names=["a", "b", "c"]),
    "the same name twice": lambda: BANDS(5, 10, names=["a", "a"]),
    "no prefix": lambda: flou.Hierarchy.prefix(),
    "prefix of zero": lambda: flou.Hierarchy.prefix(0),
    "prefix as a text": lambda: flou.Hierarchy.prefix("3"),  # type: ignore[arg-type]
    "prefixes that grow": lambda: flou.Hierarchy.prefix(2, 3),
    "no tree": lambda: flou.Hierarchy.tree(None),  # type: ignore[arg-type]
    "an empty tree": lambda: flou.Hierarchy.tree({}),
    "a tree without leaves": lambda: flou.Hierarchy.tree({"a": []}),
    "a tree without lists": lambda: flou.Hierarchy.tree({"a": "b"}),
    "a ragged tree": lambda: flou.Hierarchy.tree({"a": ["1"], "b": {"c": ["2"]}}),
    "two parents": lambda: flou.Hierarchy.tree({"a": ["1"], "b": ["1"]}),
    "two grandparents": lambda: flou.Hierarchy.tree({"N": {"x": ["1"]}, "S": {"x": ["2"]}}),
    "a leaf that is a list": lambda: flou.Hierarchy.tree({"a": [["1"]]}),
    "a leaf that is null": lambda: flou.Hierarchy.tree({"a": [None]}),
}


@pytest.mark.parametrize("case", list(BAD_HIERARCHIES))
def test_hierarchies_that_are_no_trees_are_refused(case: str) -> None:
    with pytest.raises(flou.FlouError):
        BAD_HIERARCHIES[case]()


HIERARCHY_FILES: dict[str, tuple[bytes, str]] = {
    "no bytes": (b"", "empty"),
    "blank lines": (b"\n \n", "empty"),
    "one column": (b"a\nb\n", "at least one level"),
    "ragged": (b"a;x;*\nb;x\n", "'b'"),
    "two parents": (b"a;x;*\na;y;*\n", "two parents"),
    "two grandparents": (b"a;x;N\nb;x;S\n", "two parents"),
    "latin-1": (b"\xe9;x\n", "encoding"),
    "unclosed quote": (b'"a;x\nb;y\n', "CSV"),
    "two delimiters": (b"a;x\nb,y\n", "'b,y'"),
    "an ancestor without a name": (b"a;;*\nb;x;*\n", "'a'"),
}


@pytest.mark.parametrize("case", list(HIERARCHY_FILES))
def test_wrong_hierarchy_files_are_refused(case: str, tmp_path: Path) -> None:
    content, word = HIERARCHY_FILES[case]
    (tmp_path / "h.csv").write_bytes(content)
    with pytest.raises(flou.FlouError) as caught:
        flou.Hierarchy.from_csv(tmp_path / "h.csv")
    assert word in str(caught.value)


def test_a_hierarchy_file_may_have_a_byte_order_mark(tmp_path: Path) -> None:
    """Spreadsheets write one; it is not part of the first value."""
    (tmp_path / "h.csv").write_bytes(b"\xef\xbb\xbfa;x\nb;x\n")
    assert flou.Hierarchy.from_csv(tmp_path / "h.csv").generalise(["a", "b"], 1) == {"a": "x", "b": "x"}


def test_hierarchy_files_that_cannot_be_read(tmp_path: Path) -> None:
    sources: list[Any] = [tmp_path / "none.csv", tmp_path, None]
    for source in sources:
        with pytest.raises(flou.FlouError):
            flou.Hierarchy.from_csv(source)


@pytest.mark.parametrize("level", [9, -1, 1.0, None, "x", True], ids=repr)
def test_levels_that_a_hierarchy_does_not_have(level: Any) -> None:
    with pytest.raises(flou.FlouError, match="level"):
        BANDS(5).generalise([1], level)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), 10**400, "x", None, True], ids=str)
def test_values_that_bands_cannot_hold(value: object) -> None:
    with pytest.raises(flou.FlouError, match="does not cover"):
        BANDS(5).generalise([value], 1)


def test_a_hierarchy_that_misses_values_lists_them() -> None:
    frame = pl.DataFrame({"a": ["1", "2", "3"]})
    roles: dict[str, Any] = {"keys": ["a"], "hierarchies": {"a": flou.Hierarchy.tree({"x": ["1"], "y": ["2"]})}}
    for held in (frame, frame.lazy(), native(frame, "duckdb")):
        with pytest.raises(flou.FlouError, match=r"does not cover 1 of the values: '3'"):
            flou.Microdata(held, **roles)
