"""What travels with data: marks, promises, and whose row is whose. None of it can be lost on the way."""

from __future__ import annotations

import datetime as dt
import pickle
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import polars as pl
import pytest
from numpy.typing import NDArray
from pydantic import Field
from tests.contracts.cases import native

import flou
from flou.engine.attack import GuessingAttack
from flou.engine.errors import GuaranteeBrokenError
from flou.engine.native.polars import compact
from flou.engine.owners import Owners
from flou.engine.protection import Protection
from flou.engine.randomness import Draws
from flou.engine.release import Change, Outcome

SECRET = flou.Secret(bytes(range(32)))
K = flou.risk.KAnonymity
ROLES: dict[str, Any] = {"id": "pid", "identifiers": ["name"], "keys": ["age"]}
FRAME = pl.DataFrame({"pid": [5, 4, 3, 2, 1], "name": list("abcde"), "age": [70, 60, 70, 60, 70], "x": [1, 2, 3, 4, 5]})


def _people() -> flou.Microdata:
    return flou.Microdata(FRAME, **ROLES)


@pytest.mark.parametrize("lazy", [False, True])
def test_joined_on_a_release_shows_only_what_would_be_published(lazy: bool) -> None:
    people = flou.Microdata(FRAME.lazy() if lazy else FRAME, **ROLES)
    joined = K(k=2).measure(flou.Plan().protect(people, secret=SECRET)).joined()
    joined = joined.collect() if lazy else joined
    assert joined.columns == ["age", "x", "k_anonymity"]


def test_units_of_a_release_line_up_with_its_frame() -> None:
    release = flou.Plan().protect(_people(), secret=SECRET)
    result = K(k=3).measure(release)
    frame = release.to_frame()
    assert frame["age"].to_list() == [60, 60, 70, 70, 70]
    assert result.units.tolist() == [2, 2, 3, 3, 3]
    assert result.joined(reveal=True).columns[:2] == ["pid", "name"]
    original = K(k=3).measure(_people())
    assert original.units.tolist() == [3, 2, 3, 2, 3]


def test_promises_travel_with_the_data_of_a_release() -> None:
    people = flou.Microdata(pl.DataFrame({"x": [50, 100, 150], "y": [1, 2, 3]}), keys=["y"])
    first = flou.protect.TopCode("x", at=100).protect(people, secret=SECRET)
    again = flou.Plan().protect(first.data, secret=SECRET)
    assert len(again.guarantees) == 1
    assert [s.number for s in again.steps] == [1]
    with pytest.raises(GuaranteeBrokenError):
        flou.protect.Recode("x", mapping={50: 50, 100: 1000}).protect(first.data, secret=SECRET)


def test_released_data_that_lost_their_promises_are_refused() -> None:
    release = flou.protect.TopCode("x", at=3).protect(_people(), secret=SECRET)
    copied = pickle.loads(pickle.dumps(release.data))
    with pytest.raises(flou.FlouError, match="start again from the original"):
        flou.Plan().protect(copied, secret=SECRET)


class Washing(Protection):
    """A protection that makes its output anew and so forgets every mark."""

    def _protect(self, data: flou.Microdata, draw: Draws) -> Outcome:
        return Outcome(flou.Microdata(data.to_frame(reveal=True), data.schema))


def test_a_method_cannot_wash_marks_off() -> None:
    first = flou.Plan().protect(_people(), secret=7)
    release = Washing().protect(first, secret=SECRET)
    assert release.test_only
    assert release.data.released
    assert release.to_frame().columns == ["age", "x"]


def test_the_worst_secret_counts() -> None:
    first = flou.Plan().protect(_people(), secret=None)
    assert flou.Plan().protect(first, secret=SECRET).secret_origin == "entropy"


