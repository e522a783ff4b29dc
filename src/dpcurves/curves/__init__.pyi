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
from .cdf import CDF, Bins, Bisection, CdfQuestion, GrownPartition, QuantileCuts
from .class_curves import Confusion, CumulativeGain, DecisionCurve, PrecisionRecall, ScoreCalibration
from .class_table import Metric
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
from .consistency import Consistent, consistent
from .contingency import Contingency, ContingencyQuestion, kendall_tau_a, kendall_tau_b
from .external_counts import from_counts
from .histogram import Histogram, Histogram2D, Histogram2DQuestion, HistogramQuestion
from .pair_mean import UStatistic
from .partial_roc import ScoreNumber, partial_auc, sensitivity_at_specificity
from .quantile_quantile import QuantileQuantile
from .quantiles import Quantiles, QuantilesQuestion
from .question import ChargedAsQuery, Question
from .ranking import Ranking, ranking
from .residuals import BinnedResiduals, BinnedResidualsQuestion, ResidualPlot, ResidualPlotQuestion
from .result import CurveWarning
from .roc import ROC, Cuts, RocQuestion, SmoothAuc, SmoothAucQuestion
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
    WeightedBins,
    WeightedCDF,
    WeightedCdfQuestion,
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
    "Bins",
    "Bisection",
    "Bounds",
    "BoundsQuestion",
    "ByCategory",
    "Calibration",
    "CalibrationQuestion",
    "CdfQuestion",
    "CellKernel",
    "ChargedAsQuery",
    "Comparison",
    "Confusion",
    "Consistent",
    "Contingency",
    "ContingencyQuestion",
    "CountQuestion",
    "CumulativeGain",
    "CurveWarning",
    "Cuts",
    "DecisionCurve",
    "Drift",
    "GrownPartition",
    "Histogram",
    "Histogram2D",
    "Histogram2DQuestion",
    "HistogramQuestion",
    "HosmerLemeshow",
    "HosmerLemeshowQuestion",
    "MeanQuestion",
    "Metric",
    "MidpointKernel",
    "PlaneBounds",
    "PlaneBoundsQuestion",
    "PrecisionRecall",
    "QuantileCuts",
    "QuantileQuantile",
    "Quantiles",
    "QuantilesQuestion",
    "Question",
    "Ranking",
    "ResidualPlot",
    "ResidualPlotQuestion",
    "RocQuestion",
    "ScoreCalibration",
    "ScoreNumber",
    "Scores",
    "ScoresByCategory",
    "ScoresQuestion",
    "Shift",
    "SmoothAuc",
    "SmoothAucQuestion",
    "SumQuestion",
    "Summary",
    "SummaryByCategory",
    "SummaryQuestion",
    "TwoSampleTest",
    "UStatistic",
    "VarianceQuestion",
    "Verification",
    "VerifyQuestion",
    "View",
    "WeightedBins",
    "WeightedCDF",
    "WeightedCdfQuestion",
    "WeightedHistogramQuestion",
    "WeightedQuantiles",
    "WeightedQuantilesQuestion",
    "WeightedSummary",
    "WeightedSummaryByCategory",
    "WeightedSummaryQuestion",
    "area_between",
    "collision_probability",
    "consistent",
    "drift",
    "energy_distance",
    "from_counts",
    "gini_coefficient",
    "gini_mean_difference",
    "kendall_tau_a",
    "kendall_tau_b",
    "ks_distance",
    "ks_test",
    "partial_auc",
    "rank_sum_test",
    "ranking",
    "renyi2_entropy",
    "sample_variance",
    "sensitivity_at_specificity",
    "u_statistic",
    "wasserstein_distance",
]  # fmt: skip
