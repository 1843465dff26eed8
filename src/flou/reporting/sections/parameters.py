"""Parameters: of each step and measure, where the randomness came from, and the version."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

from flou.reporting.reader import Reader
from flou.reporting.sections.risk import Risk
from flou.reporting.sections.section import Section
from flou.reporting.sections.steps import Steps
from flou.reporting.subject import Subject


@dataclass(frozen=True)
class Parameters(Section, anchor="parameters", link="Parameters"):
    """Steps and measures, and what is said about the secret: never its value."""

    steps: Steps
    risk: Risk
    randomness: list[str]

    @classmethod
    def of(cls, subject: Subject, reader: Reader, steps: Steps, risk: Risk) -> Self:
        randomness = [_record_keys(subject, reader)] if subject.is_keyed else []
        if not subject.is_keyed or any(step.random for step in subject.release.steps):
            randomness.append(_drawn(subject, reader))
        return cls(steps, risk, randomness)


def _drawn(subject: Subject, reader: Reader) -> str:
    """What the draws of the steps hang on."""
    origins = {
        "file": "a secret read from a file: the same plan, data and secret give the same release",
        "environment": "a secret read from the environment: the same plan, data and secret give the same release",
        "entropy": "the operating system's entropy: this release cannot be replayed",
        "test": "a test seed, which anybody can guess: for tests only",
        "demonstration": "the published demonstration secret: for synthetic data only",
    }
    if not subject.release.random and subject.release.secret_origin != "test":
        return reader.words("nothing was drawn at random: the same plan and data give the same release")
    return reader.words(origins[subject.release.secret_origin])


def _record_keys(subject: Subject, reader: Reader) -> str:
    """Where the keys of the records came from, as far as it is known; never a key."""
    origins = {
        "file": "record keys from a secret read from a file: the same plan, data and secret give the same figures",
        "environment": "record keys from a secret read from the environment: the same plan, data and secret give "
        "the same figures",
        "test": "record keys from a test seed, which anybody can guess: for tests only",
        "demonstration": "record keys from the published demonstration secret: for synthetic data only",
        "stored": "record keys read from a stored column: the same plan, data and keys give the same figures",
        "before": "record keys made beforehand, from the office's secret or a stored column: the same data and "
        "keys give the same figures",
    }
    trail = subject.release.trail
    if trail.keyed or trail.secret_origin == "test":
        return reader.words(origins.get(trail.secret_origin, origins["before"]))
    # a plan makes keys of a secret, unless it names a column; tables made by hand do not tell
    return reader.words(origins["before" if subject.release.data.kin.records is None else "stored"])
