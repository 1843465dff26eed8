"""Univariate comparison: means, spreads, quantiles and shares in both files, over all and by group.

What offices look at before they publish a perturbed file (Djiriguian, Missègue & Ricroch 2022, who accept deviations
below 10%, or of a few euros on small amounts); Hundepool et al. (2012) treat information loss in general.

The deviation of a mean is divided by the original's mean size, E|x|: for amounts that are never negative this is the
mean itself, and a mean near 0 of amounts that cancel out does not make it explode. Days have no zero: theirs is divided
by their standard deviation. It says nothing of links between columns, which `Correlations` and `Regression` look at.
"""

from __future__ import annotations

from typing import Any, ClassVar

from pydantic import Field, model_validator

from flou.describe.microdata import Microdata
from flou.engine.comparison import ComparisonResult, Detail, Shown
from flou.engine.errors import DataError, ParameterError
from flou.engine.figure import Figure
from flou.engine.note import Note
from flou.engine.owners import Owners
from flou.engine.parameters import Columns, Pairs, Share
from flou.engine.utility import Utility
from flou.engine.values import Proportion
from flou.utility.micro.class_bounds import groups
from flou.utility.micro.summary_chart import deviation_chart
from flou.utility.micro.summary_tables import (
    GROUPS,
    MEANS,
    QUANTILES,
    SHARES,
    Grouping,
    group_lines,
    mean_line,
    moved_share,
    quantile_lines,
    share_lines,
    table,
)
from flou.utility.micro.two_files import (
    ColumnKind,
    TwoFiles,
    column_kinds,
    read_files,
    recoded_columns,
    require_comparable,
    weight_notes,
)

#: Groups smaller than this in either file count in no figure: their means wander by themselves.
MIN_GROUP = 30
#: A category with more values is no category that anybody reads, unless it is named.
MOST_VALUES = 500


