"""Flou: statistical disclosure control. Publish the statistics, not the people.

describe → measure risk → protect → attack → measure utility → decide → report
"""

from typing import TYPE_CHECKING

from flou._version import __version__
from flou.engine.lazy import attach

if TYPE_CHECKING:
    from flou import attack, datasets, protect, risk, utility
    from flou.decide.calibration.search import calibrate
    from flou.decide.policy import Policy
    from flou.decide.verdict import Verdict
    from flou.describe.files import read, write
    from flou.describe.hierarchy import Hierarchy
    from flou.describe.keyed import record_keys
    from flou.describe.mechanism.transition_matrix import TransitionMatrix
    from flou.describe.microdata import Microdata
    from flou.describe.schema import Schema
    from flou.describe.table.argus.files import read_argus, write_argus
    from flou.describe.table.table import Table
    from flou.describe.table.table_set import TableSet
    from flou.describe.table.tabulate import tabulate_many
    from flou.engine.errors import FlouError, Infeasible
    from flou.engine.plan import Plan
    from flou.engine.release import Release
    from flou.engine.secret import Secret
    from flou.engine.tabulation import Tabulation
    from flou.protect.table.privacy_budget import PrivacyBudget
    from flou.reporting.document import Report

_NAMES = {
    "FlouError": "flou.engine.errors",
    "Hierarchy": "flou.describe.hierarchy",
    "Infeasible": "flou.engine.errors",
    "Microdata": "flou.describe.microdata",
    "Plan": "flou.engine.plan",
    "Policy": "flou.decide.policy",
    "PrivacyBudget": "flou.protect.table.privacy_budget",
    "Release": "flou.engine.release",
    "Report": "flou.reporting.document",
    "Schema": "flou.describe.schema",
    "Secret": "flou.engine.secret",
    "TransitionMatrix": "flou.describe.mechanism.transition_matrix",
    "Table": "flou.describe.table.table",
    "TableSet": "flou.describe.table.table_set",
    "Tabulation": "flou.engine.tabulation",
    "Verdict": "flou.decide.verdict",
    "attack": "flou.attack",
    "calibrate": "flou.decide.calibration.search",
    "datasets": "flou.datasets",
    "protect": "flou.protect",
    "read": "flou.describe.files",
    "read_argus": "flou.describe.table.argus.files",
    "record_keys": "flou.describe.keyed",
    "risk": "flou.risk",
    "tabulate_many": "flou.describe.table.tabulate",
    "utility": "flou.utility",
    "write": "flou.describe.files",
    "write_argus": "flou.describe.table.argus.files",
}

__all__ = [
    "FlouError", "Hierarchy", "Infeasible", "Microdata", "Plan", "Policy", "PrivacyBudget", "Release", "Report",
    "Schema", "Secret", "Table", "TableSet", "Tabulation", "TransitionMatrix", "Verdict", "__version__", "attack",
    "calibrate", "datasets", "protect", "read", "read_argus", "record_keys", "risk", "tabulate_many", "utility",
    "write", "write_argus",
]  # fmt: skip
__getattr__, __dir__ = attach(__name__, _NAMES)
