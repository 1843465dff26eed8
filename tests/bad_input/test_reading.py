"""Files that are empty, damaged, of another kind, or not what was said about them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import flou

ENGINES = ("polars", "duckdb")
GOOD = "age,sex\n31,F\n34,F\n"
LATIN = b"age,city\n31,Paris\n32,Orl\xe9ans\n"


def _file(folder: Path, name: str, content: str | bytes) -> Path:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def _parquet(folder: Path, n: int = 5000) -> bytes:
    path = folder / "good.parquet"
    pl.DataFrame({"age": range(n), "text": [f"t{i}" for i in range(n)]}).write_parquet(path)
    content = path.read_bytes()
    path.unlink()
    return content


def _count(source: Any, **options: Any) -> int:
    """Read and use a file, so that an error that waits for the rows shows too."""
    data = flou.read(source, **options)
    if data.schema.keys:
        flou.risk.KAnonymity(k=1).measure(data)
    return data.collect().n_records


CSV: dict[str, tuple[str | bytes, dict[str, Any], str]] = {
    "no bytes": ("", {}, "empty"),
    "a line end": ("\n", {}, "empty"),
    "blank lines": ("  \n\n", {}, ""),
    "byte order mark alone": (b"\xef\xbb\xbf", {}, "empty"),
    "header alone": ("age,sex\n", {}, "no records"),
    "header without line end": ("age,sex", {}, "no records"),
    "doubled column": ("age,age\n1,2\n", {}, "same name"),
    "doubled column in quotes": ('"age","age"\n1,2\n', {}, "same name"),
    "doubled column with a blank": ("age, age\n1,2\n", {}, "same name"),
    "missing column": (GOOD, {"keys": ["aeg"]}, "Did you mean 'age'"),
    "two columns without a name": (",\n1,2\n", {}, ""),
    "wrong delimiter": (GOOD, {"delimiter": ";"}, "','"),
    "other wrong delimiter": ("age;sex\n1;F\n", {"delimiter": ","}, "';'"),
    "delimiter of two characters": (GOOD, {"delimiter": ";;"}, "single character"),
    "delimiter without a character": (GOOD, {"delimiter": ""}, "delimiter"),
    "delimiter of two bytes": ("ageésex\n1éF\n", {"delimiter": "é"}, "delimiter"),
    "delimiter that is no text": (GOOD, {"delimiter": 3}, "delimiter"),
    "long line": ("a,b\n1,2\n1,2,3\n", {}, "delimiter"),
    "unclosed quote": ('a,b\n"1,2\n3,4\n', {}, ""),
    "latin-1 in the header": ("âge,sexe\n31,F\n".encode("latin-1"), {}, "latin-1"),
    "latin-1 in a key": (LATIN, {"keys": ["city"]}, "latin-1"),
    "latin-1 elsewhere": (LATIN, {"keys": ["age"]}, "latin-1"),
    "latin-1 late": (b"age,city\n" + b"31,Paris\n" * 100_000 + b"32,Orl\xe9ans\n", {"keys": ["age"]}, "latin-1"),
    "utf-16": (GOOD.encode("utf-16"), {}, "utf-8"),
    "bytes that are no text": (bytes(range(256)) * 20, {}, "utf-8"),
    "ascii that is not": (LATIN, {"encoding": "ascii"}, "ascii"),
    "unknown encoding": (GOOD, {"encoding": "klingon"}, "klingon"),
    "encoding that is no text": (GOOD, {"encoding": 3}, "encoding"),
    "encoding of nothing": (GOOD, {"encoding": ""}, "encoding"),
    "text where numbers were declared": ("a,b\n1,x\n", {"types": {"b": "integer"}}, "'x'"),
    "number of 23 digits": ("a,b\n1,99999999999999999999999\n", {"types": {"b": "integer"}}, "integer"),
    "a day that does not exist": ("a,b\n1,2021-02-31\n", {"types": {"b": "date"}, "keys": ["b"]}, "2021-02-31"),
    "unknown type": ("a,b\n1,x\n", {"types": {"b": "int"}}, "integer"),
    "type of a missing column": ("a,b\n1,x\n", {"types": {"c": "integer"}}, "'c'"),
    "unknown engine": (GOOD, {"engine": "polar"}, "Did you mean 'polars'"),
    "unknown role": (GOOD, {"key": ["age"]}, "Did you mean 'keys'"),
    "schema and roles": (GOOD, {"schema": flou.Schema(), "keys": ["age"]}, "not both"),
    "schema that is none": (GOOD, {"schema": 3}, "schema"),
    "schema as a dict": (GOOD, {"schema": {"keys": ["age"]}}, "schema"),
    "schema file that is not there": (GOOD, {"schema": "none.schema.toml"}, "none.schema.toml"),
}


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("case", list(CSV))
def test_a_wrong_csv_file_is_refused(case: str, engine: str, tmp_path: Path, nothing_written: Any) -> None:
    content, options, word = CSV[case]
    path = _file(tmp_path, "people.csv", content)
    with nothing_written(), pytest.raises(flou.FlouError) as caught:
        _count(path, **{"engine": engine, **options})
    assert word.lower() in str(caught.value).lower()
    assert len(str(caught.value)) > 15


def test_a_date_that_does_not_exist_stays_text_when_nobody_declared_it(tmp_path: Path) -> None:
    """The narrowest type that fits *all* values: 31 February is not a date."""
    data = flou.read(_file(tmp_path, "d.csv", "day\n2021-02-28\n2021-02-31\n"), keys=["day"])
    assert flou.risk.KAnonymity(k=1).measure(data).n_keys == 2


def test_names_with_the_delimiter_in_quotes_are_not_doubled(tmp_path: Path) -> None:
    assert flou.read(_file(tmp_path, "q.csv", '"x,a","x,b"\n1,2\n')).columns == ("x,a", "x,b")


def test_names_with_quotes_come_back_from_csv(tmp_path: Path) -> None:
    written = flou.write(flou.Microdata(pl.DataFrame({'a"b': [1], "c": [2]})), tmp_path / "q.csv", unprotected=True)
    assert flou.read(written).columns == ('a"b', "c")


def test_a_file_named_with_brackets_is_not_a_pattern(tmp_path: Path) -> None:
    assert flou.read(_file(tmp_path, "people[1].csv", GOOD)).n_records == 2


def test_a_whole_pattern_of_latin_1_files(tmp_path: Path) -> None:
    for i in (1, 2):
        _file(tmp_path, f"part{i}.csv", LATIN)
    try:
        assert _count(tmp_path / "part*.csv", encoding="latin-1", keys=["city"]) == 4
    except flou.FlouError as error:
        assert "encoding" in str(error)


def test_files_of_one_pattern_must_have_the_same_columns(tmp_path: Path) -> None:
    _file(tmp_path, "part1.csv", "a,b\n1,2\n")
    _file(tmp_path, "part2.csv", "a,c\n1,2\n")
    with pytest.raises(flou.FlouError):
        _count(tmp_path / "part*.csv")


DAMAGED: dict[str, Callable[[bytes], bytes]] = {
    "cut in the middle": lambda b: b[: len(b) // 2],
    "without its footer": lambda b: b[:-8],
    "without its last byte": lambda b: b[:-1],
    "four bytes": lambda b: b[:4],
    "one byte": lambda b: b[:1],
    "text": lambda b: b"age,sex\n31,F\n",
    "zeros": lambda b: bytes(1000),
    "footer of a wrong length": lambda b: b[:-8] + b"\xff\xff\xff\x7fPAR1",
    "footer without the rows": lambda b: b[:4] + b[-2000:],
    "no bytes": lambda b: b"",
}


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("case", list(DAMAGED))
def test_damaged_parquet_is_refused(case: str, engine: str, tmp_path: Path, nothing_written: Any) -> None:
    path = _file(tmp_path, "people.parquet", DAMAGED[case](_parquet(tmp_path)))
    with nothing_written(), pytest.raises(flou.FlouError):
        _count(path, engine=engine, keys=["age"])


@pytest.mark.parametrize("engine", ENGINES)
def test_one_damaged_file_spoils_the_folder(engine: str, tmp_path: Path) -> None:
    folder = tmp_path / "parts"
    folder.mkdir()
    good = _parquet(tmp_path)
    _file(folder, "a.parquet", good)
    _file(folder, "b.parquet", good[: len(good) // 2])
    with pytest.raises(flou.FlouError):
        _count(folder, engine=engine, keys=["age"])


@pytest.mark.parametrize("engine", ENGINES)
def test_files_of_a_folder_with_other_types(engine: str, tmp_path: Path) -> None:
    pl.DataFrame({"age": [1, 2]}).write_parquet(tmp_path / "a.parquet")
    pl.DataFrame({"age": ["x"]}).write_parquet(tmp_path / "b.parquet")
    with pytest.raises(flou.FlouError):
        _count(tmp_path, engine=engine, keys=["age"])


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("frame", [pl.DataFrame({"age": [1]}).clear(), pl.DataFrame()], ids=["no rows", "no columns"])
def test_parquet_that_holds_nothing(frame: pl.DataFrame, engine: str, tmp_path: Path) -> None:
    frame.write_parquet(tmp_path / "n.parquet")
    with pytest.raises(flou.FlouError):
        _count(tmp_path / "n.parquet", engine=engine)


@pytest.mark.parametrize("content", [b"age,sex\n31,F\n", b"ARROW1\0\0", b"ARROW1"], ids=["text", "start", "six bytes"])
def test_damaged_arrow_is_refused(content: bytes, tmp_path: Path) -> None:
    with pytest.raises(flou.FlouError):
        _count(_file(tmp_path, "people.arrow", content))


@pytest.mark.parametrize("option", [{"delimiter": ","}, {"encoding": "latin-1"}], ids=str)
def test_options_of_csv_are_refused_elsewhere(option: dict[str, str], tmp_path: Path) -> None:
    path = _file(tmp_path, "people.parquet", _parquet(tmp_path))
    with pytest.raises(flou.FlouError, match=next(iter(option))):
        flou.read(path, **option)  # type: ignore[arg-type]


SOURCES: dict[str, Any] = {
    "not there": "none.csv",
    "folder not there": "none/none.csv",
    "pattern without a match": "none*.parquet",
    "unknown kind": "people.xlsx",
    "no kind": "people",
    "nothing": None,
    "a number": 3,
    "bytes": b"people.csv",
    "no name": "",
    "a name with a zero byte": "a\0.csv",
    "a name too long": "a" * 5000 + ".csv",
    "a frame": pl.DataFrame({"a": [1]}),
}


@pytest.mark.parametrize("case", list(SOURCES))
def test_sources_that_cannot_be_read(case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("people.xlsx", "people"):
        _file(tmp_path, name, GOOD)
    with pytest.raises(flou.FlouError):
        flou.read(SOURCES[case])


def test_a_misspelt_file_suggests_the_nearest(tmp_path: Path) -> None:
    _file(tmp_path, "people.csv", GOOD)
    with pytest.raises(flou.FlouError, match=r"people\.csv"):
        flou.read(tmp_path / "poeple.csv")


def test_a_folder_of_files_that_are_not_read_together(tmp_path: Path) -> None:
    _file(tmp_path, "people.sav", GOOD)
    with pytest.raises(flou.FlouError, match=r"holds none of the files that are read together: \.parquet"):
        flou.read(tmp_path)
    _file(tmp_path, "people.csv", GOOD)
    assert flou.read(tmp_path).n_records > 0
    pl.DataFrame({"a": [1]}).write_parquet(tmp_path / "people.parquet")
    with pytest.raises(flou.FlouError, match=r"files of several kinds: 'people.csv', 'people.parquet'"):
        flou.read(tmp_path)


def test_no_file_of_a_folder_is_left_out_unseen(tmp_path: Path) -> None:
    one = pl.DataFrame({"a": [1, 2]})
    (tmp_path / "empty.csv").mkdir()
    for place in ("top.parquet", "MORE.PARQUET", ".hidden.parquet", "_temporary/x.parquet"):
        (tmp_path / place).parent.mkdir(exist_ok=True)
        one.write_parquet(tmp_path / place)
    assert flou.read(tmp_path).n_records == 4
    for year in (2023, 2024):
        (tmp_path / f"year={year}").mkdir()
        one.write_parquet(tmp_path / f"year={year}" / "p.parquet")
    with pytest.raises(flou.FlouError, match=r"has files in folders of its own: 'year=2023/p\.parquet'"):
        flou.read(tmp_path)
    for pattern in ("*/*.parquet", "**/*.parquet"):
        with pytest.raises(flou.FlouError, match=r"The names of the folders hold a column \('year=2023'"):
            flou.read(tmp_path / pattern)
    assert flou.read(tmp_path / "year=2023").n_records == 2


@pytest.mark.parametrize("engine", ["polars", "duckdb"])
@pytest.mark.parametrize(
    ("second", "told"),
    [
        ({"a": [9.5]}, "'a' is Float64, Int64 there"),
        ({"a": ["01"]}, "'a' is String, Int64 there"),
        ({"A": [1]}, "'A' is not there; 'a' is missing"),
        ({"a": [1], "b": [2]}, "'b' is not there"),
    ],
)
def test_files_of_other_columns_are_not_united(
    tmp_path: Path, engine: str, second: dict[str, list[Any]], told: str
) -> None:
    """DuckDB would round 9.5 to 10 and drop the column b without a word."""
    for kind in ("parquet", "arrow"):
        (tmp_path / kind).mkdir()
        for n, columns in enumerate(({"a": [1, 2]}, second)):
            rows = pl.DataFrame(columns)
            path = tmp_path / kind / f"{n}.{kind}"
            rows.write_parquet(path) if kind == "parquet" else rows.write_ipc(path)
        with pytest.raises(flou.FlouError, match=told):
            flou.read(tmp_path / kind, engine=engine)


def test_one_number_written_in_two_ways_is_one_number_or_two_codes(tmp_path: Path) -> None:
    for pair in (("10.1", "10.10"), ("1e2", "100"), ("0.1", "0.1000000000000000000001")):
        file = _file(tmp_path, "codes.csv", "nace,sex\n{}, F\n{}, F\n".format(*pair))
        with pytest.raises(
            flou.FlouError, match=rf"'nace' has '{pair[0]}' and '{pair[1]}'|'{pair[1]}' and '{pair[0]}'"
        ):
            flou.read(file, keys=["nace"])
        assert flou.read(file, keys=["nace"], types={"nace": "text"}).key_table(["nace"]).n_keys == 2
        assert flou.read(file, keys=["nace"], types={"nace": "number"}).key_table(["nace"]).n_keys == 1
        assert flou.read(file, keys=["sex"]).frame.collect_schema()["nace"].is_numeric()


def test_numbers_beyond_all_numbers_are_text(tmp_path: Path) -> None:
    assert not flou.read(_file(tmp_path, "n.csv", "a\n1e999\n1\n")).frame.collect_schema()["a"].is_numeric()


@pytest.mark.parametrize("encoding", ["base64", "rot13", "hex"])
def test_codecs_that_are_not_of_text(tmp_path: Path, encoding: str) -> None:
    with pytest.raises(flou.FlouError, match="is not known; use utf-8"):
        flou.read(_file(tmp_path, "people.csv", GOOD), encoding=encoding)


def test_a_cell_beyond_measure_and_a_column_without_a_name(tmp_path: Path) -> None:
    with pytest.raises(flou.FlouError, match="cannot be read as a CSV file: field larger"):
        flou.read(_file(tmp_path, "long.csv", f'a,b\n1,"{"x" * 200_000}"\n'))
    with pytest.raises(flou.FlouError, match="has columns without a name: column 3"):
        flou.read(_file(tmp_path, "nameless.csv", "a,b,\n1,2,\n"))


@pytest.mark.parametrize("engine", ENGINES)
def test_weights_are_checked_when_a_file_is_read(engine: str, tmp_path: Path) -> None:
    for text, word in (("w,a\n-1,1\n", "negative"), ("w,a\n,1\n2,1\n", "null"), ("w,a\nx,1\n", "numbers")):
        with pytest.raises(flou.FlouError, match=word):
            _count(_file(tmp_path, "w.csv", text), engine=engine, weight="w")