class Summary(Utility):
    """Means, spreads, quantiles and shares of every column in both files, and means by group.

    Reference: Djiriguian, Missègue & Ricroch (2022) for what is compared and when it is acceptable.
    Result: `.value` the largest deviation of a column: of a mean, relative to its size; of a category, the share of
    records that moved. `.means`, `.quantiles`, `.groups`, `.shares` are the tables.
    """

    reference: ClassVar[str] = "djiriguian2022"
    title: ClassVar[str] = "univariate comparison"
    audience = "public"
    headline: ClassVar[Figure] = Figure.public(
        "value", "largest deviation of a column (mean, or share of records that moved)", "share"
    )
    figures: ClassVar[tuple[Figure, ...]] = (
        Figure.public("mean_deviation", "largest deviation of a mean", "share"),
        Figure.public("sd_deviation", "largest deviation of a standard deviation", "share"),
        Figure.public("quantile_deviation", "largest deviation of a quantile", "share"),
        Figure.public("moved", "largest share of records that moved to another category", "share"),
        Figure.public("group_deviation", "largest deviation of a group's mean (groups of 30 records or more)", "share"),
        Figure.public("groups_within", "share of group means within the tolerance", "share"),
        Figure.public("n_columns", "columns compared", "number"),
        Figure.public("n_skipped", "columns that cannot be compared", "number"),
    )
    allows_several_rows: ClassVar[bool] = True

    columns: Columns | None = Field(None, description="columns to compare; default: all that both files publish")
    by: Columns | None = Field(None, description="columns whose groups are compared, one grouping each")
    classes: int = Field(5, ge=2, le=100, description="quantile classes of a numeric column in by that has many values")
    tolerance: Share = Field(0.1, description="relative deviation of a mean that is acceptable")
    tolerance_units: Pairs | None = Field(
        None, description="deviation in units that is acceptable whatever the share, by column"
    )

    @model_validator(mode="after")
    def _positive_units(self) -> Summary:
        for name, value in self.tolerance_units or ():
            if isinstance(value, bool) or not isinstance(value, int | float) or value < 0:
                raise ParameterError(f"tolerance_units of {name!r} = {value!r} should be a number, 0 or more.")
        return self

    def _compare(self, original: Microdata, released: Microdata, owners: Owners) -> ComparisonResult:
        kinds = column_kinds(original, released)
        if self.columns is not None:
            require_comparable(original, released, self.columns, "columns", kinds)
        by = self.by or ()
        require_comparable(original, released, by, "by", kinds)
        chosen = self.columns if self.columns is not None else tuple(kinds)
        if not chosen:
            raise _nothing()
        files = read_files(original, released, (*chosen, *by), kinds)
        compared, notes = self._kept(files, chosen, by)
        if self.columns is None:
            skipped = recoded_columns(original, released, kinds)
            notes += [Note("{column} was recoded and is not compared", {"column": c}) for c in skipped]
        if not compared:
            raise _nothing()
        numbers = [c for c in compared if files.kinds[c] != "category"]
        found = _Found(files, numbers, [c for c in compared if c not in numbers], by, self.classes)
        return self._result(
            original,
            owners,
            value=found.largest,
            figures=self._figures(found, len(notes)),
            notes=(*weight_notes(original, released), *found.notes(), *notes),
            details=found.details(),
            chart=deviation_chart,
            drawn={"tolerance": self.tolerance},
        )

    def _kept(self, files: TwoFiles, chosen: tuple[str, ...], by: tuple[str, ...]) -> tuple[list[str], list[Note]]:
        """Columns that hold something in common; of those that were named, the others are errors."""
        kept, notes = [], []
        for name in chosen:
            if files.kinds[name] != "category":
                kept.append(name)
            elif not files.in_common(name):
                self._refuse(name, self.columns, "columns")
                notes.append(Note("{column} was recoded and is not compared", {"column": name}))
            elif self.columns is None and files.n_values(name) > MOST_VALUES:
                notes.append(Note("{column} has too many values to be compared one by one", {"column": name}))
            else:
                kept.append(name)
        for name in by:
            if files.kinds[name] == "category" and not files.in_common(name):
                self._refuse(name, by, "by")
        return kept, notes

    def _refuse(self, name: str, named: tuple[str, ...] | None, parameter: str) -> None:
        if named is not None:
            raise DataError(
                f"{parameter} names {name!r}, which was recoded: the original and the release have no value of it in "
                "common. Leave it out, or give the original as recoded."
            )

    def _figures(self, found: _Found, n_skipped: int) -> dict[str, Any]:
        figures: dict[str, Any] = {}
        if found.means:
            figures["mean_deviation"] = Proportion(found.worst("deviation"))
            figures["sd_deviation"] = Proportion(found.worst("sd_deviation"))
            figures["quantile_deviation"] = Proportion(_largest(found.quantiles, "deviation"))
        if found.moved:
            figures["moved"] = Proportion(max(found.moved.values()))
        if self.by and found.means:
            units = dict(self.tolerance_units or ())
            large = [g for g in found.groups if (g["records_original"] or 0) >= MIN_GROUP]
            both = [g for g in large if (g["records_released"] or 0) >= MIN_GROUP]
            within = [g for g in both if _within(g, self.tolerance, units)]
            figures["group_deviation"] = Proportion(_largest(both, "deviation"))
            figures["groups_within"] = Proportion(len(within) / len(large)) if large else None
        return {**figures, "n_columns": len(found.means) + len(found.moved), "n_skipped": n_skipped}


