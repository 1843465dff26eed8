"""Why no node is safe: which models fail even when every key is hidden, and what they reach there."""

from __future__ import annotations

import numpy as np

from flou.engine.errors import Infeasible
from flou.engine.values import figure_text, settings_text
from flou.protect.micro.lattice.key_file import KeyFile
from flou.risk.micro.sensitive import ClassMeasure


def blocked(file: KeyFile) -> Infeasible:
    """What to say when the target cannot be reached at all."""
    n = file.problem.n_records
    best = [f"k = {n:,} with every key hidden"]
    names = []
    top = np.zeros(file.problem.n_keys, dtype=np.int32)
    for model in file.requirement.models:
        alone = type(file.requirement)((model,), file.data, file.table)
        if not alone.failing(np.array([n], dtype=np.int64), top, lambda: np.zeros_like(file.problem.codes))[0]:
            continue
        names.append(f"{model.title} ({settings_text(model.shown_settings())})")
        if isinstance(model, ClassMeasure):
            reached = model.judge(file.data, alone.parts_in_one_class())[0]
            best += [f"{figure_text(float(figures[0]))} for {model.name()} there" for figures in reached]
    what = " and ".join(names) or "the models together"
    return Infeasible(
        f"No choice of levels meets the models within the suppression limit: {what} cannot be met even by the whole "
        "file as one class.",
        best=", ".join(best),
        next_step="Ask for less: no choice of levels reaches more.",
    )
