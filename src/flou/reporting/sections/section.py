"""What every section of the page has. Each is made by the result, or the part of a release, that it shows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from flou.engine.charts import to_svg
from flou.engine.result import Result
from flou.reporting.reader import Reader


class Section:
    """A section: where links lead to, the template that prints it, and what the navigation calls it, if it does."""

    anchor: ClassVar[str]
    template: ClassVar[str]
    link: ClassVar[str]

    def __init_subclass__(cls, *, anchor: str, link: str = "") -> None:
        cls.anchor, cls.template, cls.link = anchor, f"sections/{anchor}.html", link


#: Lines of figures, each with its label and a value in each file that was measured; charts, each with its caption.
Rows = list[tuple[str, list[str]]]
Charts = list[tuple[str, str]]


@dataclass(frozen=True)
class Listing:
    """Lines of a table: its columns, each with whether it holds numbers, and how many lines are left out."""

    columns: Sequence[tuple[str, bool]]
    rows: Sequence[Sequence[str]]
    title: str = ""
    n_more: int = 0


@dataclass(frozen=True)
class Shown:
    """What is shown of a result: a sentence, figures, remarks, charts and tables, as far as there are any."""

    result: Result
    sentence: str = ""
    rows: Rows = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    charts: Charts = field(default_factory=list)
    listings: list[Listing] = field(default_factory=list)


def draw(result: Result, reader: Reader) -> Charts:
    """The chart of a result, for the office."""
    if reader.public or getattr(result, "chart", None) is None:
        return []
    return [(reader.words(result.title), to_svg(result.plot(reader.words.language)))]
