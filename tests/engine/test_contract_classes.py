"""The base classes: attacks, comparisons, guarantees, progress, registry, parameters."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import polars as pl
import pytest
from numpy.typing import NDArray
from pydantic import Field

import flou
from flou.engine import registry
from flou.engine.attack import GuessingAttack, wilson
from flou.engine.errors import GuaranteeBrokenError
from flou.engine.guarantee import Guarantee
from flou.engine.owners import Owners
from flou.engine.protection import Protection
from flou.engine.randomness import Draws
from flou.engine.release import Outcome
from flou.engine.result import Result
from flou.engine.utility import Utility


class GuessMode(GuessingAttack):
    """Guess that somebody has the commonest illness among the released records of the same age."""

    title: ClassVar[str] = "guess by mode"

    def _known(self, people: flou.Microdata) -> list[int]:
        return people.to_frame(reveal=True)["age"].to_list()

    def _guess(self, released: flou.Microdata, known: list[int], draw: Draws) -> list[str]:
        assert "pid" not in released.columns
        modes = released.to_frame().group_by("age").agg(pl.col("illness").mode().sort().first())
        by_age = dict(modes.iter_rows())
        return [by_age.get(age, "none") for age in known]

    def _baseline(self, released: flou.Microdata, known: list[int], draw: Draws) -> list[str]:
        overall = released.to_frame()["illness"].mode().sort()[0]
        return [overall] * len(known)

    def _hits(self, guesses: list[str], people: flou.Microdata, owners: Owners) -> NDArray[np.bool_]:
        truth = people.to_frame(reveal=True)["illness"].to_list()
        return np.array([g == t for g, t in zip(guesses, truth, strict=True)])


def _file(n: int, leak: bool, seed: int) -> flou.Microdata:
    rng = np.random.default_rng(seed)
    age = rng.integers(20, 60, n)
    # one illness an age is a leak that anybody in this file suffers from, and nobody outside it
    own = np.array(["flu", "none"])[np.random.default_rng(seed + 1).integers(0, 2, 40)][age - 20]
    illness = own if leak else rng.choice(["flu", "none"], n)
    return flou.Microdata(pl.DataFrame({"pid": range(n), "age": age, "illness": illness}), id="pid", keys=["age"])


def test_a_planted_leak_is_found_and_a_safe_release_shows_no_lift() -> None:
    secret = flou.Secret(bytes(32))
    leaking = _file(2000, True, 1)
    found = GuessMode().run(
        flou.Plan().protect(leaking, secret=secret), truth=leaking, control=_file(2000, False, 9), secret=secret
    )
    assert found.rate == 1.0
    assert all(GuessMode.safe_direction(name) for name in ("value", *found.figures))
    assert found.lift_over == "control"
    assert found.lift > 0.9
    people = _file(4000, False, 2)
    half = flou.Microdata(people.to_frame()[:2000], id="pid", keys=["age"])
    other = flou.Microdata(people.to_frame()[2000:], id="pid", keys=["age"])
    safe = GuessMode().run(flou.Plan().protect(half, secret=secret), truth=half, control=other, secret=secret)
    assert safe.lift < 0.15
    assert found.interval is not None


def test_attack_without_control_says_so_and_needs_the_truth() -> None:
    people = _file(100, True, 1)
    release = flou.Plan().protect(people, secret=1)
    result = GuessMode().run(release, truth=people, secret=1)
    assert result.lift_over == "baseline"
    assert result.test_only
    with pytest.raises(flou.FlouError, match="truth"):
        GuessMode().run(release)


class GuessYes(GuessingAttack):
    """Guess of everybody that the answer is the one released for the same age, or that it is yes."""

    def _known(self, people: flou.Microdata) -> list[int]:
        return people.to_frame(reveal=True)["age"].to_list()

    def _guess(self, public: flou.Microdata, known: list[int], draw: Draws) -> list[str]:
        told = dict(public.to_frame().select("age", "answer").rows())
        return [told.get(age, "yes") for age in known]

    def _baseline(self, public: flou.Microdata, known: list[int], draw: Draws) -> list[str]:
        return ["yes"] * len(known)

    def _hits(self, guesses: list[str], people: flou.Microdata, owners: Owners) -> NDArray[np.bool_]:
        return np.array(guesses) == people.to_frame(reveal=True)["answer"].to_numpy()


def _answers(ages: range, n_yes: int) -> flou.Microdata:
    answers = ["yes"] * n_yes + ["no"] * (len(ages) - n_yes)
    return flou.Microdata(pl.DataFrame({"age": ages, "answer": answers}), keys=["age"])


def test_an_attack_that_guesses_has_a_rate_with_its_interval_and_a_lift() -> None:
    release = flou.Plan().protect(_answers(range(20, 40), 5), secret=1)
    people, absent = _answers(range(20, 40), 9), _answers(range(60, 70), 6)
    alone = GuessYes().run(release, truth=people)
    assert (alone.value, alone.n_successes, alone.n_attempts, alone.baseline) == (0.8, 16, 20, 0.45)
    assert alone.interval == wilson(16, 20)
    assert (alone.lift_over, alone.lift) == ("baseline", pytest.approx((0.8 - 0.45) / 0.55))
    beside = GuessYes().run(release, truth=people, control=absent)
    assert (beside.value, beside.control) == (0.8, 0.6)
    assert (beside.lift_over, beside.lift) == ("control", pytest.approx((0.8 - 0.6) / 0.4))


@pytest.mark.parametrize(
    ("successes", "attempts", "low", "high"),
    # Newcombe (1998), Statistics in Medicine 17, table I, method 3
    [(81, 263, 0.2553, 0.3662), (15, 148, 0.0624, 0.1605), (0, 20, 0.0, 0.1611), (1, 29, 0.0061, 0.1718)],
)
def test_wilson_interval(successes: int, attempts: int, low: float, high: float) -> None:
    interval = wilson(successes, attempts)
    assert round(interval.low, 4) == low
    assert round(interval.high, 4) == high


class CountLost(Utility):
    """How many records are gone."""

    def _compare(self, original: flou.Microdata, released: flou.Microdata, owners: Owners) -> Result:
        lost = original.n_records - released.n_records
        return Result(
            method="count_lost", title="lost", settings={}, headline=self.headline.with_value(lost / original.n_records),
            measured_on="release", test_only=released.marks.test_only,
        )  # fmt: skip


def test_utility_sees_the_release_as_published() -> None:
    people = _file(50, False, 3)
    release = flou.protect.DropRecords(flou.risk.KAnonymity(k=2)).protect(people, secret=1)
    result = CountLost().compare(people, release)
    assert result.value == (50 - release.data.n_records) / 50 > 0
    assert result.test_only


class NothingLeft(Guarantee):
    """A promise that no file keeps."""

    text = "nothing is left"

    def violations(self, data: flou.Microdata) -> int:
        return data.n_records


class Broken(Protection):
    """A protection whose promise does not hold."""

    reference: ClassVar[str] = "none"

    def _protect(self, data: flou.Microdata, draw: Draws) -> Outcome:
        return Outcome(data, guarantees=(NothingLeft(),))


def test_a_broken_promise_raises() -> None:
    with pytest.raises(GuaranteeBrokenError, match="nothing is left"):
        Broken().protect(_file(5, False, 1), secret=1)


def test_a_later_step_that_breaks_a_promise_raises() -> None:
    """Dropping on fine keys after k was promised on the whole file would leave classes smaller than promised."""
    frame = pl.DataFrame({"a": ["x"] * 4 + ["y"], "b": [1, 1, 1, 2, 1]})
    people = flou.Microdata(frame, keys=["a"])

    class DropTwos(Protection):
        """Drop rows behind the back of an earlier promise."""

        def _protect(self, data: flou.Microdata, draw: Draws) -> Outcome:
            import narwhals as nw

            return Outcome(data.with_frame(data.frame.filter(nw.col("b") == 2)))

    promise = flou.protect.DropRecords(flou.risk.KAnonymity(k=1))
    keep_two = flou.protect.DropRecords(flou.risk.KAnonymity(k=2))
    assert flou.Plan([promise, keep_two]).protect(people, secret=1).data.n_records == 4
    with pytest.raises((GuaranteeBrokenError, flou.FlouError), match="larger than the file"):
        flou.Plan([keep_two, DropTwos()]).protect(people, secret=1)


def test_progress_is_told_and_can_cancel() -> None:
    people = flou.datasets.apa(500)
    plan = flou.Plan([flou.protect.Recode("age", level=1), flou.protect.DropRecords(flou.risk.KAnonymity(k=2))])
    said: list[tuple[str, int, int]] = []
    plan.protect(people, secret=1, progress=lambda *args: said.append(args))
    assert [s[0] for s in said][:2] == ["protect: recode", "protect: drop_records"]
    assert all(0 <= done <= total for _, done, total in said)

    def cancel(stage: str, done: int, total: int) -> None:
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        plan.protect(people, secret=1, progress=cancel)


def test_registry_names_and_suggestions() -> None:
    assert registry.method_name("KAnonymity") == "k_anonymity"
    assert registry.method_name("TopCode") == "top_code"
    assert registry.method_name("PPercent") == "p_percent"
    assert registry.find("measure", "k_anonymity") is flou.risk.KAnonymity
    with pytest.raises(flou.FlouError, match="k_anonymity"):
        registry.find("measure", "k_anonimity")
    with pytest.raises(flou.FlouError, match="measure"):
        registry.find("protect", "k_anonymity")


def test_third_parties_add_methods_by_entry_point(monkeypatch: pytest.MonkeyPatch) -> None:
    from importlib.metadata import EntryPoint

    def points(group: str) -> list[EntryPoint]:
        assert group == "flou.methods"
        return [EntryPoint("protect.Broken", f"{__name__}:Broken", group)]

    registry._listed.cache_clear()
    monkeypatch.setattr(registry, "entry_points", points)
    monkeypatch.setitem(__import__("sys").modules, __name__, __import__("sys").modules.get(__name__) or _this())
    try:
        assert "broken" in registry.names("protect")
        assert registry.find("protect", "broken").__name__ == "Broken"
    finally:
        registry._listed.cache_clear()


def _this() -> Any:
    import types

    module = types.ModuleType(__name__)
    module.Broken = Broken  # type: ignore[attr-defined]
    return module


class WithSecret(Protection):
    """A protection with a parameter that nobody should see."""

    rate: float = Field(0.5, description="swap rate", json_schema_extra={"secret": True})


def test_secret_parameters_are_masked() -> None:
    method = WithSecret(rate=0.123)
    assert "0.123" not in repr(method)
    assert method.shown_settings() == {"rate": "hidden"}


def test_one_positional_argument_at_most() -> None:
    assert flou.risk.KAnonymity(3).k == 3
    with pytest.raises(flou.FlouError, match="positional"):
        flou.risk.KAnonymity(3, "orthodox")
    with pytest.raises(flou.FlouError, match="twice"):
        flou.risk.KAnonymity(3, k=3)


def test_verbs_refuse_bare_frames_and_foreign_arguments() -> None:
    with pytest.raises(flou.FlouError, match="Microdata"):
        flou.risk.KAnonymity(k=2).measure(pl.DataFrame({"a": [1]}))
    with pytest.raises(flou.FlouError, match="Microdata"):
        flou.Plan().protect(pl.DataFrame({"a": [1]}))
    with pytest.raises(flou.FlouError, match="against"):
        flou.risk.KAnonymity(k=2).measure(flou.datasets.saoud_fm1(), against=flou.datasets.saoud_fm1())
