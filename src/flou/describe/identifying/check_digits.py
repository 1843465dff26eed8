"""National numbers, account numbers and cards: the check digits that tell them from other numbers.

The rules are those of the bodies that issue the numbers. A check passes by chance in one of 10 to 97 numbers, so that
a column is recognised by how many of its values pass, not by one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

Check = Callable[[str], bool]


def _weighted(digits: str, weights: Sequence[int]) -> int:
    return sum(int(d) * w for d, w in zip(digits, weights, strict=False))


def luhn(digits: str) -> bool:
    """The Luhn check of cards, SIREN and SIRET and Swedish numbers."""
    doubled = [int(d) * (2 if i % 2 else 1) for i, d in enumerate(reversed(digits))]
    return sum(d - 9 if d > 9 else d for d in doubled) % 10 == 0


#: ISO 13616: how many characters the account numbers of each country have.
IBAN_LENGTHS: dict[str, int] = {
    code: int(length)
    for length, codes in (
        (15, "NO"), (16, "BE"), (18, "DK FI FO GL NL"), (19, "MK SI"), (20, "AT BA EE KZ LT LU XK"),
        (21, "CH HR LI LV"), (22, "BG BH CR DE GB GE IE ME RS VA"), (23, "AE GI IL IQ TL"),
        (24, "AD CZ ES MD PK RO SA SE SK TN VG"), (25, "LY PT ST"), (26, "IS TR"), (27, "FR GR IT MC MR SM"),
        (28, "AL AZ BY CY DO GT HU LB PL SV"), (29, "BR EG PS QA UA"), (30, "JO KW MU"), (31, "MT SC"), (32, "LC"),
    )
    for code in codes.split()
}  # fmt: skip


def iban(text: str) -> bool:
    """ISO 13616: moved around and read as a number, 1 modulo 97."""
    moved = text[4:] + text[:4]
    return int("".join(str(int(c, 36)) for c in moved)) % 97 == 1


def nir(text: str) -> bool:
    """France: sex, year, month, place of birth, order, and a key of two digits; Corsica is 2A and 2B."""
    body = text[:13].replace("2A", "19").replace("2B", "18")
    return 97 - int(body) % 97 == int(text[13:])


def _mod_11_10(digits: str) -> bool:
    """ISO 7064, as in the German tax number."""
    product = 10
    for d in digits[:-1]:
        product = ((int(d) + product) % 10 or 10) * 2 % 11
    return (11 - product) % 10 == int(digits[-1])


def _belgium(digits: str) -> bool:
    body, key = int(digits[:9]), int(digits[9:])
    return key in (97 - body % 97, 97 - (2_000_000_000 + body) % 97)


def _norway(digits: str) -> bool:
    first = _weighted(digits, (3, 7, 6, 1, 8, 9, 4, 5, 2, 1)) % 11
    return first == 0 and _weighted(digits, (5, 4, 3, 2, 7, 6, 5, 4, 3, 2, 1)) % 11 == 0


def _ean13(digits: str) -> bool:
    return _weighted(digits, (1, 3) * 6 + (1,)) % 10 == 0


def _nhs(digits: str) -> bool:
    return _weighted(digits, (10, 9, 8, 7, 6, 5, 4, 3, 2, 1)) % 11 == 0


def _portugal(digits: str) -> bool:
    rest = _weighted(digits, (9, 8, 7, 6, 5, 4, 3, 2)) % 11
    return int(digits[8]) == (0 if rest < 2 else 11 - rest)


def _netherlands(digits: str) -> bool:
    return _weighted(digits, (9, 8, 7, 6, 5, 4, 3, 2, -1)) % 11 == 0 and int(digits) > 0


def _spain(text: str) -> bool:
    body = text[:-1].replace("X", "0").replace("Y", "1").replace("Z", "2")
    return "TRWAGMYFPDXBNJZSQVHLCKE"[int(body) % 23] == text[-1]


_ODD = dict(zip("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ",
                (1, 0, 5, 7, 9, 13, 15, 17, 19, 21, 1, 0, 5, 7, 9, 13, 15, 17, 19, 21, 2, 4, 18, 20, 11, 3, 6, 8, 12,
                 14, 16, 10, 22, 25, 24, 23), strict=True))  # fmt: skip


def _italy(text: str) -> bool:
    even = sum(int(c) if c.isdigit() else ord(c) - 65 for c in text[1:15:2])
    return chr(65 + (sum(_ODD[c] for c in text[0:15:2]) + even) % 26) == text[15]


def _finland(text: str) -> bool:
    return "0123456789ABCDEFHJKLMNPRSTUVWXY"[int(text[:6] + text[-4:-1]) % 31] == text[-1]


_DAY, _MONTH = r"(0[1-9]|[12]\d|3[01])", r"(0[1-9]|1[0-2])"
#: What the values are, their shape once spaces, dots, dashes and slashes are gone, and their check.
NATIONAL: tuple[tuple[str, re.Pattern[str], Check], ...] = tuple(
    (name, re.compile(shape), check)
    for name, shape, check in (
        ("French social security numbers", r"[1-478]\d{4}(\d{2}|2A|2B)\d{6}\d{2}", nir),
        ("French social security numbers", rf"[12]\d{{2}}{_MONTH}(\d{{2}}|2A|2B)\d{{6}}", lambda text: True),
        ("Belgian national numbers", r"\d{11}", _belgium),
        ("German tax numbers", r"[1-9]\d{10}", _mod_11_10),
        ("Polish national numbers", r"\d{11}",
         lambda d: _weighted(d, (1, 3, 7, 9, 1, 3, 7, 9, 1, 3, 1)) % 10 == 0),
        ("Norwegian national numbers", r"\d{11}", _norway),
        ("Dutch national numbers", r"\d{9}", _netherlands),
        ("Portuguese tax numbers", r"[1-9]\d{8}", _portugal),
        ("SIREN numbers", r"\d{9}", luhn),
        ("SIRET numbers", r"\d{14}", luhn),
        ("Swedish national numbers", rf"(19|20)?\d{{2}}{_MONTH}{_DAY}\d{{4}}", lambda d: luhn(d[-10:])),
        ("Swiss national numbers", r"756\d{10}", _ean13),
        ("British health numbers", r"\d{10}", _nhs),
        ("British insurance numbers", r"[A-CEGHJ-PR-TW-Z][A-CEGHJ-NPR-TW-Z]\d{6}[A-D]", lambda text: True),
        ("Spanish national numbers", r"[\dXYZ]\d{7}[A-Z]", _spain),
        ("Italian tax codes", r"[A-Z]{6}\d{2}[ABCDEHLMPRST]\d{2}[A-Z]\d{3}[A-Z]", _italy),
        ("Finnish national numbers", r"\d{6}[A-FU-Y]?\d{3}[0-9A-Y]",
         _finland),
        ("numbers of bank cards", r"\d{13,19}", luhn),
    )
)  # fmt: skip
