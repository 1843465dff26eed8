"""Comparisons against plain NumPy on the rows, against hand-made figures, and what they refuse."""

from __future__ import annotations

import datetime as dt
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from tests.depth import examples

import flou
from flou.utility.micro.class_bounds import round_width
from flou.utility.micro.least_squares import overlap_of_intervals
from flou.utility.micro.weighted import weighted_quantiles

U = flou.utility


def survey(n: int = 400, seed: int = 1, **changes: Any) -> pl.DataFrame:
    """Rows with numbers, gaps, zeros, days, categories and weights."""
    rng = np.random.default_rng(seed)
    frame = pl.DataFrame(
        {
            "amount": np.where(rng.random(n) < 0.2, 0.0, np.round(np.exp(rng.normal(6, 1, n)), 2)),
            "balance": np.round(rng.normal(0, 100, n), 2),
            "gir": rng.integers(1, 5, n),
            "sex": rng.choice(["F", "M"], n),
            "area": rng.choice(["north", "south", "west"], n, p=[0.6, 0.3, 0.1]),
            "start": [dt.date(2015, 1, 1) + dt.timedelta(days=int(d)) for d in rng.integers(0, 2000, n)],
            "w": np.round(rng.uniform(0.5, 9, n), 3),
        }
    )
    hole = pl.Series(rng.random(n) < 0.1)
    return frame.with_columns(pl.when(~hole).then("balance").alias("balance")).with_columns(**changes)


def data(frame: pl.DataFrame, **roles: Any) -> flou.Microdata:
    return flou.Microdata(frame, **{"weight": "w", **roles})


# univariate


def test_summary_is_what_numpy_says() -> None:
    first, second = survey(seed=1), survey(300, seed=2)
    result = U.Summary(by="area").compare(data(first), data(second))
    for name in ("amount", "balance", "gir"):
        line = result.means.row(by_predicate=pl.col("column") == name, named=True)
        for frame, which in ((first, "original"), (second, "released")):
            held = frame.drop_nulls(name)
            x, w = held[name].to_numpy().astype(float), held["w"].to_numpy()
            mean = np.average(x, weights=w)
            assert line[f"mean_{which}"] == pytest.approx(mean)
            assert line[f"sd_{which}"] == pytest.approx(np.sqrt(np.average((x - mean) ** 2, weights=w)))
            assert line[f"records_{which}"] == len(x)
            total = frame["w"].sum()
            assert line[f"zeros_{which}"] == pytest.approx(w[x == 0].sum() / total)
            assert line[f"nulls_{which}"] == pytest.approx(1 - w.sum() / total)
            quantiles = result.quantiles.filter(pl.col("column") == name)
            expected = np.quantile(x, quantiles["quantile"].to_numpy(), weights=w, method="inverted_cdf")
            assert quantiles[which].to_list() == expected.tolist()
        size = np.average(np.abs(first.drop_nulls(name)[name]), weights=first.drop_nulls(name)["w"])
        assert line["units"] == pytest.approx(line["mean_released"] - line["mean_original"])
        assert line["deviation"] == pytest.approx(line["units"] / size)
    for group in ("north", "south", "west"):
        line = result.groups.row(by_predicate=(pl.col("group") == group) & (pl.col("column") == "amount"), named=True)
        means = [np.average(f["amount"], weights=f["w"]) for f in (_of(first, group), _of(second, group))]
        assert [line["mean_original"], line["mean_released"]] == pytest.approx(means)
        assert line["deviation"] == pytest.approx(means[1] / means[0] - 1)
        assert line["records_original"] == _of(first, group).height
    shares = result.shares.filter(pl.col("column") == "area").sort("value")
    for frame, which in ((first, "original"), (second, "released")):
        expected = [_of(frame, g)["w"].sum() / frame["w"].sum() for g in ("north", "south", "west")]
        assert shares[which].to_list() == pytest.approx(expected)
    assert result.moved == pytest.approx(
        max(result.shares.group_by("column").agg(pl.col("change").abs().sum() / 2)["change"])
    )
    assert result.value == pytest.approx(max(result.means["deviation"].abs().max(), result.moved))


def _of(frame: pl.DataFrame, area: str) -> pl.DataFrame:
    return frame.filter(pl.col("area") == area)


