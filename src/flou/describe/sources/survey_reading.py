"""One column of a survey file while its rows go by: what is seen of it, and from that its type and codes."""

from __future__ import annotations

from typing import Any

import polars as pl

from flou.describe.schema import Schema
from flou.describe.sources.missing_codes import Codes, can_hold_letters
from flou.describe.sources.survey_column import Column, is_letter
from flou.engine.errors import DataError
from flou.engine.values import codes_in, text_of

#: Whole numbers up to here have a float of their own.
_EXACT = 2**53
#: Codes of a range that occur without a label: beyond this many they are no codes but measurements.
_MOST_CODES = 100


class Reading:
    """Takes the rows in, then says what the column is."""

    def __init__(self, place: str, column: Column, schema: Schema) -> None:
        self.place, self.column, self.schema = place, column, schema
        self.codes = Codes.of(column, schema)
        self._whole = True
        self._all_labelled = bool(column.value_labels)
        self._letters: set[str] = set()
        self._in_ranges: set[float] = set()

    def take(self, values: list[Any]) -> list[pl.Series]:
        """Some rows as they go to the spool: undetermined codes null, letters in a column beside their numbers."""
        column, name, raw = self.column, self.place, pl.col(self.place)
        letters: list[str | None] = []
        if column.has_letters:
            letters = [f".{v}" if isinstance(v, str) else None for v in values]
            values = [None if isinstance(v, str) else v for v in values]
        rows = pl.DataFrame({name: pl.Series(values, dtype=column.raw_dtype)})
        if column.kind == "text":
            rows = rows.select(pl.when(raw.str.strip_chars() != "").then(raw))
        value, null = column.converted(raw), self._stands_for_any(raw)
        if rows.filter(raw.is_not_null() & value.is_null() & ~null).height:
            raise DataError(
                f"The column {column.name!r} holds dates or times that do not exist; mend it in its source."
            )
        self._note_codes(rows.filter(null)[name], letters)
        rows = rows.select(pl.when(~null).then(value).alias(name))
        self._note_values(rows[name])
        return [rows[name], *([pl.Series(f"{name} letter", letters, dtype=pl.String)] if column.has_letters else [])]

    def _stands_for_any(self, raw: pl.Expr) -> pl.Expr:
        """Which raw values are codes that mean null."""
        column = self.column
        value = column.converted(raw)
        kept = value.is_in(codes_in(column.dtype, self.codes.not_applicable)).fill_null(False)
        declared = value.is_in(codes_in(column.dtype, self.codes.undetermined))
        return ((column.declared_missing(raw) & ~kept) | declared).fill_null(False)

    def _note_codes(self, undetermined: pl.Series, letters: list[str | None]) -> None:
        self._letters.update(v for v in letters if v is not None)
        for low, high in self.column.ranges:
            if len(self._in_ranges) <= _MOST_CODES:
                self._in_ranges.update(undetermined.filter(undetermined.is_between(low, high)).unique().to_list())

    def _note_values(self, values: pl.Series) -> None:
        if self.column.kind == "number":
            self._whole = self._whole and bool(values.to_frame().select(_is_whole(pl.col(self.place)).all()).item())
        if self._all_labelled:
            known = codes_in(self.column.dtype, [*self.codes.labels, *self.codes.not_applicable])
            self._all_labelled = bool(values.drop_nulls().is_in(known).all())

    @property
    def _own_letters(self) -> list[str]:
        """Lettered codes that are categories here: declared so by the schema, or met and labelled so by the file."""
        if not self.column.has_letters or not can_hold_letters(self.column, self.codes, self.schema):
            return []
        declared = {text_of(c) for c in self.schema.not_applicable.get(self.column.name, ())}
        return [c for c in self.codes.letters if c in self._letters or c in declared]

    @property
    def _is_text(self) -> bool:
        if self.column.kind != "number":
            return self.column.kind == "text"
        return self.schema.types.get(self.column.name) == "text" or bool(self._own_letters)

    def typed(self) -> pl.Expr:
        """The column of the spool as it is read in the end."""
        value, name = pl.col(self.place), self.column.name
        if self.column.kind == "number" and self._is_text:
            return self._as_text(value).alias(name)
        if self.column.kind == "number" and self._whole and self.schema.types.get(name) != "number":
            return value.cast(pl.Int64).alias(name)
        return value.alias(name)

    def _as_text(self, value: pl.Expr) -> pl.Expr:
        """Numbers as categories: 1 is "1", never "1.0"; lettered codes that are categories stand among them."""
        whole = pl.when(_is_whole(value)).then(value).cast(pl.Int64).cast(pl.String)
        text = pl.coalesce(whole, value.cast(pl.String))
        if not self._own_letters:
            return text
        letter = pl.col(f"{self.place} letter")
        return pl.when(letter.is_in(self._own_letters)).then(letter).otherwise(text)

    def new_codes(self) -> list[str]:
        """The codes that the file declares as missing in this column, and of which the schema says nothing."""
        schema, name = self.schema, self.column.name
        known = {text_of(c) for c in (*schema.not_applicable.get(name, ()), *schema.undetermined.get(name, ()))}
        return [c for c in self._declared_codes() if c not in known]

    def _declared_codes(self) -> list[str]:
        """Single codes; of ranges those that are labelled or occur; letters that occur."""
        column = self.column
        found = dict.fromkeys(column.texts(column.single_codes))
        found |= dict.fromkeys(c for c in self.codes.labels if not is_letter(c) and column.declares_missing(c))
        if len(self._in_ranges) <= _MOST_CODES:
            found |= dict.fromkeys(column.texts(sorted(self._in_ranges)))
        found |= dict.fromkeys(sorted(self._letters))
        return [c for c in found if c.strip()]

    def keeps(self, code: str) -> bool:
        """Whether a code stays in the column, as a category of its own."""
        if self.column.has_letters and is_letter(code):
            return code in self._own_letters
        return code in self.codes.not_applicable and bool(codes_in(self.column.dtype, [code]))

    def scalar(self, code: str) -> int | float | str:
        """A value as a schema writes it."""
        return code if self._is_text else self.column.scalar(code)

    def modalities(self) -> tuple[int | float | str, ...]:
        """The labelled values, where no value goes without a label: a category nobody has still counts."""
        if not self._all_labelled or self.column.kind not in ("number", "text"):
            return ()
        missing = {*self.codes.undetermined, *self.codes.not_applicable}
        found = [v for v in self.codes.labels if v not in missing and not self.column.declares_missing(v)]
        values = tuple(self.scalar(v) for v in found)
        hierarchy = self.schema.hierarchies.get(self.column.name)
        # a hierarchy that leaves some out was made for the values that occur
        return values if hierarchy is None or all(hierarchy.covers(v) for v in values) else ()


def _is_whole(value: pl.Expr) -> pl.Expr:
    return (value == value.floor()) & (value.abs() <= _EXACT)
