"""The synthetic survey keeps its households whole, its answers coherent and its weights calibrated."""

from __future__ import annotations

import itertools
import math
import time
from typing import Any

import numpy as np
import polars as pl
import pytest

import flou
from flou.datasets.households import POPULATION, survey_frame
from flou.describe.keyspace import MAX_CELLS, KeySpace
from flou.engine.errors import DataError, ParameterError
from flou.engine.sense import MISSING

KEYS = ("region", "sex", "age", "marital", "size", "activity", "occupation")
SCHEMA = {
    "pid": pl.Int64,
    "hid": pl.Int64,
    "region": pl.String,
    "urbanisation": pl.String,
    "relation": pl.String,
    "sex": pl.String,
    "age": pl.Int64,
    "marital": pl.String,
    "size": pl.Int64,
    "household_type": pl.String,
    "education": pl.String,
    "activity": pl.String,
    "occupation": pl.String,
    "birth": pl.String,
    "health": pl.String,
    "income": pl.Float64,
    "stratum": pl.String,
    "weight": pl.Float64,
}
OPEN_QUESTIONS = {"marital", "education", "activity", "occupation", "birth"}
NONE = "not applicable"
child, minor = pl.col("age") < 15, pl.col("age").is_between(15, 17)
married_once = pl.col("marital").is_in(["married", "widowed", "divorced"])
without_work = pl.col("activity").is_in(["unemployed", "inactive"])
#: What no record may show, said independently of the schema.
IMPOSSIBLE = {
    "marital status of a child": child & (pl.col("marital") != NONE),
    "no marital status above childhood": ~child & (pl.col("marital") == NONE),
    "married minor": minor & married_once,
    "child in the labour force": child & (pl.col("activity") != "inactive"),
    "occupation of a child": child & (pl.col("occupation") != NONE),
    "occupation without work": without_work & (pl.col("occupation") != NONE),
    "work without occupation": (pl.col("activity") == "employed") & (pl.col("occupation") == NONE),
    "child alone": child & (pl.col("size") == 1),
    "minor alone without a job": minor & (pl.col("size") == 1) & without_work,
    "education of a child": child & (pl.col("education") != NONE),
    "no education above childhood": ~child & (pl.col("education") == NONE),
    "degree before 22": (pl.col("age") < 22) & (pl.col("education") == "degree"),
    "income of a child": child & (pl.col("income") > 0),
    "minor with an office": minor & pl.col("occupation").is_in(["business managers", "health professionals"]),
}


@pytest.fixture(scope="module")
def data() -> flou.Microdata:
    return flou.datasets.survey(20_000, rng=20)


@pytest.fixture(scope="module")
def frame(data: flou.Microdata) -> pl.DataFrame:
    return data.to_frame()


@pytest.fixture(scope="module")
def large() -> pl.DataFrame:
    """For what is rare."""
    return survey_frame(200_000, np.random.default_rng(1))


def share(frame: pl.DataFrame, condition: pl.Expr) -> float:
    return float(frame.select(condition.mean()).item())


def correlation(x: Any, y: Any) -> float:
    return float(np.corrcoef(x, y)[0, 1])


def broken_homes(frame: pl.DataFrame) -> pl.DataFrame:
    """Households whose size or type contradicts their members."""
    homes = frame.group_by("hid").agg(
        pl.len().alias("n"),
        pl.col("size").n_unique().alias("sizes"),
        pl.first("size"),
        pl.col("household_type").n_unique().alias("types"),
        pl.first("household_type").alias("type"),
        *(
            (pl.col("relation") == r).sum().alias(r.split()[0])
            for r in ("reference person", "partner", "child", "other")
        ),
    )
    adults_only = (pl.col("child") == 0) & (pl.col("other") == 0)
    fits = {
        "person alone": adults_only & (pl.col("partner") == 0),
        "couple without children": adults_only & (pl.col("partner") == 1),
        "couple with children": (pl.col("child") > 0) & (pl.col("other") == 0) & (pl.col("partner") == 1),
        "lone parent": (pl.col("child") > 0) & (pl.col("other") == 0) & (pl.col("partner") == 0),
        "other": (pl.col("child") == 0) & (pl.col("other") > 0) & (pl.col("partner") == 0),
    }
    right = pl.any_horizontal((pl.col("type") == name) & condition for name, condition in fits.items())
    whole = (pl.col("n") == pl.col("size")) & (pl.col("sizes") == 1) & (pl.col("types") == 1)
    return homes.filter(~(right & whole & (pl.col("reference") == 1)))


