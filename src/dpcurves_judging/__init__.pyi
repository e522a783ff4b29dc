from .forecasts_of_numbers import (
    PredictedObserved,
    PredictedObservedQuestion,
    QuantileForecasts,
    QuantileForecastsQuestion,
)
from .model_pairs import ModelPair, ModelPairQuestion, difference_of_models
from .model_report import model_card
from .multiclass import Multiclass, MulticlassQuestion, OrdinalClasses, OrdinalClassesQuestion
from .pairwise_scorer import PairwiseScorer, PairwiseScorerQuestion
from .rates_by_group import GroupRates, SimultaneousCurves, group_curves, group_rates
from .several_models import SeveralModels, SeveralModelsQuestion
from .uplift import Uplift, UpliftQuestion

__all__ = [
    "GroupRates",
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
    "SeveralModels",
    "SeveralModelsQuestion",
    "SimultaneousCurves",
    "Uplift",
    "UpliftQuestion",
    "difference_of_models",
    "group_curves",
    "group_rates",
    "model_card",
]  # fmt: skip
