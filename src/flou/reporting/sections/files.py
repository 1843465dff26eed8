"""The files of a release that has several: what each is, and who reads it. The public reads of its own alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

from flou.engine.released_file import ReleasedFile
from flou.reporting.reader import Reader
from flou.reporting.sections.section import Listing, Section
from flou.reporting.subject import Subject


@dataclass(frozen=True)
class Files(Section, anchor="files", link="Files"):
    """One line per file, the data first."""

    listing: Listing

    @classmethod
    def of(cls, subject: Subject, reader: Reader) -> Self | None:
        beside = [file for file in subject.release.data.kin.files.values() if file.is_public or not reader.public]
        if not beside:
            return None
        words = reader.words
        columns = [(words("File"), False), (words("Kind"), False), (words("Columns"), False)]
        files = [subject.release.files["data"], *beside]
        rows = [[file.name, words(file.kind), _columns(file, reader)] for file in files]
        if not reader.public:
            columns.append((words("Read by"), False))
            for row, file in zip(rows, files, strict=True):
                row.append(words("everybody") if file.is_public else words("the office alone"))
        return cls(Listing(columns, rows))


def _columns(file: ReleasedFile, reader: Reader) -> str:
    if file.kind == "text":
        return "–"
    return ", ".join(file.schema.label(c, reader.words.language) for c in file.data.public().columns)