@examples(60)
@given(
    st.lists(st.tuples(st.integers(-50, 50) | st.floats(-1e6, 1e6), st.integers(1, 9)), min_size=1, max_size=60),
    st.booleans(),
)
def test_quantiles_are_numpys(rows: list[tuple[float, int]], weighted: bool) -> None:
    x, w = np.array([r[0] for r in rows], dtype=float), np.array([float(r[1]) for r in rows])
    shares = np.array([0.01, 0.25, 0.5, 0.75, 0.99])
    w = w if weighted else np.ones(len(x))
    found = weighted_quantiles(x, w, shares, weighted=weighted)
    assert found.tolist() == np.quantile(x, shares, weights=w, method="inverted_cdf").tolist()


def test_a_mean_near_zero_does_not_explode() -> None:
    """Balances of ±100 whose mean is 0.01: one unit more is 1% of their size, not a hundred times the mean."""
    frame = pl.DataFrame({"x": [100.0, -99.98] * 50})
    result = U.Summary().compare(flou.Microdata(frame), flou.Microdata(frame + 1))
    assert result.value == pytest.approx(1 / 99.99)
    zeros = pl.DataFrame({"x": [0.0] * 10})
    assert U.Summary().compare(flou.Microdata(zeros), flou.Microdata(zeros)).value == 0
    assert U.Summary().compare(flou.Microdata(zeros), flou.Microdata(zeros + 5)).value == 1


def test_days_deviate_by_their_spread() -> None:
    frame = survey()
    later = frame.with_columns(pl.col("start").dt.offset_by("30d"))
    result = U.Summary("start").compare(data(frame), data(later))
    days = frame["start"].to_physical().to_numpy()
    sd = np.sqrt(np.cov(days, aweights=frame["w"], ddof=0))
    assert result.value == pytest.approx(30 / sd)
    assert "2017-" in result.summary()


def test_groups_are_cut_at_round_bounds_of_the_original() -> None:
    frame = survey(2000)
    doubled = frame.with_columns(amount=pl.col("amount") * 2)
    result = U.Summary("balance", by="amount", classes=4).compare(data(frame), data(doubled))
    names = result.groups["group"].to_list()
    assert names[0].startswith("< ")
    assert names[-1].startswith("≥ ")
    bounds = [float(names[0][2:]), *(float(n.strip("[)").split(", ")[1]) for n in names[1:-1])]
    held = frame.filter(pl.col("balance").is_not_null())["amount"].to_numpy()
    cut = np.bincount(np.searchsorted(bounds, held, side="right"), minlength=4)
    assert result.groups["records_original"].to_list() == cut.tolist()
    cut = np.bincount(np.searchsorted(bounds, 2 * held, side="right"), minlength=4)
    assert result.groups["records_released"].to_list() == cut.tolist()
    assert all(b == round(b, -1) for b in bounds), "nobody's own value"


def test_small_groups_count_in_no_figure_and_are_not_drawn() -> None:
    frame = pl.DataFrame({"g": ["a"] * 100 + ["b"] * 5, "x": [10.0] * 105})
    moved = frame.with_columns(x=pl.when(pl.col("g") == "b").then(50.0).otherwise(10.5))
    result = U.Summary("x", by="g").compare(flou.Microdata(frame), flou.Microdata(moved))
    assert result.group_deviation == pytest.approx(0.05)
    assert result.groups_within == 1
    assert result.groups["deviation"].to_list() == pytest.approx([0.05, 4.0])
    drawn = [str(result.plot(min_count=k).to_dict()) for k in (1, 6)]
    assert ["4.0" in d for d in drawn] == [True, False]


def test_a_few_units_are_tolerated_where_asked() -> None:
    frame = pl.DataFrame({"g": ["a"] * 40 + ["b"] * 40, "x": [10.0] * 40 + [1000.0] * 40})
    moved = frame.with_columns(x=pl.col("x") + 5)
    both = flou.Microdata(frame), flou.Microdata(moved)
    assert U.Summary("x", by="g").compare(*both).groups_within == 0.5
    assert U.Summary("x", by="g", tolerance_units={"x": 5}).compare(*both).groups_within == 1


