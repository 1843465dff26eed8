"""CalibrateWeights on files: whose totals it takes, what it refuses and by what name, what it promises."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from tests.contracts.cases import SPARK, native, people, rows

import flou
from flou.engine.errors import DataError, GuaranteeBrokenError, Infeasible, ParameterError
from flou.protect.micro.calibration.calibrate import round_weights

SECRET = flou.Secret(bytes(range(32)))
Calibrate = flou.protect.CalibrateWeights


def small(n: int = 40) -> pl.DataFrame:
    rng = np.random.default_rng(1)
    return pl.DataFrame(
        {
            "pid": range(n),
            "sex": ["F", "M"] * (n // 2),
            "zone": rng.choice(["N", "S"], n),
            "gir": rng.integers(1, 4, n),
            "amount": np.round(rng.uniform(10, 90, n), 1),
        }
    )


def data(frame: pl.DataFrame | None = None, **roles: Any) -> flou.Microdata:
    return flou.Microdata(small() if frame is None else frame, id="pid", **roles)


def weighted(release: flou.Release, column: str, weight: str = "weight") -> dict[object, float]:
    out = release.data.to_frame(reveal=True)
    return dict(out.group_by(column).agg(pl.col(weight).sum()).iter_rows())


@pytest.mark.parametrize("distance", ["linear", "raking", "logit"])
def test_totals_are_met(distance: Any) -> None:
    bounds = (0.2, 4.0) if distance == "logit" else None
    method = Calibrate(
        {"sex": {"F": 60, "M": 60}, "gir": {1: 30, 2: 50.0, 3: 40}},
        totals={"amount": 6_100},
        distance=distance,
        bounds=bounds,
    )
    release = method.protect(data(), secret=SECRET, period="2026")
    assert release.data.schema.weight == "weight"
    assert release.data.schema.roles("weight") == ("weight",)
    assert weighted(release, "sex") == pytest.approx({"F": 60, "M": 60}, rel=1e-7)
    assert weighted(release, "gir") == pytest.approx({1: 30, 2: 50, 3: 40}, rel=1e-7)
    out = release.data.to_frame(reveal=True)
    assert (out["weight"] * out["amount"]).sum() == pytest.approx(6_100, rel=1e-7)
    figures = dict(release.steps[0].figures)
    ratios = out["weight"].to_numpy() / 3.0  # 120 people behind 40 records
    assert figures["smallest_ratio"] == pytest.approx(ratios.min(), rel=1e-5)
    assert figures["largest_ratio"] == pytest.approx(ratios.max(), rel=1e-5)
    assert figures["ratio_cv"] == pytest.approx(ratios.std() / ratios.mean(), rel=1e-5)
    assert figures["design_effect"] == pytest.approx(1 + (ratios.std() / ratios.mean()) ** 2, rel=1e-5)
    assert figures["n_totals"] == 6
    if bounds:
        assert bounds[0] <= ratios.min() <= ratios.max() <= bounds[1]


def test_the_schemas_weight_is_the_design_weight() -> None:
    frame = small().with_columns(w=pl.Series([1, 3] * 20))
    release = Calibrate({"sex": {"F": 30, "M": 60}}).protect(
        data(frame, weight="w", types={"w": "integer"}), secret=1, period="2026"
    )
    out = release.data.to_frame(reveal=True)
    assert out["w"].to_list() == [1.5, 3.0] * 20  # 20 and 60 people before
    assert out.columns == frame.columns
    assert release.data.schema.types["w"] == "number"
    assert release.steps[0].changes[0].n_changed == 20
    assert release.steps[0].smallest_ratio == 1.0


def test_weights_have_the_digits_asked_for() -> None:
    weights = np.array([1234.56789, 0.000123456789, 9.99996, 1.0, 123456789.0])
    assert round_weights(weights, 5).tolist() == [1234.6, 0.00012346, 10.0, 1.0, 123460000.0]
    out = Calibrate({"sex": {"F": 100, "M": 1}, "gir": {1: 31, 2: 37, 3: 33}}, digits=5).protect(
        data(), secret=1, period="2026"
    )
    found = out.data.to_frame()["weight"].to_list()
    assert all(len(f"{w:.15g}".replace(".", "").lstrip("0").rstrip("0")) <= 5 for w in found)


# totals of the frame


@pytest.mark.parametrize("engine", ["polars", "pandas", "pyarrow", "polars-lazy", "duckdb", SPARK])
def test_totals_come_from_the_frame(engine: str) -> None:
    plan = flou.Plan(
        [
            flou.protect.Sample(share=0.5),
            Calibrate(frame=["sex", "illness"], frame_totals=["income"], distance="logit", bounds=[0.2, 5.0]),
        ]
    )
    whole = people()
    release, expected = (plan.protect(d, secret=SECRET, period="2026") for d in (people(engine), whole))
    assert dict(release.steps[1].figures) == dict(expected.steps[1].figures)
    out = expected.data.to_frame(reveal=True)
    before = whole.to_frame()
    assert out.height == before.height // 2
    for column in ("sex", "illness"):
        assert weighted(expected, column, "w") == pytest.approx(
            dict(before.group_by(column).agg(pl.col("w").sum()).iter_rows()), rel=1e-7
        )
    wanted = (before["w"] * before["income"]).sum()
    assert (out["w"] * out["income"]).sum() == pytest.approx(wanted, rel=1e-7)


def test_a_frame_without_weights_is_counted() -> None:
    plan = flou.Plan([flou.protect.Sample(share=0.5, by=["zone"]), Calibrate(frame="zone", frame_totals="amount")])
    release = plan.protect(data(), secret=SECRET, period="2026")
    zones = dict(small()["zone"].value_counts().iter_rows())
    assert weighted(release, "zone") == pytest.approx(zones, rel=1e-7)


def test_small_categories_of_the_frame_are_refused_by_name() -> None:
    frame = small().with_columns(zone=pl.Series(["N"] * 37 + ["lone", "lone", None]))
    roles = {"keys": ["zone"]}
    sample = flou.protect.Sample(share=0.9)
    with pytest.raises(DataError, match=r"fewer than 3 records in the frame.*'null', 'lone'.*Recode"):
        flou.Plan([sample, Calibrate(frame="zone")]).protect(data(frame, **roles), secret=2, period="2026")
    few = small().with_columns(amount=pl.Series([5.0, 6.0] + [0.0] * 38))
    with pytest.raises(DataError, match=r"Fewer than 3 records of the frame have an amount in 'amount'"):
        flou.Plan([sample, Calibrate(frame_totals="amount")]).protect(data(few), secret=2, period="2026")


def test_heavy_records_do_not_make_a_category_of_the_frame_large() -> None:
    """Two records of weight 50 stand for 100 people, and still the total tells of these two."""
    frame = small().with_columns(zone=pl.Series(["N"] * 38 + ["lone"] * 2), w=pl.Series([1.0] * 38 + [50.0] * 2))
    plan = flou.Plan([flou.protect.Sample(share=0.9), Calibrate(frame="zone")])
    with pytest.raises(DataError, match=r"fewer than 3 records in the frame.*'lone'"):
        plan.protect(data(frame, weight="w"), secret=1, period="2026")


def test_a_frame_needs_a_sample() -> None:
    with pytest.raises(DataError, match="no sample was drawn"):
        Calibrate(frame="sex").protect(data(), secret=1, period="2026")


# refusals


def test_more_people_than_there_are_is_refused() -> None:
    with pytest.raises(ParameterError, match="more than there are people"):
        Calibrate({"sex": {"F": 5e9, "M": 5e9}}).protect(data(), secret=1, period="2026")


def test_hidden_and_missing_columns_are_refused() -> None:
    for column in ("pid", "name", "hid"):
        with pytest.raises(DataError, match="calibrate on released columns"):
            Calibrate({column: {"1": 3}}).protect(people(), secret=1, period="2026")
    with pytest.raises(DataError, match="which the data do not have"):
        Calibrate({"colour": {"red": 3}}).protect(people(), secret=1, period="2026")
    with pytest.raises(DataError, match="is the weight itself"):
        Calibrate(totals={"w": 3}).protect(people(), secret=1, period="2026")
    with pytest.raises(ParameterError, match="declares the weight 'w'"):
        Calibrate({"sex": {"F": 1}}, weight="v").protect(people(), secret=1, period="2026")
    with pytest.raises(ParameterError, match="name another"):
        Calibrate({"sex": {"F": 1}}, weight="amount").protect(data(), secret=1, period="2026")


def test_margins_of_different_populations_are_refused() -> None:
    with pytest.raises(ParameterError, match=r"'sex' sums to 100,000, but that of 'gir' to 99,000"):
        Calibrate({"sex": {"F": 60_000, "M": 40_000}, "gir": {1: 50_000, 2: 49_000}})
    plan = flou.Plan([flou.protect.Sample(share=0.5), Calibrate({"sex": {"F": 20, "M": 21}}, frame="zone")])
    with pytest.raises(Infeasible, match=r"'sex' sums to 41, but that of 'zone' to 40"):
        plan.protect(data(), secret=1, period="2026")


@pytest.mark.parametrize(
    ("margin", "message"),
    [
        ({"F": 10}, r"no total for 'M'"),
        ({"F": 10, "M": 10, "X": 2}, r"a total for 'X', but no released record has it"),
        ({"F": 10, "M": 0}, r"the total 0 for 'M', which released records have"),
    ],
)
def test_categories_that_do_not_fit_are_refused(margin: dict[str, int], message: str) -> None:
    with pytest.raises(DataError, match=message):
        Calibrate({"sex": margin}).protect(data(), secret=1, period="2026")


def test_a_category_without_people_and_total_is_left_out() -> None:
    release = Calibrate({"sex": {"F": 30, "M": 30, "X": 0}}).protect(data(), secret=1, period="2026")
    assert release.steps[0].n_totals == 2


def test_undetermined_values_are_listed_as_null() -> None:
    frame = small().with_columns(sex=pl.Series(["F", "M", None, "M"] * 10))
    with pytest.raises(DataError, match=r"no total for 'null'.*listed under 'null'"):
        Calibrate({"sex": {"F": 10, "M": 10}}).protect(data(frame), secret=1, period="2026")
    release = Calibrate({"sex": {"F": 30, "M": 30, "null": 9}}).protect(data(frame), secret=1, period="2026")
    assert weighted(release, "sex") == pytest.approx({"F": 30, "M": 30, None: 9}, rel=1e-7)
    both = frame.with_columns(pl.col("sex").replace({"F": "null"}))
    with pytest.raises(DataError, match="also the text 'null'"):
        Calibrate({"sex": {"M": 30, "null": 9}}).protect(data(both), secret=1, period="2026")


def test_clashing_totals_are_named() -> None:
    """Departments lie in regions; the totals of two of them do not add up to that of their region."""
    department = ["11", "12", "21", "22"] * 10
    frame = small().with_columns(department=pl.Series(department), region=pl.Series([f"R{d[0]}" for d in department]))
    margins = {"department": {"11": 10, "12": 10, "21": 10, "22": 10}, "region": {"R1": 25, "R2": 15}}
    for distance, bounds in (("linear", None), ("raking", None), ("logit", [0.1, 9.0])):
        with pytest.raises(Infeasible) as caught:
            Calibrate({**margins, "sex": {"F": 20, "M": 20}}, distance=distance, bounds=bounds).protect(
                data(frame), secret=1, period="2026"
            )
        text = str(caught.value)
        assert "sex" not in text
        assert ("department = 11" in text) == ("department = 12" in text) == ("region = R1" in text)
        assert ("department = 21" in text) == ("department = 22" in text) == ("region = R2" in text)
        assert ("R1" in text) != ("R2" in text)
        assert "Best found: " in text


def test_bounds_that_are_too_narrow_are_named_with_what_they_allow() -> None:
    frame = small().with_columns(w=pl.lit(1.0))
    with pytest.raises(Infeasible, match=r"between 0.5 and 2: sex = F \(50\).*Best found: 40 for sex = F.*Widen"):
        Calibrate({"sex": {"F": 50, "M": 20}}, distance="logit", bounds=[0.5, 2.0]).protect(
            data(frame, weight="w"), secret=1, period="2026"
        )


def test_an_amount_out_of_reach_is_named() -> None:
    with pytest.raises(Infeasible, match=r"not negative: .*the total of amount \(1,000,000\).*Best found"):
        Calibrate({"sex": {"F": 50, "M": 50}}, totals={"amount": 1_000_000}).protect(data(), secret=1, period="2026")


def test_totals_that_leave_records_no_weight_are_refused() -> None:
    frame = pl.DataFrame({"pid": range(5), "a": list("xxyyx"), "b": list("ppqqq"), "w": [1.0] * 5})
    with pytest.raises(Infeasible, match=r"only if some records have no weight at all: "):
        Calibrate({"a": {"x": 2, "y": 2}, "b": {"p": 2, "q": 2}}).protect(
            data(frame, weight="w"), secret=1, period="2026"
        )


def test_negative_weights_of_the_linear_distance_are_refused() -> None:
    margins = {"sex": {"F": 38, "M": 2}, "gir": {1: 1, 2: 38, 3: 1}}
    with pytest.raises(Infeasible, match=r"weight that is not positive.*raking"):
        Calibrate(margins, distance="linear").protect(data(), secret=1, period="2026")
    Calibrate(margins).protect(data(), secret=1, period="2026")


def test_design_weights_of_zero_are_refused() -> None:
    frame = small().with_columns(w=pl.Series([0.0] + [1.0] * 39))
    with pytest.raises(DataError, match="zero in some records"):
        Calibrate({"sex": {"F": 50, "M": 20}}).protect(data(frame, weight="w"), secret=1, period="2026")


@pytest.mark.parametrize("later", ["drop", "recode"])
def test_a_later_step_that_undoes_the_totals_is_refused(later: str) -> None:
    measure = flou.risk.KAnonymity(k=4)
    steps: dict[str, Any] = {
        "drop": flou.protect.DropRecords(measure),
        "recode": flou.protect.Recode("zone", mapping={"N": "all", "S": "all"}),
    }
    frame = small().with_columns(zone=pl.Series(["N", "S"] * 19 + ["lone", "lone"]).replace({"lone": "N"}))
    frame = frame.with_columns(gir=pl.Series([1] * 38 + [2, 3]))
    plan = flou.Plan([Calibrate({"zone": {"N": 60, "S": 60}}), steps[later]])
    with pytest.raises(GuaranteeBrokenError, match="meet the totals of zone"):
        plan.protect(data(frame, keys=["zone", "gir"]), secret=1, period="2026")


def test_not_applicable_amounts_add_nothing() -> None:
    frame = small().with_columns(amount=pl.Series([999.0, None] + [10.0] * 38))
    roles = {"not_applicable": {"amount": [999]}}
    release = Calibrate({"sex": {"F": 40, "M": 40}}, totals={"amount": 700}).protect(
        data(frame, **roles), secret=1, period="2026"
    )
    out = release.data.to_frame(reveal=True).filter(pl.col("amount") == 10)
    assert (out["weight"] * out["amount"]).sum() == pytest.approx(700, rel=1e-7)


def test_rows_without_an_id_are_calibrated_whatever_their_order() -> None:
    frame = rows().drop("pid", "name", "hid")
    order = np.random.default_rng(3).permutation(frame.height)
    method = Calibrate({"sex": {"F": 520, "M": 430, "null": 60}}, totals={"income": 1_500_000})
    one, two = (
        method.protect(flou.Microdata(native(f, "polars"), weight="w"), secret=SECRET, period="2026").data.to_frame()
        for f in (frame, frame[order])
    )
    assert one.equals(two)
