"""Reports on tables: what each audience reads, in both languages."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import polars as pl
import pytest
from tests.reporting.test_report import _Page
from tests.reporting.written import reading, tables

import flou
from flou.describe.table.cells import Published
from flou.engine.tabulation import RecordKeys
from flou.engine.words import LANGUAGES, Words

SECRET = flou.Secret(bytes(range(32)))
NOISE = flou.protect.CellKey(D=7, V=4.0, js=2)
MANY = [
    {"name": "fine", "dims": ["area@*", "gender", "age@age5"]},
    {"name": "broad", "dims": ["marital"], "cells": "all"},
]
FEW = [{"name": "few", "dims": ["gender", "marital"]}]


def people() -> flou.Microdata:
    return flou.datasets.census(20_123)


def made(tables: Any, *, steps: Any = (NOISE,)) -> tuple[flou.Release, flou.Report]:
    data = people()
    release = flou.Plan(steps, tables=tables).protect(data, secret=SECRET)
    before = release.data.kin.original
    measure = flou.risk.CountInference(s=5)
    results = [
        measure.measure(before),
        measure.measure(release),
        flou.utility.WithinDistance(2).compare(before, release),
    ]
    policy = flou.Policy(rules=[{"method": "count_inference", "settings": {"s": 5}, "at_most": {"release": 0.999}}])
    return release, flou.Report(data, release, results=results, verdict=policy.judge(*results, release))


def words_of(html: str) -> str:
    return " ".join(" ".join(_Page(html).words).split())


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("audience", ["internal", "public"])
def test_well_formed_and_self_contained(language: str, audience: Any) -> None:
    _, report = made(MANY)
    html = report.html(language=language, audience=audience)
    assert not _Page(html).open
    assert "<script" not in html
    # the noise of a small count and of large ones for everybody; risk before and after and utility for the office
    assert html.count("<svg") == (5 if audience == "internal" else 2)
    assert html == report.html(language=language, audience=audience)


def test_the_public_reads_no_true_figure() -> None:
    release, report = made(MANY)
    step = release.steps[0]
    fine = release.data["fine"]
    hidden = int(((fine.published_counts == 0) & (fine.true_counts > 0)).sum())
    assert hidden > 100
    assert release.data.public().n_cells > 1000, "enough cells that the public reads what was measured"
    told = [people().n_records, step.n_changed, fine.n_cells, hidden, step.n_records_before]
    published = {int(n) for table in release.data for n in table.public().published_counts}
    secrets = [n for n in told if n not in published]
    assert len(secrets) >= 4, "a figure that is published anyhow tells nothing"
    internal, public = (report.html(audience=a) for a in ("internal", "public"))
    for language in LANGUAGES:
        public = words_of(report.html(audience="public", language=language))
        for figure in secrets:
            assert not re.search(
                rf"(?<![\d,.\u202f]){re.escape(Words(language).number(figure))}(?![\d,.\u202f])", public
            )
    for figure in (people().n_records, step.n_changed, hidden):
        assert Words("en").number(figure) in words_of(internal)
    for secret in ("cell_key =", SECRET._key.hex(), "true_count", "deviation of a cell"):
        assert secret not in internal
    # no key of a cell, as a number of ten digits or however it is written
    keys = {str(int(k)) for k in fine.cells.key} | {f"{int(k):,}" for k in fine.cells.key}
    assert not set(re.findall(r"[\d,]{9,}", words_of(internal))) & keys


def test_what_is_said_of_each_table() -> None:
    release, report = made(MANY)
    public = words_of(report.html(audience="public"))
    fine = release.data["fine"].public()
    assert f"fine: an extract, 12 of {fine.n_cells:,} cells" in public
    assert "all levels and totals" in public
    assert "left out" in public
    assert "The tables may be published." in public
    assert "cells need not add up" in public
    assert "D = 7, V = 4, js = 2" in public
    assert "no count is moved by more than 7" in public
    assert "records in the original" not in public
    assert "The file" not in public.split("Glossary")[0]
    internal = words_of(report.html())
    assert "of " in internal
    assert "mean absolute deviation" in internal
    assert "must not be published" in internal, "the records behind the tables"
    assert internal.count("I, what must not be inferred: 1–4") == 1, "said once of before and after"


def test_french_is_french() -> None:
    _, report = made(MANY)
    for audience in ("internal", "public"):
        text = words_of(report.html(language="fr", audience=audience))  # type: ignore[arg-type]
        for english in ("cells", "count ", "counts", "published", "Tables", "left out", "true count", "levels"):
            assert english not in text, english
        for french in ("Tableaux", "cases publiées", "Comptage vrai", "méthode des clés aléatoires", "modalités"):
            assert french in text, french


def test_figures_of_few_cells_are_for_the_office_alone() -> None:
    """With fewer than a thousand cells a percentage counts them: who knows all but one would know the last."""
    _, report = made(FEW)
    internal, public = (words_of(report.html(audience=a)) for a in ("internal", "public"))  # type: ignore[arg-type]
    risk, utility = "probability that a count published in J is truly in I", "share of cells within the distance"
    assert risk in internal
    assert utility in internal
    assert "for the office alone" in public
    assert utility not in public
    assert risk not in public.split("What this verdict does not say")[1].split("Glossary")[0]


@pytest.mark.parametrize("method", [flou.protect.Rounding(5), flou.protect.RandomRounding(5)])
def test_rounded_tables(method: Any) -> None:
    _, report = made(FEW, steps=(method,))
    for language in LANGUAGES:
        text = words_of(report.html(language=language, audience="public"))
        assert Words(language)(method.title) in text
    lines = text.split("Ce que devient un comptage")[1]
    assert "13 et plus" not in lines, "remainders have rows, large counts have none of their own"


def test_tables_that_add_up_are_not_said_not_to() -> None:
    release, report = made_additive()
    counted = [n for n in release.steps[0].notes if "cells" in n.values]
    assert counted
    assert all(n.internal for n in counted), "how many cells somebody is in is for the office alone"
    text = words_of(report.html())
    assert "need not add up" not in text
    assert "every margin is the sum of its parts" in text


def made_additive() -> tuple[flou.Release, flou.Report]:
    data = people()
    release = flou.Plan([flou.protect.CellKey(D=5, V=3, js=0, additive="repair")], tables=FEW).protect(
        data, secret=SECRET
    )
    return release, flou.Report(data, release)


def test_tables_as_they_are() -> None:
    """Without a mechanism nothing is said of noise, nor of zeros that are left out."""
    data = people()
    report = flou.Report(data, flou.Plan().protect(data.tabulate(["gender", "marital"])))
    text = words_of(report.html())
    assert "What becomes of a count" not in text
    assert "cells need not add up" not in text
    assert "The tables were not changed: they hold the true counts." in text
    assert "left out" not in text
    assert "empty cells are not listed" in text
    assert "nothing was drawn at random" in text
    assert "same secret" not in text
    assert "ce sont les comptages vrais" in words_of(report.html(language="fr"))


def test_sums_weights_and_withheld_cells_are_said() -> None:
    frame = pl.DataFrame({"sex": ["F", "M"] * 6, "income": [float(i) for i in range(12)], "w": [1.5] * 12})
    data = flou.Microdata(frame, keys=["sex"], labels={"income": {"en": "Income", "fr": "Revenu"}}, weight="w")
    release = flou.Plan().protect(data.tabulate(["sex"], value="income", weight="w"), secret=SECRET)
    page = words_of(flou.Report(data, release).html(language="fr"))
    assert "estimations pondérées par w, sommes de Revenu" in page
    assert "Masquées" not in page
    counts = np.where([False, True, False], np.nan, release.data.published_counts)
    shown = release.data.with_changes(published=Published(counts))
    subject, _ = reading(data, withheld := flou.Release(shown, release.trail))
    assert subject.withholds
    assert tables(data, withheld).lines[0][-1][-1] == "1", "withheld"


def test_a_table_that_was_protected_without_a_plan() -> None:
    keyed = flou.record_keys(people(), secret=SECRET)
    release = NOISE.protect(keyed.tabulate(["gender", "marital"]))
    report = flou.Report(people(), release, results=[flou.risk.CountInference(s=5).measure(release)])
    assert "cells" in repr(report)
    page = words_of(report.html())
    assert "no count is moved by more than 7" in page
    # without a plan and without a verdict, too
    assert "with the same secret and the same parameters" in page
    assert "record keys made beforehand" in page
    assert "nothing was drawn at random" not in page
    assert "tables examined" in page
    assert "published cells" not in page


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ({}, "record keys from a secret read from a file"),
        ({"record_keys": RecordKeys(stored="rkey")}, "record keys read from a stored column"),
    ],
)
def test_where_the_keys_came_from(keys: dict[str, Any], said: str) -> None:
    frame = pl.DataFrame({"pid": range(60), "sex": ["F", "M"] * 30, "rkey": np.linspace(0.001, 0.999, 60)})
    data = flou.Microdata(frame, keys=["sex"], id="pid")
    plan = flou.Plan([NOISE], tables=[{"dims": ["sex"]}], **keys)
    release = plan.protect(data, secret=SECRET)
    page = words_of(flou.Report(data, release).html())
    assert said in page
    assert "with the same secret" in page
    assert "nothing was drawn at random" not in page
    tested = flou.Plan([NOISE], tables=[{"dims": ["sex"]}]).protect(data, secret=4)
    assert "record keys from a test seed" in flou.Report(data, tested).html()


def test_steps_that_draw_are_told_beside_the_keys() -> None:
    data = people()
    plan = flou.Plan([flou.protect.Sample(share=0.5), NOISE], tables=FEW)
    page = words_of(flou.Report(data, plan.protect(data, secret=SECRET, period="2026")).html())
    assert "record keys from a secret read from a file: the same plan, data and secret give the same figures" in page
    assert "a secret read from a file: the same plan, data and secret give the same release" in page


def test_zonings_side_by_side_are_not_shown_as_nested() -> None:
    frame = pl.DataFrame(
        {
            "dep": ["01", "01", "02", "02"] * 10,
            "commune": ["a", "b", "c", "d"] * 10,
            "district": ["x", "x", "x", "y"] * 10,
            "sex": ["F", "M"] * 20,
        }
    )
    data = flou.Microdata(frame, keys=["dep"], labels={"dep": {"en": "County", "fr": "Département"}})
    release = flou.Plan().protect(data.tabulate(["dep>commune|district", "sex"], margins=["dep>commune|district"]))
    _, english, _, margins, _ = tables(data, release).lines[0]
    _, french, *_ = tables(data, release, "fr").lines[0]
    assert english == ["County (2) > commune (4) | district (2) (zonings side by side)", "sex (2)"]
    assert french[0] == "Département (2) > commune (4) | district (2) (zonages non emboîtés)"
    assert margins == "commune | district"


def test_the_extract_shows_the_first_line_and_finest_cells_from_all_over() -> None:
    release, _ = made(MANY)
    fine = release.data["fine"].public()
    frame = fine.shown_cells()
    shown, whole = tables(people(), release).previews
    assert len(shown.rows) == 12
    assert len(whole.rows) == release.data["broad"].public().n_cells
    lines = [tuple(str(v) for v in row) for row in frame.drop("status").iter_rows()]
    places = [lines.index(tuple(cell.replace(",", "") for cell in row)) for row in shown.rows]
    assert places == sorted(places)
    assert places[0] == 0
    assert places[-1] > 0.9 * len(lines)
    assert all("Total" not in row for row in shown.rows[1:])


def test_a_draft_is_not_called_published() -> None:
    data = people()
    release = flou.Plan([NOISE], tables=MANY).protect(data, secret=SECRET)
    result = flou.risk.CountInference(s=5).measure(release)
    rules = [{"method": "count_inference", "settings": {"s": 5}, "at_most": {"release": 0.0}}]
    verdict = flou.Policy(rules=rules).judge(result, release)
    report = flou.Report(data, release, results=[result], verdict=verdict)
    for language, draft, published in (
        ("en", ("tables examined", "cells of the draft"), "ublished cells"),
        ("fr", ("tableaux examinés", "cases du projet"), "ases publiées"),
    ):
        page = words_of(report.html(language=language)).split("Glos")[0]
        assert all(word in page for word in draft)
        assert published not in page
    assert "tables examined" not in words_of(made(MANY)[1].html())


def test_differences_are_called_unmeasured_only_if_they_are() -> None:
    data = people()
    release, report = made(MANY)
    unmeasured, measured = "What was measured speaks of single cells. Differences", "and of differences of two"
    assert unmeasured in report.html()
    difference = flou.risk.DifferenceInference(s=5).measure(release)
    page = flou.Report(data, release, results=[difference]).html()
    assert unmeasured not in page
    assert measured in page


def test_columns_are_dimensions_or_not() -> None:
    page = words_of(made(FEW)[1].html())
    assert "Dimension of a table" in page
    assert "Published" not in page.split("Dimension of a table")[1].split("Risk before")[0]


def test_the_public_reads_expectations_and_nothing_that_was_counted() -> None:
    data = people()
    release, _ = made(MANY)
    before = release.data.kin.original
    results = [
        flou.risk.ZeroInference().measure(release),
        flou.risk.DifferenceInference(s=5).measure(release),
        flou.utility.WithinDistance(2).compare(before, release),
        flou.utility.Hellinger().compare(before, release),
    ]
    policy = flou.Policy(rules=[{"method": "zero_inference", "at_most": {"release": 0.999}}])
    report = flou.Report(data, release, results=results, verdict=policy.judge(*results, release))
    internal, public = (words_of(report.html(audience=a)).split("Glossary")[1] for a in ("internal", "public"))  # type: ignore[arg-type]
    for counted in ("share of them that are true", "those that truly are", "cells published as zero", "cells compared"):
        assert counted in internal
        assert counted not in public
    within = results[2]
    assert f"share of cells within the distance, expected {Words('en').share(within.expected)}" in public
    assert f"expected for large counts {Words('en').share(within.large)}" in public
    assert within.value != within.expected
    assert Words("en").share(within.value) in internal
    assert Words("en").share(within.value) not in public
    assert "probability that a published zero is true" in public
    assert "share of cells published as zero" not in public, "times the probability: the share of true zeros"
    assert "After:" not in public, "there is nothing before"
    french = words_of(report.html(audience="public", language="fr"))
    assert "Après\u00a0:" not in french
    assert "valeur attendue pour les grands comptages" in french


def test_the_glossary_of_tables_has_their_words_and_no_others() -> None:
    _, report = made(MANY)
    for language, wanted, beside in (
        (
            "en",
            ("threshold", "prior", "margin", "zoning", "cell key", "record key", "transition matrix"),
            "k-anonymity",
        ),
        ("fr", ("seuil", "a priori", "marge", "zonage", "clé de case", "clé individuelle", "matrice de"), "k-anonymat"),
    ):
        for audience in ("internal", "public"):
            html = report.html(language=language, audience=audience)  # type: ignore[arg-type]
            words = html.split('<dl class="glossary">')[1]
            assert not [name for name in wanted if f"<dt>{name}" not in words]
            assert beside not in words
            assert "PESA" not in words
            assert ("quasi-identif" in words) == (audience == "internal")
    data = people()
    measured = flou.risk.KAnonymity(k=3).measure(data)
    release, _ = made(FEW)
    assert "<dt>k-anonymity" in flou.Report(data, release, results=[measured]).html()


def test_every_heading_of_guarantees_has_its_french() -> None:
    from flou.engine.words import _catalogue

    for place in ("final tables", "records behind the tables", "final file"):
        assert f"Guarantees, checked on the {place}" in _catalogue("fr")
