"""A privacy budget: what is left, what is refused, and a ledger that is not taken at its word when it is damaged."""

from __future__ import annotations

import copy
import os
import pickle
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import flou
from flou.engine import claim
from flou.engine.errors import BudgetError, ParameterError, PlanError, SecretError
from flou.protect.table import noisy_counts, privacy_ledger
from flou.protect.table.privacy_loss import Loss

NoisyCounts = flou.protect.NoisyCounts
SECRET = flou.Secret(bytes(range(32)))


def tables() -> flou.TableSet:
    return flou.tabulate_many(
        flou.datasets.census(50, rng=1), [["gender", "marital"], ["gender", "age@age10"]], cells="all"
    )


def test_releases_are_paid_for_until_nothing_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    budget = flou.PrivacyBudget(1.0, path=tmp_path / "budget.toml", secret=SECRET)
    for i in range(3):
        release = NoisyCounts(epsilon=0.3, budget=budget).protect(tables())
        assert release.steps[0].epsilon_left == pytest.approx(1 - 0.3 * (i + 1))
        assert not any("no budget" in str(note) for note in release.steps[0].notes)
    assert budget.left == (0.1, 0.0), "as the numbers are written, not as floats add up"
    drawn: list[int] = []
    monkeypatch.setattr(Loss, "draw", lambda *_: drawn.append(1))
    with pytest.raises(BudgetError, match=r"epsilon = 0\.1 and delta = 0 left of 1 .*epsilon = 0\.3 .*Ask for less"):
        NoisyCounts(epsilon=0.3, budget=budget).protect(tables())
    assert not drawn
    assert len(flou.PrivacyBudget.read(tmp_path / "budget.toml", secret=SECRET).ledger) == 3


def test_spending_is_written_before_anything_is_drawn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "budget.toml"
    budget = flou.PrivacyBudget(1.0, path=path, secret=SECRET)

    def stopped(self: Loss, table: flou.Table, place: int) -> Any:
        assert "epsilon = 0.25" in path.read_text(), "the ledger has it already"
        raise KeyboardInterrupt

    monkeypatch.setattr(Loss, "draw", stopped)
    with pytest.raises(KeyboardInterrupt):
        NoisyCounts(epsilon=0.25, budget=budget).protect(tables())
    assert budget.left == (0.75, 0.0)


def test_a_refused_table_costs_nothing(tmp_path: Path) -> None:
    budget = flou.PrivacyBudget(1.0, 1e-5)
    people = flou.datasets.census(50, rng=1)
    for method, data in (
        (NoisyCounts(epsilon=0.5, budget=budget), people.tabulate(["gender"])),
        (NoisyCounts(epsilon=0.5, budget=budget, shares={"x": 1.0}), tables()),
        (NoisyCounts(epsilon=1e-9, budget=budget), tables()),
        (NoisyCounts(epsilon=0.5, budget=budget, additive="repair"),
         people.tabulate(["age@age5|age@age10", "gender"], cells="all")),
    ):  # fmt: skip
        with pytest.raises(flou.FlouError):
            method.protect(data)
    assert budget.left == (1.0, 1e-5)


def test_delta_is_a_budget_too_and_shares_below_one_leave_some_over() -> None:
    budget = flou.PrivacyBudget(2.0)
    with pytest.raises(BudgetError, match="delta = 1e-06 were asked for"):
        NoisyCounts(epsilon=0.5, delta=1e-6, budget=budget).protect(tables())
    half = {"table 1": 0.25, "table 2": 0.25}
    NoisyCounts(epsilon=1.0, shares=half, budget=budget).protect(tables())
    assert budget.spent[0] == pytest.approx(0.5)
    gaussian = flou.PrivacyBudget(2.0, 1e-5)
    release = NoisyCounts(epsilon=1.0, delta=1e-6, shares=half, budget=gaussian).protect(tables())
    # half of rho is more than half of epsilon
    assert gaussian.spent[0] == release.steps[0].epsilon > 0.6
    assert gaussian.spent[1] == 1e-6


@given(st.lists(st.sampled_from([0.1, 0.2, 0.3, 0.05, 0.15]), min_size=1, max_size=25))
def test_spendings_add_up_as_they_are_written(spendings: list[float]) -> None:
    budget, spent = flou.PrivacyBudget(1.0), 0
    for epsilon in spendings:
        hundredths = round(100 * epsilon)
        if spent + hundredths <= 100:
            budget.spend(epsilon, 0.0, "")
            spent += hundredths
        else:
            with pytest.raises(BudgetError):
                budget.spend(epsilon, 0.0, "")
    assert budget.spent[0] == spent / 100


