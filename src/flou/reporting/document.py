"""The report: one self-contained HTML page, English or French, internal or public.

The internal version has everything a methodologist and a data protection officer need to sign. The
public version describes the released file and how it was protected; it shows no figure of the original,
no key, no count below the policy's threshold, and no two numbers that give a secret one.
Neither holds a script, a date or a link outside.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from html import escape
from os import PathLike
from pathlib import Path
from typing import Any, Literal

from flou._version import __version__
from flou.decide.verdict import Decision, Verdict
from flou.describe.microdata import Microdata
from flou.describe.table import drawn
from flou.engine.comparison import ComparisonResult
from flou.engine.content import is_same
from flou.engine.errors import OutputError, ParameterError
from flou.engine.note import Note
from flou.engine.output import PRIVATE, PUBLIC, checked_path, require_new, written_whole
from flou.engine.release import Release
from flou.engine.result import Result
from flou.engine.words import LANGUAGES, Words
from flou.reporting.reader import Reader
from flou.reporting.sections import sections_of
from flou.reporting.sections.risk import Risk
from flou.reporting.subject import Subject
from flou.risk.micro.senses import count_ways

Audience = Literal["internal", "public"]


class Report:
    """What was done to a file, what risk is left, and what was decided.

    flou.Report(people, release, results=[before, after], verdict=verdict).save("decision.html", language="fr")
    """

    def __init__(
        self,
        original: Microdata,
        release: Release,
        *,
        results: Sequence[Result] = (),
        verdict: Verdict | None = None,
        title: str | Mapping[str, str] = "",
        changed: Sequence[Note] | None = None,
        written: Sequence[Note] = (),
    ) -> None:
        if not isinstance(original, Microdata) or not isinstance(release, Release):
            raise ParameterError(
                "Report takes the original Microdata and the Release made from it; of tables too, the Microdata that "
                "they were made from: flou.Report(people, release)."
            )
        if not isinstance(results, list | tuple) or not all(isinstance(r, Result) for r in results):
            raise ParameterError("results= takes a list of the results of measures, attacks and comparisons.")
        if any(release.is_strange(r) for r in results if not isinstance(r, ComparisonResult)):
            raise ParameterError("results= holds the result of another release: measure this one.")
        if any(release.is_strange(r) for r in results if isinstance(r, ComparisonResult)):
            raise ParameterError("results= holds the comparison of another release: compare this one.")
        if not isinstance(title, str | Mapping):
            raise ParameterError(f"title= is a text, or one a language; given {title!r}.")
        if (
            isinstance(verdict, Verdict)
            and verdict.judged
            and not any(is_same(d, release.data) for d in verdict.judged)
        ):
            raise ParameterError("verdict= was given on another release: judge this one.")
        if verdict is not None and not isinstance(verdict, Verdict):
            raise ParameterError(f"verdict= takes what Policy.judge gives, not {type(verdict).__name__}.")
        # all that is measured and described is measured and described here: a page says what is known
        held = (*results, *count_ways(results, original, release))
        titles = dict.fromkeys(LANGUAGES, title) if isinstance(title, str) else title
        released = release.data.public().describe() if isinstance(release.data, Microdata) else None
        files = original.describe(), released
        self._subject = Subject(original, release, held, verdict, titles, changed, written, *files)

    def html(self, *, language: str = "en", audience: Audience = "internal") -> str:
        """The page as text."""
        if audience not in ("internal", "public"):
            raise ParameterError(f"audience = {audience!r} is not known; use internal or public.")
        subject, verdict, words = self._subject, self._subject.verdict, Words(language)
        if audience == "public":
            self._require_publishable()
        reader = Reader.of(subject, words, public=audience == "public")
        sections = sections_of(subject, reader)
        title = subject.title.get(language) or reader.either(subject.original.schema.title)
        page: str = _template().render(
            _=words,
            subject=subject,
            reader=reader,
            sections=sections,
            leading=next(section.leading for section in sections if isinstance(section, Risk)),
            is_draft=not reader.public and (verdict is None or verdict.decision is not Decision.RELEASE),
            title=title or words("Disclosure control report"),
            version=__version__,
            style=drawn.style(),
        )
        return page

    def save(
        self,
        path: str | PathLike[str],
        *,
        language: str = "en",
        audience: Audience = "internal",
        overwrite: bool = False,
    ) -> Path:
        """Write the page to a file, the internal one for its owner alone; an existing file is kept unless asked."""
        target = checked_path(path, "A report", OutputError)
        require_new(target, overwrite=overwrite)
        text = self.html(language=language, audience=audience)
        mode = PUBLIC if audience == "public" else PRIVATE
        with written_whole(target, overwrite=overwrite, mode=mode) as file:
            file.write(text.encode())
        return target

    def _require_publishable(self) -> None:
        """There is a public page only of a file that a policy lets out."""
        verdict = self._subject.verdict
        if verdict is None or self._subject.release.test_only:
            raise OutputError("Nobody has judged this release for publication, so there is no public report.")
        if verdict.decision is Decision.WITHHOLD:
            raise OutputError("The release is withheld, so there is no public report: ask for the internal one.")

    def __repr__(self) -> str:
        data = self._subject.release.data
        unit = "records" if isinstance(data, Microdata) else "cells"
        return f"Report on {data.n_records:,} {unit}; .save(path) writes it, .html() is the page"

    def _repr_html_(self) -> str:
        return f'<iframe srcdoc="{escape(self.html())}" style="width:100%;height:600px;border:0"></iframe>'


@cache
def _template() -> Any:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("flou.reporting"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template("report.html")
