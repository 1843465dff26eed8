"""What texts look like: e-mail addresses, accounts, national numbers, telephone numbers, names, free text."""

from __future__ import annotations

import re

import polars as pl

from flou.describe.identifying.check_digits import IBAN_LENGTHS, iban, nir
from flou.describe.identifying.number_patterns import checked, some

#: One of these in a text is one too many: they do not occur by chance.
_DOMAIN = r"[a-z0-9\-]+(\.[a-z0-9\-]+)*\.[a-z]{2,}"
_EMAIL = rf"(?i)[a-z0-9._%+\-]+ ?(@|[(\[{{<] ?(at|arobase) ?[)\]}}>]) ?{_DOMAIN}"
#: Written out they may be words: some of them are asked for.
_SPELLED = rf"(?i)\b[a-z0-9._%+\-]+ (at|arobase) {_DOMAIN}\b"
_MIN_SPELLED = 3
_IBAN = r"\b[A-Z]{2}\d{2}(?:[ .\-]?[A-Z0-9]){11,30}"
_NIR = (
    r"\b[1-478][ .\-]?\d{2}[ .\-]?(?:0[1-9]|1[0-2]|[2-9]\d)[ .\-]?(?:\d{2}|2A|2B)[ .\-]?\d{3}[ .\-]?\d{3}[ .\-]?\d{2}\b"
)
_STREET = (
    r"(?i)\b\d{1,4}\s?(bis|ter)?,?\s+(rue|avenue|av\.|bd|boulevard|place|chemin|impasse|all[ée]e|quai|cours)\b"
    r"|\b\d{1,5}\s+\w[\w .'\-]*\s(street|st|road|rd|avenue|ave|lane|drive|close)\b|\b\w+(stra(ß|ss)e|weg|platz)\s+\d+"
)
#: These are told by how many values have their shape.
_PHONE = r"^(\+|00)\d[\d .\-/()]{6,}\d$|^0[1-9]([ .\-]?\d{2}){4}$|^\(?\d{3}\)?[ .\-]\d{3}[ .\-]\d{4}$"
_SSN = r"^\d{3}-\d{2}-\d{4}$"
_IP = r"^\d{1,3}(\.\d{1,3}){3}$"
_MACHINE = r"(?i)^\{?[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\}?$|^([0-9a-f]{32}|[0-9a-f]{40}|[0-9a-f]{64})$"
#: So many distinct values are asked of a shape at least, and this share of the values that are looked at.
_MIN_DISTINCT, _MIN_SHARE = 5, 0.5
#: Two to four words with capitals, particles before the later ones.
_CAPITAL = r"(d['’])?\p{Lu}[\p{L}'’.\-]*,?"
_PARTICLE = r"( (de|du|des|da|di|dos|von|van|der|den|le|la|el|al|ben|bin|y))"
_NAME = rf"^{_CAPITAL}({_PARTICLE}* {_CAPITAL}){{1,3}}$"
#: So many names are asked for, fewer where the column is called after people, and this share of all values.
_MIN_NAMES, _MIN_HINTED, _NAME_SHARE = 20, 5, 0.8
#: Numbers inside texts whose check digits are right more often than that are what they look like.
_BY_CHANCE = 0.1
#: As many values are looked at one by one.
_LOOKED_AT = 1_000
#: A text of so many words is free text where it stands in few records.
_WORDS, _MIN_FREE, _FEW = 5, 10, 5
#: Texts of their own in half of the records, those left out that show a value which many share.
_MIN_OWN, _OWN_SHARE, _COMMON = 20, 0.5, 0.1


def in_texts(values: pl.DataFrame, *, listed: bool, hinted: bool = False) -> list[str]:
    """What texts look like, given as `value` with the number `n` of records.

    `listed` says that the schema lists them, `hinted` that the column is called after people.
    """
    # full-width letters and signs are read as the usual ones
    texts = values["value"].str.normalize("NFKC")
    found = _sure(texts) + _by_shape(texts)
    if listed:
        return found
    if not found and _are_names(texts.str.strip_chars(), hinted=hinted):
        found.append("names of people")
    rest = values.filter(pl.col("n") <= max(1.0, _COMMON * int(values["n"].sum())))
    if rest.height >= _MIN_OWN and rest.height >= _OWN_SHARE * int(rest["n"].sum()):
        found.append("a text of its own in most records")
    free = values.filter(pl.col("value").str.count_matches(r"\p{L}{2,}") >= _WORDS)
    if free.height >= _MIN_FREE and int(free["n"].sum()) <= _FEW * free.height:
        found.append("free text")
    return found


def _sure(texts: pl.Series) -> list[str]:
    found = []
    if texts.str.contains(_EMAIL).any() or int(texts.str.contains(_SPELLED).sum()) >= _MIN_SPELLED:
        found.append("e-mail addresses")
    capitals = texts.str.to_uppercase()
    for name, pattern, check in (
        ("bank accounts (IBAN)", _IBAN, _is_account),
        ("French social security numbers", _NIR, nir),
    ):
        candidates = capitals.filter(capitals.str.contains(pattern)).head(_LOOKED_AT).to_list()
        shown = [re.sub(r"[ .\-]", "", m.group()) for text in candidates for m in re.finditer(pattern, text)]
        # a check digit is right by chance in one number of 97
        if sum(map(check, shown)) > _BY_CHANCE * len(shown):
            found.append(name)
    if int(texts.str.contains(_STREET).sum()) >= 3:
        found.append("addresses")
    return found


def _is_account(text: str) -> bool:
    """Whether a text begins with an account number of its country's length; words may follow."""
    length = IBAN_LENGTHS.get(text[:2], len(text))
    return len(text) >= length and iban(text[:length])


def _by_shape(texts: pl.Series) -> list[str]:
    if len(texts) < _MIN_DISTINCT:
        return []
    stripped = texts.str.strip_chars()
    shapes = (
        ("telephone numbers", _PHONE),
        ("American social security numbers", _SSN),
        ("addresses of computers", _IP),
        ("codes that machines give", _MACHINE),
    )
    found = [name for name, pattern in shapes if int(stripped.str.contains(pattern).sum()) >= _MIN_SHARE * len(texts)]
    return found or checked(some(stripped.str.replace_all(r"[ .\-/]", "").str.to_uppercase()))


def _are_names(texts: pl.Series, *, hinted: bool) -> bool:
    """Whether nearly all values are several words with capitals, as many different ones as a list does not have."""
    enough = len(texts) >= (_MIN_HINTED if hinted else _MIN_NAMES)
    return enough and int(texts.str.contains(_NAME).sum()) >= _NAME_SHARE * len(texts)
