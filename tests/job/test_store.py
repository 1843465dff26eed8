"""A run that was stopped goes on: the same files, and no step is carried out again."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.job.office import CELL_KEY, ONE_TABLE, SAMPLE, STEPS, TABLES, Office, open_office

from flou.engine.errors import FlouError, GuaranteeBrokenError


def public(files: dict[str, bytes]) -> dict[str, bytes]:
    return {name: held for name, held in files.items() if name.startswith("public/")}


@pytest.fixture
def office(tmp_path: Path) -> Iterator[Office]:
    with open_office(tmp_path) as opened:
        yield opened


@pytest.mark.parametrize("engine", ["memory", "polars"])
def test_a_run_that_stopped_in_its_ninth_step_goes_on_with_it(office: Office, engine: str) -> None:
    office.engine = engine
    expected = office.undisturbed()
    office.stop("rank_swap")
    assert len(office.of_steps()) == 8
    files, said = office.resumed()
    assert office.calls == ["rank_swap", "summary"]
    assert said == "Continuing after step 8 of 9 (drop_records); 2 results were kept."
    assert files == expected


def test_rows_in_duckdb_go_on_in_duckdb(office: Office) -> None:
    expected = office.undisturbed()
    office.engine = "duckdb"
    office.stop("rank_swap")
    files, done = office.run(resume=True)
    assert office.calls == ["rank_swap", "summary"]
    assert done.release.data.native_kind == "duckdb"
    assert public(files) == public(expected)


def test_a_run_that_stopped_behind_a_sample_proves_earlier_steps_on_its_frame(office: Office) -> None:
    office.steps = (*STEPS[:2], STEPS[7], *SAMPLE)
    expected = office.undisturbed()
    office.stop("calibrate_weights")
    files, _ = office.resumed()
    assert office.calls == ["calibrate_weights", "summary"]
    assert files == expected
    assert b"checked on the file that the sample was drawn from" in files["internal/manifest.json"]


@pytest.mark.parametrize("engine", ["memory", "duckdb"])
@pytest.mark.parametrize("tables", [TABLES, ONE_TABLE], ids=["set", "one"])
def test_a_run_that_stopped_after_its_tables_were_protected_goes_on_with_them(
    office: Office, engine: str, tables: str
) -> None:
    office.steps, office.more, office.engine = (*STEPS[:3], CELL_KEY), tables, engine
    expected = office.undisturbed()
    office.stop("within_distance")
    files, said = office.resumed()
    assert office.calls == ["within_distance"]
    assert said.startswith("Continuing after step 4 of 4 (cell_key); ")
    assert files == expected


def test_a_run_that_stopped_before_its_tables_makes_them(office: Office) -> None:
    office.steps, office.more = (*STEPS[:3], CELL_KEY), TABLES
    expected = office.undisturbed()
    office.stop("cell_key")
    files, said = office.resumed()
    assert office.calls == ["cell_key", "count_inference", "count_inference", "within_distance"]
    assert said.startswith("Continuing after step 3 of 4 (top_code)")
    assert files == expected


def test_results_go_with_the_data_that_they_were_measured_on(office: Office) -> None:
    """A step that is carried out again may draw otherwise: what was measured before says nothing of what it gives."""
    office.steps, office.more = (*STEPS[:3], CELL_KEY), TABLES
    office.stop("within_distance")
    shutil.rmtree(max(office.of_steps(), key=lambda path: path.stat().st_mtime_ns))
    office.resumed()
    assert office.calls == ["cell_key", "count_inference", "count_inference", "within_distance"]


def test_tables_of_records_that_no_step_changed_go_on(office: Office) -> None:
    office.steps, office.more = (CELL_KEY,), TABLES
    expected = office.undisturbed()
    office.stop("within_distance")
    files, _ = office.resumed()
    assert office.calls == ["within_distance"]
    assert files == expected


def test_a_release_that_follows_another_goes_on_with_its_parameters(office: Office) -> None:
    office.undisturbed()
    office.release += f'since = "{office.folder / "out.1"}"\n'
    expected = office.undisturbed()
    office.stop("rank_swap")
    files, _ = office.resumed()
    assert office.calls == ["rank_swap", "summary"]
    assert files == expected


def test_a_step_that_failed_leaves_what_was_before_it(office: Office) -> None:
    office.steps = (*STEPS[:8], 'method = "rank_swap"\ncolumns = ["lost"]')
    with pytest.raises(FlouError, match="lost"):
        office.carry_out()
    office.steps = STEPS
    _, said = office.resumed()
    assert said.startswith("Continuing after step 8 of 9")
    assert office.calls == ["rank_swap", "summary"]


def test_a_promise_that_a_step_undoes_is_blamed_on_that_step_again(office: Office) -> None:
    office.steps = (STEPS[7], STEPS[2], 'method = "pram"\ncolumn = "sex"\nstay = 0.55', STEPS[3])
    said = []
    for resume in (False, True):
        with pytest.raises(GuaranteeBrokenError, match=r"Step 3 \(pram\) undoes what step 1") as broken:
            office.carry_out(resume=resume)
        said.append(str(broken.value))
    assert said[0] == said[1]
    assert not office.calls


def test_all_promises_are_proven_again_on_the_final_file(office: Office) -> None:
    office.stop("rank_swap")
    _, done = office.run(resume=True)
    assert len(done.release.guarantees) == len(office.run(keep=False)[1].release.guarantees) > 5
    spoilt = done.original.marked(released=True).with_kin(original=done.release.data.kin.original)
    broken = [proof.guarantee.count_violations(spoilt) for proof in done.release.guarantees]
    assert sum(n > 0 for n in broken) > 5


def test_a_run_that_does_not_resume_begins_anew(office: Office) -> None:
    office.stop("rank_swap")
    before = {path.name: (path / "seal").read_text() for path in office.of_steps()}
    office.stop("rank_swap")
    assert len(office.calls) == 9
    after = {path.name: (path / "seal").read_text() for path in office.of_steps()}
    assert before.keys() == after.keys()
    assert not set(before.values()) & set(after.values())


def test_a_finished_run_goes_on_as_well(office: Office) -> None:
    expected, _ = office.run()
    files, said = office.resumed()
    assert said == "Continuing after step 9 of 9 (rank_swap); 5 results were kept."
    assert not office.calls
    assert files == expected
