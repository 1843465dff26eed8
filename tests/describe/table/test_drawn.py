"""Drawn tables: what the public and the office see, in both languages, and nothing that a label could smuggle in."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from typing import Any

import numpy as np
import polars as pl
import pytest
from tests.describe.table.suppressed import PRIMARY, SECONDARY, suppressed_table, true_table

import flou
from flou.describe.table.cells import Published
from flou.describe.table.layout import lay_out
from flou.engine.words import LANGUAGES

_VOID = {"meta", "br"}


class Page(HTMLParser):
    """The cells of the drawn table with their attributes; tags must close in order."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.rows: list[list[tuple[str, dict[str, str | None], str]]] = []
        self.tags: set[str] = set()
        self.words: list[str] = []
        self.feed(html)
        assert not self.open

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.tags.add(tag)
        if tag not in _VOID:
            self.open.append(tag)
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append((tag, dict(attrs), ""))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if "style" in self.open:
            return
        self.words.append(data)
        if "td" in self.open or "th" in self.open:
            kind, attrs, text = self.rows[-1][-1]
            self.rows[-1][-1] = (kind, attrs, text + data)

    @property
    def body(self) -> dict[str, list[tuple[dict[str, str | None], str]]]:
        """The cells of each row, by its last heading."""
        return {
            [text for kind, _, text in row if kind == "th"][-1]: [(a, t) for kind, a, t in row if kind == "td"]
            for row in self.rows
            if any(kind == "td" for kind, _, _ in row)
        }


def texts(page: Page, row: str) -> list[str]:
    return [text for _, text in page.body[row]]


@pytest.mark.parametrize("language", LANGUAGES)
def test_what_the_public_sees(language: str) -> None:
    html = suppressed_table(show="count").to_html(language)
    page = Page(html)
    # Total, food, silk, wood
    assert texts(page, "Total") == ["31", "s", "s", "12"]
    assert texts(page, "59") == ["8", "s", "0", "s"]
    assert texts(page, "13") == ["11", "s", "s", "5"]
    assert all(a["class"] == "hid" for a, text in page.body["13"] if text == "s")
    said = {
        "en": "cell suppressed for statistical confidentiality",
        "fr": "case masquée pour secret statistique",
    }[language]
    assert said in page.words
    for told in ("primary", "secondary", "primaire", "secondaire", "threshold", "p% (10)", "protects", "protège"):
        assert told not in re.sub("<style>.*</style>", "", html, flags=re.S)
    assert "class=banner" not in html
    assert f'<html lang="{language}">' in html


def test_numbers_follow_the_language() -> None:
    table = suppressed_table(show="value")
    assert texts(Page(table.to_html("en")), "Total") == ["2,335.375", "s", "s", "940.750"]
    assert texts(Page(table.to_html("fr")), "Total") == ["2\u202f335,375", "s", "s", "940,750"]


def test_hidden_figures_do_not_set_the_decimals() -> None:
    """All amounts but a suppressed one are whole: how many decimals are drawn tells nothing of it."""
    frame = pl.DataFrame({"a": ["x", "y", "z"], "v": [1.0, 2.5, 3.5]})
    true = flou.Microdata(frame, keys=["a"]).tabulate("a", value="v")
    hidden = np.array([False, False, True, True])
    table = true.with_changes(published=Published(true.true_counts, true.true_values, hidden, counted=False))
    assert texts(Page(table.to_html()), "x") == ["1"]
    assert texts(Page(table.to_html(internal=True)), "x") == ["1.0"]


@pytest.mark.parametrize("language", LANGUAGES)
def test_what_the_office_sees(language: str) -> None:
    html = suppressed_table(show="value", cells="all").to_html(language, internal=True)
    page = Page(html)
    wood = page.body["59"][3]
    assert wood[0]["class"] == "primary"
    assert (
        wood[0]["title"]
        == {
            "en": "primary suppression; threshold (3), p% (10); count: 2",
            "fr": "secret primaire\u202f; threshold (3), p% (10)\u202f; effectif\u00a0: 2",
        }[language]
    )
    assert wood[1] == {"en": "780.750P", "fr": "780,750P"}[language]
    food = page.body["59"][1]
    assert food[0]["class"] == "secondary"
    protects = {"en": "protects 59 × wood", "fr": "protège 59 × wood"}[language]
    assert protects in str(food[0]["title"])
    assert page.body["North"][1][0]["class"] == "kept"
    assert page.body["North"][1][1][-1] == {"en": "K", "fr": "C"}[language]
    assert page.body["59"][2][0]["class"] == "zero"
    assert '<p class="banner">' in html
    assert {"en": "Internal: true", "fr": "Document interne\u00a0: chiffres"}[language] in html
    kinds = [a.get("class") for cells in page.body.values() for a, _ in cells]
    assert kinds.count("primary") == len(PRIMARY)
    assert kinds.count("secondary") == len(SECONDARY)
    legend = {"en": "secondary suppression (8)", "fr": "secret secondaire (8)"}[language]
    assert legend in page.words


def test_no_internal_drawing_of_a_published_table() -> None:
    with pytest.raises(flou.FlouError, match="is not known"):
        suppressed_table().public().to_html(internal=True)


