"""Names of columns that hold direct identifiers, in English and French, some in other languages of Europe."""

from __future__ import annotations

import re
import unicodedata

#: What a name says is in the column → the names, as regular expressions on words joined by `_`.
_NAMES: dict[str, str] = {
    "a person's name": (
        r"((full|first|last|family|given|maiden|middle|nick|birth|person|patient|customer|client|employee|holder|owner)_?)"
        r"?(names?|surnames?|forenames?)|surname|forename|initials|noms?|nom_(naissance|famille|usage|jf|jeune_fille|marital|patronymique|complet|prenom|"
        r"assure|patient|client|individu|personne|beneficiaire|salarie)|prenoms?|patronyme|nombre|apellidos?"
        r"|cognome|vorname|nachname|familienname|achternaam|voornaam"
    ),
    "an address": (
        r"(.*_)?(address|addresses|adress|adresse|adresses|street|rue|voie|strasse|indirizzo|direccion)(_.*)?"
        r"|(house|street|flat)_?(no|nr|number)"
    ),
    "a place on the map": r"(.*_)?(latitude|longitude|lat|lon|lng|gps|geohash|coordinates|coordonnees)(_.*)?",
    "an e-mail address": r"(.*_)?(e_?mail|courriel|mel|mail)s?(_.*)?",
    "a telephone number": r"(.*_)?(phone|telephone|tel|mobile_?(no|nr|number)|cell_?phone|portable|fax|telefon)(_.*)?",
    "a bank account": (
        r"(.*_)?(iban|bic|rib|bank_account|account_?(no|nr|number)|compte_bancaire|card_?(no|nr|number))(_.*)?"
    ),
    "a national number": (
        r"(.*_)?(ssn|social_security(_?(no|nr|number))?|nir|nss|nia|numss|num_?secu|securite_sociale|nino|nhs_?(no|nr|number)"
        r"|bsn|dni|nie|pesel|codice_fiscale|personnummer|fodselsnummer|cpr|hetu|ahv|passport|passeport"
        r"|national_?(id|no|nr|number)|id_?card|tax_?(id|no|nr|number)|steuer_?id|siren|siret)(_.*)?"
    ),
    "a number plate": r"(.*_)?(licen[cs]e_plate|number_plate|plate_?(no|nr|number)|immatriculation)(_.*)?",
    "an account on a computer": r"(.*_)?(user_?name|user_?id|login|ip|ip_?address|mac_?address|device_?id|imei|url)",
    "a person's number": (
        r"(person|patient|customer|client|member|employee|staff|beneficiary|insured|policy|contract|file|case|record|"
        r"individual|respondent|subject|student|pupil)_?(id|no|nr|num|number)"
        r"|(id|no|nr|num|numero|matricule|identifiant)(_(assure|patient|client|individu|beneficiaire|dossier|personne|"
        r"allocataire|adherent|salarie|agent|contrat))?|matricule|identifiant|uuid|guid"
    ),
}  # fmt: skip
#: Names of dates of birth: identifying where the day is given.
_BIRTH = (
    r"(.*_)?(dob|ddn|birth|births|birth_?(date|day|dt)|date_of_birth|born|ne_le|nee?|naiss|naissance|datenais|dnais|"
    r"geburtsdatum|geburtstag|geboren|nascita|nacimiento)(_.*)?"
)
#: Names of columns that are called after people; what they hold is looked at more closely.
_PEOPLE = (
    r"(.*_)?(who|whom|qui|persons?|personnes?|people|contacts?|holders?|titulaires?|owners?|proprietaires?|declarants?|"
    r"patients?|clients?|customers?|employees?|salaries?|agents?|assures?|beneficiaires?|beneficiary|individus?|members?|"
    r"tenants?|locataires?|spouse|conjoint|mother|father|mere|pere|child|enfant|doctor|medecin|author|auteur)(_.*)?"
)


def identifier_in_name(column: str) -> str:
    """What the name says that the column holds of a person; empty where it says nothing."""
    words = _words(column)
    return next((what for what, pattern in _NAMES.items() if re.fullmatch(pattern, words)), "")


def names_birth(column: str) -> bool:
    """Whether the name is that of a date of birth."""
    return re.fullmatch(_BIRTH, _words(column)) is not None


def names_people(column: str) -> bool:
    """Whether a column is called after people."""
    return re.fullmatch(_PEOPLE, _words(column)) is not None


def _words(column: str) -> str:
    """A name in small letters without accents, its words joined by `_`: `nomPatient` and `Nom du patient` alike."""
    plain = unicodedata.normalize("NFKD", column).encode("ascii", "ignore").decode()
    apart = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", plain)
    words = re.sub(r"[^a-z0-9]+", "_", apart.lower()).strip("_")
    return re.sub(r"_(du|de|la|le|des|d|of|the)_", "_", words)
