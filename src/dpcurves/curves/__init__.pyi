from .binned_residuals import BinnedResiduals, BinnedResidualsQuestion
from .bins import Bins
from .bounds import Bounds, BoundsQuestion
from .bounds_2d import PlaneBounds, PlaneBoundsQuestion
from .by_category import ByCategory
from .calibration import Calibration, CalibrationQuestion
from .cdf import CDF, Bisection, CdfQuestion, GrownPartition, QuantileCuts
from .comparison import Comparison
from .confusion import Confusion
from .contingency import Contingency, ContingencyQuestion
from .cumulative_gain import CumulativeGain
from .decision_curve import DecisionCurve
from .distances import energy_distance, ks_distance, wasserstein_distance
from .histogram import Histogram, HistogramQuestion
from .histogram_2d import Histogram2D, Histogram2DQuestion
from .hosmer_lemeshow import HosmerLemeshow, HosmerLemeshowQuestion
from .kendall import kendall_tau_a, kendall_tau_b
from .log_rank import log_rank_test
from .notes import CurveWarning
from .pair_mean import UStatistic
from .precision_recall import PrecisionRecall
from .quantile_quantile import QuantileQuantile
from .quantiles import Quantiles, QuantilesQuestion
from .question import Continued, Question
from .residual_plot import ResidualPlot, ResidualPlotQuestion
from .roc import ROC, Cuts, RocQuestion
from .score_calibration import ScoreCalibration
from .score_readings import Reading
from .scores import Scores, ScoresByCategory, ScoresQuestion
from .smooth_auc import SmoothAuc, SmoothAucQuestion
from .summary import Summary, SummaryByCategory
from .summary_questions import CountQuestion, MeanQuestion, SummaryQuestion, SumQuestion, VarianceQuestion
from .survival import Survival, SurvivalQuestion
from .two_samples import TwoSampleTest, ks_test, rank_sum_test
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
from .verification import Verification, VerifyQuestion

__all__ = [
    "CDF", "ROC", "BinnedResiduals", "BinnedResidualsQuestion", "Bins", "Bisection", "Bounds", "BoundsQuestion",
    "ByCategory", "Calibration", "CalibrationQuestion", "CdfQuestion", "Comparison", "Confusion", "Contingency",
    "ContingencyQuestion", "Continued", "CountQuestion", "CumulativeGain", "CurveWarning", "Cuts", "DecisionCurve",
    "GrownPartition", "Histogram", "Histogram2D", "Histogram2DQuestion", "HistogramQuestion", "HosmerLemeshow",
    "HosmerLemeshowQuestion", "MeanQuestion",
    "Midpoint", "OnCells", "PlaneBounds", "PlaneBoundsQuestion", "PrecisionRecall",
    "QuantileCuts", "QuantileQuantile", "Quantiles", "QuantilesQuestion", "Question", "Reading", "ResidualPlot",
    "ResidualPlotQuestion", "RocQuestion", "ScoreCalibration", "Scores", "ScoresByCategory", "ScoresQuestion",
    "SmoothAuc", "SmoothAucQuestion", "SumQuestion", "Summary", "SummaryByCategory", "SummaryQuestion", "Survival",
    "SurvivalQuestion", "TwoSampleTest", "UStatistic", "VarianceQuestion", "Verification", "VerifyQuestion",
    "area_between", "collision_probability", "energy_distance", "gini_coefficient", "gini_mean_difference",
    "kendall_tau_a", "kendall_tau_b", "ks_distance", "ks_test", "log_rank_test", "rank_sum_test", "renyi2_entropy",
    "sample_variance", "u_statistic", "wasserstein_distance",
]  # fmt: skip
