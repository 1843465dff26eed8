"""Tables that cellKey 1.0.2 and ckm 1.1.0 perturbed, cell by cell, from the same counts and keys.

`cellkey_weighted.csv`: 99 of the 209 cells of a weighted table of 2,000 synthetic records (D = 5, V = 3, js = 2): numbers
of contributors and weighted counts, true (uwc, wc) and perturbed (puwc, pwc), with the cell keys. `ckm_perturbed.csv`:
100 of 1,996 cells (D = 5, V = 5, js = 2). All cells of both, and those from the records, were compared once: none differs.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl

import flou

HERE = Path(__file__).parent


def test_cellkey_weighted_and_unweighted() -> None:
    cells = pl.read_csv(HERE / "cellkey_weighted.csv")
    method = flou.protect.CellKey(D=5, V=3, js=2)
    given = {"count": "uwc", "key": "ckey", "cells": "occupied"}
    plain = method.protect(flou.Table.from_frame(cells, ["nuts2", "occc"], **given))
    weighted = method.protect(flou.Table.from_frame(cells, ["nuts2", "occc"], weighted="wc", **given))
    ours = cells.join(plain.data.to_frame(reveal=True), on=["nuts2", "occc"])
    assert ours.height == cells.height == 99
    assert ours["count"].to_list() == ours["puwc"].to_list()
    ours = cells.join(weighted.data.to_frame(reveal=True), on=["nuts2", "occc"])
    # cellKey gives all digits; ours are whole units, since the digits behind tell the number of contributors
    assert np.abs(ours["count"] - ours["pwc"]).max() <= 0.5 + 1e-6
    assert (ours["pwc"] == 0).any()
    assert (ours["pwc"] != ours["wc"]).any()


def test_ckm() -> None:
    cells = pl.read_csv(HERE / "ckm_perturbed.csv")
    dims = ["sexc", "agec", "mar", "nuts2"]
    # cells of one level alone: an excerpt does not have the regions above every department
    cells = cells.filter(~pl.col("nuts2").is_in(["Total"]))
    table = flou.Table.from_frame(cells, dims, count="nb_obs", key="ckey")
    ours = cells.join(flou.protect.CellKey(D=5, V=5, js=2).protect(table).data.to_frame(reveal=True), on=dims)
    assert ours.height == cells.height > 30
    assert ours["count"].to_list() == ours["nb_obs_ckm"].to_list()