class Noise(Protection):
    """A protection that draws: as an example of one."""

    size: float = Field(1.0, description="size", json_schema_extra={"secret": True})

    def _protect(self, data: flou.Microdata, draw: Draws) -> Outcome:
        import narwhals as nw

        ids = data.unit_ids()
        shifted = data.frame.to_polars().with_columns(pl.col("x") + self.size * draw.uniform(ids))
        return Outcome(data.with_frame(nw.from_native(shifted, eager_only=True)), changes=(Change("x", len(ids)),))


def test_two_noises_of_different_size_are_independent() -> None:
    """x + z and x + 2z with the same z would give x away."""
    people = flou.Microdata(pl.DataFrame({"pid": range(2000), "x": [0.0] * 2000}), id="pid")
    one, two = (
        Noise(size=s).protect(people, secret=SECRET).to_frame(reveal=True)["x"].to_numpy() / s for s in (1.0, 2.0)
    )
    assert abs(np.corrcoef(one, two)[0, 1]) < 0.1
    assert Noise().protect(people, secret=SECRET).random
    assert not flou.protect.TopCode("x", at=1).protect(people, secret=SECRET).random


def test_secret_parameters_are_masked_wherever_a_plan_is_shown() -> None:
    plan = flou.Plan([Noise(size=0.123)])
    assert "0.123" in plan.to_toml()
    assert "0.123" not in plan.to_public_toml()
    with pytest.raises(flou.FlouError) as caught:
        Noise(size="0.777")
    assert "0.777" not in str(caught.value)


class ExactLinkage(GuessingAttack):
    """Link each person to the published row with the same x: an example that needs to know whose row is whose."""

    title: ClassVar[str] = "exact linkage"

    def _known(self, people: flou.Microdata) -> list[int]:
        return people.to_frame(reveal=True)["x"].to_list()

    def _guess(self, released: flou.Microdata, known: list[int], draw: Draws) -> list[int]:
        shown = released.to_frame()["x"].to_list()
        return [shown.index(x) if x in shown else -1 for x in known]

    def _baseline(self, released: flou.Microdata, known: list[int], draw: Draws) -> list[int]:
        return [0] * len(known)

    def _hits(self, guesses: list[int], people: flou.Microdata, owners: Owners) -> NDArray[np.bool_]:
        mine = people.owners()
        return np.array([g >= 0 and owners.ids[g] == own for g, own in zip(guesses, mine, strict=True)])


@pytest.mark.parametrize("roles", [ROLES, {"keys": ["age"]}], ids=["with id", "without id"])
def test_a_linkage_can_be_scored(roles: dict[str, Any]) -> None:
    people = flou.Microdata(FRAME, **roles)
    release = flou.protect.Recode("age", mapping={60: "old", 70: "old"}).protect(people, secret=SECRET)
    result = ExactLinkage().run(release, truth=people, secret=SECRET)
    assert result.rate == 1.0
    assert result.baseline == 0.2
    coded = flou.protect.TopCode("x", at=2).protect(release, secret=SECRET)
    assert ExactLinkage().run(coded, truth=people, secret=SECRET).rate == 0.2
    assert not [c for c in release.to_frame(reveal=True).columns if c.startswith("__flou")]
    strangers = flou.Microdata(FRAME.with_columns(pid=pl.col("pid") + 100), **roles)
    assert ExactLinkage().run(release, truth=people, control=strangers, secret=SECRET).control == 0.0


def test_the_published_demonstration_key_is_known_wherever_it_comes_from(monkeypatch: pytest.MonkeyPatch) -> None:
    from flou.job.example import example_plan

    text = (example_plan("apa").parent / "demonstration.secret").read_text().strip().removeprefix("demonstration:")
    monkeypatch.setenv("FLOU_SECRET", text)
    assert flou.Secret.from_environment().origin == "demonstration"
    with pytest.raises(flou.FlouError, match="protects nobody"):
        flou.Plan().protect(_people(), secret=flou.Secret.from_environment())


