"""`flou table`: a table of records, protected or not, and its first lines within 80 columns.

A table that nothing protects may be looked at, which the office needs in order to choose a protection; it is written
to a file only when that is asked for by name, since a file goes further than a screen.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from flou.cli.data import DataSource, load
from flou.cli.options import method_from_options
from flou.cli.show import console, hanging, show_release
from flou.cli.suppress import Draw, Suppress, show_suppression
from flou.describe.table.drawn import MARK
from flou.describe.table.flags import require_flags
from flou.describe.table.spec import FIGURES
from flou.describe.table.table import Table
from flou.describe.table.table_files import require_table_file
from flou.engine.errors import ParameterError
from flou.engine.plan import Plan
from flou.engine.table_steps import works_on_tables
from flou.engine.tabulation import RecordKeys, Tabulation
from flou.engine.values import figure_text
from flou.job.source import find_secret

if TYPE_CHECKING:
    from flou.describe.table.flags import Flags
    from flou.engine.protection import Protection

_LINES_SHOWN = 15
_WIDTH = 80


@dataclass(frozen=True)
class Asked:
    """A table as the command line asks for it."""

    dims: str
    value: str | None = None
    margins: bool = True
    weight: str | None = None
    holding: str | None = None
    cells: str = "occupied"

    def tabulation(self) -> Tabulation:
        """The same as a plan has it; dimensions stand apart by commas."""
        dims = [part.strip() for part in self.dims.split(",")]
        if self.cells not in ("occupied", "all"):
            raise ParameterError(f"--cells {self.cells} is not known; use occupied or all.")
        if not all(dims):
            raise ParameterError(f'--dims {self.dims!r} has an empty dimension: --dims "region>department, sex".')
        return Tabulation(dims, "", self.value, self.margins, self.weight, self.holding, cells=self.cells)  # type: ignore[arg-type]


def make_table(
    where: DataSource,
    asked: Asked,
    method: str | None,
    arguments: list[str],
    *,
    suppress: Suppress,
    draw: Draw,
    record_keys: str | None,
    secret: str | None,
    out: str | None,
    flags: str,
    unprotected: bool,
) -> None:
    """Make the table, show it, and write it where it may be."""
    protection = _protection(method, arguments, suppress)
    for option, file in (("--out", out), ("--html", draw.file)):
        if file is not None and protection is None and not unprotected:
            raise ParameterError(
                f"{option} {file} would write a table that nothing protects, and files go further than screens. "
                "Protect it, --protect cell_key --D 5 --V 2, or say --unprotected: the file is then for the office "
                "alone."
            )
    draw.check()
    require_flags(flags)
    if out is not None:
        require_table_file(out)
    if protection is not None and unprotected:
        raise ParameterError("--unprotected goes with a table that has no --protect.")
    tabulation, key = asked.tabulation(), find_secret(secret)
    keys = None if record_keys is None else RecordKeys(record_keys)
    data = load(where, None)
    if protection is None:
        if keys is not None:
            raise ParameterError("--record-keys is for a protection that goes by them: --protect cell_key.")
        made: Table = data.tabulate(**tabulation.options())
        show_table(made)
        console().print("Not protected: for the office alone.")
    else:
        release = Plan([protection], tables=[tabulation], record_keys=keys).protect(data, secret=key)
        made = release.data
        show_table(made)
        show_suppression(made)
        show_release(release)
    draw.write(made)
    if out is not None:
        made.write(out, unprotected=unprotected, flags=cast("Flags", flags))
        remark = "not protected" if protection is None else "no policy has judged it"
        console().print(f"Written: {out} ({remark})", soft_wrap=True)


def _protection(method: str | None, arguments: list[str], suppress: Suppress) -> Protection | None:
    suppression = suppress.protection()
    if suppression is not None and method is not None:
        raise ParameterError(f"--suppress and --protect {method} both protect the table: choose one of them.")
    if method is None:
        if arguments and suppression is not None:
            raise ParameterError(f"{arguments[0]!r} is not understood: it is no option of --suppress.")
        if suppression is not None:
            return suppression
        if arguments:
            raise ParameterError(f"{arguments[0]!r} is not understood: parameters go with --protect METHOD.")
        return None
    found = cast("Protection", method_from_options("protect", method, arguments))
    if not works_on_tables(found):
        raise ParameterError(f"--protect {method} works on records, not on tables: use flou protect, or a plan.")
    return found


def show_table(table: Table) -> None:
    """The first lines as they would be published, and how many cells there are."""
    out, shown = console(), table.public()
    frame = shown.shown_cells()
    columns = [c for c in frame.columns if c != "status"]
    head = frame.head(_LINES_SHOWN)
    rows = [
        [_text(value, withheld=status == "suppressed") for value in row]
        for row, status in zip(head.select(columns).iter_rows(), head["status"], strict=True)
    ]
    is_figure = [c in FIGURES for c in columns]
    widths = _fitted([max(len(line[j]) for line in [columns, *rows]) for j in range(len(columns))], is_figure)
    for line in [columns, *rows]:
        cells = (
            cell.rjust(w) if figure else _cut(cell, w).ljust(w)
            for cell, w, figure in zip(line, widths, is_figure, strict=True)
        )
        out.print("  ".join(cells).rstrip(), style="bold" if line is columns else None, soft_wrap=True)
    left = frame.height - _LINES_SHOWN
    if left > 0:
        out.print(f"… {left:,} more")
    n_zero, n_structural, n_hidden = (
        int((frame["status"] == word).sum()) for word in ("zero", "structural", "suppressed")
    )
    parts = [f"{frame.height:,} cells"]
    if n_hidden:
        parts.append(f"{n_hidden:,} of them suppressed ({MARK})")
    if table.listed == "all":
        parts.append(f"{n_zero:,} of them shown as zero")
        if n_structural:
            parts.append(f"{n_structural:,} structural zeros")
    elif table.hides_zeros and (table.suppression is None or table.n_cells > frame.height):
        parts.append(f"{table.n_cells - frame.height:,} more that somebody is in are shown as zero and left out")
    hanging(out, "", "; ".join(parts))


def _fitted(widths: list[int], is_figure: list[bool]) -> list[int]:
    """Widths that fit a line: the widest label gives way first, figures never."""
    widths, room = list(widths), _WIDTH - 2 * (len(widths) - 1)
    labels = [j for j, figure in enumerate(is_figure) if not figure]
    while sum(widths) > room and any(widths[j] > 1 for j in labels):
        widths[max(labels, key=lambda j: widths[j])] -= 1
    return widths


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 1] + "…"


def _text(value: Any, *, withheld: bool = False) -> str:
    if value is None and withheld:
        return MARK
    return "–" if value is None else value if isinstance(value, str) else figure_text(value)
