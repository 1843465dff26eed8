"""The folder of the store: where it is, who may write it, how large it grows, and when what is in it goes."""

from __future__ import annotations

import os
import re
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.job.office import STEPS, Office, open_office

from flou.cli import main as cli
from flou.cli.run import run_plan
from flou.describe.microdata import Microdata
from flou.engine.errors import FlouError, OutputError, ParameterError, SecretError
from flou.job.store import place


@pytest.fixture
def office(tmp_path: Path) -> Iterator[Office]:
    with open_office(tmp_path, engine="polars") as opened:
        opened.steps = STEPS[:4]
        yield opened


def call(monkeypatch: pytest.MonkeyPatch, *arguments: object) -> int:
    monkeypatch.setattr(sys, "argv", ["flou", *(str(a) for a in arguments)])
    with pytest.raises(SystemExit) as stopped:
        cli.main()
    return int(stopped.value.code or 0)


def test_the_folder_is_the_one_that_is_named_else_in_the_users_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FLOU_STORE", "/somewhere/else")
    assert place.located() == Path("/somewhere/else")
    monkeypatch.delenv("FLOU_STORE")
    monkeypatch.setenv("XDG_CACHE_HOME", "/caches")
    assert place.located() == Path("/caches/flou/store")
    for unset in ("", "relative"):
        monkeypatch.setenv("XDG_CACHE_HOME", unset)
        assert place.located() == Path.home() / ".cache" / "flou" / "store"
    monkeypatch.setenv("FLOU_STORE", "off")
    assert place.located() is None


def test_nothing_is_kept_where_the_store_is_off(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FLOU_STORE", "off")
    assert office.run()[1].keeper.entries() == []
    with pytest.raises(OutputError, match="FLOU_STORE says that nothing is"):
        office.carry_out(resume=True)


def test_without_a_lasting_secret_nothing_is_kept_and_resume_is_refused(office: Office) -> None:
    plan = office.plan()
    plan.write_text(re.sub(r"\[secrets\]\nfile = .*\n", "", plan.read_text()))
    assert run_plan(plan, office.folder / "out") == 0
    assert not office.store.exists()
    with pytest.raises(SecretError, match=r"\[secrets\] file = .* or --secret"):
        run_plan(plan, office.folder / "other", resume=True)


def test_the_published_secret_keeps_nothing_of_real_people(office: Office) -> None:
    demonstration = Path(__file__).parents[2] / "examples" / "apa" / "demonstration.secret"
    with pytest.raises(SecretError, match="demonstration secret is published"):
        office.carry_out(secret=str(demonstration))
    assert not office.store.exists()


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="Windows has no such modes")
def test_a_folder_that_others_can_write_is_refused(office: Office) -> None:
    office.store.mkdir()
    office.store.chmod(0o777)
    with pytest.raises(OutputError, match=r"others can write .*FLOU_STORE=off"):
        office.carry_out()


def test_a_file_in_the_place_of_the_folder_is_refused(office: Office) -> None:
    office.store.touch()
    with pytest.raises(OutputError, match=r"cannot be used \(Not a directory\)"):
        office.carry_out()


