"""A table as offices print it, as HTML: rows, columns, and a mark where a cell is withheld.

The public drawing is made of the published table alone. A suppressed cell shows one mark, the same for all of them: `s`
as French offices write it (secret statistique), explained below each table; who publishes beside Eurostat's tables, in
which `s` is an estimate and `c` confidential, asks for mark="c". The internal drawing is for those who protect: true
figures, the state of each cell by colour and letter, its reason on hovering, and a banner that says what it is.

A drawing does not protect anything. It has no script and loads nothing; labels are escaped.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from html import escape
from importlib import resources
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flou.describe.table.cells import Published
from flou.describe.table.dimension import Dimension
from flou.describe.table.layout import Layout, lay_out
from flou.describe.table.seen import reasons
from flou.describe.table.suppression import State
from flou.describe.table.table import Table
from flou.engine.errors import DataError, ParameterError
from flou.engine.words import Words

#: What stands in a cell that is withheld.
MARK = "s"
_MOST_DECIMALS = 4
_DEEPEST = 5


@dataclass(frozen=True)
class Labels:
    """How columns and their categories are called; as they are where nothing else is known."""

    column: Callable[[str], str] = str
    category: Callable[[str, str], str] = lambda column, value: value


def page(table: Table, **options: Any) -> str:
    """The drawing as a whole page."""
    drawing = Drawing.of(table, **options)
    return (
        f'<!doctype html>\n<html lang="{drawing.words.language}">\n<head>\n<meta charset="utf-8">\n'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n"
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(drawing.title)}</title>\n"
        f"<style>\nbody {{ margin: 1.5rem; background: #fff; }}\n{style()}</style>\n</head>\n<body>\n"
        f"{drawing.html()}\n</body>\n</html>\n"
    )


def fragment(table: Table, **options: Any) -> str:
    """The drawing with its style, to be set into a page."""
    return f"<style>{style()}</style>{Drawing.of(table, **options).html()}"


def style() -> str:
    """The style sheet of drawings."""
    return (resources.files("flou.describe.table") / "drawn.css").read_text(encoding="utf-8")


@dataclass(frozen=True, eq=False)
class Drawing:
    """One drawing: what it shows, to whom, and in which language."""

    table: Table
    words: Words
    internal: bool
    name: str | None
    mark: str
    layout: Layout
    labels: Labels

    @classmethod
    def of(
        cls,
        table: Table,
        *,
        language: str = "en",
        internal: bool = False,
        title: str | None = None,
        mark: str = MARK,
        max_rows: int = 200,
        max_columns: int = 40,
        labels: Labels | None = None,
    ) -> Drawing:
        """A drawing of what would be published, or of everything for those who protect."""
        for what, given in (("max_rows", max_rows), ("max_columns", max_columns)):
            if isinstance(given, bool) or not isinstance(given, int) or given < 1:
                raise ParameterError(f"{what} = {given!r} must be a whole number from 1 on.")
        if not isinstance(mark, str) or not mark.strip() or any(sign.isdigit() for sign in mark):
            raise ParameterError(f'mark = {mark!r} must be a sign that is no figure, such as "s" or "c".')
        if internal and table.cells.count is None:
            raise DataError("This is a table as it was published: what an internal drawing would show is not known.")
        shown = table if internal or table.published is None else table.public()
        return cls(
            shown, Words(language), internal, title, mark, lay_out(shown, max_rows, max_columns), labels or Labels()
        )

    @property
    def title(self) -> str:
        return self.name or self.table.name or " × ".join(self._dimension(dim) for dim in self.table.dims)

    def html(self) -> str:
        """The drawing itself, without its style."""
        inside = " inside" if self.internal and self.table.suppression is not None else ""  # room for the letters
        parts = [f'<div class="flou-drawn{inside}">', *self._banner(), '<div class="wrap"><table>', self._caption(),
                 f"<thead>{''.join(self._head())}</thead>", f"<tbody>{''.join(self._body())}</tbody>",
                 "</table></div>", *self._more(), *self._legend(), "</div>"]  # fmt: skip
        return "\n".join(parts)

    @cached_property
    def _figures(self) -> list[tuple[str, NDArray[Any], int]]:
        """What is shown of each cell: the name of the figure, the figures, their decimals."""
        words, table = self.words, self.table
        published = table.published or Published(table.published_counts, table.published_values)
        count, value = published.count, published.value
        if self.internal:
            count = table.true_counts if table.cells.weighted is None else table.cells.weighted
            value = None if value is None else table.true_values
        found = [(words("count"), count, _decimals(count))] if published.counted else []
        if value is not None:
            found.append((words("sum"), value, _decimals(value)))
        return found

    @cached_property
    def _states(self) -> list[str]:
        """The class of each cell."""
        if not self.internal or self.table.suppression is None:
            return self.table.status.to_list()
        return self.table.suppression.words().to_list()

    @cached_property
    def _reasons(self) -> list[str]:
        return reasons(self.table, self.words)

    def _banner(self) -> list[str]:
        if self.internal:
            text = "Internal: true figures, not for publication"
        elif self.table.published is None:
            text = "Not protected: for the office alone"
        else:
            return []
        return [f'<p class="banner">{escape(self.words(text))}</p>']

    def _caption(self) -> str:
        table, words = self.table, self.words
        what = []
        if table.published is None or table.published.counted:
            weighted = table.weight_name is not None
            what.append(
                words("estimates weighted by {column}", column=self.labels.column(str(table.weight_name)))
                if weighted
                else words("counts")
            )
        if table.published_values is not None:
            what.append(words("sums of {column}", column=self.labels.column(str(table.value_name))))
        return f"<caption>{escape(self.title)}<small>{escape(', '.join(what))}</small></caption>"

    def _head(self) -> list[str]:
        """The names of the dimensions, the categories of the last one, and the figures where there are two."""
        layout, several = self.layout, len(self._figures) > 1
        row_dims = self.table.dims[: layout.n_row_dims]
        names = [self._figure_head(name) for name, _, _ in self._figures]
        if not len(layout.columns):
            return [f"<tr>{self._stubs(row_dims, 1)}{''.join(names)}</tr>"]
        dim, n_figures = self.table.dims[-1], len(self._figures)
        over = f'<th scope="colgroup" class="over" colspan="{len(layout.columns) * n_figures}">'
        lines = [f"<tr>{self._stubs(row_dims, 3 if several else 2)}{over}{escape(self._dimension(dim))}</th></tr>"]
        scope = f'scope="colgroup" colspan="{n_figures}" class="over' if several else 'scope="col" class="'
        cells = [
            f'<th {scope}{" deep" if dim.depths[node] > 1 else ""}"{self._path(dim, int(node))}>'
            f"{escape(self._category(dim, int(node)))}</th>"
            for node in layout.columns
        ]
        lines.append(f"<tr>{''.join(cells)}</tr>")
        if several:
            lines.append(f"<tr>{''.join(names * len(layout.columns))}</tr>")
        return lines

    def _stubs(self, dims: tuple[Dimension, ...], n_lines: int) -> str:
        return "".join(
            f'<th scope="col" class="stub" rowspan="{n_lines}">{escape(self._dimension(dim))}</th>' for dim in dims
        )

    def _figure_head(self, name: str) -> str:
        return f'<th scope="col">{escape(name)}</th>'

    def _body(self) -> list[str]:
        layout = self.layout
        lines = []
        for i, nodes in enumerate(layout.rows):
            heads = []
            for j, node in enumerate(nodes):
                last = j == layout.n_row_dims - 1
                span = 1 if last else layout.span(i, j)
                if span:
                    heads.append(self._stub(self.table.dims[j], int(node), span, last=last))
            cells = [self._cell(int(place), figure) for place in layout.places[i] for figure in self._figures]
            lines.append(f"<tr>{''.join(heads)}{''.join(cells)}</tr>\n")
        return lines

    def _stub(self, dim: Dimension, node: int, span: int, *, last: bool) -> str:
        depth = min(int(dim.depths[node]), _DEEPEST)
        scope = 'scope="row"' if last else f'scope="rowgroup" rowspan="{span}"'
        return f'<th {scope} class="d{depth}"{self._path(dim, node)}>{escape(self._category(dim, node))}</th>'

    def _cell(self, place: int, figure: tuple[str, NDArray[Any], int]) -> str:
        _, figures, decimals = figure
        if place < 0:  # a cell that is not listed is empty or shown as zero, or unknown
            shown = "" if self.table.unlisted == "unknown" else self._number(0.0, decimals)
            return f'<td class="nil">{shown}</td>'
        state, value = self._states[place], float(figures[place])
        if self.internal and self.table.suppression is not None:
            return self._internal_cell(place, state, self._number(value, decimals))
        if state == "suppressed" and not self.internal:
            said = escape(self.words("cell suppressed for statistical confidentiality"))
            return f'<td class="hid" title="{said}">{escape(self.mark)}</td>'
        if state == "structural":
            return f'<td class="nil">{self._nobody}</td>'
        return f"<td{' class=nil' if state == 'zero' else ''}>{self._number(value, decimals)}</td>"

    def _internal_cell(self, place: int, state: str, shown: str) -> str:
        if state == State.PUBLISHED.word:
            return f"<td>{shown}<sup></sup></td>"
        said = [self._state_name(state)]
        if self._reasons[place]:
            said.append(self._reasons[place])
        if not self._counted:
            said.append(self.words("count: {n}", n=int(self.table.true_counts[place])))
        letter = "" if state == State.ZERO.word else self._letter(state)
        return f'<td class="{state}" title="{escape(self._joined(said))}">{shown}<sup>{letter}</sup></td>'

    @property
    def _counted(self) -> bool:
        return self.table.published is None or self.table.published.counted

    def _state_name(self, state: str) -> str:
        titles = {"published": "published", "kept": "kept", "zero": "zero", "primary": "primary suppression",
                  "secondary": "secondary suppression"}  # fmt: skip
        return self.words(titles[state])

    def _letter(self, state: str) -> str:
        if state == State.KEPT.word:
            return "C" if self.words.language == "fr" else "K"  # conservée
        return "0" if state == State.ZERO.word else state[0].upper()

    @property
    def _nobody(self) -> str:
        """Where nobody can be; French offices write three strokes."""
        return "///" if self.words.language == "fr" else "–"

    def _legend(self) -> list[str]:
        words, table = self.words, self.table
        if self.internal and table.suppression is not None:
            counted = table.suppression.counted()
            order = ("primary", "secondary", "kept", "zero", "published")
            lines = [
                (state, self._letter(state) if state != "published" else "",
                 f"{self._state_name(state)} ({words.number(counted[state])})")
                for state in order
                if counted[state]
            ]  # fmt: skip
        else:
            seen = {self._states[place] for place in self.layout.places.ravel().tolist() if place >= 0}
            lines = []
            if "suppressed" in seen and not self.internal:
                lines.append(("hid", self.mark, words("cell suppressed for statistical confidentiality")))
            if "structural" in seen:
                lines.append(("", self._nobody, words("nobody can be in this cell")))
        items = [f'<li>{f"<b class={kind!r}>{escape(sign)}</b>" if sign else ""}{escape(text)}</li>'
                 for kind, sign, text in lines]  # fmt: skip
        return [f'<ul class="legend">{"".join(items)}</ul>'] if items else []

    def _more(self) -> list[str]:
        layout, words, said = self.layout, self.words, []
        if not len(layout.rows):
            said.append(words("no cell is listed"))
        if layout.n_more_rows:
            said.append(words("{n} more rows are not drawn", n=layout.n_more_rows))
        if layout.n_more_columns:
            said.append(words("{n} more columns are not drawn", n=layout.n_more_columns))
        return [f'<p class="more">{escape(self._joined(said))}</p>'] if said else []

    def _joined(self, texts: list[str]) -> str:
        return ("\u202f; " if self.words.language == "fr" else "; ").join(texts)

    def _dimension(self, dim: Dimension) -> str:
        """Its levels, coarse to fine; zonings stand side by side."""
        names, first = [], 0
        for n_levels in dim.levels:
            names.append(" > ".join(self.labels.column(c) for c in dim.columns[first : first + n_levels]))
            first += n_levels
        return " | ".join(names)

    def _category(self, dim: Dimension, node: int) -> str:
        own = [(c, label) for c, label in zip(dim.columns, dim.labels.row(node), strict=True) if label != dim.total]
        return self.labels.category(*own[-1]) if own else dim.total

    def _path(self, dim: Dimension, node: int) -> str:
        """Where a category lies in others, for those who hover: `North > 59`."""
        path = [self._category(dim, node)]
        while dim.parents[node] > 0:
            node = int(dim.parents[node])
            path.insert(0, self._category(dim, node))
        return f' title="{escape(" > ".join(path))}"' if len(path) > 1 else ""

    def _number(self, value: float, decimals: int) -> str:
        if np.isnan(value):
            return escape(self.mark)
        shown = "0" if value == 0 else f"{value:,.{decimals}f}".replace("-", "\u2212")
        return shown.translate({ord(","): "\u202f", ord("."): ","}) if self.words.language == "fr" else shown


def _decimals(figures: NDArray[Any]) -> int:
    """The fewest decimals that show all figures as they are, few in any case."""
    known = figures[~np.isnan(figures)] if figures.dtype.kind == "f" else figures
    for decimals in range(_MOST_DECIMALS):
        if np.allclose(known, np.round(known, decimals), rtol=0, atol=10.0 ** -(_MOST_DECIMALS + 3)):
            return decimals
    return _MOST_DECIMALS
