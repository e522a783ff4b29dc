"""What people look at: each file asks one question and reads its answer."""

from .by_category import ByCategory
from .calibration import Calibration, CalibrationQuestion
from .cdf import CDF, CdfQuestion
from .histogram import Histogram, HistogramQuestion
from .hosmer_lemeshow import HosmerLemeshow, HosmerLemeshowQuestion
from .quantiles import Quantiles, QuantilesQuestion
from .question import Question
from .roc import ROC, RocQuestion

__all__ = [
    "CDF", "ROC", "ByCategory", "Calibration", "CalibrationQuestion", "CdfQuestion", "Histogram",
    "HistogramQuestion", "HosmerLemeshow", "HosmerLemeshowQuestion", "Quantiles", "QuantilesQuestion", "Question",
    "RocQuestion",
]  # fmt: skip
