"""`flou table --suppress`: the suppression that the options ask for, and what is printed of it.

The states of the cells and the audit are for the office, which reads the screen; files hold the published table alone,
unless the internal drawing is asked for by name.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from flou.cli.show import console, hanging
from flou.engine.errors import ParameterError
from flou.engine.output import PRIVATE, PUBLIC, checked_path, require_new, written_whole
from flou.engine.words import Words

if TYPE_CHECKING:
    from flou.describe.table.suppression import Audit
    from flou.describe.table.table import Table
    from flou.engine.protection import Protection

#: How the states are printed, in this order; cells that the office kept only where there are some.
_STATES = ("primary", "secondary", "kept", "published", "zero")


@dataclass(frozen=True)
class Suppress:
    """A suppression as the command line asks for it; what is not given is left to the method."""

    rules: tuple[str, ...] = ()
    apriori: str | None = None
    search: str | None = None
    cost: str | None = None
    intervals: str | None = None
    show: str | None = None
    singletons: str | None = None
    seconds: float | None = None
    state: str | None = None

    def protection(self) -> Protection | None:
        """The method, or None where no rule is given."""
        given = {
            name: value
            for name in ("apriori", "search", "cost", "intervals", "show", "singletons", "seconds", "state")
            if (value := getattr(self, name)) is not None
        }
        if not self.rules:
            if given:
                raise ParameterError(f'--{next(iter(given))} goes with --suppress RULES, such as "threshold(5)".')
            return None
        from flou import protect
        from flou.risk.table.rule_text import parse_rules

        primary = [rule for text in self.rules for rule in parse_rules(text)]
        method: Any = protect.CellSuppression
        return cast("Protection", method(primary=primary, **given))


@dataclass(frozen=True)
class Draw:
    """A drawing as the command line asks for it."""

    file: str | None = None
    internal: bool = False
    language: str = "en"

    def check(self) -> None:
        """Refuse what cannot be written before any work is done."""
        if self.file is None:
            if self.internal:
                raise ParameterError("--internal goes with --html FILE: it draws true figures and states of cells.")
            return
        Words(self.language)
        target = checked_path(self.file, "A file to write")
        if target.suffix.lower() not in (".html", ".htm"):
            raise ParameterError(f"--html {self.file} must end in .html.")
        require_new(target)

    def write(self, table: Table) -> None:
        """Write the drawing of a table."""
        if self.file is None:
            return
        mode = PRIVATE if self.internal or table.published is None else PUBLIC
        with written_whole(Path(self.file), mode=mode) as file:
            file.write(table.to_html(self.language, internal=self.internal).encode())
        remark = " (internal: not for publication)" if self.internal else ""
        console().print(f"Drawn: {self.file}{remark}", soft_wrap=True)


def show_suppression(table: Table) -> None:
    """How many cells are in which state, and what the audit found."""
    if table.suppression is None:
        return
    out, counted = console(), table.suppression.counted()
    hanging(out, "", ", ".join(f"{state} {counted[state]:,}" for state in _STATES if counted[state] or state != "kept"))
    hanging(out, "", _audited(table.suppression.audit))


def _audited(audit: Audit | None) -> str:
    if audit is None:
        return "not audited: nothing shows that the suppressed cells cannot be computed"
    single = audit.n_attackers - 1
    by = "by an outsider" if single < 1 else f"by an outsider or any of {single:,} single contributors"
    if single == 1:
        by = "by an outsider or the one single contributor"
    how = f" ({audit.n_exact:,} exactly, {audit.n_narrow:,} too narrowly)" if audit.n_disclosed else ""
    return f"audited: {audit.n_disclosed:,} disclosed{how} ({by}; {audit.n_programs:,} linear programs)"