@pytest.mark.parametrize("n", [1, 2, 3, 7, 1000])
def test_small_sizes(n: int) -> None:
    small = survey_frame(n, np.random.default_rng(3))
    assert small.height == n
    assert dict(small.schema) == SCHEMA
    assert flou.datasets.survey(n, rng=3).to_frame().equals(small)


@pytest.mark.parametrize("n", [0, -1, True, 1.5, "7", None])
def test_sizes_that_are_no_size_are_refused(n: Any) -> None:
    with pytest.raises(ParameterError, match="whole number of records"):
        flou.datasets.survey(n)


@pytest.mark.parametrize("rng", [-1, True, 0.5, "0", None])
def test_seeds_that_are_no_seed_are_refused(rng: Any) -> None:
    with pytest.raises(ParameterError, match="seed"):
        flou.datasets.survey(10, rng=rng)


def test_columns_and_roles(data: flou.Microdata, frame: pl.DataFrame) -> None:
    assert list(frame.schema.items()) == list(SCHEMA.items())
    schema = data.schema
    assert schema.keys == KEYS
    assert (schema.id, schema.household, schema.weight, schema.strata) == ("pid", "hid", "weight", ("stratum",))
    assert schema.sensitive == ("health", "income")
    assert set(schema.declared) == set(SCHEMA)
    assert data.marks.synthetic
    assert not {"pid", "hid"} & set(data.public().columns)


def test_same_seed_gives_the_same_file(frame: pl.DataFrame) -> None:
    assert flou.datasets.survey(20_000, rng=20).to_frame().equals(frame)
    assert flou.datasets.survey(20_000, rng=np.random.default_rng(20)).to_frame().equals(frame)
    assert not flou.datasets.survey(20_000, rng=21).to_frame().equals(frame)


def test_global_random_state_is_left_alone() -> None:
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    survey_frame(100, np.random.default_rng(0))
    assert np.array_equal(before, np.random.get_state()[1])  # noqa: NPY002


def test_numbers_are_unique_and_uninformative(frame: pl.DataFrame) -> None:
    pid, hid = frame["pid"].to_numpy(), frame["hid"].to_numpy()
    assert np.array_equal(np.sort(pid), np.arange(1, frame.height + 1))
    assert np.array_equal(np.unique(hid), np.arange(1, hid.max() + 1))
    for number in (pid, hid):
        for column in ("age", "size", "income", "weight"):
            assert abs(correlation(number, frame[column])) < 0.03, column
        assert abs(correlation(number, np.arange(frame.height))) < 0.03


def test_households_are_whole(frame: pl.DataFrame) -> None:
    assert broken_homes(frame).is_empty()
    shared = ["region", "urbanisation", "stratum", "weight"]
    assert frame.group_by("hid").agg(pl.col(shared).n_unique()).select(pl.col(shared).max()).row(0) == (1, 1, 1, 1)


@pytest.mark.parametrize("seed", range(30))
def test_a_household_cut_short_is_coherent(seed: int) -> None:
    cut = survey_frame(8, np.random.default_rng(seed))
    assert broken_homes(cut).is_empty()
    assert not [name for name, wrong in IMPOSSIBLE.items() if cut.filter(wrong).height]


def test_a_wrong_size_or_type_would_be_found(frame: pl.DataFrame) -> None:
    first_child = frame.filter(pl.col("relation") == "child")["pid"][0]
    assert broken_homes(frame.filter(pl.col("pid") != first_child)).height == 1
    assert not broken_homes(frame.with_columns(household_type=pl.lit("lone parent"))).is_empty()


