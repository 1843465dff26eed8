"""The report: both languages, both audiences, and what the public never sees."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from tests.contracts.cases import people
from tests.reporting.messages import gather
from tests.reporting.written import reading

import flou
from flou.decide.verdict import Decision
from flou.engine.comparison import range_text
from flou.engine.note import Note
from flou.engine.sense import MISSING
from flou.engine.words import LANGUAGES, Words, _catalogue
from flou.protect.micro.lattice.picture import STATUS
from flou.protect.micro.lattice.quality import QUALITY_LABELS
from flou.reporting.sections.glossary import glossary
from flou.reporting.sections.risk import _FILES
from flou.reporting.sections.utility import _EXPECTED
from flou.risk.micro.senses import count_ways

SECRET = flou.Secret(bytes(range(32)))
K = flou.risk.KAnonymity


def _report(**kwargs: Any) -> flou.Report:
    data = people()
    plan = flou.Plan([flou.protect.DropIdentifiers(), flou.protect.Recode("age", level=1)])
    release = plan.protect(data, secret=kwargs.pop("secret", SECRET))
    results = [K(k=3).measure(data), K(k=3).measure(release)]
    policy = flou.Policy(
        rules=[{"method": "k_anonymity", "settings": {"k": 3}, "at_most": {"release": 0.0, "review": 0.9}}], min_count=5
    )
    return flou.Report(data, release, results=results, verdict=policy.judge(*results, release), **kwargs)


class _Page(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.words: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: object) -> None:
        if tag not in ("meta", "br", "img", "link", "hr"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if "style" not in self.open and "svg" not in self.open:
            self.words.append(data)


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("audience", ["internal", "public"])
def test_well_formed_and_self_contained(language: str, audience: Any) -> None:
    html = _report().html(language=language, audience=audience)
    page = _Page(html)
    assert not page.open
    assert "<script" not in html
    assert not re.search(r"""(?:src|href)\s*=\s*["'](?!\#)""", re.sub(r"<svg.*?</svg>", "", html, flags=re.S))
    assert f'<html lang="{language}">' in html
    assert html.count("<svg") == (3 if audience == "internal" else 1)


def test_the_same_report_twice_is_the_same_bytes() -> None:
    assert _report().html(language="fr") == _report().html(language="fr")


def test_french_is_french() -> None:
    text = " ".join(_Page(_report().html(language="fr")).words)
    for english in ("records", "share of", "Before", "undetermined", "release", "Glossary", "The file"):
        assert english not in text.replace("release =", ""), english
    for french in (
        "quasi-identifiant",
        "k-anonymat",
        "pessimiste (PESA)",
        "Examiner",
        "non déterminées",
        "recodage global",
    ):
        assert french in text, french
    assert re.search(r"\d,\d+\u202f%", text)


def test_public_version_hides_the_original_keys_and_small_counts() -> None:
    html = _report().html(audience="public")
    text = " ".join(_Page(html).words)
    for hidden in ("pid", "name:", " hid ", "Before", "most exposed"):
        assert hidden not in text.split("Glossary")[1].split("Parameters")[0], hidden
    data = people()
    release = flou.protect.Recode("age", level=1).protect(data, secret=SECRET)
    rare = K(k=3).measure(release)
    assert 0 < rare.k < 5
    smallest = text.split("smallest frequency of a key")[1].split()[:2]
    assert smallest == ["<", "5"]


def test_small_counts_and_shares_are_masked_in_public_alone() -> None:
    data = people()
    release = flou.Plan().protect(data, secret=SECRET)
    public, internal = (reading(data, release, public=p)[1] for p in (True, False))
    assert [public.count(n) for n in (0, 1, 2, 3)] == ["0", "< 3", "< 3", "3"]
    assert internal.count(1) == "1"
    assert public.share(1 / 1000, 1000) == "< 0.30%"
    assert public.share(3 / 1000, 1000) == "0.30%"
    assert internal.share(1 / 1000, 1000) == "0.10%"


def test_secrets_never_show() -> None:
    html = _report().html()
    assert bytes(range(32)).hex() not in html
    assert "replayed" not in html
    assert "test seed" in _report(secret=4).html()


