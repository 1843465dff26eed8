"""What changes the data."""

from typing import TYPE_CHECKING

from flou.engine.lazy import attach

if TYPE_CHECKING:
    from flou.protect.micro.additive_noise import AdditiveNoise
    from flou.protect.micro.blur.interval_blur import IntervalBlur
    from flou.protect.micro.calibrate_weights import CalibrateWeights
    from flou.protect.micro.datafly import Datafly
    from flou.protect.micro.derive.derive import Derive
    from flou.protect.micro.drop import DropIdentifiers, DropRecords
    from flou.protect.micro.generalise import Generalise
    from flou.protect.micro.local_recode import LocalRecode
    from flou.protect.micro.local_suppression import LocalSuppression
    from flou.protect.micro.microaggregation.method import Microaggregation
    from flou.protect.micro.mondrian import Mondrian
    from flou.protect.micro.multiplicative_noise import MultiplicativeNoise
    from flou.protect.micro.pram import Pram
    from flou.protect.micro.random_code import RandomCode
    from flou.protect.micro.random_swap import RandomSwap
    from flou.protect.micro.rank_swap import RankSwap
    from flou.protect.micro.recode import Recode
    from flou.protect.micro.round import Round
    from flou.protect.micro.samarati import Samarati
    from flou.protect.micro.sample import Sample
    from flou.protect.micro.top_code import BottomCode, TopCode
    from flou.protect.table.cell_key import CellKey
    from flou.protect.table.cell_suppression import CellSuppression
    from flou.protect.table.noisy_counts import NoisyCounts
    from flou.protect.table.rounding import RandomRounding, Rounding

METHODS = {
    "AdditiveNoise": "flou.protect.micro.additive_noise",
    "BottomCode": "flou.protect.micro.top_code",
    "CellKey": "flou.protect.table.cell_key",
    "CellSuppression": "flou.protect.table.cell_suppression",
    "CalibrateWeights": "flou.protect.micro.calibrate_weights",
    "Datafly": "flou.protect.micro.datafly",
    "Derive": "flou.protect.micro.derive.derive",
    "DropIdentifiers": "flou.protect.micro.drop",
    "DropRecords": "flou.protect.micro.drop",
    "Generalise": "flou.protect.micro.generalise",
    "IntervalBlur": "flou.protect.micro.blur.interval_blur",
    "LocalRecode": "flou.protect.micro.local_recode",
    "LocalSuppression": "flou.protect.micro.local_suppression",
    "Microaggregation": "flou.protect.micro.microaggregation.method",
    "Mondrian": "flou.protect.micro.mondrian",
    "RandomCode": "flou.protect.micro.random_code",
    "RandomRounding": "flou.protect.table.rounding",
    "MultiplicativeNoise": "flou.protect.micro.multiplicative_noise",
    "NoisyCounts": "flou.protect.table.noisy_counts",
    "Pram": "flou.protect.micro.pram",
    "RandomSwap": "flou.protect.micro.random_swap",
    "RankSwap": "flou.protect.micro.rank_swap",
    "Recode": "flou.protect.micro.recode",
    "Round": "flou.protect.micro.round",
    "Rounding": "flou.protect.table.rounding",
    "Samarati": "flou.protect.micro.samarati",
    "Sample": "flou.protect.micro.sample",
    "TopCode": "flou.protect.micro.top_code",
}

__all__ = [
    "METHODS",
    "AdditiveNoise",
    "BottomCode",
    "CalibrateWeights",
    "CellKey",
    "CellSuppression",
    "Datafly",
    "Derive",
    "DropIdentifiers",
    "DropRecords",
    "Generalise",
    "IntervalBlur",
    "LocalRecode",
    "LocalSuppression",
    "Microaggregation",
    "Mondrian",
    "MultiplicativeNoise",
    "NoisyCounts",
    "Pram",
    "RandomCode",
    "RandomRounding",
    "RandomSwap",
    "RankSwap",
    "Recode",
    "Round",
    "Rounding",
    "Samarati",
    "Sample",
    "TopCode",
]
__getattr__, __dir__ = attach(__name__, METHODS)
