"""Methods with wrong parameters, or asked of data that they cannot serve."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import polars as pl
import pytest

import flou
from flou.decide.rule import Bounds, Rule
from flou.decide.verdict import Decision

K, P = flou.risk.KAnonymity, flou.protect
SECRET = flou.Secret(bytes(range(32)))

MADE: dict[str, Callable[[], Any]] = {
    "k of zero": lambda: K(k=0),
    "negative k": lambda: K(k=-1),
    "k as a text": lambda: K(k="3"),
    "k as a boolean": lambda: K(k=True),
    "k as a float": lambda: K(k=3.0),
    "k of nothing": lambda: K(k=None),
    "no k": lambda: K(),
    "two positions": lambda: K(3, "orthodox"),
    "k twice": lambda: K(3, k=3),
    "unknown parameter": lambda: K(k=3, kk=3),
    "unknown word": lambda: K(k=3, missing="pesimistic"),
    "no stratum": lambda: K(k=3, by=[]),
    "stratum as a number": lambda: K(k=3, by=3),
    "recode without a target": lambda: P.Recode("age"),
    "recode to two targets": lambda: P.Recode("age", level=1, mapping={"a": "b"}),
    "recode to level 0": lambda: P.Recode("age", level=0),
    "recode to a negative level": lambda: P.Recode("age", level=-1),
    "recode to half a level": lambda: P.Recode("age", level=1.5),
    "recode to a boolean": lambda: P.Recode("age", level=True),
    "recode of a number": lambda: P.Recode(3, level=1),
    "recode by a list": lambda: P.Recode("sex", mapping=["F"]),
    "recode by a text": lambda: P.Recode("sex", mapping="F"),
    "recode to null": lambda: P.Recode("sex", mapping={"F": None}),
    "recode from null": lambda: P.Recode("sex", mapping={None: "x", "F": "x", "M": "x"}),
    "recode to a list": lambda: P.Recode("sex", mapping={"F": ["x"]}),
    "recode to no number": lambda: P.Recode("sex", mapping={"F": math.nan, "M": 1.0}),
    "recode of one value twice": lambda: P.Recode("age", mapping={1: "a", "1": "b"}),
    "recode by nothing": lambda: P.Recode("sex", mapping={}),
    "top code without a bound": lambda: P.TopCode("income"),
    "top code with two bounds": lambda: P.TopCode("income", at=1, quantile=0.5),
    "top code at a text": lambda: P.TopCode("income", at="9"),
    "top code at a boolean": lambda: P.TopCode("income", at=True),
    "top code at no number": lambda: P.TopCode("income", at=math.nan),
    "top code at infinity": lambda: P.TopCode("income", at=math.inf),
    "bottom code at infinity": lambda: P.BottomCode("income", at=-math.inf),
    "top code at the whole": lambda: P.TopCode("income", quantile=1.0),
    "top code at nothing": lambda: P.TopCode("income", quantile=0.0),
    "top code at no quantile": lambda: P.TopCode("income", quantile=math.nan),
    "top code in units of zero": lambda: P.TopCode("income", quantile=0.5, unit=0),
    "top code in infinite units": lambda: P.TopCode("income", quantile=0.5, unit=math.inf),
    "top code in units of a given bound": lambda: P.TopCode("income", at=3, unit=5),
    "top code below its bound": lambda: P.TopCode("income", at=3, replacement=2),
    "top code shown as no number": lambda: P.TopCode("income", at=3, replacement=math.nan),
    "bottom code above its bound": lambda: P.BottomCode("income", at=3, replacement=4),
    "drop without a measure": lambda: P.DropRecords(),
    "drop by a number": lambda: P.DropRecords(3),
    "drop by a name": lambda: P.DropRecords("k_anonymity"),
    "drop by a protection": lambda: P.DropRecords(P.DropIdentifiers()),
    "drop by a class": lambda: P.DropRecords(K),
    "drop by an unknown measure": lambda: P.DropRecords({"method": "k_anonymty", "k": 3}),
    "drop by a measure without a name": lambda: P.DropRecords({"k": 3}),
    "drop by a wrong measure": lambda: P.DropRecords({"method": "k_anonymity", "settings": {"k": 2}, "kk": 3}),
    "drop more than all": lambda: P.DropRecords(K(k=2), max_share=1.5),
    "drop a share that is no number": lambda: P.DropRecords(K(k=2), max_share=math.nan),
    "drop a share as a text": lambda: P.DropRecords(K(k=2), max_share="0.1"),
    "drop identifiers by name": lambda: P.DropIdentifiers(columns=["name"]),
    "drop identifiers by position": lambda: P.DropIdentifiers("name"),
    "plan of nothing": lambda: flou.Plan(None),  # type: ignore[arg-type]
    "plan of one step": lambda: flou.Plan(P.DropIdentifiers()),  # type: ignore[arg-type]
    "plan of measures": lambda: flou.Plan([K(k=2)]),  # type: ignore[list-item]
    "plan of classes": lambda: flou.Plan([P.DropIdentifiers]),  # type: ignore[list-item]
    "plan of tables": lambda: flou.Plan([{"method": "recode"}]),  # type: ignore[list-item]
    "plan of a text": lambda: flou.Plan("recode"),  # type: ignore[arg-type]
    "plan with one measure": lambda: flou.Plan([], measures=K(k=2)),  # type: ignore[arg-type]
    "plan with data as a text": lambda: flou.Plan([], data="people.csv"),  # type: ignore[arg-type]
    "plan with a secret in it": lambda: flou.Plan([], secrets=SECRET),  # type: ignore[arg-type]
    "plan with a policy as a text": lambda: flou.Plan([], policy="office.toml"),  # type: ignore[arg-type]
    "plan with an output as a text": lambda: flou.Plan([], output="csv"),  # type: ignore[arg-type]
    "plan with a title as a number": lambda: flou.Plan([], title=3),  # type: ignore[arg-type]
    "policy without a rule": lambda: flou.Policy(rules=[]),
    "policy of nothing": lambda: flou.Policy(rules=None),
    "policy of one rule": lambda: flou.Policy(rules={"method": "k_anonymity"}),
    "policy of numbers": lambda: flou.Policy(rules=[3]),
    "policy that shows zero": lambda: flou.Policy(rules=[_rule()], min_count=0),
    "policy with an unknown word": lambda: flou.Policy(rules=[_rule()], mincount=3),
    "rule without a bound": lambda: Rule(method="k_anonymity", settings={"k": 2}),
    "rule with two bounds": lambda: Rule(
        method="k_anonymity", settings={"k": 2}, at_most={"release": 0.0}, at_least={"release": 0.0}
    ),
    "rule with its bounds in the wrong order": lambda: Rule(
        method="k_anonymity", settings={"k": 2}, at_most={"release": 0.5, "review": 0.1}
    ),
    "rule with a bound as a list": lambda: Rule(method="k_anonymity", settings={"k": 2}, at_most=[0, 1]),
    "bound as a text": lambda: Bounds(release="0"),
    "bound that is no number": lambda: Bounds(release=math.nan),
    "review bound that is no number": lambda: Bounds(release=0.0, review=math.nan),
}


def _rule() -> Rule:
    return Rule(method="k_anonymity", settings={"k": 2}, at_most={"release": 0.0})


@pytest.mark.parametrize("case", list(MADE))
def test_wrong_parameters_are_refused_when_the_object_is_made(case: str) -> None:
    with pytest.raises(flou.FlouError) as caught:
        MADE[case]()
    assert len(str(caught.value)) > 15
    assert "pydantic" not in str(caught.value)


@pytest.mark.parametrize(
    "call, word",
    [
        (lambda: K(k=3, mising="category"), "Did you mean 'missing'"),
        (lambda: P.Recode("age", levle=1), "Did you mean 'level'"),
        (lambda: P.TopCode("age", quantil=0.5), "Did you mean 'quantile'"),
        (lambda: P.DropRecords(K(k=2), max_shar=1.0), "Did you mean 'max_share'"),
        (lambda: Rule(method="k_anonymity", settings={"k": 2}, at_mos={"release": 0.0}), "Did you mean 'at_most'"),
    ],
)
def test_a_misspelt_parameter_suggests_the_nearest(call: Callable[[], Any], word: str) -> None:
    with pytest.raises(flou.FlouError, match=word):
        call()


def test_messages_are_not_the_validators_own() -> None:
    """«it should be Value should have at least 1 item after validation» is no sentence."""
    for call in (lambda: K(k=3, by=[]), lambda: flou.Policy(rules=[]), lambda: P.Recode("s", mapping={"F": None})):
        with pytest.raises(flou.FlouError) as caught:
            call()
        assert "after validation" not in str(caught.value)
        assert "valid boolean" not in str(caught.value), "the first member of a union is not the only one allowed"


DATA: dict[str, tuple[Callable[[flou.Microdata], Any], str]] = {
    "k larger than the file": (lambda d: K(k=11).measure(d), "larger than the file"),
    "k far larger than the file": (lambda d: K(k=10**18).measure(d), "larger than the file"),
    "drop with k larger than the file": (lambda d: P.DropRecords(K(k=11)).protect(d), "larger than the file"),
    "strata that are not there": (lambda d: K(k=2, by="sexe").measure(d), "Did you mean 'sex'"),
    "measure against": (lambda d: K(k=2).measure(d, against=d), "against"),
    "measure with counts": (lambda d: K(k=2).measure(d, counts=3), "counts"),
    "recode what is not there": (lambda d: P.Recode("agee", level=1).protect(d), "Did you mean 'age'"),
    "recode without a hierarchy": (lambda d: P.Recode("sex", level=1).protect(d), "no hierarchy"),
    "recode past the root": (lambda d: P.Recode("age", level=9).protect(d), "outside 0 to 3"),
    "recode to an unknown level": (lambda d: P.Recode("age", level="decade").protect(d), "no level named"),
    "recode that misses values": (lambda d: P.Recode("sex", mapping={"F": "x"}).protect(d), "misses 1 values: 'M'"),
    "recode to a number too large": (lambda d: P.Recode("sex", mapping={"F": 2**80, "M": 1}).protect(d), ""),
    "top code of text": (lambda d: P.TopCode("sex", at=3).protect(d), "numeric"),
    "top code of what is not there": (lambda d: P.TopCode("incom", at=3).protect(d), "Did you mean 'income'"),
    "half a bound on whole numbers": (lambda d: P.TopCode("age", at=50.5).protect(d), "whole numbers"),
    "half a unit on whole numbers": (lambda d: P.TopCode("age", quantile=0.5, unit=0.7).protect(d), "whole numbers"),
    "replacement too large": (lambda d: P.TopCode("age", at=50, replacement=10**30).protect(d), "too large"),
    "drop every record": (lambda d: P.DropRecords(K(k=9, missing="category")).protect(d), "every record"),
    "drop too many": (
        lambda d: P.DropRecords(K(k=6, missing="category", by="sex"), max_share=0.1).protect(
            P.Recode("age", level=2).protect(d)
        ),
        "",
    ),
    "secret as a text": (lambda d: P.DropIdentifiers().protect(d, secret="abc"), "flou.Secret"),  # type: ignore[arg-type]
    "secret as bytes": (lambda d: P.DropIdentifiers().protect(d, secret=b"a" * 32), "flou.Secret"),  # type: ignore[arg-type]
    "secret as a boolean": (lambda d: P.DropIdentifiers().protect(d, secret=True), "flou.Secret"),
    "secret as a float": (lambda d: P.DropIdentifiers().protect(d, secret=1.5), "flou.Secret"),  # type: ignore[arg-type]
    "progress that cannot be called": (lambda d: flou.Plan([]).protect(d, progress=3), "progress"),  # type: ignore[arg-type]
    "report of nothing": (lambda d: flou.Report(None, None), "Report takes"),  # type: ignore[arg-type]
    "report with one result": (
        lambda d: flou.Report(d, flou.Plan([]).protect(d), results=K(k=2).measure(d)),  # type: ignore[arg-type]
        "results=",
    ),
    "report with no results": (
        lambda d: flou.Report(d, flou.Plan([]).protect(d), results=None),  # type: ignore[arg-type]
        "results=",
    ),
    "report with a verdict as a text": (
        lambda d: flou.Report(d, flou.Plan([]).protect(d), verdict="RELEASE").html(),  # type: ignore[arg-type]
        "verdict",
    ),
    "report in another language": (lambda d: flou.Report(d, flou.Plan([]).protect(d)).html(language="de"), "en or fr"),
    "report for nobody": (
        lambda d: flou.Report(d, flou.Plan([]).protect(d)).html(audience="all"),  # type: ignore[arg-type]
        "internal or public",
    ),
}


@pytest.mark.parametrize("case", list(DATA))
def test_what_the_data_do_not_allow_is_refused(case: str, people: flou.Microdata) -> None:
    call, word = DATA[case]
    with pytest.raises(flou.FlouError) as caught:
        call(people)
    assert word in str(caught.value)


def test_dropping_every_record_is_infeasible_and_says_what_to_try(people: flou.Microdata) -> None:
    with pytest.raises(flou.Infeasible) as caught:
        P.DropRecords(K(k=6, missing="category")).protect(people)
    assert "Recode" in caught.value.next_step
    assert "max_share" not in str(caught.value), "a larger share would not help"


@pytest.mark.parametrize("data", [None, pl.DataFrame({"a": [1]}), "people.csv", 3, flou.Microdata])
def test_verbs_take_microdata_alone(data: Any) -> None:
    for call in (
        lambda: K(k=1).measure(data),
        lambda: P.DropIdentifiers().protect(data),
        lambda: flou.Plan([]).protect(data),
    ):
        with pytest.raises(flou.FlouError, match="Microdata"):
            call()


def test_no_keys_no_count() -> None:
    with pytest.raises(flou.FlouError, match="No keys are declared"):
        K(k=1).measure(flou.Microdata(pl.DataFrame({"a": [1]})))


@pytest.mark.parametrize("dtype", [pl.Int8, pl.UInt8, pl.Int64, pl.Float64])
@pytest.mark.parametrize(
    "method",
    [
        P.TopCode("a", at=300),
        P.TopCode("a", at=100, replacement=999),
        P.BottomCode("a", at=-300),
        P.BottomCode("a", at=5, replacement=-1),
    ],
    ids=["at 300", "shown as 999", "at -300", "shown as -1"],
)
def test_bounds_that_the_type_cannot_hold(method: Any, dtype: Any) -> None:
    """Coded as asked, or refused; never an error of the engine."""
    data = flou.Microdata(pl.DataFrame({"a": pl.Series([1, 50, 127], dtype=dtype)}))
    try:
        release = method.protect(data, secret=SECRET)
    except flou.FlouError as error:
        assert "'a'" in str(error) or "bound" in str(error)
        return
    values = release.data.to_frame()["a"].to_list()
    assert release.data.to_frame()["a"].null_count() == 0
    bound, shown = method.at, method.at if method.replacement is None else method.replacement
    top = isinstance(method, P.TopCode)
    expected = sorted(shown if (v > bound if top else v < bound) else v for v in (1, 50, 127))
    assert sorted(values) == expected


# a policy that is asked the wrong thing never releases


def test_judging_what_is_no_result(people: flou.Microdata) -> None:
    policy = flou.Policy(rules=[_rule()])
    things: list[Any] = [None, "result", [K(k=2).measure(people)], people]
    for thing in things:
        with pytest.raises(flou.FlouError):
            policy.judge(thing)
    assert policy.judge().decision is Decision.WITHHOLD


def test_a_figure_that_the_method_does_not_have() -> None:
    with pytest.raises(flou.FlouError, match="Did you mean 'k'"):
        Rule(method="k_anonymity", settings={"k": 2}, figure="kk", at_least={"release": 3})


def test_what_was_measured_before_protection_releases_nothing(people: flou.Microdata) -> None:
    policy = flou.Policy(rules=[Rule(method="k_anonymity", settings={"k": 2}, at_most={"release": 0.5})])
    assert policy.judge(K(k=2).measure(people)).decision is Decision.WITHHOLD


def test_a_test_seed_releases_nothing(people: flou.Microdata) -> None:
    policy = flou.Policy(rules=[Rule(method="k_anonymity", settings={"k": 2}, at_most={"release": 0.5})])
    release = flou.Plan([]).protect(people, secret=7)
    assert policy.judge(K(k=2).measure(release)).decision is Decision.WITHHOLD
    again = flou.Plan([]).protect(release, secret=SECRET)
    assert policy.judge(K(k=2).measure(again)).decision is Decision.WITHHOLD, "a real secret does not mend it"


def test_a_test_seed_cannot_be_left_out_of_the_judgement(people: flou.Microdata) -> None:
    policy = flou.Policy(rules=[Rule(method="k_anonymity", settings={"k": 2}, at_most={"release": 0.5})])
    release = flou.Plan([]).protect(people, secret=7)
    assert policy.judge(K(k=2).measure(release.data)).decision is Decision.WITHHOLD
