"""What people look at: each file asks one question and reads its answer."""

from .binned_residuals import BinnedResiduals, BinnedResidualsQuestion
from .bins import Bins
from .bounds import Bounds, BoundsQuestion
from .bounds_2d import PlaneBounds, PlaneBoundsQuestion
from .by_category import ByCategory
from .calibration import Calibration, CalibrationQuestion
from .cdf import CDF, CdfQuestion
from .distances import energy_distance, ks_distance, wasserstein_distance
from .histogram import Histogram, HistogramQuestion
from .hosmer_lemeshow import HosmerLemeshow, HosmerLemeshowQuestion
from .methods import Bisection, GrownPartition, QuantileCuts
from .notes import CurveWarning
from .quantile import Quantile, QuantileQuestion
from .quantiles import Quantiles, QuantilesQuestion
from .question import Continued, Question
from .residual_plot import ResidualPlot, ResidualPlotQuestion
from .roc import ROC, RocQuestion
from .roc_thresholds import RocThresholds, RocThresholdsQuestion
from .smooth_auc import SmoothAuc, SmoothAucQuestion
from .thresholds import Thresholds, ThresholdsQuestion
from .turns.roc_cuts import Cuts

__all__ = [
    "CDF",
    "ROC",
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
    "Continued",
    "CurveWarning",
    "Cuts",
    "GrownPartition",
    "Histogram",
    "HistogramQuestion",
    "HosmerLemeshow",
    "HosmerLemeshowQuestion",
    "PlaneBounds",
    "PlaneBoundsQuestion",
    "Quantile",
    "QuantileCuts",
    "QuantileQuestion",
    "Quantiles",
    "QuantilesQuestion",
    "Question",
    "ResidualPlot",
    "ResidualPlotQuestion",
    "RocQuestion",
    "RocThresholds",
    "RocThresholdsQuestion",
    "SmoothAuc",
    "SmoothAucQuestion",
    "Thresholds",
    "ThresholdsQuestion",
    "energy_distance",
    "ks_distance",
    "wasserstein_distance",
]  # fmt: skip
