"""What `flou protect` writes is for the office alone, and names nobody by a slip."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from tests.job.test_run import call

IBAN = "FR76 3000 6000 0112 3456 7890 189"


def protected(monkeypatch: pytest.MonkeyPatch, rows: pl.DataFrame, folder: Path, *options: str) -> tuple[int, Path]:
    rows.write_csv(folder / "people.csv")
    out = folder / "out.csv"
    return call(monkeypatch, "protect", folder / "people.csv", *options, "--out", out), out


def test_identifiers_that_nobody_declared_are_not_written(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = pl.DataFrame({"account": [IBAN] * 30, "who": [f"Marie Dupont{chr(97 + i % 9)}" for i in range(30)]})
    code, out = protected(monkeypatch, rows, tmp_path, "--method", "drop_identifiers")
    assert code == 2
    assert not out.exists()
    assert "'account', 'who' would be written" in capsys.readouterr().err
    code, out = protected(monkeypatch, rows, tmp_path, "--method", "drop_identifiers", "--unprotected")
    assert code == 0
    assert out.stat().st_mode & 0o777 == 0o600


def test_records_that_nothing_changed_are_not_written(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = pl.DataFrame({"age": [30, 40, 50] * 10})
    code, out = protected(monkeypatch, rows, tmp_path, "--method", "top_code", "--column", "age", "--at", "90")
    assert code == 2
    assert not out.exists()
    assert "No step changed or removed anything" in capsys.readouterr().err


def test_a_protected_file_that_no_policy_judged_is_for_its_owner(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    rows = pl.DataFrame({"age": [30, 40, 50] * 10})
    code, out = protected(monkeypatch, rows, tmp_path, "--method", "top_code", "--column", "age", "--at", "45")
    assert code == 0
    assert out.stat().st_mode & 0o777 == 0o600