def test_every_text_has_its_french() -> None:
    texts = gather() | set(MISSING) | {"identifier", "id", "key", "sensitive", "weight", "household", "stratum"}
    texts |= {"integer", "number", "text", "boolean", "date", *STATUS, *QUALITY_LABELS.values(), *_EXPECTED.values()}
    texts |= {"correlation", "correlation ratio", "Cramér's V"}
    texts |= {decision.name.capitalize() for decision in Decision}
    texts |= {text for texts_of_file in _FILES.values() for text in texts_of_file}
    french = _catalogue("fr")
    assert not sorted(texts - set(french))
    for english, translated in french.items():
        assert set(re.findall(r"{(\w+)}", english)) == set(re.findall(r"{(\w+)}", translated)), english
        assert not re.search(r"[^\s\u00a0\u202f][;:!?](?:\s|$)", translated.replace("://", "")), translated


def test_a_sample_shows_its_frame_in_both_languages() -> None:
    data = people()
    recode = flou.protect.Recode("age", level=1)
    release = flou.Plan([recode, flou.protect.Sample(share=0.5)]).protect(data, secret=SECRET, period="2026")
    results = [K(k=3).measure(d) for d in (data, release.data.kin.frame, release)]
    report = flou.Report(data, release, results=results)
    shown = {
        "en": (
            "Frame",
            "Before the sample was drawn",
            "its design is secret",
            "checked on the file that the sample was drawn from",
        ),
        "fr": (
            "Base de sondage",
            "Avant le tirage de l’échantillon",
            "son plan de sondage est secret",
            "vérifiées sur la base de sondage",
        ),
    }
    for language, words in shown.items():
        html = report.html(language=language)
        assert not [word for word in words if word not in html]
        assert {"en": "share = hidden", "fr": "share = masqué"}[language] in html


def test_glossary_in_both_languages() -> None:
    english, french = ({t.code: t for t in glossary(language)} for language in LANGUAGES)
    assert english.keys() == french.keys()
    assert french["local_suppression"].name.startswith("blanchiment")
    assert french["primary_suppression"].name == "secret primaire"
    assert all(t.definition for t in (*english.values(), *french.values()))


def test_numbers_follow_the_language() -> None:
    english, french = Words("en"), Words("fr")
    assert english.number(1234567) == "1,234,567"
    assert french.number(1234567) == "1\u202f234\u202f567"
    assert [english.share(x) for x in (0, 0.5, 0.0123, 0.001, 0.00004, 0.000001)] == [
        "0%", "50.0%", "1.2%", "0.10%", "0.004%", "< 0.001%",
    ]  # fmt: skip
    assert french.share(0.125) == "12,5\u202f%"
    with pytest.raises(flou.FlouError, match="en or fr"):
        Words("de")


def test_parameters_follow_the_language() -> None:
    held = {"V": 2.5, "sizes": (1, 1000), "I": None, "inner": {"method": "k_anonymity", "k": 3, "t": 1e-9}}
    english, french = Words("en"), Words("fr")
    assert english.settings(held) == "V = 2.5, sizes = [1, 1,000], inner = k_anonymity(k = 3, t = 1e-09)"
    assert french.settings(held) == (
        "V = 2,5\u202f; sizes = [1\u202f; 1\u202f000]\u202f; inner = k_anonymity(k = 3\u202f; t = 1e-09)"
    )
    note = Note("no record is flagged by {method} ({settings})", {"method": "k-anonymity", "settings": {"t": 0.5}})
    assert str(note) == "no record is flagged by k-anonymity (t = 0.5)"
    assert "(t = 0,5)" in french.note(note)


def test_classes_of_counts_follow_the_language() -> None:
    assert range_text("≥ 1000", Words("fr")) == "≥ 1\u202f000"
    assert range_text("100–999", Words("fr")) == "100–999"
    assert range_text("≥ 1000", Words("en")) == "≥ 1000"


def test_saved_once(tmp_path: Path) -> None:
    path = _report(title="A title <b>").save(tmp_path / "r.html", language="fr")
    assert "A title &lt;b&gt;" in path.read_text(encoding="utf-8")
    with pytest.raises(flou.FlouError, match="exists"):
        _report().save(path)
    with pytest.raises(flou.FlouError, match="audience"):
        _report().html(audience="everybody")  # type: ignore[arg-type]


def test_values_of_the_data_are_escaped() -> None:
    frame = pl.DataFrame({"a": ["<script>alert(1)</script>", "b", "b"]})
    data = flou.Microdata(frame, keys=["a"])
    release = flou.Plan().protect(data, secret=SECRET)
    html = flou.Report(data, release, results=[K(k=2).measure(release)]).html()
    assert "<script>" not in html
    assert "&lt;script&gt;" in html