def test_frames_that_leave_cannot_change_what_stays() -> None:
    people = flou.Microdata(pl.DataFrame({"a": [1, 2]}))
    frame = people.to_frame()
    frame[0, "a"] = 99
    assert people.to_frame()["a"].to_list() == [1, 2]
    import pandas as pd

    source = pd.DataFrame({"a": [1, 2]})
    held = flou.Microdata(source)
    source.loc[0, "a"] = 99
    assert held.to_frame()["a"].tolist() == [1, 2]


# values after a protection


def test_codes_that_mean_not_applicable_are_matched_by_their_text() -> None:
    frame = pl.DataFrame({"age": [60, 61, 99, 98, 999, 999]})
    people = flou.Microdata(frame, keys=["age"], not_applicable={"age": ["999"]})
    coded = flou.protect.TopCode("age", at=95).protect(people, secret=SECRET)
    assert coded.to_frame(reveal=True)["age"].to_list() == [60, 61, 95, 95, 999, 999]
    assert people.describe().columns[0].n_not_applicable == 2
    with pytest.raises(flou.FlouError, match="not applicable"):
        flou.protect.TopCode("age", at=95, replacement=999).protect(people, secret=SECRET)


def test_a_code_that_was_recoded_is_no_code_any_more() -> None:
    frame = pl.DataFrame({"a": ["a", "b", "NA", "a", None]})
    people = flou.Microdata(frame, keys=["a"], not_applicable={"a": ["NA"]}, modalities={"a": ["a", "b"]})
    release = flou.protect.Recode("a", mapping={"a": "x", "b": "x", "NA": "x"}).protect(people, secret=SECRET)
    assert release.data.declared_modalities == {"a": ("x",)}
    assert K(k=2, missing="pessimistic").measure(release).units.tolist() == [5] * 5


def test_coherence_rules_outlive_top_coding() -> None:
    frame = pl.DataFrame({"age": [5, 6, 91, 95, None], "m": ["no", "no", "yes", "yes", "yes"]})
    people = flou.Microdata(frame, keys=["age", "m"], incoherent=[{"age": 5, "m": "yes"}, {"age": 6, "m": "yes"}])
    release = flou.protect.TopCode("age", at=90).protect(people, secret=SECRET)
    assert release.data.schema.incoherent == ({"m": "yes", "age": 5}, {"m": "yes", "age": 6})
    assert K(k=2, missing="pessimistic").measure(release).units.tolist() == [1, 1, 3, 3, 3]


def test_dates_are_recoded_to_dates() -> None:
    day = dt.date(2020, 1, 1)
    people = flou.Microdata(pl.DataFrame({"d": [day, dt.date(2020, 1, 2), None]}), keys=["d"])
    method = flou.protect.Recode("d", mapping={day: day, dt.date(2020, 1, 2): day})
    assert method.protect(people, secret=SECRET).to_frame(reveal=True)["d"].to_list() == [day, day, None]
    assert flou.Plan.from_toml(flou.Plan([method]).to_toml()) == flou.Plan([method])


@pytest.mark.parametrize(("values", "bound"), [([1.2] * 5, 1.2), ([0.3] * 5, 0.3), ([3, 4], 3), ([-1234] * 3, -1300)])
def test_round_quantiles_stay_where_they_are(values: list[float], bound: float) -> None:
    people = flou.Microdata(pl.DataFrame({"x": values}))
    assert flou.protect.TopCode("x", quantile=0.5).protect(people, secret=SECRET).steps[0].bound == bound


def test_bands_of_fractions_hold_their_lower_bound() -> None:
    found = flou.Hierarchy.bands(0.1).generalise([0.3, 0.6, 0.7, 1.25], 1)
    assert list(found.values()) == ["[0.3, 0.4)", "[0.6, 0.7)", "[0.7, 0.8)", "[1.2, 1.3)"]


