"""Files of format 1 are read, with a warning that names what means something else now; `flou migrate` rewrites them."""

from __future__ import annotations

import shutil
import warnings
from pathlib import Path

import polars as pl
import pytest

import flou
from flou.engine import toml
from flou.engine.formats import FormatWarning
from flou.engine.migrate import migrate
from flou.engine.series import Series

FILES = sorted((Path(__file__).parent / "format_1").glob("*.toml"))


def _load(path: Path) -> object:
    if "schema" in path.name:
        return flou.Schema.load(path)
    return (flou.Policy if "policy" in path.name else flou.Plan).load(path)


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.stem)
def test_every_example_of_format_1_is_read_and_migrated(path: Path, tmp_path: Path) -> None:
    with pytest.warns(FormatWarning, match="has format 1"):
        old = _load(path)
    copy = tmp_path / path.name
    shutil.copy(path, copy)
    changed = migrate(copy)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        new = _load(copy)
    assert migrate(copy) == []
    if isinstance(old, flou.Plan):
        assert new.to_toml() == old.to_toml()
        assert any("needs a period" in line for line in changed) == ("sample" in path.read_text())
    else:
        assert new == old
    assert copy.read_text().replace("flou = 2", "flou = 1") == path.read_text()


def test_a_plan_with_a_sample_gets_its_period(tmp_path: Path) -> None:
    path = tmp_path / "plan.toml"
    path.write_text('flou = 1\n[[protect]]\nmethod = "sample"\nshare = 0.5\n')
    with pytest.warns(FormatWarning, match=r"period = \"…\""):
        plan = flou.Plan.load(path)
    people = flou.Microdata(pl.DataFrame({"pid": [1, 2, 3, 4]}), id="pid")
    with pytest.raises(flou.FlouError, match="drawn for a period"):
        plan.protect(people, secret=1)
    assert migrate(path, period="2026") == []
    assert flou.Plan.load(path).release.period == "2026"
    path.write_text("flou = 1\n[columns.a]\n")
    with pytest.raises(flou.FlouError, match="--period"):
        migrate(path, period="2026")


@pytest.mark.parametrize("period", ['20"26', "20\\26", "20\n26", " 2026 ", "\x7f", "été"])
def test_a_period_is_written_as_it_is(period: str, tmp_path: Path) -> None:
    path = tmp_path / "plan.toml"
    path.write_text('flou = 1\n[[protect]]\nmethod = "sample"\n')
    migrate(path, period=period)
    assert flou.Plan.load(path).release.period == period.strip()


@pytest.mark.parametrize("period", ["", " ", "\t\n", "\udcff"])
def test_a_period_that_says_nothing_is_refused(period: str, tmp_path: Path) -> None:
    path = tmp_path / "plan.toml"
    path.write_text(before := 'flou = 1\n[[protect]]\nmethod = "sample"\n')
    with pytest.raises(flou.FlouError, match=r"period = .* should be a text"):
        migrate(path, period=period)
    assert path.read_text() == before


def test_blanks_around_a_series_or_period_make_no_other_one() -> None:
    assert Series(" pay ", "2026\t") == Series("pay", "2026")
    for wrong in ({"series": " "}, {"period": " "}, {"since": " "}, {"period": 2026}):
        with pytest.raises(flou.FlouError, match="should be a text"):
            Series(**wrong)
        with pytest.raises(flou.FlouError, match="should be a text"):
            flou.Plan.from_toml(f"flou = 2\n[release]\n{toml.write(wrong).splitlines()[1]}\n")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('flou = 1\n[[measure]]\nmethod = "k_anonymity"\nk = 3\n', "k_anonymity without missing"),
        ('flou = 1\n[[protect]]\nmethod = "pram"\ncolumn = "x"\n', "pram draws by column, value and scale"),
        (
            'flou = 1\n[[protect]]\nmethod = "drop_records"\nmeasure = { method = "k_anonymity", k = 3 }\n',
            "k_anonymity without missing",
        ),
        (
            'flou = 1\n[policy]\n[[policy.rule]]\nmethod = "k_anonymity"\nsettings = { k = 3 }\nat_most = { release = 0.0 }\n',
            "a rule on k_anonymity without missing",
        ),
    ],
)
def test_what_changed_is_named(text: str, said: str) -> None:
    with pytest.warns(FormatWarning, match=said):
        flou.Plan.from_toml(text)


def test_a_file_without_a_format_or_of_a_later_one_is_refused(tmp_path: Path) -> None:
    for text in ("title = 'x'\n", "flou = 3\n", "flou = true\n"):
        with pytest.raises(flou.FlouError):
            flou.Plan.from_toml(text)
    path = tmp_path / "x.toml"
    path.write_text("title = 'x'\n")
    with pytest.raises(flou.FlouError, match="no line"):
        migrate(path)
    with pytest.raises(flou.FlouError, match="cannot be read"):
        migrate(tmp_path / "none.toml")
    path.write_text("= 1\n")
    with pytest.raises(flou.FlouError, match="not valid TOML"):
        migrate(path)
