"""The file: the original for the office, the released one for the public; and what changed since a former one."""

from __future__ import annotations

from dataclasses import dataclass

from flou.describe.overview import Overview
from flou.reporting.sections.section import Section


@dataclass(frozen=True)
class File(Section, anchor="file", link="The file"):
    """The file in figures."""

    overview: Overview


@dataclass(frozen=True)
class Changed(Section, anchor="changed"):
    """Changes since the former file; internal."""

    notes: list[str]