def test_two_figures_stand_side_by_side() -> None:
    page = Page(suppressed_table(show="both").to_html())
    assert texts(page, "62") == ["12", "158.000", "s", "s", "0", "0", "s", "s"]
    assert [text for _, _, text in page.rows[2]] == ["count", "sum"] * 4


def test_a_table_that_nothing_protects_says_so() -> None:
    for language, said in (("en", "Not protected"), ("fr", "Tableau non protégé")):
        assert any(said in word for word in Page(true_table().to_html(language)).words)
    assert not any("Not protected" in word for word in Page(suppressed_table().to_html()).words)


def test_headings_have_their_scope() -> None:
    page = Page(suppressed_table(show="count").to_html())
    heads = [(attrs, text) for row in page.rows for kind, attrs, text in row if kind == "th"]
    assert all(attrs["scope"] in ("col", "row", "colgroup", "rowgroup") for attrs, _ in heads)
    by_text = {text: attrs for attrs, text in heads}
    assert (by_text["North"]["class"], by_text["59"]["class"]) == ("d1", "d2"), "parts are set in"
    assert by_text["59"]["title"] == "North > 59"
    assert "caption" in page.tags


def test_three_dimensions_group_their_rows() -> None:
    data = flou.datasets.census(300)
    table = data.tabulate(["gender", "marital", "area"], cells="all")
    page = Page(table.to_html())
    n_marital = len({row["marital"] for row in table.to_frame().rows(named=True)})
    groups = [attrs for row in page.rows for kind, attrs, _ in row if attrs.get("scope") == "rowgroup"]
    assert {int(str(attrs["rowspan"])) for attrs in groups} == {n_marital}
    widths = set()
    for row in page.rows[2:]:
        heads = [attrs for kind, attrs, _ in row if kind == "th"]
        widths.add(sum(kind == "td" for kind, _, _ in row))
        assert len(heads) == 1 + (heads[0]["scope"] == "rowgroup")
    assert len(widths) == 1


def test_every_figure_stands_in_its_row_and_column() -> None:
    table = suppressed_table(show="count", cells="all")
    layout = lay_out(table, 200, 40)
    for i, nodes in enumerate(layout.rows):
        for j, column in enumerate(layout.columns):
            assert table.cells.codes[layout.places[i, j]].tolist() == [*nodes, column]


def test_large_tables_are_cut_and_say_so() -> None:
    frame = pl.DataFrame({"a": [f"a{i:03}" for i in range(300)], "b": [f"b{i % 60:02}" for i in range(300)]})
    table = flou.Microdata(frame, keys=["a", "b"]).tabulate(["a", "b"])
    page = Page(table.to_html())
    assert len(page.body) == 200
    assert {len(cells) for cells in page.body.values()} == {40}
    assert "101 more rows are not drawn; 21 more columns are not drawn" in page.words
    page = Page(table.to_html("fr", max_rows=3, max_columns=2))
    assert {len(cells) for cells in page.body.values()} == {2}
    assert any("298 autres lignes ne sont pas représentées" in word for word in page.words)
    assert "not drawn" not in Page(table.to_html(max_rows=301, max_columns=61)).words


def test_labels_cannot_smuggle_anything_in() -> None:
    evil = '"><script>alert(1)</script><img src=x onerror=alert(2)>'
    frame = pl.DataFrame({evil: [evil, "b", "c"] * 3, "other": ["x", evil, "y"] * 3})
    table = flou.Microdata(frame).tabulate([evil, "other"], name=evil)
    for internal in (False, True):
        page = Page(table.to_html(title=evil, mark="<i>", internal=internal))
        assert page.tags <= {"html", "head", "meta", "title", "style", "body", "p", "div", "table", "caption", "small",
                             "thead", "tbody", "tr", "th", "td", "ul", "li", "b", "sup"}  # fmt: skip
        assert evil in "".join(page.words)
    made = suppressed_table(show="count")
    assert "&lt;i&gt;" in made.to_html(mark="<i>")
    assert Page(made._repr_html_()).tags == {"style", "div", "table", "caption", "small", "thead", "tbody", "tr", "th",
                                            "td", "ul", "li", "b"}  # fmt: skip


def test_nothing_is_loaded_and_nothing_runs() -> None:
    html = suppressed_table().to_html(internal=True)
    assert not re.search(r"<script|<link|@import|url\(|https?://", html)
    assert "default-src 'none'" in html


@pytest.mark.parametrize(
    "wrong", [{"mark": ""}, {"mark": "0"}, {"mark": " "}, {"max_rows": 0}, {"max_columns": True}, {"language": "de"}]
)
def test_what_cannot_be_drawn_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(flou.FlouError, match=next(iter(wrong))):
        suppressed_table().to_html(**wrong)


def test_one_dimension_and_none() -> None:
    table = true_table().public()
    one = flou.Microdata(pl.DataFrame({"a": ["x", "y", "y"]}), keys=["a"]).tabulate("a")
    assert texts(Page(one.to_html()), "y") == ["2"]
    empty = table.with_changes(
        cells=table.cells.take(np.array([], dtype=np.intp)),
        published=table.published.take(np.array([], dtype=np.intp)),  # type: ignore[union-attr]
    )
    assert "no cell is listed" in Page(empty.to_html()).words


def test_the_mark_can_be_another() -> None:
    assert texts(Page(suppressed_table(show="count").to_html(mark="c")), "Total") == ["31", "c", "c", "12"]
