"""The two languages: English in the code, French from a gettext catalogue.

A text in the code is its own key. Numbers follow the language too: 12.5% and 12,5 %.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources

from flou.engine.errors import ParameterError
from flou.engine.note import Note
from flou.engine.parameters import HIDDEN
from flou.engine.values import Proportion, all_digits, percent, plain_text

LANGUAGES = ("en", "fr")
#: Places of a note that hold a method's title or a figure's label; others (columns, values) stay as they are.
_TRANSLATED = ("method", "figure", "where", "looks")


@dataclass(frozen=True)
class Words:
    """Texts and numbers in one language."""

    language: str = "en"

    def __post_init__(self) -> None:
        if self.language not in LANGUAGES:
            raise ParameterError(f"language = {self.language!r} is not known; use {' or '.join(LANGUAGES)}.")

    def __call__(self, text: str, **values: object) -> str:
        """A text in this language, its places filled in."""
        found = _catalogue(self.language).get(text, text) if text else text
        return found.format(**{k: self._shown(v) for k, v in values.items()}) if values else found

    def note(self, note: Note) -> str:
        """A result's remark in this language."""
        values = {k: self(v) if k in _TRANSLATED and isinstance(v, str) else v for k, v in note.values.items()}
        return self(note.text, **values)

    def _shown(self, value: object) -> str:
        if isinstance(value, Proportion):
            return self.share(value)
        if isinstance(value, Mapping):
            return self.settings(value)
        return self.number(value) if isinstance(value, int | float) and not isinstance(value, bool) else str(value)

    def number(self, value: float) -> str:
        """A count or a figure."""
        from babel.numbers import format_decimal

        pattern = "#,##0" if float(value).is_integer() else "#,##0.####"
        return str(format_decimal(value, format=pattern, locale=self.language))

    def decimal(self, value: float) -> str:
        """A figure with all of its decimals, six at most."""
        from babel.numbers import format_decimal

        return str(format_decimal(value, format="#,##0.######", locale=self.language))

    def share(self, value: float) -> str:
        """A share as a percentage."""
        shown = percent(value)
        return f"{shown.replace('.', ',')}\u202f%" if self.language == "fr" else f"{shown}%"

    def whole_share(self, value: float) -> str:
        """A share as a percentage without decimals, where there is no room for them."""
        return f"{100 * value:.0f}\u202f%" if self.language == "fr" else f"{100 * value:.0f}%"

    def plain(self, value: object) -> str:
        """A parameter as people read it."""
        return plain_text(value, self._all_digits, self.between, self._word)

    def _word(self, text: str) -> str:
        """Texts of parameters stay as a plan writes them; that one is not told is said in the language."""
        return self(HIDDEN) if text == HIDDEN else text

    def _all_digits(self, value: float) -> str:
        shown = all_digits(value)
        return shown.translate({ord(","): "\u202f", ord("."): ","}) if self.language == "fr" else shown

    def settings(self, settings: Mapping[str, object]) -> str:
        """Parameters as people read them, those that were set: `k = 3, missing = category`; `V = 2,5 ; js = 2`."""
        return self.between.join(f"{n} = {self.plain(v)}" for n, v in settings.items() if v is not None)

    @property
    def between(self) -> str:
        """What stands between parameters: no comma where it is the decimal point."""
        return "\u202f; " if self.language == "fr" else ", "

    @property
    def colon(self) -> str:
        """French sets a no-break space before a colon."""
        return "\u00a0:" if self.language == "fr" else ":"


@cache
def _catalogue(language: str) -> dict[str, str]:
    if language == "en":
        return {}
    from babel.messages.pofile import read_po

    path = resources.files("flou.engine") / "locale" / f"{language}.po"
    with path.open("rb") as file:
        catalogue = read_po(file, locale=language)
    return {m.id: str(m.string) for m in catalogue if isinstance(m.id, str) and m.id and m.string}