def test_what_was_recoded_is_skipped_or_refused() -> None:
    frame = survey()
    recoded = frame.with_columns(pl.col("gir").replace_strict({1: "low", 2: "low", 3: "high", 4: "high"}))
    recoded = recoded.with_columns(pl.col("area").replace_strict({"north": "N", "south": "S", "west": "S"}))
    result = U.Summary().compare(data(frame), data(recoded))
    assert result.n_skipped == 2
    assert {n.values["column"] for n in result.notes if "recoded" in n.text} == {"gir", "area"}
    for method in (
        U.Summary("gir"), U.Summary("area"), U.Summary("amount", by="gir"), U.Summary("amount", by="area"),
        U.Correlations(["amount", "gir"]), U.Coherence("gir"), U.Coherence("amount", by="area"),
        U.Regression("amount", on="gir"), U.Regression("amount", on="area"), U.Regression("gir", on="sex"),
    ):  # fmt: skip
        with pytest.raises(flou.FlouError, match="recoded"):
            method.compare(data(frame), data(recoded))


def test_codes_that_are_no_amount_are_no_values() -> None:
    frame = survey(n=100)
    coded = frame.with_columns(amount=pl.when(pl.col("sex") == "F").then(99999.0).otherwise("amount"))
    result = U.Summary("amount").compare(
        data(coded, not_applicable={"amount": [99999]}), data(coded, not_applicable={"amount": [99999]})
    )
    assert result.means["records_original"].item() == (frame["sex"] == "M").sum()
    assert result.means["mean_original"].item() < 9999


def test_one_file_with_weights() -> None:
    result = U.Summary().compare(data(survey()), flou.Microdata(survey().drop("w")))
    assert "count once each" in str(result.notes[0])
    assert result.value > 0


# links


def test_links_are_what_numpy_and_scipy_say() -> None:
    frame = survey(500).drop_nulls()
    result = U.Correlations().compare(data(frame), data(frame.reverse()))
    links = {(a, b): x for a, b, x in result.pairs.select("column", "other", "original").iter_rows()}
    w = frame["w"].to_numpy()
    x = np.stack([frame["amount"].to_numpy(), frame["balance"].to_numpy()])
    cov = np.cov(x, aweights=w)
    assert links["amount", "balance"] == pytest.approx(cov[0, 1] / np.sqrt(cov[0, 0] * cov[1, 1]))
    mean = np.average(x[0], weights=w)
    between = sum(
        g["w"].sum() * (np.average(g["amount"], weights=g["w"]) - mean) ** 2 for g in frame.partition_by("area")
    )
    assert links["area", "amount"] == pytest.approx(np.sqrt(between / (w @ (x[0] - mean) ** 2)))
    unweighted = U.Correlations(["sex", "area"]).compare(
        flou.Microdata(frame.drop("w")), flou.Microdata(frame.drop("w"))
    )
    table = frame.pivot("area", index="sex", values="w", aggregate_function="len").drop("sex").to_numpy()
    expected = stats.contingency.association(table, method="cramer")
    assert unweighted.pairs["original"].item() == pytest.approx(expected)


def test_pairs_with_gaps_use_the_records_that_have_both() -> None:
    frame = survey(300)
    result = U.Correlations(["amount", "balance"]).compare(data(frame), data(frame))
    known = frame.drop_nulls("balance")
    cov = np.cov(known["amount"], known["balance"], aweights=known["w"])
    assert result.pairs["original"].item() == pytest.approx(cov[0, 1] / np.sqrt(cov[0, 0] * cov[1, 1]))
    assert result.pairs["records_original"].item() == known.height


def test_records_without_the_number_do_not_weaken_its_link_to_a_category() -> None:
    frame = survey(300)
    known = frame.drop_nulls("balance")
    link = U.Correlations(["area", "balance"]).compare(data(frame), data(known)).pairs
    assert known.height < frame.height
    assert link["original"].item() == pytest.approx(link["released"].item())


def test_a_link_to_a_constant_is_lost() -> None:
    frame = pl.DataFrame({"x": [1.0, 2.0, 3.0], "y": [2.0, 4.0, 6.0]})
    flat = frame.with_columns(y=pl.lit(4.0))
    assert U.Correlations().compare(flou.Microdata(frame), flou.Microdata(flat)).value == pytest.approx(1)


# regression