def test_a_file_that_changes_while_it_is_read_keeps_nothing(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    stamps = iter(range(2))
    monkeypatch.setattr("flou.job.carry_out.inputs.seen", lambda _: {"people": next(stamps)})
    done = office.carry_out()
    assert done.keeper.lines == ["nothing is kept: a file of the data changed while it was read"]
    assert not office.entries()


def test_rows_in_spark_are_not_kept_and_the_run_goes_on(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Microdata, "native_kind", "spark")
    done = office.carry_out(engine="polars")
    assert done.keeper.lines[0] == "not kept: step 1 (drop_identifiers): rows that stay in Spark are not kept"
    assert len(done.keeper.lines) == 4
    assert len(office.entries()) == 2  # what was measured before


@pytest.mark.parametrize("source", ["lost.parquet", "people.schema.toml"])
def test_a_problem_of_the_plan_is_said_as_ever(office: Office, source: str) -> None:
    plan = office.plan()
    plan.write_text(plan.read_text().replace("people.parquet", source))
    with pytest.raises(FlouError, match=source):
        run_plan(plan, office.folder / "out")


def test_a_place_that_nobody_named_and_that_cannot_be_used_is_passed_over(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("FLOU_STORE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(office.folder / "people.parquet"))
    with pytest.warns(UserWarning, match="Nothing is kept for --resume"):
        done = office.carry_out()
    assert "nothing is kept" in done.keeper.lines[0]
    with pytest.raises(OutputError, match="cannot be used"):
        office.carry_out(resume=True)


def test_the_oldest_entries_make_room(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    office.store.mkdir(mode=0o700)
    for number in range(3):
        entry = office.store / f"{number}".zfill(40)
        entry.mkdir()
        (entry / "held").write_bytes(bytes(700_000))
        os.utime(entry, (number, number))
    monkeypatch.setenv("FLOU_STORE_LIMIT", "2")
    office.stop("round")
    left = {path.name for path in office.entries()}
    assert "0" * 40 not in left
    assert f"{2}".zfill(40) in left
    assert sum(entry.size for entry in place.entries(office.store)) <= 2_000_000


def test_an_entry_larger_than_the_limit_is_not_kept_and_said(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FLOU_STORE_LIMIT", "0")
    _, done = office.run()
    assert not office.entries()
    assert done.keeper.lines[-1] == "not kept: step 4 (round): more than the 0 MB that FLOU_STORE_LIMIT allows"
    log = (office.folder / "out.1" / "internal" / "log.txt").read_text()
    assert all(line in log for line in done.keeper.lines)


def test_a_limit_that_is_none_is_refused(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FLOU_STORE_LIMIT", "much")
    with pytest.raises(ParameterError, match="FLOU_STORE_LIMIT = 'much'"):
        office.carry_out()


def test_what_a_finished_run_kept_goes_with_its_output_in_place(office: Office) -> None:
    office.stop("round")
    kept = len(office.entries())
    assert run_plan(office.plan(), office.folder / "out", resume=True) == 0
    assert kept == 5
    assert not office.entries()


def test_what_another_plan_has_kept_stays(office: Office) -> None:
    office.stop("round")
    other = Office(office.folder, steps=STEPS[4:6])
    assert run_plan(other.plan(), office.folder / "out") == 4
    assert len(office.of_steps()) == 3


def test_a_failure_says_that_the_run_can_go_on(office: Office) -> None:
    office.steps = (*STEPS[:3], 'method = "round"\ncolumns = ["lost"]\nunit = 1')
    with pytest.raises(FlouError, match=r"lost.* is kept: the same command with --resume goes on from there\.$"):
        run_plan(office.plan(), office.folder / "out")
    with pytest.raises(FlouError, match="with --resume goes on"):  # what it took is kept as well
        run_plan(office.plan(), office.folder / "out", resume=True)


def test_a_failure_before_anything_is_kept_does_not(office: Office) -> None:
    office.steps = ('method = "recode"\ncolumn = "lost"\nlevel = 1',)
    office.more = ""
    with pytest.raises(FlouError) as failed:
        run_plan(office.plan(), office.folder / "out")
    assert "--resume" not in str(failed.value)


def test_a_run_says_how_much_it_found(
    office: Office, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    office.stop("round")
    assert call(monkeypatch, "run", office.plan(), "--out", office.folder / "out", "--resume") == 0
    said, line = capsys.readouterr(), "Continuing after step 3 of 4 (top_code); 2 results were kept."
    assert said.out.startswith(line)
    assert line in said.err
    assert line in (office.folder / "out" / "internal" / "log.txt").read_text()


def test_a_run_that_finds_nothing_says_so(office: Office) -> None:
    done = office.carry_out(resume=True)
    assert done.keeper.continues == "Nothing was kept of this plan with these data: starting anew."


def test_results_alone_are_gone_on_with(office: Office) -> None:
    office.stop("drop_identifiers")
    assert office.carry_out(resume=True).keeper.continues == "Continuing before step 1 of 4; 2 results were kept."


def test_clean_removes_everything_and_says_how_much(
    office: Office, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    office.stop("round")
    (office.store / "not ours").mkdir()
    assert call(monkeypatch, "clean") == 0
    assert re.fullmatch(r"5 entries were removed, 0\.\d MB\.\n", capsys.readouterr().out)
    assert [path.name for path in office.store.iterdir()] == ["not ours"]


def test_clean_leaves_what_is_younger(
    office: Office, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    office.stop("round")
    old = office.entries()[0]
    os.utime(old, (time.time() - 3 * 86_400,) * 2)
    assert call(monkeypatch, "clean", "--older-than", "2") == 0
    assert capsys.readouterr().out.startswith("1 entry was removed")
    assert old not in office.entries()


def test_clean_of_a_store_that_is_not_there_removes_nothing(
    office: Office, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call(monkeypatch, "clean") == 0
    assert capsys.readouterr().out == "0 entries were removed, 0.0 MB.\n"
    assert not office.store.exists()


def test_logs_and_messages_of_what_is_not_kept_show_no_values(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object, **__: object) -> None:
        raise FlouError("person 7 earns 1234")

    monkeypatch.setattr("flou.job.store.keeper.save", fails)
    assert {line.rpartition(": ")[2] for line in office.carry_out().keeper.lines} == {"FlouError"}


@pytest.fixture
def stuck(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A store with an entry that the system refuses to remove."""
    entry = tmp_path / ("a" * 40)
    entry.mkdir()
    (entry / "seal").write_bytes(b"x" * 100)
    monkeypatch.setattr(place, "located", lambda: tmp_path)
    monkeypatch.setattr(place, "remove", lambda folder, names: 0)
    return tmp_path


def test_an_entry_that_cannot_be_removed_is_warned_of(stuck: Path) -> None:
    with pytest.warns(UserWarning, match="1 entries that this run kept are still in .* `flou clean`"):
        place.forget(["a" * 40])


def test_an_entry_that_cannot_be_removed_does_not_stop_the_run(stuck: Path) -> None:
    new = stuck / "new"
    new.mkdir()
    place.make_room(stuck, new, 10, besides="another")
    assert (stuck / ("a" * 40)).is_dir()
