"""`flou table --suppress`: what it asks for, what it prints, what it writes."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import polars as pl
import pytest
from tests.describe.table.suppressed import audit, firms, suppress
from tests.job.test_run import call

import flou
from flou.describe.table.suppression import Audit
from flou.protect.table.protection import TableProtection

DIMS = ("--dims", "region>department, sector")
FOUND: dict[str, Any] = {}


class CellSuppression(TableProtection):
    """The pattern by hand, whatever is asked for."""

    primary: list[str]
    apriori: str | None = None
    search: str = "auto"
    cost: str = "value"
    intervals: str = "levels"
    show: str = "count"
    singletons: str = "levels"
    seconds: float | None = None
    state: str | None = None

    def _protected(self, table: flou.Table, draw: Any) -> flou.Table:
        FOUND["asked"] = self
        return suppress(table, show=self.show, found=FOUND["audit"], released=False)


@pytest.fixture
def by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    """A pattern and an audit that are known beforehand, for what is printed of them."""
    monkeypatch.setattr(flou.protect, "CellSuppression", CellSuppression, raising=False)
    parser = SimpleNamespace(parse_rules=lambda text: [rule.strip() for rule in text.split(",")])
    monkeypatch.setitem(sys.modules, "flou.risk.table.rule_text", parser)
    FOUND["audit"] = audit()


@pytest.fixture(autouse=True)
def _narrow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")


@pytest.fixture
def source(tmp_path: Path) -> Path:
    firms().frame.to_native().write_csv(tmp_path / "firms.csv")
    return tmp_path / "firms.csv"


@pytest.mark.usefixtures("by_hand")
def test_what_is_printed(source: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert call(monkeypatch, "table", source, *DIMS, "--suppress", "threshold(3), p%(10)") == 0
    said = capsys.readouterr().out
    assert all(len(line) <= 80 for line in said.splitlines())
    lines = [line.split() for line in said.splitlines()]
    assert ["Total", "Total", "food", "s"] in lines
    assert ["Total", "Total", "wood", "12"] in lines
    assert "10 of them suppressed (s)" in said
    assert "primary 2, secondary 8, kept 1, published 10, zero 0" in said
    assert "audited: 0 disclosed (by an outsider or the one single contributor; 37 linear\n" in said
    assert FOUND["asked"].primary == ["threshold(3)", "p%(10)"]


@pytest.mark.usefixtures("by_hand")
@pytest.mark.parametrize(
    ("found", "said"),
    [
        (None, "not audited: nothing shows that the suppressed cells cannot be computed"),
        (audit(1, 2), "audited: 3 disclosed (1 exactly, 2 too narrowly) (by an outsider or the one single contributor"),
        (Audit(2, 0, 0, 1, 4, pl.DataFrame()), "audited: 0 disclosed (by an outsider; 4 linear programs)"),
        (
            Audit(2, 0, 0, 15, 37, pl.DataFrame()),
            "(by an outsider or any of 14 single contributors; 37 linear programs)",
        ),
    ],
)
def test_what_the_audit_found(
    found: Audit | None, said: str, source: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    FOUND["audit"] = found
    assert call(monkeypatch, "table", source, *DIMS, "--suppress", "threshold(3)") == 0
    assert said in " ".join(capsys.readouterr().out.split())


@pytest.mark.usefixtures("by_hand")
def test_options_reach_the_method(
    source: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ("--suppress", "threshold(3)", "--suppress", "p%(10)", "--apriori", "known.hst", "--search", "gauss",
               "--cost", "cells", "--intervals", "exact", "--show", "value", "--value", "turnover", "--singletons", "exact",
               "--seconds", "60", "--state", "s.json")  # fmt: skip
    assert call(monkeypatch, "table", source, *DIMS, *options) == 0
    asked = FOUND["asked"]
    assert asked.primary == ["threshold(3)", "p%(10)"], "rules of several options are joined"
    given = (asked.apriori, asked.search, asked.cost, asked.intervals, asked.show)
    assert given == ("known.hst", "gauss", "cells", "exact", "value")
    assert (asked.singletons, asked.seconds, asked.state) == ("exact", 60.0, "s.json")
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["region", "department", "sector", "value"] in lines, "counts are not published"


def test_files_and_drawings(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    out, public, internal = tmp_path / "t.csv", tmp_path / "p.html", tmp_path / "i.html"
    rules = ("--suppress", "threshold(3)")
    made = ("--out", out, "--flags", "sdmx", "--html", public, "--language", "fr")
    assert call(monkeypatch, "table", source, *DIMS, *rules, *made) == 0
    held = pl.read_csv(out)
    hidden = held.filter(pl.col("flag") == "C")
    assert hidden.height == hidden["count"].null_count() == held["count"].null_count() > 2
    assert set(held["flag"]) == {"C", "F"}
    assert held.filter(pl.col("count") < 3).is_empty()
    page = public.read_text(encoding="utf-8")
    assert "case masquée pour secret statistique" in page
    assert "secret primaire" not in page
    assert call(monkeypatch, "table", source, *DIMS, *rules, "--html", internal, "--internal") == 0
    assert "Internal: true figures, not for publication" in internal.read_text(encoding="utf-8")
    assert "(internal: not for publication)" in capsys.readouterr().out.replace("\n", " ")
    assert call(monkeypatch, "table", source, *DIMS, *rules, "--html", internal) == 2, "not overwritten"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--suppress", "threshold(3)", "--protect", "cell_key"), "choose one of them"),
        (("--search", "gauss"), "--search goes with --suppress"),
        (("--suppress", "threshold(3)", "--D", "5"), "'--D' is not understood"),
        (("--suppress", "threshold(3)", "--internal"), "--internal goes with --html"),
        (("--suppress", "threshold(3)", "--html", "t.pdf"), "must end in .html"),
        (("--suppress", "threshold(3)", "--html", "t.html", "--language", "de"), "language = 'de'"),
        (("--suppress", "threshold(3)", "--out", "t.csv", "--flags", "d"), "flags = 'd' is not known"),
        (("--suppress", "threshold(3)", "--unprotected"), "--unprotected goes with"),
        (("--html", "t.html"), "--html t.html would write a table that nothing protects"),
    ],
)
def test_what_is_refused(
    options: tuple[str, ...], said: str, source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    before = sorted(tmp_path.iterdir())
    assert call(monkeypatch, "table", source, *DIMS, *options) == 2
    held = capsys.readouterr()
    assert said in " ".join((held.out + held.err).split())
    assert sorted(tmp_path.iterdir()) == before


def test_a_census_by_one_call(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "census.csv"
    dims = ("--dims", "area@1, gender, age@2")
    assert call(monkeypatch, "table", "dataset:census(20000)", *dims, "--suppress", "threshold(5)", "--out", out) == 0
    said = " ".join(capsys.readouterr().out.split())
    table = flou.datasets.census(20_000).tabulate(["area@1", "gender", "age@2"])
    held = flou.protect.CellSuppression([flou.risk.Threshold(5)]).protect(table).data.suppression.counted()
    assert held["primary"] == int(((table.true_counts > 0) & (table.true_counts < 5)).sum()) > 10
    assert f"primary {held['primary']}, secondary {held['secondary']}, published {held['published']}" in said
    assert "audited: 0 disclosed (by an outsider or any of " in said
    seen = pl.read_csv(out)
    assert seen.columns == ["area@1", "gender", "age@2", "count", "status"]
    assert set(seen["status"]) == {"published", "suppressed"}
    assert seen["count"].null_count() == held["primary"] + held["secondary"]


def test_a_business_file_by_one_call(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    options = ("--dims", "region@*, activity@section", "--value", "turnover", "--holding", "holding")
    assert call(monkeypatch, "table", "dataset:business(4000)", *options, "--suppress", "p%(10)") == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "audited: 0 disclosed" in said
    assert "the counts are not published: the sums alone are protected" in said


def test_a_limit_keeps_what_was_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    state = tmp_path / "search.json"
    asked = ("table", "dataset:census(20000)", "--dims", "area@1, gender, age@2", "--suppress", "threshold(5)")
    assert call(monkeypatch, *asked, "--seconds", "0.000001", "--state", state) == 2
    said = " ".join(capsys.readouterr().err.split())
    assert "The search reached its limit of 1e-06 s and proved nothing, so nothing is released." in said
    assert "run again: it goes on from" in said
    assert state.stat().st_mode & 0o077 == 0, "it tells which cells are sensitive"
    assert call(monkeypatch, *asked, "--state", state, "--search", "gauss") == 2
    assert "belongs to another table, or to other rules" in capsys.readouterr().err
    assert call(monkeypatch, *asked, "--state", state) == 0
    assert "audited: 0 disclosed" in capsys.readouterr().out


def test_a_list_that_contradicts_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "cells.csv").write_text("gender,marital,action\nfemale,widowed,keep\nfemale,widowed,protect\n")
    asked = ("table", "dataset:census(2000)", "--dims", "gender, marital", "--suppress", "threshold(5)")
    assert call(monkeypatch, *asked, "--apriori", tmp_path / "cells.csv") == 2
    assert "female × widowed: protect (line 3) and keep (line 2)" in capsys.readouterr().err


def test_an_unprotected_table_is_drawn_as_such(source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = tmp_path / "t.html"
    assert call(monkeypatch, "table", source, *DIMS, "--html", page, "--unprotected") == 0
    assert "Not protected: for the office alone" in page.read_text(encoding="utf-8")
