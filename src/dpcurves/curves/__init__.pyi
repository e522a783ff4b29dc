from .bounds import Bounds, BoundsQuestion, PlaneBounds, PlaneBoundsQuestion
from .by_category import ByCategory
from .calibration import Calibration, CalibrationQuestion, HosmerLemeshow, HosmerLemeshowQuestion
from .cdf import CDF, Bins, Bisection, CdfQuestion, GrownPartition, QuantileCuts
from .class_curves import Confusion, CumulativeGain, DecisionCurve, PrecisionRecall, ScoreCalibration
from .class_table import Reading
from .column_drift import Drift, Shift, drift
from .comparison import (
    Comparison,
    TwoSampleTest,
    energy_distance,
    ks_distance,
    ks_test,
    rank_sum_test,
    wasserstein_distance,
)
from .competing_risks import CompetingRisks, CompetingRisksQuestion
from .contingency import Contingency, ContingencyQuestion, kendall_tau_a, kendall_tau_b
from .counts_elsewhere import from_counts
from .forecasts_of_numbers import (
    PredictedObserved,
    PredictedObservedQuestion,
    QuantileForecasts,
    QuantileForecastsQuestion,
)
from .histogram import Histogram, Histogram2D, Histogram2DQuestion, HistogramQuestion
from .interval_censoring import IntervalCensored, IntervalCensoredQuestion
from .model_pairs import ModelPair, ModelPairQuestion, difference_of_models
from .model_report import model_card
from .pair_mean import UStatistic
from .pairwise_scorer import PairwiseScorer, PairwiseScorerQuestion
from .quantile_quantile import QuantileQuantile
from .quantiles import Quantiles, QuantilesQuestion
from .question import Continued, Question
from .rates_by_group import CurvesAtOnce, GroupRates, group_curves, group_rates
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
from .survival_entries import DelayedEntry, DelayedEntryQuestion
from .survival_models import SurvivalModel, SurvivalModelQuestion
from .survival_readings import (
    CumulativeHazard,
    Estimate,
    SurvivalNumbers,
    hazard_at,
    hazard_ratio,
    number_needed,
    restricted_mean,
    restricted_mean_difference,
    share_at,
    share_difference,
    survival_figure,
    survival_numbers,
)
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
from .unbounded import UnboundedCdfQuestion, UnboundedQuantilesQuestion
from .unbounded_scores import UnboundedScoresQuestion
from .unbounded_survival import UnboundedSurvivalQuestion
from .uplift import Uplift, UpliftQuestion
from .verification import Verification, VerifyQuestion
from .weighted import WeightedCDF, WeightedCdfQuestion, WeightedQuantiles, WeightedQuantilesQuestion
from .weighted_summary import WeightedSummary, WeightedSummaryQuestion
from .weighted_survival import WeightedSurvival, WeightedSurvivalQuestion

__all__ = [
    "CDF", "ROC", "BinnedResiduals", "BinnedResidualsQuestion", "Bins", "Bisection", "Bounds", "BoundsQuestion",
    "ByCategory", "Calibration", "CalibrationQuestion", "CdfQuestion", "Comparison", "CompetingRisks",
    "CompetingRisksQuestion", "Confusion", "Contingency", "ContingencyQuestion", "Continued", "CountQuestion",
    "CumulativeGain", "CumulativeHazard", "CurveWarning", "CurvesAtOnce", "Cuts", "DecisionCurve", "DelayedEntry",
    "DelayedEntryQuestion", "Drift", "Estimate", "GroupRates", "GrownPartition", "Histogram", "Histogram2D",
    "Histogram2DQuestion", "HistogramQuestion", "HosmerLemeshow", "HosmerLemeshowQuestion", "IntervalCensored",
    "IntervalCensoredQuestion", "MeanQuestion", "Midpoint", "ModelPair", "ModelPairQuestion", "OnCells",
    "OrderedClasses", "OrderedClassesQuestion", "PairwiseScorer", "PairwiseScorerQuestion", "PlaneBounds",
    "PlaneBoundsQuestion", "PrecisionRecall",
    "PredictedObserved", "PredictedObservedQuestion", "QuantileCuts", "QuantileForecasts", "QuantileForecastsQuestion",
    "QuantileQuantile", "Quantiles", "QuantilesQuestion", "Question", "Reading", "ResidualPlot", "ResidualPlotQuestion",
    "RocQuestion", "ScoreCalibration", "Scores", "ScoresByCategory", "ScoresQuestion", "SeveralClasses",
    "SeveralClassesQuestion", "Shift", "SmoothAuc", "SmoothAucQuestion", "SumQuestion", "Summary", "SummaryByCategory",
    "SummaryQuestion", "Survival", "SurvivalModel", "SurvivalModelQuestion", "SurvivalNumbers", "SurvivalQuestion",
    "TwoSampleTest", "UStatistic", "UnboundedCdfQuestion", "UnboundedQuantilesQuestion", "UnboundedScoresQuestion",
    "UnboundedSurvivalQuestion", "Uplift", "UpliftQuestion", "VarianceQuestion", "Verification", "VerifyQuestion",
    "WeightedCDF", "WeightedCdfQuestion", "WeightedQuantiles", "WeightedQuantilesQuestion", "WeightedSummary",
    "WeightedSummaryQuestion", "WeightedSurvival", "WeightedSurvivalQuestion", "area_between", "collision_probability",
    "difference_of_models", "drift", "energy_distance", "from_counts", "gini_coefficient", "gini_mean_difference",
    "group_curves", "group_rates", "hazard_at", "hazard_ratio", "kendall_tau_a", "kendall_tau_b", "ks_distance",
    "ks_test", "log_rank_test", "model_card", "number_needed", "rank_sum_test", "renyi2_entropy", "restricted_mean",
    "restricted_mean_difference", "sample_variance", "share_at", "share_difference", "survival_figure",
    "survival_numbers", "u_statistic", "wasserstein_distance",
]  # fmt: skip