def test_generations_and_couples(frame: pl.DataFrame) -> None:
    parents = frame.filter(pl.col("relation").is_in(["reference person", "partner"]))
    children = frame.filter(pl.col("relation") == "child")
    youngest_parent = parents.group_by("hid").agg(pl.min("age").alias("parent"))
    gap = children.join(youngest_parent, on="hid").select(pl.col("parent") - pl.col("age")).to_series()
    assert gap.len() == children.height
    assert gap.min() >= 18
    assert gap.max() <= 45
    assert frame.filter(pl.col("relation") == "partner")["age"].min() >= 18
    couples = parents.filter(pl.col("household_type").str.starts_with("couple"))
    other_sex = couples.group_by("hid").agg(pl.col("sex").n_unique() == 2)["sex"].mean()
    assert 0.97 < other_sex < 0.998
    known = couples.filter(pl.col("marital").is_not_null().all().over("hid"))
    assert known.group_by("hid").agg(((pl.col("marital") == "married").n_unique() == 1).alias("same"))["same"].all()


@pytest.mark.parametrize("rule", IMPOSSIBLE)
def test_no_record_is_incoherent(frame: pl.DataFrame, rule: str) -> None:
    assert frame.filter(IMPOSSIBLE[rule]).is_empty()


def test_no_record_violates_a_declared_rule(data: flou.Microdata, frame: pl.DataFrame) -> None:
    rules = data.schema.incoherent
    for rule in rules:
        assert frame.filter(pl.all_horizontal(pl.col(c) == v for c, v in rule.items())).is_empty(), rule
    assert {len(rule) for rule in rules} == {2, 3}
    assert {frozenset(rule) for rule in rules} == {
        frozenset(columns)
        for columns in (
            ("age", "marital"),
            ("age", "activity"),
            ("activity", "occupation"),
            ("age", "size"),
            ("age", "size", "activity"),
        )
    }


def test_declared_rules_forbid_what_the_test_calls_impossible(data: flou.Microdata) -> None:
    """On every combination of the keys in rules: impossible exactly where a rule, or two together, forbid it."""
    modalities = data.declared_modalities
    wanted = ("marital", "activity", "occupation")
    space = pl.DataFrame(
        list(itertools.product(range(101), (1, 2), *(modalities[c] for c in wanted))),
        schema=["age", "size", *wanted],
        orient="row",
    )
    ruled = pl.any_horizontal(
        pl.all_horizontal(pl.col(c) == v for c, v in rule.items()) for rule in data.schema.incoherent
    )
    outside = ("education", "degree", "income", "office")
    said = pl.any_horizontal(e for name, e in IMPOSSIBLE.items() if not any(word in name for word in outside))
    assert space.filter(ruled != said).is_empty()


def test_the_rule_on_three_variables_needs_all_three(large: pl.DataFrame) -> None:
    alone, jobless = pl.col("size") == 1, without_work
    assert large.filter(minor & alone).height > 20
    assert large.filter(minor & jobless).height > 1_000
    assert large.filter(alone & jobless).height > 1_000
    assert set(large.filter(minor & alone)["activity"].drop_nulls()) == {"employed"}


def test_every_record_has_a_coherent_completion(data: flou.Microdata, frame: pl.DataFrame) -> None:
    free = ("marital", "activity", "occupation")
    rules = data.schema.incoherent
    keys = frame.filter(pl.any_horizontal(pl.col(c).is_null() for c in free)).select("age", "size", *free).unique()
    assert keys.height > 300
    modalities = data.declared_modalities
    for key in keys.iter_rows(named=True):
        choices = [[key[c]] if key[c] is not None else modalities[c] for c in free]
        completions = ({**key, **dict(zip(free, values, strict=True))} for values in itertools.product(*choices))
        about = [r for r in rules if all(c in free or key[c] == v for c, v in r.items())]
        assert any(not any(all(c[k] == v for k, v in r.items()) for r in about) for c in completions), key


def test_an_incoherent_record_would_be_refused(data: flou.Microdata, frame: pl.DataFrame) -> None:
    spoilt = frame.with_columns(marital=pl.when(pl.col("age") == 5).then(pl.lit("married")).otherwise("marital"))
    with pytest.raises(DataError, match="no coherent completion"):
        flou.risk.KAnonymity(k=2).measure(flou.Microdata(spoilt, schema=data.schema))


