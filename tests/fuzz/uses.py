"""What is done with a spoilt file of each kind: it is read, looked at, measured, and written where that is possible."""

from __future__ import annotations

import random
import sys
import warnings
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout, suppress
from io import StringIO
from pathlib import Path
from typing import Any

import polars as pl

import flou
from flou.describe.table.argus.rda import UnusedWarning
from flou.engine.former import FormerRelease
from flou.engine.migrate import migrate

#: Exit codes of what was foreseen: done, bad input, to be reviewed, withheld.
FORESEEN = (0, 2, 3, 4)
_ENCODINGS = (*[None] * 12, "utf-8", "utf-16", "latin-1", "punycode")


class UnforeseenError(AssertionError):
    """The command line ended in a way that it does not promise."""


def command(*arguments: object) -> int:
    """Run `flou` in this process; its exit code, and one paragraph where it refuses."""
    from flou.cli.main import main

    said, given = StringIO(), sys.argv
    sys.argv = ["flou", *map(str, arguments)]
    try:
        with redirect_stdout(StringIO()), redirect_stderr(said):
            main()
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else 0 if ended.code is None else 1
    finally:
        sys.argv = given
    text = said.getvalue()
    if code not in FORESEEN or "Traceback" in text or (code == 2 and "flou: " not in text):
        raise UnforeseenError(f"exit code {code}: {text[-2000:]}")
    return code


def _run(folder: Path, out: Path, file: Path, rng: random.Random) -> int:
    return command("run", folder / "plan.toml", "--out", out)


def _example(folder: Path, out: Path, file: Path, rng: random.Random) -> None:
    loads: dict[str, Callable[[Path], object]] = {"schema": flou.Schema.load, "policy": flou.Policy.load}
    load = next((load for word, load in loads.items() if word in file.name), flou.Plan.load)
    if rng.random() < 0.2:
        load = migrate
    found = load(file)
    if hasattr(found, "save"):
        found.save(out)
        load(out)


def _records(folder: Path, out: Path, file: Path, rng: random.Random) -> None:
    options: dict[str, Any] = {"engine": rng.choice(("polars", "polars", "duckdb"))}
    if file.suffix == ".csv":
        options |= {"encoding": rng.choice(_ENCODINGS), "decimal": rng.choice((None, None, ","))}
    with suppress(flou.FlouError):  # a schema that the file does not fit any more hides what comes behind it
        flou.read(file, **options, keys=["age", "sex"], sensitive=["town"], id="pid").describe()
    people = flou.read(file, **options)
    roles = {"keys": people.columns[1:3], "sensitive": people.columns[3:4], "id": people.columns[0]}
    people = flou.read(file, **options, **(roles if rng.random() < 0.8 else {}))
    people = people.collect() if rng.random() < 0.3 else people
    people.describe()
    if people.schema.keys:
        flou.risk.KAnonymity(k=2).measure(people)
    use = rng.randrange(3)
    if use == 0 and len(people.columns) > 3:
        people = flou.protect.Microaggregation([people.columns[3]]).protect(people, secret=1).data
    elif use == 1 and len(people.columns) > 1:
        people.tabulate([people.columns[1]]).shown_cells()
    flou.write(people, out.with_suffix(rng.choice((".csv", ".parquet", ".arrow"))), unprotected=True)


def _hierarchy(folder: Path, out: Path, file: Path, rng: random.Random) -> None:
    options = {"encoding": found} if (found := rng.choice(_ENCODINGS)) else {}
    hierarchy = flou.Hierarchy.from_csv(file, **options)
    people = flou.Microdata(pl.DataFrame({"age": range(30, 60)}), keys=["age"], hierarchies={"age": hierarchy})
    flou.protect.Recode("age", level=1).protect(people, secret=1)
    hierarchy.to_csv(out)


def _argus(folder: Path, out: Path, file: Path, rng: random.Random) -> None:
    # a spoilt word of a description may be one that is named as not used
    warnings.simplefilter("ignore", UnusedWarning)
    main = next(f for f in (folder / "t.tab", folder / "r.asc") if f.exists())
    options = {"encoding": found} if (found := rng.choice(_ENCODINGS)) else {}
    if file.suffix == ".hrc" and rng.random() < 0.5:
        flou.write_argus(flou.read_argus(file, **options), out.with_suffix(".hrc"))
        return
    found_here: Any = flou.read_argus(main, **options)
    if file.suffix == ".hst":
        said = flou.read_argus(file, table=found_here.table)
        flou.write_argus(said, out.with_suffix(".hst"), table=found_here.table)
    elif main.suffix == ".tab":
        found_here.table.shown_cells()
        flou.write_argus(found_here.table, out.with_suffix(".tab"), unprotected=True)
    else:
        found_here.describe()
        flou.write_argus(found_here, out.with_suffix(".asc"), unprotected=True)


def _former(folder: Path, out: Path, file: Path, rng: random.Random) -> int | None:
    if file.name == "parameters.json":
        FormerRelease.load(folder / "former")
        return None
    return command("run", folder / "plan.toml", "--out", out, "--since", folder / "former")


USES: dict[str, Callable[[Path, Path, Path, random.Random], int | None]] = {
    **dict.fromkeys(("plan", "schema"), _run),
    **dict.fromkeys(("csv", "parquet", "arrow", "excel", "spss"), _records),
    **dict.fromkeys(("argus table", "argus records", "argus list"), _argus),
    "example": _example,
    "methods": _example,
    "hierarchy": _hierarchy,
    "former run": _former,
}
