"""The small tables of the source papers, used as golden examples."""

from __future__ import annotations

import polars as pl

from flou.describe.microdata import Microdata


def saoud_fm1() -> Microdata:
    """FM1 of Saoud, table 1: seven people, sex and nationality, five undetermined values."""
    sex = ["Masculin", "Féminin", "Masculin", "Féminin", None, None, None]
    nationality = ["Marocaine", "Marocaine", None, None, "Étrangère", "Marocaine", "Marocaine"]
    return Microdata(pl.DataFrame({"sex": sex, "nationality": nationality}), keys=["sex", "nationality"]).marked(
        synthetic=True
    )


def saoud_fm2() -> Microdata:
    """FM2 of Saoud, table 7, with the status modalities and the five incoherent pairs of the text."""
    statuses = ["Salarié", "Employeur", "Indépendant", "Aide familial", "Inactif"]
    frame = pl.DataFrame(
        {
            "activity": ["Inactif", "Actif", "Actif", "Inactif", "Actif", None, "Actif"],
            "status": ["Inactif", "Salarié", None, "Inactif", "Employeur", None, "Indépendant"],
        }
    )
    incoherent = [
        {"activity": "Actif", "status": "Inactif"},
        *({"activity": "Inactif", "status": s} for s in statuses[:4]),
    ]
    return Microdata(
        frame,
        keys=["activity", "status"],
        modalities={"activity": ["Actif", "Inactif"], "status": statuses},
        incoherent=incoherent,
    ).marked(synthetic=True)


def benschop() -> Microdata:
    """Ten people of Benschop, Machingauta & Welch (2018), *Measuring risk*: four keys and a weight."""
    columns = ("residence", "gender", "education", "labour", "weight")
    rows = [
        ("Urban", "Female", "Secondary incomplete", "Employed", 180),
        ("Urban", "Female", "Secondary incomplete", "Employed", 180),
        ("Urban", "Female", "Primary incomplete", "Non-LF", 215),
        ("Urban", "Male", "Secondary complete", "Employed", 76),
        ("Rural", "Female", "Secondary complete", "Unemployed", 186),
        ("Urban", "Male", "Secondary complete", "Employed", 76),
        ("Urban", "Female", "Primary complete", "Non-LF", 180),
        ("Urban", "Male", "Post-secondary", "Unemployed", 215),
        ("Urban", "Female", "Secondary incomplete", "Non-LF", 186),
        ("Urban", "Female", "Secondary incomplete", "Non-LF", 76),
    ]
    return Microdata(pl.DataFrame(rows, schema=columns, orient="row"), keys=columns[:4], weight="weight").marked(
        synthetic=True
    )