def test_only_open_questions_have_nulls(frame: pl.DataFrame) -> None:
    nulls = frame.null_count().row(0, named=True)
    assert {name for name, count in nulls.items() if count} == OPEN_QUESTIONS
    for question in OPEN_QUESTIONS:
        assert 0.02 <= nulls[question] / frame.height <= 0.06, question


@pytest.mark.parametrize("question", sorted(OPEN_QUESTIONS))
def test_silence_is_not_at_random(large: pl.DataFrame, question: str) -> None:
    silent = pl.col(question).is_null()
    rate = dict(large.group_by("urbanisation").agg(silent.mean()).iter_rows())
    assert rate["city"] > 1.6 * rate["rural"]
    # a household with one silent member has others more often than the average household
    adults = large.filter(~child & (pl.col("size") == 2)).with_columns(
        n=silent.sum().over("hid"), of=pl.len().over("hid")
    )
    pairs = adults.filter(pl.col("of") == 2)
    assert share(pairs, pl.col("n") == 2) > 1.5 * share(pairs, silent) ** 2


def test_questions_that_do_not_apply_are_not_left_open(frame: pl.DataFrame) -> None:
    assert frame.filter(child).select("marital", "education", "activity", "occupation").null_count().row(0) == (0,) * 4
    assert frame.filter(without_work)["occupation"].null_count() == 0
    assert (
        0.6 < frame.filter(pl.col("activity").is_null())["occupation"].null_count() / frame["activity"].null_count() < 1
    )


def test_weights_are_calibrated(frame: pl.DataFrame) -> None:
    assert math.isclose(frame["weight"].sum(), POPULATION, rel_tol=1e-9)
    assert frame.group_by("stratum").agg(pl.col("weight").n_unique())["weight"].max() == 1
    assert frame["stratum"].n_unique() == 39
    sizes = frame.select(pl.col("stratum").str.extract(r" (\S+)$"), klass=pl.col("size").clip(upper_bound=3))
    assert set(sizes.unique().rows()) == {("1", 1), ("2", 2), ("3+", 3)}
    assert frame.select(pl.col("stratum").str.starts_with(pl.col("region")).all()).item()
    # the small regions are over-represented, and persons alone are not
    by_region = dict(frame.group_by("region").agg(pl.sum("weight") / pl.len()).iter_rows())
    assert by_region["Dunmere"] > 2.5 * by_region["Norrisle"]
    alone = share(frame, pl.col("size") == 1)
    assert frame.filter(pl.col("size") == 1)["weight"].sum() / POPULATION > alone + 0.01


@pytest.mark.parametrize("n", [1, 7, 1000])
def test_weights_of_small_samples_cover_the_country(n: int) -> None:
    weight = survey_frame(n, np.random.default_rng(n))["weight"]
    assert math.isclose(weight.sum(), POPULATION, rel_tol=1e-9)
    assert weight.min() > 0


@pytest.mark.parametrize(
    ("condition", "low", "high"),
    [
        (pl.col("sex") == "F", 0.50, 0.55),
        (child, 0.16, 0.21),
        (pl.col("age") >= 65, 0.16, 0.22),
        (pl.col("age") >= 90, 0.003, 0.012),
        (pl.col("size") == 1, 0.14, 0.19),
        (pl.col("size") >= 6, 0.02, 0.07),
        (pl.col("urbanisation") == "city", 0.28, 0.40),
        (pl.col("birth") == "this country", 0.83, 0.92),
        (pl.col("marital") == "widowed", 0.025, 0.06),
        (pl.col("activity") == "employed", 0.38, 0.47),
        (pl.col("activity") == "unemployed", 0.03, 0.06),
        (pl.col("health").is_in(["bad", "very bad"]), 0.05, 0.11),
    ],
)
def test_marginals(frame: pl.DataFrame, condition: pl.Expr, low: float, high: float) -> None:
    assert low < share(frame, condition) < high