class _Found:
    """The lines of every table."""

    def __init__(
        self, files: TwoFiles, numbers: list[str], categories: list[str], by: tuple[str, ...], n_classes: int
    ) -> None:
        self.means: list[dict[str, Any]] = []
        self.quantiles: list[dict[str, Any]] = []
        self.groups: list[dict[str, Any]] = []
        self.shares: list[dict[str, Any]] = []
        self.moved: dict[str, float] = {}
        groupings = [Grouping.of(name, groups(files, name, n_classes), files.sides) for name in by]
        for name in numbers:
            kind: ColumnKind = files.kinds[name]
            values = files.numbers(name)
            line, sizes = mean_line(name, kind, values, files.sides)
            self.means.append(line)
            self.quantiles += quantile_lines(name, kind, values, files.sides, sizes)
            for grouping in groupings:
                if grouping.by != name:
                    self.groups += group_lines(grouping, name, kind, values, files.sides, sizes)
        for name in categories:
            lines = share_lines(name, files.categories(name), files.sides)
            self.shares += lines
            self.moved[name] = moved_share(lines)

    def worst(self, figure: str) -> float:
        return _largest(self.means, figure)

    @property
    def largest(self) -> float:
        return max(self.worst("deviation"), max(self.moved.values(), default=0.0))

    def notes(self) -> list[Note]:
        """Which column deviates most."""
        sizes = {m["column"]: abs(m["deviation"] or 0.0) for m in self.means} | self.moved
        worst = max(sizes, key=lambda c: sizes[c])
        out = [Note("{column} deviates most", {"column": worst})] if sizes[worst] > 0 else []
        lost = [m["column"] for m in self.means if m["deviation"] is None and m["mean_original"] is not None]
        return out + [Note("{column} has no value left in the release", {"column": c}) for c in lost]

    def details(self) -> dict[str, Detail]:
        """The tables that have lines."""
        found = {
            "means": Detail(
                "Means and spreads", table(self.means, MEANS), _MEANS, "deviation",
                counts=("records_original", "records_released"),
                brief=("column", "mean_original", "mean_released", "deviation", "units", "sd_deviation"),
            ),
            "groups": Detail(
                "Means by group", table(self.groups, GROUPS), _GROUPS, "deviation",
                counts=("records_original", "records_released"),
                brief=("by", "group", "column", "mean_original", "mean_released", "deviation", "units"),
            ),
            "quantiles": Detail(
                "Quantiles", table(self.quantiles, QUANTILES), _QUANTILES, "deviation",
                counts=("records_original", "records_released"),
                brief=("column", "quantile", "original", "released", "deviation", "units"),
            ),
            "shares": Detail(
                "Shares of categories", table(self.shares, SHARES), _SHARES, "change",
                counts=("records_original", "records_released"),
                brief=("column", "value", "original", "released", "change"),
            ),
        }  # fmt: skip
        return {name: detail for name, detail in found.items() if detail.frame.height}


def _nothing() -> DataError:
    return DataError("The two files have no column that can be compared. Name those you mean: columns = […].")


def _largest(lines: list[dict[str, Any]], figure: str) -> float:
    """The largest size of a figure; a column that lost every value has lost its mean wholly."""
    return max((1.0 if line[figure] is None and line.get("lost") else abs(line[figure] or 0.0) for line in lines),
               default=0.0)  # fmt: skip


def _within(group: dict[str, Any], tolerance: float, units: dict[str, Any]) -> bool:
    if group["deviation"] is None:
        return False
    return bool(abs(group["deviation"]) <= tolerance or abs(group["units"]) <= units.get(group["column"], -1))


_COLUMN = Shown("column", "column", "column")
_N = (Shown("records_original", "records, original", "count"), Shown("records_released", "records, release", "count"))
_DEVIATION = (Shown("deviation", "deviation", "signed"), Shown("units", "in units", "units"))
_MEAN = (
    Shown("mean_original", "mean, original", "amount", "original"),
    Shown("mean_released", "mean, release", "amount", "release"),
)

_MEANS = (
    _COLUMN,
    *_MEAN,
    *_DEVIATION,
    Shown("sd_original", "s.d., original", "number"),
    Shown("sd_released", "s.d., release", "number"),
    Shown("sd_deviation", "deviation of s.d.", "signed", "of s.d."),
    Shown("zeros_original", "zeros, original", "share"),
    Shown("zeros_released", "zeros, release", "share"),
    Shown("nulls_original", "no value, original", "share"),
    Shown("nulls_released", "no value, release", "share"),
)
_GROUPS = (Shown("by", "by", "column"), Shown("group", "group", "value"), _COLUMN, *_MEAN, *_DEVIATION, *_N)
_QUANTILES = (
    _COLUMN,
    Shown("quantile", "quantile", "share"),
    Shown("original", "original", "amount"),
    Shown("released", "release", "amount"),
    *_DEVIATION,
)
_SHARES = (
    _COLUMN,
    Shown("value", "value", "value"),
    Shown("original", "original", "share"),
    Shown("released", "release", "share"),
    Shown("change", "change", "signed"),
)
