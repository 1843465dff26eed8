"""Secrets that are none, and secrets that must not be seen."""

from __future__ import annotations

import copy
import pickle
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import flou
from flou.decide.rule import Rule
from flou.decide.verdict import Decision

KEY = bytes(range(100, 132))
DEMONSTRATION = Path(__file__).parents[2] / "examples" / "apa" / "demonstration.secret"

FILES: dict[str, tuple[bytes, str]] = {
    "too short": (b"abcd1234", "32 bits; at least 128"),
    "one digit short": (b"a" * 31, "hexadecimal"),
    "one byte short": (b"a" * 30, "120 bits"),
    "no bytes": (b"", "0 bits"),
    "not hexadecimal": (b"z" * 64, "hexadecimal"),
    "a pass phrase": ("c'est un secret très bien gardé, n'est-ce pas ?".encode(), "hexadecimal"),
    "bytes": (bytes(range(200, 232)), "hexadecimal"),
    "two lines": (b"ab" * 16 + b"\n" + b"cd" * 16, "one line"),
    "a short demonstration": (b"demonstration:abcd", "at least 128"),
}


@pytest.mark.parametrize("case", list(FILES))
def test_wrong_secret_files_are_refused(case: str, tmp_path: Path, job: Any, refused: Callable[..., str]) -> None:
    content, word = FILES[case]
    path = tmp_path / "wrong.secret"
    path.write_bytes(content)
    with pytest.raises(flou.FlouError, match=word):
        flou.Secret.from_file(path)
    message = refused("run", job.plan, "--out", job.out, "--secret", path)
    assert word in message
    assert not content or content.decode("latin-1") not in message


def test_secret_files_that_cannot_be_read(tmp_path: Path) -> None:
    sources: list[Any] = [tmp_path / "none.secret", tmp_path, None, 3]
    for source in sources:
        with pytest.raises(flou.FlouError):
            flou.Secret.from_file(source)


def test_a_missing_file_says_how_to_make_one(tmp_path: Path, job: Any, refused: Callable[..., str]) -> None:
    assert "flou secret" in refused("run", job.plan, "--out", job.out, "--secret", tmp_path / "none.secret")
    job.add("plan.toml", '\n[secrets]\nfile = "none.secret"\n')
    assert "none.secret" in refused("run", job.plan, "--out", job.out)


