from .forecasts_of_numbers import (
    PredictedObserved,
    PredictedObservedQuestion,
    QuantileForecasts,
    QuantileForecastsQuestion,
)
from .model_comparison import ModelComparison, ModelComparisonQuestion
from .model_pairs import ModelPair, ModelPairQuestion, metric_difference
from .model_report import model_card
from .multiclass import Multiclass, MulticlassQuestion, OrdinalClasses, OrdinalClassesQuestion
from .pairwise_scorer import PairwiseScorer, PairwiseScorerQuestion
from .rates_by_group import CurvesByGroup, GroupRates, group_curves, group_rates
from .uplift import Uplift, UpliftQuestion

__all__ = [
    "CurvesByGroup",
    "GroupRates",
    "ModelComparison",
    "ModelComparisonQuestion",
    "ModelPair",
    "ModelPairQuestion",
    "Multiclass",
    "MulticlassQuestion",
    "OrdinalClasses",
    "OrdinalClassesQuestion",
    "PairwiseScorer",
    "PairwiseScorerQuestion",
    "PredictedObserved",
    "PredictedObservedQuestion",
    "QuantileForecasts",
    "QuantileForecastsQuestion",
    "Uplift",
    "UpliftQuestion",
    "group_curves",
    "group_rates",
    "metric_difference",
    "model_card",
]  # fmt: skip
