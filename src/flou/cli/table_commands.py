"""`flou table` and `flou calibrate`: their options; what they do is in `flou.cli.tables`."""

from __future__ import annotations

from typing import Annotated, Optional

import typer

from flou.cli.arguments import Decimal, Delimiter, Encoding, EngineName, SchemaFile, SecretFile, Sheet, Source
from flou.cli.arguments import Table as DatabaseTable

Dims = Annotated[str, typer.Option("--dims", help='Dimensions by commas: "region>department, age@decade, sex".')]
Cells = Annotated[str, typer.Option("--cells", help="occupied (default), or all that the categories make.")]


def table(
    context: typer.Context,
    source: Source,
    dims: Dims,
    schema: SchemaFile = None,
    value: Annotated[Optional[str], typer.Option("--value", help="Column of amounts to add up.")] = None,  # noqa: UP045
    weight: Annotated[Optional[str], typer.Option("--weight", help="Column of sampling weights.")] = None,  # noqa: UP045
    holding: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option("--holding", help="Column that says which records belong together."),
    ] = None,
    no_margins: Annotated[bool, typer.Option("--no-margins", help="The finest cells alone.")] = False,
    cells: Cells = "occupied",
    protect: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option("--protect", help="Protection of tables; its parameters are options: --protect cell_key --D 5."),
    ] = None,
    suppress: Annotated[
        Optional[list[str]],  # noqa: UP045
        typer.Option("--suppress", help='Suppress cells by primary rules: "threshold(5), p%(10)".'),
    ] = None,
    apriori: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option("--apriori", help="File that says of cells that they are kept, withheld or to be preferred."),
    ] = None,
    search: Annotated[Optional[str], typer.Option("--search", help="auto, modular or gauss.")] = None,  # noqa: UP045
    cost: Annotated[Optional[str], typer.Option("--cost", help="value, count, rank or cells.")] = None,  # noqa: UP045
    intervals: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option("--intervals", help="levels, sliding or exact."),
    ] = None,
    show: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option("--show", help="What --suppress publishes: auto, both, value or count."),
    ] = None,
    singletons: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option("--singletons", help="Protection from whoever is alone in a cell: levels, exact or off."),
    ] = None,
    seconds: Annotated[
        Optional[float],  # noqa: UP045
        typer.Option("--seconds", help="Limit of --suppress; reached, nothing is released."),
    ] = None,
    state: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option("--state", help="File that keeps what was found within --seconds, to go on from."),
    ] = None,
    record_keys: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option("--record-keys", help="Column of stored record keys; default: made from the id and the secret."),
    ] = None,
    secret: SecretFile = None,
    out: Annotated[Optional[str], typer.Option("--out", help="Write the table here: .csv, .parquet, .xlsx, …")] = None,  # noqa: UP045
    flags: Annotated[
        str, typer.Option("--flags", help="Codes in --out for what a cell is: status, sdmx or eurostat.")
    ] = "status",
    html: Annotated[Optional[str], typer.Option("--html", help="Draw the table here: .html")] = None,  # noqa: UP045
    internal: Annotated[
        bool, typer.Option("--internal", help="Let --html draw true figures and why cells are suppressed.")
    ] = False,
    language: Annotated[str, typer.Option("--language", help="Language of --html: en or fr.")] = "en",
    unprotected: Annotated[
        bool, typer.Option("--unprotected", help="Let --out and --html write a table that nothing protects.")
    ] = False,
    engine: EngineName = None,
    table: DatabaseTable = None,
    sheet: Sheet = None,
    delimiter: Delimiter = None,
    encoding: Encoding = None,
    decimal: Decimal = None,
) -> None:
    """Count records by dimensions, protect the table, show its first lines."""
    from flou.cli.data import DataSource
    from flou.cli.suppress import Draw, Suppress
    from flou.cli.tables import Asked, make_table

    where = DataSource(source, schema, engine, table, sheet, delimiter, encoding, decimal)
    asked = Asked(dims, value=value, margins=not no_margins, weight=weight, holding=holding, cells=cells)
    make_table(
        where,
        asked,
        protect,
        context.args,
        suppress=Suppress(tuple(suppress or ()), apriori, search, cost, intervals, show, singletons, seconds, state),
        draw=Draw(html, internal, language),
        record_keys=record_keys,
        secret=secret,
        out=out,
        flags=flags,
        unprotected=unprotected,
    )


def calibrate(
    source: Annotated[str, typer.Argument(help="Records, or without --dims a file of counts: columns i and N.")],
    over: Annotated[list[str], typer.Option("--over", help='Values to try, once a parameter: --over "D=5,10".')],
    s: Annotated[int, typer.Option("--s", help="Threshold: counts from 1 to s - 1 are sensitive.")],
    dims: Annotated[Optional[str], typer.Option("--dims", help="Dimensions of the table, by commas.")] = None,  # noqa: UP045
    limit: Annotated[
        Optional[float],  # noqa: UP045
        typer.Option("--limit", help="Largest risk that is accepted: chooses the point of highest utility under it."),
    ] = None,
    method: Annotated[str, typer.Option("--method", help="Protection of tables.")] = "cell_key",
    within: Annotated[int, typer.Option("--within", help="Utility: share of cells moved by so much at most.")] = 2,
    cells: Cells = "occupied",
    no_margins: Annotated[bool, typer.Option("--no-margins", help="The finest cells alone.")] = False,
    out: Annotated[Optional[str], typer.Option("--out", help="Page to write with the charts: .html.")] = None,  # noqa: UP045
    language: Annotated[str, typer.Option("--language", help="Language of the charts: en or fr.")] = "en",
    schema: SchemaFile = None,
    engine: EngineName = None,
    table: DatabaseTable = None,
    sheet: Sheet = None,
    delimiter: Delimiter = None,
    encoding: Encoding = None,
    decimal: Decimal = None,
) -> None:
    """Try parameters of a table protection: the risk that each leaves, the utility that it keeps."""
    from flou.cli.calibration import calibrate_noise
    from flou.cli.data import DataSource
    from flou.cli.tables import Asked

    where = DataSource(source, schema, engine, table, sheet, delimiter, encoding, decimal)
    asked = None if dims is None else Asked(dims, margins=not no_margins, cells=cells)
    calibrate_noise(where, asked, method=method, over=over, s=s, within=within, limit=limit, out=out, language=language)