def _hc1(y: Any, x: Any, w: Any) -> tuple[Any, Any]:
    """Weighted least squares and HC1 by their formulas, dense."""
    root = np.sqrt(w)[:, None]
    b = np.linalg.lstsq(x * root, y * root[:, 0], rcond=None)[0]
    e = y - x @ b
    bread = np.linalg.inv(x.T @ (x * w[:, None]))
    meat = x.T @ (x * ((w * e) ** 2)[:, None])
    n, p = x.shape
    return b, np.sqrt(np.diag(bread @ meat @ bread) * n / (n - p))


@pytest.mark.parametrize("scale", ["identity", "log"])
def test_regression_is_what_lstsq_says(scale: Any) -> None:
    first, second = (survey(600, seed=s).with_columns(amount=pl.col("amount") + 1) for s in (3, 4))
    method = U.Regression("amount", on=["balance", "area", "gir", "start"], classes={"gir": "values"}, scale=scale)
    table = method.compare(data(first), data(second)).coefficients
    reference = first.drop_nulls()["gir"].value_counts(sort=True)["gir"][0]
    levels = [v for v in (1, 2, 3, 4) if v != reference]
    for frame, which in ((first, "original"), (second, "released")):
        held = frame.drop_nulls()
        y = held["amount"].to_numpy()
        y = np.log(y) if scale == "log" else y
        columns = [np.ones(held.height), held["balance"].to_numpy(), held["start"].to_physical().to_numpy()]
        columns += [(held["area"] == a).to_numpy() for a in ("south", "west")]
        columns += [(held["gir"] == g).to_numpy() for g in levels]
        b, se = _hc1(y, np.stack(columns, axis=1).astype(float), held["w"].to_numpy())
        keys = [(None, None), ("balance", None), ("start", None), ("area", "south"), ("area", "west")]
        keys += [("gir", str(g)) for g in levels]
        found = {(c, v): (x, s) for c, v, x, s in
                 table.select("column", "level", which, f"se_{which}").iter_rows()}  # fmt: skip
        assert list(found) != []
        for key, x, s in zip(keys, b, se, strict=True):
            assert found[key] == pytest.approx((x, s), rel=1e-6)
        t = stats.t.ppf(0.975, held.height - len(b))
        row = table.row(by_predicate=pl.col("column") == "balance", named=True)
        assert row[f"high_{which}"] == pytest.approx(b[1] + t * se[1])


def test_regression_by_hand() -> None:
    """y = 1, 3 where x = 0 and 5, 9 where x = 1: intercept 2, slope 5; HC1 by hand.

    Residuals ∓1, ∓2; (X'X)⁻¹ = ½ [[1, −1], [−1, 2]]; X' diag(e²) X = [[10, 8], [8, 8]]; the product is
    [[0.5, −0.5], [−0.5, 2.5]], times n/(n−p) = 2.
    """
    frame = pl.DataFrame({"y": [1.0, 3.0, 5.0, 9.0], "x": [0, 0, 1, 1]})
    table = U.Regression("y", on="x").compare(flou.Microdata(frame), flou.Microdata(frame)).coefficients
    assert table["original"].to_list() == pytest.approx([2, 5])
    assert table["se_original"].to_list() == pytest.approx([1, np.sqrt(5)])
    assert table["overlap"].to_list() == [1, 1]


def test_overlaps_by_hand() -> None:
    assert overlap_of_intervals((0, 4), (1, 3)) == pytest.approx((2 / 4 + 2 / 2) / 2)
    assert overlap_of_intervals((0, 2), (1, 3)) == pytest.approx(0.5)
    assert overlap_of_intervals((0, 1), (2, 3)) == 0
    assert overlap_of_intervals((0, 1), (1, 3)) == 0
    assert overlap_of_intervals((2, 2), (2, 2)) == 1
    assert overlap_of_intervals((2, 2), (3, 3)) == 0
    assert overlap_of_intervals((2, 2), (1, 3)) == 0.5


def test_regression_by_group_is_that_of_the_group() -> None:
    first, second = survey(600, seed=5), survey(500, seed=6)
    whole = U.Regression("amount", on=["sex", "gir"], by="area").compare(data(first), data(second))
    alone = U.Regression("amount", on=["sex", "gir"]).compare(data(_of(first, "west")), data(_of(second, "west")))
    ours = whole.coefficients.filter(pl.col("group") == "west").drop("by", "group")
    theirs = alone.coefficients.drop("by", "group")
    for name in ("original", "se_released", "overlap"):
        assert ours[name].to_list() == pytest.approx(theirs[name].to_list())
    means = whole.coefficients.drop_nulls("by").group_by("group").agg(pl.col("overlap").mean())["overlap"]
    assert whole.worst_group == pytest.approx(means.min())
    assert whole.n_coefficients == whole.coefficients["overlap"].count()


