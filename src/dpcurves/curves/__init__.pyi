from .bounds import Bounds, BoundsQuestion, PlaneBounds, PlaneBoundsQuestion
from .by_category import ByCategory
from .calibration import Calibration, CalibrationQuestion, HosmerLemeshow, HosmerLemeshowQuestion
from .cdf import CDF, Bins, Bisection, CdfQuestion, GrownPartition, QuantileCuts
from .class_curves import Confusion, CumulativeGain, DecisionCurve, PrecisionRecall, ScoreCalibration
from .class_table import Reading
from .comparison import (
    Comparison,
    TwoSampleTest,
    energy_distance,
    ks_distance,
    ks_test,
    rank_sum_test,
    wasserstein_distance,
)
from .contingency import Contingency, ContingencyQuestion, kendall_tau_a, kendall_tau_b
from .drift import Drift, Shift, drift
from .forecasts_of_numbers import (
    PredictedObserved,
    PredictedObservedQuestion,
    QuantileForecasts,
    QuantileForecastsQuestion,
)
from .group_rates import CurvesAtOnce, GroupRates, group_curves, group_rates
from .histogram import Histogram, Histogram2D, Histogram2DQuestion, HistogramQuestion
from .model_card import model_card
from .model_pairs import ModelPair, ModelPairQuestion, difference_of_models
from .pair_mean import UStatistic
from .quantile_quantile import QuantileQuantile
from .quantiles import Quantiles, QuantilesQuestion
from .question import Continued, Question
from .residuals import BinnedResiduals, BinnedResidualsQuestion, ResidualPlot, ResidualPlotQuestion
from .result import CurveWarning
from .roc import ROC, Cuts, RocQuestion, SmoothAuc, SmoothAucQuestion
from .scores import Scores, ScoresByCategory, ScoresQuestion
from .several_classes import OrderedClasses, OrderedClassesQuestion, SeveralClasses, SeveralClassesQuestion
from .summary import (
    CountQuestion,
    MeanQuestion,
    Summary,
    SummaryByCategory,
    SummaryQuestion,
    SumQuestion,
    VarianceQuestion,
)
from .survival import Survival, SurvivalQuestion, log_rank_test
from .u_statistic import (
    Midpoint,
    OnCells,
    area_between,
    collision_probability,
    gini_coefficient,
    gini_mean_difference,
    renyi2_entropy,
    sample_variance,
    u_statistic,
)  # fmt: skip
from .uplift import Uplift, UpliftQuestion
from .verification import Verification, VerifyQuestion

__all__ = [
    "CDF", "ROC", "BinnedResiduals", "BinnedResidualsQuestion", "Bins", "Bisection", "Bounds", "BoundsQuestion",
    "ByCategory", "Calibration", "CalibrationQuestion", "CdfQuestion", "Comparison", "Confusion", "Contingency",
    "ContingencyQuestion", "Continued", "CountQuestion", "CumulativeGain", "CurveWarning", "CurvesAtOnce", "Cuts",
    "DecisionCurve", "Drift", "GroupRates", "GrownPartition", "Histogram", "Histogram2D", "Histogram2DQuestion",
    "HistogramQuestion", "HosmerLemeshow", "HosmerLemeshowQuestion", "MeanQuestion", "Midpoint", "ModelPair",
    "ModelPairQuestion", "OnCells", "OrderedClasses", "OrderedClassesQuestion", "PlaneBounds",
    "PlaneBoundsQuestion", "PrecisionRecall", "PredictedObserved", "PredictedObservedQuestion", "QuantileCuts",
    "QuantileForecasts", "QuantileForecastsQuestion", "QuantileQuantile", "Quantiles", "QuantilesQuestion",
    "Question", "Reading", "ResidualPlot", "ResidualPlotQuestion", "RocQuestion", "ScoreCalibration", "Scores",
    "ScoresByCategory", "ScoresQuestion", "SeveralClasses", "SeveralClassesQuestion", "Shift", "SmoothAuc",
    "SmoothAucQuestion", "SumQuestion", "Summary", "SummaryByCategory", "SummaryQuestion", "Survival",
    "SurvivalQuestion", "TwoSampleTest", "UStatistic", "Uplift", "UpliftQuestion", "VarianceQuestion",
    "Verification", "VerifyQuestion", "area_between", "collision_probability", "difference_of_models", "drift",
    "energy_distance", "gini_coefficient", "gini_mean_difference", "group_curves", "group_rates", "kendall_tau_a",
    "kendall_tau_b", "ks_distance", "ks_test", "log_rank_test", "model_card", "rank_sum_test", "renyi2_entropy",
    "sample_variance", "u_statistic", "wasserstein_distance",
]  # fmt: skip