def test_wholly_undetermined_records_count_in_their_own_stratum() -> None:
    frame = pl.DataFrame({"a": ["x"] * 5 + [None] * 5, "s": ["1"] * 5 + ["2"] * 5})
    people = flou.Microdata(frame, keys=["a"])
    assert "5 further" in str(K(k=6).measure(people).notes[0])
    assert "0 further" in str(K(k=3, by=["s"]).measure(people).notes[0])


def test_strata_are_columns_that_people_see() -> None:
    with pytest.raises(flou.FlouError, match="never published"):
        K(k=1, by=["pid"]).measure(_people())
    with pytest.raises(flou.FlouError, match="twice"):
        K(k=1, by=["age", "age"])


# what is dropped is gone


RARE = "RARE-UNIQUE-DROPPED-TOWN"


@pytest.mark.parametrize("engine", ["polars", "polars-lazy", "pandas", "pyarrow", "duckdb"])
def test_texts_of_dropped_records_are_in_no_file_and_no_pickle(tmp_path: Path, engine: str) -> None:
    """Polars shares text buffers between a frame and what was filtered out of it."""
    frame = pl.DataFrame({"town": [f"LONG-TOWN-NAME-{i % 50:05d}" for i in range(300)] + [RARE]})
    people = flou.Microdata(native(frame, engine), keys=["town"])
    release = flou.protect.DropRecords(K(k=3)).protect(people, secret=SECRET)
    for kind in ("arrow", "parquet", "csv"):
        assert RARE.encode() not in flou.write(release, tmp_path / f"x.{kind}").read_bytes()
    if engine in ("polars-lazy", "duckdb"):
        release = flou.Plan().protect(release.data.collect(), secret=SECRET)
    assert RARE.encode() not in pickle.dumps(release.data)
    assert RARE.encode() not in pickle.dumps(K(k=3).measure(release))
    if engine != "pyarrow":
        assert RARE.encode() not in pickle.dumps(release.to_frame())


def test_a_release_is_not_pickled() -> None:
    with pytest.raises(flou.FlouError, match=r"\.data"):
        pickle.dumps(flou.Plan().protect(_people(), secret=SECRET))


def test_later_changes_to_the_callers_frame_change_nothing() -> None:
    frame = pl.DataFrame({"a": [1, 2]})
    people = flou.Microdata(frame, keys=["a"])
    frame.insert_column(1, pl.Series("name", ["x", "y"]))
    assert people.columns == ("a",)


def test_codes_of_every_type() -> None:
    day, moment = dt.date(9999, 12, 31), dt.datetime(9999, 12, 31)
    frame = pl.DataFrame({"d": [day, None, dt.date(2020, 1, 1)], "t": [moment] * 3, "b": [True, False, True]})
    codes = {"d": ["9999-12-31"], "t": [day], "b": ["true"]}
    held = flou.Microdata(frame, keys=["d"], undetermined=codes).to_frame()
    assert [held[c].null_count() for c in held.columns] == [2, 3, 2]


def test_nothing_lies_beneath_a_null() -> None:
    """Polars keeps the former number beneath a null, as the first line shows; what leaves must not."""
    number = 0x1122334455667788
    held = number.to_bytes(8, "little")
    frame = pl.DataFrame({"x": [1, number, 3], "d": [dt.date(2020, 1, 1), None, None], "b": [True, None, False]})
    blanked = frame.with_columns(pl.when(pl.col("x") < 9).then(pl.col("x")).alias("x"))
    assert held in pickle.dumps(blanked)
    clean = compact(blanked)
    assert held not in pickle.dumps(clean)
    assert clean.equals(blanked)
    assert clean.schema == blanked.schema


def test_a_plan_with_a_title_in_two_languages_fits_the_json_schema() -> None:
    import tomllib

    import jsonschema

    from flou.engine.plan_schema import plan_schema

    plan = flou.Plan(title={"en": "Survey", "fr": "Enquête"})
    assert flou.Plan.from_toml(plan.to_toml()) == plan
    jsonschema.validate(tomllib.loads(plan.to_toml()), plan_schema())