def test_many_at_once_never_spend_more_than_there_is(tmp_path: Path) -> None:
    path = tmp_path / "budget.toml"
    flou.PrivacyBudget(1.0, path=path, secret=SECRET)

    def one(_: int) -> bool:
        try:
            flou.PrivacyBudget.read(path, secret=SECRET).spend(0.1, 0.0, "")
        except BudgetError:
            return False
        return True

    with ThreadPoolExecutor(8) as pool:
        done = list(pool.map(one, range(16)))
    assert sum(done) == 10
    assert flou.PrivacyBudget.read(path, secret=SECRET).left == (0.0, 0.0)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["budget.toml", "budget.toml.head"]


def test_a_ledger_that_somebody_holds_is_waited_for_and_then_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    budget = flou.PrivacyBudget(1.0, path=tmp_path / "b.toml", secret=SECRET)
    lock = claim.take(tmp_path / "b.toml.lock")
    monkeypatch.setattr(privacy_ledger, "_PATIENCE", 0.1)
    with pytest.raises(BudgetError, match=r"remove 'b\.toml\.lock'"):
        budget.spend(0.1, 0.0, "")
    os.close(lock)  # its owner is dead: nobody need remove anything
    budget.spend(0.25, 0.0, "")
    assert budget.left == (0.75, 0.0)


def test_damaged_and_foreign_ledgers_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "budget.toml"
    budget = flou.PrivacyBudget(1.0, path=path, secret=SECRET)
    budget.spend(0.25, 0.0, "a")
    budget.spend(0.5, 0.0, "b")
    whole = path.read_text()
    last = whole.rindex("[[spent]]")
    begun = 'flou = 2\nkind = "privacy budget"\nepsilon = 1.0\n'
    for text in (
        whole[: whole.index("[[spent]]")],
        begun,
        whole[:last],
        whole.replace("0.5", "0.1"),
        whole.replace("epsilon = 1.0", "epsilon = 9.0"),
        whole.replace('what = "a"\n', ""),
        whole.replace('kind = "privacy budget"\n', ""),
        whole[: last + 20],
        "flou = 2\nkind = \"privacy budget\"\nepsilon = 'x'\n",
        'flou = 2\nkind = "privacy budget"\nepsilon = 1.0\nextra = 2\n',
        "flou = 2\n[[protect]]\nmethod = 'rounding'\nbase = 5\n",
        "",
        "\xff\xfe not toml",
    ):
        path.write_bytes(text.encode("latin-1"))
        for use in (lambda: flou.PrivacyBudget.read(path, secret=SECRET), lambda: budget.spend(0.01, 0.0, "")):
            with pytest.raises(BudgetError):
                use()
    path.write_text(whole)
    assert budget.left == (0.25, 0.0)
    with pytest.raises(BudgetError, match="decided once"):
        flou.PrivacyBudget(2.0, path=path, secret=SECRET)
    with pytest.raises(BudgetError, match=r"flou\.PrivacyBudget\(epsilon="):
        flou.PrivacyBudget.read(tmp_path / "none.toml", secret=SECRET)


def test_a_ledger_may_be_begun_by_hand(tmp_path: Path) -> None:
    path = tmp_path / "budget.toml"
    path.write_text('flou = 2\nkind = "privacy budget"\nepsilon = 1\n')
    flou.PrivacyBudget.read(path, secret=SECRET).spend(1.0, 0.0, "all of it")
    assert flou.PrivacyBudget(1.0, path=path, secret=SECRET).left == (0.0, 0.0)
    assert "epsilon = 0 and delta = 0 left" in repr(flou.PrivacyBudget.read(path, secret=SECRET))


@pytest.mark.parametrize(("epsilon", "delta"), [(0, 0), (-1, 0), (True, 0), ("1", 0), (1, 1), (1, -0.1), (np.inf, 0)])
def test_wrong_budgets_are_refused(epsilon: Any, delta: Any) -> None:
    with pytest.raises(ParameterError, match=r"(epsilon|delta) ="):
        flou.PrivacyBudget(epsilon, delta)


def test_a_plan_names_the_ledger_and_not_a_budget_in_memory(tmp_path: Path) -> None:
    flou.PrivacyBudget(1.0, path=tmp_path / "budget.toml", secret=SECRET)
    text = (
        'flou = 2\n\n[[tabulate]]\ndims = ["gender", "marital"]\ncells = "all"\n\n[[protect]]\n'
        'method = "noisy_counts"\nepsilon = 0.75\nbudget = "budget.toml"\n'
    )
    (tmp_path / "plan.toml").write_text(text)
    plan = flou.Plan.load(tmp_path / "plan.toml")
    assert flou.Plan.from_toml(plan.to_toml()) == plan
    people = flou.datasets.census(50, rng=1)
    release = plan.protect(people, secret=SECRET)
    assert release.steps[0].epsilon_left == 0.25, "found beside the plan, wherever Python runs"
    assert "budget.toml" not in repr(release)
    with pytest.raises(BudgetError):
        plan.protect(people, secret=SECRET)
    with pytest.raises(SecretError, match="needs a secret that lasts"):
        plan.protect(people)
    held = flou.PrivacyBudget(1.0)
    with pytest.raises(PlanError, match="Python alone"):
        flou.Plan([NoisyCounts(epsilon=1.0, budget=held)]).to_toml()
    filed = flou.PrivacyBudget.read(tmp_path / "budget.toml", secret=SECRET)
    assert str(tmp_path / "budget.toml") in flou.Plan([NoisyCounts(epsilon=1.0, budget=filed)]).to_toml()
    assert noisy_counts.NoisyCounts(epsilon=1.0, budget=held).fingerprint()


