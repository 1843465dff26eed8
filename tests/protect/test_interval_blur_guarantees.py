"""The promises of an interval blur break when a later step undoes it, and hold when one only hides more."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

import narwhals as nw
import numpy as np
import polars as pl
import pytest

import flou
from flou.engine.errors import GuaranteeBrokenError
from flou.engine.protection import Protection
from flou.engine.randomness import Draws
from flou.engine.release import Outcome
from flou.protect import IntervalBlur

Change = Callable[[pl.DataFrame, pl.DataFrame], pl.Series]


class Undo(Protection):
    """A step that spoils what was done: it knows the original and puts into the column what it likes."""

    title: ClassVar[str] = "undo"
    change: Callable[..., pl.Series]

    def _protect(self, data: flou.Microdata, draw: Draws) -> Outcome:
        now = data.frame.to_native()
        assert isinstance(now, pl.DataFrame)
        before = data.kin.original.frame.to_native().sort("pid")
        new = self.change(now.sort("pid"), before).alias("amount")
        return Outcome(data.with_frame(nw.from_native(now.sort("pid").with_columns(new), eager_only=True)))


def _people(n: int = 600) -> flou.Microdata:
    rng = np.random.default_rng(1)
    x = rng.normal(size=n)
    held = np.where(rng.random(n) < 0.05, np.nan, np.exp(6 + 0.5 * x + 0.4 * rng.normal(size=n)).round())
    frame = pl.DataFrame({"pid": rng.permutation(n), "amount": held, "x": x, "sex": rng.choice(["F", "M"], n)})
    return flou.Microdata(frame, id="pid", keys=["amount", "sex"])


BLUR = IntervalBlur("amount", given=["x"], classes=10)


def _then(change: Change) -> flou.Release:
    return flou.Plan([BLUR, Undo(change=change)]).protect(_people(), secret=1)


def _part(share: float) -> Change:
    def put_back(now: pl.DataFrame, before: pl.DataFrame) -> pl.Series:
        some = pl.Series(np.arange(now.height) < share * now.height)
        return before["amount"].zip_with(some, now["amount"])

    return put_back


def test_a_step_that_does_nothing_breaks_nothing() -> None:
    assert len(_then(lambda now, before: now["amount"]).guarantees) == 3


@pytest.mark.parametrize("share", [1.0, 0.5, 0.02])
def test_original_values_put_back_are_found(share: float) -> None:
    """Whole euros, so that neither class nor unit gives the step away."""
    with pytest.raises(GuaranteeBrokenError, match="no more often than chance"):
        _then(_part(share))


def test_one_value_moved_out_of_its_class_is_found() -> None:
    def move(now: pl.DataFrame, before: pl.DataFrame) -> pl.Series:
        top = now["amount"].max()
        lowest = now["amount"] == now["amount"].min()
        return pl.Series(np.where(lowest.fill_null(False), top, now["amount"]), nan_to_null=True)

    with pytest.raises(GuaranteeBrokenError, match="stays in its class"):
        _then(move)


def test_values_off_the_unit_are_found() -> None:
    with pytest.raises(GuaranteeBrokenError, match="multiples of 1"):
        _then(lambda now, before: now["amount"] + 1e-3)


def test_a_value_where_there_was_none_is_found() -> None:
    with pytest.raises(GuaranteeBrokenError, match="stays in its class"):
        _then(lambda now, before: now["amount"].fill_null(400.0))


def test_values_that_a_later_step_nulls_break_no_promise() -> None:
    release = _then(lambda now, before: now["amount"].set(now["amount"] > 900, None))
    assert release.to_frame()["amount"].null_count() > 20
    coarse = IntervalBlur("amount", given=["x"], breaks=[0, 300, 600, 6000], unit=100.0)
    suppressed = flou.Plan([coarse, flou.protect.LocalSuppression(k=5)]).protect(_people(), secret=1)
    assert suppressed.to_frame()["amount"].null_count() > _people().to_frame()["amount"].null_count()


def test_a_second_blur_is_refused() -> None:
    """A value that is drawn in two sets of classes lies where both of its classes do."""
    again = IntervalBlur("amount", classes=7)
    with pytest.raises(flou.FlouError, match="second noise"):
        flou.Plan([BLUR, again]).protect(_people(), secret=1)


def test_a_blurred_value_never_becomes_a_not_applicable_code() -> None:
    rng = np.random.default_rng(2)
    amount = np.where(rng.random(3000) < 0.05, 999.0, rng.lognormal(6.9, 0.2, 3000).round())
    amount[(amount == 999) & (rng.random(3000) < 0.5)] = 1000.0
    frame = pl.DataFrame({"pid": np.arange(3000), "amount": amount})
    data = flou.Microdata(frame, id="pid", others=["amount"], not_applicable={"amount": [999, 5000]})
    for secret in range(5):
        after = BLUR.model_copy(update={"given": ()}).protect(data, secret=secret).to_frame(reveal=True).sort("pid")
        assert ((after["amount"] == 999).to_numpy() == (amount == 999)).all()


def test_a_blur_that_another_column_undoes_is_refused() -> None:
    """The covariate tells nearly all of the amount, so that a draw within the class meets it far too often."""
    rng = np.random.default_rng(4)
    x = rng.integers(0, 400, 2000)
    frame = pl.DataFrame({"pid": range(2000), "x": x, "y": 5.0 * x + rng.integers(-1, 2, 2000)})
    blur = IntervalBlur("y", given=["x"], classes=12, scale="identity", unit=2.0)
    with pytest.raises(flou.Infeasible, match="where chance gives"):
        blur.protect(flou.Microdata(frame, id="pid"), secret=1)


def test_a_value_that_many_share_is_met_by_chance() -> None:
    rng = np.random.default_rng(5)
    amount = np.where(rng.random(3000) < 0.5, 100.0, rng.integers(90, 110, 3000))
    frame = pl.DataFrame({"pid": range(3000), "amount": amount})
    blur = IntervalBlur("amount", breaks=[0, 95, 105, 200], scale="identity", given=[], unit=1.0)
    release = blur.protect(flou.Microdata(frame, id="pid"), secret=1)
    equal = (release.to_frame(reveal=True).sort("pid")["amount"] == frame["amount"]).mean()
    assert equal > 0.05
    assert "by chance" in str(release.steps[0].notes)
