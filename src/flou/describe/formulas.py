"""Texts in CSV files that a spreadsheet would carry out as formulas: written with an apostrophe, read back without.

Excel and LibreOffice take a cell that begins with =, +, -, @, a tab or an end of line for a formula, which can send
what stands beside it elsewhere. An apostrophe in front keeps it a text. Values that the schema declares are the
office's own and stay as they are, and so do signed numbers. A text that begins with an apostrophe gets one more, so
that each text can be read back as it was.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

import polars as pl

from flou.engine.values import text_of

#: Kinds of file that spreadsheets open by guessing.
GUESSED = ("csv", "tsv")
_FORMULA = r"^[=+\-@\t\r\n]"
_SIGNED_NUMBER = r"^[+-](?:\d+[.,]?\d*|[.,]\d+)(?:[eE][+-]?\d+)?$"
#: What an apostrophe in front belongs to the writing of.
_ESCAPED = r"^'[=+\-@\t\r\n']"


def escape_formulas(frame: pl.DataFrame, declared: Mapping[str, Collection[object]]) -> pl.DataFrame:
    """The rows with an apostrophe before texts that begin like a formula; names of columns as well."""
    texts = [n for n, t in frame.schema.items() if t in (pl.String, pl.Categorical, pl.Enum)]
    done = frame.with_columns(_escaped(pl.col(n).cast(pl.String), declared.get(n, ())).alias(n) for n in texts)
    names = pl.Series(frame.columns, dtype=pl.String)
    return done.rename(
        dict(zip(frame.columns, names.to_frame().select(_escaped(pl.nth(0), ())).to_series(), strict=True))
    )


def _escaped(text: pl.Expr, declared: Collection[object]) -> pl.Expr:
    known = text.is_in([text_of(value) for value in declared])
    formula = text.str.contains(_FORMULA) & ~text.str.contains(_SIGNED_NUMBER) & ~known
    quoted = text.str.contains(_ESCAPED) | (text.str.starts_with("'") & ~known)
    return pl.when(formula | quoted).then(pl.lit("'") + text).otherwise(text)


def read_back(text: pl.Expr) -> pl.Expr:
    """The text as it was before an apostrophe was put in front."""
    return pl.when(text.str.contains(_ESCAPED)).then(text.str.slice(1)).otherwise(text)
