from .adaptive_histogram import (
    AutoRangeHistogramQuestion,
    AutoRangeMeanQuestion,
    AutoRangeSummaryQuestion,
    AutoRangeSumQuestion,
    AutoRangeVarianceQuestion,
)
from .automatic_range import AutoRangeCdfQuestion, AutoRangeQuantilesQuestion
from .bar_chart import BarChart, BarChartQuestion
from .bounds import Bounds, BoundsQuestion, PlaneBounds, PlaneBoundsQuestion
from .by_category import ByCategory
from .calibration import Calibration, CalibrationQuestion, HosmerLemeshow, HosmerLemeshowQuestion
from .cdf import CDF, AdaptivePartition, Bisection, CdfHistogram, CdfQuestion, QuantilePartition
from .class_curves import Confusion, CumulativeGain, DecisionCurve, PrecisionRecall, ScoreCalibration
from .class_table import Metric
from .column_drift import Drift, DriftStatistic, drift
from .comparison import (
    Comparison,
    TwoSampleTest,
    energy_distance,
    ks_distance,
    ks_test,
    rank_sum_test,
    wasserstein_distance,
)
from .consistency import ConsistentTotals, make_consistent
from .contingency import Contingency, ContingencyQuestion, kendall_tau_a, kendall_tau_b
from .external_counts import from_counts
from .histogram import Histogram, Histogram2D, Histogram2DQuestion, HistogramQuestion
from .pair_mean import UStatistic
from .partial_roc import MetricEstimate, partial_auc, sensitivity_at_specificity
from .quantile_quantile import QuantileQuantile
from .quantiles import Quantiles, QuantilesQuestion
from .question import Question, SupportsChargedQuery
from .ranking import Ranking, ranking
from .residuals import BinnedResiduals, BinnedResidualsQuestion, ResidualPlot, ResidualPlotQuestion
from .result import CurveWarning
from .roc import ROC, RocQuestion, RocThresholds, SmoothAuc, SmoothAucQuestion
from .scores import AutoRangeScoresQuestion, Scores, ScoresByCategory, ScoresQuestion
from .summary import (
    CountQuestion,
    MeanQuestion,
    Summary,
    SummaryByCategory,
    SummaryQuestion,
    SumQuestion,
    VarianceQuestion,
)
from .u_statistic import (
    CellKernel,
    MidpointKernel,
    area_between,
    collision_probability,
    gini_coefficient,
    gini_mean_difference,
    renyi2_entropy,
    sample_variance,
    u_statistic,
)  # fmt: skip
from .verification import Verification, VerifyQuestion
from .view import View
from .weighted import (
    WeightedCDF,
    WeightedCdfQuestion,
    WeightedHistogram,
    WeightedHistogramQuestion,
    WeightedQuantiles,
    WeightedQuantilesQuestion,
)
from .weighted_range import (
    AutoRangeWeightedCdfQuestion,
    AutoRangeWeightedHistogramQuestion,
    AutoRangeWeightedQuantilesQuestion,
    AutoRangeWeightedSummaryQuestion,
)
from .weighted_summary import WeightedSummary, WeightedSummaryByCategory, WeightedSummaryQuestion

__all__ = [
    "CDF",
    "ROC",
    "AdaptivePartition",
    "AutoRangeCdfQuestion",
    "AutoRangeHistogramQuestion",
    "AutoRangeMeanQuestion",
    "AutoRangeQuantilesQuestion",
    "AutoRangeScoresQuestion",
    "AutoRangeSumQuestion",
    "AutoRangeSummaryQuestion",
    "AutoRangeVarianceQuestion",
    "AutoRangeWeightedCdfQuestion",
    "AutoRangeWeightedHistogramQuestion",
    "AutoRangeWeightedQuantilesQuestion",
    "AutoRangeWeightedSummaryQuestion",
    "BarChart",
    "BarChartQuestion",
    "BinnedResiduals",
    "BinnedResidualsQuestion",
    "Bisection",
    "Bounds",
    "BoundsQuestion",
    "ByCategory",
    "Calibration",
    "CalibrationQuestion",
    "CdfHistogram",
    "CdfQuestion",
    "CellKernel",
    "Comparison",
    "Confusion",
    "ConsistentTotals",
    "Contingency",
    "ContingencyQuestion",
    "CountQuestion",
    "CumulativeGain",
    "CurveWarning",
    "DecisionCurve",
    "Drift",
    "DriftStatistic",
    "Histogram",
    "Histogram2D",
    "Histogram2DQuestion",
    "HistogramQuestion",
    "HosmerLemeshow",
    "HosmerLemeshowQuestion",
    "MeanQuestion",
    "Metric",
    "MetricEstimate",
    "MidpointKernel",
    "PlaneBounds",
    "PlaneBoundsQuestion",
    "PrecisionRecall",
    "QuantilePartition",
    "QuantileQuantile",
    "Quantiles",
    "QuantilesQuestion",
    "Question",
    "Ranking",
    "ResidualPlot",
    "ResidualPlotQuestion",
    "RocQuestion",
    "RocThresholds",
    "ScoreCalibration",
    "Scores",
    "ScoresByCategory",
    "ScoresQuestion",
    "SmoothAuc",
    "SmoothAucQuestion",
    "SumQuestion",
    "Summary",
    "SummaryByCategory",
    "SummaryQuestion",
    "SupportsChargedQuery",
    "TwoSampleTest",
    "UStatistic",
    "VarianceQuestion",
    "Verification",
    "VerifyQuestion",
    "View",
    "WeightedCDF",
    "WeightedCdfQuestion",
    "WeightedHistogram",
    "WeightedHistogramQuestion",
    "WeightedQuantiles",
    "WeightedQuantilesQuestion",
    "WeightedSummary",
    "WeightedSummaryByCategory",
    "WeightedSummaryQuestion",
    "area_between",
    "collision_probability",
    "drift",
    "energy_distance",
    "from_counts",
    "gini_coefficient",
    "gini_mean_difference",
    "kendall_tau_a",
    "kendall_tau_b",
    "ks_distance",
    "ks_test",
    "make_consistent",
    "partial_auc",
    "rank_sum_test",
    "ranking",
    "renyi2_entropy",
    "sample_variance",
    "sensitivity_at_specificity",
    "u_statistic",
    "wasserstein_distance",
]  # fmt: skip