def test_signs_that_changed_and_intervals_apart() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=300)
    frame = pl.DataFrame({"x": x, "y": 2 * x + rng.normal(size=300)})
    turned = frame.with_columns(y=-pl.col("y"))
    result = U.Regression("y", on="x").compare(flou.Microdata(frame), flou.Microdata(turned))
    assert (result.n_sign_changed, result.n_apart) == (1, 1)
    assert result.value < 0.6


def test_values_that_the_release_lacks_are_named() -> None:
    frame = survey()
    fewer = frame.filter(pl.col("area") != "west")
    result = U.Regression("amount", on=["area", "sex"]).compare(data(frame), data(fewer))
    assert any("area: west is missing in the release" in str(n) for n in result.notes)
    lost = result.coefficients.filter(pl.col("overlap").is_null())
    assert lost.select("level", "released").rows() == [("west", None)]
    assert result.n_lost == 1
    # the reference is one that both files have
    without = frame.filter(pl.col("area") != "north")
    table = U.Regression("amount", on="area").compare(data(frame), data(without)).coefficients
    assert set(table["reference"].drop_nulls()) == {"south"}


def test_a_lost_coefficient_counts_as_one_that_overlaps_with_nothing() -> None:
    frame = survey()
    fewer = frame.filter(pl.col("area") != "west")
    result = U.Regression("amount", on="area").compare(data(frame), data(fewer))
    # the intercept, the south, and the west that is lost
    overlaps = dict(result.coefficients.select("level", "overlap").iter_rows())
    assert overlaps["west"] is None
    assert result.value == pytest.approx((overlaps[None] + overlaps["south"] + 0) / 3)


def test_a_collinear_design_is_refused_by_name() -> None:
    frame = survey().with_columns(twice=pl.col("balance") * 2 + 1, area_code=pl.col("area").str.slice(0, 1))
    for on, named in ((["balance", "sex", "twice"], "twice"), (["area", "area_code"], "area_code = s")):
        with pytest.raises(flou.FlouError, match=f"collinear in the original.*{named}"):
            U.Regression("amount", on=on).compare(data(frame), data(frame))


def test_what_regression_refuses() -> None:
    frame = survey()
    with pytest.raises(flou.FlouError, match="0 or negative"):
        U.Regression("amount", on="sex", scale="log").compare(data(frame), data(frame))
    with pytest.raises(flou.FlouError, match="cut it"):
        U.Regression("amount", on="sex", by="balance").compare(data(frame), data(frame))
    with pytest.raises(flou.FlouError, match="too few"):
        U.Regression("amount", on="sex").compare(data(frame.head(2)), data(frame))
    with pytest.raises(flou.FlouError, match="no numbers to be cut"):
        U.Regression("amount", on="sex", classes={"sex": 2}).compare(data(frame), data(frame))


def test_breaks_may_be_dates() -> None:
    frame = survey()
    cut = dt.date(2018, 1, 1)
    result = U.Regression("amount", on="start", classes={"start": [cut]}).compare(data(frame), data(frame))
    later = frame.filter(pl.col("start") >= cut)
    counts = result.coefficients.filter(pl.col("level").is_not_null())["records_original"].item()
    assert counts in (later.height, frame.height - later.height)


# distributions


def test_hellinger_by_hand() -> None:
    """Shares ½, ½ against 1, 0: √(1 − √½)."""
    frame = pl.DataFrame({"x": [0.0, 1.0] * 50})
    moved = pl.DataFrame({"x": [0.0] * 100})
    result = U.Coherence("x", bins=2).compare(flou.Microdata(frame), flou.Microdata(moved))
    assert result.value == pytest.approx(np.sqrt(1 - np.sqrt(0.5)))


