"""The design of a sample is shown nowhere, and a policy judges the frame."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import flou
from flou.decide.verdict import Decision
from flou.engine.errors import ParameterError
from flou.protect import LocalSuppression, Sample

K3 = flou.risk.KAnonymity(k=3, missing="category")
SAMPLE = Sample(share=0.3717, by=["stratum_of_the_design"])


def _people(n: int = 300) -> flou.Microdata:
    rng = np.random.default_rng(1)
    frame = pl.DataFrame(
        {
            "pid": np.arange(n),
            "area": rng.choice(["a", "b", "c", "d"], n),
            "age": rng.choice([20, 30, 40, 50], n),
            "stratum_of_the_design": rng.integers(0, 5, n),
        }
    )
    # the stratum is an internal column: not even its name is published
    return flou.Microdata(frame, id="pid", keys=["area", "age"], identifiers=["stratum_of_the_design"])


def _policy(**rule: Any) -> flou.Policy:
    held = {"method": "k_anonymity", "settings": {"k": 3, "missing": "category"}, "figure": "k",
            "at_least": {"release": 3}}  # fmt: skip
    return flou.Policy(rules=[held | rule])


def _hides(text: str) -> None:
    assert "3717" not in text
    assert "stratum_of_the_design" not in text


def test_the_design_is_masked_wherever_a_method_is_shown() -> None:
    plan = flou.Plan([LocalSuppression(k=3), SAMPLE])
    for shown in (repr(SAMPLE), str(SAMPLE), str(SAMPLE.shown_settings()), repr(plan), plan.to_public_toml(),
                  str(SAMPLE.to_table(masked=True))):  # fmt: skip
        _hides(shown)
        assert "hidden" in shown
    default = Sample(by=["area"])
    for shown in (repr(default), flou.Plan([default]).to_public_toml()):
        assert shown.count("hidden") == 2, "a share that is left out would be the default's"
    for wrong in ({"share": 3717.0}, {"share": "3717"}):
        with pytest.raises(ParameterError) as caught:
            Sample(**wrong)  # type: ignore[arg-type]
        _hides(str(caught.value))
    assert SAMPLE.to_table()["share"] == 0.3717, "the plan's own file holds it, or it could not be replayed"


def test_the_design_is_on_no_page() -> None:
    data = _people()
    release = flou.Plan([LocalSuppression(k=3), SAMPLE]).protect(data, secret=flou.Secret.generate(), period="2026")
    _hides(repr(release))
    results = [K3.measure(data), K3.measure(release.data.kin.frame), K3.measure(release)]
    verdict = _policy(on="frame").judge(*results, release)
    report = flou.Report(data, release, results=results, verdict=verdict)
    for language in ("en", "fr"):
        _hides(report.html(language=language, audience="public"))
        assert "3717" not in report.html(language=language, audience="internal")
    assert "hidden" in report.html(audience="public")


def test_the_manifest_masks_the_design(tmp_path: Path) -> None:
    _people().to_frame().write_parquet(tmp_path / "people.parquet")
    flou.Secret.generate().save(tmp_path / "key.secret")
    roles = {"pid": "id", "area": "key", "age": "key", "stratum_of_the_design": "identifier"}
    columns = "".join(f'[columns.{name}]\nrole = "{role}"\n' for name, role in roles.items())
    (tmp_path / "people.schema.toml").write_text(f"flou = 2\n{columns}")
    (tmp_path / "plan.toml").write_text(
        """
        flou = 2
        [data]
        source = "people.parquet"
        schema = "people.schema.toml"
        [secrets]
        file = "key.secret"
        [[protect]]
        method = "local_suppression"
        k = 3
        [release]
        period = "2026"
        [[protect]]
        method = "sample"
        share = 0.3717
        by = ["stratum_of_the_design"]
        [[measure]]
        method = "k_anonymity"
        k = 3
        missing = "category"
        [[policy.rule]]
        method = "k_anonymity"
        settings = { k = 3, missing = "category" }
        figure = "k"
        on = "frame"
        at_least = { release = 3 }
        """
    )
    from flou.job.carry_out import carry_out
    from flou.job.folder import write_folder

    done = carry_out(flou.Plan.load(tmp_path / "plan.toml"))
    assert done.verdict.decision is Decision.RELEASE
    out = write_folder(done, tmp_path / "out")
    manifest = (out / "internal" / "manifest.json").read_text()
    assert "0.3717" not in manifest
    assert json.loads(manifest)["steps"][1]["settings"] == {"share": "hidden", "by": "hidden"}
    for page in (out / "public").glob("*.html"):
        _hides(page.read_text())
    _hides((out / "internal" / "log.txt").read_text())
    data = pl.read_parquet(next((out / "public").glob("data*")))
    assert set(data.columns) == {"area", "age", "weight"}


def test_a_rule_on_the_frame_judges_the_frame() -> None:
    release = flou.Plan([LocalSuppression(k=3), Sample(share=0.3)]).protect(
        _people(60), secret=flou.Secret.generate(), period="2026"
    )
    frame, sample = K3.measure(release.data.kin.frame), K3.measure(release)
    assert sample.k < 3 <= frame.k
    assert _policy(on="frame").judge(frame, sample, release).decision is Decision.RELEASE
    assert _policy().judge(frame, sample, release).decision is Decision.WITHHOLD


def test_a_rule_on_the_frame_falls_back_to_the_release_where_nothing_was_sampled() -> None:
    release = LocalSuppression(k=3).protect(_people(60), secret=flou.Secret.generate(), period="2026")
    assert _policy(on="frame").judge(K3.measure(release), release).decision is Decision.RELEASE
    assert _policy(on="frame").judge(K3.measure(_people(60)), release).decision is Decision.WITHHOLD


@pytest.mark.parametrize("with_release", [True, False])
def test_a_rule_on_a_frame_that_nobody_measured_withholds(with_release: bool) -> None:
    """What the sample shows is another figure, looser or stricter, than the one that the rule asks for."""
    release = Sample(share=0.6).protect(_people(2000), secret=flou.Secret.generate(), period="2026")
    sample = K3.measure(release)
    assert sample.k >= 3, "so that the sample alone would pass"
    given = (sample, release) if with_release else (sample,)
    assert _policy(on="frame").judge(*given).decision is Decision.WITHHOLD
    frame = K3.measure(release.data.kin.frame)
    assert _policy(on="frame").judge(*given, frame).decision is Decision.RELEASE
    other = flou.risk.KAnonymity(k=2).measure(release.data.kin.frame)
    assert _policy(on="frame").judge(*given, other).decision is Decision.WITHHOLD, "measured with other parameters"
