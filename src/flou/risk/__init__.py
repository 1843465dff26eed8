"""How exposed the records and cells are."""

from typing import TYPE_CHECKING

from flou.engine.lazy import attach

if TYPE_CHECKING:
    from flou.risk.micro.attack_map import AttackMap
    from flou.risk.micro.attacker import AttackerRisk
    from flou.risk.micro.closeness import TCloseness
    from flou.risk.micro.diversity import LDiversity
    from flou.risk.micro.global_risk import GlobalRisk
    from flou.risk.micro.household import HouseholdRisk
    from flou.risk.micro.individual import IndividualRisk
    from flou.risk.micro.interval import IntervalRisk
    from flou.risk.micro.k_anonymity import KAnonymity
    from flou.risk.micro.k_map import KMap
    from flou.risk.micro.likeness import BetaLikeness, DisclosureDelta
    from flou.risk.micro.outlier import OutlierRisk
    from flou.risk.micro.poisson import PoissonRisk
    from flou.risk.micro.presence import Presence
    from flou.risk.micro.suda import Suda
    from flou.risk.micro.uniqueness import PopulationUniqueness
    from flou.risk.table.count_inference import CountInference
    from flou.risk.table.difference_inference import DifferenceInference
    from flou.risk.table.dominance import Dominance
    from flou.risk.table.group_disclosure import GroupDisclosure
    from flou.risk.table.p_percent import PPercent
    from flou.risk.table.pq import PQ
    from flou.risk.table.threshold import Threshold
    from flou.risk.table.zero_inference import ZeroInference

METHODS = {
    "AttackMap": "flou.risk.micro.attack_map",
    "AttackerRisk": "flou.risk.micro.attacker",
    "BetaLikeness": "flou.risk.micro.likeness",
    "CountInference": "flou.risk.table.count_inference",
    "DifferenceInference": "flou.risk.table.difference_inference",
    "DisclosureDelta": "flou.risk.micro.likeness",
    "Dominance": "flou.risk.table.dominance",
    "GlobalRisk": "flou.risk.micro.global_risk",
    "GroupDisclosure": "flou.risk.table.group_disclosure",
    "HouseholdRisk": "flou.risk.micro.household",
    "IndividualRisk": "flou.risk.micro.individual",
    "IntervalRisk": "flou.risk.micro.interval",
    "KAnonymity": "flou.risk.micro.k_anonymity",
    "KMap": "flou.risk.micro.k_map",
    "LDiversity": "flou.risk.micro.diversity",
    "OutlierRisk": "flou.risk.micro.outlier",
    "PQ": "flou.risk.table.pq",
    "PPercent": "flou.risk.table.p_percent",
    "PoissonRisk": "flou.risk.micro.poisson",
    "PopulationUniqueness": "flou.risk.micro.uniqueness",
    "Presence": "flou.risk.micro.presence",
    "Suda": "flou.risk.micro.suda",
    "TCloseness": "flou.risk.micro.closeness",
    "Threshold": "flou.risk.table.threshold",
    "ZeroInference": "flou.risk.table.zero_inference",
}

__all__ = [
    "METHODS",
    "PQ",
    "AttackMap",
    "AttackerRisk",
    "BetaLikeness",
    "CountInference",
    "DifferenceInference",
    "DisclosureDelta",
    "Dominance",
    "GlobalRisk",
    "GroupDisclosure",
    "HouseholdRisk",
    "IndividualRisk",
    "IntervalRisk",
    "KAnonymity",
    "KMap",
    "LDiversity",
    "OutlierRisk",
    "PPercent",
    "PoissonRisk",
    "PopulationUniqueness",
    "Presence",
    "Suda",
    "TCloseness",
    "Threshold",
    "ZeroInference",
]
__getattr__, __dir__ = attach(__name__, METHODS)