def test_bins_are_those_of_numpy() -> None:
    first, second = survey(800, seed=7), survey(700, seed=8)
    result = U.Coherence("balance", by="sex", bins=20).compare(data(first), data(second))
    overall = result.bins.filter(pl.col("by").is_null())
    edges = [-np.inf, *overall["low"].drop_nulls(), np.inf]
    shares = []
    for frame, which in ((first, "original"), (second, "released")):
        held = frame.drop_nulls("balance")
        counts, _ = np.histogram(held["balance"], bins=edges, weights=held["w"])
        shares.append(counts / counts.sum())
        assert overall[which].to_list() == pytest.approx(shares[-1].tolist())
    assert result.value == pytest.approx(np.sqrt(1 - np.sqrt(shares[0] * shares[1]).sum()))
    assert len({round(float(w), 9) for w in np.diff(edges[1:-1])}) == 1
    assert result.worst_group == max(result.groups.drop_nulls("by")["distance"])


def test_days_are_binned_by_the_calendar() -> None:
    frame = survey(800)
    bins = U.Coherence("start", bins=20).compare(data(frame), data(frame)).bins
    zero = dt.date(1970, 1, 1)
    assert all((zero + dt.timedelta(days=int(d))).day == 1 for d in bins["low"].drop_nulls())


def test_small_bins_are_not_drawn() -> None:
    frame = pl.DataFrame({"x": [float(i) for i in range(10) for _ in range(20)] + [15.0] * 4 + [20.0] * 20})
    result = U.Coherence("x", bins=20).compare(flou.Microdata(frame), flou.Microdata(frame))

    def shares(min_count: int) -> list[float]:
        drawn = result.plot(min_count=min_count).to_dict()
        return [row["share"] for rows in drawn["datasets"].values() for row in rows]

    assert pytest.approx(4 / 224) in shares(1)
    assert pytest.approx(4 / 224) not in shares(5)


@pytest.mark.parametrize(
    ("x", "expected"), [(0.7, 1.0), (1.0, 1.0), (1.1, 2.0), (3.0, 5.0), (70.0, 100.0), (0.03, 0.05)]
)
def test_round_widths(x: float, expected: float) -> None:
    assert round_width(x) == pytest.approx(expected)


# every comparison

METHODS = [
    U.Summary(),
    U.Summary(by=["sex", "a"], classes=3),
    U.Correlations(),
    U.Regression("a", on=["sex", "b"]),
    U.Coherence("a", by="sex"),
]


@examples(40)
@given(
    st.lists(
        st.tuples(
            st.none() | st.floats(-1e5, 1e5),
            st.integers(-3, 3),
            st.sampled_from(["F", "M", None]),
            st.integers(1, 5),
        ),
        min_size=3,
        max_size=40,
    ),
    st.randoms(use_true_random=False),
)
def test_a_file_loses_nothing_to_itself(rows: list[Any], random: Any) -> None:
    schema = {"a": pl.Float64, "b": pl.Int64, "sex": pl.String, "w": pl.Float64}
    again = list(rows)
    random.shuffle(again)
    frames = [pl.DataFrame(r, schema=schema, orient="row") for r in (rows, again)]
    for method in METHODS:
        try:
            result = method.compare(*(data(f) for f in frames))
        except flou.FlouError:
            continue
        assert result.value == (1 if method.name() == "regression" else 0)


@pytest.mark.parametrize(
    "method", [U.Summary("no"), U.Summary(by="no"), U.Correlations(["no", "sex"]), U.Coherence("no"),
               U.Regression("no", on="sex"), U.Regression("amount", on="no"), U.Regression("amount", on="sex", by="no")],
)  # fmt: skip
def test_missing_columns_are_named(method: Any) -> None:
    frame = survey()
    with pytest.raises(flou.FlouError, match="'no'"):
        method.compare(data(frame), data(frame))
    with pytest.raises(flou.FlouError, match="release does not have"):
        method.compare(data(frame.with_columns(no=pl.lit(1.5))), data(frame))
    with pytest.raises(flou.FlouError, match="never published"):
        method.compare(data(frame.with_columns(no=pl.lit("x")), identifiers=["no"]), data(frame))


def test_nothing_in_common() -> None:
    with pytest.raises(flou.FlouError, match="no column that can be compared"):
        U.Summary().compare(flou.Microdata(pl.DataFrame({"a": [1]})), flou.Microdata(pl.DataFrame({"b": [1]})))
    with pytest.raises(flou.FlouError, match="no records"):
        U.Summary().compare(data(survey()), data(survey().clear()))
