"""Text that is made to break its reader: odd encodings, deep nesting, numbers of thousands of digits."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import flou
from flou.describe.table.argus.microdata import read_argus_microdata
from flou.engine import parsing
from flou.engine.former import FormerRelease

CODECS = (
    "utf-16",
    "utf-32",
    "punycode",
    "idna",
    "undefined",
    "unicode_escape",
    "hex",
    "rot13",
    "a\0b",
    "\ud800",
    "x" * 999,
)
#: More than the parsers of Python bear, and less.
DEPTHS = (5_000, 100)
HUGE = "9" * 5_000
PLANS = {
    "a number of 5,000 digits": f"flou = {HUGE}\n",
    "a number of 4,200 digits": f"flou = 2\n[output]\nrows_per_part = {'9' * 4_200}\n",
    "a hexadecimal number of 5,000 digits": f"flou = 2\n[output]\nrows_per_part = 0x{'f' * 5_000}\n",
    **{f"{n} brackets": f"flou = 2\nx = {'[' * n}{']' * n}\n" for n in DEPTHS},
    **{f"{n} tables": f"flou = 2\nx = {'{a=' * n}1{'}' * n}\n" for n in DEPTHS},
    "a key of 100 parts": f"flou = 2\n[policy]\na{'.a' * 100} = 1\n",
}


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("content", ["age,sex\n31,F\n", 'age,sex\n31,"F"\n'], ids=["plain", "quoted"])
def test_no_codec_reads_a_csv_file_that_is_not_in_it(codec: str, content: str, tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text(content, encoding="utf-8")
    with pytest.raises(flou.FlouError, match="encoding"):
        flou.read(tmp_path / "people.csv", encoding=codec)


@pytest.mark.parametrize("codec", CODECS)
def test_no_codec_reads_a_hierarchy_that_is_not_in_it(codec: str, tmp_path: Path) -> None:
    (tmp_path / "age.csv").write_text("31;30;*\n34;30;*\n", encoding="utf-8")
    with pytest.raises(flou.FlouError, match="encoding"):
        flou.Hierarchy.from_csv(tmp_path / "age.csv", encoding=codec)


@pytest.mark.parametrize("codec", CODECS)
def test_no_codec_reads_a_description_that_is_not_in_it(codec: str, tmp_path: Path) -> None:
    (tmp_path / "t.rda").write_text("region\n<RECODEABLE>\n", encoding="utf-8")
    with pytest.raises(flou.FlouError, match="encoding"):
        read_argus_microdata(tmp_path / "t.asc", encoding=codec)


def test_a_file_in_utf_16_is_read_when_it_is_in_it(tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_bytes("age,sex\n31,é\n".encode("utf-16"))
    assert flou.read(tmp_path / "people.csv", encoding="utf-16").collect().n_records == 1


@pytest.mark.parametrize("case", list(PLANS))
def test_a_plan_that_no_parser_bears_is_refused(case: str, job: Any, refused: Callable[..., str]) -> None:
    job.plan.write_text(PLANS[case], encoding="utf-8")
    message = refused("run", job.plan, "--out", job.out)
    assert "too large a number" in message or "more than 64 deep" in message
    with pytest.raises(flou.FlouError):
        flou.Plan.from_toml(PLANS[case])


@pytest.mark.parametrize("case", list(PLANS))
@pytest.mark.parametrize("load", [flou.Schema.load, flou.Policy.load, flou.Plan.load])
def test_other_files_of_toml_are_parsed_with_the_same_care(case: str, load: Any, tmp_path: Path) -> None:
    (tmp_path / "any.toml").write_text(PLANS[case], encoding="utf-8")
    with pytest.raises(flou.FlouError):
        load(tmp_path / "any.toml")


@pytest.mark.parametrize("value", ["[" * 900 + "]" * 900, HUGE, "0x" + "f" * 5_000, "²"])
def test_options_are_parsed_with_the_same_care(value: str, job: Any, refused: Callable[..., str]) -> None:
    assert "k" in refused("risk", job.folder / "people.csv", "--keys", "age", "--method", "k_anonymity", "--k", value)


@pytest.mark.parametrize(
    "text", ["[" * 100_000, '{"a":' * 100 + "1" + "}" * 100, HUGE, "1e999", "NaN", "-Infinity", "[1"]
)
def test_json_is_parsed_or_refused_for_a_reason(text: str) -> None:
    with pytest.raises(parsing.Unparsable):
        parsing.parsed_json(text)


@pytest.mark.parametrize("n", ["1e999", HUGE, "[" * 100_000, "NaN"])
def test_a_former_run_with_such_numbers_is_refused(n: str, tmp_path: Path) -> None:
    (tmp_path / "internal").mkdir()
    (tmp_path / "internal" / "parameters.json").write_text(
        f'{{"series": "a", "period": "1", "number": {n}, "steps": []}}'
    )
    (tmp_path / "internal" / "profile.json").write_text(f'{{"flou_profile": 1, "n_records": {n}, "columns": {{}}}}')
    for load in (FormerRelease.load, flou.describe.profile.Profile.load):
        with pytest.raises(flou.FlouError):
            load(tmp_path)


def test_what_json_writes_is_read_back() -> None:
    value = {"a": [1, 2.5, True, None, "é"], "b": {"c": -(2**63)}}
    assert parsing.parsed_json(json.dumps(value)) == value
