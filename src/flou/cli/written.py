"""What `flou protect` writes: a file that no policy has judged, for the office alone."""

from __future__ import annotations

from pathlib import Path

from flou.describe.files import is_protected, write_records
from flou.describe.identifying.scan import scan_of
from flou.describe.microdata import Microdata
from flou.engine.errors import OutputError, listed
from flou.engine.output import PRIVATE


def write_protected(data: Microdata, out: str, *, unprotected: bool) -> Path | str:
    """Write protected records, readable for their owner; refuse those that name people, or that nothing changed."""
    if data.kin.files:
        raise OutputError(
            f"The protection makes other files beside the data: {listed(data.kin.files)}. Write all of them by a plan: "
            "flou run."
        )
    if not unprotected:
        named = dict.fromkeys(finding.column for finding in scan_of(data))
        if named:
            raise OutputError(
                f"{listed(list(named))} would be written, and each looks as if it named people. Make them identifiers "
                "in the schema, or say there why they may leave (scan); --unprotected writes them all the same: the "
                "file is then for the office alone."
            )
        if not is_protected(data):
            raise OutputError(
                "No step changed or removed anything: the file would hold the records as they came. --unprotected "
                "writes it all the same: it is then for the office alone."
            )
    return write_records(data, out, mode=PRIVATE)
