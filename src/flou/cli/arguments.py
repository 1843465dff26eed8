"""The arguments and options that several commands share."""

from __future__ import annotations

from typing import Annotated, Optional

import typer

#: For commands whose further options are the parameters of a method.
METHOD_OPTIONS = {"allow_extra_args": True, "ignore_unknown_options": True}

Source = Annotated[str, typer.Argument(help="File, folder, pattern, postgresql://… or dataset:NAME.")]
SchemaFile = Annotated[str | None, typer.Option("--schema", help="Schema file (TOML) that says what each column is.")]
EngineName = Annotated[Optional[str], typer.Option("--engine", help="polars (default), duckdb, spark or spark://….")]  # noqa: UP045
Delimiter = Annotated[Optional[str], typer.Option("--delimiter", help="Delimiter of a CSV file.")]  # noqa: UP045
Encoding = Annotated[Optional[str], typer.Option("--encoding", help="Encoding of a CSV file.")]  # noqa: UP045
Table = Annotated[Optional[str], typer.Option("--table", help="Table of a database.")]  # noqa: UP045
Sheet = Annotated[Optional[str], typer.Option("--sheet", help="Sheet of an Excel file.")]  # noqa: UP045
Keys = Annotated[Optional[str], typer.Option("--keys", help="Key columns, by commas, instead of a schema.")]  # noqa: UP045
Decimal = Annotated[Optional[str], typer.Option("--decimal", help='Decimal mark of a CSV file: "." or ",".')]  # noqa: UP045
SecretFile = Annotated[Optional[str], typer.Option("--secret", help="Secret file; before the plan's own.")]  # noqa: UP045
Memory = Annotated[
    Optional[int],  # noqa: UP045
    typer.Option("--memory", help="Most megabytes that the work may hold; more, and it ends and writes nothing."),
]
PlanFile = Annotated[str, typer.Argument(help="Plan file (TOML).")]
OfStage = Annotated[
    Optional[str],  # noqa: UP045
    typer.Option("--stage", help="Only those of a stage: measure, protect, attack or compare."),
]
OnData = Annotated[
    Optional[str],  # noqa: UP045
    typer.Option("--data", help="Only those that work on microdata, or on a table."),
]
AnsweringTo = Annotated[
    Optional[str],  # noqa: UP045
    typer.Option("--answers", help="Only those that close, reduce or measure an attack, such as homogeneity."),
]
Against = Annotated[
    Optional[str],  # noqa: UP045
    typer.Option("--against", help="The original, or a public table of the people who could be in the file."),
]
SensitiveColumns = Annotated[
    Optional[str],  # noqa: UP045
    typer.Option("--sensitive", help="Columns that nobody should learn, by commas, instead of a schema."),
]
Since = Annotated[
    Optional[str],  # noqa: UP045
    typer.Option("--since", help="Folder of a former run: say what changed in the file since."),
]
SaveSchema = Annotated[
    Optional[str],  # noqa: UP045
    typer.Option("--save-schema", help="Write a schema file to start from, with every column and its type."),
]