def test_an_unset_variable(job: Any, refused: Callable[..., str], monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(flou.FlouError, match="FLOU_NONE is not set"):
        flou.Secret.from_environment("FLOU_NONE")
    job.add("plan.toml", '\n[secrets]\nenvironment = "FLOU_NONE"\n')
    assert "FLOU_NONE is not set" in refused("run", job.plan, "--out", job.out)
    monkeypatch.setenv("FLOU_NONE", "abcd")
    assert "16 bits" in refused("run", job.plan, "--out", job.out)


@pytest.mark.parametrize("value", ["abcd", "z" * 64], ids=["short", "no digits"])
def test_a_wrong_variable(value: str, job: Any, refused: Callable[..., str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FLOU_SECRET", value)
    assert value not in refused("run", job.plan, "--out", job.out)


@pytest.mark.parametrize(
    "section", ['file = ""', 'environment = ""', "", 'file = "a.secret"\nenvironment = "FLOU_NONE"']
)
def test_a_secret_that_is_named_is_never_passed_over(section: str, job: Any, refused: Callable[..., str]) -> None:
    """Whoever writes [secrets] wants a replay: entropy in its place would only be found out years later."""
    job.add("plan.toml", f"\n[secrets]\n{section}\n")
    flou.Secret.generate().save(job.folder / "a.secret")
    assert re.search("secret|environment", refused("run", job.plan, "--out", job.out))


def test_an_empty_option_is_not_passed_over(job: Any, refused: Callable[..., str]) -> None:
    assert "secret" in refused("run", job.plan, "--out", job.out, "--secret", "")


def test_the_demonstration_secret_is_refused_on_real_data(
    job: Any, refused: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copy(DEMONSTRATION, job.folder)
    message = refused("run", job.plan, "--out", job.out, "--secret", DEMONSTRATION)
    assert "protects nobody" in message
    monkeypatch.setenv("FLOU_SECRET_FILE", str(DEMONSTRATION))
    assert "protects nobody" in refused("run", job.plan, "--out", job.out)
    assert "protects nobody" in refused("report", job.plan, "--out", job.out)
    monkeypatch.delenv("FLOU_SECRET_FILE")
    job.add("plan.toml", '\n[secrets]\nfile = "demonstration.secret"\n')
    assert "protects nobody" in refused("run", job.plan, "--out", job.out)


def test_the_demonstration_secret_is_refused_by_protect(job: Any, refused: Callable[..., str]) -> None:
    people, schema = job.folder / "people.csv", job.folder / "people.schema.toml"
    options = ["--method", "drop_identifiers", "--schema", schema, "--out", job.out.with_suffix(".csv")]
    assert "protects nobody" in refused("protect", people, *options, "--secret", DEMONSTRATION)


def test_the_demonstration_secret_releases_nothing_from_python(people: flou.Microdata) -> None:
    """Refused at once, or withheld in the end."""
    policy = flou.Policy(rules=[Rule(method="k_anonymity", settings={"k": 2}, at_most={"release": 0.5})])
    try:
        release = flou.Plan([]).protect(people, secret=flou.Secret.from_file(DEMONSTRATION))
    except flou.FlouError:
        return
    result = flou.risk.KAnonymity(k=2).measure(release)
    assert policy.judge(result, release).decision is Decision.WITHHOLD


def test_the_least_trustworthy_secret_is_remembered(people: flou.Microdata) -> None:
    try:
        first = flou.Plan([]).protect(people, secret=flou.Secret.from_file(DEMONSTRATION))
    except flou.FlouError:
        return
    assert flou.Plan([]).protect(first, secret=flou.Secret(KEY)).secret_origin == "demonstration"


MADE: dict[str, Callable[[], Any]] = {
    "a text": lambda: flou.Secret("a" * 64),  # type: ignore[arg-type]
    "a bytearray": lambda: flou.Secret(bytearray(32)),  # type: ignore[arg-type]
    "too few bytes": lambda: flou.Secret(b"abc"),
    "an unknown origin": lambda: flou.Secret(KEY, origin="office"),  # type: ignore[arg-type]
    "a seed as a text": lambda: flou.Secret.from_seed("1"),  # type: ignore[arg-type]
    "a seed as a boolean": lambda: flou.Secret.from_seed(True),
    "of a text": lambda: flou.Secret.of("abc"),  # type: ignore[arg-type]
    "a variable as a number": lambda: flou.Secret.from_environment(3),  # type: ignore[arg-type]
}


@pytest.mark.parametrize("case", list(MADE))
def test_secrets_that_are_none(case: str) -> None:
    with pytest.raises(flou.FlouError):
        MADE[case]()


def test_a_secret_is_never_written_over_anything(tmp_path: Path, refused: Callable[..., str]) -> None:
    path = tmp_path / "old.secret"
    path.write_text("something else", encoding="ascii")
    with pytest.raises(flou.FlouError, match="exists"):
        flou.Secret.generate().save(path)
    assert "exists" in refused("secret", path)
    refused("secret", tmp_path)
    refused("secret", tmp_path / "none" / "new.secret")
    for secret in (flou.Secret.from_seed(1), flou.Secret.from_file(DEMONSTRATION)):
        with pytest.raises(flou.FlouError):
            secret.save(tmp_path / "new.secret")
    assert not (tmp_path / "new.secret").exists()


def test_a_full_disk_leaves_no_half_secret(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import os

    def full(*_: object, **__: object) -> Any:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fdopen", full)
    with pytest.raises(flou.FlouError):
        flou.Secret(KEY).save(tmp_path / "new.secret")
    assert not (tmp_path / "new.secret").exists(), "an empty secret file would stand in the way of the next one"


def _shown(value: bytes | str) -> bool:
    text = value if isinstance(value, str) else value.decode("latin-1")
    return any(part in text for part in (KEY.hex(), KEY.hex().upper(), repr(KEY)[2:-1], KEY.decode("latin-1")))


def test_a_secret_is_never_shown(people: flou.Microdata) -> None:
    secret = flou.Secret(KEY)
    release = flou.Plan([flou.protect.Recode("age", level=1)]).protect(people, secret=secret)
    for thing in (secret, release, release.steps, flou.Plan([]), [secret], {"s": secret}):
        assert not _shown(repr(thing))
        assert not _shown(str(thing))
        assert not _shown(f"{thing}")
    for dump in (pickle.dumps, copy.copy, copy.deepcopy, lambda s: s.__reduce_ex__(4), lambda s: s.__getstate__()):
        with pytest.raises((flou.FlouError, TypeError, AttributeError)):
            dump(secret)
    assert not hasattr(secret, "__dict__")
    with pytest.raises(AttributeError):
        secret.origin = "entropy"  # type: ignore[misc]
    with pytest.raises(AttributeError):
        del secret._key


def test_a_pickled_release_holds_neither_secret_nor_identifiers(people: flou.Microdata) -> None:
    release = flou.Plan([flou.protect.Recode("age", level=1)]).protect(people, secret=flou.Secret(KEY))
    dumped = pickle.dumps(release.data)
    assert not _shown(dumped)
    assert b"Person3" not in dumped


def test_the_secret_is_nowhere_in_the_output(job: Any, run: Callable[..., Any]) -> None:
    path = job.folder.parent / "office.secret"
    flou.Secret(KEY).save(path)
    ran = run("run", job.plan, "--out", job.out, "--secret", path)
    assert ran.code == 0
    assert not _shown(ran.out)
    assert not _shown(ran.err)
    files = [p for p in job.out.rglob("*") if p.is_file()]
    assert len(files) >= 5
    for file in files:
        assert not _shown(file.read_bytes()), file.name


def test_the_secret_is_not_in_an_error(job: Any, refused: Callable[..., str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FLOU_SECRET", KEY.hex())
    job.edit("plan.toml", 'column = "age"', 'column = "agee"')
    assert not _shown(refused("run", job.plan, "--out", job.out))
