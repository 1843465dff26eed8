"""Runs whose process is killed go on with what they had kept; what they were writing is none."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from tests.job.killer import tree
from tests.job.office import Office, open_office

from flou.cli import run
from flou.cli.run import run_plan
from flou.engine import claim
from flou.engine.errors import WorkStoppedError
from flou.job.store import place

pytestmark = pytest.mark.skipif(claim.fcntl is None, reason="Windows kills otherwise")


@pytest.fixture
def office(tmp_path: Path) -> Iterator[Office]:
    with open_office(tmp_path, engine="polars") as opened:
        yield opened


@pytest.fixture
def undisturbed(office: Office) -> dict[str, str]:
    """The files of a run that nobody kills."""
    assert run_plan(office.plan(), office.folder / "undisturbed", keep=False) == 0
    return files(office.folder / "undisturbed")


def kill(office: Office, task: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """A run in a process of its own that is killed; what is said of it."""
    with monkeypatch.context() as patch:
        patch.setenv("FLOU_WORKER", "")
        work = run.work
        patch.setattr(run, "work", lambda _, *arguments, **options: work(task, *arguments, **options))
        with pytest.raises(WorkStoppedError) as killed:
            run_plan(office.plan(), office.folder / "killed")
    return str(killed.value)


def files(out: Path) -> dict[str, str]:
    return {name: held for name, held in tree(out).items() if not name.endswith("log.txt")}


def test_a_run_that_is_killed_in_its_ninth_step_goes_on_with_it(
    office: Office, undisturbed: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    said = kill(office, "tests.job.store_tasks:die_in_a_step", monkeypatch)
    assert said.endswith("is kept: the same command with --resume goes on from there.")
    assert len(office.of_steps()) == 8
    office.calls.clear()
    assert run_plan(office.plan(), office.folder / "resumed", resume=True) == 0
    assert office.calls == ["rank_swap", "summary"]
    assert files(office.folder / "resumed") == undisturbed
    assert not office.entries()


def test_what_a_killed_run_was_writing_is_no_entry_and_goes_with_the_next_one(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    kill(office, "tests.job.store_tasks:die_while_writing", monkeypatch)
    assert not office.of_steps()
    assert list(office.store.glob(f"{claim.WRITING}*"))
    claim.remove_abandoned.cache_clear()
    done = office.carry_out(resume=True)
    assert done.keeper.continues == "Continuing before step 1 of 9; 2 results were kept."
    assert len(office.calls) == 10
    assert not list(office.store.glob(f"{claim.WRITING}*"))


def test_two_runs_at_once_come_to_the_same_and_do_not_hurt_each_other(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other one begins, and ends, in the middle of this one."""
    begin = partial(run_plan, office.plan(), office.folder / "other")
    remove, codes = place.make_room, []

    def meanwhile(*arguments: object, **options: object) -> None:
        remove(*arguments, **options)  # type: ignore[arg-type]
        if len(office.of_steps()) == 4 and not codes:
            codes.append(0)
            codes[0] = begin()

    monkeypatch.setattr(place, "make_room", meanwhile)
    assert run_plan(office.plan(), office.folder / "this") == 0
    assert codes == [0]
    assert files(office.folder / "this") == files(office.folder / "other")
    assert not office.entries()
