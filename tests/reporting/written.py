"""What a report says, part by part, without its page."""

from __future__ import annotations

import flou
from flou.describe.microdata import Microdata
from flou.engine.release import Release
from flou.engine.words import Words
from flou.reporting.reader import Reader
from flou.reporting.sections.tables import Tables
from flou.reporting.subject import Subject


def reading(data: Microdata, release: Release, language: str = "en", *, public: bool = False) -> tuple[Subject, Reader]:
    """What a report without results is about, and somebody who reads it."""
    subject = flou.Report(data, release)._subject
    return subject, Reader.of(subject, Words(language), public=public)


def tables(data: Microdata, release: Release, language: str = "en") -> Tables:
    """The tables as the office reads them."""
    return Tables.of(*reading(data, release, language))