def test_decoys_are_warned_of() -> None:
    """Wholly undetermined records make any file k-anonymous in the wildcard senses; the report says so."""
    frame = pl.DataFrame({"a": ["x", "y", None, None], "b": [1, 2, None, None]})
    data = flou.Microdata(frame, keys=["a", "b"])
    result = K(k=3, missing="orthodox").measure(data)
    assert result.value == 0
    assert "2 records have every key undetermined" in str(result.notes[0])
    assert "2 further records" in str(result.notes[0])
    assert not K(k=3, missing="category").measure(data).notes
    html = flou.Report(data, flou.Plan().protect(data, secret=SECRET), results=[result]).html(language="fr")
    assert "toute leur clé non déterminée" in html


def test_values_and_columns_are_shown_by_their_labels() -> None:
    people = flou.Microdata(
        pl.DataFrame({"sex": ["F", "M", "M"]}),
        keys=["sex"],
        labels={"sex": {"en": "Sex", "fr": "Sexe"}},
        value_labels={"sex": {"F": {"en": "women", "fr": "femmes"}}},
    )
    release = flou.Plan().protect(people, secret=SECRET)
    html = flou.Report(people, release, results=[K(k=2).measure(release)]).html(language="fr")
    assert "femmes" in html
    assert "Sexe" in html


def test_the_public_sees_no_value_of_the_original() -> None:
    people = flou.Microdata(pl.DataFrame({"job": ["astronaut", "clerk", "clerk"]}), keys=["job"])
    release = flou.protect.Recode("job", mapping={"astronaut": "other", "clerk": "other"}).protect(
        people, secret=SECRET
    )
    result = K(k=2).measure(release)
    policy = flou.Policy(rules=[{"method": "k_anonymity", "settings": {"k": 2}, "at_most": {"release": 0.0}}])
    report = flou.Report(people, release, results=[result], verdict=policy.judge(result, release))
    assert "astronaut" in report.html()
    assert "astronaut" not in report.html(audience="public")


def test_a_public_page_needs_a_verdict_on_this_very_release() -> None:
    people = flou.Microdata(pl.DataFrame({"a": [1] * 50 + [2]}), keys=["a"])
    policy = flou.Policy(rules=[{"method": "k_anonymity", "settings": {"k": 3}, "at_most": {"release": 0.0}}])
    bad = flou.Plan().protect(people, secret=1)
    good = flou.protect.DropRecords(K(k=3)).protect(people, secret=SECRET)
    result = K(k=3).measure(good)
    with pytest.raises(flou.FlouError, match="another"):
        flou.Report(people, bad, results=[result], verdict=policy.judge(result))
    with pytest.raises(flou.FlouError, match="another"):
        flou.Report(people, bad, verdict=policy.judge(result))
    with pytest.raises(flou.FlouError, match="judged"):
        flou.Report(people, good).html(audience="public")
    assert "may be published" in flou.Report(people, good, verdict=policy.judge(result)).html(audience="public")


def test_small_classes_cannot_be_found_by_subtraction() -> None:
    people = flou.Microdata(pl.DataFrame({"a": [1] * 2 + [2] * 48}), keys=["a"])
    drawn = K(k=3).measure(people).plot(min_count=3).to_dict()
    rows = next(iter(drawn["datasets"].values())) if "datasets" in drawn else drawn["data"]["values"]
    assert sum(r["share"] for r in rows) == pytest.approx(1)
    assert all(r["share"] == 0 or r["share"] * 50 >= 3 for r in rows)


def test_parameters_are_not_masked_like_counts() -> None:
    people = flou.Microdata(pl.DataFrame({"kids": [0, 1, 2, 3] * 10}), keys=["kids"])
    release = flou.protect.TopCode("kids", at=2).protect(people, secret=SECRET)
    result = K(k=2).measure(release)
    policy = flou.Policy(rules=[{"method": "k_anonymity", "settings": {"k": 2}, "at_most": {"release": 0.0}}])
    html = flou.Report(people, release, results=[result], verdict=policy.judge(result)).html(audience="public")
    assert "no value of kids above 2 is shown" in html


def test_the_five_ways_of_counting_keep_the_other_settings() -> None:
    measure = flou.risk.KAnonymity(k=3, subsets=2, by="sex")
    data = people()
    (senses, _) = count_ways([measure.measure(data)], data, flou.Plan().protect(data, secret=SECRET))
    for name in MISSING:
        alone = flou.risk.KAnonymity(k=3, subsets=2, by="sex", missing=name).measure(people())
        assert senses.ways[name].value == senses.figures[name] == alone.value
    assert senses.pessimistic != flou.risk.KAnonymity(k=3).measure(people()).value