def test_ages_do_not_heap(large: pl.DataFrame) -> None:
    assert (large["age"].min(), large["age"].max()) == (0, 100)
    counts = np.bincount(large["age"].to_numpy())[:85]
    assert (np.abs(np.diff(counts)) < 0.25 * counts[:-1]).all()


def test_answers_depend_on_each_other(frame: pl.DataFrame) -> None:
    prime = frame.filter(pl.col("age").is_between(25, 54))
    assert 0.75 < share(prime, pl.col("activity") == "employed") < 0.90
    assert share(frame.filter(pl.col("age") >= 75), pl.col("activity") == "employed") < 0.01
    old = frame.filter(pl.col("age") >= 75)
    widowed = {sex: share(old.filter(pl.col("sex") == sex), pl.col("marital") == "widowed") for sex in ("F", "M")}
    assert widowed["F"] > 1.5 * widowed["M"]
    workers = frame.filter(pl.col("activity") == "employed")
    degree = workers.filter(pl.col("education") == "degree")["income"].median()
    assert degree > 1.3 * workers.filter(pl.col("education") == "lower secondary or less")["income"].median()
    ill = pl.col("health").is_in(["bad", "very bad"])
    assert share(old, ill) > 3 * share(prime, ill)


def test_income_is_skewed_and_shared_in_households(frame: pl.DataFrame) -> None:
    income = frame.filter(~child)["income"].to_numpy()
    assert (income >= 0).all()
    assert (income % 10 == 0).all()
    assert 13_000 < np.median(income) < 20_000
    assert (((income - income.mean()) / income.std()) ** 3).mean() > 3
    assert 0.03 < (income == 0).mean() < 0.15
    couples = frame.filter((pl.col("household_type") == "couple without children") & (pl.col("income") > 0))
    pairs = couples.group_by("hid", maintain_order=True).agg("income").filter(pl.col("income").list.len() == 2)
    first, second = (np.log(pairs["income"].list.get(i).to_numpy()) for i in (0, 1))
    assert 0.1 < correlation(first, second) < 0.7


def test_hierarchies(data: flou.Microdata, frame: pl.DataFrame) -> None:
    trees = data.schema.hierarchies
    assert set(trees) == {"region", "age", "size", "occupation"}
    assert len(set(trees["region"].generalise(frame["region"].unique(), 1).values())) == 5
    groups = trees["occupation"].generalise(frame["occupation"].drop_nulls().unique(), "occupation group", keep=[NONE])
    assert len(set(groups.values())) == 5
    assert trees["age"].generalise([14, 15], "age5") == {14: "10-14", 15: "15-19"}
    assert set(trees["size"].generalise(range(1, 9), 1).values()) == {"1", "2", "3-4", "5+"}


def test_rules_survive_recoding_where_they_still_hold(data: flou.Microdata) -> None:
    recoded = flou.protect.Recode("age", level="age5").protect(data)
    rules = [dict(rule) for rule in recoded.data.schema.incoherent]
    assert {"age": "10-14", "marital": "married"} in rules
    assert not any(rule.get("age") == "15-19" and "size" in rule for rule in rules)
    assert flou.risk.KAnonymity(k=2).measure(recoded.data).value < flou.risk.KAnonymity(k=2).measure(data).value


def test_k_anonymity_in_every_sense_of_missing() -> None:
    small = flou.datasets.survey(2_000)
    value = {missing: flou.risk.KAnonymity(k=3, missing=missing).measure(small).value for missing in MISSING}
    assert value["orthodox"] <= value["optimistic"] <= value["pessimistic"]
    assert value["conservative"] <= value["category"]
    assert min(value.values()) > 0.5
    assert max(value.values()) <= 1


def test_key_space_fits_in_memory(data: flou.Microdata) -> None:
    space = KeySpace(data.key_table(KEYS), KEYS, (), data.declared_modalities, data.schema.incoherent)
    assert space.free == ("marital", "activity", "occupation")
    assert math.prod(space.shape) < MAX_CELLS / 10


def test_a_million_records_in_seconds() -> None:
    start = time.process_time()
    assert survey_frame(1_000_000, np.random.default_rng(0)).height == 1_000_000
    assert time.process_time() - start < 12