@pytest.fixture
def spent(tmp_path: Path) -> Path:
    """A ledger of which a half is spent."""
    path = tmp_path / "budget.toml"
    budget = flou.PrivacyBudget(1.0, path=path, secret=SECRET)
    budget.spend(0.25, 0.0, "a")
    budget.spend(0.25, 0.0, "b")
    return path


def left(path: Path, secret: flou.Secret = SECRET) -> float:
    return flou.PrivacyBudget.read(path, secret=secret).left[0]


def test_spending_through_a_link_is_spending_from_the_ledger(spent: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    link = tmp_path / "elsewhere" / "link.toml"
    link.symlink_to(spent)
    flou.PrivacyBudget.read(link, secret=SECRET).spend(0.5, 0.0, "c")
    assert left(spent) == left(link) == 0.0
    assert [p.name for p in link.parent.iterdir()] == ["link.toml"]


def test_another_name_for_the_file_or_a_copy_of_it_is_no_ledger(spent: Path, tmp_path: Path) -> None:
    os.link(spent, tmp_path / "hard.toml")
    with pytest.raises(BudgetError, match=r"'hard\.toml' is whole"):
        left(tmp_path / "hard.toml")


@pytest.mark.parametrize("keep", [0, 1])
def test_entries_that_are_taken_away_are_missed(spent: Path, keep: int) -> None:
    parts = spent.read_text().split("\n[[spent]]")
    spent.write_text("\n[[spent]]".join(parts[: 1 + keep]))
    with pytest.raises(BudgetError, match="some were taken away"):
        left(spent)


def test_a_ledger_that_is_begun_again_is_missed(spent: Path) -> None:
    spent.unlink()
    with pytest.raises(BudgetError, match="is gone, but its head"):
        flou.PrivacyBudget(1.0, path=spent, secret=SECRET)
    spent.write_text('flou = 2\nkind = "privacy budget"\nepsilon = 1.0\n')
    with pytest.raises(BudgetError, match="its lines are gone"):
        left(spent)


def test_a_ledger_without_its_head_or_under_another_secret_is_refused(spent: Path) -> None:
    with pytest.raises(BudgetError, match="under this secret"):
        left(spent, flou.Secret(bytes(range(1, 33))))
    spent.with_name("budget.toml.head").unlink()
    with pytest.raises(BudgetError, match="whole"):
        left(spent)


def test_entries_of_another_ledger_are_foreign(spent: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.toml"
    flou.PrivacyBudget(1.0, path=other, secret=SECRET)
    spent.write_text(other.read_text())
    with pytest.raises(BudgetError, match="some were taken away"):
        left(spent)


def test_a_process_that_died_before_the_head_was_written_has_spent(
    spent: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def die(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(privacy_ledger.Ledger, "_write_head", die)
    with pytest.raises(KeyboardInterrupt):
        flou.PrivacyBudget.read(spent, secret=SECRET).spend(0.25, 0.0, "c")
    monkeypatch.undo()
    assert left(spent) == 0.25
    flou.PrivacyBudget.read(spent, secret=SECRET).spend(0.25, 0.0, "d")
    assert left(spent) == 0.0


def test_a_copy_of_a_budget_is_the_budget() -> None:
    budget = flou.PrivacyBudget(1.0)
    for other in (copy.copy(budget), copy.deepcopy(budget)):
        other.spend(0.25, 0.0, "")
    assert budget.left == (0.5, 0.0)
    with pytest.raises(BudgetError, match="is not pickled"):
        pickle.dumps(budget)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="Windows has no fork")
def test_a_budget_in_memory_is_of_one_process() -> None:
    program = (
        "import flou, os\nbudget = flou.PrivacyBudget(1.0)\n"
        "if os.fork() == 0:\n"
        "    try: budget.spend(0.5, 0.0, '')\n"
        "    except flou.FlouError: os._exit(7)\n"
        "    os._exit(0)\n"
        "print(os.waitstatus_to_exitcode(os.wait()[1]))\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "7"


@pytest.mark.parametrize("secret", [None, flou.Secret.generate()])
def test_a_ledger_needs_a_secret_that_lasts(tmp_path: Path, secret: flou.Secret | None) -> None:
    with pytest.raises(ParameterError, match="secret that lasts"):
        flou.PrivacyBudget(1.0, path=tmp_path / "budget.toml", secret=secret)
